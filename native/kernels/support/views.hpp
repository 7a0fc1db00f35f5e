// Views of arrays that lie somewhere else: what kernels take. Who calls keeps the memory alive.
#pragma once

#include <cstddef>
#include <span>

namespace steelyard {

template <typename T>
using View = std::span<const T>;

// Rows of equal length, one after the other.
template <typename T>
struct Matrix {
  const T* values = nullptr;
  std::size_t rows = 0, columns = 0;

  std::size_t size() const { return rows * columns; }
  const T* data() const { return values; }
  const T* row(std::size_t i) const { return values + i * columns; }
};

}  // namespace steelyard
