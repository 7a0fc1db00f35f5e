// Outlines of masks: see contours.hpp.
#include "masks/contours.hpp"

#include <algorithm>
#include <cstring>

namespace steelyard {
namespace {

// Places of the outline's pixels, column by column.
std::vector<std::uint32_t> outline_of(const Rle& mask, std::vector<std::uint8_t>& pixels) {
  const std::size_t h = mask.height, w = mask.width;
  std::vector<std::uint32_t> places;
  const Extent extent = extent_of(mask);
  if (extent.area == 0) return places;
  pixels.assign(h * w, 0);
  rle_to_pixels(mask, pixels.data());
  const std::size_t left = extent.left ? extent.left - 1 : 0, top = extent.top ? extent.top - 1 : 0;
  for (std::size_t x = left; x < extent.right; ++x) {
    const std::uint8_t* here = pixels.data() + x * h;
    const bool last_column = x + 1 == w;
    for (std::size_t y = top; y < extent.low; ++y) {
      const bool last_row = y + 1 == h;
      bool edge = false;
      if (last_column) {
        edge = !last_row && here[y] != here[y + 1];
      } else if (last_row) {
        edge = here[y] != here[h + y];
      } else {
        edge = here[y] != here[y + 1] || here[y] != here[h + y] || here[y] != here[h + y + 1];
      }
      if (edge) places.push_back(static_cast<std::uint32_t>(x * h + y));
    }
  }
  return places;
}

// How many places of `mine` are within reach of a place of `other`.
std::int64_t near_places(const std::vector<std::uint32_t>& mine, const std::vector<std::uint32_t>& other,
                         const std::vector<std::uint32_t>& reach, std::size_t h, std::size_t w,
                         std::vector<std::uint8_t>& painted) {
  painted.assign(h * w, 0);
  const std::size_t radius = reach.size() - 1;
  for (const std::uint32_t place : other) {
    const std::size_t x = place / h, y = place % h;
    const std::size_t left = x > radius ? x - radius : 0, right = std::min(w, x + radius + 1);
    for (std::size_t at = left; at < right; ++at) {
      const std::size_t half = reach[at > x ? at - x : x - at];
      const std::size_t top = y > half ? y - half : 0, low = std::min(h, y + half + 1);
      std::memset(painted.data() + at * h + top, 1, low - top);
    }
  }
  std::int64_t count = 0;
  for (const std::uint32_t place : mine) count += painted[place];
  return count;
}

}  // namespace

std::array<std::int64_t, 4> contour_counts(const Rle& first, const Rle& second, std::uint32_t radius) {
  std::vector<std::uint8_t> pixels;
  const auto mine = outline_of(first, pixels), other = outline_of(second, pixels);
  std::array<std::int64_t, 4> counts = {static_cast<std::int64_t>(mine.size()), static_cast<std::int64_t>(other.size()),
                                        0, 0};
  if (mine.empty() || other.empty()) return counts;
  std::vector<std::uint32_t> reach(radius + 1);  // how far up and down a disc goes, by the distance to its middle
  for (std::uint64_t d = 0, half = radius; d <= radius; ++d) {
    while (half * half + d * d > std::uint64_t{radius} * radius) --half;
    reach[d] = static_cast<std::uint32_t>(half);
  }
  counts[2] = near_places(mine, other, reach, first.height, first.width, pixels);
  counts[3] = near_places(other, mine, reach, first.height, first.width, pixels);
  return counts;
}

}  // namespace steelyard
