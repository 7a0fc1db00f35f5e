// Run-length masks: see rle.hpp. No Python here.
#include "rle.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace steelyard {
namespace {

constexpr double kFarthest = 2e8;  // of a polygon's coordinate: five times it and differences stay in 32 bits
constexpr std::size_t kMostCrossings = std::size_t{1} << 27;  // of a polygon with columns: a gigabyte

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument(what); }

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

// a * b + c as pycocotools' own build rounds it. Compilers for 64-bit ARM fuse it into one rounding, those for x86-64 make
// two; about one polygon in a thousand differs by a pixel between the two, and here it is to be the neighbour's pixel.
inline double scaled(double a, double b, double c) {
#if defined(__aarch64__) || defined(_M_ARM64)
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

}  // namespace

void check_size(long long height, long long width) {
  if (height < 0 || width < 0) refuse("a mask's size is negative: " + std::to_string(height) + " x " + std::to_string(width));
  if (height > 0xFFFFFFFFll || width > 0xFFFFFFFFll || (height > 0 && width > 0xFFFFFFFFll / height)) {
    refuse("a mask of " + std::to_string(height) + " x " + std::to_string(width) + " is too large: 2^32 pixels are the most");
  }
}

void check_counts(const Rle& rle) {
  std::uint64_t sum = 0;
  for (std::uint32_t count : rle.counts) sum += count;
  if (sum != rle.pixels()) {
    refuse("the counts add up to " + std::to_string(sum) + " pixels, the size " + std::to_string(rle.height) + " x " +
           std::to_string(rle.width) + " has " + std::to_string(rle.pixels()));
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
      if (p == end) refuse("the counts end in the middle of a number");
      const unsigned c = static_cast<unsigned>(*p++) - 48u;
      if (c > 63) refuse("the counts hold a character that is none of theirs");
      if (shift > 30) refuse("the counts hold a number beyond 32 bits");
      value |= static_cast<std::int64_t>(c & 0x1F) << shift;
      shift += 5;
      if (c & 0x20) continue;
      if (c & 0x10) value |= -(std::int64_t{1} << shift);
      break;
    }
    if (out - begin > 2) value += out[-2];
    if (value < 0 || value > 0xFFFFFFFFll) refuse("the counts hold a run of " + std::to_string(value) + " pixels");
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
  for (std::size_t i = 0; i < rle.counts.size(); ++i) {
    std::int64_t value = rle.counts[i];
    if (i > 2) value -= rle.counts[i - 2];
    for (bool more = true; more;) {
      int c = static_cast<int>(value & 0x1F);
      value >>= 5;
      more = c & 0x10 ? value != -1 : value != 0;
      text.push_back(static_cast<char>((more ? c | 0x20 : c) + 48));
    }
  }
  return text;
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

void Polygons::add(const double* xy, std::size_t numbers) {
  if (numbers % 2) refuse("a polygon of " + std::to_string(numbers) + " numbers: x and y come in pairs");
  if (numbers < 6) refuse("a polygon of " + std::to_string(numbers / 2) + " points: it needs three");
  for (std::size_t i = 0; i < numbers; ++i) {
    if (!(std::fabs(xy[i]) <= kFarthest)) refuse("a polygon's coordinate is not finite, or beyond 2e8");
  }
  xy_.insert(xy_.end(), xy, xy + numbers);
  ends_.push_back(xy_.size());
}

Rle Polygons::take(std::uint32_t height, std::uint32_t width) {
  if (ends_.empty()) refuse("there is no polygon");
  Rle whole = one(xy_.data(), ends_[0] / 2, height, width);
  for (std::size_t i = 1; i < ends_.size(); ++i) {
    std::vector<Rle> both;
    both.push_back(std::move(whole));
    both.push_back(one(xy_.data() + ends_[i - 1], (ends_[i] - ends_[i - 1]) / 2, height, width));
    whole = rle_merge(both, false);
  }
  xy_.clear();
  ends_.clear();
  return whole;
}

Rle Polygons::one(const double* xy, std::size_t points, std::uint32_t height, std::uint32_t width) {
  const int last = static_cast<int>(std::min<std::uint32_t>(width, 0x7FFFFFFF)) - 1;
  x_.resize(points + 1);
  y_.resize(points + 1);
  int low = 0x7FFFFFFF, high = -0x7FFFFFFF;
  for (std::size_t i = 0; i < points; ++i) {
    x_[i] = static_cast<int>(scaled(5.0, xy[2 * i], .5));
    y_[i] = static_cast<int>(scaled(5.0, xy[2 * i + 1], .5));
    low = std::min(low, x_[i]);
    high = std::max(high, x_[i]);
  }
  x_[points] = x_[0];
  y_[points] = y_[0];
  // The columns whose middle (between fifths 2 and 3) lies between two places.
  auto first_column = [&](int a) { return a <= 2 ? 0 : (a + 2) / 5; };
  auto last_column = [&](int b) { return b < 3 ? -1 : std::min(last, (b - 3) / 5); };
  const int first = first_column(low), columns = last_column(high) - first + 1;
  toggles_.clear();
  if (columns > 0) {
    // How often each column is crossed: every edge crosses a range of them once. Then each has its place.
    start_.assign(static_cast<std::size_t>(columns) + 1, 0);
    std::size_t crossings = 0;
    for (std::size_t i = 0; i < points; ++i) {
      const int from = first_column(std::min(x_[i], x_[i + 1])), to = last_column(std::max(x_[i], x_[i + 1]));
      if (from > to) continue;
      ++start_[static_cast<std::size_t>(from - first)];
      --start_[static_cast<std::size_t>(to - first) + 1];
      crossings += static_cast<std::size_t>(to - from) + 1;
    }
    if (crossings > kMostCrossings) refuse("a polygon crosses more than 2^27 columns");
    std::uint32_t here = 0, before = 0;
    for (std::uint32_t& place : start_) {
      here += place;  // unsigned numbers come back from below 0 as they should
      place = before;
      before += here;
    }
    rows_.resize(crossings);
    for (std::size_t i = 0; i < points; ++i) cross(i, first_column(std::min(x_[i], x_[i + 1])),
                                                   last_column(std::max(x_[i], x_[i + 1])), first, height);
    toggles_.resize(crossings);
    std::uint32_t* out = toggles_.data();
    std::uint32_t* const none = out;
    std::uint32_t begin = 0, base = static_cast<std::uint32_t>(first) * height;
    auto toggle = [&](std::uint32_t place) {  // twice at one place is nothing
      if (out > none && out[-1] == place) --out;
      else *out++ = place;
    };
    for (int c = 0; c < columns; ++c, base += height) {
      const std::uint32_t end = start_[static_cast<std::size_t>(c)];  // it has moved to the next one's begin
      if (end - begin == 2) {  // most columns are crossed twice
        const std::uint32_t a = rows_[begin], b = rows_[begin + 1];
        if (a != b) {
          toggle(base + std::min(a, b));
          *out++ = base + std::max(a, b);
        }
      } else {
        std::sort(rows_.begin() + begin, rows_.begin() + end);
        for (std::uint32_t i = begin; i < end; ++i) toggle(base + rows_[i]);
      }
      begin = end;
    }
    toggles_.resize(static_cast<std::size_t>(out - none));
  }
  Rle rle{height, width, {}};
  const std::uint32_t all = rle.pixels();
  if (!toggles_.empty() && toggles_.back() == all) toggles_.pop_back();
  rle.counts.resize(toggles_.size() + 1);
  std::uint32_t before = 0;
  for (std::size_t i = 0; i < toggles_.size(); ++i) {
    rle.counts[i] = toggles_[i] - before;
    before = toggles_[i];
  }
  rle.counts.back() = all - before;
  return rle;
}

// Writes the row at which edge i crosses each of the columns.
void Polygons::cross(std::size_t i, int from, int to, int first, std::uint32_t height) {
  if (from > to) return;
  int xs = x_[i], xe = x_[i + 1], ys = y_[i], ye = y_[i + 1];
  const int dx = std::abs(xe - xs), dy = std::abs(ye - ys);
  auto put = [&](int column, int v) {  // a fifth becomes a row: the first whose middle is not above it
    const std::uint32_t row = v <= 2 ? 0 : (static_cast<std::uint32_t>(v) + 2) / 5;
    rows_[start_[static_cast<std::size_t>(column - first)]++] = std::min(row, height);
  };
  if (dx >= dy) {
    if (xs > xe) {
      std::swap(xs, xe);
      std::swap(ys, ye);
    }
    // The upper one of both fifths of the middle; the line falls or rises throughout, so its side is known.
    const double slope = static_cast<double>(ye - ys) / dx;
    const int upper = slope < 0 ? 3 : 2;
    for (int c = from; c <= to; ++c) put(c, static_cast<int>(scaled(slope, 5 * c + upper - xs, ys) + .5));
    return;
  }
  if (ys > ye) {
    std::swap(xs, xe);
    std::swap(ys, ye);
  }
  const double slope = static_cast<double>(xe - xs) / dy, steps = dy / static_cast<double>(xe - xs);
  const bool rising = xe > xs;
  auto beyond = [&](int t, int c) {
    const int u = static_cast<int>(scaled(slope, t, xs) + .5);
    return rising ? u > 5 * c + 2 : u <= 5 * c + 2;
  };
  for (int c = from; c <= to; ++c) {
    // The first step on the other side: guessed, then made sure of.
    int t = std::clamp(static_cast<int>((5 * c + 2.5 - xs) * steps), 1, dy);
    while (t > 1 && beyond(t - 1, c)) --t;
    while (t < dy && !beyond(t, c)) ++t;
    put(c, t - 1 + ys);
  }
}

Rle rle_from_box(const double* box, std::uint32_t height, std::uint32_t width) {
  const double left = box[0], top = box[1], right = left + box[2], low = top + box[3];
  const double ring[] = {left, top, left, low, right, low, right, top};
  Polygons polygon;
  polygon.add(ring, 8);
  return polygon.take(height, width);
}

Extent extent_of(const Runs& mask) {
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
      refuse("masks of different size cannot be merged: " + std::to_string(first.height) + " x " +
             std::to_string(first.width) + " and " + std::to_string(mask.height) + " x " + std::to_string(mask.width));
    }
    const std::vector<Span> other = spans_of(mask.counts.data(), mask.counts.size());
    next.clear();
    std::size_t a = 0, b = 0;
    if (intersect) {
      while (a < whole.size() && b < other.size()) {
        const std::uint32_t begin = std::max(whole[a].begin, other[b].begin), end = std::min(whole[a].end, other[b].end);
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

std::uint32_t common_pixels(const Runs& a, const Runs& b) {
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
