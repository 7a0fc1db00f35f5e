#include "quads/quad_similarity.hpp"

#include <algorithm>
#include <cmath>

namespace steelyard {
namespace {

std::vector<double> areas_of(Matrix<double> quads) {
  std::vector<double> areas(quads.rows);
  for (std::size_t i = 0; i < quads.rows; ++i) {
    const double* row = quads.row(i);
    areas[i] = quad_area(quad_of(row, {row[0], row[1]}));
  }
  return areas;
}

}  // namespace

void check_quads(Matrix<double> quads, std::size_t rows, const char* message) {
  require(quads.rows == rows && quads.columns == 8, message);
  require(all_within(quads.data(), quads.size(), -1e12, 1e12), "a corner is not finite, or beyond 1e12");
  for (std::size_t i = 0; i < rows; ++i) {
    const double* row = quads.row(i);
    std::size_t dent = 0;
    require(quad_shape(quad_of(row, {row[0], row[1]}), dent) != QuadShape::kCrossed, "a quadrilateral crosses itself");
  }
}

QuadIou::QuadIou(Matrix<double> d_quads, Matrix<double> t_quads, const double* d_box, const double* t_box)
    : d_(d_quads), t_(t_quads), d_box_(d_box), t_box_(t_box), d_area_(areas_of(d_quads)), t_area_(areas_of(t_quads)) {}

double QuadIou::of(std::size_t detection, std::size_t truth, bool crowd, double least) const {
  const double *d = d_box_ + 4 * detection, *g = t_box_ + 4 * truth;
  const double w = std::min(d[0] + d[2], g[0] + g[2]) - std::max(d[0], g[0]);
  if (!(w > 0)) return 0;
  const double h = std::min(d[1] + d[3], g[1] + g[3]) - std::max(d[1], g[1]);
  if (!(h > 0)) return 0;
  const double a = d_area_[detection], b = t_area_[truth], most = std::min({a, b, w * h});
  // A share of 1e-9 is left for rounding: what is clipped in vain costs little.
  if (most * (1 + 1e-9) < least * (crowd ? a : a + b - most)) return 0;
  return quad_iou(d_.row(detection), t_.row(truth), crowd);
}

void check_rectangles(Matrix<double> rectangles, std::size_t rows, const char* message) {
  require(rectangles.rows == rows && rectangles.columns == 5, message);
  require(all_within(rectangles.data(), rectangles.size(), -1e12, 1e12), "a rectangle is not finite, or beyond 1e12");
  for (std::size_t i = 0; i < rows; ++i) {
    require(rectangles.row(i)[2] >= 0 && rectangles.row(i)[3] >= 0, "a rectangle has a negative width or height");
  }
}

std::vector<GaussianSimilarity::Gaussian> GaussianSimilarity::gaussians_of(Matrix<double> rectangles) {
  std::vector<Gaussian> out(rectangles.rows);
  for (std::size_t i = 0; i < rectangles.rows; ++i) {
    const double* r = rectangles.row(i);
    const double a = r[2] * r[2] / 12, b = r[3] * r[3] / 12, c = std::cos(r[4]), s = std::sin(r[4]);
    out[i] = {r[0], r[1], a * c * c + b * s * s, a * s * s + b * c * c, (a - b) * c * s};
  }
  return out;
}

GaussianSimilarity::GaussianSimilarity(Matrix<double> d_rectangles, Matrix<double> t_rectangles)
    : d_(gaussians_of(d_rectangles)), t_(gaussians_of(t_rectangles)) {}

double GaussianSimilarity::of(std::size_t detection, std::size_t truth, bool, double) const {
  constexpr double kEps = 1e-7;
  const Gaussian &p = t_[truth], &q = d_[detection];
  const double a = p.a + q.a, b = p.b + q.b, c = p.c + q.c, det = a * b - c * c;
  const double dx = q.x - p.x, dy = p.y - q.y;
  const double apart = ((a * dy * dy + b * dx * dx) / 4 + c * dx * dy / 2) / (det + kEps);
  const double own = std::sqrt(std::max(p.a * p.b - p.c * p.c, 0.0)) * std::sqrt(std::max(q.a * q.b - q.c * q.c, 0.0));
  const double shape = std::log(std::max(det, 0.0) / (4 * own + kEps) + kEps) / 2;
  const double distance = std::clamp(apart + shape, kEps, 100.0);
  return std::clamp(1 - std::sqrt(1 - std::exp(-distance) + kEps), 0.0, 1.0);
}

}  // namespace steelyard
