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

int ceil_div(int a, int b) { return a >= 0 ? (a + b - 1) / b : -((-a) / b); }
int floor_div(int a, int b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

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

Rle rle_from_text(std::string_view text, long long height, long long width) {
  check_size(height, width);
  Rle rle{static_cast<std::uint32_t>(height), static_cast<std::uint32_t>(width), {}};
  auto& counts = rle.counts;
  counts.reserve(text.size() * 2 / 3 + 4);
  const char* p = text.data();
  const char* const end = p + text.size();
  std::uint64_t sum = 0;
  while (p < end) {
    std::int64_t value = 0;
    int shift = 0;
    for (;;) {
      if (p == end) refuse("the counts end in the middle of a number");
      const int c = static_cast<unsigned char>(*p++) - 48;
      if (c < 0 || c > 63) refuse("the counts hold a character that is none of theirs");
      if (shift > 30) refuse("the counts hold a number beyond 32 bits");
      value |= static_cast<std::int64_t>(c & 0x1F) << shift;
      shift += 5;
      if (c & 0x20) continue;
      if (c & 0x10) value |= -(std::int64_t{1} << shift);
      break;
    }
    if (counts.size() > 2) value += counts[counts.size() - 2];
    if (value < 0 || value > 0xFFFFFFFFll) refuse("the counts hold a run of " + std::to_string(value) + " pixels");
    counts.push_back(static_cast<std::uint32_t>(value));
    sum += static_cast<std::uint64_t>(value);
  }
  if (sum != rle.pixels()) check_counts(rle);
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
  const int h = static_cast<int>(std::min<std::uint32_t>(height, 0x7FFFFFFF));
  const int last = static_cast<int>(std::min<std::uint32_t>(width, 0x7FFFFFFF)) - 1;
  x_.resize(points + 1);
  y_.resize(points + 1);
  for (std::size_t i = 0; i < points; ++i) {
    x_[i] = static_cast<int>(scaled(5.0, xy[2 * i], .5));
    y_[i] = static_cast<int>(scaled(5.0, xy[2 * i + 1], .5));
  }
  x_[points] = x_[0];
  y_[points] = y_[0];
  column_.clear();
  row_.clear();
  auto cross = [&](int column, int v) {
    column_.push_back(static_cast<std::uint32_t>(column));
    row_.push_back(static_cast<std::uint32_t>(std::clamp(ceil_div(v - 2, 5), 0, h)));
  };
  for (std::size_t i = 0; i < points; ++i) {
    int xs = x_[i], xe = x_[i + 1], ys = y_[i], ye = y_[i + 1];
    const int dx = std::abs(xe - xs), dy = std::abs(ye - ys);
    // The columns whose middle (between fifths 2 and 3) lies between both ends.
    const int from = std::max(0, ceil_div(std::min(xs, xe) - 2, 5));
    const int to = std::min(last, floor_div(std::max(xs, xe) - 3, 5));
    if (from > to) continue;
    if (column_.size() + static_cast<std::size_t>(to - from) > kMostCrossings) {
      refuse("a polygon crosses more than 2^27 columns");
    }
    if (dx >= dy) {
      if (xs > xe) {
        std::swap(xs, xe);
        std::swap(ys, ye);
      }
      const double slope = static_cast<double>(ye - ys) / dx;
      for (int c = from; c <= to; ++c) {
        const int t = 5 * c + 2 - xs;
        const int a = static_cast<int>(scaled(slope, t, ys) + .5);
        const int b = static_cast<int>(scaled(slope, t + 1, ys) + .5);
        cross(c, std::min(a, b));
      }
    } else {
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
        cross(c, t - 1 + ys);
      }
    }
  }
  // By column, then by row: most columns are crossed twice.
  toggles_.clear();
  const std::size_t n = column_.size();
  if (n) {
    const auto [low, high] = std::minmax_element(column_.begin(), column_.end());
    const std::uint32_t first = *low;
    start_.assign(*high - first + 2, 0);
    for (std::uint32_t c : column_) ++start_[c - first + 1];
    for (std::size_t c = 1; c < start_.size(); ++c) start_[c] += start_[c - 1];
    sorted_.resize(n);
    for (std::size_t i = 0; i < n; ++i) sorted_[start_[column_[i] - first]++] = row_[i];
    std::uint32_t begin = 0;
    for (std::size_t c = 0; c + 1 < start_.size(); ++c) {
      const std::uint32_t end = start_[c];  // it has moved to the next one's begin
      for (std::uint32_t i = begin + 1; i < end; ++i) {
        const std::uint32_t row = sorted_[i];
        std::uint32_t j = i;
        for (; j > begin && sorted_[j - 1] > row; --j) sorted_[j] = sorted_[j - 1];
        sorted_[j] = row;
      }
      const std::uint32_t base = (first + static_cast<std::uint32_t>(c)) * height;
      for (std::uint32_t i = begin; i < end; ++i) {
        const std::uint32_t place = base + sorted_[i];
        if (!toggles_.empty() && toggles_.back() == place) toggles_.pop_back();
        else toggles_.push_back(place);
      }
      begin = end;
    }
  }
  Rle rle{height, width, {}};
  const std::uint32_t all = rle.pixels();
  if (!toggles_.empty() && toggles_.back() == all) toggles_.pop_back();
  rle.counts.reserve(toggles_.size() + 1);
  std::uint32_t before = 0;
  for (std::uint32_t place : toggles_) {
    rle.counts.push_back(place - before);
    before = place;
  }
  rle.counts.push_back(all - before);
  return rle;
}

Rle rle_from_box(const double* box, std::uint32_t height, std::uint32_t width) {
  const double left = box[0], top = box[1], right = left + box[2], low = top + box[3];
  const double ring[] = {left, top, left, low, right, low, right, top};
  Polygons polygon;
  polygon.add(ring, 8);
  return polygon.take(height, width);
}

std::uint32_t rle_area(const Rle& rle) {
  std::uint32_t area = 0;
  for (std::size_t i = 1; i < rle.counts.size(); i += 2) area += rle.counts[i];
  return area;
}

std::array<double, 4> rle_box(const Rle& rle) {
  const std::uint32_t h = rle.height;
  std::uint32_t left = rle.width, top = h, right = 0, low = 0, at = 0;
  bool any = false;
  for (std::size_t i = 0; i < rle.counts.size(); ++i) {
    const std::uint32_t n = rle.counts[i];
    if ((i & 1) && n) {
      const std::uint32_t x0 = at / h, x1 = (at + n - 1) / h;
      left = std::min(left, x0);
      right = std::max(right, x1);
      top = std::min(top, x0 < x1 ? 0 : at - x0 * h);
      low = std::max(low, x0 < x1 ? h - 1 : at + n - 1 - x1 * h);
      any = true;
    }
    at += n;
  }
  if (!any) return {0, 0, 0, 0};
  return {double(left), double(top), double(right - left + 1), double(low - top + 1)};
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

std::uint32_t common_pixels(const Span* a, std::size_t na, const Span* b, std::size_t nb) {
  if (na == 0 || nb == 0) return 0;
  const Span *a_end = a + na, *b_end = b + nb;
  // What lies before the other's first run is passed over at once.
  a = std::partition_point(a, a_end, [&](const Span& s) { return s.end <= b->begin; });
  if (a == a_end) return 0;
  b = std::partition_point(b, b_end, [&](const Span& s) { return s.end <= a->begin; });
  std::uint32_t sum = 0;
  while (a < a_end && b < b_end) {
    const std::uint32_t begin = std::max(a->begin, b->begin), end = std::min(a->end, b->end);
    sum += end > begin ? end - begin : 0;
    const bool step = a->end < b->end;
    a += step;
    b += !step;
  }
  return sum;
}

Rle rle_boundary(const Rle& rle, std::uint32_t reach) {
  const std::array<double, 4> box = rle_box(rle);
  const std::size_t cols = static_cast<std::size_t>(box[2]), rows = static_cast<std::size_t>(box[3]);
  if (cols == 0) return rle;
  const std::uint32_t left = static_cast<std::uint32_t>(box[0]), top = static_cast<std::uint32_t>(box[1]), h = rle.height;
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
