// The mask of a polygon: see rle.hpp.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "masks/rle.hpp"
#include "support/count_text.hpp"

namespace steelyard {
namespace {

constexpr double kFarthest = 2e8;  // of a polygon's coordinate: five times it and differences stay in 32 bits
constexpr std::size_t kMostCrossings = std::size_t{1} << 27;  // of a polygon with columns: a gigabyte

[[noreturn]] void refuse_polygon(const std::string& what) { throw std::invalid_argument(what); }

// a * b + c as pycocotools' own build rounds it. Compilers for 64-bit ARM fuse it into one rounding, those for x86-64
// make two; about one polygon in a thousand differs by a pixel between the two, and here it is to be the neighbour's
// pixel.
inline double scaled(double a, double b, double c) {
#if defined(__aarch64__) || defined(_M_ARM64)
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

}  // namespace

void Polygons::add(const double* xy, std::size_t numbers) {
  if (numbers % 2) refuse_polygon("a polygon of " + count_text(numbers, "number") + ": x and y come in pairs");
  if (numbers < 6) refuse_polygon("a polygon of " + count_text(numbers / 2, "point") + ": it needs three");
  for (std::size_t i = 0; i < numbers; ++i) {
    if (!(std::fabs(xy[i]) <= kFarthest)) refuse_polygon("a polygon's coordinate is not finite, or beyond 2e8");
  }
  xy_.insert(xy_.end(), xy, xy + numbers);
  ends_.push_back(xy_.size());
}

Rle Polygons::take(std::uint32_t height, std::uint32_t width) {
  if (ends_.empty()) refuse_polygon("there is no polygon");
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
    if (crossings > kMostCrossings) refuse_polygon("a polygon crosses more than 2^27 columns");
    std::uint32_t here = 0, before = 0;
    for (std::uint32_t& place : start_) {
      here += place;  // unsigned numbers come back from below 0 as they should
      place = before;
      before += here;
    }
    rows_.resize(crossings);
    for (std::size_t i = 0; i < points; ++i)
      cross(i, first_column(std::min(x_[i], x_[i + 1])), last_column(std::max(x_[i], x_[i + 1])), first, height);
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
      if (end - begin == 2) {                                         // most columns are crossed twice
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

}  // namespace steelyard
