// How many scores of a row lie above thresholds, and which lie too near to one to say.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/memory.hpp"
#include "support/views.hpp"

namespace steelyard {

// Row r has the thresholds from starts[r] to starts[r + 1]. A score above `high` is surely above, one that is not above
// `low` surely is not; `low` never exceeds `high`. A threshold of infinity is passed over.
struct Thresholds {
  View<std::int64_t> starts;
  View<float> high, low;
};

// Scores between `low` and `high` of a threshold: its number, and the score's column.
struct NearScores {
  Buffer<std::int64_t> threshold, column;
};

// `above` has a count for each threshold.
void count_above(Matrix<float> scores, const Thresholds& thresholds, std::int64_t* above, NearScores& near);

}  // namespace steelyard
