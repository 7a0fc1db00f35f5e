// The samples of a PNG, dense: rows of measured values, which have no runs. Pure C++; no Python here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "maps/png_file.hpp"

namespace steelyard {

// Whether a file is read: whole bytes per sample, not interlaced. Palettes give their indices.
bool has_dense_samples(const PngHeader& header);

// All samples, in the order of the file: height × width × channels, of 1 or of 2 bytes.
PngFault png_samples(const PngHeader& header, const std::uint8_t* data, std::uint8_t* out);
PngFault png_samples(const PngHeader& header, const std::uint8_t* data, std::uint16_t* out);

// Grey of 16 bits, divided by `scale`; 0 becomes nan where `zero_is_missing`.
PngFault png_grey(const PngHeader& header, const std::uint8_t* data, double scale, bool zero_is_missing, float* out);

// Flow as KITTI stores it in three channels of 16 bits: (u, v) of each pixel, nan where the third is 0.
PngFault png_flow(const PngHeader& header, const std::uint8_t* data, float* out);

}  // namespace steelyard
