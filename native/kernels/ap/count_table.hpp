// Classes and rows of weights as walks under counts take them; see figures.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "ap/box_figures.hpp"

namespace steelyard {

// Which points of a grid a recall reaches, with their memory.
class GridTables {
 public:
  GridTables(BoxFigure figure, View<double> grid)
      : reached_(on_grid(figure) ? reached_points(grid) : std::vector<double>(grid.size(), 1.0)) {
    for (double reached : reached_) missed_.push_back(reached == 0.0);
    const std::size_t last = grid.size() - 1;
    inexact_.resize(last);
    for (std::size_t truths = 0; truths < last; ++truths) {
      for (std::size_t r = 1; r <= last; ++r) inexact_[truths] |= missed_[r] && r * truths % last == 0;
    }
  }
  void into(ClassJob& job) const {
    job.reached = reached_.data();
    job.missed = missed_.data();
    job.inexact = inexact_.data();
  }

 private:
  std::vector<double> reached_;
  std::vector<std::uint8_t> missed_, inexact_;
};

// Marks with their memory.
class ClassMarks {
 public:
  ClassMarks(const EventStream& of, std::size_t thresholds)
      : ends_(of.hit.size()),
        hits_begin_(thresholds + 1),
        ignored_begin_(thresholds + 1),
        first_begin_(thresholds + 1),
        others_begin_(thresholds + 1),
        runs_begin_(thresholds + 1) {
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
    return {place_.data(),
            ends_.data(),
            {hits_.data(), hits_begin_.data()},
            {ignored_.data(), ignored_begin_.data()},
            {first_.data(), first_begin_.data()},
            {others_.data(), others_begin_.data()},
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
class CountTable {
 public:
  CountTable(const std::uint8_t* counts, std::size_t units, std::size_t groups) : table_(units * kCountedLanes) {
    for (std::size_t g = 0; g < kGroups; ++g) {
      const std::uint8_t* rows = counts + (groups > g ? g : 0) * units * kCountedRows;
      for (std::size_t u = 0; u < units; ++u) {
        std::copy_n(rows + u * kCountedRows, kCountedRows, table_.data() + u * kCountedLanes + g * kCountedRows);
      }
    }
    look(units);
  }
  // A table of units x kCountedLanes.
  explicit CountTable(std::vector<std::uint8_t> table) : table_(std::move(table)) {
    look(table_.size() / kCountedLanes);
  }

  void into(ClassJob& job) const {
    job.counts = table_.data();
    job.lacking = lacking_.empty() ? nullptr : lacking_.data();
    job.left = left_.data();
    job.heaviest = heaviest_;
  }
  std::size_t units() const { return table_.size() / kCountedLanes; }

 private:
  static constexpr std::size_t kGroups = kCountedLanes / kCountedRows;
  static constexpr std::size_t kSeldom = 4;  // one unit in so many is lacking in some row, at most

  void look(std::size_t units) {
    std::uint8_t most = 1;
    for (std::uint8_t count : table_) most = std::max(most, count);
    heaviest_ = most;
    if (most == 1) take_lacking(units);
  }
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

// Adds the figures of a class under the rows of a table. Lanes that cannot be counted are read under real weights.
void count_rows(ClassJob& job, const CountTable& table);

}  // namespace steelyard
