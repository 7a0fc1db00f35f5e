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

// Up to 15 digits and a power of ten that a double holds: one division of exact numbers.
inline const char* plain_number(const char* p, const char* end, double& out) {
  const bool negative = p < end && *p == '-';
  const char* q = p + negative;
  std::uint64_t digits = 0;
  const char* first = q;
  while (q < end && static_cast<unsigned char>(*q - '0') < 10) digits = digits * 10 + static_cast<unsigned>(*q++ - '0');
  std::ptrdiff_t count = q - first, decimals = 0;
  if (q < end && *q == '.') {
    const char* point = ++q;
    while (q < end && static_cast<unsigned char>(*q - '0') < 10) digits = digits * 10 + static_cast<unsigned>(*q++ - '0');
    decimals = q - point;
    count += decimals;
  }
  if (count == 0 || count > 15) return nullptr;
  const double value = static_cast<double>(digits) / kPowers[decimals];
  out = negative ? -value : value;
  return q;
}

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

}  // namespace

NumberRows read_number_rows(std::string_view text, std::size_t width) {
  NumberRows rows;
  const std::size_t lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  rows.values.reserve(lines * width), rows.fields.reserve(lines), rows.line.reserve(lines);
  const char *p = text.data(), *end = p + text.size();
  if (text.substr(0, 3) == "\xEF\xBB\xBF") p += 3;
  for (std::int32_t line = 1; p < end; ++line) {
    std::size_t fields = 0;
    const std::size_t start = rows.values.size();
    while (true) {
      while (p < end && is_blank(*p)) ++p;
      if (p == end || *p == '\n') break;
      if (fields >= width) {
        const char* stop = p;
        while (stop < end && *stop != ',' && *stop != '\n' && !is_blank(*stop)) ++stop;
        p = stop;
      } else {
        double value;
        const char* stop = plain_number(p, end, value);
        if (!stop || (stop < end && *stop != ',' && *stop != '\n' && !is_blank(*stop))) {
          stop = p;
          while (stop < end && *stop != ',' && *stop != '\n' && !is_blank(*stop)) ++stop;
          if (!any_number(p, stop, value)) {
            rows.wrong_line = line, rows.wrong_field = static_cast<std::int32_t>(fields);
            rows.wrong_text = std::string_view(p, static_cast<std::size_t>(stop - p));
            return rows;
          }
        }
        rows.values.push_back(value);
        p = stop;
      }
      ++fields;
      while (p < end && is_blank(*p)) ++p;
      if (p < end && *p == ',') ++p;
    }
    if (p < end) ++p;
    if (fields == 0) continue;
    rows.values.resize(start + width, std::numeric_limits<double>::quiet_NaN());
    rows.fields.push_back(static_cast<std::uint8_t>(std::min<std::size_t>(fields, 255)));
    rows.line.push_back(line);
  }
  return rows;
}

}  // namespace steelyard
