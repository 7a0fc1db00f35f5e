// The arithmetic of the parser's net between its products, value by value: the same on every machine.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "language/dots.hpp"

#if defined(__GNUC__)
#define STEELYARD_RESTRICT __restrict
#define STEELYARD_INLINE inline __attribute__((always_inline))
#elif defined(_MSC_VER)
#define STEELYARD_RESTRICT __restrict
#define STEELYARD_INLINE __forceinline
#else
#define STEELYARD_RESTRICT
#define STEELYARD_INLINE inline
#endif

namespace steelyard::language {

constexpr std::size_t kMostUnits = 128;

// Twice x, or twice the nearest of -most and most: without a comparison, so that compilers make vectors of it.
STEELYARD_INLINE float twice_within(float x, float most) { return std::fabs(x + most) - std::fabs(x - most); }

// |x|, at most `most`, by the order of real numbers' bits.
STEELYARD_INLINE float size_within(float x, float most) {
  return std::bit_cast<float>(std::min(std::bit_cast<std::int32_t>(std::fabs(x)), std::bit_cast<std::int32_t>(most)));
}

// Within 0.003 of tanh and within 0.0015 of the logistic function, by polynomials: what the net rounds to is coarser.
// Fused steps are asked for by name: they are the same everywhere.
STEELYARD_INLINE float near_tanh(float x) {
  const float s = size_within(x, 2.75f);
  float p = 1.3759514878e-02f;
  p = std::fma(p, s, -1.3198597072e-02f);
  p = std::fma(p, s, -3.312534166e-01f);
  p = std::fma(p, s, 1.0878021984f);
  return std::copysign(s * p, x);
}
STEELYARD_INLINE float near_sigmoid(float x) {
  const float s = size_within(x, 5.5f);
  float p = 4.29984840e-04f;
  p = std::fma(p, s, -8.249123168e-04f);
  p = std::fma(p, s, -4.140667708e-02f);
  p = std::fma(p, s, 2.719505496e-01f);
  return std::copysign(s * p, x) + 0.5f;
}

STEELYARD_INLINE std::int16_t fixed_point(float x) {  // in 128ths, within 32
  return static_cast<std::int16_t>(nearest(64.0f * twice_within(x, 31.9f)));
}

// Sums of products, which are kMagic too large, as real numbers.
inline void rescale(std::size_t count, const float* STEELYARD_RESTRICT sum, const float* STEELYARD_RESTRICT scale,
                    const float* STEELYARD_RESTRICT bias, float* STEELYARD_RESTRICT out) {
  for (std::size_t k = 0; k < count; ++k) out[k] = (sum[k] - kMagic) * scale[k] + bias[k];
}

inline void to_fixed_point(std::size_t count, const float* STEELYARD_RESTRICT sum,
                           const float* STEELYARD_RESTRICT scale, const float* STEELYARD_RESTRICT bias,
                           std::int16_t* STEELYARD_RESTRICT out) {
  for (std::size_t k = 0; k < count; ++k) out[k] = fixed_point((sum[k] - kMagic) * scale[k] + bias[k]);
}

}  // namespace steelyard::language
