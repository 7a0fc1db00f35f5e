// Which instructions the machine has; see wide/wide.hpp.
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "wide/wide.hpp"

#if defined(STEELYARD_AVX2) && defined(_MSC_VER)
#include <immintrin.h>
#include <intrin.h>
#endif

namespace steelyard {

namespace baseline {
const WideKernels& table();
}
#if defined(STEELYARD_AVX2)
namespace avx2 {
const WideKernels& table();
}
#endif

namespace {

#if defined(STEELYARD_AVX2)
bool has_avx2() {
#if defined(_MSC_VER)
  int info[4];
  __cpuid(info, 0);
  if (info[0] < 7) return false;
  __cpuid(info, 1);
  constexpr int kSaved = 1 << 27, kAvx = 1 << 28;  // the system saves the wide registers, the machine has them
  if ((info[2] & (kSaved | kAvx)) != (kSaved | kAvx) || (_xgetbv(0) & 6) != 6) return false;
  __cpuidex(info, 7, 0);
  return (info[1] >> 5) & 1;
#else
  return __builtin_cpu_supports("avx2");
#endif
}
#endif

std::string asked() {
  const char* value = std::getenv("STEELYARD_SIMD");
  const std::string name = value ? value : "";
  if (name.empty() || name == "baseline" || name == "avx2") return name;
  throw std::invalid_argument("STEELYARD_SIMD is '" + name + "'; it may be 'baseline' or 'avx2'");
}

const WideKernels& chosen() {
#if defined(STEELYARD_AVX2)
  if (!baseline_only() && has_avx2()) return avx2::table();
#endif
  return baseline::table();
}

}  // namespace

bool baseline_only() {
  static const bool only = asked() == "baseline";
  return only;
}

const WideKernels& wide_kernels() {
  static const WideKernels& kernels = chosen();
  return kernels;
}

}  // namespace steelyard
