#include "fields/depth.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

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

namespace {

// Depths as edges are found in them: from 1e-6 to 1e30; nan is the least.
template <typename T>
void clean_row(const T* values, std::size_t n, double* out) {
  for (std::size_t i = 0; i < n; ++i) {
    const double v = static_cast<double>(values[i]);
    out[i] = v >= 1e-6 ? (v < 1e30 ? v : 1e30) : 1e-6;
  }
}

// Rows of truth and prediction, two values of each pixel's side by side: `t`, `p` here, and its neighbour's.
struct EdgePairs {
  const double *truth, *prediction, *next_truth, *next_prediction;
  const std::uint8_t *valid, *next_valid;  // both may be null
};

class EdgeCounter {
 public:
  EdgeCounter(View<double> ratios, std::size_t width, std::int64_t* counts)
      : ratios_(ratios), places_(ratios.size() + 1), chosen_(width), counts_(counts) {}

  // Counts the edges of `n` pairs in two directions, which are opposite to each other.
  void add(const EdgePairs& pairs, std::size_t n, std::size_t forward, std::size_t backward) {
    const double least = ratios_[0];
    const double *a = pairs.truth, *b = pairs.next_truth, *c = pairs.prediction, *d = pairs.next_prediction;
    std::size_t m = 0;
    for (std::size_t i = 0; i < n; ++i) {
      chosen_[m] = static_cast<std::uint32_t>(i);
      m += (a[i] > least * b[i]) | (b[i] > least * a[i]) | (c[i] > least * d[i]) | (d[i] > least * c[i]);
    }
    for (std::size_t k = 0; k < m; ++k) {
      const std::size_t i = chosen_[k];
      if (pairs.valid && !(pairs.valid[i] && pairs.next_valid[i])) continue;
      if ((a[i] > least * b[i]) | (c[i] > least * d[i])) count(a[i], b[i], c[i], d[i], forward);
      if ((b[i] > least * a[i]) | (d[i] > least * c[i])) count(b[i], a[i], d[i], c[i], backward);
    }
  }

 private:
  void count(double a, double b, double c, double d, std::size_t direction) {
    const std::size_t g = exceeded(a, b), p = exceeded(c, d);
    std::int64_t* out = counts_ + direction * 3 * places_;
    ++out[p], ++out[places_ + g], ++out[2 * places_ + std::min(g, p)];
  }
  std::size_t exceeded(double a, double b) const {  // how many ratios a / b is above
    std::size_t k = 0;
    while (k < ratios_.size() && a > ratios_[k] * b) ++k;
    return k;
  }

  View<double> ratios_;
  std::size_t places_;
  std::vector<std::uint32_t> chosen_;
  std::int64_t* counts_;
};

}  // namespace

template <typename T>
void count_depth_edges(const T* truth, const T* prediction, const std::uint8_t* valid, std::size_t height,
                       std::size_t width, View<double> ratios, std::int64_t* counts) {
  std::fill(counts, counts + 12 * (ratios.size() + 1), std::int64_t{0});
  if (!ratios.size() || !height || !width) return;
  EdgeCounter counter(ratios, width, counts);
  std::vector<double> rows(4 * width);
  double *t = rows.data(), *p = t + width, *next_t = p + width, *next_p = next_t + width;
  clean_row(truth, width, t), clean_row(prediction, width, p);
  for (std::size_t row = 0; row < height; ++row) {
    const std::uint8_t* here = valid ? valid + row * width : nullptr;
    counter.add({t, p, t + 1, p + 1, here, here ? here + 1 : nullptr}, width - 1, 0, 2);
    if (row + 1 == height) break;
    clean_row(truth + (row + 1) * width, width, next_t), clean_row(prediction + (row + 1) * width, width, next_p);
    counter.add({t, p, next_t, next_p, here, here ? here + width : nullptr}, width, 1, 3);
    std::swap(t, next_t), std::swap(p, next_p);
  }
}

template void count_depth_edges<float>(const float*, const float*, const std::uint8_t*, std::size_t, std::size_t,
                                       View<double>, std::int64_t*);
template void count_depth_edges<double>(const double*, const double*, const std::uint8_t*, std::size_t, std::size_t,
                                        View<double>, std::int64_t*);

}  // namespace steelyard
