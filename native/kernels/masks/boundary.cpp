// The boundary of a mask: see rle.hpp.
#include <algorithm>
#include <bit>
#include <cstring>

#include "masks/rle.hpp"

namespace steelyard {

Rle rle_boundary(const Rle& rle, std::uint32_t reach) {
  const Extent extent = extent_of(rle);
  const std::size_t cols = extent.right - extent.left, rows = extent.low - extent.top;
  if (cols == 0) return rle;
  const std::uint32_t left = extent.left, top = extent.top, h = rle.height;
  // Nothing deeper than `reach` on every side: all is boundary.
  if (cols <= 2 * std::size_t{reach} || rows <= 2 * std::size_t{reach}) {
    return rle_from_spans(spans_of(rle.counts.data(), rle.counts.size()), rle.height, rle.width);
  }
  // Bits of the mask's box, a column in whole words, without a margin: what is outside counts as 0.
  const std::size_t words = (rows + 63) / 64;
  std::vector<std::uint64_t> bits(cols * words, 0), inner, spare(words);
  const std::vector<Span> spans = spans_of(rle.counts.data(), rle.counts.size());
  for (const Span& span : spans) {
    for (std::uint32_t at = span.begin; at < span.end;) {
      const std::uint32_t x = at / h, y = at - x * h, stop = std::min(span.end, (x + 1) * h);
      std::uint64_t* column = bits.data() + (x - left) * words;
      for (std::size_t r = y - top, e = r + (stop - at); r < e;) {
        const std::size_t n = std::min<std::size_t>(64 - r % 64, e - r);
        column[r / 64] |= (n == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1) << (r % 64);
        r += n;
      }
      at = stop;
    }
  }
  inner = bits;
  const std::size_t wide = 2 * std::size_t{reach} + 1;
  // Erosion: first all of `wide` pixels from each place on, by doubling; then the place is moved to the middle.
  auto shifted = [&](const std::uint64_t* from, std::size_t by, std::uint64_t* to) {  // to[r] = from[r + by]
    const std::size_t skip = by / 64, rest = by % 64;
    for (std::size_t i = 0; i < words; ++i) {
      const std::uint64_t a = i + skip < words ? from[i + skip] : 0, b = i + skip + 1 < words ? from[i + skip + 1] : 0;
      to[i] = rest ? (a >> rest) | (b << (64 - rest)) : a;
    }
  };
  for (std::size_t have = 1; have < wide;) {
    const std::size_t add = std::min(have, wide - have);
    for (std::size_t c = 0; c < cols; ++c) {
      std::uint64_t* column = inner.data() + c * words;
      shifted(column, add, spare.data());
      for (std::size_t i = 0; i < words; ++i) column[i] &= spare[i];
    }
    for (std::size_t c = 0; c < cols; ++c) {
      std::uint64_t* column = inner.data() + c * words;
      const std::uint64_t* next = c + add < cols ? column + add * words : nullptr;
      for (std::size_t i = 0; i < words; ++i) column[i] = next ? column[i] & next[i] : 0;
    }
    have += add;
  }
  // What is set and not deep inside, as runs: a word at a time.
  std::vector<Span> edge;
  std::vector<std::uint64_t> deep(words);
  for (std::size_t c = 0; c < cols; ++c) {
    const std::uint64_t* column = bits.data() + c * words;
    std::fill(deep.begin(), deep.end(), 0);
    if (c >= reach && c + reach < cols) {
      const std::uint64_t* from = inner.data() + (c - reach) * words;
      const std::size_t skip = reach / 64, rest = reach % 64;
      for (std::size_t i = skip; i < words; ++i) {  // deep[r] = from[r - reach]
        deep[i] = from[i - skip] << rest;
        if (rest && i > skip) deep[i] |= from[i - skip - 1] >> (64 - rest);
      }
    }
    const std::uint32_t base = (left + static_cast<std::uint32_t>(c)) * h + top;
    for (std::size_t i = 0; i < words; ++i) {
      std::uint64_t word = column[i] & ~deep[i];
      while (word) {
        const int from = std::countr_zero(word), n = std::countr_one(word >> from);
        const std::uint32_t begin = base + static_cast<std::uint32_t>(64 * i) + static_cast<std::uint32_t>(from);
        const std::uint32_t end = begin + static_cast<std::uint32_t>(n);
        if (!edge.empty() && edge.back().end == begin) edge.back().end = end;
        else edge.push_back({begin, end});
        if (from + n >= 64) break;
        word &= ~std::uint64_t{0} << (from + n);
      }
    }
  }
  return rle_from_spans(edge, rle.height, rle.width);
}

}  // namespace steelyard
