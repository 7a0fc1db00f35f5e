// Rows of bytes times vectors of bytes: plain loops that compilers turn into vector code. See language/dots.cpp.
#include <cstring>

#include "wide/target.hpp"

namespace steelyard::STEELYARD_TARGET {
void byte_products(const std::int8_t* weights, std::size_t rows, std::size_t columns, const std::int8_t* x,
                   std::size_t vectors, std::int32_t start, float* out) {
  for (std::size_t v = 0; v < vectors; ++v) {
    for (std::size_t r = 0; r < rows; ++r) {
      std::int32_t sum = start;
      for (std::size_t c = 0; c < columns; ++c) sum += std::int32_t{weights[r * columns + c]} * x[v * columns + c];
      std::memcpy(out + v * rows + r, &sum, sizeof sum);
    }
  }
}

}  // namespace steelyard::STEELYARD_TARGET
