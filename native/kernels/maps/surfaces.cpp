// Surfaces: see surfaces.hpp.
#include "maps/surfaces.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "maps/maps.hpp"

namespace steelyard {
namespace {

// The triangles of marching cubes by the eight corners of a cell: thirteen cases and what turning, mirroring and taking
// the inside for the outside make of them. A triangle is given by its normal, eight times its area along each axis, so
// that the areas are those of DeepMind's surface-distance (lookup_tables.py) and of MONAI.
struct CubeCase {
  unsigned corners;
  std::vector<std::array<int, 3>> normals;
};

const std::vector<CubeCase>& cube_cases() {
  static const std::vector<CubeCase> cases = {
      {1, {{1, 1, 1}}},
      {3, {{2, 2, 0}, {2, 2, 0}}},
      {6, {{1, 1, 1}, {1, 1, 1}}},
      {7, {{1, 1, 1}, {2, 2, 2}, {4, 0, 0}}},
      {15, {{4, 0, 0}, {4, 0, 0}}},
      {22, {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}},
      {23, {{1, 1, 1}, {1, 1, 1}, {2, 2, 2}, {2, 2, 2}}},
      {24, {{1, 1, 1}, {1, 1, 1}}},
      {25, {{0, 2, 2}, {0, 2, 2}, {1, 1, 1}}},
      {27, {{0, 2, 2}, {1, 1, 1}, {2, 0, 2}, {3, 3, 3}}},
      {30, {{1, 1, 1}, {1, 1, 1}, {2, 2, 2}, {4, 0, 0}}},
      {60, {{2, 2, 0}, {2, 2, 0}, {2, 2, 0}, {2, 2, 0}}},
      {105, {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}}},
  };
  return cases;
}

// The corner at (z, y, x) has bit 7 - (4 z + 2 y + x).
unsigned turned(unsigned corners, const std::array<int, 3>& axes, unsigned mirrored) {
  unsigned result = 0;
  for (unsigned corner = 0; corner < 8; ++corner) {
    if (!(corners >> (7 - corner) & 1)) continue;
    unsigned to = 0;
    for (unsigned axis = 0; axis < 3; ++axis) {
      const unsigned old = corner >> (2 - static_cast<unsigned>(axes[axis])) & 1;
      to |= (old ^ (mirrored >> axis & 1)) << (2 - axis);
    }
    result |= 1u << (7 - to);
  }
  return result;
}

}  // namespace

std::vector<double> element_sizes(const Spacing3& spacing, bool plane) {
  if (plane) {
    const double down = spacing[1], across = spacing[2];
    const double corner = 0.5 * std::sqrt(down * down + across * across);
    std::vector<double> lengths(16, corner);
    lengths[0] = lengths[15] = 0;
    lengths[3] = lengths[12] = across;  // 00/11 and 11/00: an edge along the last axis
    lengths[5] = lengths[10] = down;
    lengths[6] = lengths[9] = 2 * corner;
    return lengths;
  }
  std::vector<double> areas(256, 0.0);
  for (const CubeCase& one : cube_cases()) {
    std::array<int, 3> axes = {0, 1, 2};
    do {
      double area = 0;
      for (const std::array<int, 3>& normal : one.normals) {
        const double x = normal[static_cast<std::size_t>(axes[0])] / 8.0 * spacing[1] * spacing[2];
        const double y = normal[static_cast<std::size_t>(axes[1])] / 8.0 * spacing[0] * spacing[2];
        const double z = normal[static_cast<std::size_t>(axes[2])] / 8.0 * spacing[0] * spacing[1];
        area += std::sqrt(x * x + y * y + z * z);
      }
      for (unsigned mirrored = 0; mirrored < 8; ++mirrored) {
        const unsigned code = turned(one.corners, axes, mirrored);
        areas[code] = areas[255 - code] = area;
      }
    } while (std::next_permutation(axes.begin(), axes.end()));
  }
  return areas;
}

namespace {

struct Surface {
  Shape3 shape;
  std::vector<std::uint8_t> code;  // not 0 at a point of the surface
  bool any = false;
};

Surface voxels_of(const std::uint8_t* mask, const Shape3& shape, bool plane) {
  const auto [n0, n1, n2] = shape;
  Surface found{shape, std::vector<std::uint8_t>(n0 * n1 * n2, 0), false};
  for (std::size_t z = 0; z < n0; ++z) {
    for (std::size_t y = 0; y < n1; ++y) {
      for (std::size_t x = 0; x < n2; ++x) {
        const std::size_t i = (z * n1 + y) * n2 + x;
        if (!mask[i]) continue;
        bool inner =
            x > 0 && x + 1 < n2 && y > 0 && y + 1 < n1 && mask[i - 1] && mask[i + 1] && mask[i - n2] && mask[i + n2];
        if (!plane) inner = inner && z > 0 && z + 1 < n0 && mask[i - n1 * n2] && mask[i + n1 * n2];
        found.code[i] = !inner;
        found.any |= !inner;
      }
    }
  }
  return found;
}

Surface elements_of(const std::uint8_t* mask, const Shape3& shape, bool plane) {
  const auto [n0, n1, n2] = shape;
  const std::size_t m0 = plane ? 1 : n0 + 1, m1 = n1 + 1, m2 = n2 + 1;
  Surface found{{m0, m1, m2}, std::vector<std::uint8_t>(m0 * m1 * m2, 0), false};
  const unsigned whole = plane ? 15 : 255;
  // Of two rows of voxels above each other, or four: bits 0, 2, 4 and 6, with one place of outside at either end.
  std::vector<std::uint8_t> bits(n2 + 2);
  auto add = [&](std::size_t z, std::size_t y) {  // places counted from 1
    const bool inside = (plane || (z >= 1 && z <= n0)) && y >= 1 && y <= n1;
    const std::uint8_t* row = inside ? mask + ((plane ? 0 : z - 1) * n1 + y - 1) * n2 : nullptr;
    for (std::size_t x = 0; x < n2; ++x) {
      bits[x + 1] = static_cast<std::uint8_t>(bits[x + 1] << 2 | (row && row[x] ? 1 : 0));
    }
  };
  for (std::size_t z = 0; z < m0; ++z) {
    for (std::size_t y = 0; y < m1; ++y) {
      std::fill(bits.begin(), bits.end(), std::uint8_t{0});
      for (std::size_t k = plane ? 2 : 0; k < 4; ++k) add(z + k / 2, y + k % 2);
      std::uint8_t* codes = found.code.data() + (z * m1 + y) * m2;
      unsigned seen = 0;
      for (std::size_t x = 0; x < m2; ++x) {
        const unsigned code = unsigned{bits[x]} << 1 | bits[x + 1];
        codes[x] = static_cast<std::uint8_t>(code == whole ? 0 : code);
        seen |= codes[x];
      }
      found.any |= seen != 0;
    }
  }
  return found;
}

// `sizes` are weights by code; 1 each where there are none.
SurfaceDistances between(const Surface& points, const Surface& target, const Spacing3& spacing,
                         const std::vector<double>& sizes) {
  Nearest nearest(target.code.data(), target.shape, spacing);
  std::vector<std::pair<double, double>> events;
  const auto [n0, n1, n2] = points.shape;
  for (std::size_t z = 0; z < n0; ++z) {
    for (std::size_t y = 0; y < n1; ++y) {
      const std::uint8_t* codes = points.code.data() + (z * n1 + y) * n2;
      for (std::size_t x = 0; x < n2; ++x) {
        if (codes[x]) events.emplace_back(std::sqrt(nearest.at(z, y, x)), sizes.empty() ? 1.0 : sizes[codes[x]]);
      }
    }
  }
  std::sort(events.begin(), events.end());
  SurfaceDistances found;
  for (const auto& [distance, weight] : events) {
    if (found.distance.empty() || found.distance.back() != distance) {
      found.distance.push_back(distance);
      found.weight.push_back(0);
      found.count.push_back(0);
    }
    found.weight.back() += weight;
    ++found.count.back();
  }
  return found;
}

}  // namespace

void surface_distances(const std::uint8_t* a, const std::uint8_t* b, const Shape3& shape, const Spacing3& spacing,
                       bool plane, SurfaceOf method, SurfaceDistances& from_a, SurfaceDistances& from_b) {
  std::vector<double> sizes;
  if (method == SurfaceOf::elements) sizes = element_sizes(spacing, plane);
  auto make = [&](const std::uint8_t* mask) {
    return method == SurfaceOf::voxels ? voxels_of(mask, shape, plane) : elements_of(mask, shape, plane);
  };
  const Surface first = make(a), second = make(b);
  if (!first.any || !second.any) return;
  from_a = between(first, second, spacing, sizes);
  from_b = between(second, first, spacing, sizes);
}

std::int32_t connected_parts(const std::uint8_t* mask, const Shape3& shape, std::int32_t* out) {
  const auto [n0, n1, n2] = shape;
  std::fill(out, out + n0 * n1 * n2, 0);
  std::vector<std::size_t> open;
  std::int32_t parts = 0;
  for (std::size_t start = 0; start < n0 * n1 * n2; ++start) {
    if (!mask[start] || out[start]) continue;
    out[start] = ++parts;
    open.push_back(start);
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      const std::size_t x = at % n2, y = at / n2 % n1, z = at / n2 / n1;
      for (std::size_t i = z ? z - 1 : 0; i < std::min(z + 2, n0); ++i) {
        for (std::size_t j = y ? y - 1 : 0; j < std::min(y + 2, n1); ++j) {
          for (std::size_t k = x ? x - 1 : 0; k < std::min(x + 2, n2); ++k) {
            const std::size_t to = (i * n1 + j) * n2 + k;
            if (!mask[to] || out[to]) continue;
            out[to] = parts;
            open.push_back(to);
          }
        }
      }
    }
  }
  return parts;
}

void dilate_mask(const std::uint8_t* mask, const Shape3& shape, std::size_t times, std::uint8_t* out) {
  const auto [n0, n1, n2] = shape;
  const std::size_t size = n0 * n1 * n2;
  std::vector<std::uint8_t> before(mask, mask + size);
  for (std::uint8_t& value : before) value = value != 0;
  std::copy(before.begin(), before.end(), out);
  for (std::size_t round = 0; round < times; ++round) {
    for (std::size_t at = 0; at < size; ++at) {
      if (!before[at]) continue;
      const std::size_t x = at % n2, y = at / n2 % n1, z = at / n2 / n1;
      for (std::size_t i = z ? z - 1 : 0; i < std::min(z + 2, n0); ++i) {
        for (std::size_t j = y ? y - 1 : 0; j < std::min(y + 2, n1); ++j) {
          for (std::size_t k = x ? x - 1 : 0; k < std::min(x + 2, n2); ++k) {
            if ((i != z) + (j != y) + (k != x) <= 2) out[(i * n1 + j) * n2 + k] = 1;
          }
        }
      }
    }
    std::copy(out, out + size, before.begin());
  }
}

template <typename T>
ValueBoxes value_boxes(const T* map, const Shape3& shape) {
  struct Box {
    std::array<std::int64_t, 6> ends;
    std::int64_t count;
  };
  std::map<std::uint32_t, Box> boxes;
  const auto [n0, n1, n2] = shape;
  for (std::size_t z = 0; z < n0; ++z) {
    for (std::size_t y = 0; y < n1; ++y) {
      const T* row = map + (z * n1 + y) * n2;
      for (std::size_t x = 0; x < n2;) {
        const T value = row[x];
        std::size_t end = x + 1;
        while (end + 16 <= n2 && sixteen_equal(row + end, value)) end += 16;
        while (end < n2 && row[end] == value) ++end;
        const std::int64_t i = static_cast<std::int64_t>(z), j = static_cast<std::int64_t>(y);
        const std::int64_t low = static_cast<std::int64_t>(x), high = static_cast<std::int64_t>(end) - 1;
        auto [at, fresh] = boxes.try_emplace(value, Box{{i, i, j, j, low, high}, 0});
        auto& ends = at->second.ends;
        if (!fresh) {
          ends = {std::min(ends[0], i), std::max(ends[1], i),   std::min(ends[2], j),
                  std::max(ends[3], j), std::min(ends[4], low), std::max(ends[5], high)};
        }
        at->second.count += high - low + 1;
        x = end;
      }
    }
  }
  ValueBoxes found;
  for (const auto& [value, box] : boxes) {
    found.value.push_back(value);
    found.box.insert(found.box.end(), box.ends.begin(), box.ends.end());
    found.count.push_back(box.count);
  }
  return found;
}

template ValueBoxes value_boxes(const std::uint8_t*, const Shape3&);
template ValueBoxes value_boxes(const std::uint16_t*, const Shape3&);
template ValueBoxes value_boxes(const std::uint32_t*, const Shape3&);

}  // namespace steelyard
