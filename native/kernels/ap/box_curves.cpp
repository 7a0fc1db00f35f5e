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

constexpr std::size_t kSide = 8;  // classes that are made together: their values of a point fill a cache line

// Precision and scores [thresholds][grid] and recall [thresholds] of one class, nan without truth.
void class_curves(const Ranked& in, std::size_t k, View<double> weights, View<double> grid, double* precision, double* scores,
                  double* recall) {
  constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
  const std::size_t cells = in.thresholds * grid.size();
  const EventStream stream = make_events(in, k, scores != nullptr);
  const Events events = stream.events();
  double positives = 0;
  for (std::size_t i = 0; i < events.truths; ++i) positives += weights[static_cast<std::size_t>(events.truth_unit[i])];
  if (!(positives > 0)) {
    std::fill_n(precision, cells, kUndefined);
    if (scores) std::fill_n(scores, cells, kUndefined);
    std::fill_n(recall, in.thresholds, kUndefined);
    return;
  }
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
  reading.score = scores ? events.score : nullptr;
  for (std::size_t t = 0; t < in.thresholds; ++t) {
    reading.reset();
    baseline::walk(ClassEvents<double, 1>{events, t, weights.data()}, reading);
    const std::size_t at = t * grid.size();
    reading.read(first, precision + at, recall + t, scores ? scores + at : nullptr);
  }
}

// Rows of `cells` values, one for each of `count` classes, to columns of a table of `classes`.
void put_columns(const std::vector<double>& rows, std::size_t cells, std::size_t count, std::size_t classes, double* to) {
  for (std::size_t i = 0; i < cells; ++i, to += classes) {
    for (std::size_t k = 0; k < count; ++k) to[k] = rows[k * cells + i];
  }
}

}  // namespace

void box_curves(const Ranked& in, View<double> weights, View<double> grid, long threads, double* p, double* s, double* r) {
  const std::size_t T = in.thresholds, K = in.classes, cells = T * grid.size();
  parallel_for((K + kSide - 1) / kSide, thread_count(threads), [&](std::size_t block) {
    const std::size_t start = kSide * block, count = std::min(K - start, kSide);
    std::vector<double> precision(count * cells), scores(s ? count * cells : 0), recall(count * T);
    for (std::size_t k = 0; k < count; ++k) {
      class_curves(in, start + k, weights, grid, precision.data() + k * cells, s ? scores.data() + k * cells : nullptr,
                   recall.data() + k * T);
    }
    put_columns(precision, cells, count, K, p + start);
    if (s) put_columns(scores, cells, count, K, s + start);
    put_columns(recall, T, count, K, r + start);
  });
}

}  // namespace steelyard
