// Similarity of two pictures in windows: SSIM, its contrast part and Wang's older index. Pure C++; no Python here.
//
// All of them need four filtered planes: x, y, x² + y² and xy. Windows are separable. Rows are filtered as the window
// passes, so that memory is a few rows whatever the size of a picture. Uniform windows of whole numbers are added up as
// whole numbers: nothing is lost in flat regions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace steelyard {

enum class Edges { inner, mirror, replicate, zeros };
enum class Index { ssim, universal };

struct WindowJob {
  std::size_t height = 0, width = 0, channels = 0;
  std::vector<double> taps;  // of a window along one axis; they add up to 1
  bool uniform = false;      // whether all taps are equal
  Edges edges = Edges::inner;
  Index index = Index::ssim;
  double c1 = 0, c2 = 0;
  double correction = 1;  // factor of variances and covariance
  double eps = 0;         // added to the variances of the universal index
  bool contrast = false;  // whether the mean contrast is wanted too
  bool positive = false;  // whether negative contrast counts as 0

  // Rows and columns of results.
  std::size_t rows() const { return edges == Edges::inner ? height - taps.size() + 1 : height; }
  std::size_t columns() const { return edges == Edges::inner ? width - taps.size() + 1 : width; }
  // Whether a picture is large enough for the window.
  bool fits() const {
    const std::size_t side = height < width ? height : width, radius = taps.size() / 2;
    return !taps.empty() && (edges == Edges::inner ? side >= taps.size() : side > radius && taps.size() % 2 == 1);
  }
};

// Of pictures [height][width][channels]: the mean index and the mean contrast of each channel into out[channel][2], and
// where `map` is not null the index at each place, averaged over channels.
template <typename T>
void window_similarity(const WindowJob& job, const T* x, const T* y, double* out, double* map);

// Means of 2×2 pixels, the last row or column of an odd side left out.
template <typename T>
void halve_picture(const T* from, std::size_t height, std::size_t width, std::size_t channels, double* to);

// Of each channel: the sum of squared and of absolute differences.
template <typename T>
void picture_errors(const T* x, const T* y, std::size_t pixels, std::size_t channels, std::int64_t* out);

}  // namespace steelyard
