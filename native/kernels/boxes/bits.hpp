// One bit for each IoU threshold.
#pragma once

#include <cstddef>
#include <cstdint>

namespace steelyard {

using Bits = std::uint32_t;
constexpr std::size_t kMostThresholds = 32;
constexpr Bits all_bits(std::size_t thresholds) { return thresholds >= 32 ? ~Bits{0} : (Bits{1} << thresholds) - 1; }

}  // namespace steelyard
