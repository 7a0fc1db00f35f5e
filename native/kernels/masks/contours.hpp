// The outlines of masks, and how much of one lies near the other: the boundary measure of DAVIS.
#pragma once

#include <array>
#include <cstdint>

#include "masks/rle.hpp"

namespace steelyard {

// Pixels of the first outline, of the second, of the first within `radius` of the second, and of the second within it
// of the first. An outline is where a pixel differs from the next one to the right, below, or both.
std::array<std::int64_t, 4> contour_counts(const Rle& first, const Rle& second, std::uint32_t radius);

}  // namespace steelyard
