// LZW as TIFF files have it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/views.hpp"

namespace steelyard::anomalies {

// At most `count` bytes of packed ones: the first bit is the highest, and codes grow one code early. A code that cannot
// stand where it does is an error; data that end early give fewer bytes.
std::vector<std::uint8_t> unpack_lzw(View<std::uint8_t> packed, std::size_t count);

}  // namespace steelyard::anomalies
