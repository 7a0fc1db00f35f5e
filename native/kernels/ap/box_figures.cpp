// Average precision and its relatives under many rows of image weights: the bootstrap's draws, and what has weights of
// its own.
//
// A class becomes a stream of events once, and every row of weights is a walk over it, many rows side by side. The
// order of the detections and their matches do not depend on the weights. Every number is a function of its own row of
// weights; classes are added in their order. The number of threads, the block and the lane that a row falls into change
// nothing.
#include "ap/box_figures.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "ap/count_table.hpp"
#include "ap/forward_readings.hpp"
#include "support/checks.hpp"
#include "support/pool.hpp"
#include "support/scratch.hpp"
#include "wide/wide.hpp"

namespace steelyard {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

std::vector<EventStream> all_events(const Ranked& in, BoxFigure figure, std::size_t workers) {
  std::vector<EventStream> streams(in.classes());
  parallel_for(in.classes(), workers, [&](std::size_t k) { streams[k] = make_events(in, k, by_tie(figure)); });
  return streams;
}

// What all groups of rows share.
class Figures {
 public:
  Figures(const Ranked& in, BoxFigure figure, View<double> grid, bool counted, std::size_t workers)
      : streams_(all_events(in, figure, workers)),
        figure_(figure),
        thresholds_(in.thresholds),
        grid_(grid),
        points_(figure, grid) {
    for (const EventStream& one : streams_) {
      events_ = std::max(events_, one.hit.size());
      if (counted) runs_ = std::max(runs_, marks_.emplace_back(one, thresholds_).runs());
    }
  }

  // Runs all classes for the rows of a table of counts, or under `weights`; `rows` of them are asked for, and go to
  // `value` and `recall`.
  void run(const double* weights, const CountTable* counts, const double* images, std::size_t rows, double* value,
           double* recall) const {
    const std::size_t lanes = counts ? kCountedLanes : kRealLanes;
    const Scratch scratch(counts ? count_scratch(events_, runs_) : real_scratch(events_));
    std::vector<double> values(thresholds_ * lanes, 0.0), recalls(thresholds_ * lanes, 0.0), classes(lanes, 0.0);
    ClassJob job{{},
                 figure_,
                 thresholds_,
                 grid_.data(),
                 grid_.size(),
                 nullptr,
                 nullptr,
                 nullptr,
                 weights,
                 nullptr,
                 nullptr,
                 nullptr,
                 1,
                 {},
                 images,
                 nullptr,
                 scratch.data(),
                 values.data(),
                 recalls.data(),
                 classes.data()};
    points_.into(job);
    if (counts) counts->into(job);
    for (std::size_t k = 0; k < streams_.size(); ++k) {
      job.events = streams_[k].events();
      if (!marks_.empty()) job.marks = marks_[k].marks();
      if (counts) count_rows(job, *counts);
      else wide_kernels().walk_class(job);
    }
    for (std::size_t row = 0; row < rows; ++row) {
      const double n = classes[row];
      for (std::size_t t = 0; t < thresholds_; ++t) {
        value[row * thresholds_ + t] = n > 0 ? values[t * lanes + row] / n : kUndefined;
        recall[row * thresholds_ + t] = n > 0 ? recalls[t * lanes + row] / n : kUndefined;
      }
    }
  }

 private:
  std::vector<EventStream> streams_;
  std::vector<ClassMarks> marks_;
  BoxFigure figure_;
  std::size_t thresholds_, events_ = 0, runs_ = 0;
  View<double> grid_;
  GridTables points_;
};

// Curves: precision, recall and scores on a grid of recalls, under one row of image weights. The reference's curves to
// the bit. The precision envelope and the grid are taken from hits only: between two hits precision falls and recall
// rests.
using baseline::ClassEvents;
using baseline::Curves;
using baseline::Reals;

constexpr std::size_t kSide = 8;  // classes that are made together: their values of a point fill a cache line

// Precision and scores [thresholds][grid] and recall [thresholds] of one class, nan without truth.
void class_curves(const Ranked& in, std::size_t k, View<double> weights, View<double> grid, double* precision,
                  double* scores, double* recall) {
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
void put_columns(const std::vector<double>& rows, std::size_t cells, std::size_t count, std::size_t classes,
                 double* to) {
  for (std::size_t i = 0; i < cells; ++i, to += classes) {
    for (std::size_t k = 0; k < count; ++k) to[k] = rows[k * cells + i];
  }
}

}  // namespace

void check_box_figure(BoxFigure figure, View<double> grid) {
  check_finite(grid.data(), grid.size(), "the grid must be finite");
  require(grid.size() >= 2 && std::is_sorted(grid.begin(), grid.end()), "the grid must rise");
  if (on_grid(figure) || figure == BoxFigure::curves) check_grid(grid);
}

std::vector<double> reached_points(View<double> grid) {
  std::vector<double> reached;
  const double last = static_cast<double>(grid.size() - 1);
  for (std::size_t r = 0; r < grid.size(); ++r) reached.push_back(static_cast<double>(r) / last >= grid[r] ? 1.0 : 0.0);
  return reached;
}

void box_figures(const Ranked& in, Matrix<double> weights, BoxFigure figure, View<double> grid, long threads,
                 double* value, double* recall) {
  const std::size_t rows = weights.rows, units = weights.columns, T = in.thresholds, workers = thread_count(threads);
  const Figures figures(in, figure, grid, false, workers);
  parallel_for((rows + kRealLanes - 1) / kRealLanes, workers, [&](std::size_t group) {
    const std::size_t first = group * kRealLanes, lanes = std::min(kRealLanes, rows - first);
    std::vector<double> table(units * kRealLanes, 0.0);
    double images[kRealLanes] = {};
    for (std::size_t l = 0; l < lanes; ++l) {
      const double* row = weights.row(first + l);
      for (std::size_t u = 0; u < units; ++u) {
        table[u * kRealLanes + l] = row[u];
        images[l] += row[u];
      }
    }
    figures.run(table.data(), nullptr, images, lanes, value + first * T, recall + first * T);
  });
}

void count_rows(ClassJob& job, const CountTable& table) {
  std::array<std::uint8_t, kCountedLanes> uncounted;
  job.uncounted = uncounted.data();
  wide_kernels().count_class(job);
  std::vector<std::size_t> left;
  for (std::size_t l = 0; l < kCountedLanes; ++l) {
    if (uncounted[l]) left.push_back(l);
  }
  for (std::size_t first = 0; first < left.size(); first += kRealLanes) {
    const std::size_t lanes = std::min(kRealLanes, left.size() - first);
    std::vector<double> weights(table.units() * kRealLanes, 0.0), sums((2 * job.thresholds + 1) * kRealLanes, 0.0);
    for (std::size_t u = 0; u < table.units(); ++u) {
      for (std::size_t l = 0; l < lanes; ++l)
        weights[u * kRealLanes + l] = job.counts[u * kCountedLanes + left[first + l]];
    }
    const Scratch scratch(real_scratch(job.events.count));
    ClassJob real = job;
    if (real.figure == BoxFigure::coco) real.figure = BoxFigure::grid;  // counts have nothing added to the whole
    real.weights = weights.data();
    real.scratch = scratch.data();
    real.value = sums.data();
    real.recall = real.value + job.thresholds * kRealLanes;
    real.classes = real.recall + job.thresholds * kRealLanes;
    wide_kernels().walk_class(real);
    for (std::size_t l = 0; l < lanes; ++l) {
      job.classes[left[first + l]] += real.classes[l];
      for (std::size_t t = 0; t < job.thresholds; ++t) {
        const std::size_t to = t * kCountedLanes + left[first + l], from = t * kRealLanes + l;
        job.value[to] += real.value[from];
        job.recall[to] += job.figure == BoxFigure::best_f1 ? kUndefined : real.recall[from];
      }
    }
  }
}

void box_draws(const Ranked& in, const std::uint8_t* counts, std::size_t units, std::size_t rows, BoxFigure figure,
               View<double> grid, long threads, double* value, double* recall) {
  const std::size_t T = in.thresholds, workers = thread_count(threads);
  const Figures figures(in, figure, grid, true, workers);
  parallel_for((rows + kCountedLanes - 1) / kCountedLanes, workers, [&](std::size_t part) {
    const std::size_t first = part * kCountedLanes, here = std::min(kCountedLanes, rows - first);
    const CountTable table(counts + first * units, units, (here + kCountedRows - 1) / kCountedRows);
    figures.run(nullptr, &table, nullptr, here, value + first * T, recall + first * T);
  });
}

void box_curves(const Ranked& in, View<double> weights, View<double> grid, long threads, double* p, double* s,
                double* r) {
  const std::size_t T = in.thresholds, K = in.classes(), cells = T * grid.size();
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
