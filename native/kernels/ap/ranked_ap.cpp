// Average precision of ranked events under rows of unit weights.
//
// Events come sorted by falling score, once; a row of weights does not change their order. So a bootstrap draw is one
// walk that closes a step where the score changes: equal scores form one step, so the order of units does not matter.
// Several rows go through the events together. Results do not depend on the threads.
#include "ap/ranked_ap.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "ap/reference.hpp"
#include "support/checks.hpp"
#include "support/pool.hpp"

namespace steelyard {
namespace {

using baseline::Lanes;
using baseline::Outcome;

// The points of the curves at which recall rises, for each lane.
struct Point {
  double recall, precision;
};
using Curve = std::vector<Point>;

// The mean of the envelope at `points` + 1 recalls from 0 to 1; a recall counts as reached up to rounding.
double sampled(const Curve& curve, int points) {
  double sum = 0.0;
  std::size_t at = 0;
  for (int i = 0; i <= points; ++i) {
    const double wanted = static_cast<double>(i) / points - 1e-12;
    while (at < curve.size() && curve[at].recall < wanted) ++at;
    if (at == curve.size()) break;
    sum += curve[at].precision;
  }
  return sum / (points + 1);
}

double average(Curve& curve, ApRule rule) {
  for (std::size_t i = curve.size(); i-- > 1;)
    curve[i - 1].precision = std::max(curve[i - 1].precision, curve[i].precision);
  if (rule == ApRule::eleven_points) return sampled(curve, 10);
  if (rule == ApRule::hundred_one_points) return sampled(curve, 100);
  double sum = 0.0, last = 0.0;
  for (const Point& point : curve) {
    sum += (point.recall - last) * point.precision;
    last = point.recall;
  }
  return sum;
}

// The events [begin, end) and what their units weigh.
struct EventRange {
  const OwnedEvents& in;
  std::size_t begin, end;
  const double* table;  // [units][kRowLanes]
  bool by_unit;         // every event is of the table's first unit

  std::size_t size() const { return end - begin; }
  Outcome outcome(std::size_t i) const { return in.hit[begin + i] ? Outcome::hit : Outcome::miss; }
  bool closes(std::size_t i) const { return in.closes[begin + i] || begin + i + 1 == end; }
  const double* weights(std::size_t i) const {
    return by_unit ? table : table + static_cast<std::size_t>(in.owner[begin + i]) * kRowLanes;
  }
};

// Recall and precision wherever recall rises, by lane.
struct TiePoints {
  static constexpr bool kByTie = true;
  const double* truths;
  std::size_t lanes;
  Curve* curve;
  Lanes<double, kRowLanes> hits{}, all{}, before{};
  bool risen = false;

  void hit(const double* w, std::size_t) {
    add(all, w);
    add(hits, w);
    risen = true;
  }
  void miss(const double* w) { add(all, w); }
  void tie(std::size_t) {
    if (!risen) return;
    risen = false;
    for (std::size_t r = 0; r < lanes; ++r) {
      if (!(hits[r] > before[r])) continue;
      curve[r].push_back({hits[r] / truths[r], hits[r] / all[r]});
      before[r] = hits[r];
    }
  }
};

void areas(const EventRange& events, const double* truths, std::size_t lanes, ApRule rule, Curve* curve, double* out) {
  auto put = [&](auto value) {
    for (std::size_t r = 0; r < lanes; ++r) {
      out[r] = truths[r] > 0.0 ? value(r) : std::numeric_limits<double>::quiet_NaN();
    }
  };
  if (rule == ApRule::step) {
    const baseline::Reals<kRowLanes> zero{};
    baseline::Steps<kRowLanes> reading{{&zero, 0}};
    baseline::walk(events, reading);
    return put([&](std::size_t r) { return reading.figure[r] / truths[r]; });
  }
  for (std::size_t r = 0; r < lanes; ++r) curve[r].clear();
  TiePoints reading{truths, lanes, curve};
  baseline::walk(events, reading);
  put([&](std::size_t r) { return average(curve[r], rule); });
}

}  // namespace

ApRule check_owned_events(const OwnedEvents& events, int rule) {
  const std::size_t units = events.truths.size(), n = events.owner.size();
  require(all_within(events.truths.data(), units, 0.0, kMostFinite), "a number of truths is negative or not finite");
  require(events.hit.size() == n && events.closes.size() == n, "every event needs its columns");
  require(rule >= 0 && rule <= static_cast<int>(ApRule::hundred_one_points),
          "there is no such kind of average precision");
  for (std::int64_t owner : events.owner)
    require(owner >= 0 && owner < static_cast<std::int64_t>(units), "an owner is not a unit");
  return static_cast<ApRule>(rule);
}

void ranked_ap(const OwnedEvents& in, Matrix<double> weights, ApRule rule, long threads, double* out) {
  const std::size_t rows = weights.rows, units = weights.columns, events = in.owner.size();
  const std::size_t blocks = (rows + kRowLanes - 1) / kRowLanes;
  parallel_for(blocks, rows * (events + units) < 20000 ? 1 : thread_count(threads), [&](std::size_t block) {
    const std::size_t first = block * kRowLanes, lanes = std::min(kRowLanes, rows - first);
    std::vector<double> table(units * kRowLanes, 0.0);
    double total[kRowLanes] = {};
    for (std::size_t r = 0; r < lanes; ++r) {
      const double* w = weights.row(first + r);
      for (std::size_t u = 0; u < units; ++u) table[u * kRowLanes + r] = w[u], total[r] += w[u] * in.truths[u];
    }
    Curve curve[kRowLanes];
    areas({in, 0, events, table.data(), false}, total, lanes, rule, curve, out + first);
  });
}

void ranked_ap_by_unit(const OwnedEvents& in, ApRule rule, double* out) {
  Curve curve[kRowLanes];
  const double one[kRowLanes] = {1.0};
  std::size_t end = 0;
  for (std::size_t u = 0; u < in.truths.size(); ++u) {
    const std::size_t begin = end;
    while (end < in.owner.size() && in.owner[end] == static_cast<std::int64_t>(u)) ++end;
    areas({in, begin, end, one, true}, in.truths.data() + u, 1, rule, curve, out + u);
  }
}

}  // namespace steelyard
