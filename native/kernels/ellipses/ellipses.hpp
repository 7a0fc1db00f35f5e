// Distances between ellipses, and pairing of truths with detections image by image.
//
// Rows are x, y, degrees, a, b with a >= b and the angle in [0, 180).
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/views.hpp"

namespace steelyard {

enum class EllipseDistance : int { param = 0, center = 1, wasserstein = 2, iou = 3, hausdorff = 4, prob_iou = 5 };
EllipseDistance check_distance(int distance);

void check_ellipses(Matrix<double> rows);
void check_parameter_weights(View<double> weights);  // of x, y, angle, a, b

// Every truth to every detection, [truths][detections].
void distance_matrix(Matrix<double> truth, Matrix<double> detected, EllipseDistance distance, View<double> weights,
                     long threads, double* out);
// Each row to the same row of the other side.
void distances_by_row(Matrix<double> truth, Matrix<double> detected, EllipseDistance distance, View<double> weights,
                      double* out);
void overlaps_by_row(Matrix<double> truth, Matrix<double> detected, double* out);

// Ellipses of both sides; image i has the rows from where the image before ends.
struct EllipseSides {
  Matrix<double> truth, detected;
  View<std::int64_t> truth_ends, detected_ends;
};
void check_sides(const EllipseSides& sides);

// At most this many pairs, and where they go.
std::size_t most_pairs(const EllipseSides& sides);
struct EllipsePairs {
  std::int64_t *image, *truth, *detected;
  double* distance;
};
// The pairs of all images: by image, inside one by distance (ties by truth), so that sums over them do not depend on
// the order in which an image lists its ellipses. Throws where a distance is not finite.
void match_ellipses(const EllipseSides& sides, EllipseDistance distance, View<double> weights, bool optimal,
                    long threads, const EllipsePairs& out);

// The rule of detection benchmarks: highest score first, the free truth with the largest IoU, if it reaches the one
// asked for. `hit` is [detections][ious], zeroed.
void match_by_score(const EllipseSides& sides, View<double> scores, View<double> ious, long threads, std::uint8_t* hit);

// Pairs rows with columns, each used once: the column of each row, or -1.
void assign_costs(Matrix<double> cost, bool optimal, std::int64_t* partner);

}  // namespace steelyard
