// A row of weights is one walk down the ranking, which writes a point at the end of each run of equal scores that has
// weight. Every figure is then read from the points, so rules differ in a few lines each.
#include "rates/rates.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "support/checks.hpp"
#include "support/pool.hpp"

namespace steelyard {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Weights of hits, of others and of right hits among the events so far; the first point is before all events.
struct RatePoints {
  std::vector<double> hit, miss, right;
  std::vector<std::size_t> end;  // one behind the last event of the run
  bool whole = true;

  void clear() {
    hit.assign(1, 0.0);
    miss.assign(1, 0.0);
    right.assign(1, 0.0);
    end.assign(1, 0);
    whole = true;
  }
  void reserve(std::size_t n) {
    for (auto* column : {&hit, &miss, &right}) column->reserve(n);
    end.reserve(n);
  }
  std::size_t size() const { return hit.size(); }
  double hits() const { return hit.back(); }
  double misses() const { return miss.back(); }
  double tpr(std::size_t k) const { return hit[k] / hits(); }
  double far(std::size_t k) const { return miss[k] / misses(); }
  double frr(std::size_t k) const { return 1.0 - tpr(k); }
  double gap(std::size_t k) const { return far(k) - frr(k); }
};

// The events [first, stop) under one row of weights; without a row, every unit weighs 1.
void collect(const RatedEvents& in, const double* row, std::size_t first, std::size_t stop, RatePoints& points) {
  points.clear();
  double hit = 0.0, miss = 0.0, right = 0.0;
  const bool two = !in.second.empty();
  for (std::size_t i = first; i < stop; ++i) {
    double weight = 1.0;
    if (row) {
      const auto a = static_cast<std::size_t>(in.owner[i]);
      weight = row[a];
      if (two && in.second[i] != in.owner[i]) weight *= row[static_cast<std::size_t>(in.second[i])];
    }
    if (!in.value.empty()) weight *= in.value[i];
    if (weight != std::floor(weight)) points.whole = false;
    if (in.kind[i] & 1) {
      hit += weight;
      if (in.kind[i] & 2) right += weight;
    } else {
      miss += weight;
    }
    if (!in.last[i] && i + 1 < stop) continue;
    if (hit == points.hit.back() && miss == points.miss.back()) continue;
    points.hit.push_back(hit);
    points.miss.push_back(miss);
    points.right.push_back(right);
    points.end.push_back(i + 1);
  }
}

// What is read at hits alone needs no point inside a stretch of others: the points before and behind each run of equal
// scores that has hits are enough, and others are only added up, for several rows of weights at a time.
constexpr std::size_t kLanes = 4;

// Runs of equal scores that have hits, and the owners as places in a table of weights. Place `units` is of weight 1:
// the second owner of an event with one owner.
struct HitRuns {
  std::vector<std::uint32_t> first, second;
  std::vector<std::size_t> begin, end;

  HitRuns(const RatedEvents& in, std::size_t units) : first(in.kind.size()), second(in.kind.size()) {
    const bool alone = in.owner.empty(), two = !in.second.empty();
    bool hit = false;
    std::size_t start = 0;
    for (std::size_t i = 0; i < in.kind.size(); ++i) {
      first[i] = static_cast<std::uint32_t>(alone ? units : static_cast<std::size_t>(in.owner[i]));
      const bool other = !alone && two && in.second[i] != in.owner[i];
      second[i] = static_cast<std::uint32_t>(other ? static_cast<std::size_t>(in.second[i]) : units);
      hit = hit || (in.kind[i] & 1);
      if (!in.last[i] && i + 1 < in.kind.size()) continue;
      if (hit) begin.push_back(start), end.push_back(i + 1);
      hit = false;
      start = i + 1;
    }
  }
};

void push(RatePoints& points, double hit, double miss, std::size_t end) {
  if (hit == points.hit.back() && miss == points.miss.back()) return;
  points.hit.push_back(hit);
  points.miss.push_back(miss);
  points.right.push_back(0.0);
  points.end.push_back(end);
}

// `table` holds the weights of each place, those of all rows side by side.
void collect_at_hits(const RatedEvents& in, const HitRuns& runs, const double* table, RatePoints* points) {
  double hit[kLanes] = {}, miss[kLanes] = {};
  for (std::size_t k = 0; k < kLanes; ++k) points[k].clear();
  auto add = [&](double* sum, std::size_t i) {
    const double *a = table + kLanes * runs.first[i], *b = table + kLanes * runs.second[i];
    const double value = in.value.empty() ? 1.0 : in.value[i];
    for (std::size_t k = 0; k < kLanes; ++k) sum[k] += a[k] * b[k] * value;
  };
  auto push_all = [&](std::size_t end) {
    for (std::size_t k = 0; k < kLanes; ++k) push(points[k], hit[k], miss[k], end);
  };
  std::size_t i = 0;
  for (std::size_t run = 0; run < runs.begin.size(); ++run) {
    for (; i < runs.begin[run]; ++i) add(miss, i);
    push_all(i);
    for (; i < runs.end[run]; ++i) add(in.kind[i] & 1 ? hit : miss, i);
    push_all(i);
  }
  for (; i < in.kind.size(); ++i) add(miss, i);
  push_all(i);
}

// The same points where every event weighs 1: others are not walked, since their number follows from the place.
void collect_counts_at_hits(const RatedEvents& in, RatePoints& points) {
  constexpr std::uint64_t kHits = 0x0101010101010101;
  points.clear();
  const std::size_t n = in.kind.size();
  const auto most = std::count_if(in.kind.begin(), in.kind.end(), [](std::uint8_t kind) { return kind & 1; });
  points.reserve(std::min(n, 2 * static_cast<std::size_t>(most)) + 2);
  std::size_t hits = 0, i = 0;
  while (i < n) {
    std::uint64_t eight = kHits;
    if (i + sizeof eight <= n) std::memcpy(&eight, in.kind.data() + i, sizeof eight);
    if (!(eight & kHits)) {
      i += sizeof eight;
      continue;
    }
    if (!(in.kind[i] & 1)) {
      ++i;
      continue;
    }
    std::size_t start = i, end = i + 1;
    while (start > 0 && !in.last[start - 1]) --start;
    while (end < n && !in.last[end - 1]) ++end;
    push(points, static_cast<double>(hits), static_cast<double>(start - hits), start);
    for (std::size_t k = i; k < end; ++k) hits += in.kind[k] & 1;
    push(points, static_cast<double>(hits), static_cast<double>(end - hits), end);
    i = end;
  }
  push(points, static_cast<double>(hits), static_cast<double>(n - hits), n);
}

double between(double x, double x0, double x1, double y0, double y1) {
  return x1 > x0 ? y0 + (y1 - y0) / (x1 - x0) * (x - x0) : y1;
}

double true_accepts(const RatePoints& p, double far, int rule) {
  std::size_t best = 0;
  if (rule == 1) {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t k = p.size(); k-- > 0;) {  // of equally near ones, up to rounding, the larger FAR
      const double away = std::fabs(p.far(k) - far);
      if (away < least - 1e-12) least = away, best = k;
    }
    return p.tpr(best);
  }
  for (std::size_t k = 1; k < p.size() && p.far(k) <= far; ++k) {
    if (rule != 2 || p.miss[k] > p.miss[k - 1] || p.miss[k] == 0.0) best = k;
  }
  if (rule != 3 || best + 1 == p.size()) return p.tpr(best);
  return between(far, p.far(best), p.far(best + 1), p.tpr(best), p.tpr(best + 1));
}

double equal_errors(const RatePoints& p, int rule) {
  if (rule == 1) {
    std::size_t best = 0;
    for (std::size_t k = 1; k < p.size(); ++k) {
      if (std::fabs(p.gap(k)) < std::fabs(p.gap(best))) best = k;
    }
    return (p.far(best) + p.frr(best)) / 2.0;
  }
  std::size_t k = 1;  // the last point has FAR 1 and FRR 0
  while (p.gap(k) < 0.0) ++k;
  if (rule == 2) {
    const double before = p.far(k - 1) + p.frr(k - 1), at = p.far(k) + p.frr(k);
    return (p.gap(k) == 0.0 ? at : std::min(before, at)) / 2.0;
  }
  if (p.gap(k) == 0.0) return p.far(k);
  return p.far(k - 1) + (p.far(k) - p.far(k - 1)) * -p.gap(k - 1) / (p.gap(k) - p.gap(k - 1));
}

double least_cost(const RatePoints& p, View<double> parameters) {
  const double miss = parameters[1] * parameters[0], alarm = parameters[2] * (1.0 - parameters[0]);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < p.size(); ++k) least = std::min(least, miss * p.frr(k) + alarm * p.far(k));
  return parameters[3] != 0.0 ? least / std::min(miss, alarm) : least;
}

double most_right(const RatePoints& p) {
  double most = 0.0;
  for (std::size_t k = 0; k < p.size(); ++k) most = std::max(most, p.hit[k] + p.misses() - p.miss[k]);
  return most / (p.hits() + p.misses());
}

// Whether the thinned curve of scikit-learn drops a point: it lies in the middle of two equal steps.
bool is_thinned(const RatePoints& p, std::size_t k) {
  if (k == 0 || k + 1 >= p.size() || k == 1) return false;
  return p.hit[k + 1] - p.hit[k] == p.hit[k] - p.hit[k - 1] && p.miss[k + 1] - p.miss[k] == p.miss[k] - p.miss[k - 1];
}

double false_alarms(const RatePoints& p, double tpr, int rule) {
  std::size_t k = 0;
  while (k + 1 < p.size() && (p.tpr(k) < tpr || (rule == 2 && is_thinned(p, k)))) ++k;
  if (rule != 1 || k == 0 || p.tpr(k) <= tpr) return p.far(k);
  return between(tpr, p.tpr(k - 1), p.tpr(k), p.far(k - 1), p.far(k));
}

double precision_area(const RatePoints& p, bool trapezoid) {
  double area = 0.0, before = 1.0;
  for (std::size_t k = 1; k < p.size(); ++k) {
    const double precision = p.hit[k] / (p.hit[k] + p.miss[k]);
    area += (p.tpr(k) - p.tpr(k - 1)) * (trapezoid ? (precision + before) / 2.0 : precision);
    before = precision;
  }
  return area;
}

double ranking_area(const RatePoints& p, const std::vector<double>& rising, double whole) {
  double area = 0.0;
  for (std::size_t k = 1; k < p.size(); ++k) area += (p.miss[k] - p.miss[k - 1]) * (rising[k] + rising[k - 1]);
  return area / 2.0 / whole / p.misses();
}

std::size_t best_point(const RatePoints& p) {
  std::size_t best = 1;
  double most = -1.0;
  for (std::size_t k = 1; k < p.size(); ++k) {
    const double f1 = 2.0 * p.hit[k] / (p.hit[k] + p.miss[k] + p.hits());
    if (f1 > most) most = f1, best = k;
  }
  return best;
}

// Standardised difference of the means of both kinds, with the variances that divide by the weight.
double separation(const RatedEvents& in, const RatePoints& p) {
  const double weight[2] = {p.misses(), p.hits()};
  if (!(weight[0] > 0.0) || !(weight[1] > 0.0)) return kNone;
  double sum[2] = {}, square[2] = {};
  auto each = [&](auto body) {  // run by run, so that the order of equal scores does not matter
    for (std::size_t k = 1; k < p.size(); ++k) {
      const double score = in.score[p.end[k] - 1];
      if (p.miss[k] > p.miss[k - 1]) body(0, p.miss[k] - p.miss[k - 1], score);
      if (p.hit[k] > p.hit[k - 1]) body(1, p.hit[k] - p.hit[k - 1], score);
    }
  };
  each([&](int kind, double w, double score) { sum[kind] += w * score; });
  const double mean[2] = {sum[0] / weight[0], sum[1] / weight[1]};
  each([&](int kind, double w, double score) { square[kind] += w * (score - mean[kind]) * (score - mean[kind]); });
  const double spread = std::sqrt(0.5 * (square[0] / weight[0] + square[1] / weight[1]));
  return spread > 0.0 ? (mean[1] - mean[0]) / spread : kNone;
}

// H(c + b) - H(c) of harmonic numbers, for whole c and b.
double harmonic_gap(double c, double b) {
  double sum = 0.0;
  if (b <= 64.0) {
    for (double m = 1.0; m <= b; ++m) sum += 1.0 / (c + m);
    return sum;
  }
  for (; c < 64.0; --b) sum += 1.0 / ++c;
  const double e = c + b, c2 = 1.0 / (c * c), e2 = 1.0 / (e * e);
  return sum + std::log1p(b / c) + (1.0 / e - 1.0 / c) / 2.0 - (e2 - c2) / 12.0 + (e2 * e2 - c2 * c2) / 120.0;
}

double risk_figure(const RatePoints& p, RateFigure figure, View<double> parameters) {
  const double n = p.hits() + p.misses(), errors = p.hits();
  if (!p.whole || !(n > 0.0)) return kNone;
  if (figure == RateFigure::risk || figure == RateFigure::coverage) {
    const double wanted = std::clamp(std::ceil(parameters[0] * n - 1e-9), 1.0, n);
    for (std::size_t k = p.size(); k-- > 1;) {
      const double c = p.hit[k - 1] + p.miss[k - 1], b = p.hit[k] + p.miss[k] - c;
      const double y = p.hit[k - 1], x = p.hit[k] - y;
      if (figure == RateFigure::risk) {
        if (wanted > c) return (y + x * (wanted - c) / b) / wanted;
        continue;
      }
      const double r = parameters[0], slack = 1e-12 * n;  // within a run the risk of m rows is (y + x m / b) / (c + m)
      if (y + x <= r * (c + b) + slack) return (c + b) / n;
      if (x / b <= r) continue;
      const double m = std::floor((r * c - y) / (x / b - r) + 1e-9);
      if (m >= 1.0) return (c + std::min(m, b)) / n;
    }
    return kNone;
  }
  double sum = 0.0;
  for (std::size_t k = 1; k < p.size(); ++k) {
    const double c = p.hit[k - 1] + p.miss[k - 1], b = p.hit[k] + p.miss[k] - c;
    const double y = p.hit[k - 1], x = p.hit[k] - y;
    sum += figure == RateFigure::augrc ? y * b + x * (b + 1.0) / 2.0 : x + (y - x * c / b) * harmonic_gap(c, b);
  }
  if (figure == RateFigure::augrc) return sum / n / n;
  if (figure == RateFigure::aurc) return sum / n;
  const double share = errors / n;
  const double oracle = parameters[0] != 0.0 ? (share < 1.0 ? share + (1.0 - share) * std::log1p(-share) : 1.0)
                                             : (errors - (n - errors) * harmonic_gap(n - errors, errors)) / n;
  return sum / n - oracle;
}

double right_above(const RatePoints& p, double fpr) {
  const double n = p.misses(), wanted = n == std::floor(n) ? std::ceil(fpr * n) : fpr * n;
  std::size_t k = 1;
  while (k + 1 < p.size() && p.miss[k] < wanted) ++k;
  return p.right[k - 1] / p.hits();
}

double read_figure(const RatedEvents& in, RateFigure figure, View<double> parameters, const RatePoints& points) {
  if (figure == RateFigure::dprime) return separation(in, points);
  if (figure == RateFigure::misses) return points.misses();
  if (figure == RateFigure::hits) return points.hits();
  if (figure >= RateFigure::aurc && figure <= RateFigure::coverage) return risk_figure(points, figure, parameters);
  const bool hits = points.hits() > 0.0, misses = points.misses() > 0.0;
  auto beyond = [&] {  // the last point whose scores reach the threshold
    std::size_t k = 0;
    while (k + 1 < points.size() && in.score[points.end[k + 1] - 1] >= parameters[0]) ++k;
    return k;
  };
  switch (figure) {
    case RateFigure::far_at: return misses ? points.far(beyond()) : kNone;
    case RateFigure::frr_at: return hits ? points.frr(beyond()) : kNone;
    case RateFigure::ap: return hits ? precision_area(points, false) : kNone;
    case RateFigure::best_f1: {
      if (!hits) return kNone;
      const std::size_t k = best_point(points);
      return 2.0 * points.hit[k] / (points.hit[k] + points.miss[k] + points.hits());
    }
    case RateFigure::right: return hits ? points.right.back() / points.hits() : kNone;
    case RateFigure::best_threshold: return hits ? in.score[points.end[best_point(points)] - 1] : kNone;
    default: break;
  }
  if (!hits || !misses) return kNone;
  switch (figure) {
    case RateFigure::tar: return true_accepts(points, parameters[0], static_cast<int>(parameters[1]));
    case RateFigure::eer: return equal_errors(points, static_cast<int>(parameters[0]));
    case RateFigure::min_dcf: return least_cost(points, parameters);
    case RateFigure::best_accuracy: return most_right(points);
    case RateFigure::fpr_at_tpr: return false_alarms(points, parameters[0], static_cast<int>(parameters[1]));
    case RateFigure::aupr: return precision_area(points, true);
    case RateFigure::auc: return ranking_area(points, points.hit, points.hits());
    case RateFigure::ccr: return right_above(points, parameters[0]);
    case RateFigure::oscr: return ranking_area(points, points.right, points.hits());
    default: return kNone;
  }
}

}  // namespace

bool is_read_at_hits(RateFigure figure, View<double> parameters) {
  const int first = static_cast<int>(parameters[0]), second = static_cast<int>(parameters[1]);
  switch (figure) {
    case RateFigure::tar: return second == 0 || second == 3;
    case RateFigure::eer: return first == 0;
    case RateFigure::fpr_at_tpr: return second != 2;
    case RateFigure::min_dcf:
    case RateFigure::best_accuracy:
    case RateFigure::aupr:
    case RateFigure::auc:
    case RateFigure::ap:
    case RateFigure::best_f1:
    case RateFigure::best_threshold:
    case RateFigure::misses:
    case RateFigure::hits: return true;
    default: return false;
  }
}

RateFigure check_rate_figure(int figure) {
  require(figure >= 0 && figure <= static_cast<int>(RateFigure::right), "there is no such figure");
  return static_cast<RateFigure>(figure);
}

void check_rated_events(const RatedEvents& events, std::size_t units) {
  const std::size_t n = events.kind.size();
  require(events.last.size() == n && events.score.size() == n, "events must be as many in every column");
  require(events.owner.empty() || events.owner.size() == n, "each event needs an owner, or none has one");
  require(events.second.empty() || events.second.size() == n, "each event needs a second owner, or none has one");
  require(events.value.empty() || events.value.size() == n, "each event needs a value, or none has one");
  check_weights(events.value);
  check_numbers(events.score.data(), n, "a score is not a number");
  for (View<std::int64_t> owners : {events.owner, events.second}) {
    for (std::int64_t owner : owners) {
      require(owner >= 0 && static_cast<std::size_t>(owner) < units, "an owner is out of range");
    }
  }
}

void rates(const RatedEvents& events, Matrix<double> weights, RateFigure figure, View<double> parameters, long threads,
           double* out) {
  const std::size_t n = events.kind.size();
  const std::size_t workers = weights.rows * n < 20000 ? 1 : thread_count(threads);
  if (is_read_at_hits(figure, parameters) && events.owner.empty()) {  // the same for all rows of weights
    RatePoints points;
    if (events.value.empty()) {
      collect_counts_at_hits(events, points);
    } else {
      points.reserve(n + 1);
      collect(events, nullptr, 0, n, points);
    }
    std::fill(out, out + weights.rows, read_figure(events, figure, parameters, points));
    return;
  }
  if (is_read_at_hits(figure, parameters)) {
    const std::size_t units = weights.columns, blocks = (weights.rows + kLanes - 1) / kLanes;
    const HitRuns runs(events, units);
    parallel_for(blocks, workers, [&](std::size_t block) {
      const std::size_t start = block * kLanes, rows = std::min(kLanes, weights.rows - start);
      std::vector<double> table((units + 1) * kLanes, 0.0);
      for (std::size_t k = 0; k < rows; ++k) {
        for (std::size_t u = 0; u < units; ++u) table[u * kLanes + k] = weights.row(start + k)[u];
        table[units * kLanes + k] = 1.0;
      }
      RatePoints points[kLanes];
      collect_at_hits(events, runs, table.data(), points);
      for (std::size_t k = 0; k < rows; ++k) out[start + k] = read_figure(events, figure, parameters, points[k]);
    });
    return;
  }
  const std::size_t tasks = std::min(weights.rows, std::max<std::size_t>(1, workers * 4));
  parallel_for(tasks, workers, [&](std::size_t task) {
    RatePoints points;
    for (std::size_t r = weights.rows * task / tasks; r < weights.rows * (task + 1) / tasks; ++r) {
      collect(events, events.owner.empty() ? nullptr : weights.row(r), 0, n, points);
      out[r] = read_figure(events, figure, parameters, points);
    }
  });
}

void rates_each(const RatedEvents& events, View<std::int64_t> starts, RateFigure figure, View<double> parameters,
                double* out) {
  RatePoints points;
  for (std::size_t u = 0; u + 1 < starts.size(); ++u) {
    const auto first = static_cast<std::size_t>(starts[u]), stop = static_cast<std::size_t>(starts[u + 1]);
    collect(events, nullptr, first, stop, points);
    out[u] = read_figure(events, figure, parameters, points);
  }
}

}  // namespace steelyard
