// Packed scores begin with a byte for their form. All numbers that follow have seven bits per byte.
//
//   4, 8   Sorted scores with keys of so many bytes: the number of scores, the number of distinct ones, the lowest key,
//          and for each distinct score the step from the one before and its count.
//   5      Scores of single precision in groups by the upper two bytes of their keys, not sorted within: the number of
//          scores, the number of groups, and for each group the step of its upper bytes from the group before, the
//          number of its scores, the number of bytes that follow, and its lower bytes. These are two bytes per score in
//          groups below kDense; else 256 counts by the higher byte, and for each of these the lower bytes of its
//          scores, or where these are kDense or more, 256 counts again.
//
// A key is a whole number that rises with the score: the bits of its magnitude, negated below zero, so that +0 and -0
// have one key. Both forms take about a byte per pixel for a map of a million floats. Groups are made and counted in a
// third of the time of sorted scores.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace steelyard::anomalies {

inline constexpr const char* kDamaged = "the packed scores are damaged";
inline constexpr const char* kNotFinite = "a score is not finite";

inline constexpr std::size_t kMostBytes = 10;  // of a number
inline constexpr std::uint8_t kGrouped = 5;
inline constexpr std::size_t kLower = std::size_t{1} << 16;  // values of the lower, or upper, two bytes of a key
inline constexpr std::size_t kDense = 512;    // scores of a group from which on they are held by their bytes
inline constexpr std::size_t kFew = 1 << 12;  // scores that are faster to sort, or to look up one by one

// Keys without a sign, so that zero lies in the middle.
inline std::uint32_t key_of(float score) {
  const auto bits = std::bit_cast<std::uint32_t>(score);
  const std::uint32_t size = bits & 0x7fffffffu;
  return bits >> 31 ? 0x80000000u - size : 0x80000000u + size;
}
inline std::uint64_t key_of(double score) {
  const auto bits = std::bit_cast<std::uint64_t>(score);
  const std::uint64_t size = bits & 0x7fffffffffffffffu;
  return bits >> 63 ? 0x8000000000000000u - size : 0x8000000000000000u + size;
}
inline double score_of(std::uint64_t key, bool wide) {
  if (wide) {
    const bool negative = key < 0x8000000000000000u;
    const std::uint64_t size = negative ? 0x8000000000000000u - key : key - 0x8000000000000000u;
    const double score = std::bit_cast<double>(size);
    return negative ? -score : score;
  }
  const bool negative = key < 0x80000000u;
  const auto size = static_cast<std::uint32_t>(negative ? 0x80000000u - key : key - 0x80000000u);
  const double score = std::bit_cast<float>(size);
  return negative ? -score : score;
}

inline constexpr std::uint32_t kLowest = 0x00800000u;  // the key of minus infinity

// Whether scores with these upper bytes are finite, but for the lowest key.
inline bool is_finite(std::uint32_t upper) { return upper >= kLowest >> 16 && upper < 0xff80u; }

// Sorts keys digit by digit; a digit that all keys share costs nothing.
template <typename Key>
void sort_keys(std::vector<Key>& keys) {
  constexpr unsigned kBits = 11, kDigits = (8 * sizeof(Key) + kBits - 1) / kBits;
  constexpr std::size_t kPlaces = std::size_t{1} << kBits;
  if (keys.size() < 256) {
    for (std::size_t i = 1; i < keys.size(); ++i) {
      const Key key = keys[i];
      std::size_t j = i;
      for (; j > 0 && keys[j - 1] > key; --j) keys[j] = keys[j - 1];
      keys[j] = key;
    }
    return;
  }
  std::vector<std::array<std::size_t, kPlaces>> counts(kDigits);
  for (auto& digit : counts) digit.fill(0);
  for (const Key key : keys) {
    for (unsigned d = 0; d < kDigits; ++d) ++counts[d][(key >> (d * kBits)) & (kPlaces - 1)];
  }
  std::vector<Key> other(keys.size());
  for (unsigned d = 0; d < kDigits; ++d) {
    auto& count = counts[d];
    if (count[(keys[0] >> (d * kBits)) & (kPlaces - 1)] == keys.size()) continue;
    std::size_t sum = 0;
    for (std::size_t& place : count) {
      const std::size_t here = place;
      place = sum;
      sum += here;
    }
    for (const Key key : keys) other[count[(key >> (d * kBits)) & (kPlaces - 1)]++] = key;
    keys.swap(other);
  }
}

}  // namespace steelyard::anomalies
