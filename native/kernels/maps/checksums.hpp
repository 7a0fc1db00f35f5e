// The checksums of packed data: CRC-32 (PNG, gzip) and Adler-32 (zlib). Pure C++; no Python here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace steelyard {

// The CRC-32 of some more bytes; `before` is that of the bytes before them, 0 where there are none.
std::uint32_t crc32(std::uint32_t before, const std::uint8_t* data, std::size_t size);

// The Adler-32 of some more bytes; `before` is that of the bytes before them, 1 where there are none.
std::uint32_t adler32(std::uint32_t before, const std::uint8_t* data, std::size_t size);

}  // namespace steelyard
