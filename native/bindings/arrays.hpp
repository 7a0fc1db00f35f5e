// Shorthand for the arrays that cross the boundary, and the checks made there.
//
// Arguments are C-contiguous and of the exact type (`.noconvert()` at the binding), so a kernel works on plain
// pointers and sizes. Results own their memory. What a kernel assumes is checked here, once, with a message.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "support/checks.hpp"
#include "support/memory.hpp"
#include "support/pages.hpp"
#include "support/views.hpp"

namespace steelyard {

namespace nb = nanobind;

template <typename T>
using In1 = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Out = nb::ndarray<nb::numpy, T, nb::c_contig>;

// Results whose types the stub (src/steelyard/_native.pyi) shows: a tuple of these, or an object that is one of those.
template <typename... Ts>
using Tuple = nb::typed<nb::tuple, Ts...>;
template <typename T>
using Result = nb::typed<nb::object, T>;

template <typename T>
View<T> view(const In1<T>& array) {
  return {array.data(), array.shape(0)};
}
template <typename T>
Matrix<T> view(const In2<T>& array) {
  return {array.data(), array.shape(0), array.shape(1)};
}

// How many values an array of that shape has; a terabyte is the most.
template <typename T>
std::size_t size_of_shape(std::initializer_list<std::size_t> shape) {
  constexpr std::size_t most = (std::size_t{1} << 40) / sizeof(T);
  std::size_t size = 1;
  for (std::size_t n : shape) {
    require(n == 0 || size <= most / n, "the result would be larger than a terabyte");
    size *= n;
  }
  return size;
}

// A new array of the given shape; `data` points to its zeroed memory.
template <typename T>
Out<T> make_array(std::initializer_list<std::size_t> shape, T*& data) {
  const std::size_t size = size_of_shape<T>(shape);
  auto memory = std::make_unique<T[]>(size ? size : 1);
  data = memory.get();
  nb::capsule owner(memory.get(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
  memory.release();
  return Out<T>(data, shape, owner);
}

// The same without zeroing, for an array that is written whole.
template <typename T>
Out<T> make_raw(std::initializer_list<std::size_t> shape, T*& data) {
  static_assert(std::is_trivially_copyable_v<T>);
  const std::size_t size = size_of_shape<T>(shape);
  data = static_cast<T*>(take_memory(size * sizeof(T)));
  nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
  return Out<T>(data, shape, owner);
}

// A copy of a vector.
template <typename T>
Out<T> array_of(const std::vector<T>& values) {
  T* data;
  auto result = make_raw<T>({values.size()}, data);
  std::copy(values.begin(), values.end(), data);
  return result;
}

// What a kernel has filled, without a copy.
template <typename T>
Out<T> release(Buffer<T>& buffer) {
  std::size_t n = 0;
  T* data = buffer.release(n);
  nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
  return Out<T>(data, {n}, owner);
}

}  // namespace steelyard
