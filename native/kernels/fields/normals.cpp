#include "fields/normals.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace steelyard {
namespace {

constexpr std::size_t kAngleBlock = 1024;
constexpr double kDegrees = 57.295779513082320877;

// atan of a number from 0 to 1, off by less than 3e-16: fdlibm's polynomial after one reduction by tan(pi / 8).
inline double atan_unit(double x) {
  const bool large = x > 0.41421356237309503;
  const double y = large ? (x - 1.0) / (x + 1.0) : x;
  const double z = y * y, w = z * z;
  const double odd = z * (3.33333333333329318027e-01 +
                          w * (1.42857142725034663711e-01 +
                               w * (9.09088713343650656196e-02 +
                                    w * (6.66107313738753120669e-02 +
                                         w * (4.97687799461593236017e-02 + w * 1.62858201153657823623e-02)))));
  const double even =
      w *
      (-1.99999999998764832476e-01 +
       w * (-1.11111104054623557880e-01 +
            w * (-7.69187620504482999495e-02 + w * (-5.83357013379057348645e-02 + w * -3.65315727442169155270e-02))));
  return (large ? 0.78539816339744830962 : 0.0) + (y - y * (odd + even));
}

}  // namespace

template <typename T>
std::size_t measure_angles(const T* truth, const T* prediction, const std::uint8_t* mask, std::size_t pixels,
                           double* angles, std::size_t& zero, std::size_t& bad, std::size_t& first) {
  constexpr double kMost = 1e150;  // beyond it squares overflow
  double v[6][kAngleBlock], cross[kAngleBlock], dot[kAngleBlock];
  std::size_t places[kAngleBlock];
  std::size_t n = 0;
  zero = bad = first = 0;
  for (std::size_t start = 0; start < pixels; start += kAngleBlock) {
    const std::size_t end = std::min(pixels, start + kAngleBlock);
    std::size_t m = 0;
    bool extreme = false;  // whether a square may be lost or overflow
    for (std::size_t i = start; i < end; ++i) {
      const double a = truth[3 * i], b = truth[3 * i + 1], c = truth[3 * i + 2];
      v[0][m] = a, v[1][m] = b, v[2][m] = c;
      v[3][m] = prediction[3 * i], v[4][m] = prediction[3 * i + 1], v[5][m] = prediction[3 * i + 2];
      places[m] = i;
      const double size = std::fabs(a) + std::fabs(b) + std::fabs(c);
      const double other = std::fabs(v[3][m]) + std::fabs(v[4][m]) + std::fabs(v[5][m]);
      const bool inside = (size > 0) & (size < kMost) & (mask == nullptr || mask[i] != 0);
      extreme |= inside & !((size > 1e-60) & (size < 1e60) & (other > 1e-60) & (other < 1e60));
      m += inside;
    }
    // The largest component of each vector becomes 1 in size.
    for (std::size_t side = 0; extreme && side < 6; side += 3) {
      double *a = v[side], *b = v[side + 1], *c = v[side + 2];
      for (std::size_t i = 0; i < m; ++i) {
        const double most = std::max(std::fabs(a[i]), std::max(std::fabs(b[i]), std::fabs(c[i])));
        const double by = most > 0 ? most : 1.0;
        a[i] /= by, b[i] /= by, c[i] /= by;
      }
    }
    for (std::size_t i = 0; i < m; ++i) {
      const double x = v[1][i] * v[5][i] - v[2][i] * v[4][i], y = v[2][i] * v[3][i] - v[0][i] * v[5][i],
                   z = v[0][i] * v[4][i] - v[1][i] * v[3][i];
      cross[i] = std::sqrt(x * x + y * y + z * z);
      dot[i] = v[0][i] * v[3][i] + v[1][i] * v[4][i] + v[2][i] * v[5][i];
    }
    for (std::size_t i = 0; i < m; ++i) {
      const double b = std::fabs(dot[i]), most = std::max(cross[i], b), least = std::min(cross[i], b);
      const double part = atan_unit(least / (most > 0 ? most : 1.0));
      const double sharp = cross[i] > b ? 1.57079632679489661923 - part : part;
      angles[n + i] = (dot[i] < 0 ? 3.14159265358979323846 - sharp : sharp) * kDegrees;
    }
    for (std::size_t i = 0; extreme && i < m; ++i) {
      const T* p = prediction + 3 * places[i];
      const double size = std::fabs(static_cast<double>(p[0])) + std::fabs(static_cast<double>(p[1])) +
                          std::fabs(static_cast<double>(p[2]));
      if (size == 0) angles[n + i] = 90.0, ++zero;
      if (!(size < kMost)) {
        if (!bad) first = places[i];
        angles[n + i] = 90.0, ++bad;
      }
    }
    n += m;
  }
  return n;
}

template std::size_t measure_angles<float>(const float*, const float*, const std::uint8_t*, std::size_t, double*,
                                           std::size_t&, std::size_t&, std::size_t&);
template std::size_t measure_angles<double>(const double*, const double*, const std::uint8_t*, std::size_t, double*,
                                            std::size_t&, std::size_t&, std::size_t&);

std::size_t angle_bin(double angle) {
  const double at = angle < 30 ? angle * 20 : angle < 60 ? 600 + (angle - 30) * 10 : 900 + (angle - 60) * 2;
  return angle > 0 ? static_cast<std::size_t>(std::min(at, kAngleBins - 2.0)) + 1 : 0;
}

void sum_angles(View<double> angles, View<double> limits, double sums[2], double* below, std::int64_t* bins) {
  double lanes[2][4] = {};
  std::fill(below, below + limits.size(), 0.0);
  std::fill(bins, bins + kAngleBins, std::int64_t{0});
  for (std::size_t i = 0; i < angles.size(); ++i) {
    lanes[0][i % 4] += angles[i], lanes[1][i % 4] += angles[i] * angles[i];
  }
  for (std::size_t k = 0; k < limits.size(); ++k) {
    std::size_t hits = 0;
    const double limit = limits[k];
    for (std::size_t i = 0; i < angles.size(); ++i) hits += angles[i] < limit;
    below[k] = static_cast<double>(hits);
  }
  for (std::size_t i = 0; i < angles.size(); ++i) ++bins[angle_bin(angles[i])];
  for (std::size_t k = 0; k < 2; ++k) sums[k] = (lanes[k][0] + lanes[k][2]) + (lanes[k][1] + lanes[k][3]);
}

}  // namespace steelyard
