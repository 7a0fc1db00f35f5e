// Scores of pixels as sorted, counted and packed values: what is kept of an image so that its pixels can be counted at
// any scores later. See scores.cpp for the bytes.
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

struct Counted {
  std::vector<double> score;
  std::vector<std::int64_t> count;
};

// The distinct scores, rising, and how often each occurs. Bytes that were not packed here are an error.
Counted unpack_scores(View<std::uint8_t> packed);

// Adds to `at_or_above[k]` and `above[k]` `weight` times the number of packed scores at or above, and above,
// `thresholds[k]`, which rise.
void count_scores(View<std::uint8_t> packed, View<double> thresholds, double weight, double* at_or_above,
                  double* above);

}  // namespace steelyard::anomalies
