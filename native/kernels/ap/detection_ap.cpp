// Average precision of ranked events under rows of unit weights.
//
// Events come sorted by falling score, once; a row of weights does not change their order. So a bootstrap draw is one
// pass that adds up the weights of hits and of all, and closes a step where the score changes: equal scores form one
// step, so the order of units does not matter. Several rows go through the events together, their weights side by side in
// memory. Results do not depend on the threads.
#include "ap/ranked_ap.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/checks.hpp"
#include "support/pool.hpp"

namespace steelyard {
namespace {

constexpr std::size_t kLanes = 8;  // rows of weights that go through the events together

// The points of the curves at which recall rises, for each lane.
struct Curve {
  std::vector<double> recall, precision;
};

// The mean of the envelope at `points` + 1 recalls from 0 to 1; a recall counts as reached up to rounding.
double sampled(const Curve& curve, int points) {
  double sum = 0.0;
  std::size_t at = 0;
  for (int i = 0; i <= points; ++i) {
    const double wanted = static_cast<double>(i) / points - 1e-12;
    while (at < curve.recall.size() && curve.recall[at] < wanted) ++at;
    if (at == curve.recall.size()) break;
    sum += curve.precision[at];
  }
  return sum / (points + 1);
}

double average(Curve& curve, int rule) {
  for (std::size_t i = curve.precision.size(); i-- > 1;) {
    curve.precision[i - 1] = std::max(curve.precision[i - 1], curve.precision[i]);
  }
  if (rule == rules::kElevenPoints) return sampled(curve, 10);
  if (rule == rules::kHundredOnePoints) return sampled(curve, 100);
  double sum = 0.0, last = 0.0;
  for (std::size_t i = 0; i < curve.recall.size(); ++i) {
    sum += (curve.recall[i] - last) * curve.precision[i];
    last = curve.recall[i];
  }
  return sum;
}

// Average precision of `lanes` rows at once over the events [begin, end). `weight(e)` points to the weights of the
// event's unit, one a lane: a step of the walk reads one line of memory, whatever the number of units.
template <typename Weight>
void areas(std::size_t begin, std::size_t end, const std::uint8_t* hit, const std::uint8_t* closes,
           const double* truths, std::size_t lanes, int rule, Weight weight, Curve* curve, double* out) {
  double hits[kLanes] = {}, all[kLanes] = {}, before[kLanes] = {}, sum[kLanes] = {};
  for (std::size_t r = 0; r < lanes; ++r) curve[r].recall.clear(), curve[r].precision.clear();
  bool found = false;  // a hit since the last step
  for (std::size_t e = begin; e < end; ++e) {
    const double* w = weight(e);
    for (std::size_t r = 0; r < kLanes; ++r) all[r] += w[r];
    if (hit[e]) {
      for (std::size_t r = 0; r < kLanes; ++r) hits[r] += w[r];
      found = true;
    }
    if (!found || !(closes[e] || e + 1 == end)) continue;
    found = false;
    if (rule == rules::kStep) {
      // Where nothing was added, hits == before: the step is nothing, and the divisor must only not be 0.
      for (std::size_t r = 0; r < kLanes; ++r) {
        sum[r] += (hits[r] - before[r]) * (hits[r] / (all[r] > 0.0 ? all[r] : 1.0));
        before[r] = hits[r];
      }
      continue;
    }
    for (std::size_t r = 0; r < lanes; ++r) {
      if (!(hits[r] > before[r])) continue;
      curve[r].recall.push_back(hits[r] / truths[r]);
      curve[r].precision.push_back(hits[r] / all[r]);
      before[r] = hits[r];
    }
  }
  for (std::size_t r = 0; r < lanes; ++r) {
    if (!(truths[r] > 0.0)) {
      out[r] = std::numeric_limits<double>::quiet_NaN();
    } else {
      out[r] = rule == rules::kStep ? sum[r] / truths[r] : average(curve[r], rule);
    }
  }
}

}  // namespace

void check_owned_events(const OwnedEvents& events, int rule) {
  const std::size_t units = events.truths.size(), n = events.owner.size();
  require(all_within(events.truths.data(), units, 0.0, kMostFinite), "a number of truths is negative or not finite");
  require(events.hit.size() == n && events.closes.size() == n, "every event needs its columns");
  require(rule >= rules::kStep && rule <= rules::kHundredOnePoints, "there is no such kind of average precision");
  for (std::int64_t owner : events.owner) require(owner >= 0 && owner < static_cast<std::int64_t>(units), "an owner is no unit");
}

void ranked_ap(const OwnedEvents& in, Matrix<double> weights, int rule, long threads, double* out) {
  const std::size_t rows = weights.rows, units = weights.columns, events = in.owner.size();
  const double *all_weights = weights.data(), *truth = in.truths.data();
  const std::int64_t* unit = in.owner.data();
  const std::uint8_t *hits = in.hit.data(), *ends = in.closes.data();
  const std::size_t blocks = (rows + kLanes - 1) / kLanes;
  parallel_for(blocks, rows * (events + units) < 20000 ? 1 : thread_count(threads), [&](std::size_t block) {
    const std::size_t first = block * kLanes, lanes = std::min(kLanes, rows - first);
    std::vector<double> turned(units * kLanes, 0.0);
    double total[kLanes] = {};
    for (std::size_t r = 0; r < lanes; ++r) {
      const double* w = all_weights + (first + r) * units;
      for (std::size_t u = 0; u < units; ++u) turned[u * kLanes + r] = w[u], total[r] += w[u] * truth[u];
    }
    Curve curve[kLanes];
    areas(0, events, hits, ends, total, lanes, rule,
          [&](std::size_t e) { return turned.data() + static_cast<std::size_t>(unit[e]) * kLanes; }, curve, out + first);
  });
}

void ranked_ap_by_unit(const OwnedEvents& in, int rule, double* out) {
  const std::size_t units = in.truths.size(), events = in.owner.size();
  Curve curve[kLanes];
  const double one[kLanes] = {1.0};
  std::size_t end = 0;
  for (std::size_t u = 0; u < units; ++u) {
    const std::size_t begin = end;
    while (end < events && in.owner[end] == static_cast<std::int64_t>(u)) ++end;
    areas(begin, end, in.hit.data(), in.closes.data(), in.truths.data() + u, 1, rule, [&](std::size_t) { return one; }, curve,
          out + u);
  }
}

}  // namespace steelyard
