// Matching by the distance of centres, as nuScenes does, and what it makes of the matches under weights of samples.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/views.hpp"

namespace steelyard::solid {

constexpr std::size_t kErrors = 5;  // translation, scale, orientation, velocity, attribute
constexpr std::size_t kMostDistances = 8;
constexpr int kRecalls = 101;

// One side by sample. A row of `box` is x, y, length, width, height, yaw, vx, vy; a velocity that is not known is not a
// number. `attribute` is -1 where there is none.
constexpr std::size_t kCentre = 8;
struct CentreSide {
  View<std::int64_t> begin;
  Matrix<double> box;
  View<std::int32_t> group, attribute;
};

// For each detection: a bit for each distance below which it finds a truth, and its errors where it finds one below
// `distances[error_at]`; `partner` is that truth's row, or -1. Detections are asked by falling score, of equal ones the
// later first. `half` says of which classes a box turned by half a turn is the same.
void centre_match(const CentreSide& truth, const CentreSide& detection, View<double> score, View<double> distances,
                  std::size_t error_at, View<std::uint8_t> half, long threads, std::uint8_t* bits, double* errors,
                  std::int64_t* partner);

// Events of one class by falling score; of equal scores the later first.
struct CentreEvents {
  View<double> score;
  View<std::int32_t> unit;
  View<std::uint8_t> bits;
  Matrix<double> errors;
};

struct CentreRule {
  std::size_t distances, error_at;
  double least_recall = 0.1, least_precision = 0.1;
};

// Average precision at each distance, then the errors: [rows][distances + kErrors]; not a number where there is no
// truth.
void centre_scores(const CentreEvents& events, View<double> truths, Matrix<double> weights, const CentreRule& rule,
                   long threads, double* out);

// The same of each sample alone, from events by sample.
void centre_scores_by_unit(const CentreEvents& events, View<double> truths, const CentreRule& rule, double* out);

// Precision at 101 recalls for each distance, then confidence and the errors at these: [distances + 1 + kErrors][101].
void centre_curves(const CentreEvents& events, View<double> truths, const double* weights, const CentreRule& rule,
                   double* out);

}  // namespace steelyard::solid
