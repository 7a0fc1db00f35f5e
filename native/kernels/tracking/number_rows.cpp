// Lines of numbers between commas or blanks: see number_rows.hpp.
#include "tracking/number_rows.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <string>

namespace steelyard {
namespace {

constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

bool any_number(const char* first, const char* last, double& out) {
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

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
inline bool ends_field(char c) { return c == ',' || c == '\n' || is_blank(c); }

}  // namespace

std::size_t count_lines(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
}

NumberRows read_number_rows(std::string_view text, std::size_t width, std::size_t most, double* values,
                            std::uint8_t* fields, std::int32_t* line) {
  NumberRows found;
  const char *p = text.data(), *end = p + text.size();
  if (text.substr(0, 3) == "\xEF\xBB\xBF") p += 3;
  for (std::int32_t at = 1; p < end; ++at) {
    std::size_t many = 0;
    double* place = values + found.rows;
    while (true) {
      while (is_blank(*p)) ++p;
      if (p >= end || *p == '\n') break;
      const char* stop = nullptr;
      if (many < width) {
        double value;
        stop = plain_number(p, value);
        if (!stop || !(stop == end || ends_field(*stop))) {
          stop = p;
          while (stop < end && !ends_field(*stop)) ++stop;
          if (!any_number(p, stop, value)) {
            found.wrong_line = at, found.wrong_field = static_cast<std::int32_t>(many);
            found.wrong_text = std::string_view(p, static_cast<std::size_t>(stop - p));
            return found;
          }
        }
        *place = value;
        place += most;
      } else {  // what is behind is only counted
        stop = p;
        while (stop < end && !ends_field(*stop)) ++stop;
      }
      p = stop;
      ++many;
      if (*p == ',') {
        ++p;
      } else {
        while (is_blank(*p)) ++p;
        if (*p == ',') ++p;
      }
    }
    if (p < end) ++p;
    if (many == 0) continue;
    for (std::size_t c = many; c < width; ++c, place += most) *place = std::numeric_limits<double>::quiet_NaN();
    fields[found.rows] = static_cast<std::uint8_t>(std::min<std::size_t>(many, 255));
    line[found.rows++] = at;
  }
  return found;
}

}  // namespace steelyard
