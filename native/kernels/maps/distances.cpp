// Distances: see distances.hpp.
#include "maps/distances.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace steelyard {
namespace {

constexpr double kFar = std::numeric_limits<double>::infinity();
constexpr std::size_t kReach = 6;  // places that are looked at along either axis of a slab

double squared(double value) { return value * value; }

// The lower envelope of parabolas along a line (Felzenszwalb and Huttenlocher 2012): out[q] = min f[i] + ((q - i) s)².
void envelope(const double* f, std::size_t n, double spacing, double* out, std::vector<std::size_t>& at,
              std::vector<double>& from) {
  at.resize(n);
  from.resize(n + 1);
  const double square = spacing * spacing;
  std::size_t top = 0;
  bool any = false;
  for (std::size_t q = 0; q < n; ++q) {
    if (f[q] == kFar) continue;
    double start = -kFar;
    while (any) {
      const double i = static_cast<double>(at[top]), x = static_cast<double>(q);
      start = ((f[q] - f[at[top]]) / square + (x * x - i * i)) / (2 * (x - i));
      if (start > from[top]) break;
      if (top == 0) {
        any = false;
        start = -kFar;
      } else {
        --top;
      }
    }
    top = any ? top + 1 : 0;
    at[top] = q;
    from[top] = any ? start : -kFar;
    any = true;
  }
  if (!any) {
    std::fill(out, out + n, kFar);
    return;
  }
  std::size_t k = 0;
  for (std::size_t q = 0; q < n; ++q) {
    while (k < top && from[k + 1] < static_cast<double>(q)) ++k;
    const double step = (static_cast<double>(q) - static_cast<double>(at[k])) * spacing;
    out[q] = f[at[k]] + step * step;
  }
}

// Along the first axis: places to the nearest one that is set, below and above; the axis' length where there is none.
std::vector<std::int32_t> steps_of(const std::uint8_t* set, const Shape3& shape) {
  const std::size_t plane = shape[1] * shape[2];
  const std::int32_t none = static_cast<std::int32_t>(shape[0]);
  std::vector<std::int32_t> steps(shape[0] * plane);
  for (std::size_t z = 0; z < shape[0]; ++z) {
    std::int32_t* here = steps.data() + z * plane;
    const std::uint8_t* mine = set + z * plane;
    for (std::size_t i = 0; i < plane; ++i) {
      const std::int32_t before = z ? std::min(here[i - plane] + 1, none) : none;
      here[i] = mine[i] ? 0 : before;
    }
  }
  for (std::size_t z = shape[0]; z-- > 1;) {
    std::int32_t* here = steps.data() + (z - 1) * plane;
    for (std::size_t i = 0; i < plane; ++i) here[i] = std::min(here[i], here[i + plane] + 1);
  }
  return steps;
}

// Whether squares of distances and their sums have no more bits than a double holds, and the places where parabolas
// meet few enough to tell them from whole numbers.
bool has_exact_squares(const Shape3& shape, const Spacing3& spacing) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double parts = spacing[axis] * 256;
    if (shape[axis] > 4096 || parts > 4096 || parts != std::floor(parts)) return false;
  }
  return true;
}

}  // namespace

Nearest::Nearest(const std::uint8_t* set, const Shape3& shape, const Spacing3& spacing)
    : shape_(shape),
      spacing_(spacing),
      steps_(steps_of(set, shape)),
      squares_(shape[0] + 1, kFar),
      exact_(has_exact_squares(shape, spacing)),
      held_(shape[0]),
      slab_(shape[1] * shape[2]),
      done_(shape[1]),
      column_(shape[1]),
      result_(std::max(shape[1], shape[2])) {
  for (std::size_t step = 0; step < shape[0]; ++step) squares_[step] = squared(static_cast<double>(step) * spacing[0]);
}

// The distance, or -1 where something beyond what is looked at may be nearer.
double Nearest::look_around(std::size_t z, std::size_t y, std::size_t x) const {
  const std::size_t n1 = shape_[1], n2 = shape_[2];
  const std::int32_t* slab = steps_.data() + z * n1 * n2;
  double best = kFar;
  auto look = [&](std::size_t j, std::size_t i, double aside) {
    best = std::min(best, squares_[static_cast<std::size_t>(slab[j * n2 + i])] + aside);
  };
  for (std::size_t across = 0; across <= kReach; ++across) {
    const double base = squared(static_cast<double>(across) * spacing_[2]);
    if (base >= best) break;
    const bool left = across && across <= x, right = x + across < n2;
    for (std::size_t down = 0; down <= kReach; ++down) {
      const double aside = base + squared(static_cast<double>(down) * spacing_[1]);
      if (aside >= best) break;
      if (down <= y) {
        if (left) look(y - down, x - across, aside);
        if (right) look(y - down, x + across, aside);
      }
      if (down && y + down < n1) {
        if (left) look(y + down, x - across, aside);
        if (right) look(y + down, x + across, aside);
      }
    }
  }
  const double beyond = squared(static_cast<double>(kReach + 1) * std::min(spacing_[1], spacing_[2]));
  return best <= beyond ? best : -1;
}

void Nearest::hold(std::size_t z) {
  const std::size_t n1 = shape_[1], n2 = shape_[2];
  const std::int32_t* steps = steps_.data() + z * n1 * n2;
  for (std::size_t x = 0; x < n2; ++x) {
    for (std::size_t y = 0; y < n1; ++y) column_[y] = squares_[static_cast<std::size_t>(steps[y * n2 + x])];
    envelope(column_.data(), n1, spacing_[1], result_.data(), top_, from_);
    for (std::size_t y = 0; y < n1; ++y) slab_[y * n2 + x] = result_[y];
  }
  std::fill(done_.begin(), done_.end(), std::uint8_t{0});
  held_ = z;
}

const double* Nearest::row(std::size_t z, std::size_t y) {
  if (held_ != z) hold(z);
  double* values = slab_.data() + y * shape_[2];
  if (!done_[y]) {
    envelope(values, shape_[2], spacing_[2], result_.data(), top_, from_);
    std::copy_n(result_.data(), shape_[2], values);
    done_[y] = 1;
  }
  return values;
}

double Nearest::at(std::size_t z, std::size_t y, std::size_t x) {
  if (exact_ && held_ != z) {
    const double near = look_around(z, y, x);
    if (near >= 0) return near;
  }
  return row(z, y)[x];
}

void squared_distances(const std::uint8_t* set, const Shape3& shape, const Spacing3& spacing, double* out) {
  Nearest nearest(set, shape, spacing);
  for (std::size_t z = 0; z < shape[0]; ++z) {
    for (std::size_t y = 0; y < shape[1]; ++y) {
      std::copy_n(nearest.row(z, y), shape[2], out + (z * shape[1] + y) * shape[2]);
    }
  }
}

}  // namespace steelyard
