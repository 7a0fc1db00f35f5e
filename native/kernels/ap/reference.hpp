// The one walk down a ranking, from the highest score to the lowest.
//
// Every average precision, AUC, best F1 and curve of Steelyard is this walk with a reading. A source says of each event
// whether it is a hit, a miss or ignored, what it weighs in each row of weights, and where a run of equal scores ends.
// A reading is fed `hit(weights, i)`, `miss(weights)` and, if it asks for ties, `tie(i)`; it keeps the sums that it
// needs. The same walk goes over a class in memory, over parts that come from disk, over one unit and over a thousand
// draws.
//
// These readings are the reference: under rows of real weights, in doubles, any figure. fast.hpp reads most figures of
// boxes under rows of counts several times faster; what it cannot count is read here.
#pragma once

#include <cmath>

#include "ap/figures.hpp"
#include "ap/lanes.hpp"

namespace steelyard::STEELYARD_TARGET {
namespace {

enum class Outcome { hit, miss, ignored };

template <typename Source, typename Reading>
void walk(const Source& source, Reading& reading) {
  const std::size_t size = source.size();
  for (std::size_t i = 0; i < size; ++i) {
    const Outcome outcome = source.outcome(i);
    if (outcome == Outcome::hit) reading.hit(source.weights(i), i);
    else if (outcome == Outcome::miss) reading.miss(source.weights(i));
    if constexpr (Reading::kByTie) {
      if (source.closes(i)) reading.tie(i);
    }
  }
}

// The events of a class at one threshold. Detections on nothing are not among them: they are added up once for all
// thresholds (plain_before, plain_to_tie), and a reading looks their sums up.
template <typename W, std::size_t L>
class ClassEvents {
 public:
  ClassEvents(const Events& in, std::size_t threshold, const W* table)
      : hit_(in.hit),
        ignored_(in.ignored),
        unit_(in.unit),
        closes_(in.closes),
        count_(in.count),
        threshold_(threshold),
        table_(table) {}

  std::size_t size() const { return count_; }
  Outcome outcome(std::size_t i) const {
    if ((hit_[i] >> threshold_) & 1) return Outcome::hit;
    return (ignored_[i] >> threshold_) & 1 ? Outcome::ignored : Outcome::miss;
  }
  const W* weights(std::size_t i) const { return table_ + static_cast<std::size_t>(unit_[i]) * L; }
  bool closes(std::size_t i) const { return closes_[i]; }

 private:
  const Bits *hit_, *ignored_;
  const std::int32_t* unit_;
  const std::uint8_t* closes_;
  std::size_t count_, threshold_;
  const W* table_;  // [units][L]
};

// Detections on nothing before each event.
template <typename T, typename W, std::size_t L>
void plain_before(const Events& in, const W* table, Lanes<T, L>& sum, Lanes<T, L>* at) {
  const std::uint32_t *entry = in.stream, *const end = entry + in.entries;
  Lanes<T, L> plain = sum;
  for (; entry != end; ++entry) {
    if (*entry & kEvent) *at++ = plain;
    else add(plain, table + static_cast<std::size_t>(*entry) * L);
  }
  sum = plain;
}

// Detections on nothing up to where the equal scores of an event end; only of events that are the last of theirs.
template <typename T, typename W, std::size_t L>
void plain_to_tie(const Events& in, const W* table, Lanes<T, L>& plain, Lanes<T, L>* at) {
  std::size_t e = 0;
  bool any = false;
  for (std::size_t i = 0; i < in.entries; ++i) {
    const std::uint32_t entry = in.stream[i];
    if (entry & kEvent) any = true, ++e;
    else add(plain, table + static_cast<std::size_t>(entry) * L);
    if (any && in.last_of_tie[i]) at[e - 1] = plain, any = false;
  }
}

// Readings. `plain` are the sums of detections on nothing, by event; where a source has none, it is one lane of zeros
// and `stride` 0.

template <std::size_t L>
using Reals = Lanes<double, L>;

template <std::size_t L>
struct Plain {
  const Reals<L>* at;
  std::size_t stride = 1;
  const double* operator()(std::size_t i) const { return at[i * stride].v; }
};

// One more hit: its weight is added to `tp`; precision, of a whole that has `tiny` added, and what is found are noted.
// The quotient is made of a float's inverse and two steps of Newton's: to about the last bit, and vector units are
// several times faster at it than at dividing doubles.
template <std::size_t L>
void precision_at(double* STEELYARD_RESTRICT tp, const double* STEELYARD_RESTRICT w,
                  const double* STEELYARD_RESTRICT fp, const double* STEELYARD_RESTRICT plain, double tiny,
                  double* STEELYARD_RESTRICT precision, double* STEELYARD_RESTRICT found) {
  alignas(64) double all[L];
  alignas(64) float inverse[L];
  for (std::size_t l = 0; l < L; ++l) {
    const double sum = tp[l] + w[l];
    tp[l] = found[l] = sum;
    const double whole = (fp[l] + plain[l]) + sum + tiny;
    all[l] = whole > kTiny ? whole : kTiny;
  }
  for (std::size_t l = 0; l < L; ++l) inverse[l] = 1.0f / static_cast<float>(all[l]);
  for (std::size_t l = 0; l < L; ++l) {
    double r = static_cast<double>(inverse[l]);
    r = r * (2.0 - all[l] * r);
    r = r * (2.0 - all[l] * r);
    precision[l] = found[l] * r;
  }
}

// Where the points of an even grid of recalls are reached.
struct GridPoints {
  double last;  // the number of points less one
  const double*
      reached;  // by point: 1 where a recall of r / last exactly reaches it; the point is r * (1 / last), rounded twice

  // How many points recalls of found / positives reach, with scale = last / positives. The nearest point decides;
  // adding and taking away 1.5 * 2^52 rounds to it without a branch. A recall that is on the point is looked up.
  template <std::size_t L>
  void reached_by(const double* found, const double* STEELYARD_RESTRICT scale, double* out) const {
    constexpr double magic = 6755399441055744.0;
    constexpr std::size_t kBlock = L < 4 ? L : 4;
    static_assert(L % kBlock == 0);
    alignas(64) double nearest[L], beyond[L];
    for (std::size_t l = 0; l < L; ++l) {
      const double reach = found[l] * scale[l], at = reach < last ? reach : last;
      nearest[l] = (at + magic) - magic;
      beyond[l] = at - nearest[l];
    }
    for (std::size_t l = 0; l < L; ++l) out[l] = nearest[l] + (beyond[l] > 0 ? 1.0 : 0.0);
    for (std::size_t block = 0; block < L; block += kBlock) {
      double doubt = 0;
      for (std::size_t l = block; l < block + kBlock; ++l) doubt += beyond[l] * beyond[l] < 1e-18 ? 1.0 : 0.0;
      if (doubt == 0) continue;
      for (std::size_t l = block; l < block + kBlock; ++l) {
        if (beyond[l] * beyond[l] < 1e-18) out[l] = nearest[l] + reached[static_cast<std::size_t>(nearest[l])];
      }
    }
  }
};

// What is found in the end, and nothing else.
template <std::size_t L>
struct Recall {
  static constexpr bool kByTie = false;
  Reals<L> tp{};

  void hit(const double* w, std::size_t) { add(tp, w); }
  void miss(const double*) {}
};

// Precision and what is found at each hit, kept: `precision` and `found` have room for every event.
template <std::size_t L>
struct Envelope {
  static constexpr bool kByTie = false;
  Plain<L> plain;
  double tiny;
  Reals<L>*precision, *found;
  Reals<L> tp{}, fp{};
  std::size_t hits = 0;

  void hit(const double* w, std::size_t i) {
    precision_at<L>(tp.v, w, fp.v, plain(i), tiny, precision[hits].v, found[hits].v);
    ++hits;
  }
  void miss(const double* w) { add(fp, w); }

  // The mean of the envelope on the grid: from the last hit back, each hit has the points that it reaches and the one
  // before does not.
  void grid(const GridPoints& points, const double* scale, Reals<L>& figure) {
    for (std::size_t i = 0; i < hits; ++i) points.reached_by<L>(found[i].v, scale, found[i].v);
    area(figure);
    for (std::size_t l = 0; l < L; ++l) figure[l] /= points.last + 1;
  }
  // The area under the envelope, times the positives.
  void area(Reals<L>& figure) const {
    if (hits == 0) return;
    Reals<L> best{};
    const Reals<L> nothing{};
    for (std::size_t i = hits; i-- > 1;) fall(precision[i].v, found[i].v, found[i - 1].v, best.v, figure.v);
    fall(precision[0].v, found[0].v, nothing.v, best.v, figure.v);
  }

 private:
  static void fall(const double* STEELYARD_RESTRICT precision, const double* STEELYARD_RESTRICT upper,
                   const double* STEELYARD_RESTRICT lower, double* STEELYARD_RESTRICT best,
                   double* STEELYARD_RESTRICT figure) {
    for (std::size_t l = 0; l < L; ++l) {
      const double b = best[l] > precision[l] ? best[l] : precision[l];
      best[l] = b;
      figure[l] += b * (upper[l] - lower[l]);
    }
  }
};

// Sum of precision times the step in what is found; equal scores are one step.
template <std::size_t L>
struct Steps {
  static constexpr bool kByTie = true;
  Plain<L> plain;
  Reals<L> tp{}, fp{}, last{}, figure{};
  bool risen = false;  // a hit since the last step: a step without one adds 0

  void hit(const double* w, std::size_t) {
    add(tp, w);
    risen = true;
  }
  void miss(const double* w) { add(fp, w); }
  void tie(std::size_t i) {
    if (risen) step(tp.v, fp.v, plain(i), last.v, figure.v);
    risen = false;
  }

 private:
  static void step(const double* STEELYARD_RESTRICT tp, const double* STEELYARD_RESTRICT fp,
                   const double* STEELYARD_RESTRICT plain, double* STEELYARD_RESTRICT last,
                   double* STEELYARD_RESTRICT figure) {
    for (std::size_t l = 0; l < L; ++l) {
      const double all = tp[l] + (fp[l] + plain[l]);
      figure[l] += (tp[l] - last[l]) * (tp[l] / (all > 0 ? all : 1.0));
      last[l] = tp[l];
    }
  }
};

// The best F1 over all score thresholds, and the event that ends it; events before the first are kNone.
template <std::size_t L>
struct BestF1 {
  static constexpr bool kByTie = true;
  static constexpr std::size_t kNone = ~std::size_t{0};
  Plain<L> plain;
  const double* positives;
  Reals<L> tp{}, fp{}, figure{};
  std::size_t at[L];
  bool risen = false;  // a hit since the last step: without one F1 falls

  BestF1(Plain<L> sums, const double* all) : plain(sums), positives(all) {
    for (std::size_t l = 0; l < L; ++l) at[l] = kNone;
  }

  void hit(const double* w, std::size_t) {
    add(tp, w);
    risen = true;
  }
  void miss(const double* w) { add(fp, w); }
  void tie(std::size_t i) {
    if (!risen) return;
    risen = false;
    const double* p = plain(i);
    for (std::size_t l = 0; l < L; ++l) {
      const double f1 = 2 * tp[l] / (tp[l] + (fp[l] + p[l]) + positives[l]);
      const bool better = f1 > figure[l];
      figure[l] = better ? f1 : figure[l];
      at[l] = better ? i : at[l];
    }
  }
};

// Geometric mean of the miss rate at given numbers of false positives per image. Between two hits the miss rate rests,
// so points are settled where the next hit comes.
template <std::size_t L>
struct MissRate {
  static constexpr bool kByTie = false;
  Plain<L> plain;
  const double* limits;
  std::size_t points;
  const double *positives, *images;
  Reals<L> tp{}, fp{}, figure{};
  std::size_t next[L] = {};

  void hit(const double* w, std::size_t i) {
    const double* p = plain(i);
    for (std::size_t l = 0; l < L; ++l) settle(l, images[l] > 0 ? (fp[l] + p[l]) / images[l] : 0.0);
    add(tp, w);
  }
  void miss(const double* w) { add(fp, w); }
  void finish() {
    for (std::size_t l = 0; l < L; ++l) {
      settle(l, HUGE_VAL);
      figure[l] = std::exp(figure[l] / static_cast<double>(points));
    }
  }

 private:
  void settle(std::size_t l, double limit) {
    for (; next[l] < points && limit > limits[next[l]]; ++next[l]) {
      figure[l] += std::log(larger(1e-10, 1 - tp[l] / positives[l]));
    }
  }
};

// The area under the ROC curve, times the positives and the negatives; equal scores are one step. Between two ties with
// a hit the curve runs level, so only those are looked at.
template <std::size_t L>
struct RocArea {
  static constexpr bool kByTie = true;
  Reals<L> tp{}, fp{}, level{}, until{}, tied{}, figure{};  // `tied`: misses of the tie that is open
  std::size_t misses = 0;                                   // in it
  bool risen = false;

  void hit(const double* w, std::size_t) {
    add(tp, w);
    risen = true;
  }
  void miss(const double* w) {
    add(fp, w);
    if (misses++ > 0) {
      add(tied, w);
    } else {
      for (std::size_t l = 0; l < L; ++l) tied[l] = w[l];
    }
  }
  void tie(std::size_t) {
    if (risen) step();
    risen = false;
    misses = 0;
  }
  // What comes behind the last hit.
  void finish() { step(); }

 private:
  void step() {
    for (std::size_t l = 0; l < L; ++l) {
      const double in_tie = risen && misses ? tied[l] : 0.0, before = fp[l] - in_tie;
      figure[l] += (before - until[l]) * level[l] + in_tie * (tp[l] + level[l]) * 0.5;
      level[l] = tp[l];
      until[l] = fp[l];
    }
  }
};

// The hit rate where the false alarm rate is at most `limit`.
template <std::size_t L>
struct HitRate {
  static constexpr bool kByTie = true;
  const double *positives, *negatives;
  double limit;
  Reals<L> tp{}, fp{}, figure{};

  void hit(const double* w, std::size_t) { add(tp, w); }
  void miss(const double* w) { add(fp, w); }
  void tie(std::size_t) {
    for (std::size_t l = 0; l < L; ++l) {
      if (fp[l] / negatives[l] <= limit) figure[l] = tp[l] / positives[l];
    }
  }
};

// The rows of a class of labels as a walk sees them, and the figures that it reads there.

template <std::size_t L>
struct RowEvents {
  const RowJob& in;

  std::size_t size() const { return in.size; }
  Outcome outcome(std::size_t i) const { return in.positive[i] ? Outcome::hit : Outcome::miss; }
  bool closes(std::size_t i) const { return in.last[i]; }
  const double* weights(std::size_t i) const {
    const double* w = in.weights + (in.owner ? static_cast<std::size_t>(in.owner[i]) * L : 0);
    if (!in.value) return w;
    for (std::size_t l = 0; l < L; ++l) product[l] = w[l] * in.value[i];
    return product;
  }

  mutable double product[L] = {};
};

// One figure for each of L rows of weights.
template <std::size_t L>
void read_rows(const RowJob& job) {
  const RowEvents<L> events{job};
  const Reals<L> zero{};
  const Plain<L> none{&zero, 0};
  auto put = [&](const Reals<L>& tp, const Reals<L>& fp, bool both, auto value) {
    for (std::size_t l = 0; l < L; ++l) {
      job.out[l] = tp[l] > 0.0 && (!both || fp[l] > 0.0) ? value(l) : static_cast<double>(NAN);
    }
  };
  if (job.figure == RowFigure::ap) {
    Steps<L> reading{none};
    walk(events, reading);
    return put(reading.tp, reading.fp, false, [&](std::size_t l) { return reading.figure[l] / reading.tp[l]; });
  }
  if (job.figure == RowFigure::auc) {
    RocArea<L> reading;
    walk(events, reading);
    reading.finish();
    return put(reading.tp, reading.fp, true,
               [&](std::size_t l) { return reading.figure[l] / (reading.tp[l] * reading.fp[l]); });
  }
  Reals<L> positives{}, negatives{};  // these are needed beforehand
  for (std::size_t i = 0; i < job.size; ++i) add(job.positive[i] ? positives : negatives, events.weights(i));
  if (job.figure == RowFigure::tpr) {
    HitRate<L> reading{positives.v, negatives.v, job.limit};
    walk(events, reading);
    return put(reading.tp, reading.fp, true, [&](std::size_t l) { return reading.figure[l]; });
  }
  BestF1<L> reading(none, positives.v);
  walk(events, reading);
  const bool rank = job.figure == RowFigure::best_rank;
  put(reading.tp, reading.fp, false, [&](std::size_t l) {
    if (!rank) return reading.figure[l];
    return reading.at[l] == BestF1<L>::kNone ? 0.0 : static_cast<double>(reading.at[l]);
  });
}

}  // namespace
}  // namespace steelyard::STEELYARD_TARGET
