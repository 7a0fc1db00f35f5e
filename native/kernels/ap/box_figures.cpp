// Average precision and its relatives under many rows of image weights: the bootstrap's draws, and what has weights of its own.
//
// A class becomes a stream of events once, and every row of weights is a walk over it, many rows side by side. The order
// of the detections and their matches do not depend on the weights. Every number is a function of its own row of weights;
// classes are added in their order. The number of threads, the block and the lane that a row falls into change nothing.
#include "ap/box_figures.hpp"

#include <algorithm>
#include <limits>

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

// Marks with their memory.
class ClassMarks {
 public:
  ClassMarks(const EventStream& of, std::size_t thresholds)
      : ends_(of.hit.size()), hits_begin_(thresholds + 1), ignored_begin_(thresholds + 1), first_begin_(thresholds + 1),
        others_begin_(thresholds + 1), runs_begin_(thresholds + 1) {
    for (std::size_t i = 0; i < of.stream.size(); ++i) {
      if (of.stream[i] & kEvent) place_.push_back(static_cast<std::uint32_t>(i));
    }
    for (std::size_t t = 0; t < thresholds; ++t) {
      mark(of, t);
      hits_begin_[t + 1] = hits_.size();
      ignored_begin_[t + 1] = ignored_.size();
      first_begin_[t + 1] = first_.size();
      others_begin_[t + 1] = others_.size();
      runs_begin_[t + 1] = row_.size();
    }
  }
  Marks marks() const {
    return {place_.data(), ends_.data(), {hits_.data(), hits_begin_.data()}, {ignored_.data(), ignored_begin_.data()},
            {first_.data(), first_begin_.data()}, {others_.data(), others_begin_.data()},
            {row_.data(), last_.data(), start_.data(), size_.data(), also_.data(), runs_begin_.data(), start_.size()}};
  }
  std::size_t runs() const { return start_.size(); }

 private:
  void mark(const EventStream& of, std::size_t t) {
    std::size_t next = 0, run = 0;  // the entry that would not end the run; its hits
    for (std::size_t e = 0; e < of.hit.size(); ++e) {
      const bool hit = (of.hit[e] >> t) & 1, ignored = !hit && ((of.ignored[e] >> t) & 1);
      if (place_[e] != next || !(hit || ignored) || run == kLongestRun) end_run(run);
      next = place_[e] + 1;
      if (ignored) ignored_.push_back(static_cast<std::uint32_t>(e));
      if (!hit) continue;
      const bool nested = (of.hit[e] & (of.hit[e] + 1)) == 0;
      if (!nested) others_.push_back(static_cast<std::uint32_t>(e));
      else if (of.hit[e] == all_bits(t + 1)) first_.push_back(static_cast<std::uint32_t>(e));
      hits_.push_back(static_cast<std::uint32_t>(e));
      ++run;
    }
    end_run(run);
  }
  // The last `run` hits become a run; a row that has the same hits is taken once more.
  void end_run(std::size_t& run) {
    if (run == 0) return;
    const auto mine = hits_.end() - static_cast<std::ptrdiff_t>(run);
    std::uint32_t& row = ends_[hits_.back()];  // the last one that ends there, from 1 on
    if (row == 0 || size_[row - 1] != run || !std::equal(mine, hits_.end(), hits_.begin() + start_[row - 1])) {
      start_.push_back(static_cast<std::uint32_t>(hits_.size() - run));
      size_.push_back(static_cast<std::uint32_t>(run));
      also_.push_back(row);
      row = static_cast<std::uint32_t>(start_.size());
    }
    row_.push_back(row - 1);
    last_.push_back(hits_.back());
    run = 0;
  }

  std::vector<std::uint32_t> place_, ends_, hits_, ignored_, first_, others_, row_, start_, size_, last_, also_;
  std::vector<std::size_t> hits_begin_, ignored_begin_, first_begin_, others_begin_, runs_begin_;
};

// One or two groups of rows of counts as they are walked, side by side. A group that is alone is there twice.
class CountedRows {
 public:
  CountedRows(const std::uint8_t* counts, std::size_t units, std::size_t groups) : table_(units * kCountedLanes) {
    for (std::size_t g = 0; g < kGroups; ++g) {
      const std::uint8_t* rows = counts + (groups > g ? g : 0) * units * kCountedRows;
      for (std::size_t u = 0; u < units; ++u) {
        std::copy_n(rows + u * kCountedRows, kCountedRows, table_.data() + u * kCountedLanes + g * kCountedRows);
      }
    }
    std::uint8_t most = 1;
    for (std::uint8_t count : table_) most = std::max(most, count);
    heaviest_ = most;
    if (most == 1) take_lacking(units);
  }

  void into(ClassJob& job) const {
    job.counts = table_.data();
    job.lacking = lacking_.empty() ? nullptr : lacking_.data();
    job.left = left_.data();
    job.heaviest = heaviest_;
  }

 private:
  static constexpr std::size_t kGroups = kCountedLanes / kCountedRows;
  static constexpr std::size_t kSeldom = 4;  // one unit in so many is lacking in some row, at most

  // Rows that leave few units out: those alone.
  void take_lacking(std::size_t units) {
    lacking_.assign(units, 0);
    std::uint32_t rows = 0;
    for (std::size_t u = 0; u < units; ++u) {
      const std::uint8_t* row = table_.data() + u * kCountedLanes;
      std::uint8_t all = 1;
      for (std::size_t l = 0; l < kCountedLanes; ++l) all &= row[l];
      if (all) continue;
      if (++rows > units / kSeldom) return lacking_.clear();
      lacking_[u] = rows;
      for (std::size_t l = 0; l < kCountedLanes; ++l) left_.push_back(1 - row[l]);
    }
  }

  std::vector<std::uint8_t> table_, left_;
  std::vector<std::uint32_t> lacking_;
  std::size_t heaviest_;
};

// What all groups of rows share.
class Figures {
 public:
  Figures(const Ranked& in, BoxFigure figure, View<double> grid, bool counted, std::size_t workers)
      : streams_(all_events(in, figure, workers)), figure_(figure), thresholds_(in.thresholds), grid_(grid),
        reached_(on_grid(figure) ? reached_points(grid) : std::vector<double>(grid.size(), 1.0)) {
    for (double reached : reached_) missed_.push_back(reached == 0.0);
    const std::size_t last = grid.size() - 1;
    inexact_.resize(last);
    for (std::size_t truths = 0; truths < last; ++truths) {
      for (std::size_t r = 1; r <= last; ++r) inexact_[truths] |= missed_[r] && r * truths % last == 0;
    }
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
    ClassJob job{{}, figure_, thresholds_, grid_.data(), grid_.size(), reached_.data(), missed_.data(), inexact_.data(),
                 weights, nullptr, nullptr, nullptr, 1, {}, images, scratch.data(), values.data(), recalls.data(), classes.data()};
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
  std::vector<double> reached_;
  std::vector<std::uint8_t> missed_, inexact_;
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
