// What the JSON cursor is made of: its faults, literals, and single steps that need no cursor.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace steelyard {

struct NeedMore {};

struct Fault {
  std::size_t at;  // byte in the cursor's text; made a place in the file by the caller
  std::string what;
  bool syntax = true;  // not JSON at all, or a value that the schema does not allow
  long long record = -1;
  std::string key;
  int section = -1;
};

// A few bytes that are compared eight at a time.
struct Literal {
  static constexpr std::size_t kMost = 32;

  Literal() = default;
  Literal(const char* from, std::size_t n) {
    if (n > kMost) return;
    size = n;
    std::memcpy(bytes, from, n);
    std::memset(mask, 0xFF, n);
    words = (n + 7) / 8;
  }
  // Reads kMost bytes. One that is empty matches nothing.
  bool matches(const char* text) const {
    std::uint64_t differ = size == 0;
    for (std::size_t w = 0; w < words; ++w) {
      std::uint64_t here, wanted, counts;
      std::memcpy(&here, text + 8 * w, 8);
      std::memcpy(&wanted, bytes + 8 * w, 8);
      std::memcpy(&counts, mask + 8 * w, 8);
      differ |= (here ^ wanted) & counts;
    }
    return differ == 0;
  }

  char bytes[kMost] = {};
  unsigned char mask[kMost] = {};
  std::size_t size = 0, words = 0;
};

// How many of the next eight bytes are digits before the first that is none, and their values, a byte each.
inline int leading_digits(const char* p, std::uint64_t& values) {
  constexpr std::uint64_t high = 0x8080808080808080ull;
  std::memcpy(&values, p, 8);
  values ^= 0x3030303030303030ull;
  // A carry out of a byte that is not a digit reaches only the bytes behind it.
  const std::uint64_t other = (values | (values + 0x7676767676767676ull)) & high;
  return other ? std::countr_zero(other) >> 3 : 8;
}

// A number with `n` digits, whose values are given a byte each, written behind it. It wraps where there are too many.
inline std::uint64_t with_digits(std::uint64_t number, std::uint64_t values, int n) {
  constexpr std::uint64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
  std::uint64_t v = values << (64 - 8 * n);  // non-digits are shifted out; leading zeros remain
  v = v * 10 + (v >> 8);
  v = (((v & 0x000000FF000000FFull) * 0x000F424000000064ull) +
       (((v >> 16) & 0x000000FF000000FFull) * 0x0000271000000001ull)) >>
      32;
  return number * powers[n] + static_cast<std::uint32_t>(v);
}

// Up to 18 digits over a power of ten that a double holds: the quotient and what it leaves, as long as that settles how
// the quotient is rounded (Ziv's test).
inline bool divided(std::uint64_t mantissa, int places, double& out) {
  static constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                      1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const double power = powers[places], high = static_cast<double>(mantissa);
  const double low = static_cast<double>(static_cast<std::int64_t>(mantissa) - static_cast<std::int64_t>(high));
  const double quotient = high / power;
  const double more = (std::fma(-quotient, power, high) + low) / power;
  out = quotient + more;
  const double left = more - (out - quotient), doubt = std::fabs(more) * 0x1p-49;
  return out + (left + doubt) == out && out + (left - doubt) == out;
}

// Of a number beyond the range of doubles: whether it is too small, and so nothing, rather than too large.
inline bool too_small(const char* a, const char* b) {
  long long lead = 0, exponent = 0;
  bool point = false, met = false;
  for (; a < b && *a != 'e' && *a != 'E'; ++a) {
    if (*a == '.') point = true;
    else if (*a >= '1' && *a <= '9') met = true;
    if (*a >= '0' && *a <= '9' && met && !point) ++lead;
    if (*a == '0' && !met && point) --lead;
  }
  if (a < b) {
    const bool negative = *++a == '-';
    if (*a == '-' || *a == '+') ++a;
    for (; a < b; ++a) exponent = std::min(exponent * 10 + (*a - '0'), 1000000000000ll);
    if (negative) exponent = -exponent;
  }
  return !met || lead + exponent < 0;
}

// Appends a code point as UTF-8.
inline void encode_utf8(unsigned code, std::string& out) {
  auto byte = [&](unsigned b) { out.push_back(static_cast<char>(b)); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | (code >> 6));
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | (code >> 12));
    byte(0x80 | ((code >> 6) & 0x3F));
    byte(0x80 | (code & 0x3F));
  } else {
    byte(0xF0 | (code >> 18));
    byte(0x80 | ((code >> 12) & 0x3F));
    byte(0x80 | ((code >> 6) & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
}

}  // namespace steelyard
