// Rates of two kinds of ranked events under rows of unit weights: error rates of verification, and risk over coverage.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/views.hpp"

namespace steelyard {

enum class RateFigure : int {
  tar = 0,      // parameters: FAR, rule (0 at most, 1 nearest, 2 lowest accepted impostor, 3 interpolated)
  eer = 1,      // rule (0 crossing, 1 mean at the nearest point, 2 the smaller sum around the crossing)
  min_dcf = 2,  // prior, cost of a miss, cost of a false alarm, 1 to normalise
  best_accuracy = 3,
  fpr_at_tpr = 4,  // TPR, rule (0 first point, 1 interpolated, 2 first point of the thinned curve)
  aupr = 5,        // the trapezoids under precision over recall
  auc = 6,
  ap = 7,
  best_f1 = 8,
  best_threshold = 9,
  far_at = 10,  // threshold
  frr_at = 11,  // threshold
  dprime = 12,
  misses = 13,  // the weight of events that are not hits
  hits = 14,
  aurc = 15,    // hits are errors from here on; weights must be whole
  e_aurc = 16,  // 1 for the oracle in closed form
  augrc = 17,
  risk = 18,      // coverage
  coverage = 19,  // risk
  ccr = 20,       // FPR; `right` marks hits that are right
  oscr = 21,
  right = 22,  // the share of hits that are right
};

constexpr std::size_t kRateParameters = 4;

// Events by falling score. `kind` has bit 0 for hits and bit 1 for right ones; `last` ends a run of equal scores.
struct RatedEvents {
  View<std::int64_t> owner;   // empty where every unit weighs 1
  View<std::int64_t> second;  // empty where events have one owner; else the weight is the product of two units' weights
  View<std::uint8_t> kind, last;
  View<double> value;  // empty where all are 1
  View<double> score;
};

RateFigure check_rate_figure(int figure);
// Whether a figure needs no point between hits: the number of other events between them is enough.
bool is_read_at_hits(RateFigure figure, View<double> parameters);
void check_rated_events(const RatedEvents& events, std::size_t units);

// One value per row of weights.
void rates(const RatedEvents& events, Matrix<double> weights, RateFigure figure, View<double> parameters, long threads,
           double* out);
// The same for each unit alone, its events standing together: those of unit u from starts[u] to starts[u + 1].
void rates_each(const RatedEvents& events, View<std::int64_t> starts, RateFigure figure, View<double> parameters,
                double* out);

}  // namespace steelyard
