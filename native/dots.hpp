// Products of a matrix of bytes with vectors of bytes, exact and so the same on every machine: see dots.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace steelyard::language {

class ByteMatrix {
 public:
  static constexpr std::size_t kRows = 16, kColumns = 16;

  ByteMatrix() = default;
  // Row after row; there must be a multiple of kRows rows and of kColumns columns.
  ByteMatrix(std::span<const std::int8_t> weights, std::size_t rows, std::size_t columns);

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  // out[v][row] = the row times vector v; vectors follow each other in x, and so do their results.
  void multiply(const std::int8_t* x, std::size_t vectors, std::int32_t* out) const;

 private:
  std::size_t rows_ = 0, columns_ = 0;
  std::vector<std::int8_t> weights_;  // in the order that the machine's kernel reads them
};

}  // namespace steelyard::language
