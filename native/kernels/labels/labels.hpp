// Counting labels: the confusion matrix of two integer columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "support/views.hpp"

namespace steelyard {

// The lowest and the highest of at least one value.
std::pair<std::int64_t, std::int64_t> extent(View<std::int64_t> values);

constexpr std::size_t kMostCells = std::size_t{1} << 26;

// Counts of (truth, prediction), values from `low` to `low + size - 1`, into size x size zeros; false where one lies
// outside.
bool confusion(View<std::int64_t> truth, View<std::int64_t> prediction, std::int64_t low, std::size_t size,
               std::int64_t* out);

}  // namespace steelyard
