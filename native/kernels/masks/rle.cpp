// Run-length masks: see rle.hpp.
#include "masks/rle.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "support/count_text.hpp"

namespace steelyard {
namespace {

[[noreturn]] void refuse_mask(const std::string& what) { throw std::invalid_argument(what); }

// The next place at or behind `at` where the bytes are not all `value`.
std::size_t run_end(const std::uint8_t* p, std::size_t at, std::size_t n, std::uint8_t value) {
  const std::uint64_t same = 0x0101010101010101ull * value;
  while (at + 8 <= n) {
    std::uint64_t v;
    std::memcpy(&v, p + at, 8);
    if (v != same) break;
    at += 8;
  }
  while (at < n && p[at] == value) ++at;
  return at;
}

}  // namespace

void check_size(long long height, long long width) {
  if (height < 0 || width < 0)
    refuse_mask("a mask's size is negative: " + std::to_string(height) + " x " + std::to_string(width));
  if (height > 0xFFFFFFFFll || width > 0xFFFFFFFFll || (height > 0 && width > 0xFFFFFFFFll / height)) {
    refuse_mask("a mask of " + std::to_string(height) + " x " + std::to_string(width) +
                " is too large: 2^32 pixels are the most");
  }
}

void check_counts(const Rle& rle) {
  std::uint64_t sum = 0;
  for (std::uint32_t count : rle.counts) sum += count;
  if (sum != rle.pixels()) {
    refuse_mask("the counts add up to " + count_text(sum, "pixel") + ", the size " + std::to_string(rle.height) +
                " x " + std::to_string(rle.width) + " has " + std::to_string(rle.pixels()));
  }
}

std::uint64_t counts_from_text(std::string_view text, std::vector<std::uint32_t>& counts) {
  const std::size_t first = counts.size();
  counts.resize(first + text.size());  // a count takes a character at least
  std::uint32_t* const begin = counts.data() + first;
  std::uint32_t* out = begin;
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  const auto* const end = p + text.size();
  std::uint64_t sum = 0;
  while (p < end) {
    std::int64_t value = 0;
    int shift = 0;
    for (;;) {
      if (p == end) refuse_mask("the counts end in the middle of a number");
      const unsigned c = static_cast<unsigned>(*p++) - 48u;
      if (c > 63) refuse_mask("the counts hold a character that is none of theirs");
      if (shift > 30) refuse_mask("the counts hold a number beyond 32 bits");
      value |= static_cast<std::int64_t>(c & 0x1F) << shift;
      shift += 5;
      if (c & 0x20) continue;
      if (c & 0x10) value |= -(std::int64_t{1} << shift);
      break;
    }
    if (out - begin > 2) value += out[-2];
    if (value < 0 || value > 0xFFFFFFFFll) refuse_mask("the counts hold a run of " + std::to_string(value) + " pixels");
    *out++ = static_cast<std::uint32_t>(value);
    sum += static_cast<std::uint64_t>(value);
  }
  counts.resize(static_cast<std::size_t>(out - counts.data()));
  return sum;
}

Rle rle_from_text(std::string_view text, long long height, long long width) {
  check_size(height, width);
  Rle rle{static_cast<std::uint32_t>(height), static_cast<std::uint32_t>(width), {}};
  if (counts_from_text(text, rle.counts) != rle.pixels()) check_counts(rle);
  return rle;
}

std::string rle_to_text(const Rle& rle) {
  std::string text;
  text.reserve(rle.counts.size() * 2);
  add_text(rle, text);
  return text;
}

void add_text(const RunsView& mask, std::string& text) {
  for (std::size_t i = 0; i < mask.size; ++i) {
    std::int64_t value = mask.counts[i];
    if (i > 2) value -= mask.counts[i - 2];
    for (bool more = true; more;) {
      int c = static_cast<int>(value & 0x1F);
      value >>= 5;
      more = c & 0x10 ? value != -1 : value != 0;
      text.push_back(static_cast<char>((more ? c | 0x20 : c) + 48));
    }
  }
}

Rle rle_from_pixels(const std::uint8_t* pixels, std::uint32_t height, std::uint32_t width) {
  Rle rle{height, width, {}};
  const std::size_t n = rle.pixels();
  std::uint8_t value = 0;
  for (std::size_t at = 0; at < n || rle.counts.empty();) {
    const std::size_t end = run_end(pixels, at, n, value);
    rle.counts.push_back(static_cast<std::uint32_t>(end - at));
    at = end;
    if (at < n) value = pixels[at];
  }
  return rle;
}

void rle_to_pixels(const Rle& rle, std::uint8_t* zeroed) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < rle.counts.size(); ++i) {
    if (i & 1) std::memset(zeroed + at, 1, rle.counts[i]);
    at += rle.counts[i];
  }
}

Rle rle_from_box(const double* box, std::uint32_t height, std::uint32_t width) {
  const double left = box[0], top = box[1], right = left + box[2], low = top + box[3];
  const double ring[] = {left, top, left, low, right, low, right, top};
  Polygons polygon;
  polygon.add(ring, 8);
  return polygon.take(height, width);
}

Extent extent_of(const RunsView& mask) {
  const std::uint32_t h = mask.height;
  Extent out{0, mask.width, h, 0, 0};
  std::uint32_t at = 0, x = 0, column = 0;  // the column that the last run lies in, and where it begins
  for (std::size_t i = 1; i < mask.size; i += 2) {
    at += mask.counts[i - 1];
    const std::uint32_t n = mask.counts[i];
    if (n == 0) continue;
    // Most runs lie in the column behind the last one's: few need a division.
    if (at - column >= h) {
      if (at - column < 2 * std::uint64_t{h}) {
        ++x;
        column += h;
      } else {
        x = at / h;
        column = x * h;
      }
    }
    const std::uint32_t last = at + n - 1;
    out.left = std::min(out.left, x);
    if (last - column < h) {
      out.top = std::min(out.top, at - column);
      out.low = std::max(out.low, last - column + 1);
      out.right = std::max(out.right, x + 1);
    } else {
      out.top = 0;
      out.low = h;
      out.right = std::max(out.right, last / h + 1);
    }
    out.area += n;
    at += n;
  }
  return out.area ? out : Extent{};
}

std::array<double, 4> box_of(const Extent& e) {
  return {double(e.left), double(e.top), double(e.right - e.left), double(e.low - e.top)};
}

std::vector<Span> spans_of(const std::uint32_t* counts, std::size_t n) {
  std::vector<Span> spans;
  spans.reserve(n / 2);
  std::uint32_t at = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if ((i & 1) && counts[i]) {
      if (!spans.empty() && spans.back().end == at) spans.back().end += counts[i];
      else spans.push_back({at, at + counts[i]});
    }
    at += counts[i];
  }
  return spans;
}

Rle rle_from_spans(const std::vector<Span>& spans, std::uint32_t height, std::uint32_t width) {
  Rle rle{height, width, {}};
  rle.counts.reserve(2 * spans.size() + 1);
  std::uint32_t at = 0;
  for (const Span& span : spans) {
    rle.counts.push_back(span.begin - at);
    rle.counts.push_back(span.end - span.begin);
    at = span.end;
  }
  if (at < rle.pixels() || rle.counts.empty()) rle.counts.push_back(rle.pixels() - at);
  return rle;
}

Rle rle_merge(const std::vector<Rle>& masks, bool intersect) {
  if (masks.empty()) return {};
  if (masks.size() == 1) return masks[0];
  const Rle& first = masks[0];
  std::vector<Span> whole = spans_of(first.counts.data(), first.counts.size()), next;
  for (std::size_t i = 1; i < masks.size(); ++i) {
    const Rle& mask = masks[i];
    if (mask.height != first.height || mask.width != first.width) {
      refuse_mask("masks of different size cannot be merged: " + std::to_string(first.height) + " x " +
                  std::to_string(first.width) + " and " + std::to_string(mask.height) + " x " +
                  std::to_string(mask.width));
    }
    const std::vector<Span> other = spans_of(mask.counts.data(), mask.counts.size());
    next.clear();
    std::size_t a = 0, b = 0;
    if (intersect) {
      while (a < whole.size() && b < other.size()) {
        const std::uint32_t begin = std::max(whole[a].begin, other[b].begin),
                            end = std::min(whole[a].end, other[b].end);
        if (begin < end) next.push_back({begin, end});
        if (whole[a].end < other[b].end) ++a;
        else ++b;
      }
    } else {
      while (a < whole.size() || b < other.size()) {
        const bool mine = b == other.size() || (a < whole.size() && whole[a].begin < other[b].begin);
        const Span span = mine ? whole[a++] : other[b++];
        if (!next.empty() && span.begin <= next.back().end) next.back().end = std::max(next.back().end, span.end);
        else next.push_back(span);
      }
    }
    whole.swap(next);
  }
  return rle_from_spans(whole, first.height, first.width);
}

std::uint32_t common_pixels(const RunsView& a, const RunsView& b) {
  // Straight on the counts: a mask meets one or two others, so that anything prepared would cost more than it saves.
  const std::uint32_t *p = a.counts, *q = b.counts;
  const std::uint32_t* const p_end = p + a.size / 2 * 2;
  const std::uint32_t* const q_end = q + b.size / 2 * 2;
  if (p == p_end || q == q_end) return 0;
  std::uint32_t a_begin = p[0], a_end = a_begin + p[1], b_begin = q[0], b_end = b_begin + q[1], sum = 0;
  p += 2;
  q += 2;
  for (;;) {
    const std::uint32_t begin = std::max(a_begin, b_begin), end = std::min(a_end, b_end);
    sum += end > begin ? end - begin : 0;
    if (a_end < b_end) {
      if (p == p_end) return sum;
      a_begin = a_end + p[0];
      a_end = a_begin + p[1];
      p += 2;
    } else {
      if (q == q_end) return sum;
      b_begin = b_end + q[0];
      b_end = b_begin + q[1];
      q += 2;
    }
  }
}

}  // namespace steelyard
