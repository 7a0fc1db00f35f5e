// Poisson(1) weights of many units: see support/random.hpp.
#include "support/random.hpp"
#include "wide/target.hpp"

namespace steelyard::STEELYARD_TARGET {
namespace {

constexpr auto kThresholds = poisson_thresholds();
constexpr std::size_t kCommon = 6;  // counts above are rare

// The random words of two draws that share them, one pair per unit.
void words(const std::uint64_t* STEELYARD_RESTRICT streams, std::size_t units, std::size_t draw,
           std::uint32_t* STEELYARD_RESTRICT even, std::uint32_t* STEELYARD_RESTRICT odd) {
  const std::uint64_t counter = kGolden * (draw / 2 + 1);
  for (std::size_t u = 0; u < units; ++u) {
    const std::uint64_t bits = mix64(streams[u] + counter);
    even[u] = static_cast<std::uint32_t>(bits);
    odd[u] = static_cast<std::uint32_t>(bits >> 32);
  }
}

void count(const std::uint32_t* STEELYARD_RESTRICT bits, std::size_t units, double* STEELYARD_RESTRICT out) {
  for (std::size_t u = 0; u < units; ++u) {
    std::uint32_t n = 0;
    for (std::size_t k = 0; k < kCommon; ++k) n += bits[u] >= kThresholds.data()[k];
    out[u] = static_cast<double>(n);
  }
  std::uint32_t top = 0;
  for (std::size_t u = 0; u < units; ++u) top = top > bits[u] ? top : bits[u];
  if (top < kThresholds.data()[kCommon]) return;
  for (std::size_t u = 0; u < units; ++u) {
    for (std::size_t k = kCommon; k < kPoissonSteps; ++k) out[u] += bits[u] >= kThresholds.data()[k] ? 1.0 : 0.0;
  }
}

}  // namespace

void poisson_weights(const std::uint64_t* streams, std::size_t units, std::size_t first, double* out) {
  alignas(64) std::uint32_t even[kWeightUnits], odd[kWeightUnits];
  for (std::size_t d = 0; d < kWeightDraws; d += 2) {
    words(streams, units, first + d, even, odd);
    count(even, units, out + d * kWeightUnits);
    count(odd, units, out + (d + 1) * kWeightUnits);
  }
}

void poisson_counts(const std::uint64_t* streams, std::size_t units, std::size_t first, std::uint8_t* out) {
  for (std::size_t u = 0; u < units; ++u) {
    alignas(64) std::uint32_t bits[kWeightDraws];
    std::uint64_t counter = streams[u] + kGolden * (first / 2 + 1);
    for (std::size_t d = 0; d < kWeightDraws; d += 2, counter += kGolden) {
      const std::uint64_t word = mix64(counter);
      bits[d] = static_cast<std::uint32_t>(word);
      bits[d + 1] = static_cast<std::uint32_t>(word >> 32);
    }
    std::uint8_t* STEELYARD_RESTRICT to = out + u * kWeightDraws;
    std::uint32_t top = 0;
    for (std::size_t d = 0; d < kWeightDraws; ++d) {
      std::uint32_t n = 0;
      for (std::size_t k = 0; k < kCommon; ++k) n += bits[d] >= kThresholds.data()[k];
      to[d] = static_cast<std::uint8_t>(n);
      top = top > bits[d] ? top : bits[d];
    }
    if (top < kThresholds.data()[kCommon]) continue;
    for (std::size_t d = 0; d < kWeightDraws; ++d) {
      for (std::size_t k = kCommon; k < kPoissonSteps; ++k)
        to[d] = static_cast<std::uint8_t>(to[d] + (bits[d] >= kThresholds.data()[k]));
    }
  }
}

}  // namespace steelyard::STEELYARD_TARGET
