// Ranked rows of a class under rows of weights: average precision, ROC AUC, the best F1, the hit rate at a false alarm
// rate.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ap/figures.hpp"
#include "support/views.hpp"

namespace steelyard {

RowFigure check_row_figure(int figure);

struct RankedRows {
  View<std::int64_t> owner;  // empty where every unit weighs 1
  View<std::uint8_t> positive, last;
  View<double> value;  // empty where all are 1
};
void check_ranked_rows(const RankedRows& rows, std::size_t units);

// One value per row of weights. `limit` is the highest false alarm rate.
void ranked(const RankedRows& rows, Matrix<double> weights, RowFigure figure, double limit, long threads, double* out);
// The same for each unit alone, its rows standing together: those of unit u from starts[u] to starts[u + 1].
void ranked_each(const RankedRows& rows, View<std::int64_t> starts, RowFigure figure, double limit, double* out);

// Rankings under rows of counted weights, which come kDrawnLanes side by side: (groups, units, lanes). Those of ranking
// k go from begin[k] to begin[k + 1].
struct CountedRows {
  View<std::int64_t> begin;
  View<std::int32_t> unit;
  View<std::uint8_t> positive, last;

  std::size_t rankings() const { return begin.size() - 1; }
};
void check_counted_rows(const CountedRows& rows, std::size_t units);

// Average precision or ROC AUC for each of so many draws and each ranking, [draws][rankings], to the bits of `ranked`.
void ranked_draws(const CountedRows& rows, const std::uint8_t* counts, std::size_t units, std::size_t draws,
                  RowFigure figure, long threads, double* out);

}  // namespace steelyard
