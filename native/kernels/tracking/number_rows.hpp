// Lines of numbers between commas or blanks, as trackers write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace steelyard {

struct NumberRows {
  std::vector<double> values;       // `width` numbers a row, not a number where a row has fewer
  std::vector<std::uint8_t> fields;  // how many each row has, at most 255
  std::vector<std::int32_t> line;   // of each row, from 1
  // The first field that is no number: its line (0: there is none), its place in the line from 0, and its text.
  std::int32_t wrong_line = 0, wrong_field = 0;
  std::string_view wrong_text;
};

// The first `width` numbers of every line. Blank lines are left out; a separator at the end of a line ends nothing.
NumberRows read_number_rows(std::string_view text, std::size_t width);

}  // namespace steelyard
