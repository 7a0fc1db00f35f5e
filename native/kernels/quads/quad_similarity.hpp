// Matching of quadrilaterals: their IoU, or the likeness of Gaussians that stand for them.
#pragma once

#include <vector>

#include "boxes/boxes.hpp"
#include "quads/quads.hpp"
#include "support/checks.hpp"

namespace steelyard {

// Corners within 1e12, none crossed.
void check_quads(Matrix<double> quads, std::size_t rows, const char* message);

// By the IoU. Pairs whose enclosing boxes, or areas, leave no chance are not clipped.
class QuadIou : public Similarity {
 public:
  // Corners are x1 y1 ... x4 y4; boxes enclose them.
  QuadIou(Matrix<double> d_quads, Matrix<double> t_quads, const double* d_box, const double* t_box);
  double of(std::size_t detection, std::size_t truth, bool crowd, double least) const override;

 private:
  Matrix<double> d_, t_;
  const double *d_box_, *t_box_;
  std::vector<double> d_area_, t_area_;
};

}  // namespace steelyard
