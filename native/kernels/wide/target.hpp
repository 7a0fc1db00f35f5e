// The functions of one target; see wide.hpp.
#pragma once

#include "ap/lanes.hpp"
#include "wide/wide.hpp"

namespace steelyard::STEELYARD_TARGET {

void walk_class(const ClassJob& job);
void count_class(const ClassJob& job);
void walk_rows(const RowJob& job);
void walk_drawn(const DrawnJob& job);
void poisson_weights(const std::uint64_t* streams, std::size_t units, std::size_t first, double* out);
void poisson_counts(const std::uint64_t* streams, std::size_t units, std::size_t first, std::uint8_t* out);
void byte_products(const std::int8_t* weights, std::size_t rows, std::size_t columns, const std::int8_t* x,
                   std::size_t vectors, std::int32_t start, float* out);
double focal_stretch(const FocalStretch& job);
void filter_row(const FilterRow& job);
void information_row(InformationRow& job);

const WideKernels& table();

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
