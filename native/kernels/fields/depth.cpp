#include "fields/depth.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace steelyard {
namespace {

constexpr std::size_t kDepthBlock = 1024;

// The natural logarithm of a normal positive number, off by less than 1e-15: fdlibm's polynomial, without branches.
inline double depth_log(double x) {
  constexpr std::uint64_t kRoot = 0x3fe6a09e667f3bcd;  // sqrt(1/2)
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t raised = (bits - kRoot + (std::uint64_t{1024} << 52)) >> 52;  // the exponent + 1024
  const double k = std::bit_cast<double>(raised + 0x4330000000000000u) - 4503599627371520.0;
  const double f = std::bit_cast<double>(bits - ((raised - 1024) << 52)) - 1.0;
  const double s = f / (2.0 + f), z = s * s, w = z * z;
  const double odd = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
  const double even =
      z * (6.666666666666735130e-01 +
           w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
  const double half = 0.5 * f * f;
  return k * 6.93147180369123816490e-01 - ((half - (s * (half + (odd + even)) + k * 1.90821492927058770002e-10)) - f);
}

// Four lanes of one sum.
struct DepthLanes {
  double lane[4] = {0, 0, 0, 0};
  void add(const double* values, std::size_t n) {
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4) {
      for (std::size_t j = 0; j < 4; ++j) lane[j] += values[i + j];
    }
    for (std::size_t j = 0; i + j < n; ++j) lane[j] += values[i + j];
  }
  double total() const { return (lane[0] + lane[2]) + (lane[1] + lane[3]); }
};

}  // namespace

template <typename T>
std::size_t pack_depth(const T* truth, const T* prediction, const std::uint8_t* mask, const DepthValid& valid,
                       double* g, double* x, std::size_t& bad, std::size_t& first) {
  std::size_t n = 0;
  bad = 0, first = 0;
  const std::size_t count = valid.right - valid.left;
  constexpr double kMost = std::numeric_limits<double>::max();
  for (std::size_t row = valid.top; row < valid.bottom; ++row) {
    const std::size_t start = row * valid.width + valid.left, before = n;
    const T *t = truth + start, *p = prediction + start;
    for (std::size_t i = 0; i < count; ++i) {
      const double v = static_cast<double>(t[i]);
      const bool inside = valid.closed ? (v >= valid.low) & (v <= valid.high) : (v > valid.low) & (v < valid.high);
      g[n] = v, x[n] = static_cast<double>(p[i]);
      n += inside & (v <= kMost) & (v >= -kMost) & (mask == nullptr || mask[start + i] != 0);
    }
    std::size_t wrong = 0;
    for (std::size_t i = before; i < n; ++i) wrong += !(std::fabs(x[i]) <= kMost);
    if (wrong && !bad) {  // the place of the first, by the truth that made it valid
      std::size_t at = before;
      for (std::size_t i = 0; i < count; ++i) {
        const double v = static_cast<double>(t[i]);
        const bool inside = valid.closed ? (v >= valid.low) & (v <= valid.high) : (v > valid.low) & (v < valid.high);
        if (!(inside & (v <= kMost) & (v >= -kMost) & (mask == nullptr || mask[start + i] != 0))) continue;
        if (!(std::fabs(x[at++]) <= kMost)) {
          first = start + i;
          break;
        }
      }
    }
    bad += wrong;
  }
  return n;
}

template std::size_t pack_depth<float>(const float*, const float*, const std::uint8_t*, const DepthValid&, double*,
                                       double*, std::size_t&, std::size_t&);
template std::size_t pack_depth<double>(const double*, const double*, const std::uint8_t*, const DepthValid&, double*,
                                        double*, std::size_t&, std::size_t&);

void fit_depth(View<double> x, View<double> y, bool inverse, bool positive, double out[6]) {
  double a[kDepthBlock], b[kDepthBlock], work[kDepthBlock];
  const auto each_block = [&](auto&& use) {
    for (std::size_t start = 0; start < x.size(); start += kDepthBlock) {
      const std::size_t end = std::min(x.size(), start + kDepthBlock);
      std::size_t n = 0;
      for (std::size_t i = start; i < end; ++i) {
        a[n] = x[i], b[n] = inverse ? 1.0 / y[i] : y[i];
        n += !positive | (x[i] > 0);
      }
      use(n);
    }
  };
  DepthLanes sx, sy, xx, xy, yy;
  std::size_t count = 0;
  each_block([&](std::size_t n) { count += n, sx.add(a, n), sy.add(b, n); });
  const double mx = count ? sx.total() / static_cast<double>(count) : 0.0;
  const double my = count ? sy.total() / static_cast<double>(count) : 0.0;
  each_block([&](std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) a[i] -= mx, b[i] -= my;
    for (std::size_t i = 0; i < n; ++i) work[i] = a[i] * a[i];
    xx.add(work, n);
    for (std::size_t i = 0; i < n; ++i) work[i] = a[i] * b[i];
    xy.add(work, n);
    for (std::size_t i = 0; i < n; ++i) work[i] = b[i] * b[i];
    yy.add(work, n);
  });
  out[0] = static_cast<double>(count), out[1] = mx, out[2] = my;
  out[3] = xx.total(), out[4] = xy.total(), out[5] = yy.total();
}

void sum_depth(View<double> g, View<double> x, const DepthChange& change, View<double> thresholds, double* sums,
               double* moments, double* below) {
  double p[kDepthBlock], v[kDepthBlock], w[kDepthBlock], q[kDepthBlock], r[kDepthBlock], near[kDepthBlock];
  DepthLanes lanes[11];
  std::size_t low = 0, high = 0, dark = 0, logs = 0;
  double mean = 0, square = 0;
  std::fill(below, below + thresholds.size(), 0.0);
  for (std::size_t start = 0; start < g.size(); start += kDepthBlock) {
    const std::size_t n = std::min(kDepthBlock, g.size() - start);
    const double *t = g.data() + start, *in = x.data() + start;
    if (change.invert) {
      constexpr double kFar = std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < n; ++i) p[i] = change.scale * (in[i] > 0 ? 1.0 / in[i] : kFar) + change.shift;
    } else {
      for (std::size_t i = 0; i < n; ++i) p[i] = change.scale * in[i] + change.shift;
    }
    if (change.disparity) {
      for (std::size_t i = 0; i < n; ++i) p[i] = 1.0 / (p[i] > change.floor ? p[i] : change.floor);
    }
    for (std::size_t i = 0; i < n; ++i) low += p[i]<change.low, high += p[i]> change.high;
    for (std::size_t i = 0; i < n; ++i) p[i] = p[i] < change.low ? change.low : p[i];
    for (std::size_t i = 0; i < n; ++i) p[i] = p[i] > change.high ? change.high : p[i];
    for (std::size_t i = 0; i < n; ++i) v[i] = p[i] - t[i];
    for (std::size_t i = 0; i < n; ++i) w[i] = std::fabs(v[i]);
    lanes[0].add(w, n);
    for (std::size_t i = 0; i < n; ++i) near[i] = 1.0 / t[i];
    for (std::size_t i = 0; i < n; ++i) w[i] = w[i] * near[i];
    lanes[1].add(w, n);
    for (std::size_t i = 0; i < n; ++i) q[i] = w[i] * std::fabs(v[i]);
    lanes[2].add(q, n);
    for (std::size_t i = 0; i < n; ++i) w[i] = w[i] * w[i];
    lanes[3].add(w, n);
    for (std::size_t i = 0; i < n; ++i) v[i] = v[i] * v[i];
    lanes[4].add(v, n);
    for (std::size_t k = 0; k < thresholds.size(); ++k) {
      std::size_t hits = 0;
      const double most = thresholds[k];
      for (std::size_t i = 0; i < n; ++i) hits += (p[i] < most * t[i]) & (t[i] < most * p[i]);
      below[k] += static_cast<double>(hits);
    }
    double least = 1.0, most = 1.0;
    for (std::size_t i = 0; i < n; ++i) dark += !(p[i] > 0);
    if (dark) continue;
    for (std::size_t i = 0; i < n; ++i) r[i] = p[i] / t[i];
    for (std::size_t i = 0; i < n; ++i) least = r[i] < least ? r[i] : least, most = r[i] > most ? r[i] : most;
    const bool plain = least > 1e-290 && most < 1e290;
    if (plain) {
      for (std::size_t i = 0; i < n; ++i) q[i] = depth_log(r[i]);
    } else {
      for (std::size_t i = 0; i < n; ++i) q[i] = std::log(p[i]) - std::log(t[i]);
    }
    DepthLanes own, spread;
    own.add(q, n);
    lanes[5].add(q, n);
    const double middle = own.total() / static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i) w[i] = std::fabs(q[i]);
    lanes[6].add(w, n);
    for (std::size_t i = 0; i < n; ++i) w[i] = q[i] * q[i];
    lanes[7].add(w, n);
    for (std::size_t i = 0; i < n; ++i) w[i] = (q[i] - middle) * (q[i] - middle);
    spread.add(w, n);
    const double both = static_cast<double>(logs + n), step = middle - mean;
    square += spread.total() + step * step * static_cast<double>(logs) * (static_cast<double>(n) / both);
    mean += step * (static_cast<double>(n) / both);
    logs += n;
    for (std::size_t i = 0; i < n; ++i) w[i] = 1000.0 * std::fabs(1.0 / p[i] - near[i]);
    lanes[8].add(w, n);
    for (std::size_t i = 0; i < n; ++i) w[i] = w[i] * w[i];
    lanes[9].add(w, n);
  }
  const bool any = dark == 0;
  sums[0] = static_cast<double>(g.size());
  for (std::size_t k = 0; k < 5; ++k) sums[1 + k] = lanes[k].total();
  sums[6] = any ? static_cast<double>(logs) : 0.0;
  for (std::size_t k = 5; k < 10; ++k) sums[2 + k] = any ? lanes[k].total() : 0.0;
  sums[12] = static_cast<double>(low), sums[13] = static_cast<double>(high);
  moments[0] = any ? mean : 0.0, moments[1] = any ? square : 0.0;
}

void count_depth_edges(const double* truth, const double* prediction, const std::uint8_t* valid, std::size_t height,
                       std::size_t width, View<double> ratios, std::int64_t* counts) {
  const std::size_t steps = ratios.size(), places = steps + 1;
  std::fill(counts, counts + 12 * places, std::int64_t{0});
  if (!steps) return;
  const auto exceeded = [&](double a, double b) {  // how many ratios a / b is above
    std::size_t k = 0;
    while (k < steps && a > ratios[k] * b) ++k;
    return k;
  };
  const auto look = [&](std::size_t here, std::size_t next, std::size_t forward, std::size_t backward) {
    if (valid && !(valid[here] && valid[next])) return;
    const double a = truth[here], b = truth[next], c = prediction[here], d = prediction[next], least = ratios[0];
    const bool first = (a > least * b) | (c > least * d), second = (b > least * a) | (d > least * c);
    if (first) {
      const std::size_t g = exceeded(a, b), p = exceeded(c, d);
      ++counts[(forward * 3 + 0) * places + p], ++counts[(forward * 3 + 1) * places + g];
      ++counts[(forward * 3 + 2) * places + std::min(g, p)];
    }
    if (second) {
      const std::size_t g = exceeded(b, a), p = exceeded(d, c);
      ++counts[(backward * 3 + 0) * places + p], ++counts[(backward * 3 + 1) * places + g];
      ++counts[(backward * 3 + 2) * places + std::min(g, p)];
    }
  };
  for (std::size_t row = 0; row < height; ++row) {
    const std::size_t start = row * width;
    for (std::size_t i = 0; i + 1 < width; ++i) look(start + i, start + i + 1, 0, 2);
    if (row + 1 == height) break;
    for (std::size_t i = 0; i < width; ++i) look(start + i, start + i + width, 1, 3);
  }
}

}  // namespace steelyard
