// One sequence as TrackEval holds it: for each frame a full matrix of similarities, truths by predictions, and all
// matrices one behind the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "tracking/tracking.hpp"

namespace steelyard::tracking {

// How many rows of either side each frame has.
struct FrameSizes {
  const std::int64_t *truth, *prediction;
  std::size_t frames;
};

// Which rows take part, one byte each; null for all.
struct Chosen {
  const std::uint8_t *truth = nullptr, *prediction = nullptr;
};

// IoU of boxes left, top, right, low, in the order of operations of TrackEval; or the share of the truth's area.
void dense_ious(const FrameSizes& sizes, const double* truth, const double* prediction, bool of_truth, double* out);

// The similarities of the chosen rows and columns; returns how many.
std::size_t dense_select(const FrameSizes& sizes, const double* similarity, const Chosen& chosen, double* out);

// The similarities of at least `least` of the chosen rows, and the frames that they belong to.
constexpr double kAny = std::numeric_limits<double>::denorm_min();  // all that are above 0
struct Sparse {
  std::vector<Frame> frames;
  std::vector<Overlap> overlaps;
};
Sparse sparse_of(const FrameSizes& sizes, const double* similarity, const Chosen& chosen, double least);

// What pairing each frame by similarity adds up to, as numpy adds the pairs of scipy.
void frame_sums(const FrameSizes& sizes, const double* similarity, double* out);

}  // namespace steelyard::tracking
