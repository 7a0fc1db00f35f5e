// Connected regions of a mask, from the runs of its rows.
#pragma once

#include <cstdint>
#include <vector>

#include "support/views.hpp"

namespace steelyard::anomalies {

struct MaskRegions {
  std::vector<std::int64_t> pixels;  // places in the mask, region after region, each in rising order
  std::vector<std::int64_t> ends;    // of each region in `pixels`
};

// Regions in the order of their first pixels. Pixels that are not 0 touch along an edge, or with `corners` at a corner.
MaskRegions find_regions(Matrix<std::uint8_t> mask, bool corners);

}  // namespace steelyard::anomalies
