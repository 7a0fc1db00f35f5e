// Figures that take equal scores as one step, under rows of counted weights: average precision as a sum of steps, and the
// best F1.
//
// Both only look at the ends of runs of equal scores that hold a hit. Down to there detections are added up as bytes, most
// of them in a loop without a branch. Both give the numbers of readings.hpp to the bit: all sums are whole numbers.
#pragma once

#include "ap/event_rows.hpp"

namespace steelyard::STEELYARD_TARGET {
namespace {

// The sums at the end of a step, and where it ends: its last event and its last entry, each plus one.
template <typename Count>
struct StepSums {
  Lanes<Count, C> found, ranked;  // hits, and all detections that are not ignored
  std::size_t event, entry;
};

// Walks from step to step at one threshold: a step is the end of a run of equal scores with a hit.
template <typename Count>
class StepWalk {
 public:
  // From the end of an earlier step on, or from the top.
  StepWalk(const ClassJob& job, std::size_t t, const StepSums<Count>& from)
      : job_(job), t_(t), from_(from), event_(from.event), entry_(from.entry), added_(from.entry), ranked_(job.heaviest),
        ignored_(job.heaviest), hits_(job.heaviest) {}

  // Goes to the next step; false where there is none.
  bool next() {
    const Events& in = job_.events;
    bool risen = false;
    for (; event_ < in.count; ++event_) {
      const bool hit = (in.hit[event_] >> t_) & 1;
      if (hit || ((in.ignored[event_] >> t_) & 1)) {
        (hit ? hits_ : ignored_).add_rows(0, 1, [&](std::size_t) { return row(static_cast<std::size_t>(in.unit[event_])); });
        (hit ? risen : any_ignored_) = true;
      }
      if (!risen || !in.closes[event_]) continue;
      entry_ = job_.marks.place[event_++];
      while (!in.last_of_tie[entry_]) ++entry_;
      ++entry_;
      return true;
    }
    return false;
  }

  // The sums at the step that was reached.
  void sums(StepSums<Count>& to) {
    if (job_.lacking) add_lacking(job_, added_, entry_, ranked_);
    else ranked_.add_rows(added_, entry_, [&](std::size_t i) { return row(job_.events.stream[i] & ~kEvent); });
    added_ = entry_;
    hits_.onto(from_.found.v, to.found.v);
    if (job_.lacking) ranked_.rest_onto(from_.ranked.v, static_cast<Count>(entry_ - from_.entry), to.ranked.v);
    else ranked_.onto(from_.ranked.v, to.ranked.v);
    if (any_ignored_) subtract(ignored_.total().v, to.ranked.v);
    to.event = event_;
    to.entry = entry_;
  }

 private:
  const std::uint8_t* row(std::size_t unit) const { return job_.counts + unit * C; }
  STEELYARD_NOINLINE static void subtract(const Count* STEELYARD_RESTRICT some, Count* STEELYARD_RESTRICT from) {
    for (std::size_t l = 0; l < C; ++l) from[l] -= some[l];
  }

  const ClassJob& job_;
  std::size_t t_;
  const StepSums<Count>& from_;
  std::size_t event_, entry_, added_;
  bool any_ignored_ = false;
  Tally<C, Count> ranked_, ignored_, hits_;
};

// Average precision as a sum of precision times the step in what is found, not yet divided by the truths.
template <typename Count>
class CountedSteps {
 public:
  CountedSteps(const ClassJob& job, std::size_t t) {
    const StepSums<Count> top{};
    StepSums<Count> at{};
    for (StepWalk<Count> walk(job, t, top); walk.next();) {
      walk.sums(at);
      step(at.found.v, at.ranked.v, found.v, figure.v);
    }
  }

  Lanes<Count, C> found{};
  Lanes<double, C> figure{};

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

// Half of the best F1 over all score thresholds, found / (ranked + truths).
//
// Every kSteps steps the sums are kept, and F1 is read there alone. Between two such places it is at most what it would be
// if the hits came first, so most stretches need not be looked at step by step. The walk ends where F1 would stay below
// the best one even if all hits that are left came next.
template <typename Count>
class CountedBestF1 {
 public:
  // `positives`: at least 1.
  CountedBestF1(const ClassJob& job, std::size_t t, const Lanes<Count, C>& positives) {
    Lanes<double, C> truths;
    for (std::size_t l = 0; l < C; ++l) truths[l] = static_cast<double>(positives[l]);
    const StepSums<Count> top{};
    auto* kept = static_cast<StepSums<Count>*>(job.scratch);
    kept[0] = top;
    std::size_t count = 1;
    {
      const Lanes<Count, C> all = all_hits(job, t);
      StepWalk<Count> walk(job, t, top);
      std::size_t steps = 0;
      auto keep = [&] {
        walk.sums(kept[count]);
        read(kept[count].found.v, kept[count].ranked.v, truths.v, best.v);
        ++count;
        steps = 0;
      };
      while (walk.next()) {
        if (++steps < kSteps) continue;
        keep();
        if (!may_exceed(kept[count - 1].found.v, all.v, kept[count - 1].ranked.v, truths.v, best.v)) break;
      }
      if (steps > 0) keep();
    }
    StepSums<Count> at;
    for (std::size_t i = 1; i < count; ++i) {
      const StepSums<Count>&from = kept[i - 1], &to = kept[i];
      if (!may_exceed(from.found.v, to.found.v, from.ranked.v, truths.v, best.v)) continue;
      for (StepWalk<Count> walk(job, t, from); walk.next();) {
        walk.sums(at);
        if (at.event == to.event) break;
        read(at.found.v, at.ranked.v, truths.v, best.v);
      }
    }
  }

  Lanes<double, C> best{};

 private:
  static constexpr std::size_t kSteps = 32;

  static Lanes<Count, C> all_hits(const ClassJob& job, std::size_t t) {
    const auto& [event, begin] = job.marks.hits;
    Tally<C, Count> tally(job.heaviest);
    tally.add_rows(begin[t], begin[t + 1],
                   [&](std::size_t i) { return job.counts + static_cast<std::size_t>(job.events.unit[event[i]]) * C; });
    return tally.total();
  }
  STEELYARD_NOINLINE static void read(const Count* STEELYARD_RESTRICT found, const Count* STEELYARD_RESTRICT ranked,
                                      const double* STEELYARD_RESTRICT truths, double* STEELYARD_RESTRICT best) {
    for (std::size_t l = 0; l < C; ++l) {
      const double f1 = static_cast<double>(found[l]) / (static_cast<double>(ranked[l]) + truths[l]);
      best[l] = larger(best[l], f1);
    }
  }
  // Whether F1 may exceed the best where hits rise from `from` to `to` and as many detections more, at least, are ranked.
  STEELYARD_NOINLINE static bool may_exceed(const Count* STEELYARD_RESTRICT from, const Count* STEELYARD_RESTRICT to,
                                            const Count* STEELYARD_RESTRICT ranked, const double* STEELYARD_RESTRICT truths,
                                            const double* STEELYARD_RESTRICT best) {
    std::int64_t any = 0;
    for (std::size_t l = 0; l < C; ++l) {
      const double hits = static_cast<double>(to[l]);
      any |= hits / (static_cast<double>(ranked[l] + (to[l] - from[l])) + truths[l]) > best[l] ? 1 : 0;
    }
    return any != 0;
  }
};

}  // namespace
}  // namespace steelyard::STEELYARD_TARGET
