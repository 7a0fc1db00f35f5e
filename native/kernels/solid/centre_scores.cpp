// Average precision and errors of matches by the distance of centres, under weights of samples: see centres.hpp.
//
// A sample of weight w stands for w samples: each of its matches is w points of the curve, one after the other. The
// part of a weight beyond a whole number is a point of its own. Curves are read as numpy.interp reads them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "solid/centres.hpp"
#include "solid/weighed.hpp"
#include "support/pool.hpp"

namespace steelyard::solid {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

double recall_at(int place) { return place == kRecalls - 1 ? 1.0 : place * 0.01; }

double between(double x, double x0, double x1, double y0, double y1) {
  return x == x0 ? y0 : (y1 - y0) / (x1 - x0) * (x - x0) + y0;
}

// Precision and confidence at the recalls, from points whose recall never falls.
class Recalls {
 public:
  double precision[kRecalls], confidence[kRecalls];

  explicit Recalls(double truths) : truths_(truths) {}

  void hit(double score, double weight) {
    while (weight > 0) {
      if (place_ == kRecalls) {  // no recall is left to read
        tp_ += weight;
        return;
      }
      if (weight > 8 && any_) {  // points between two recalls are passed in one step
        const double many = std::min(std::floor(weight) - 4, std::floor(recall_at(place_) * truths_ - tp_) - 3);
        if (many >= 1) {
          point(tp_ + 1, score);
          tp_ += many - 1, weight -= many;
          last_ = {tp_ / truths_, tp_ / (tp_ + fp_), score};
        }
      }
      const double piece = std::min(1.0, weight);
      point(tp_ + piece, score);
      weight -= piece;
    }
  }
  void miss(double score, double weight) {
    fp_ += weight;
    last_ = {any_ ? last_.recall : 0.0, tp_ / (tp_ + fp_), score};
    any_ = true;
  }
  void finish() {
    for (; place_ < kRecalls && recall_at(place_) <= last_.recall; ++place_) set(last_.precision, last_.score);
    while (place_ < kRecalls) set(0, 0), ++place_;
  }
  double hits() const { return tp_; }

 private:
  struct Point {
    double recall, precision, score;
  };

  void point(double tp, double score) {
    tp_ = tp;
    const Point now{tp_ / truths_, tp_ / (tp_ + fp_), score};
    for (; place_ < kRecalls && recall_at(place_) < now.recall; ++place_) {
      const double x = recall_at(place_);
      if (!any_ || x < last_.recall) {
        set(now.precision, now.score);
      } else {
        set(between(x, last_.recall, now.recall, last_.precision, now.precision),
            between(x, last_.recall, now.recall, last_.score, now.score));
      }
    }
    last_ = now;
    any_ = true;
  }
  void set(double p, double c) { precision[place_] = p, confidence[place_] = c; }

  double truths_, tp_ = 0, fp_ = 0;
  Point last_{0, 0, 0};
  bool any_ = false;
  int place_ = 0;
};

// The running mean of errors over matches of equal score: behind the first of them, and behind all.
struct Run {
  double score;
  double first[kErrors], last[kErrors];
};

class Means {
 public:
  void add(double score, double weight, const double* errors) {
    const bool fresh = runs_.empty() || runs_.back().score != score;
    if (fresh) runs_.push_back({score, {}, {}});
    const double piece = std::min(1.0, weight);
    for (std::size_t k = 0; k < kErrors; ++k) {
      if (!std::isnan(errors[k])) {
        if (fresh) runs_.back().first[k] = (sum_[k] + piece * errors[k]) / (count_[k] + piece);
        sum_[k] += weight * errors[k], count_[k] += weight;
      } else if (fresh) {
        runs_.back().first[k] = mean(k);
      }
      runs_.back().last[k] = mean(k);
    }
  }
  // At a score, which must not rise from call to call; 1 where the error is defined for no match.
  double at(double score, std::size_t k) {
    if (!(count_[k] > 0)) return 1;
    if (score >= runs_[0].score) return runs_[0].first[k];
    std::size_t& at = at_[k];
    while (at + 1 < runs_.size() && runs_[at + 1].score > score) ++at;
    if (at + 1 == runs_.size()) return runs_[at].last[k];
    const Run &high = runs_[at], &low = runs_[at + 1];
    return between(score, low.score, high.score, low.first[k], high.last[k]);
  }

 private:
  double mean(std::size_t k) const { return count_[k] > 0 ? sum_[k] / count_[k] : 0; }

  std::vector<Run> runs_;
  double sum_[kErrors] = {}, count_[kErrors] = {};
  std::size_t at_[kErrors] = {};
};

// What one row of weights comes to; `curves` may be null.
void one_row(const CentreEvents& in, std::size_t begin, std::size_t end, double truths, Weighed weigh,
             const CentreRule& rule, double* out, double* curves) {
  const std::size_t width = rule.distances + kErrors;
  std::fill_n(out, width, kUndefined);
  if (curves) std::fill_n(curves, (width + 1) * kRecalls, 0.0);
  if (!(truths > 0) || !std::isfinite(truths)) return;
  truths = weigh.scaled(truths);
  const int first = static_cast<int>(std::lround(100 * rule.least_recall)) + 1;
  for (std::size_t k = 0; k < rule.distances; ++k) {
    Recalls recalls(truths);
    Means means;
    const bool errors = k == rule.error_at;
    for (std::size_t e = begin; e < end; ++e) {
      const double w = weigh.of(in.unit[e]);
      if (!(w > 0)) continue;
      if (in.bits[e] & (1u << k)) {
        recalls.hit(in.score[e], w);
        if (errors) means.add(in.score[e], w, in.errors.row(e));
      } else {
        recalls.miss(in.score[e], w);
      }
    }
    const bool none = !(recalls.hits() > 0);
    recalls.finish();
    double sum = 0;
    for (int place = first; place < kRecalls; ++place) {
      sum += none ? 0 : std::max(0.0, recalls.precision[place] - rule.least_precision);
    }
    out[k] = sum / (kRecalls - first) / (1.0 - rule.least_precision);
    if (curves && !none) std::copy_n(recalls.precision, kRecalls, curves + k * kRecalls);
    if (!errors) continue;
    int last = 0;
    for (int place = 0; place < kRecalls && !none; ++place) last = recalls.confidence[place] != 0 ? place : last;
    if (curves && !none) std::copy_n(recalls.confidence, kRecalls, curves + rule.distances * kRecalls);
    for (std::size_t j = 0; j < kErrors; ++j) {
      double total = 0;
      for (int place = 0; place < kRecalls; ++place) {
        const double value = none ? 1 : means.at(recalls.confidence[place], j);
        if (place >= first && place <= last) total += value;
        if (curves) curves[(rule.distances + 1 + j) * kRecalls + static_cast<std::size_t>(place)] = value;
      }
      out[rule.distances + j] = none || last < first ? 1 : total / (last - first + 1);
    }
  }
}

}  // namespace

void centre_scores(const CentreEvents& events, View<double> truths, Matrix<double> weights, const CentreRule& rule,
                   long threads, double* out) {
  parallel_for(weights.rows, thread_count(threads), [&](std::size_t r) {
    const double* row = weights.row(r);
    double sum = 0;
    for (std::size_t u = 0; u < truths.size(); ++u) sum += truths[u] * row[u];
    one_row(events, 0, events.score.size(), sum, {row}, rule, out + r * (rule.distances + kErrors), nullptr);
  });
}

void centre_scores_by_unit(const CentreEvents& events, View<double> truths, const CentreRule& rule, double* out) {
  std::size_t begin = 0;
  for (std::size_t unit = 0; unit < truths.size(); ++unit) {
    std::size_t end = begin;
    while (end < events.unit.size() && events.unit[end] == static_cast<std::int32_t>(unit)) ++end;
    one_row(events, begin, end, truths[unit], {nullptr}, rule, out + unit * (rule.distances + kErrors), nullptr);
    begin = end;
  }
}

void centre_curves(const CentreEvents& events, View<double> truths, const double* weights, const CentreRule& rule,
                   double* out) {
  double sum = 0;
  for (std::size_t u = 0; u < truths.size(); ++u) sum += truths[u] * weights[u];
  std::vector<double> scores(rule.distances + kErrors);
  one_row(events, 0, events.score.size(), sum, {weights}, rule, scores.data(), out);
}

}  // namespace steelyard::solid
