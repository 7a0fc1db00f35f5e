// A 256-bit fingerprint: four lanes of multiply and rotate over interleaved words, then mixed together. It sees every
// change that is not made on purpose to escape it, at the speed of memory.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "support/random.hpp"

namespace steelyard {

class Fingerprint {
 public:
  void add(std::size_t lane, std::uint64_t word) {
    lane_[lane] = std::rotl((lane_[lane] ^ word) * 0x9FB21C651E98DF25ull, 29);
  }
  void add(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
    add(0, a);
    add(1, b);
    add(2, c);
    add(3, d);
  }
  // To be called once, with the number of what was added.
  std::array<std::uint8_t, 32> end(std::uint64_t n) {
    for (std::size_t round = 0; round < 2; ++round) {
      for (std::size_t l = 0; l < 4; ++l) lane_[l] = mix64(lane_[l] + lane_[(l + 1) % 4] * kGolden + n);
    }
    std::array<std::uint8_t, 32> out;
    for (std::size_t i = 0; i < 32; ++i) out[i] = static_cast<std::uint8_t>(lane_[i / 8] >> (8 * (i % 8)));
    return out;
  }

 private:
  std::uint64_t lane_[4] = {kGolden, 2 * kGolden, 3 * kGolden, 4 * kGolden};
};

// Of bytes, read as little-endian words on every machine.
inline std::array<std::uint8_t, 32> fingerprint(std::span<const std::uint8_t> bytes) {
  Fingerprint print;
  auto word = [](const std::uint8_t* x) {
    std::uint64_t w = 0;
    if constexpr (std::endian::native == std::endian::little) {
      std::memcpy(&w, x, sizeof w);
    } else {
      for (std::size_t b = 0; b < 8; ++b) w |= std::uint64_t{x[b]} << (8 * b);
    }
    return w;
  };
  auto add = [&](const std::uint8_t* x) { print.add(word(x), word(x + 8), word(x + 16), word(x + 24)); };
  const std::uint8_t* x = bytes.data();
  std::size_t i = 0;
  for (; i + 32 <= bytes.size(); i += 32) add(x + i);
  std::uint8_t rest[32] = {};
  for (std::size_t j = 0; i + j < bytes.size(); ++j) rest[j] = x[i + j];
  add(rest);
  return print.end(bytes.size());
}

// Of `n` eight-byte values that lie `step` apart: as that of their little-endian bytes.
inline std::array<std::uint8_t, 32> fingerprint_words(const std::uint64_t* x, std::size_t n, std::ptrdiff_t step) {
  Fingerprint print;
  auto at = [&](std::size_t i) { return i < n ? x[static_cast<std::ptrdiff_t>(i) * step] : 0; };
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) print.add(at(i), at(i + 1), at(i + 2), at(i + 3));
  print.add(at(i), at(i + 1), at(i + 2), at(i + 3));
  return print.end(8 * n);
}

}  // namespace steelyard
