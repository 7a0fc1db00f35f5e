// Checks of numbers that cross the boundary: one pass each, before a kernel runs. What fails is a
// std::invalid_argument, in Python a ValueError.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "support/views.hpp"

namespace steelyard {

inline void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

// Whether every number lies in [low, high]; not a number lies nowhere.
bool all_within(const double* x, std::size_t n, double low, double high);

constexpr double kMostFinite = std::numeric_limits<double>::max();

inline void check_finite(const double* x, std::size_t n, const char* message) {
  require(all_within(x, n, -kMostFinite, kMostFinite), message);
}

inline void check_numbers(const double* x, std::size_t n, const char* message) {
  require(all_within(x, n, -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()), message);
}

template <typename Weights>
void check_weights(const Weights& weights) {
  require(all_within(weights.data(), weights.size(), 0.0, kMostFinite), "a weight is negative or not finite");
}

// Offsets of ranges that follow each other and cover all rows: from 0 to `rows`, never falling.
inline void check_offsets(View<std::int64_t> offsets, std::size_t rows, const char* message) {
  require(!offsets.empty() && offsets[0] == 0, message);
  for (std::size_t i = 1; i < offsets.size(); ++i) require(offsets[i - 1] <= offsets[i], message);
  require(static_cast<std::size_t>(offsets.back()) == rows, message);
}

}  // namespace steelyard
