// Label maps: see maps.hpp.
#include "maps/maps.hpp"

#include <algorithm>
#include <cstring>

#include "maps/pairs.hpp"

namespace steelyard {
namespace {

// Calls take(value of a, value of b, length) for each run of equal pairs. Steps of 16 pixels where all equal.
template <typename A, typename B, typename Take>
void for_runs(const A* a, const B* b, std::size_t n, Take take) {
  std::size_t i = 0;
  while (i < n) {
    const A x = a[i];
    const B y = b[i];
    const std::size_t start = i++;
    while (i + 16 <= n && sixteen_equal(a + i, x) && sixteen_equal(b + i, y)) i += 16;
    while (i < n && a[i] == x && b[i] == y) ++i;
    take(x, y, i - start);
  }
}

}  // namespace

template <typename A, typename B>
MapCells map_cells(const A* a, const B* b, std::size_t n) {
  MapCells cells;
  PairCounter counter;
  for_runs(a, b, n, [&](A x, B y, std::size_t length) {
    counter.add(std::uint64_t{x} << 32 | y, static_cast<std::int64_t>(length));
  });
  counter.into(cells);
  return cells;
}

template <>
MapCells map_cells<std::uint8_t, std::uint8_t>(const std::uint8_t* a, const std::uint8_t* b, std::size_t n) {
  MapCells cells;
  std::vector<std::int64_t> counts(1u << 16, 0);
  for_runs(a, b, n, [&](std::uint8_t x, std::uint8_t y, std::size_t length) {
    counts[std::size_t{x} << 8 | y] += static_cast<std::int64_t>(length);
  });
  for (std::size_t key = 0; key < counts.size(); ++key) {
    if (!counts[key]) continue;
    cells.a.push_back(static_cast<std::uint32_t>(key >> 8));
    cells.b.push_back(static_cast<std::uint32_t>(key & 255));
    cells.count.push_back(counts[key]);
  }
  return cells;
}

// A row's run gives the pixels whose row of 2 d + 1 is of one value; along columns, so many of those in a row of rows,
// all of one value, give the square. Counting stops at 2 d + 1.
template <typename T>
void map_bands(const T* map, std::size_t height, std::size_t width, std::size_t d, T inside, bool has_kept, T kept,
               T* out) {
  std::copy(map, map + height * width, out);
  const std::size_t full = 2 * d + 1;
  if (full > height || full > width) return;
  std::vector<std::uint32_t> rows(width, 0);  // rows up to this one of which the same holds
  std::vector<std::uint8_t> uniform(width);
  for (std::size_t y = 0; y < height; ++y) {
    const T* row = map + y * width;
    std::fill(uniform.begin(), uniform.end(), std::uint8_t{0});
    for_runs(row, row, width, [&, x = std::size_t{0}](T, T, std::size_t length) mutable {
      if (length >= full) std::memset(uniform.data() + x + d, 1, length - 2 * d);
      x += length;
    });
    if (y == 0) {
      for (std::size_t x = 0; x < width; ++x) rows[x] = uniform[x];
    } else {
      const T* above = row - width;
      for (std::size_t x = 0; x < width; ++x) {
        const std::uint32_t before = row[x] == above[x] ? rows[x] : 0;
        rows[x] = uniform[x] ? std::min<std::uint32_t>(before + 1, static_cast<std::uint32_t>(full)) : 0;
      }
    }
    if (y < 2 * d) continue;
    T* to = out + (y - d) * width;
    for (std::size_t x = 0; x < width; ++x) to[x] = rows[x] == full ? inside : to[x];
  }
  if (!has_kept) return;
  for (std::size_t i = 0; i < height * width; ++i) out[i] = map[i] == kept ? kept : out[i];
}

template <typename T>
void map_recode(const T* map, std::size_t n, const std::uint32_t* values, const std::uint16_t* codes, std::size_t count,
                std::uint16_t other, std::uint16_t* out) {
  for_runs(map, map, n, [&, i = std::size_t{0}](T value, T, std::size_t length) mutable {
    const std::uint32_t* at = std::lower_bound(values, values + count, std::uint32_t{value});
    const std::uint16_t code = at < values + count && *at == value ? codes[at - values] : other;
    std::fill(out + i, out + i + length, code);
    i += length;
  });
}

namespace {

inline void put(std::vector<std::uint8_t>& out, std::uint64_t number) {
  for (; number >= 128; number >>= 7) out.push_back(static_cast<std::uint8_t>(number | 128));
  out.push_back(static_cast<std::uint8_t>(number));
}

inline bool get(const std::uint8_t*& p, const std::uint8_t* end, std::uint64_t& number) {
  number = 0;
  for (unsigned shift = 0; shift < 63 && p < end; shift += 7) {
    const std::uint8_t byte = *p++;
    number |= std::uint64_t{byte & 127u} << shift;
    if (byte < 128) return true;
  }
  return false;
}

}  // namespace

template <typename T>
void map_pack(const T* map, std::size_t n, std::vector<std::uint8_t>& out) {
  for_runs(map, map, n, [&](T value, T, std::size_t length) {
    put(out, value);
    put(out, length);
  });
}

template <typename T>
bool map_unpack(const std::uint8_t* bytes, std::size_t size, std::size_t n, T* out) {
  const std::uint8_t *p = bytes, *end = bytes + size;
  std::size_t i = 0;
  std::uint64_t value, length;
  while (p < end) {
    if (!get(p, end, value) || !get(p, end, length)) return false;
    if (value > static_cast<T>(-1) || length == 0 || length > n - i) return false;
    std::fill(out + i, out + i + length, static_cast<T>(value));
    i += length;
  }
  return i == n;
}

template MapCells map_cells(const std::uint8_t*, const std::uint16_t*, std::size_t);
template MapCells map_cells(const std::uint8_t*, const std::uint32_t*, std::size_t);
template MapCells map_cells(const std::uint16_t*, const std::uint8_t*, std::size_t);
template MapCells map_cells(const std::uint16_t*, const std::uint16_t*, std::size_t);
template MapCells map_cells(const std::uint16_t*, const std::uint32_t*, std::size_t);
template MapCells map_cells(const std::uint32_t*, const std::uint8_t*, std::size_t);
template MapCells map_cells(const std::uint32_t*, const std::uint16_t*, std::size_t);
template MapCells map_cells(const std::uint32_t*, const std::uint32_t*, std::size_t);

#define STEELYARD_MAP_OF(T)                                                                                \
  template void map_bands(const T*, std::size_t, std::size_t, std::size_t, T, bool, T, T*);                \
  template void map_recode(const T*, std::size_t, const std::uint32_t*, const std::uint16_t*, std::size_t, \
                           std::uint16_t, std::uint16_t*);                                                 \
  template void map_pack(const T*, std::size_t, std::vector<std::uint8_t>&);                               \
  template bool map_unpack(const std::uint8_t*, std::size_t, std::size_t, T*);

STEELYARD_MAP_OF(std::uint8_t)
STEELYARD_MAP_OF(std::uint16_t)
STEELYARD_MAP_OF(std::uint32_t)
#undef STEELYARD_MAP_OF

}  // namespace steelyard
