// Rows of a PNG: see png.hpp.
#include "maps/png.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace steelyard {
namespace {

enum Filter : std::uint8_t { kNone, kSub, kUp, kAverage, kPaeth };

inline void push(std::vector<PixelRun>& runs, std::size_t end, std::uint32_t value) {
  if (!runs.empty() && runs.back().value == value) {
    runs.back().end = static_cast<std::uint32_t>(end);
  } else {
    runs.push_back({static_cast<std::uint32_t>(end), value});
  }
}

// The first byte in memory of a word that is not zero.
inline std::size_t first_set(std::uint64_t word) {
  if constexpr (std::endian::native == std::endian::little) return static_cast<std::size_t>(std::countr_zero(word)) / 8;
  return static_cast<std::size_t>(std::countl_zero(word)) / 8;
}

inline std::uint64_t word_at(const std::uint8_t* p) {
  std::uint64_t word;
  std::memcpy(&word, p, 8);
  return word;
}

// The place of the first byte that is not zero, from `i` on; n where there is none.
inline std::size_t next_set(const std::uint8_t* p, std::size_t i, std::size_t n) {
  for (; i + 64 <= n; i += 64) {
    const std::uint64_t a = word_at(p + i) | word_at(p + i + 8), b = word_at(p + i + 16) | word_at(p + i + 24),
                        c = word_at(p + i + 32) | word_at(p + i + 40), d = word_at(p + i + 48) | word_at(p + i + 56);
    if ((a | b) | (c | d)) break;
  }
  for (; i + 8 <= n; i += 8) {
    const std::uint64_t word = word_at(p + i);
    if (word) return i + first_set(word);
  }
  while (i < n && !p[i]) ++i;
  return i;
}

template <std::size_t kStep>
inline std::uint32_t load(const std::uint8_t* p) {
  std::uint32_t value = 0;
  for (std::size_t c = 0; c < kStep; ++c) value |= std::uint32_t{p[c]} << (8 * c);
  return value;
}

inline std::uint32_t paeth(int a, int b, int c) {
  const int da = b > c ? b - c : c - b, db = a > c ? a - c : c - a, sum = a + b - 2 * c, dc = sum < 0 ? -sum : sum;
  const int other = db <= dc ? b : c;
  return static_cast<std::uint32_t>((da <= db) & (da <= dc) ? a : other);
}

// A pixel from its filtered bytes and its neighbours: to the left, above, and above to the left.
template <std::size_t kStep, Filter filter>
inline std::uint32_t unfiltered(std::uint32_t bytes, std::uint32_t left, std::uint32_t above, std::uint32_t corner) {
  std::uint32_t pixel = 0;
  for (std::size_t c = 0; c < kStep; ++c) {
    const unsigned shift = static_cast<unsigned>(8 * c);
    const std::uint32_t a = (left >> shift) & 255, b = (above >> shift) & 255;
    std::uint32_t guess = 0;
    if constexpr (filter == kSub) guess = a;
    if constexpr (filter == kUp) guess = b;
    if constexpr (filter == kAverage) guess = (a + b) / 2;
    if constexpr (filter == kPaeth) {
      guess = paeth(static_cast<int>(a), static_cast<int>(b), static_cast<int>((corner >> shift) & 255));
    }
    pixel |= (((bytes >> shift) + guess) & 255) << shift;
  }
  return pixel;
}

template <std::size_t kStep>
void plain_runs(const std::uint8_t* p, std::size_t n, std::vector<PixelRun>& out) {
  for (std::size_t i = 0; i < n;) {
    const std::uint32_t value = load<kStep>(p + i * kStep);
    ++i;
    if constexpr (kStep == 1) {
      while (i + 16 <= n && sixteen_equal(p + i, static_cast<std::uint8_t>(value))) i += 16;
    }
    while (i < n && load<kStep>(p + i * kStep) == value) ++i;
    push(out, i, value);
  }
}

// Pixels are made one by one where bytes are set or the row above changes. Between such places each is made of the one
// before alone, so that the first that equals it goes on to the next place.
template <std::size_t kStep, Filter filter>
void filtered_runs(const std::uint8_t* p, std::size_t n, const std::vector<PixelRun>& above,
                   std::vector<PixelRun>& out) {
  std::uint32_t left = 0, corner = 0;
  std::size_t set = next_set(p, 0, n * kStep) / kStep;
  const PixelRun* run = above.data();
  for (std::size_t i = 0; i < n;) {
    left = unfiltered<kStep, filter>(load<kStep>(p + i * kStep), left, run->value, corner);
    push(out, ++i, left);
    corner = run->value;
    if (set < i) set = next_set(p, i * kStep, n * kStep) / kStep;
    const std::size_t limit = std::min<std::size_t>(run->end, set);
    while (i < limit) {
      const std::uint32_t pixel = unfiltered<kStep, filter>(0, left, corner, corner);
      i = pixel == left ? limit : i + 1;
      left = pixel;
      push(out, i, pixel);
    }
    if (i == run->end) ++run;
  }
}

}  // namespace

PngRows::PngRows(std::size_t width, std::size_t depth, std::size_t channels)
    : width_(width),
      depth_(depth),
      channels_(channels),
      row_bytes_((width * depth * channels + 7) / 8),
      step_(std::max<std::size_t>(1, depth * channels / 8)),
      converted_(depth != 8 || channels == 4),
      row_{{static_cast<std::uint32_t>(row_bytes_ / step_), 0}} {}

PngFault PngRows::next(const std::uint8_t* line) {
  if (line[0] > kPaeth) return PngFault::filter;
  const auto filter = static_cast<Filter>(line[0]);
  const std::uint8_t* p = line + 1;
  if (filter == kUp && next_set(p, 0, row_bytes_) == row_bytes_) return converted_ ? convert() : PngFault::none;
  above_.swap(row_);
  row_.clear();
  const std::size_t n = row_bytes_ / step_;
  auto decode = [&]<std::size_t kStep>() {
    if (filter == kNone) plain_runs<kStep>(p, n, row_);
    if (filter == kSub) filtered_runs<kStep, kSub>(p, n, above_, row_);
    if (filter == kUp) filtered_runs<kStep, kUp>(p, n, above_, row_);
    if (filter == kAverage) filtered_runs<kStep, kAverage>(p, n, above_, row_);
    if (filter == kPaeth) filtered_runs<kStep, kPaeth>(p, n, above_, row_);
  };
  if (step_ == 1) decode.template operator()<1>();
  if (step_ == 2) decode.template operator()<2>();
  if (step_ == 3) decode.template operator()<3>();
  if (step_ == 4) decode.template operator()<4>();
  return converted_ ? convert() : PngFault::none;
}

PngFault PngRows::convert() {
  pixels_.clear();
  if (depth_ >= 8) {
    for (const PixelRun& run : row_) {
      if (channels_ == 4 && run.value >> 24 != 255) return PngFault::alpha;
      push(pixels_, run.end, depth_ == 16 ? ((run.value & 255) << 8) | (run.value >> 8) : run.value & 0xFFFFFF);
    }
    return PngFault::none;
  }
  const std::size_t each = 8 / depth_;
  const std::uint32_t mask = (1u << depth_) - 1, same = 255 / mask;
  std::size_t i = 0;
  for (const PixelRun& run : row_) {
    const std::size_t end = std::min(width_, run.end * each);
    if (run.value % same == 0) {  // all pixels of the byte are equal
      push(pixels_, end, run.value & mask);
      i = end;
      continue;
    }
    for (; i < end; ++i) push(pixels_, i + 1, (run.value >> (8 - depth_ * (i % each + 1))) & mask);
  }
  return PngFault::none;
}

void count_runs(const std::vector<PixelRun>& a, const std::vector<PixelRun>& b, PairCounter& counter) {
  const PixelRun *x = a.data(), *y = b.data(), *last = a.data() + a.size();
  std::uint32_t i = 0;
  while (x < last) {
    const std::uint32_t end = std::min(x->end, y->end);
    counter.add((std::uint64_t{x->value} << 32) | y->value, std::int64_t{end} - i);
    i = end;
    if (x->end == end) ++x;
    if (y->end == end) ++y;
  }
}

}  // namespace steelyard
