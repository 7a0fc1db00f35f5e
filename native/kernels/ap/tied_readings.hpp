// Figures that take equal scores as one step, under rows of counted weights: average precision as a sum of steps, and the
// best F1.
//
// Both only look at the ends of runs of equal scores that hold a hit. Down to there detections are added up as bytes, most
// of them in a loop without a branch. Both give the numbers of readings.hpp to the bit: all sums are whole numbers.
#pragma once

#include "ap/event_rows.hpp"

namespace steelyard::STEELYARD_TARGET {
namespace {

// What ranks so far: the sum, or where rows that lack few units are summed up what is left of `entries`; less `left_out`.
template <typename Count>
STEELYARD_NOINLINE void counted(const Count* STEELYARD_RESTRICT sum, const Count* STEELYARD_RESTRICT left_out, Count entries,
                                Count* STEELYARD_RESTRICT to) {
  if (entries) {
    for (std::size_t l = 0; l < C; ++l) to[l] = entries - sum[l] - left_out[l];
  } else {
    for (std::size_t l = 0; l < C; ++l) to[l] = sum[l] - left_out[l];
  }
}

// Calls step(found, ranked) at the end of each run of equal scores with a hit: by lane, the hits so far and all detections
// so far that are not ignored at the threshold. Returns what is found in the end.
template <typename Count, typename Step>
Lanes<Count, C> each_step(const ClassJob& job, std::size_t t, Step step) {
  const Events& in = job.events;
  Tally<C, Count> ranked(job.heaviest), ignored(job.heaviest), hits(job.heaviest);
  Lanes<Count, C> left_out{}, all;
  auto row = [&](std::size_t unit) { return job.counts + unit * C; };
  std::size_t next = 0;  // the first entry that is not added up yet
  bool risen = false, any_ignored = false;
  for (std::size_t e = 0; e < in.count; ++e) {
    const bool hit = (in.hit[e] >> t) & 1;
    if (hit || ((in.ignored[e] >> t) & 1)) {
      const auto unit = static_cast<std::size_t>(in.unit[e]);
      (hit ? hits : ignored).add_rows(0, 1, [&](std::size_t) { return row(unit); });
      (hit ? risen : any_ignored) = true;
    }
    if (!risen || !in.closes[e]) continue;
    std::size_t end = job.marks.place[e];
    while (!in.last_of_tie[end]) ++end;
    ++end;
    if (job.lacking) add_lacking(job, next, end, ranked);
    else ranked.add_rows(next, end, [&](std::size_t i) { return row(in.stream[i] & ~kEvent); });
    next = end;
    if (any_ignored) left_out = ignored.total();
    counted(ranked.total().v, left_out.v, job.lacking ? static_cast<Count>(end) : Count{0}, all.v);
    step(hits.total().v, all.v);
    risen = false;
  }
  return hits.total();
}

// Sum of precision times the step in what is found.
template <typename Count>
struct CountedSteps {
  Lanes<Count, C> last{};
  Lanes<double, C> figure{};

  void operator()(const Count* found, const Count* ranked) { step(found, ranked, last.v, figure.v); }

 private:
  STEELYARD_NOINLINE static void step(const Count* STEELYARD_RESTRICT found, const Count* STEELYARD_RESTRICT ranked,
                                      Count* STEELYARD_RESTRICT last, double* STEELYARD_RESTRICT figure) {
    for (std::size_t l = 0; l < C; ++l) {
      const double now = static_cast<double>(found[l]), all = static_cast<double>(larger(ranked[l], Count{1}));
      figure[l] += static_cast<double>(found[l] - last[l]) * (now / all);
      last[l] = found[l];
    }
  }
};

// The best F1 over all score thresholds.
template <typename Count>
struct CountedBestF1 {
  Lanes<double, C> positives;
  Lanes<double, C> best{};  // half of it

  explicit CountedBestF1(const Lanes<Count, C>& of) {
    for (std::size_t l = 0; l < C; ++l) positives[l] = static_cast<double>(of[l]);
  }
  void operator()(const Count* found, const Count* ranked) { step(found, ranked, positives.v, best.v); }

 private:
  STEELYARD_NOINLINE static void step(const Count* STEELYARD_RESTRICT found, const Count* STEELYARD_RESTRICT ranked,
                                      const double* STEELYARD_RESTRICT positives, double* STEELYARD_RESTRICT best) {
    for (std::size_t l = 0; l < C; ++l) {
      const double f1 = static_cast<double>(found[l]) / (static_cast<double>(ranked[l]) + positives[l]);
      best[l] = larger(best[l], f1);
    }
  }
};

}  // namespace
}  // namespace steelyard::STEELYARD_TARGET
