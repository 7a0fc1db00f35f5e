// Matching of quadrilaterals: their IoU, or the similarity of Gaussians that stand for them.
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

// Widths and heights from 0 up, all numbers within 1e12.
void check_rectangles(Matrix<double> rectangles, std::size_t rows, const char* message);

// By the similarity of Gaussians (probIoU, arXiv 2106.06072), with the constants of its common implementation.
// Rectangles are cx, cy, width, height, angle. A crowd is like any other truth.
class GaussianSimilarity : public Similarity {
 public:
  GaussianSimilarity(Matrix<double> d_rectangles, Matrix<double> t_rectangles);
  double of(std::size_t detection, std::size_t truth, bool crowd, double least) const override;

 private:
  struct Gaussian {
    double x, y, a, b, c;  // the centre, and the covariance [[a, c], [c, b]]
  };
  static std::vector<Gaussian> gaussians_of(Matrix<double> rectangles);
  std::vector<Gaussian> d_, t_;
};

}  // namespace steelyard
