// Average precision and its relatives under many rows of image weights: the bootstrap's draws, and what has weights of its own.
//
// A class becomes a stream of events once, and every row of weights is a walk over it, many rows side by side. The order
// of the detections and their matches do not depend on the weights. Every number is a function of its own row of weights;
// classes are added in their order. The number of threads, the block and the lane that a row falls into change nothing.
#include "ap/box_figures.hpp"

#include <algorithm>
#include <limits>

#include "ap/counted_rows.hpp"
#include "support/checks.hpp"
#include "support/pool.hpp"
#include "support/scratch.hpp"
#include "wide/wide.hpp"

namespace steelyard {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

std::vector<EventStream> all_events(const Ranked& in, BoxFigure figure, std::size_t workers) {
  std::vector<EventStream> streams(in.classes);
  parallel_for(in.classes, workers, [&](std::size_t k) { streams[k] = make_events(in, k, by_tie(figure)); });
  return streams;
}

// What all groups of rows share.
class Figures {
 public:
  Figures(const Ranked& in, BoxFigure figure, View<double> grid, bool counted, std::size_t workers)
      : streams_(all_events(in, figure, workers)), figure_(figure), thresholds_(in.thresholds), grid_(grid),
        points_(figure, grid) {
    for (const EventStream& one : streams_) {
      events_ = std::max(events_, one.hit.size());
      entries_ = std::max({entries_, one.stream.size(), one.truth_unit.size()});
      if (counted) runs_ = std::max(runs_, marks_.emplace_back(one, thresholds_).runs());
    }
  }

  std::size_t entries() const { return entries_; }

  // Runs all classes for `lanes` rows; `rows` of them are asked for, and go to `value` and `recall`.
  void run(void (*walk)(const ClassJob&), std::size_t lanes, const double* weights, const CountedRows* counts,
           const double* images, std::size_t rows, double* value, double* recall) const {
    const Scratch scratch(job_scratch(events_, runs_));
    std::vector<double> values(thresholds_ * lanes, 0.0), recalls(thresholds_ * lanes, 0.0), classes(lanes, 0.0);
    ClassJob job{{}, figure_, thresholds_, grid_.data(), grid_.size(), nullptr, nullptr, nullptr, weights, nullptr, nullptr,
                 nullptr, 1, {}, images, scratch.data(), values.data(), recalls.data(), classes.data()};
    points_.into(job);
    if (counts) counts->into(job);
    for (std::size_t k = 0; k < streams_.size(); ++k) {
      job.events = streams_[k].events();
      if (!marks_.empty()) job.marks = marks_[k].marks();
      walk(job);
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
  std::size_t thresholds_, events_ = 0, entries_ = 0, runs_ = 0;
  View<double> grid_;
  GridPoints points_;
};

}  // namespace

BoxFigure check_box_figure(int figure, View<double> grid) {
  require(figure >= 0 && figure <= static_cast<int>(BoxFigure::curves), "an unknown figure");
  check_finite(grid.data(), grid.size(), "the grid must be finite");
  require(grid.size() >= 2 && std::is_sorted(grid.begin(), grid.end()), "the grid must rise");
  const auto checked = static_cast<BoxFigure>(figure);
  if (on_grid(checked) || checked == BoxFigure::curves) check_grid(grid);
  return checked;
}

std::vector<double> reached_points(View<double> grid) {
  std::vector<double> reached;
  const double last = static_cast<double>(grid.size() - 1);
  for (std::size_t r = 0; r < grid.size(); ++r) reached.push_back(static_cast<double>(r) / last >= grid[r] ? 1.0 : 0.0);
  return reached;
}

void box_figures(const Ranked& in, Matrix<double> weights, BoxFigure figure, View<double> grid, long threads, double* value,
                 double* recall) {
  const std::size_t rows = weights.rows, units = weights.columns, T = in.thresholds, workers = thread_count(threads);
  const Figures figures(in, figure, grid, false, workers);
  const auto walk = wide_kernels().walk_class;
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
    figures.run(walk, kRealLanes, table.data(), nullptr, images, lanes, value + first * T, recall + first * T);
  });
}

void box_draws(const Ranked& in, const std::uint8_t* counts, std::size_t rows, BoxFigure figure, View<double> grid, bool wide,
               long threads, double* value, double* recall) {
  const std::size_t T = in.thresholds, workers = thread_count(threads);
  const Figures figures(in, figure, grid, true, workers);
  const WideKernels& kernels = wide_kernels();
  wide |= figures.entries() > std::size_t{0x7FFFFFFF} / 255;
  parallel_for((rows + kCountedLanes - 1) / kCountedLanes, workers, [&](std::size_t part) {
    const std::size_t first = part * kCountedLanes, here = std::min(kCountedLanes, rows - first);
    const CountedRows counted(counts + first * in.units, in.units, (here + kCountedRows - 1) / kCountedRows);
    figures.run(wide ? kernels.count_class_wide : kernels.count_class, kCountedLanes, nullptr, &counted, nullptr, here,
                value + first * T, recall + first * T);
  });
}

}  // namespace steelyard
