// Counter-based random weights: a function of (seed, unit, draw) and of nothing else.
//
// A unit's key is a 64-bit hash of its id. A draw's weight does not depend on the order of units, on the batch or on
// the machine, so two models are paired by construction and shards can draw on their own.
//
// Poisson(1) weights take 32 random bits each: one SplitMix64 output serves draws 2j and 2j + 1. The count is the
// number of thresholds floor(2^32 * P(X <= k)) that the bits reach, which is branch-free; the quantisation moves no
// probability by more than 2^-32. Coin flips take one bit each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace steelyard {

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ull;

constexpr std::uint64_t mix64(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

// FNV-1a over the bytes, then mixed: short ids that differ in the last digit end far apart.
constexpr std::uint64_t hash_bytes(const char* data, std::size_t size) {
  std::uint64_t h = 0xCBF29CE484222325ull;
  for (std::size_t i = 0; i < size; ++i) {
    h ^= static_cast<unsigned char>(data[i]);
    h *= 0x100000001B3ull;
  }
  return mix64(h + kGolden);
}

// The stream of a unit under a seed; `purpose` keeps bootstrap draws and coin flips apart.
constexpr std::uint64_t stream_of(std::uint64_t key, std::uint64_t seed, std::uint64_t purpose) {
  return mix64(key ^ mix64(seed * kGolden + purpose));
}

constexpr std::size_t kPoissonSteps = 12;

// floor(2^32 * P(X <= k)) for Poisson(1), k = 0 .. 11. P(X > 11) is below 2^-32.
constexpr std::array<std::uint32_t, kPoissonSteps> poisson_thresholds() {
  std::array<std::uint32_t, kPoissonSteps> t{};
  const double e_inverse = 0.36787944117144233;
  double term = e_inverse, sum = 0.0;
  for (std::size_t k = 0; k < kPoissonSteps; ++k) {
    sum += term;
    term /= static_cast<double>(k + 1);
    double scaled = sum * 4294967296.0;
    t[k] = scaled >= 4294967295.0 ? 4294967295u : static_cast<std::uint32_t>(scaled);
  }
  return t;
}

}  // namespace steelyard
