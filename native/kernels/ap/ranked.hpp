// Ranked rows of a class under rows of weights: average precision, ROC AUC, the best F1, the hit rate at a false alarm rate.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/views.hpp"

namespace steelyard {

enum class RowFigure : int { ap, auc, best_f1, best_rank, tpr };
RowFigure check_row_figure(int figure);

// Places of the scores from the highest to the lowest, equal ones in their order; where a run of ties ends; and what
// `positive` says of each. False where a score is not a number.
bool rank_order(View<double> scores, View<std::uint8_t> positive, std::uint32_t* order, std::uint8_t* last, std::uint8_t* marked);

struct RankedRows {
  View<std::int64_t> owner;  // empty where every unit weighs 1
  View<std::uint8_t> positive, last;
  View<double> value;  // empty where all are 1
};
void check_ranked_rows(const RankedRows& rows, std::size_t units);

// One value a row of weights. `limit` is the highest false alarm rate.
void ranked(const RankedRows& rows, Matrix<double> weights, RowFigure figure, double limit, long threads, double* out);
// The same for each unit alone, its rows standing together: those of unit u from starts[u] to starts[u + 1].
void ranked_each(const RankedRows& rows, View<std::int64_t> starts, RowFigure figure, double limit, double* out);

}  // namespace steelyard
