// A 256-bit fingerprint: four lanes of multiply and rotate over interleaved words, then mixed together. It sees every
// change that is not made on purpose to escape it, at the speed of memory.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
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

// Of bytes, read as little-endian words on every machine. Here and below the loop is compiled with the kernels:
// bindings are not optimised.
std::array<std::uint8_t, 32> fingerprint(std::span<const std::uint8_t> bytes);

// Of `n` eight-byte values that lie `step` apart: as that of their little-endian bytes.
std::array<std::uint8_t, 32> fingerprint_words(const std::uint64_t* x, std::size_t n, std::ptrdiff_t step);

}  // namespace steelyard
