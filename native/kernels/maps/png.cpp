// Rows of a PNG: see png.hpp.
#include "maps/png.hpp"

#include <algorithm>
#include <bit>

#include "maps/words.hpp"

namespace steelyard {
namespace {

enum Filter : std::uint8_t { kNone, kSub, kUp, kAverage, kPaeth };

// The place of the first byte that is not zero, from `i` on; n where there is none. Reads up to 32 bytes behind n.
inline std::size_t next_set(const std::uint8_t* p, std::size_t i, std::size_t n) {
  for (; i < n; i += 32) {
    const std::uint64_t a = eight_bytes(p + i), b = eight_bytes(p + i + 8), c = eight_bytes(p + i + 16),
                        d = eight_bytes(p + i + 24);
    if (!((a | b) | (c | d))) continue;
    const bool first = a | b;  // chosen without a jump: where a byte is set cannot be foretold
    const std::uint64_t low = first ? a : c, high = first ? b : d, word = low ? low : high;
    return std::min(n, i + (first ? 0 : 16) + (low ? 0 : 8) + static_cast<std::size_t>(std::countr_zero(word)) / 8);
  }
  return n;
}

template <std::size_t kStep>
inline std::uint32_t load(const std::uint8_t* p) {
  std::uint32_t value = 0;
  for (std::size_t c = 0; c < kStep; ++c) value |= std::uint32_t{p[c]} << (8 * c);
  return value;
}

// The sum of each byte of two words by itself.
inline std::uint32_t add_bytes(std::uint32_t a, std::uint32_t b) {
  return ((a & 0x7F7F7F7Fu) + (b & 0x7F7F7F7Fu)) ^ ((a ^ b) & 0x80808080u);
}

// What Paeth's filter expects of a byte from those to the left, above, and above to the left.
inline std::uint32_t paeth_byte(int a, int b, int c) {
  const int da = b > c ? b - c : c - b, db = a > c ? a - c : c - a, sum = a + b - 2 * c, dc = sum < 0 ? -sum : sum;
  const int other = db <= dc ? b : c;
  return static_cast<std::uint32_t>((da <= db) & (da <= dc) ? a : other);
}

// The same of a pixel. Of three bytes of which two are equal it is the third, or that of the two.
template <std::size_t kStep>
inline std::uint32_t paeth(std::uint32_t left, std::uint32_t above, std::uint32_t corner) {
  if (left == corner) return above;
  if (left == above || above == corner) return left;
  std::uint32_t pixel = 0;
  for (unsigned shift = 0; shift < 8 * kStep; shift += 8) {
    const int a = (left >> shift) & 255, b = (above >> shift) & 255, c = (corner >> shift) & 255;
    pixel |= paeth_byte(a, b, c) << shift;
  }
  return pixel;
}

// Rows without a filter.
template <std::size_t kStep>
void plain_runs(const std::uint8_t* p, std::size_t n, RunList& out) {
  out.begin(1, load<kStep>(p));
  for (std::size_t i = 1; i < n;) {
    const std::uint32_t value = load<kStep>(p + i * kStep);
    ++i;
    if constexpr (kStep == 1) {
      while (i + 16 <= n && sixteen_equal(p + i, static_cast<std::uint8_t>(value))) i += 16;
    }
    while (i < n && load<kStep>(p + i * kStep) == value) ++i;
    out.put(i, value);
  }
}

// A byte of zero gives the pixel to the left again.
template <std::size_t kStep>
void sub_runs(const std::uint8_t* p, std::size_t n, RunList& out) {
  std::uint32_t left = load<kStep>(p);
  out.begin(1, left);
  for (std::size_t i = 1;;) {
    i = next_set(p, i * kStep, n * kStep) / kStep;
    out.extend(i);
    if (i == n) return;
    left = add_bytes(left, load<kStep>(p + i * kStep));
    out.put(++i, left);
  }
}

// A byte of zero gives the pixel above again.
template <std::size_t kStep>
void up_runs(const std::uint8_t* p, std::size_t n, std::span<const PixelRun> above, RunList& out) {
  const PixelRun* run = above.data();
  out.begin(1, add_bytes(run->value, load<kStep>(p)));
  run += run->end == 1;
  for (std::size_t i = 1;;) {
    i = next_set(p, i * kStep, n * kStep) / kStep;
    while (out.end() < i) {
      const std::size_t end = std::min<std::size_t>(run->end, i);
      out.put(end, run->value);
      run += run->end == end;
    }
    if (i == n) return;
    out.put(i + 1, add_bytes(run->value, load<kStep>(p + i * kStep)));
    run += run->end == ++i;
  }
}

// Below a run of equal pixels a byte of zero gives the pixel to the left again.
template <std::size_t kStep>
void paeth_runs(const std::uint8_t* p, std::size_t n, std::span<const PixelRun> above, RunList& out) {
  const PixelRun* run = above.data();
  std::uint32_t corner = run->value, left = add_bytes(corner, load<kStep>(p));
  out.begin(1, left);
  run += run->end == 1;
  std::size_t set = next_set(p, kStep, n * kStep) / kStep;
  for (std::size_t i = 1; i < n;) {
    const bool changes = run->value != corner;  // the place is the first below another run
    if (!changes) {
      const std::size_t end = std::min<std::size_t>(run->end, set);
      out.extend(end);
      run += run->end == end;
      i = end;
      if (i != set || i == n) continue;
    }
    left = add_bytes(paeth<kStep>(left, run->value, corner), load<kStep>(p + i * kStep));
    corner = run->value;
    if (set <= i++) set = next_set(p, i * kStep, n * kStep) / kStep;
    out.put(i, left);
    run += run->end == i;
  }
}

template <std::size_t kStep>
void average_runs(const std::uint8_t* p, std::size_t n, std::span<const PixelRun> above, RunList& out) {
  const PixelRun* run = above.data();
  std::uint32_t left = 0;
  for (std::size_t i = 0; i < n;) {
    std::uint32_t guess = 0;
    for (unsigned shift = 0; shift < 8 * kStep; shift += 8) {
      guess |= (((left >> shift) & 255) + ((run->value >> shift) & 255)) / 2 << shift;
    }
    left = add_bytes(guess, load<kStep>(p + i * kStep));
    ++i == 1 ? out.begin(i, left) : out.put(i, left);
    run += run->end == i;
  }
}

}  // namespace

PngRows::PngRows(std::size_t width, std::size_t depth, std::size_t channels)
    : width_(width),
      depth_(depth),
      channels_(channels),
      row_bytes_((width * depth * channels + 7) / 8),
      step_(std::max<std::size_t>(1, depth * channels / 8)),
      converted_(depth != 8 || channels == 4) {
  row_.begin(row_bytes_ / step_, 0);
}

PngFault PngRows::next(const std::uint8_t* line) {
  if (line[0] > kPaeth) return PngFault::filter;
  const auto filter = static_cast<Filter>(line[0]);
  const std::uint8_t* p = line + 1;
  std::swap(above_, row_);
  const std::size_t n = row_bytes_ / step_;
  auto decode = [&]<std::size_t kStep>() {
    if (filter == kNone) plain_runs<kStep>(p, n, row_);
    if (filter == kSub) sub_runs<kStep>(p, n, row_);
    if (filter == kUp) up_runs<kStep>(p, n, above_.all(), row_);
    if (filter == kAverage) average_runs<kStep>(p, n, above_.all(), row_);
    if (filter == kPaeth) paeth_runs<kStep>(p, n, above_.all(), row_);
  };
  if (step_ == 1) decode.template operator()<1>();
  if (step_ == 2) decode.template operator()<2>();
  if (step_ == 3) decode.template operator()<3>();
  if (step_ == 4) decode.template operator()<4>();
  return converted_ ? convert() : PngFault::none;
}

PngFault PngRows::convert() {
  std::size_t i = 0;  // pixels that there are already
  auto put = [&](std::size_t end, std::uint32_t value) {
    i ? pixels_.put(end, value) : pixels_.begin(end, value);
    i = end;
  };
  if (depth_ >= 8) {
    for (const PixelRun& run : row_.all()) {
      if (channels_ == 4 && run.value >> 24 != 255) return PngFault::alpha;
      put(run.end, depth_ == 16 ? ((run.value & 255) << 8) | (run.value >> 8) : run.value & 0xFFFFFF);
    }
    return PngFault::none;
  }
  const std::size_t each = 8 / depth_;
  const std::uint32_t mask = (1u << depth_) - 1, same = 255 / mask;
  for (const PixelRun& run : row_.all()) {
    const std::size_t end = std::min(width_, run.end * each);
    if (run.value % same == 0) {  // all pixels of the byte are equal
      put(end, run.value & mask);
      continue;
    }
    while (i < end) put(i + 1, (run.value >> (8 - depth_ * (i % each + 1))) & mask);
  }
  return PngFault::none;
}

void count_runs(std::span<const PixelRun> a, std::span<const PixelRun> b, PairCounter& counter) {
  const PixelRun *x = a.data(), *y = b.data(), *last = a.data() + a.size();
  std::uint32_t i = 0;
  while (x < last) {
    const std::uint32_t end = std::min(x->end, y->end);
    counter.add((std::uint64_t{x->value} << 32) | y->value, std::int64_t{end} - i);
    i = end;
    x += x->end == end;
    y += y->end == end;
  }
}

}  // namespace steelyard
