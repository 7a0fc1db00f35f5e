// Products of bytes, which are nearly all of the parser's work.
//
// Integers make them exact, so that every kernel gives the same: the one chosen is the best that the machine has. On
// ARM machines with the dot-product instructions, weights are kept four rows by four columns at a time, so that one
// instruction adds sixteen products to four rows' sums and nothing is summed across a register; four vectors share each
// weight that is loaded. x86 machines with AVX2 or AVX-512's products of bytes have them so too (dots_x86.hpp).
// Elsewhere rows are plain, and the compiler's own vectors do it.
#include "language/dots.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "language/dots_x86.hpp"
#include "wide/wide.hpp"

#if defined(__aarch64__) && \
    (defined(__ARM_FEATURE_DOTPROD) || (defined(__linux__) && defined(__GNUC__) && !defined(__clang__)))
#define STEELYARD_DOT_PRODUCT 1
#include <arm_neon.h>
#if !defined(__ARM_FEATURE_DOTPROD)
#include <sys/auxv.h>
#endif
#endif

namespace steelyard::language {
namespace {

#if defined(__GNUC__)
#define STEELYARD_INLINE inline __attribute__((always_inline))
#else
#define STEELYARD_INLINE inline
#endif

// Weights, what each row's sum starts at, rows, columns, vectors and how many, results.
using Kernel = void (*)(const std::int8_t*, const std::int32_t*, std::size_t, std::size_t, const std::int8_t*,
                        std::size_t, float*);

// The compiler's own vectors.
void plain_kernel(const std::int8_t* weights, const std::int32_t*, std::size_t rows, std::size_t columns,
                  const std::int8_t* x, std::size_t vectors, float* out) {
  static const auto products = wide_kernels().byte_products;
  products(weights, rows, columns, x, vectors, kMagicBits, out);
}

#if defined(STEELYARD_DOT_PRODUCT)
#if defined(__ARM_FEATURE_DOTPROD)
#define STEELYARD_DOTPROD
#else
#define STEELYARD_DOTPROD __attribute__((target("arch=armv8.2-a+dotprod")))
#endif

// Adds to each of four sums the products of four bytes of a row and the four of `x` at kLane. By its name, since
// compilers move registers about the intrinsic, which costs a tenth of the time.
template <int kLane>
STEELYARD_DOTPROD STEELYARD_INLINE void add_products(int32x4_t& sum, int8x16_t rows, int8x16_t x) {
  static_assert(kLane >= 0 && kLane < 4);
  if constexpr (kLane == 0) asm("sdot %0.4s, %1.16b, %2.4b[0]" : "+w"(sum) : "w"(rows), "w"(x));
  if constexpr (kLane == 1) asm("sdot %0.4s, %1.16b, %2.4b[1]" : "+w"(sum) : "w"(rows), "w"(x));
  if constexpr (kLane == 2) asm("sdot %0.4s, %1.16b, %2.4b[2]" : "+w"(sum) : "w"(rows), "w"(x));
  if constexpr (kLane == 3) asm("sdot %0.4s, %1.16b, %2.4b[3]" : "+w"(sum) : "w"(rows), "w"(x));
}

// Sixteen rows times `kVectors` vectors: four bytes of each row and vector.
template <int kLane, std::size_t kVectors>
STEELYARD_DOTPROD STEELYARD_INLINE void four_columns(const std::int8_t* weights, const int8x16_t* in,
                                                     int32x4_t (*sum)[kVectors]) {
  for (int r = 0; r < 4; ++r) {
    const int8x16_t w = vld1q_s8(weights + 64 * kLane + 16 * r);
    for (std::size_t v = 0; v < kVectors; ++v) add_products<kLane>(sum[r][v], w, in[v]);
  }
}

template <std::size_t kVectors>
STEELYARD_DOTPROD STEELYARD_INLINE void sixteen_rows(const std::int8_t* weights, std::size_t columns,
                                                     const std::int8_t* x, std::size_t rows, float* out) {
  int32x4_t sum[4][kVectors];
  for (auto& four : sum) {
    for (auto& s : four) s = vdupq_n_s32(kMagicBits);
  }
  for (std::size_t c = 0; c < columns; c += 16, weights += 256) {
    int8x16_t in[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) in[v] = vld1q_s8(x + v * columns + c);
    four_columns<0, kVectors>(weights, in, sum);
    four_columns<1, kVectors>(weights, in, sum);
    four_columns<2, kVectors>(weights, in, sum);
    four_columns<3, kVectors>(weights, in, sum);
  }
  for (std::size_t v = 0; v < kVectors; ++v) {
    for (int r = 0; r < 4; ++r) vst1q_f32(out + v * rows + 4 * r, vreinterpretq_f32_s32(sum[r][v]));
  }
}

// Sixteen rows after the other, each with all vectors, so that weights come from far once.
STEELYARD_DOTPROD void dot_kernel(const std::int8_t* weights, const std::int32_t*, std::size_t rows,
                                  std::size_t columns, const std::int8_t* x, std::size_t vectors, float* out) {
  for (std::size_t r = 0; r < rows; r += 16, weights += 16 * columns, out += 16) {
    std::size_t v = 0;
    for (; v + 4 <= vectors; v += 4) sixteen_rows<4>(weights, columns, x + v * columns, rows, out + v * rows);
    const std::int8_t* last = x + v * columns;
    if (vectors - v == 3) sixteen_rows<3>(weights, columns, last, rows, out + v * rows);
    if (vectors - v == 2) sixteen_rows<2>(weights, columns, last, rows, out + v * rows);
    if (vectors - v == 1) sixteen_rows<1>(weights, columns, last, rows, out + v * rows);
  }
}
#endif

Kernel chosen_kernel() {
#if defined(STEELYARD_DOT_PRODUCT) && defined(__ARM_FEATURE_DOTPROD)
  return baseline_only() ? plain_kernel : dot_kernel;
#elif defined(STEELYARD_DOT_PRODUCT)
  constexpr unsigned long kDotProduct = 1ul << 20;  // HWCAP_ASIMDDP
  return !baseline_only() && (getauxval(AT_HWCAP) & kDotProduct) ? dot_kernel : plain_kernel;
#elif defined(STEELYARD_DOT_X86)
  if (baseline_only() || !x86::has_avx2()) return plain_kernel;
  return x86::has_vnni() ? x86::vnni_kernel : x86::avx2_kernel;
#else
  return plain_kernel;
#endif
}

// What is added to each byte of a vector, so that it has no sign.
std::int32_t raised() {
#if defined(STEELYARD_DOT_X86)
  return chosen_kernel() == x86::vnni_kernel ? 128 : 0;
#else
  return 0;
#endif
}

}  // namespace

ByteMatrix::ByteMatrix(std::span<const std::int8_t> weights, std::size_t rows, std::size_t columns)
    : rows_(rows), columns_(columns), weights_(weights.begin(), weights.end()), first_(rows, kMagicBits) {
  for (std::size_t r = 0; r < rows; ++r) {
    first_[r] -= raised() * std::accumulate(weights.begin() + r * columns, weights.begin() + (r + 1) * columns, 0);
  }
  if (chosen_kernel() == plain_kernel) return;
  auto* to = weights_.data();
  for (std::size_t r = 0; r < rows; r += kRows) {
    for (std::size_t c = 0; c < columns; c += 4) {
      for (std::size_t k = 0; k < kRows; ++k, to += 4) std::copy_n(weights.data() + (r + k) * columns + c, 4, to);
    }
  }
}

void ByteMatrix::multiply(const std::int8_t* x, std::size_t vectors, float* out) const {
  static const Kernel kernel = chosen_kernel();
  kernel(weights_.data(), first_.data(), rows_, columns_, x, vectors, out);
}

}  // namespace steelyard::language
