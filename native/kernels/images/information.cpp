// Visual information fidelity: see information.hpp.
#include "images/information.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "wide/wide.hpp"

namespace steelyard {
namespace {

constexpr std::size_t kInformationPlanes = 5, kInformationColumns = 16 * kInformationLanes;

struct Plane {
  std::size_t height, width;
  std::vector<double> values;
};

// A Gaussian window whose deviation is a fifth of its size; it adds up to 1.
std::vector<double> window_of(std::size_t size) {
  std::vector<double> weights(size);
  const double deviation = static_cast<double>(size) / 5, half = static_cast<double>(size / 2);
  double sum = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const double at = static_cast<double>(i) - half;
    weights[i] = std::exp(-(at * at) / (2 * deviation * deviation));
    sum += weights[i];
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

// Filtered, and of that every second row and column.
Plane half_of(const Plane& plane, const std::vector<double>& weights) {
  const std::size_t n = weights.size(), columns = plane.width - n + 1;
  Plane half{(plane.height - n + 2) / 2, (columns + 1) / 2, {}};
  half.values.resize(half.height * half.width);
  std::vector<const double*> rows(n);
  std::vector<double> between(plane.width), out(columns);
  const FilterRow job{rows.data(), weights.data(), n, 1, plane.width, between.data(), out.data()};
  for (std::size_t i = 0; i < half.height; ++i) {
    for (std::size_t k = 0; k < n; ++k) rows[k] = plane.values.data() + (2 * i + k) * plane.width;
    wide_kernels().filter_row(job);
    for (std::size_t j = 0; j < half.width; ++j) half.values[i * half.width + j] = out[2 * j];
  }
  return half;
}

void add_level(const Plane& x, const Plane& y, const std::vector<double>& weights, double eps, Information& sum) {
  const std::size_t n = weights.size(), all = x.width - n + 1;
  const std::size_t most = std::min(all, kInformationColumns), line = kInformationPlanes * (most + n - 1);
  std::vector<double> ring(n * line), between(line), filtered(kInformationPlanes * most);
  std::vector<const double*> rows(n);
  for (std::size_t first = 0; first < all; first += most) {
    const std::size_t columns = std::min(most, all - first), wide = columns + n - 1;
    const FilterRow job{rows.data(), weights.data(), n, kInformationPlanes, wide, between.data(), filtered.data()};
    InformationRow found{filtered.data(), columns, eps, {}, {}};
    for (std::size_t i = 0; i < x.height; ++i) {
      const double *a = x.values.data() + i * x.width + first, *b = y.values.data() + i * x.width + first;
      double* to = ring.data() + i % n * line;
      for (std::size_t j = 0; j < wide; ++j) {
        to[j] = a[j];
        to[j + wide] = b[j];
        to[j + 2 * wide] = a[j] * a[j];
        to[j + 3 * wide] = b[j] * b[j];
        to[j + 4 * wide] = a[j] * b[j];
      }
      if (i + 1 < n) continue;
      for (std::size_t k = 0; k < n; ++k) rows[k] = ring.data() + (i + 1 + k) % n * line;
      wide_kernels().filter_row(job);
      wide_kernels().information_row(found);
      for (std::size_t l = 0; l < kInformationLanes; ++l) {
        sum.carried += std::log10(found.carried[l]);
        sum.there += std::log10(found.there[l]);
      }
    }
  }
}

template <typename T>
Plane plane_of(const T* from, std::size_t height, std::size_t width, std::size_t channels, double scale) {
  Plane plane{height, width, std::vector<double>(height * width)};
  for (std::size_t i = 0; i < height * width; ++i) plane.values[i] = static_cast<double>(from[i * channels]) * scale;
  return plane;
}

}  // namespace

template <typename T>
Information information(const T* x, const T* y, std::size_t height, std::size_t width, std::size_t channels,
                        double scale, double eps) {
  Information sum;
  Plane reference = plane_of(x, height, width, channels, scale),
        distorted = plane_of(y, height, width, channels, scale);
  for (const std::size_t size : {17, 9, 5, 3}) {
    const std::vector<double> weights = window_of(size);
    if (size < 17) {
      reference = half_of(reference, weights);
      distorted = half_of(distorted, weights);
    }
    add_level(reference, distorted, weights, eps, sum);
  }
  return sum;
}

template Information information(const std::uint8_t*, const std::uint8_t*, std::size_t, std::size_t, std::size_t,
                                 double, double);
template Information information(const std::uint16_t*, const std::uint16_t*, std::size_t, std::size_t, std::size_t,
                                 double, double);
template Information information(const double*, const double*, std::size_t, std::size_t, std::size_t, double, double);

}  // namespace steelyard
