// Lines of numbers between commas or blanks, as trackers write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace steelyard {

// How many rows a text has, and the first field that is not a number: its line (0: there is none), its place, its text.
struct NumberRows {
  std::size_t rows = 0;
  std::int32_t wrong_line = 0, wrong_field = 0;
  std::string_view wrong_text;
};

// At most so many rows.
std::size_t count_lines(std::string_view text);

// The first `width` numbers of every line, column by column: number c of row r is values[c * most + r], not a number
// where a line has fewer. `fields` says how many each has (at most 255), `line` where it stands, from 1. Blank lines
// are left out; a separator at the end of a line ends nothing. A byte behind the text must be there, and be 0.
NumberRows read_number_rows(std::string_view text, std::size_t width, std::size_t most, double* values,
                            std::uint8_t* fields, std::int32_t* line);

}  // namespace steelyard
