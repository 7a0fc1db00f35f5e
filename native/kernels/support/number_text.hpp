// Numbers as text: the plain ones fast, all others as the library reads them.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace steelyard {

inline constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                     1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Any number, as Python reads it, of a text that holds nothing else.
inline bool any_number(const char* first, const char* last, double& out) {
  if (first < last && *first == '+') ++first;
  if (first == last) return false;
#if defined(__cpp_lib_to_chars) && __cpp_lib_to_chars >= 201611L
  const auto [end, error] = std::from_chars(first, last, out);
  if (error == std::errc() && end == last) return true;
  if (error != std::errc::result_out_of_range) return false;
#endif
  const std::string copy(first, last);
  if (copy.find_first_of("xXpP") != std::string::npos) return false;
  char* stop;
  out = std::strtod(copy.c_str(), &stop);
  return stop == copy.c_str() + copy.size();
}

// Up to 15 digits and a power of ten that a double holds: one division of exact numbers. Stops at the byte behind.
inline const char* plain_number(const char* p, double& out) {
  const bool negative = *p == '-';
  p += negative;
  const char* first = p;
  std::uint64_t digits = 0;
  unsigned digit;
  while ((digit = static_cast<unsigned char>(*p) - unsigned{'0'}) < 10) digits = digits * 10 + digit, ++p;
  std::ptrdiff_t count = p - first;
  double value;
  if (*p == '.') {
    const char* point = ++p;
    while ((digit = static_cast<unsigned char>(*p) - unsigned{'0'}) < 10) digits = digits * 10 + digit, ++p;
    count += p - point;
    if (count == 0 || count > 15) return nullptr;
    value = static_cast<double>(digits) / kPowers[p - point];
  } else {
    if (count == 0 || count > 15) return nullptr;
    value = static_cast<double>(digits);
  }
  out = negative ? -value : value;
  return p;
}

}  // namespace steelyard
