// Checksums: see checksums.hpp.
#include "maps/checksums.hpp"

#include <algorithm>
#include <array>

namespace steelyard {
namespace {

using Table = std::array<std::uint32_t, 256>;

// tables[k][b]: what byte b adds to the CRC where k further bytes follow it.
constexpr std::array<Table, 8> crc_tables() {
  std::array<Table, 8> tables{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xEDB88320u : 0u);
    tables[0][b] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t b = 0; b < 256; ++b) tables[k][b] = (tables[k - 1][b] >> 8) ^ tables[0][tables[k - 1][b] & 255];
  }
  return tables;
}

constexpr std::array<Table, 8> kCrc = crc_tables();
constexpr std::uint32_t kModulus = 65521;

}  // namespace

std::uint32_t crc32(std::uint32_t before, const std::uint8_t* data, std::size_t size) {
  std::uint32_t crc = ~before;
  for (; size >= 8; size -= 8, data += 8) {
    std::uint32_t mixed = 0;
    for (unsigned i = 0; i < 4; ++i) mixed ^= kCrc[7 - i][((crc >> (8 * i)) & 255) ^ data[i]];
    for (unsigned i = 4; i < 8; ++i) mixed ^= kCrc[7 - i][data[i]];
    crc = mixed;
  }
  for (; size; --size, ++data) crc = (crc >> 8) ^ kCrc[0][(crc ^ *data) & 255];
  return ~crc;
}

// Byte i of n counts once in the low sum and n - i times in the high one. Sums by column of 32 bytes, which the
// compiler keeps in registers: `ones` of the bytes, `before` of the ones in front of each.
std::uint32_t adler32(std::uint32_t before_all, const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kWide = 32, kRows = 256;  // 255 × 256 is less than 2^16
  std::uint64_t low = before_all & 0xFFFF, high = before_all >> 16;
  while (size >= kWide) {
    const std::size_t rows = std::min(size / kWide, kRows);
    std::uint16_t ones[kWide] = {};
    std::uint32_t before[kWide] = {};
    for (std::size_t row = 0; row < rows; ++row, data += kWide) {
      for (std::size_t j = 0; j < kWide; ++j) before[j] += ones[j];
      for (std::size_t j = 0; j < kWide; ++j) ones[j] = static_cast<std::uint16_t>(ones[j] + data[j]);
    }
    high += rows * kWide * low;
    for (std::size_t j = 0; j < kWide; ++j) {
      low += ones[j];
      high += kWide * std::uint64_t{before[j]} + (kWide - j) * ones[j];
    }
    low %= kModulus;
    high %= kModulus;
    size -= rows * kWide;
  }
  for (; size; --size, ++data) {
    low += *data;
    high += low;
  }
  return static_cast<std::uint32_t>(high % kModulus << 16 | low % kModulus);
}

}  // namespace steelyard
