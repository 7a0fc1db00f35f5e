// Where the figures of a class go; see figures.hpp.
#pragma once

#include "ap/figures.hpp"
#include "ap/lanes.hpp"

namespace steelyard::STEELYARD_TARGET {
namespace {

// Adds the figure and the recall of one threshold, where the class has truth.
template <std::size_t N, typename Value, typename Found>
void put(const ClassJob& job, std::size_t t, const bool* counts, Value value, Found found) {
  double *values = job.value + t * N, *recalls = job.recall + t * N;
  for (std::size_t l = 0; l < N; ++l) {
    const double v = value(l), f = found(l);
    values[l] += counts[l] ? v : 0.0;
    recalls[l] += counts[l] ? f : 0.0;
  }
}

}  // namespace
}  // namespace steelyard::STEELYARD_TARGET
