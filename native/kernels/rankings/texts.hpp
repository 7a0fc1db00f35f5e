// Ids as flat arrays: one text, and for each id its place there: where it begins (48 bits) and its length (16).
//
// An id is compared by a 64-bit key first and by its bytes only where keys are equal, so a join reads the text of what
// it found and of nothing else. The key takes eight bytes per step: it is made once, where the bytes are at hand
// anyway.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "support/random.hpp"

namespace steelyard {

inline std::uint64_t load64(const char* p) {
  std::uint64_t x;
  std::memcpy(&x, p, 8);
  return x;
}

inline std::uint32_t load32(const char* p) {
  std::uint32_t x;
  std::memcpy(&x, p, 4);
  return x;
}

inline std::uint64_t text_key(const char* p, std::size_t n) {
  auto byte = [&](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(p[i])}; };
  std::uint64_t h = kGolden * (n + 1), last = 0;
  if (n >= 8) {
    last = load64(p + n - 8);  // overlaps what the steps below take: cheaper than byte by byte
    for (; n > 8; n -= 8, p += 8) {
      h = (h ^ load64(p)) * 0xBF58476D1CE4E5B9ull;
      h ^= h >> 29;
      if (n < 16) break;
    }
  } else if (n >= 4) {
    last = load32(p) | (std::uint64_t{load32(p + n - 4)} << 32);
  } else if (n > 0) {
    last = byte(0) | (byte(n / 2) << 8) | (byte(n - 1) << 16);
  }
  return mix64(h ^ last);
}

constexpr std::size_t kLongestId = 0xFFFF;

constexpr std::uint64_t make_place(std::size_t begin, std::size_t size) {
  return (static_cast<std::uint64_t>(begin) << 16) | static_cast<std::uint64_t>(size);
}

inline std::string_view text_at(const char* text, std::uint64_t place) {
  return {text + (place >> 16), static_cast<std::size_t>(place & kLongestId)};
}

// A read-only column of ids. Who makes one has checked that every id lies inside the text.
struct Texts {
  const char* text;
  const std::uint64_t* place;
  const std::uint64_t* key;

  std::string_view operator[](std::size_t i) const { return text_at(text, place[i]); }
};

// Whether every id of a column lies inside a text of `bytes` bytes.
inline bool inside(const std::uint64_t* place, std::size_t n, std::size_t bytes) {
  std::uint64_t furthest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t end = (place[i] >> 16) + (place[i] & kLongestId);
    furthest = end > furthest ? end : furthest;
  }
  return furthest <= bytes;
}

inline bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace steelyard
