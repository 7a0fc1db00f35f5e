// Label maps: counts of equal pairs of pixels, bands along edges, runs. Pure C++; no Python here.
//
// A map is a grid of whole numbers of 1, 2 or 4 bytes, row by row. Kernels know values, not classes: what a value means
// is decided by who calls. Most pixels of a label map equal their neighbours, so every loop takes runs in one step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace steelyard {

// Whether 16 values are all equal to one, eight bytes at a time.
template <typename T>
inline bool sixteen_equal(const T* p, T value) {
  T eight[8 / sizeof(T)];
  for (T& one : eight) one = value;
  std::uint64_t pattern, word, other = 0;
  std::memcpy(&pattern, eight, 8);
  const auto* bytes = reinterpret_cast<const unsigned char*>(p);
  for (std::size_t i = 0; i < 16 * sizeof(T); i += 8) {
    std::memcpy(&word, bytes + i, 8);
    other |= word ^ pattern;
  }
  return other == 0;
}

// How often each pair (value of a, value of b) stands at the same place, by a and then b.
struct MapCells {
  std::vector<std::uint32_t> a, b;
  std::vector<std::int64_t> count;
};
template <typename A, typename B>
MapCells map_cells(const A* a, const B* b, std::size_t n);

// The map with `inside` where the square of side 2 d + 1 around a pixel holds one value and lies in the image: what d
// erosions by 3 x 3 leave. Pixels of the value `kept` stay.
template <typename T>
void map_bands(const T* map, std::size_t height, std::size_t width, std::size_t d, T inside, bool has_kept, T kept,
               T* out);

// Values replaced by codes: `values` rising, `other` for those not in it.
template <typename T>
void map_recode(const T* map, std::size_t n, const std::uint32_t* values, const std::uint16_t* codes, std::size_t count,
                std::uint16_t other, std::uint16_t* out);

// Runs of equal values as bytes: value and length of each as numbers of seven bits a byte, lowest first.
template <typename T>
void map_pack(const T* map, std::size_t n, std::vector<std::uint8_t>& out);
// The values again; false where the bytes are not n values, or a value is too large for T.
template <typename T>
bool map_unpack(const std::uint8_t* bytes, std::size_t size, std::size_t n, T* out);

}  // namespace steelyard
