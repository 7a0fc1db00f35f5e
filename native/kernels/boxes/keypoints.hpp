// Keypoints: the object keypoint similarity of COCO.
#pragma once

#include <vector>

#include "boxes/boxes.hpp"

namespace steelyard {

class Oks : public Similarity {
 public:
  // Points are x, y, v in turn, one for each sigma.
  Oks(const double* t_points, const double* d_points, const double* t_box, const double* t_area, View<double> sigmas);
  double of(std::size_t detection, std::size_t truth, bool crowd, double least) const override;

 private:
  const double *t_points_, *d_points_, *t_box_, *t_area_;
  std::size_t count_;
  std::vector<double> variance_;
};

void check_sigmas(View<double> sigmas);
void check_points(Matrix<double> points, View<double> sigmas, std::size_t rows, const char* message);

}  // namespace steelyard
