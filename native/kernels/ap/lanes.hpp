// Rows of weights side by side: what a walk adds up, one number for each row.
//
// Files that include this are compiled once for each set of instructions (native/CMakeLists.txt): all names stand in a
// namespace of the target, inside it in an anonymous one, and nothing of the library that would be emitted is used, so
// that no object hands its code to another one. Every loop over the lanes does one plain thing with arrays that do not
// overlap, which is what compilers turn into vector code.
#pragma once

#include <cstddef>
#include <cstdint>

#ifndef STEELYARD_TARGET
#define STEELYARD_TARGET baseline
#endif

#if defined(_MSC_VER)
#define STEELYARD_RESTRICT __restrict
#define STEELYARD_NOINLINE __declspec(noinline)
#else
#define STEELYARD_RESTRICT __restrict__
#define STEELYARD_NOINLINE __attribute__((noinline))
#endif

namespace steelyard::STEELYARD_TARGET {
namespace {

template <typename T, std::size_t L>
struct alignas(L >= 8 ? 64 : alignof(T)) Lanes {
  T v[L];
  T& operator[](std::size_t l) { return v[l]; }
  T operator[](std::size_t l) const { return v[l]; }
};

template <typename T, typename W, std::size_t L>
void add(Lanes<T, L>& to, const W* STEELYARD_RESTRICT weights) {
  T* STEELYARD_RESTRICT v = to.v;
  for (std::size_t l = 0; l < L; ++l) v[l] += weights[l];
}

// Asks for lanes that are needed soon, where the compiler can say so.
template <typename T, std::size_t L>
void prefetch(const Lanes<T, L>* lanes) {
#if defined(__GNUC__)
  for (std::size_t i = 0; i < sizeof *lanes; i += 64) __builtin_prefetch(reinterpret_cast<const char*>(lanes) + i);
#else
  (void)lanes;
#endif
}

template <typename T>
T larger(T a, T b) {
  return a > b ? a : b;
}

}  // namespace
}  // namespace steelyard::STEELYARD_TARGET
