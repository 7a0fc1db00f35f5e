// Counts of scores between thresholds and at them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/views.hpp"

namespace steelyard {

// A score between thresholds k - 1 and k adds 1 to place 2k of a row of counts, one that equals threshold k to place
// 2k + 1. The row is that of the score's owner; with two owners both rows get 1, and one row where both are the same. A
// negative owner has no row. Without owners there is one row. Thresholds must rise.
struct OwnedScores {
  View<double> score;
  View<std::int32_t> first, second;  // empty where there are none
};

void check_owned_scores(View<double> thresholds, const OwnedScores& scores, std::size_t rows);
void count_at(View<double> thresholds, const OwnedScores& scores, std::int64_t* counts);

}  // namespace steelyard
