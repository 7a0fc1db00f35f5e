// Average precision of ranked events under rows of unit weights.
//
// Events come sorted by falling score, once; a row of weights does not change their order. So a bootstrap draw is one
// pass that adds up the weights of hits and of all, and closes a step where the score changes: equal scores form one
// step, so the order of units does not matter. Steps without a hit cannot raise recall and are kept only as part of
// the precision of later ones. Rows of weights are tasks of their own; results do not depend on the threads.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "arrays.hpp"
#include "pool.hpp"

namespace steelyard {
namespace {

enum Rule : int { kStep = 0, kEnvelope = 1, kElevenPoints = 2, kHundredOnePoints = 3 };

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
  if (rule != kStep) {
    for (std::size_t i = curve.precision.size(); i-- > 1;) {
      curve.precision[i - 1] = std::max(curve.precision[i - 1], curve.precision[i]);
    }
  }
  if (rule == kElevenPoints) return sampled(curve, 10);
  if (rule == kHundredOnePoints) return sampled(curve, 100);
  double sum = 0.0, last = 0.0;
  for (std::size_t i = 0; i < curve.recall.size(); ++i) {
    sum += (curve.recall[i] - last) * curve.precision[i];
    last = curve.recall[i];
  }
  return sum;
}

// `weight(e)` is the weight of event e, for e in [begin, end).
template <typename Weight>
double area(std::size_t begin, std::size_t end, const std::uint8_t* hit, const std::uint8_t* closes, double truths,
            int rule, Weight weight, Curve& curve) {
  if (!(truths > 0.0)) return std::numeric_limits<double>::quiet_NaN();
  curve.recall.clear();
  curve.precision.clear();
  double hits = 0.0, all = 0.0, before = 0.0;
  for (std::size_t e = begin; e < end; ++e) {
    const double w = weight(e);
    all += w;
    if (hit[e]) hits += w;
    if ((closes[e] || e + 1 == end) && hits > before) {
      curve.recall.push_back(hits / truths);
      curve.precision.push_back(hits / all);
      before = hits;
    }
  }
  return average(curve, rule);
}

void check(In1<std::int64_t> owner, In1<std::uint8_t> hit, In1<std::uint8_t> closes, std::size_t units, int rule) {
  require(hit.shape(0) == owner.shape(0) && closes.shape(0) == owner.shape(0), "every event needs its columns");
  require(rule >= kStep && rule <= kHundredOnePoints, "there is no such kind of average precision");
  for (std::size_t e = 0; e < owner.shape(0); ++e) {
    require(owner.data()[e] >= 0 && owner.data()[e] < static_cast<std::int64_t>(units), "an owner is no unit");
  }
}

Out<double> ranked_ap(In2<double> weights, In1<double> truths, In1<std::int64_t> owner, In1<std::uint8_t> hit,
                      In1<std::uint8_t> closes, int rule, long threads) {
  const std::size_t rows = weights.shape(0), units = weights.shape(1), events = owner.shape(0);
  require(truths.shape(0) == units, "every unit needs its number of truths");
  check(owner, hit, closes, units, rule);
  double* out;
  auto result = make_array<double>({rows}, out);
  const double *all_weights = weights.data(), *truth = truths.data();
  const std::int64_t* unit = owner.data();
  const std::uint8_t *hits = hit.data(), *ends = closes.data();
  nb::gil_scoped_release release;
  parallel_for(rows, rows * (events + units) < 20000 ? 1 : thread_count(threads), [&](std::size_t row) {
    const double* w = all_weights + row * units;
    double total = 0.0;
    for (std::size_t u = 0; u < units; ++u) total += w[u] * truth[u];
    Curve curve;
    out[row] = area(0, events, hits, ends, total, rule, [&](std::size_t e) { return w[unit[e]]; }, curve);
  });
  return result;
}

Out<double> ranked_ap_by_unit(In1<double> truths, In1<std::int64_t> owner, In1<std::uint8_t> hit,
                              In1<std::uint8_t> closes, int rule) {
  const std::size_t units = truths.shape(0), events = owner.shape(0);
  check(owner, hit, closes, units, rule);
  for (std::size_t e = 1; e < events; ++e) require(owner.data()[e] >= owner.data()[e - 1], "events must go by unit");
  double* out;
  auto result = make_array<double>({units}, out);
  nb::gil_scoped_release release;
  Curve curve;
  std::size_t end = 0;
  for (std::size_t u = 0; u < units; ++u) {
    const std::size_t begin = end;
    while (end < events && owner.data()[end] == static_cast<std::int64_t>(u)) ++end;
    out[u] = area(begin, end, hit.data(), closes.data(), truths.data()[u], rule, [](std::size_t) { return 1.0; }, curve);
  }
  return result;
}

}  // namespace

void bind_ranked(nb::module_& m) {
  m.def("ranked_ap", &ranked_ap, nb::arg("weights").noconvert(), nb::arg("truths").noconvert(),
        nb::arg("owner").noconvert(), nb::arg("hit").noconvert(), nb::arg("closes").noconvert(), nb::arg("rule"),
        nb::arg("threads") = 0,
        "Average precision, one a row of weights, of events sorted by falling score; `closes` ends equal scores.");
  m.def("ranked_ap_by_unit", &ranked_ap_by_unit, nb::arg("truths").noconvert(), nb::arg("owner").noconvert(),
        nb::arg("hit").noconvert(), nb::arg("closes").noconvert(), nb::arg("rule"),
        "Average precision of each unit alone; events sorted by unit, then by falling score.");
}

}  // namespace steelyard
