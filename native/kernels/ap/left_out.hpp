// Rankings with one group of units left out at a time: the jackknife.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ap/ranked.hpp"

namespace steelyard {

void check_groups(View<std::int32_t> group, std::size_t groups);

// Average precision or ROC AUC without each group of units, [groups][rankings]; every unit weighs 1. `group` is by
// unit; a unit in group -1 is never left out. AUC is that of `ranked` to the bit, average precision to about 1e-14.
void ranked_left_out(const CountedRows& rows, View<std::int32_t> group, std::size_t groups, RowFigure figure,
                     long threads, double* out);

}  // namespace steelyard
