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
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "support/checks.hpp"
#include "support/memory.hpp"
#include "support/pages.hpp"
#include "support/views.hpp"

namespace steelyard {

namespace nb = nanobind;

// The name of a type of numbers as NumPy writes it: f8, i4, u1.
template <typename T>
constexpr auto kNumberName = nb::detail::const_name(std::is_floating_point_v<T> ? 'f'
                                                    : std::is_signed_v<T>       ? 'i'
                                                                                : 'u') +
                             nb::detail::const_name<sizeof(T)>();

// Arrays of arguments and results. They are classes, not aliases, for the sake of their casters at the end of this
// file.
template <typename T, std::size_t N>
struct In : nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu> {
  static_assert(N == 1 || N == 2);
  using Array = typename In::ndarray;
  using Array::Array;
  static constexpr auto kName = kNumberName<T> + nb::detail::const_name<N == 1>("[:]", "[:,:]");
};
template <typename T>
using In1 = In<T, 1>;
template <typename T>
using In2 = In<T, 2>;
template <typename T>
struct Out : nb::ndarray<nb::numpy, T, nb::c_contig> {
  using Array = typename Out::ndarray;
  using Array::Array;
  static constexpr auto kName = kNumberName<T> + nb::detail::const_name("[...]");
};

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

// nanobind joins the names of a function's arguments while it is compiled, and its own name of an array has some 80
// letters: a sixth of the time that the bindings took. These are short; tools/make_stub.py writes them out.
namespace nanobind::detail {

template <typename T, std::size_t N>
struct type_caster<steelyard::In<T, N>> {
  using Array = steelyard::In<T, N>;
  NB_TYPE_CASTER(Array, Array::kName)

  bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) noexcept {
    make_caster<typename Array::Array> caster;
    const bool found = caster.from_python(source, flags, cleanup);
    static_cast<typename Array::Array&>(value) = std::move(caster.value);
    return found;
  }
};

template <typename T>
struct type_caster<steelyard::Out<T>> {
  using Array = steelyard::Out<T>;
  NB_TYPE_CASTER(Array, Array::kName)

  static handle from_cpp(const Array& array, rv_policy policy, cleanup_list* cleanup) noexcept {
    return make_caster<typename Array::Array>::from_cpp(array, policy, cleanup);
  }
};

}  // namespace nanobind::detail
