// A ranking that comes in parts, from the highest score to the lowest: what a walk over all of it would give.
//
// A class with more events than memory holds is merged from sorted files a part at a time. Nothing of a part is kept:
// all that a curve needs of the past fits into a few numbers. Units weigh 1 here, so every sum is a whole number, and the
// results are those of box_curves.cpp, box_pass.hpp and ranked.cpp to the bit.
//
// Precision on a recall grid is the highest precision at or after the hit that reaches a point. Going forward, hits fall
// between two points of the grid; the highest precision between each two is enough, and is carried back in the end. For
// the area under the envelope, the levels of the envelope so far are kept as a falling stack with the number of hits of
// each; a higher precision takes the lower ones off it.
//
// Equal scores are one step of some curves, so they must come in one part; `feed` checks that.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "ap/box_figures.hpp"
#include "ap/constants.hpp"
#include "support/checks.hpp"

namespace steelyard {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

constexpr int kCurves = 7;  // beside the figures of box_figures.hpp

// As box_pass.hpp divides: a float's inverse and two steps of Newton's.
inline double quotient(double found, double all) {
  double r = static_cast<double>(1.0f / static_cast<float>(all));
  r = r * (2.0 - all * r);
  r = r * (2.0 - all * r);
  return found * r;
}

inline bool counted(double value) { return value >= 0 && value < 1e15 && std::floor(value) == value; }

inline void falls(View<double> score, double& last, bool& begun) {
  const double* s = score.data();
  for (std::size_t i = 0; i < score.size(); ++i) {
    require(!std::isnan(s[i]), "a score is not a number");
    require(i == 0 || s[i] <= s[i - 1], "scores must fall");
  }
  if (score.size() == 0) return;
  require(!begun || s[0] < last, "a part must begin below the last score of the one before");
  last = s[score.size() - 1];
  begun = true;
}

class BoxStream {
 public:
  BoxStream(std::size_t thresholds, std::size_t most, int kind, View<double> grid, double positives, double images)
      : thresholds_(thresholds), most_(most), kind_(kind), grid_(grid.begin(), grid.end()),
        positives_(positives), images_(images) {
    require(thresholds >= 1 && thresholds <= kMostThresholds, "from 1 to 32 IoU thresholds");
    require(kind >= kCoco && kind <= kCurves, "an unknown kind");
    check_finite(grid_.data(), grid_.size(), "the grid must be finite");
    require(grid_.size() >= 2 && std::is_sorted(grid_.begin(), grid_.end()), "the grid must rise");
    require(counted(positives) && counted(images), "a count must be a whole number");
    const double last = static_cast<double>(grid_.size() - 1);
    if (kind == kCoco || kind == kGrid || kind == kCurves) {
      for (std::size_t i = 0; i < grid_.size(); ++i) {
        require(std::fabs(grid_[i] - static_cast<double>(i) / last) <= 1e-7, "the grid must be even, from 0 to 1");
      }
    }
    std::size_t free = 0;  // points that need no hit at all
    while (free < grid_.size() && grid_[free] <= 0) ++free;
    for (std::size_t t = 0; t < thresholds; ++t) {
      one_[t].next = free;
      one_[t].best.assign(grid_.size() + 2, -1.0);
      one_[t].score.assign(grid_.size(), 0.0);
    }
  }

  void feed(View<double> score, View<std::uint16_t> rank, View<Bits> hit, View<Bits> ignored) {
    const std::size_t n = score.size();
    require(rank.size() == n && hit.size() == n && ignored.size() == n, "columns differ in length");
    falls(score, last_, begun_);
    if (!(positives_ > 0)) return;
    const Bits full = all_bits(thresholds_);
    const double* s = score.data();
    for (std::size_t i = 0; i < n; ++i) {
      if (rank.data()[i] >= most_) continue;
      if (!seen_) seen_ = true, first_ = s[i];
      const Bits h = hit.data()[i] & full, ig = ignored.data()[i] & full;
      if (h == 0 && ig == full) continue;
      if (pending_ && s[i] != tied_) close_tie();
      tied_ = s[i];
      if ((h | ig) == 0) {
        plain_ += 1;
        if (kind_ == kMiss) for (std::size_t t = 0; t < thresholds_; ++t) settle(t);
        continue;
      }
      for (std::size_t t = 0; t < thresholds_; ++t) {
        if ((h >> t) & 1) {
          one_[t].tp += 1;
          at_hit(one_[t], s[i]);
          pending_ = true;
        } else if (!((ig >> t) & 1)) {
          one_[t].fp += 1;
          if (kind_ == kMiss) settle(t);
        }
      }
    }
    if (pending_) close_tie();
  }

  std::size_t thresholds() const { return thresholds_; }
  std::size_t points() const { return grid_.size(); }
  bool curves() const { return kind_ == kCurves; }

  // Precision and scores [thresholds][grid], recall [thresholds].
  void curves(double* precision, double* recall, double* scores) const {
    const std::size_t R = grid_.size();
    for (std::size_t t = 0; t < thresholds_; ++t) curves_of(one_[t], precision + t * R, recall + t, scores + t * R);
  }
  // The figure and the recall by threshold.
  void figures(double* value, double* recall) const {
    for (std::size_t t = 0; t < thresholds_; ++t) {
      value[t] = positives_ > 0 ? figure(t) : kNothing;
      recall[t] = positives_ > 0 ? (kind_ == kBestF1 ? one_[t].found : one_[t].tp / positives_) : kNothing;
    }
  }

 private:
  struct Threshold {
    double tp = 0, fp = 0, before = 0, figure = 0, found = kNothing;
    std::size_t next = 0, settled = 0;  // the first point of the grid that is not reached, not settled
    std::vector<double> best;           // by the number of points reached: the best precision there; -1 for no hit
    std::vector<double> score;          // by point: the score at which it is reached
    std::vector<std::pair<double, double>> levels;  // of the envelope: precision and hits
  };

  bool reaches(double recall, std::size_t r) const {
    const double last = static_cast<double>(grid_.size() - 1), beyond = recall * last - static_cast<double>(r);
    return beyond * beyond < 1e-18 ? static_cast<double>(r) / last >= grid_[r] : beyond > 0;
  }

  // How many points of the grid the weight found so far reaches, as box_pass.hpp counts them.
  std::size_t points_to(double tp) const {
    constexpr double magic = 6755399441055744.0;
    const double last = static_cast<double>(grid_.size() - 1), at = tp * (last / positives_);
    const double nearest = (at + magic) - magic, beyond = at - nearest;
    const auto r = static_cast<std::size_t>(nearest);
    if (beyond * beyond < 1e-18) return r + (static_cast<double>(r) / last >= grid_[std::min(r, grid_.size() - 1)]);
    return r + (beyond > 0);
  }

  void at_hit(Threshold& one, double score) {
    if (kind_ == kCurves) {
      const double recall = one.tp / positives_, precision = one.tp / ((one.fp + plain_) + one.tp + kTiny);
      while (one.next < grid_.size() && reaches(recall, one.next)) one.score[one.next++] = score;
      one.best[one.next] = std::max(one.best[one.next], precision);
    } else if (kind_ <= kArea) {
      const double all = (one.fp + plain_) + one.tp + (kind_ == kCoco ? kTiny : 0.0);
      const double precision = quotient(one.tp, all > kTiny ? all : kTiny);
      if (kind_ < kArea) {
        double& best = one.best[std::min(points_to(one.tp), grid_.size() + 1)];
        best = std::max(best, precision);
        return;
      }
      double hits = 1;
      while (!one.levels.empty() && one.levels.back().first <= precision) {
        hits += one.levels.back().second;
        one.levels.pop_back();
      }
      one.levels.emplace_back(precision, hits);
    }
  }

  // Equal scores are over. A tie without a hit changes neither a step nor the best F1.
  void close_tie() {
    pending_ = false;
    if (kind_ != kStep && kind_ != kBestF1) return;
    for (std::size_t t = 0; t < thresholds_; ++t) {
      Threshold& one = one_[t];
      if (one.tp == one.before) continue;
      const double all = one.tp + (one.fp + plain_);
      if (kind_ == kStep) {
        one.figure += (one.tp - one.before) * (one.tp / all);
      } else {
        const double f1 = 2 * one.tp / (all + positives_);
        if (f1 > one.figure) one.figure = f1, one.found = tied_;
      }
      one.before = one.tp;
    }
  }

  void settle(std::size_t t) { settle(one_[t], images_ > 0 ? (one_[t].fp + plain_) / images_ : 0.0); }

  void settle(Threshold& one, double limit) const {
    while (one.settled < grid_.size() && limit > grid_[one.settled]) {
      one.figure += std::log(std::max(1e-10, 1 - one.tp / positives_));
      ++one.settled;
    }
  }

  void curves_of(const Threshold& one, double* precision, double* recall, double* scores) const {
    if (!(positives_ > 0)) {
      *recall = kNothing;
      std::fill_n(precision, grid_.size(), kNothing);
      std::fill_n(scores, grid_.size(), kNothing);
      return;
    }
    *recall = one.tp / positives_;
    double best = 0.0;
    for (std::size_t r = grid_.size(); r-- > 0;) {
      best = std::max(best, one.best[r + 1]);
      precision[r] = r < one.next ? best : 0.0;
      scores[r] = grid_[r] <= 0 ? first_ : one.score[r];
    }
  }

  double figure(std::size_t t) const {
    Threshold one = one_[t];
    const auto points = static_cast<double>(grid_.size());
    switch (kind_) {
      case kCoco:
      case kGrid: {
        double best = 0.0, sum = 0.0;
        std::size_t upper = 0;
        for (std::size_t u = one.best.size(); u-- > 0;) {  // from the last hits back, as box_pass.hpp adds
          if (one.best[u] < 0) continue;
          if (upper) sum += best * static_cast<double>(upper - u);
          best = std::max(best, one.best[u]);
          upper = u;
        }
        return (sum + best * static_cast<double>(upper)) / points;
      }
      case kArea: {
        double sum = 0.0;
        for (std::size_t i = one.levels.size(); i-- > 0;) {
          for (double hits = 0; hits < one.levels[i].second; ++hits) sum += one.levels[i].first;
        }
        return sum / positives_;
      }
      case kStep:
        return one.figure / positives_;
      case kMiss:
        settle(one, std::numeric_limits<double>::infinity());
        return std::exp(one.figure / points);
      case kBestF1:
        return one.figure;
      default:
        return 0.0;
    }
  }

  std::size_t thresholds_, most_;
  int kind_;
  std::vector<double> grid_;
  double positives_, images_;
  double plain_ = 0;  // detections on nothing, at any threshold
  double last_ = 0, tied_ = 0, first_ = 0;
  bool begun_ = false, seen_ = false, pending_ = false;
  std::array<Threshold, kMostThresholds> one_;
};

// Rows of a class by their score: the walk of ranked.cpp under even weights.
class LabelStream {
 public:
  LabelStream(int kind, double limit, double positives, double negatives)
      : kind_(static_cast<Kind>(kind)), limit_(limit), positives_(positives), negatives_(negatives) {
    require(kind >= 0 && kind <= static_cast<int>(Kind::tpr), "there is no such kind");
    require(counted(positives) && counted(negatives), "a count must be a whole number");
    require(!std::isnan(limit), "the limit is not a number");
  }

  void feed(View<double> score, View<std::uint8_t> positive) {
    const std::size_t n = score.size();
    require(positive.size() == n, "columns differ in length");
    falls(score, last_, begun_);
    for (std::size_t i = 0; i < n; ++i) {
      (positive.data()[i] ? tp_ : fp_) += 1;
      if (i + 1 == n || score.data()[i] != score.data()[i + 1]) step(score.data()[i]);
    }
  }

  double result() const {
    if (!(tp_ > 0.0) || ((kind_ == Kind::auc || kind_ == Kind::tpr) && !(fp_ > 0.0))) return kNothing;
    if (kind_ == Kind::ap) return area_ / tp_;
    if (kind_ == Kind::auc) return area_ / (tp_ * fp_);
    return kind_ == Kind::best_threshold ? at_ : best_;
  }

 private:
  enum class Kind { ap, auc, best_f1, best_threshold, tpr };

  void step(double score) {
    switch (kind_) {
      case Kind::ap:
        if (tp_ > before_tp_) area_ += (tp_ - before_tp_) * (tp_ / (tp_ + fp_));
        break;
      case Kind::auc:
        area_ += (fp_ - before_fp_) * (tp_ + before_tp_) * 0.5;
        break;
      case Kind::best_f1:
      case Kind::best_threshold: {
        const double f1 = 2.0 * tp_ / (tp_ + fp_ + positives_);
        if (!found_ || f1 > best_) best_ = f1, at_ = score, found_ = true;
        break;
      }
      case Kind::tpr:
        if (fp_ / negatives_ <= limit_) best_ = tp_ / positives_;
        break;
    }
    before_tp_ = tp_;
    before_fp_ = fp_;
  }

  Kind kind_;
  double limit_, positives_, negatives_;
  double tp_ = 0, fp_ = 0, before_tp_ = 0, before_fp_ = 0, area_ = 0, best_ = 0, at_ = 0, last_ = 0;
  bool begun_ = false, found_ = false;
};

}  // namespace steelyard
