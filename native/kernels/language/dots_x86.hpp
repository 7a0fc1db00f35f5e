// Products of bytes on x86-64 machines: see dots.cpp. Weights lie sixteen rows by four columns at a time.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__)
#define STEELYARD_DOT_X86 1

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace steelyard::language::x86 {

// The sixteen rows of a block times one vector, four columns at a time. Bytes become 16-bit numbers, whose products are
// added in pairs: a row has two sums, which are joined at the end.
__attribute__((target("avx2"))) inline void sixteen_rows(const std::int8_t* weights, std::size_t columns,
                                                         const std::int8_t* x, std::size_t vectors, std::size_t step,
                                                         std::size_t rows, std::int32_t start, float* out) {
  constexpr std::size_t kMost = 2;
  __m256i sum[kMost][4];
  for (auto& of_vector : sum) {
    for (auto& s : of_vector) s = _mm256_setzero_si256();
  }
  for (std::size_t c = 0; c < columns; c += 4, weights += 64) {
    __m256i four[4];
    for (int r = 0; r < 4; ++r) {
      four[r] = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(weights + 16 * r)));
    }
    for (std::size_t v = 0; v < vectors; ++v) {
      std::int32_t bytes;
      std::memcpy(&bytes, x + v * step + c, 4);
      const __m256i in = _mm256_broadcastq_epi64(_mm_cvtepi8_epi16(_mm_cvtsi32_si128(bytes)));
      for (int r = 0; r < 4; ++r) sum[v][r] = _mm256_add_epi32(sum[v][r], _mm256_madd_epi16(four[r], in));
    }
  }
  const __m256i first = _mm256_set1_epi32(start);
  for (std::size_t v = 0; v < vectors; ++v) {
    for (int half = 0; half < 2; ++half) {
      const __m256i pairs = _mm256_hadd_epi32(sum[v][2 * half], sum[v][2 * half + 1]);
      const __m256i eight = _mm256_add_epi32(_mm256_permute4x64_epi64(pairs, 0xD8), first);
      _mm256_storeu_ps(out + v * rows + 8 * half, _mm256_castsi256_ps(eight));
    }
  }
}

// `first` is what the sum of each row starts at, here and below.
__attribute__((target("avx2"))) inline void avx2_kernel(const std::int8_t* weights, const std::int32_t* first,
                                                        std::size_t rows, std::size_t columns, const std::int8_t* x,
                                                        std::size_t vectors, float* out) {
  for (std::size_t r = 0; r < rows; r += 16, weights += 16 * columns) {
    std::size_t v = 0;
    for (; v + 2 <= vectors; v += 2)
      sixteen_rows(weights, columns, x + v * columns, 2, columns, rows, first[0], out + v * rows + r);
    if (v < vectors) sixteen_rows(weights, columns, x + v * columns, 1, columns, rows, first[0], out + v * rows + r);
  }
}

// One instruction adds the products of four bytes to each of sixteen rows. It takes the vector's bytes without a sign:
// 128 is added to each, and what that adds to a row's sum is taken from where it starts.
#define STEELYARD_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

template <std::size_t kBlocks, std::size_t kVectors>
STEELYARD_VNNI inline void blocks(const std::int8_t* weights, const std::int32_t* first, std::size_t columns,
                                  const std::int8_t* x, std::size_t rows, float* out) {
  __m512i sum[kBlocks][kVectors];
  for (std::size_t b = 0; b < kBlocks; ++b) {
    for (std::size_t v = 0; v < kVectors; ++v) sum[b][v] = _mm512_loadu_si512(first + 16 * b);
  }
  const __m512i sign = _mm512_set1_epi32(static_cast<int>(0x80808080u));
  for (std::size_t c = 0; c < columns; c += 4) {
    __m512i in[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) {
      std::int32_t bytes;
      std::memcpy(&bytes, x + v * columns + c, 4);
      in[v] = _mm512_xor_si512(_mm512_set1_epi32(bytes), sign);
    }
    for (std::size_t b = 0; b < kBlocks; ++b) {
      const __m512i w = _mm512_loadu_si512(weights + b * 16 * columns + 16 * c);
      for (std::size_t v = 0; v < kVectors; ++v) sum[b][v] = _mm512_dpbusd_epi32(sum[b][v], in[v], w);
    }
  }
  for (std::size_t b = 0; b < kBlocks; ++b) {
    for (std::size_t v = 0; v < kVectors; ++v)
      _mm512_storeu_ps(out + v * rows + 16 * b, _mm512_castsi512_ps(sum[b][v]));
  }
}

template <std::size_t kBlocks>
STEELYARD_VNNI inline void all_vectors(const std::int8_t* weights, const std::int32_t* first, std::size_t rows,
                                       std::size_t columns, const std::int8_t* x, std::size_t vectors, float* out) {
  std::size_t v = 0;
  for (; v + 4 <= vectors; v += 4) blocks<kBlocks, 4>(weights, first, columns, x + v * columns, rows, out + v * rows);
  const std::int8_t* last = x + v * columns;
  if (vectors - v == 3) blocks<kBlocks, 3>(weights, first, columns, last, rows, out + v * rows);
  if (vectors - v == 2) blocks<kBlocks, 2>(weights, first, columns, last, rows, out + v * rows);
  if (vectors - v == 1) blocks<kBlocks, 1>(weights, first, columns, last, rows, out + v * rows);
}

STEELYARD_VNNI inline void vnni_kernel(const std::int8_t* weights, const std::int32_t* first, std::size_t rows,
                                       std::size_t columns, const std::int8_t* x, std::size_t vectors, float* out) {
  std::size_t r = 0;
  for (; r + 64 <= rows; r += 64) {
    all_vectors<4>(weights + r * columns, first + r, rows, columns, x, vectors, out + r);
  }
  for (; r < rows; r += 16) all_vectors<1>(weights + r * columns, first + r, rows, columns, x, vectors, out + r);
}

inline bool has_avx2() { return __builtin_cpu_supports("avx2"); }
inline bool has_vnni() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
}

}  // namespace steelyard::language::x86
#endif
