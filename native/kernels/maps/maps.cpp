// Label maps: see maps.hpp.
#include "maps/maps.hpp"

#include <algorithm>
#include <cstring>

namespace steelyard {
namespace {

inline std::uint8_t paeth(int a, int b, int c) {
  const int da = b > c ? b - c : c - b, db = a > c ? a - c : c - a, sum = a + b - 2 * c, dc = sum < 0 ? -sum : sum;
  const int other = db <= dc ? b : c;
  return static_cast<std::uint8_t>((da <= db) & (da <= dc) ? a : other);
}

inline bool all_zero(const std::uint8_t* p, std::size_t n) {
  std::uint64_t any = 0, word;
  for (std::size_t i = 0; i < n; i += 8) {
    std::memcpy(&word, p + i, 8);
    any |= word;
  }
  return any == 0;
}

// Residuals of zero beside equal neighbours are one copy of the pixel before: true of most of a label map. A block is
// eight pixels of a byte, or of three.
template <std::size_t kStep>
void unfilter_paeth(std::uint8_t* row, const std::uint8_t* above, std::size_t n) {
  constexpr std::size_t block = 8 * kStep;
  std::size_t i = 0;
  for (; i < std::min(kStep, n); ++i) row[i] = static_cast<std::uint8_t>(row[i] + above[i]);
  while (i < n) {
    if (i + block <= n && all_zero(row + i, block) && std::memcmp(above + i, above + i - kStep, block) == 0 &&
        std::memcmp(above + i - kStep, row + i - kStep, kStep) == 0) {
      std::memcpy(row + i, above + i, block);
      i += block;
      continue;
    }
    const std::size_t end = std::min(i + block, n);
    for (; i < end; ++i) {
      row[i] = static_cast<std::uint8_t>(row[i] + paeth(row[i - kStep], above[i], above[i - kStep]));
    }
  }
}

void unfilter_paeth_any(std::uint8_t* row, const std::uint8_t* above, std::size_t n, std::size_t step) {
  for (std::size_t i = 0; i < std::min(step, n); ++i) row[i] = static_cast<std::uint8_t>(row[i] + above[i]);
  for (std::size_t i = step; i < n; ++i) {
    row[i] = static_cast<std::uint8_t>(row[i] + paeth(row[i - step], above[i], above[i - step]));
  }
}

void unfilter_sub(std::uint8_t* row, std::size_t n, std::size_t step) {
  std::size_t i = step;
  if (step == 1) {
    while (i < n) {
      if (i + 8 <= n && all_zero(row + i, 8)) {
        std::memset(row + i, row[i - 1], 8);
        i += 8;
        continue;
      }
      const std::size_t end = std::min(i + 8, n);
      for (; i < end; ++i) row[i] = static_cast<std::uint8_t>(row[i] + row[i - 1]);
    }
    return;
  }
  for (; i < n; ++i) row[i] = static_cast<std::uint8_t>(row[i] + row[i - step]);
}

// One row without its filter; `above` is the row before it. False where there is no such filter.
bool unfilter(const std::uint8_t* from, const std::uint8_t* above, std::size_t n, std::size_t step, std::uint8_t* row) {
  if (from[-1] == 2) {
    for (std::size_t i = 0; i < n; ++i) row[i] = static_cast<std::uint8_t>(from[i] + above[i]);
    return true;
  }
  std::memcpy(row, from, n);
  switch (from[-1]) {
    case 0:
      return true;
    case 1:
      unfilter_sub(row, n, step);
      return true;
    case 3:
      for (std::size_t i = 0; i < std::min(step, n); ++i) row[i] = static_cast<std::uint8_t>(row[i] + above[i] / 2);
      for (std::size_t i = step; i < n; ++i) {
        row[i] = static_cast<std::uint8_t>(row[i] + (row[i - step] + above[i]) / 2);
      }
      return true;
    case 4:
      if (step == 1) {
        unfilter_paeth<1>(row, above, n);
      } else if (step == 3) {
        unfilter_paeth<3>(row, above, n);
      } else {
        unfilter_paeth_any(row, above, n, step);
      }
      return true;
    default:
      return false;
  }
}

// Calls take(row) for each row, unfiltered; two rows are held.
template <typename Take>
PngFault for_rows(const std::uint8_t* raw, std::size_t height, std::size_t row_bytes, std::size_t step, Take take) {
  std::vector<std::uint8_t> above(row_bytes, 0), row(row_bytes);
  for (std::size_t y = 0; y < height; ++y) {
    if (!unfilter(raw + y * (row_bytes + 1) + 1, above.data(), row_bytes, step, row.data())) return PngFault::filter;
    take(row.data());
    above.swap(row);
  }
  return PngFault::none;
}

}  // namespace

PngFault png_values8(const std::uint8_t* raw, std::size_t height, std::size_t width, std::size_t depth, std::uint8_t* out) {
  if (depth == 8) {
    const std::vector<std::uint8_t> nothing(width, 0);
    for (std::size_t y = 0; y < height; ++y) {
      const std::uint8_t* above = y ? out + (y - 1) * width : nothing.data();
      if (!unfilter(raw + y * (width + 1) + 1, above, width, 1, out + y * width)) return PngFault::filter;
    }
    return PngFault::none;
  }
  const std::size_t each = 8 / depth;
  const std::uint8_t mask = static_cast<std::uint8_t>((1u << depth) - 1);
  return for_rows(raw, height, (width * depth + 7) / 8, 1, [&](const std::uint8_t* row) {
    for (std::size_t x = 0; x < width; ++x) {
      out[x] = static_cast<std::uint8_t>(row[x / each] >> (8 - depth * (x % each + 1))) & mask;
    }
    out += width;
  });
}

PngFault png_values16(const std::uint8_t* raw, std::size_t height, std::size_t width, std::uint16_t* out) {
  return for_rows(raw, height, 2 * width, 2, [&](const std::uint8_t* row) {
    for (std::size_t x = 0; x < width; ++x) out[x] = static_cast<std::uint16_t>(row[2 * x] << 8 | row[2 * x + 1]);
    out += width;
  });
}

PngFault png_values32(const std::uint8_t* raw, std::size_t height, std::size_t width, std::size_t channels,
                      std::uint32_t* out) {
  std::uint8_t alpha = 255;
  const PngFault fault = for_rows(raw, height, channels * width, channels, [&](const std::uint8_t* p) {
    for (std::size_t x = 0; x < width; ++x, p += channels) {
      out[x] = p[0] | std::uint32_t{p[1]} << 8 | std::uint32_t{p[2]} << 16;
      if (channels == 4) alpha &= p[3];
    }
    out += width;
  });
  return fault != PngFault::none || alpha == 255 ? fault : PngFault::alpha;
}

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

struct Slot {
  std::uint64_t key;
  std::int64_t count;
};

// Counts by a pair of values. Open addressing; grows where more than half is full.
class PairCounter {
 public:
  PairCounter() : slots_(1024, Slot{0, 0}) {}

  void add(std::uint64_t key, std::int64_t count) {
    Slot& slot = find(key);
    if (slot.count == 0) {
      if (2 * ++used_ > slots_.size()) {
        --used_;
        grow();
        return add(key, count);
      }
      slot.key = key;
    }
    slot.count += count;
  }

  void into(MapCells& cells) const {
    std::vector<Slot> full;
    for (const Slot& slot : slots_) {
      if (slot.count) full.push_back(slot);
    }
    std::sort(full.begin(), full.end(), [](const Slot& x, const Slot& y) { return x.key < y.key; });
    for (const Slot& slot : full) {
      cells.a.push_back(static_cast<std::uint32_t>(slot.key >> 32));
      cells.b.push_back(static_cast<std::uint32_t>(slot.key));
      cells.count.push_back(slot.count);
    }
  }

 private:
  Slot& find(std::uint64_t key) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ull) >> 32) & mask;
    while (slots_[at].count && slots_[at].key != key) at = (at + 1) & mask;
    return slots_[at];
  }

  void grow() {
    std::vector<Slot> old(2 * slots_.size(), Slot{0, 0});
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.count) find(slot.key) = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

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

#define STEELYARD_MAP_OF(T)                                                                                        \
  template void map_bands(const T*, std::size_t, std::size_t, std::size_t, T, bool, T, T*);                        \
  template void map_recode(const T*, std::size_t, const std::uint32_t*, const std::uint16_t*, std::size_t,         \
                           std::uint16_t, std::uint16_t*);                                                         \
  template void map_pack(const T*, std::size_t, std::vector<std::uint8_t>&);                                       \
  template bool map_unpack(const std::uint8_t*, std::size_t, std::size_t, T*);

STEELYARD_MAP_OF(std::uint8_t)
STEELYARD_MAP_OF(std::uint16_t)
STEELYARD_MAP_OF(std::uint32_t)
#undef STEELYARD_MAP_OF

}  // namespace steelyard
