// Lines of numbers between commas or blanks: see number_rows.hpp.
#include "tracking/number_rows.hpp"

#include <algorithm>
#include <limits>

#include "support/number_text.hpp"

namespace steelyard {
namespace {

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
