// Readings that keep a few numbers of the past, whatever the number of events: for rankings that come in parts.
//
// Precision on a recall grid is the highest precision at or after the hit that reaches a point. Going forward, hits
// fall between two points of the grid; the highest precision between each two is enough, and is carried back in the
// end. Hits between two points add a step of 0 to the mean, so the bits are those of Envelope (reference.hpp). For the
// area under the envelope, its levels so far are kept as a falling stack with the number of hits of each; a higher
// precision takes the lower ones off it.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "ap/reference.hpp"

namespace steelyard::STEELYARD_TARGET {
namespace {

// The mean of the envelope on a grid, under one row of weights.
struct ForwardGrid {
  static constexpr bool kByTie = false;
  Plain<1> plain;
  double tiny, scale;
  GridPoints points;
  std::vector<double> best;  // by the number of points reached: the best precision there; -1 for no hit
  Reals<1> tp{}, fp{};

  ForwardGrid(double added, double positives, GridPoints grid)
      : plain{},
        tiny(added),
        scale(grid.last / positives),
        points(grid),
        best(static_cast<std::size_t>(grid.last) + 3, -1.0) {}

  void hit(const double* w, std::size_t i) {
    double precision, found, reached;
    precision_at<1>(tp.v, w, fp.v, plain(i), tiny, &precision, &found);
    points.reached_by<1>(tp.v, &scale, &reached);
    double& highest = best[std::min(static_cast<std::size_t>(reached), best.size() - 1)];
    highest = std::max(highest, precision);
  }
  void miss(const double* w) { add(fp, w); }

  double figure() const {
    double highest = 0.0, sum = 0.0;
    std::size_t upper = 0;
    for (std::size_t u = best.size(); u-- > 0;) {  // from the last hits back, as Envelope adds
      if (best[u] < 0) continue;
      if (upper) sum += highest * static_cast<double>(upper - u);
      highest = std::max(highest, best[u]);
      upper = u;
    }
    return (sum + highest * static_cast<double>(upper)) / (points.last + 1);
  }
};

// The area under the envelope, times the positives; every hit weighs 1.
struct ForwardArea {
  static constexpr bool kByTie = false;
  Plain<1> plain{};
  std::vector<std::pair<double, double>> levels;  // precision and hits
  Reals<1> tp{}, fp{};

  void hit(const double* w, std::size_t i) {
    double precision, found, hits = 1;
    precision_at<1>(tp.v, w, fp.v, plain(i), 0.0, &precision, &found);
    for (; !levels.empty() && levels.back().first <= precision; levels.pop_back()) hits += levels.back().second;
    levels.emplace_back(precision, hits);
  }
  void miss(const double* w) { add(fp, w); }

  double figure() const {
    double sum = 0.0;
    for (std::size_t i = levels.size(); i-- > 0;) {
      for (double hits = 0; hits < levels[i].second; ++hits) sum += levels[i].first;
    }
    return sum;
  }
};

// The reference's curves to the bit: precision and score on the points of a grid, under one row of weights.
struct Curves {
  static constexpr bool kByTie = false;
  Plain<1> plain{};
  const double *grid, *score;  // `score` by event; null where the scores are not asked for
  std::size_t points;
  double positives, near;          // `near`: what must be found before it is worth asking whether `next` is reached
  std::size_t next = 0, free = 0;  // the first point that is not reached, and at the start
  std::vector<double> best, at;    // the best precision between two points; by point the score at which it is reached
  Reals<1> tp{}, fp{};

  Curves(const double* recalls, std::size_t count, double all)
      : grid(recalls), score(nullptr), points(count), positives(all), near(0), best(count + 1, -1.0), at(count, 0.0) {
    while (next < points && grid[next] <= 0) ++next;  // points that need no hit at all
    free = next;
    near = nearly(next);
  }
  // As it was before the first event, with the same memory.
  void reset() {
    next = free;
    near = nearly(next);
    tp = fp = {};
    std::fill(best.begin(), best.end(), -1.0);
    if (score) std::fill(at.begin(), at.end(), 0.0);
  }

  void hit(const double* w, std::size_t i) {
    add(tp, w);
    const double precision = tp[0] / ((fp[0] + plain(i)[0]) + tp[0] + kTiny);
    if (tp[0] >= near) {
      const std::size_t before = next;
      reach(tp[0] / positives);
      if (score) std::fill(at.data() + before, at.data() + next, score[i]);
      near = nearly(next);
    }
    best[next] = std::max(best[next], precision);
  }
  void miss(const double* w) { add(fp, w); }

  // `first` is the score of the first detection.
  void read(double first, double* precision, double* recall, double* scores) const {
    *recall = tp[0] / positives;
    double highest = 0.0;
    std::fill(precision + next, precision + points, 0.0);
    for (std::size_t r = next; r-- > 0;) {  // what is best beyond the last point that is reached stands at `next`
      highest = std::max(highest, best[r + 1]);
      precision[r] = highest;
    }
    if (!scores) return;
    for (std::size_t r = 0; r < points; ++r) scores[r] = grid[r] <= 0 ? first : at[r];
  }

 private:
  double nearly(std::size_t r) const {
    return (static_cast<double>(r) - 1e-6) / static_cast<double>(points - 1) * positives;
  }

  // Steps over the points that a recall reaches: at once over those that lie well below it.
  void reach(double recall) {
    const double below = recall * static_cast<double>(points - 1) - 1e-6;
    if (below >= 0) next = std::max(next, std::min(points, static_cast<std::size_t>(below) + 1));
    while (next < points && reaches(recall, next)) ++next;
  }

  // Whether a recall reaches point r of the grid. On the point itself (real weights add up to it only nearly) the
  // point's own rounding decides, as it does for whole weights in the reference.
  bool reaches(double recall, std::size_t r) const {
    const double last = static_cast<double>(points - 1), beyond = recall * last - static_cast<double>(r);
    return beyond * beyond < 1e-18 ? static_cast<double>(r) / last >= grid[r] : beyond > 0;
  }
};

}  // namespace
}  // namespace steelyard::STEELYARD_TARGET
