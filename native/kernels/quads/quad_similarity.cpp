#include "quads/quad_similarity.hpp"

#include <algorithm>

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

}  // namespace steelyard
