// What the kernels of matching share: the similarity of two objects, what matching looks at and what it gives.
#pragma once

#include <cstddef>
#include <cstdint>

#include "boxes/bits.hpp"
#include "support/views.hpp"

namespace steelyard {

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
class Similarity {
 public:
  virtual ~Similarity() = default;
  virtual double of(std::size_t detection, std::size_t truth, bool crowd, double least) const = 0;
};

using Row = std::int32_t;

// Of a truth. A lost match is the reference's fate of an annotation with id 0. Crowd and difficult are matched by many
// and count neither way; only a crowd's overlap is the share of the detection.
enum Flag : std::uint8_t {
  kCrowd = 1,
  kLost = 2,
  kDifficult = 4,
  kIgnored = 8,
  kMany = kCrowd | kDifficult,
  kUncounted = kMany | kIgnored
};

// The objects of both sides: truths, and detections with `d_`. Python's class of the same name has the same columns.
struct Objects {
  View<Row> image, label;
  Matrix<double> box;
  View<double> area;
  View<std::uint8_t> flags;
  View<Row> d_image, d_label;
  Matrix<double> d_box;
  View<double> d_score, d_area;  // `d_area` empty: a detection's area is that of its box
  std::size_t units, classes;
};

struct MatchRules {
  View<double> ious;
  Matrix<double> areas;
  std::size_t most;  // detections of one class in an image
  bool voc, partners;
  long threads;
};

// What matching gives, in memory of the caller. Detections stand by class and falling score; `hit` and `ignored` are
// [areas][detections] and come zeroed. `partner` may be null.
struct Matches {
  Row* order;           // rows of detections; -1 where one is left out
  std::uint16_t* rank;  // of a detection in its image and class
  Bits *hit, *ignored;
  Row* partner;  // the truth's row, for the first threshold and area; -1 for none
  double* overlap;
  std::int64_t *begin, *end, *truth_begin;  // of each class; `truth_begin` has one more
  Row* truth_order;
};

// Checks every column; throws where one is wrong.
void check_objects(const Objects& objects, const MatchRules& rules);
// `similarity` null: by the boxes. What it takes must have been checked.
void match_objects(const Objects& objects, const MatchRules& rules, const Similarity* similarity, const Matches& out);

}  // namespace steelyard
