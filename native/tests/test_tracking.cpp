// Sequences with full matrices of similarities.
#include <cstdint>
#include <limits>
#include <vector>

#include "check.hpp"
#include "tracking/dense.hpp"

namespace {

using namespace steelyard::tracking;

// Frame 0: a truth of 4 x 4 and two predictions, one that covers its right half and 8 pixels more, one far away.
// Frame 1: no truth and one prediction. Frame 2: equal boxes, and a truth without an area.
TEST(overlaps_of_frames) {
  const std::int64_t truths[] = {1, 0, 2}, predictions[] = {2, 1, 1};
  const FrameSizes sizes{truths, predictions, 3};
  const double truth[] = {0, 0, 4, 4, 5, 5, 7, 7, 5, 5, 5, 7};
  const double prediction[] = {2, 0, 6, 4, 10, 10, 11, 11, 0, 0, 1, 1, 5, 5, 7, 7};
  double out[4] = {-1, -1, -1, -1};
  dense_ious(sizes, truth, prediction, false, out);
  EQUAL(out[0], 8.0 / 24);
  EQUAL(out[1], 0.0);
  EQUAL(out[2], 1.0);
  EQUAL(out[3], 0.0);
  dense_ious(sizes, truth, prediction, true, out);
  EQUAL(out[0], 8.0 / 16);
  EQUAL(out[1], 0.0);
  EQUAL(out[2], 1.0);
  EQUAL(out[3], 0.0);
}

// Two frames of 2 x 3 and 1 x 2: the second truth, and the first and third prediction, then the last prediction.
TEST(chosen_rows_of_frames) {
  const std::int64_t truths[] = {2, 1}, predictions[] = {3, 2};
  const FrameSizes sizes{truths, predictions, 2};
  const double similarity[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8};
  const std::uint8_t rows[] = {0, 1, 1}, columns[] = {1, 0, 1, 0, 1};
  double out[3] = {};
  EQUAL(dense_select(sizes, similarity, {rows, columns}, out), 3u);
  EQUAL(out[0], 0.4);
  EQUAL(out[1], 0.6);
  EQUAL(out[2], 0.8);

  const Sparse sparse = sparse_of(sizes, similarity, {rows, columns}, 0.5);
  EQUAL(sparse.frames.size(), 2u);
  EQUAL(sparse.frames[1].truth, 2u);
  EQUAL(sparse.frames[1].truth_end, 3u);
  EQUAL(sparse.frames[1].prediction, 3u);
  EQUAL(sparse.frames[1].prediction_end, 5u);
  EQUAL(sparse.frames[0].pair_end, 1u);
  EQUAL(sparse.frames[1].pair, 1u);
  EQUAL(sparse.frames[1].pair_end, 2u);
  EQUAL(sparse.overlaps.size(), 2u);
  EQUAL(sparse.overlaps[0].truth, 1u);
  EQUAL(sparse.overlaps[0].prediction, 2u);
  EQUAL(sparse.overlaps[0].similarity, 0.6);
  EQUAL(sparse.overlaps[1].truth, 2u);
  EQUAL(sparse.overlaps[1].prediction, 4u);
}

// Without a choice all rows take part; similarities of 0 and NaN do not.
TEST(similarities_above_zero) {
  const std::int64_t truths[] = {1}, predictions[] = {4};
  const double similarity[] = {0.0, std::numeric_limits<double>::quiet_NaN(), 1e-300, 1.0};
  const Sparse sparse = sparse_of({truths, predictions, 1}, similarity, {}, kAny);
  EQUAL(sparse.overlaps.size(), 2u);
  EQUAL(sparse.overlaps[0].prediction, 2u);
  EQUAL(sparse.overlaps[1].prediction, 3u);
}

// The largest similarity of the first frame, 0.75, is in no best pairing: 0.5 + 0.625 is more than 0.75 + 0.125.
// A frame without truths adds 0. The last one is 9 x 8: eight pairs of 0.5, and a row that is left over.
TEST(sums_of_pairings) {
  const std::int64_t truths[] = {2, 0, 9}, predictions[] = {2, 3, 8};
  std::vector<double> similarity = {0.75, 0.5, 0.625, 0.125};
  for (int i = 0; i < 9; ++i) {
    for (int j = 0; j < 8; ++j) similarity.push_back(i == j ? 0.5 : 0.0);
  }
  double out[3] = {-1, -1, -1};
  frame_sums({truths, predictions, 3}, similarity.data(), out);
  EQUAL(out[0], 1.125);
  EQUAL(out[1], 0.0);
  EQUAL(out[2], 4.0);
}

}  // namespace
