// Keypoints: the object keypoint similarity of COCO.
#pragma once

#include <cstdint>
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

// Similarities of the pairs in cells, in two steps: the mean is of exp, and who wants the reference's bits has to take
// the exp that NumPy has.
struct CellPoints {
  View<std::int64_t> d_begin, t_begin;  // of cells, as in coco_eval.hpp
  View<std::int32_t> d_rows, t_rows;
  Matrix<double> d_points;  // x and y in turn
  Matrix<double> t_points;  // x, y, v in turn; empty where they are small
  Matrix<std::int16_t> t_small;
  Matrix<double> t_box;
  View<double> t_area;  // of the truths in the cells
  View<double> sigmas;
  double least;             // pairs that are surely below it are left out
  std::size_t first, last;  // cells
};
struct Exponents {
  std::vector<double> values;
  std::vector<std::int64_t> begin;  // of each pair in `values`, and the end of the last
  std::vector<std::int64_t> pair;   // its place among all pairs of the cells
};
void check_cell_points(const CellPoints& in);
Exponents oks_exponents(const CellPoints& in);
// The means of the values of each pair, added as NumPy adds them.
void oks_means(View<double> values, View<std::int64_t> begin, double* out);

void check_sigmas(View<double> sigmas);
void check_points(Matrix<double> points, View<double> sigmas, std::size_t rows, const char* message);

}  // namespace steelyard
