// Scores of pixels as sorted, counted and packed values: what is kept of an image so that its pixels can be counted at
// any scores later. See packed.hpp for the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/views.hpp"

namespace steelyard::anomalies {

using Bytes = std::vector<std::uint8_t>;

// Scores where `skip` is 0 (all of them where it is empty), packed. A score that is not finite is an error.
Bytes pack_scores(View<float> scores, View<std::uint8_t> skip);
Bytes pack_scores(View<double> scores, View<std::uint8_t> skip);
Bytes pack_scores(View<std::uint8_t> scores, View<std::uint8_t> skip);
Bytes pack_scores(View<std::uint16_t> scores, View<std::uint8_t> skip);
// Half-precision numbers by their bits.
Bytes pack_halves(View<std::uint16_t> bits, View<std::uint8_t> skip);

// The same in groups that are not sorted within, which is faster; only numbers of single precision can be.
Bytes group_scores(View<float> scores, View<std::uint8_t> skip);

struct Counted {
  std::vector<double> score;
  std::vector<std::int64_t> count;
};

// The distinct scores, rising, and how often each occurs. Bytes that were not packed here are an error.
Counted unpack_scores(View<std::uint8_t> packed);

// What the scores of a set count in sums: each one `positive`, and the share of the set that it adds `overlap`. With a
// `saturation` above 0 the share is that of so many scores, the highest, and no more than 1 in all.
struct Factor {
  double overlap, positive;
  std::int64_t saturation;
};

struct Summed {
  std::vector<double> score, overlap, positive;
};

// Sums at the distinct scores of several sets of sorted scores, rising.
Summed sum_scores(const std::vector<View<std::uint8_t>>& sets, View<Factor> factors);

// Adds to a row of `result` for each set, or to one row for their sum, `weights` times the number of packed scores at
// or above thresholds, which rise, and then the number above them.
void count_scores(const std::vector<View<std::uint8_t>>& sets, View<double> thresholds, View<double> weights, bool each,
                  double* result);

}  // namespace steelyard::anomalies
