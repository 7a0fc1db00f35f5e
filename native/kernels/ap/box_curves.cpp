// Precision, recall and scores of matched detections on a grid of recalls, under one row of image weights.
//
// The reference's curves to the bit. The precision envelope and the grid are taken from hits only: between two hits
// precision falls and recall rests. Classes are independent: the number of threads changes nothing.
#include <algorithm>
#include <limits>
#include <vector>

#include "ap/box_figures.hpp"
#include "ap/forward_readings.hpp"
#include "ap/walk.hpp"
#include "support/pool.hpp"

namespace steelyard {
namespace {

using baseline::ClassEvents;
using baseline::Curves;
using baseline::Reals;

void class_curves(const Ranked& in, std::size_t k, View<double> weights, View<double> grid, double* precision, double* scores,
                  double* recall) {
  const EventStream stream = make_events(in, k, true);
  const Events events = stream.events();
  double positives = 0;
  for (std::size_t i = 0; i < events.truths; ++i) positives += weights[static_cast<std::size_t>(events.truth_unit[i])];
  if (!(positives > 0)) return;
  double first = 0.0;
  for (std::int64_t i = in.begin[k]; i < in.end[k]; ++i) {
    if (in.rank[i] >= in.most || !(weights[static_cast<std::size_t>(in.image[i])] > 0)) continue;
    first = in.score[i];
    break;
  }
  std::vector<Reals<1>> plain(events.count + 1);
  Reals<1> sum{};
  baseline::plain_before(events, weights.data(), sum, plain.data());
  Curves reading(grid.data(), grid.size(), positives);
  reading.plain = {plain.data()};
  reading.score = events.score;
  for (std::size_t t = 0; t < in.thresholds; ++t) {
    reading.reset();
    baseline::walk(ClassEvents<double, 1>{events, t, weights.data()}, reading);
    const std::size_t at = t * grid.size() * in.classes + k;
    reading.read(first, in.classes, precision + at, recall + t * in.classes + k, scores ? scores + at : nullptr);
  }
}

}  // namespace

void box_curves(const Ranked& in, View<double> weights, View<double> grid, long threads, double* p, double* s, double* r) {
  const std::size_t T = in.thresholds, R = grid.size(), K = in.classes;
  const double undefined = std::numeric_limits<double>::quiet_NaN();
  std::fill_n(p, T * R * K, undefined);
  if (s) std::fill_n(s, T * R * K, undefined);
  std::fill_n(r, T * K, undefined);
  // Neighbouring classes write to one cache line: a task takes eight of them.
  parallel_for((K + 7) / 8, thread_count(threads), [&](std::size_t block) {
    for (std::size_t k = 8 * block; k < std::min(K, 8 * block + 8); ++k) class_curves(in, k, weights, grid, p, s, r);
  });
}

}  // namespace steelyard
