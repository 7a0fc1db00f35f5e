// What the kernels of the task `boxes` share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arrays.hpp"

namespace steelyard {

// One bit for each IoU threshold.
using Bits = std::uint32_t;
constexpr std::size_t kMostThresholds = 32;
constexpr Bits all_bits(std::size_t thresholds) {
  return thresholds >= 32 ? ~Bits{0} : (Bits{1} << thresholds) - 1;
}

// IoU of two boxes [x, y, width, height]; with a crowd it is the share of the detection that lies inside.
// The one place where the formula stands; the order of operations is that of pycocotools, to the bit.
inline double box_iou(const double* d, const double* g, bool crowd) {
  const double d_right = d[2] + d[0], g_right = g[2] + g[0], d_low = d[3] + d[1], g_low = g[3] + g[1];
  const double w = (d_right < g_right ? d_right : g_right) - (d[0] > g[0] ? d[0] : g[0]);
  if (w <= 0) return 0;
  const double h = (d_low < g_low ? d_low : g_low) - (d[1] > g[1] ? d[1] : g[1]);
  if (h <= 0) return 0;
  const double inter = w * h, d_area = d[2] * d[3];
  const double whole = crowd ? d_area : d_area + g[2] * g[3] - inter;
  return inter / whole;
}

// How alike a detection and a truth are, from 0 to 1, where it is not the IoU of their boxes: masks and keypoints have
// their own. Where it is below `least`, anything below `least` will do.
class Likeness {
 public:
  virtual ~Likeness() = default;
  virtual double of(std::size_t detection, std::size_t truth, bool crowd, double least) const = 0;
};

// What matching looks at, whatever the objects are; see boxes.cpp.
struct Objects {
  In1<std::int32_t> t_image, t_label;
  In2<double> t_box;
  In1<double> t_area;
  In1<std::uint8_t> t_flags;
  In1<std::int32_t> d_image, d_label;
  In2<double> d_box;
  In1<double> d_score;
  std::size_t images, labels;
  In1<double> ious;
  In2<double> areas;
  std::size_t most;
  bool voc, partners;
  long threads;
};
// `likeness` null: by the boxes; `d_area` null: a detection's area is that of its box.
nb::tuple match_objects(const Objects& objects, const Likeness* likeness, const double* d_area);

}  // namespace steelyard
