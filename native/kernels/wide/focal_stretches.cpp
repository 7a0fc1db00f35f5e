// The focal loss of a stretch of logits: plain loops that compilers turn into vector code. See losses/focal.hpp.
//
// With e = exp(-|x|), which is at most 1, nothing overflows: the sigmoids of |x| and -|x| are 1 / (1 + e) and e / (1 +
// e), and log(1 + e) = 2 artanh(s) with s = e / (2 + e), which is at most 1/3. Both functions are polynomials here, so
// that the bits are the same everywhere; each is right to about two units in the last place.
#include <math.h>

#include <bit>

#include "losses/focal.hpp"
#include "wide/target.hpp"

namespace steelyard::STEELYARD_TARGET {
namespace {

constexpr std::size_t kChunk = 512, kLanes = 16;
constexpr float kRound = 12582912.0f;  // 1.5 2^23: added, it rounds to a whole number, which stands in the last bits
constexpr float kMost = 104.0f;        // exp(-104) is 0
constexpr float kCapped = 1e30f;       // stands for an infinite loss in the slope, where 0 times it is 0

// 2^k as a float, for k from -126 to 127.
inline float power_of_two(std::int32_t k) { return std::bit_cast<float>(static_cast<std::uint32_t>(k + 127) << 23); }

inline float exp_of_minus(float a) {
  const float shifted = a * -1.44269504f + kRound;
  const float k = shifted - kRound;
  const float r = (-a - k * 0.693359375f) - k * -0.00021219444f;  // log 2 in two parts
  float p = 0.0013933652f * r + 0.008363182f;
  p = p * r + 0.041666467f;
  p = p * r + 0.16666576f;
  p = p * r + 0.5f;
  p = (p * r) * r + r + 1.0f;
  const auto whole =
      static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(kRound));
  const std::int32_t half = whole >> 1;  // in two steps: the power itself may be too small for a float
  return p * power_of_two(half) * power_of_two(whole - half);
}

template <FocalPower kPower>
double stretch(const FocalStretch& job) {
  const float alpha = job.alpha;
  const std::int32_t left_out = job.left_out;
  double total = 0;
  float values[kChunk], unused[kChunk];
  for (std::size_t begin = 0; begin < job.n; begin += kChunk) {
    const std::size_t n = job.n - begin < kChunk ? job.n - begin : kChunk;
    const float* __restrict x = job.x + begin;
    const std::int32_t* __restrict labels = job.labels + begin;
    float* __restrict slopes = job.slope ? job.slope + begin : unused;
    float* __restrict value = values;
    for (std::size_t i = 0; i < n; ++i) {
      const float z = x[i];
      const float size = fabsf(z);
      const float e = exp_of_minus(size > kMost ? kMost : size);  // not a number stays so
      const float r = 1.0f / ((1.0f + e) * (2.0f + e));
      const float large = r * (2.0f + e), small = e * large;
      const float s = e * (r * (1.0f + e)), w = s * s;
      const float series = ((0.13433771f * w + 0.14116979f) * w + 0.20003836f) * w + 0.3333332f;
      const float log1p = 2.0f * (s + s * w * series);
      const bool right = z > 0.0f;
      const float q = right ? large : small, other = right ? small : large;
      const float entropy = log1p + (right ? z : 0.0f);
      float factor = alpha, gamma = 0.0f;
      if constexpr (kPower == FocalPower::one) factor = alpha * q, gamma = 1.0f;
      if constexpr (kPower == FocalPower::one_and_half) factor = alpha * (q * sqrtf(q)), gamma = 1.5f;
      if constexpr (kPower == FocalPower::two) factor = alpha * (q * q), gamma = 2.0f;
      const float loss = factor == 0.0f ? 0.0f : factor * entropy;
      const float capped = entropy > kCapped ? kCapped : entropy;
      const float slope = factor * (q + gamma * other * capped);
      const bool counts = (labels[i] != left_out) & (labels[i] != kNotCounted);
      value[i] = counts ? loss : 0.0f;
      slopes[i] = counts ? slope : 0.0f;
    }
    float lanes[kLanes] = {};
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (std::size_t l = 0; l < kLanes; ++l) lanes[l] += value[i + l];
    }
    for (std::size_t l = 0; i + l < n; ++l) lanes[l] += value[i + l];
    for (float lane : lanes) total += double{lane};
  }
  return total;
}

}  // namespace

double focal_stretch(const FocalStretch& job) {
  switch (job.power) {
    case FocalPower::none: return stretch<FocalPower::none>(job);
    case FocalPower::one: return stretch<FocalPower::one>(job);
    case FocalPower::one_and_half: return stretch<FocalPower::one_and_half>(job);
    default: return stretch<FocalPower::two>(job);
  }
}

}  // namespace steelyard::STEELYARD_TARGET
