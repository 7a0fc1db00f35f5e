// Keypoints: the object keypoint similarity of COCO, and the matching by it.
//
// OKS is a mean of exp(-e) over the visible points of the truth. The order of the operations, and of the sum (numpy
// adds eight lanes), is the reference's, so that a comparison with a threshold falls the same way.
#include "boxes/keypoints.hpp"

#include <algorithm>
#include <cmath>

#include "ap/figures.hpp"
#include "support/checks.hpp"

namespace steelyard {
namespace {

// The sum as numpy makes it of a contiguous array of at most 128 numbers; beyond that halves are added.
double sum_as_numpy(const double* v, std::size_t n) {
  if (n < 8) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += v[i];
    return sum;
  }
  if (n <= 128) {
    double lane[8];
    for (std::size_t j = 0; j < 8; ++j) lane[j] = v[j];
    std::size_t i = 8;
    for (; i + 8 <= n; i += 8) {
      for (std::size_t j = 0; j < 8; ++j) lane[j] += v[i + j];
    }
    double sum = ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
    for (; i < n; ++i) sum += v[i];
    return sum;
  }
  const std::size_t half = n / 2 - (n / 2) % 8;
  return sum_as_numpy(v, half) + sum_as_numpy(v + half, n - half);
}

}  // namespace

Oks::Oks(const double* t_points, const double* d_points, const double* t_box, const double* t_area, View<double> sigmas)
    : t_points_(t_points), d_points_(d_points), t_box_(t_box), t_area_(t_area), count_(sigmas.size()) {
  for (double sigma : sigmas) variance_.push_back((sigma * 2) * (sigma * 2));
}

double Oks::of(std::size_t detection, std::size_t truth, bool, double) const {
  const double* g = t_points_ + truth * count_ * 3;
  const double* d = d_points_ + detection * count_ * 3;
  const double area = t_area_[truth] + kTiny;
  const double* box = t_box_ + 4 * truth;
  thread_local std::vector<double> terms;
  terms.clear();
  bool visible = false;
  for (std::size_t k = 0; k < count_; ++k) visible |= g[3 * k + 2] > 0;
  // Without a visible point the truth is a region: twice its box on every side.
  const double x0 = box[0] - box[2], x1 = box[0] + box[2] * 2, y0 = box[1] - box[3], y1 = box[1] + box[3] * 2;
  for (std::size_t k = 0; k < count_; ++k) {
    const double x = d[3 * k], y = d[3 * k + 1];
    double dx, dy;
    if (visible) {
      if (!(g[3 * k + 2] > 0)) continue;
      dx = x - g[3 * k];
      dy = y - g[3 * k + 1];
    } else {
      dx = std::max(0.0, x0 - x) + std::max(0.0, x - x1);
      dy = std::max(0.0, y0 - y) + std::max(0.0, y - y1);
    }
    const double e = (dx * dx + dy * dy) / variance_[k] / area / 2;
    terms.push_back(std::exp(-e));
  }
  if (terms.empty()) return 0;
  return sum_as_numpy(terms.data(), terms.size()) / static_cast<double>(terms.size());
}

void check_points(Matrix<double> points, View<double> sigmas, std::size_t rows, const char* message) {
  require(points.rows == rows && points.columns == 3 * sigmas.size(), message);
  require(all_within(points.data(), points.size(), -1e12, 1e12), "a keypoint is not finite, or beyond 1e12");
}

void check_sigmas(View<double> sigmas) {
  require(sigmas.size() >= 1 && sigmas.size() <= 65536, "from 1 to 65536 sigmas");
  for (double sigma : sigmas) require(sigma >= 1e-6 && sigma <= 1e6, "a sigma must be from 1e-6 to 1e6");
}

}  // namespace steelyard
