// All samples of a PNG as its rows hold them: photographs, whose neighbours differ. Pure C++; no Python here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "maps/png_file.hpp"

namespace steelyard {

// Bytes of a row.
std::size_t png_row_bytes(const PngHeader& header);

// Undoes the filters of a file that is not interlaced; rows of `png_row_bytes` go into `out`.
PngFault read_png_rows(const PngHeader& header, const std::uint8_t* data, std::uint8_t* out);

}  // namespace steelyard
