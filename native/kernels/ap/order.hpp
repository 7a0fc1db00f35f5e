// The order of scores, from the highest to the lowest.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/views.hpp"

namespace steelyard {

// Places of the scores from the highest to the lowest, equal ones in their order; where a run of ties ends; and what
// `positive` says of each. False where a score is not a number.
bool rank_order(View<double> scores, View<std::uint8_t> positive, std::uint32_t* order, std::uint8_t* last,
                std::uint8_t* marked);

}  // namespace steelyard
