// Products of a matrix of bytes with vectors of bytes, exact and so the same on every machine: see dots.cpp.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace steelyard::language {

// Between whole and real numbers within 2^22, to the nearest, ties to even: added to kMagic, a number stands in the
// last bits of the sum. Machines add faster than they convert, and a sum that starts at kMagic need not even be added
// to.
constexpr float kMagic = 12582912.0f;
constexpr std::int32_t kMagicBits = std::bit_cast<std::int32_t>(kMagic);
inline float real(std::int32_t x) { return std::bit_cast<float>(x + kMagicBits) - kMagic; }
inline std::int32_t nearest(float x) { return std::bit_cast<std::int32_t>(x + kMagic) - kMagicBits; }

class ByteMatrix {
 public:
  static constexpr std::size_t kRows = 16, kColumns = 16;

  ByteMatrix() = default;
  // Row after row; there must be a multiple of kRows rows and of kColumns columns.
  ByteMatrix(std::span<const std::int8_t> weights, std::size_t rows, std::size_t columns);

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  // out[v][row] = kMagic + the row times vector v; vectors follow each other in x, and so do their results.
  void multiply(const std::int8_t* x, std::size_t vectors, float* out) const;

 private:
  std::size_t rows_ = 0, columns_ = 0;
  std::vector<std::int8_t> weights_;  // in the order that the machine's kernel reads them
  std::vector<std::int32_t> first_;   // what the sum of each row starts at
};

}  // namespace steelyard::language
