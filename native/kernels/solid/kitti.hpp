// KITTI's matching of boxes, frame by frame, and its curve of 41 places under weights of frames.
//
// The rule matches a frame again at every threshold of score. What a frame adds changes only at scores of its own, so a
// frame is matched once at each of these, and what changes is an event: the totals at any threshold are sums of events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/views.hpp"

namespace steelyard::solid {

constexpr int kPlaces = 41;
constexpr std::size_t kMostLevels = 8;

enum class View3 : std::uint8_t { image, ground, solid };

// A box on the ground: centre, low and high end, length along `angle`, width across; the angle turns x towards y.
constexpr std::size_t kSolid = 7;  // x, y, low, high, length, width, angle

// One side by frame. `box` has 4 numbers per row (left, top, right, bottom) or kSolid. `kind` holds one bit per level:
// of a truth whether it is within the level, of a detection whether it is too small for it. `group` is its class, or
// -1; `own` is 0 where a truth is of a class beside that one, which is matched and never counted.
struct KittiSide {
  View<std::int64_t> begin;
  Matrix<double> box;
  View<std::int32_t> group;
  View<std::uint8_t> kind;
  View<double> alpha;
  View<std::uint8_t> own;  // of truths
  View<double> score;      // of detections
};

struct KittiEvent {
  std::int32_t cell, unit;  // class * levels + level
  double score;
  std::int32_t hits, tp, fp;
  double similarity;
};

struct KittiCount {
  std::int32_t cell, unit;
  double count;
};

struct KittiMatched {
  std::vector<KittiEvent> events;
  std::vector<KittiCount> counts;
};

double overlap_of(View3 view, const double* a, const double* b);

// `region` are left, top, right, bottom by frame; they act in images alone. `least` is the overlap that a class must
// exceed.
KittiMatched kitti_match(View3 view, const KittiSide& truth, const KittiSide& detection,
                         View<std::int64_t> region_begin, Matrix<double> region, View<double> least, std::size_t levels,
                         long threads);

// Events of one class by falling score.
struct KittiEvents {
  View<double> score;
  View<std::int32_t> unit;
  View<std::int32_t> hits, tp, fp;
  View<double> similarity;
};

struct KittiCurve {
  int places = 0;  // that a score reaches
  double truths = 0;
  double score[kPlaces], precision[kPlaces], similarity[kPlaces];
};

// R11 and R40 of precision, then of similarity, in percent: [rows][4]; not a number where there is no truth.
void kitti_areas(const KittiEvents& events, View<double> truths, Matrix<double> weights, long threads, double* out);

// The same of each frame alone, from events by frame and falling score.
void kitti_areas_by_unit(const KittiEvents& events, View<double> truths, double* out);

KittiCurve kitti_curve(const KittiEvents& events, View<double> truths, const double* weights);

}  // namespace steelyard::solid
