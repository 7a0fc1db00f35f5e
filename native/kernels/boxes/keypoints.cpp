// Keypoints: the object keypoint similarity of COCO, and the matching by it.
//
// OKS is a mean of exp(-e) over the visible points of the truth. The order of the operations, and of the sum (numpy
// adds eight lanes), is the reference's, so that a comparison with a threshold falls the same way.
#include "boxes/keypoints.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ap/figures.hpp"
#include "boxes/coco_eval.hpp"
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

double Oks::of(std::size_t detection, std::size_t truth, bool, double least) const {
  const double* g = t_points_ + truth * count_ * 3;
  const double* d = d_points_ + detection * count_ * 3;
  const double area = t_area_[truth] + kTiny;
  const double* box = t_box_ + 4 * truth;
  thread_local std::vector<double> terms;
  terms.clear();
  std::size_t points = 0;
  for (std::size_t k = 0; k < count_; ++k) points += g[3 * k + 2] > 0;
  // Without a visible point the truth is a region: twice its box on every side.
  const bool visible = points > 0;
  if (!visible) points = count_;
  const double x0 = box[0] - box[2], x1 = box[0] + box[2] * 2, y0 = box[1] - box[3], y1 = box[1] + box[3] * 2;
  // exp(-e) is at most 1 / (1 + e + e * e / 2): most pairs are soon known to lie below the least that counts.
  const double needed = area > 0 ? least * static_cast<double>(points) * (1 - 1e-9) : 0;
  double most = static_cast<double>(points);
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
    most -= 1 - 1 / (1 + e * (1 + 0.5 * e));
    if (most < needed) return 0;
    terms.push_back(e);
  }
  if (terms.empty()) return 0;
  for (double& e : terms) e = std::exp(-e);
  return sum_as_numpy(terms.data(), terms.size()) / static_cast<double>(terms.size());
}

void check_cell_points(const CellPoints& in) {
  check_sigmas(in.sigmas);
  require(in.d_points.columns == 2 * in.sigmas.size(), "a detection needs x and y for each sigma");
  const std::size_t columns = in.t_small.data() ? in.t_small.columns : in.t_points.columns;
  const std::size_t truths = in.t_small.data() ? in.t_small.rows : in.t_points.rows;
  require(columns == 3 * in.sigmas.size(), "a truth needs x, y and v for each sigma");
  require(in.t_box.columns == 4 && in.t_box.rows == truths, "boxes are x, y, width, height");
  require(in.t_area.size() == in.t_rows.size(), "one area for each truth");
  check_cells_of({in.d_begin, in.t_begin, in.d_rows, in.t_rows}, in.d_points.rows, truths);
  require(in.first <= in.last && in.last < in.d_begin.size(), "the cells are out of range");
}

namespace {

// Around all points of a detection, or of a truth that count.
struct Bounds {
  double left = std::numeric_limits<double>::infinity(), top = left, right = -left, low = -left;

  void add(double x, double y) {
    left = std::min(left, x);
    right = std::max(right, x);
    top = std::min(top, y);
    low = std::max(low, y);
  }
};

// A truth as its detections need it: the points that count, or its region where none is labelled.
class TruthPoints {
 public:
  // Another truth, in the memory of the last.
  template <typename Number>
  void show(const Number* points, const double* box, double area, const std::vector<double>& variance) {
    area_ = area + kTiny;
    bounds_ = {};
    place_.clear();
    xy_.clear();
    variance_.clear();
    inverse_.clear();
    for (std::size_t k = 0; k < variance.size(); ++k)
      if (points[3 * k + 2] > 0) add(k, points[3 * k], points[3 * k + 1], variance[k]);
    region_ = place_.empty();
    for (std::size_t k = 0; region_ && k < variance.size(); ++k) add(k, 0, 0, variance[k]);
    x0_ = box[0] - box[2];
    x1_ = box[0] + box[2] * 2;
    y0_ = box[1] - box[3];
    y1_ = box[1] + box[3] * 2;
    if (region_) bounds_ = {x0_, y0_, x1_, y1_};
    least_inverse_ = *std::min_element(inverse_.begin(), inverse_.end());
  }

  // Whether the gap between the points of both is so wide that the similarity is surely below.
  bool is_far(const Bounds& d, double least) const {
    const double dx = std::max({0.0, bounds_.left - d.right, d.left - bounds_.right});
    const double dy = std::max({0.0, bounds_.top - d.low, d.top - bounds_.low});
    const double e = (dx * dx + dy * dy) * least_inverse_;
    return area_ > 0 && 1 < least * (1 - 1e-9) * (1 + e * (1 + 0.5 * e));
  }

  // Whether the similarity is surely below. exp(-e) is at most 1 / (1 + e + e^2 / 2); the last digits are left room.
  bool is_below(const double* d, double least) const {
    if (!(area_ > 0)) return false;
    const double needed = least * static_cast<double>(place_.size()) * (1 - 1e-9);
    double most = static_cast<double>(place_.size());  // as if all points behind were equal
    for (std::size_t i = 0; i < place_.size(); ++i) {
      const double e = squared(d, i) * inverse_[i];
      most -= 1 - 1 / (1 + e * (1 + 0.5 * e));
      if (most < needed) return true;
    }
    return false;
  }

  void add_exponents(const double* d, std::vector<double>& out) const {
    for (std::size_t i = 0; i < place_.size(); ++i) out.push_back(-(squared(d, i) / variance_[i] / area_ / 2));
  }

 private:
  void add(std::size_t k, double x, double y, double variance) {
    place_.push_back(2 * k);
    xy_.push_back(x);
    xy_.push_back(y);
    bounds_.add(x, y);
    variance_.push_back(variance);
    inverse_.push_back(1 / (variance * area_ * 2));
  }
  double squared(const double* d, std::size_t i) const {
    const double x = d[place_[i]], y = d[place_[i] + 1];
    double dx = x - xy_[2 * i], dy = y - xy_[2 * i + 1];
    if (region_) {  // twice its box on every side
      dx = std::max(0.0, x0_ - x) + std::max(0.0, x - x1_);
      dy = std::max(0.0, y0_ - y) + std::max(0.0, y - y1_);
    }
    return dx * dx + dy * dy;
  }

  double area_ = 0, x0_ = 0, x1_ = 0, y0_ = 0, y1_ = 0, least_inverse_ = 0;
  bool region_ = false;
  Bounds bounds_;
  std::vector<std::size_t> place_;
  std::vector<double> xy_, variance_, inverse_;
};

}  // namespace

Exponents oks_exponents(const CellPoints& in) {
  std::vector<double> variance;
  for (double sigma : in.sigmas) variance.push_back((sigma * 2) * (sigma * 2));
  Exponents out;
  out.begin.push_back(0);
  const std::vector<std::size_t> before = pairs_before(in.d_begin, in.t_begin);
  std::vector<TruthPoints> truths;
  for (std::size_t c = in.first; c < in.last; ++c) {
    if (before[c] == before[c + 1]) continue;
    const auto t0 = static_cast<std::size_t>(in.t_begin[c]), t1 = static_cast<std::size_t>(in.t_begin[c + 1]);
    if (truths.size() < t1 - t0) truths.resize(t1 - t0);
    for (std::size_t g = t0; g < t1; ++g) {
      const auto row = static_cast<std::size_t>(in.t_rows[g]);
      if (in.t_small.data()) truths[g - t0].show(in.t_small.row(row), in.t_box.row(row), in.t_area[g], variance);
      else truths[g - t0].show(in.t_points.row(row), in.t_box.row(row), in.t_area[g], variance);
    }
    auto pair = static_cast<std::int64_t>(before[c]);
    for (std::int64_t i = in.d_begin[c]; i < in.d_begin[c + 1]; ++i) {
      const double* d = in.d_points.row(static_cast<std::size_t>(in.d_rows[static_cast<std::size_t>(i)]));
      Bounds bounds;
      for (std::size_t k = 0; k < in.sigmas.size(); ++k) bounds.add(d[2 * k], d[2 * k + 1]);
      for (std::size_t g = t0; g < t1; ++g) {
        const TruthPoints& truth = truths[g - t0];
        if (!truth.is_far(bounds, in.least) && !truth.is_below(d, in.least)) {
          truth.add_exponents(d, out.values);
          out.begin.push_back(static_cast<std::int64_t>(out.values.size()));
          out.pair.push_back(pair);
        }
        ++pair;
      }
    }
  }
  return out;
}

void oks_means(View<double> values, View<std::int64_t> begin, double* out) {
  check_offsets(begin, values.size(), "the values of the pairs are out of bounds");
  for (std::size_t i = 0; i + 1 < begin.size(); ++i) {
    const auto n = static_cast<std::size_t>(begin[i + 1] - begin[i]);
    require(n > 0, "a pair without a value");
    out[i] = sum_as_numpy(values.data() + begin[i], n) / static_cast<double>(n);
  }
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
