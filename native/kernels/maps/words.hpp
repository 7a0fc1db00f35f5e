// Bytes of memory as words, the same on every machine.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace steelyard {

// The next eight bytes, the first of them lowest.
inline std::uint64_t eight_bytes(const std::uint8_t* p) {
  if constexpr (std::endian::native == std::endian::little) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    return word;
  }
  std::uint64_t word = 0;
  for (unsigned i = 0; i < 8; ++i) word |= std::uint64_t{p[i]} << (8 * i);
  return word;
}

}  // namespace steelyard
