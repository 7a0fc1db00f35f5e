// Keypoints: the object keypoint similarity of COCO, and the matching by it.
//
// OKS is a mean of exp(-e) over the visible points of the truth. The order of the operations, and of the sum (numpy adds
// eight lanes), is the reference's, so that a comparison with a threshold falls the same way.
#include <algorithm>
#include <cmath>
#include <vector>

#include "arrays.hpp"
#include "boxes.hpp"
#include "checks.hpp"

namespace steelyard {
namespace {

constexpr double kTiny = 2.220446049250313e-16;  // numpy.spacing(1), as the reference adds it to the area

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

class PointLikeness : public Likeness {
 public:
  PointLikeness(const double* t_points, const double* d_points, const double* t_box, const double* t_area,
                const double* sigmas, std::size_t count)
      : t_points_(t_points), d_points_(d_points), t_box_(t_box), t_area_(t_area), count_(count) {
    for (std::size_t k = 0; k < count; ++k) variance_.push_back((sigmas[k] * 2) * (sigmas[k] * 2));
  }

  double of(std::size_t detection, std::size_t truth, bool, double) const override {
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

 private:
  const double *t_points_, *d_points_, *t_box_, *t_area_;
  std::size_t count_;
  std::vector<double> variance_;
};

void check(In2<double> points, In1<double> sigmas, std::size_t rows, const char* message) {
  require(points.shape(0) == rows && points.shape(1) == 3 * sigmas.shape(0), message);
  require(all_within(points.data(), points.size(), -1e12, 1e12), "a keypoint is not finite, or beyond 1e12");
}

void check_sigmas(In1<double> sigmas) {
  require(sigmas.shape(0) >= 1 && sigmas.shape(0) <= 65536, "from 1 to 65536 sigmas");
  for (std::size_t k = 0; k < sigmas.shape(0); ++k) {
    require(sigmas.data()[k] >= 1e-6 && sigmas.data()[k] <= 1e6, "a sigma must be from 1e-6 to 1e6");
  }
}

Out<double> oks(In2<double> d_points, In2<double> t_points, In2<double> t_box, In1<double> t_area, In1<double> sigmas) {
  const std::size_t n = d_points.shape(0), m = t_points.shape(0);
  check_sigmas(sigmas);
  check(d_points, sigmas, n, "a detection needs x, y and v for each sigma");
  check(t_points, sigmas, m, "a truth needs x, y and v for each sigma");
  require(t_box.shape(0) == m && t_box.shape(1) == 4 && t_area.shape(0) == m, "columns of the truth differ in length");
  check_finite(t_box.data(), t_box.size(), "a box is not finite");
  check_finite(t_area.data(), m, "an area is not finite");
  double* out;
  auto result = make_raw<double>({n, m}, out);
  const PointLikeness likeness(t_points.data(), d_points.data(), t_box.data(), t_area.data(), sigmas.data(), sigmas.shape(0));
  nb::gil_scoped_release release;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < m; ++j) out[i * m + j] = likeness.of(i, j, false, 0.0);
  }
  return result;
}

nb::tuple match(const Objects& objects, In2<double> t_points, In2<double> d_points, In1<double> d_area, In1<double> sigmas) {
  check_sigmas(sigmas);
  check(t_points, sigmas, objects.t_image.shape(0), "a truth needs x, y and v for each sigma");
  check(d_points, sigmas, objects.d_image.shape(0), "a detection needs x, y and v for each sigma");
  require(d_area.shape(0) == objects.d_image.shape(0), "columns of the detections differ in length");
  require(objects.t_box.shape(0) == t_points.shape(0) && objects.t_box.shape(1) == 4 &&
              objects.t_area.shape(0) == t_points.shape(0), "columns of the truth differ in length");
  const PointLikeness likeness(t_points.data(), d_points.data(), objects.t_box.data(), objects.t_area.data(), sigmas.data(),
                               sigmas.shape(0));
  return match_objects(objects, &likeness, d_area.data());
}

}  // namespace

void bind_keypoints(nb::module_& m) {
  m.def("oks", &oks, nb::arg("d_points").noconvert(), nb::arg("t_points").noconvert(), nb::arg("t_box").noconvert(),
        nb::arg("t_area").noconvert(), nb::arg("sigmas").noconvert(),
        "Object keypoint similarity, detections by truths; points are x, y, v in turn.");
  m.def("keypoints_match", &match, nb::arg("objects"), nb::arg("t_points").noconvert(), nb::arg("d_points").noconvert(),
        nb::arg("d_area").noconvert(), nb::arg("sigmas").noconvert(), "As boxes_match, by object keypoint similarity.");
}

}  // namespace steelyard
