// The fast reading: figures of one class of boxes under kCountedLanes rows of counts side by side (bootstrap draws,
// groups that are left out). wide/class_counts.cpp drives it; reference.hpp is what it must agree with.
//
// Why counts. A draw takes an image 0, 1, 2, ... times, so all that is added up are whole numbers: a row of weights is
// a row of bytes, and rows are added as bytes for as long as they fit (Tally). Whether a recall reaches a point of the
// grid is asked in whole numbers. Precision is a quotient in single precision, held as a multiple of 2^-24, so that its
// running maximum and its sum over the grid are whole numbers too. A figure on the grid is off by less than 2^-23
// (1.2e-7), and where every detection is right it is 1 exactly; figures by tie have the reference's bits.
//
// What thresholds share. Most hits are hits at several thresholds. Hits with no miss between them are a run: precision
// rises along it whatever they weigh, so it is read at the run's end, once for all points of the grid that the run
// reaches. For each run that some threshold has, EventRows holds the weight of all detections down to its end and that
// of its hits.
//
// From the last run back (BackwardEnvelope). What is found falls from its total, and the running maximum of precision
// is at hand: one pass for each threshold, and nothing is kept. Four runs are read at a time, so that what is known of
// a lane stays in registers. A class with more than kMostTruths is read by LargeEnvelope, with the same numbers.
//
// Figures by tie (StepWalk) are read forward, at the ends of runs of equal scores that hold a hit.
//
// What cannot be counted. Floats hold whole numbers below 2^24. Lanes with larger sums, or with more hits than truths,
// are marked in ClassJob::uncounted, and their caller reads them by the reference. So a number depends on its own row
// of weights only, whatever the lanes beside it hold.
#pragma once

#include <cstring>

#include "ap/figures.hpp"
#include "ap/lanes.hpp"

namespace steelyard::STEELYARD_TARGET {
namespace {

constexpr float kOne = 16777216.0f;  // 2^24: the precision 1
constexpr std::int32_t kMostExact = 1 << 24;
constexpr std::size_t C = kCountedLanes;

using Shares = Lanes<std::int32_t, C>;  // multiples of 2^-24, and points of the grid
constexpr float kUnit = 1 / kOne;

using Floats = Lanes<float, C>;
using Bytes = Lanes<std::uint8_t, C>;

// A sum of rows of L bytes, in bytes for as long as it fits.
template <std::size_t L>
class Tally {
 public:
  explicit Tally(std::size_t heaviest) : room_(255 / heaviest) {}

  // Adds row(i) for each i from `first` to `last`. Four at a time: the sum is then not waited for at each of them.
  template <typename Row>
  void add_rows(std::size_t first, std::size_t last, Row row) {
    while (first < last) {
      if (rows_ == room_) flush();
      const std::size_t free = room_ - rows_, end = last - first > free ? first + free : last;
      rows_ += end - first;
      for (; first + 4 <= end; first += 4) four(row(first), row(first + 1), row(first + 2), row(first + 3), part_.v);
      for (; first < end; ++first) one(row(first), part_.v);
    }
  }
  const Lanes<std::int32_t, L>& total() {
    flush();
    return sum_;
  }
  // A base and the sum.
  void onto(const std::int32_t* base, std::int32_t* to) const { put_onto(base, sum_.v, part_.v, to); }
  // A base and what is left of `all`.
  void rest_onto(const std::int32_t* base, std::int32_t all, std::int32_t* to) const {
    put_rest_onto(base, sum_.v, part_.v, all, to);
  }
  // The sum, at least 1, in multiples of 2^-24.
  void into(float* to) const { put(sum_.v, part_.v, to); }
  // The same of what is left of `all`.
  void rest_into(std::int32_t all, float* to) const { put_rest(sum_.v, part_.v, all, to); }

 private:
  using Row = const std::uint8_t* STEELYARD_RESTRICT;

  STEELYARD_NOINLINE static void four(Row a, Row b, Row c, Row d, std::uint8_t* STEELYARD_RESTRICT to) {
    for (std::size_t l = 0; l < L; ++l) to[l] = static_cast<std::uint8_t>(to[l] + ((a[l] + b[l]) + (c[l] + d[l])));
  }
  STEELYARD_NOINLINE static void one(Row row, std::uint8_t* STEELYARD_RESTRICT to) {
    for (std::size_t l = 0; l < L; ++l) to[l] = static_cast<std::uint8_t>(to[l] + row[l]);
  }
  STEELYARD_NOINLINE static void put(const std::int32_t* STEELYARD_RESTRICT sum, Row part,
                                     float* STEELYARD_RESTRICT to) {
    for (std::size_t l = 0; l < L; ++l) to[l] = static_cast<float>(larger(sum[l] + part[l], 1)) * kUnit;
  }
  STEELYARD_NOINLINE static void put_rest(const std::int32_t* STEELYARD_RESTRICT sum, Row part, std::int32_t all,
                                          float* STEELYARD_RESTRICT to) {
    for (std::size_t l = 0; l < L; ++l) to[l] = static_cast<float>(larger(all - (sum[l] + part[l]), 1)) * kUnit;
  }
  STEELYARD_NOINLINE static void put_onto(const std::int32_t* STEELYARD_RESTRICT base,
                                          const std::int32_t* STEELYARD_RESTRICT sum, Row part,
                                          std::int32_t* STEELYARD_RESTRICT to) {
    for (std::size_t l = 0; l < L; ++l) to[l] = base[l] + sum[l] + part[l];
  }
  STEELYARD_NOINLINE static void put_rest_onto(const std::int32_t* STEELYARD_RESTRICT base,
                                               const std::int32_t* STEELYARD_RESTRICT sum, Row part, std::int32_t all,
                                               std::int32_t* STEELYARD_RESTRICT to) {
    for (std::size_t l = 0; l < L; ++l) to[l] = base[l] + (all - (sum[l] + part[l]));
  }
  void flush() {
    if (rows_ == 0) return;
    collect(part_.v, sum_.v);
    rows_ = 0;
  }
  STEELYARD_NOINLINE static void collect(std::uint8_t* STEELYARD_RESTRICT part, std::int32_t* STEELYARD_RESTRICT to) {
    for (std::size_t l = 0; l < L; ++l) to[l] += part[l];
    for (std::size_t l = 0; l < L; ++l) part[l] = 0;
  }

  Lanes<std::uint8_t, L> part_{};
  Lanes<std::int32_t, L> sum_{};
  std::size_t room_, rows_ = 0;
};

std::int32_t largest(const Lanes<std::int32_t, C>& of) {
  std::int32_t most = 0;
  for (std::size_t l = 0; l < C; ++l) most = larger(most, of[l]);
  return most;
}

// What a run adds: the weight of all detections down to its end, at least 1, in multiples of 2^-24; and that of its
// hits.
struct RunSums {
  Floats down_to, weight;
};

// What entries lack. Which ones do follows no pattern, so they are listed without a branch.
void add_lacking(const ClassJob& job, std::size_t from, std::size_t to, Tally<C>& tally) {
  constexpr std::size_t kSome = 256;
  std::uint32_t rows[kSome];
  while (from < to) {
    const std::size_t end = to - from > kSome ? from + kSome : to;
    std::size_t count = 0;
    for (; from < end; ++from) {
      const std::uint32_t row = job.lacking[job.events.stream[from] & ~kEvent];
      rows[count] = row;
      count += row != 0;
    }
    tally.add_rows(0, count, [&](std::size_t i) { return job.left + std::size_t{rows[i] - 1} * C; });
  }
}

// What the thresholds of a class share: by row of the runs their sums, by event its weights.
struct EventRows {
  RunSums* run;
  Bytes* weight;

  void take(const ClassJob& job) const {
    const Events& in = job.events;
    for (std::size_t e = 0; e < in.count; ++e) {
      std::memcpy(weight[e].v, job.counts + static_cast<std::size_t>(in.unit[e]) * C, C);
    }
  }
  void add_runs(const ClassJob& job) const {
    const Runs& runs = job.marks.runs;
    for (std::size_t r = 0; r < runs.rows; ++r) {
      const std::uint32_t* hits = job.marks.hits.event + runs.start[r];
      if (runs.size[r] == 1) {
        put_float(weight[*hits].v, run[r].weight.v);
        continue;
      }
      Lanes<std::uint16_t, C> all;
      two(weight[hits[0]].v, weight[hits[1]].v, all.v);
      for (std::size_t i = 2; i < runs.size[r]; ++i) more(weight[hits[i]].v, all.v);
      put_float(all.v, run[r].weight.v);
    }
  }
  // Adds up what is above the end of each run. Marks lanes whose sums floats do not hold.
  void add_up(const ClassJob& job) const {
    const Events& in = job.events;
    if (!job.lacking) {
      Tally<C> tally(job.heaviest);
      auto row = [&](std::size_t i) { return job.counts + static_cast<std::size_t>(in.stream[i] & ~kEvent) * C; };
      each_end(
          job, [&](std::size_t from, std::size_t to) { tally.add_rows(from, to, row); },
          [&](float* down_to, std::size_t) { tally.into(down_to); });
      const Lanes<std::int32_t, C>& sum = tally.total();  // nothing is asked of what is below
      for (std::size_t l = 0; l < C; ++l) job.uncounted[l] |= sum[l] >= kMostExact;
      return;
    }
    for (std::size_t l = 0; l < C; ++l) job.uncounted[l] |= in.entries >= kMostExact;
    Tally<C> tally(1);
    each_end(
        job, [&](std::size_t from, std::size_t to) { add_lacking(job, from, to, tally); },
        [&](float* down_to, std::size_t entries) { tally.rest_into(static_cast<std::int32_t>(entries), down_to); });
  }

 private:
  template <typename W>
  STEELYARD_NOINLINE static void put_float(const W* STEELYARD_RESTRICT weight, float* STEELYARD_RESTRICT to) {
    for (std::size_t l = 0; l < C; ++l) to[l] = static_cast<float>(std::int32_t{weight[l]});
  }
  STEELYARD_NOINLINE static void two(const std::uint8_t* STEELYARD_RESTRICT a, const std::uint8_t* STEELYARD_RESTRICT b,
                                     std::uint16_t* STEELYARD_RESTRICT to) {
    for (std::size_t l = 0; l < C; ++l) to[l] = static_cast<std::uint16_t>(a[l] + b[l]);
  }
  STEELYARD_NOINLINE static void more(const std::uint8_t* STEELYARD_RESTRICT a, std::uint16_t* STEELYARD_RESTRICT to) {
    for (std::size_t l = 0; l < C; ++l) to[l] = static_cast<std::uint16_t>(to[l] + a[l]);
  }

  // Calls take(from, to) for the entries down to each end of a run, and then put(lanes, entries down to it).
  template <typename Take, typename Put>
  void each_end(const ClassJob& job, Take take, Put put) const {
    const Runs& runs = job.marks.runs;
    std::size_t next = 0;
    for (std::size_t e = 0; e < job.events.count; ++e) {
      const std::uint32_t first = job.marks.ends[e];
      if (!first) continue;
      const std::size_t end = std::size_t{job.marks.place[e]} + 1;
      take(next, end);
      next = end;
      put(run[first - 1].down_to.v, end);
      for (std::uint32_t r = runs.also[first - 1]; r; r = runs.also[r - 1]) run[r - 1].down_to = run[first - 1].down_to;
    }
  }
};

// --- Precision on the grid, from the last run back ---

constexpr std::int32_t kMostTruths =
    10'000;  // of a class: further on the points of the grid lie closer than floats tell

// The points of the grid but the first, which whatever is found reaches. A recall of found / positives reaches
// floor(found * last / positives) of them. The quotient lies at least 1 / positives below the next whole number, so
// adding half of that makes up for its rounding. Its whole part stands in the upper bits where 384 is added to it.
//
// Some points of a grid are rounded up: a recall that lies on one exactly does not reach it. A lane has few of them,
// and what is found passes each once.
class BackwardGrid {
 public:
  // `positives`: at least 1, at most kMostTruths.
  BackwardGrid(const ClassJob& job, const Lanes<std::int32_t, C>& positives, const bool* counts)
      : nudge(384.0f + 0.5f / static_cast<float>(largest(positives))) {
    const auto last = static_cast<std::int32_t>(job.points - 1);
    for (std::size_t l = 0; l < C; ++l) scale[l] = static_cast<float>(last) / static_cast<float>(positives[l]);
    for (std::size_t l = 0; l < C; ++l) {
      if (!counts[l] || !job.inexact[positives[l] % last]) continue;
      note(job, l, positives[l], last);
      if (points_[l] > 0) lanes_[count_++] = static_cast<std::uint8_t>(l);
    }
  }

  // How many points are reached, and a constant more.
  static std::int32_t reached(float at) {
    std::int32_t bits;
    std::memcpy(&bits, &at, sizeof bits);
    return bits >> 15;
  }

  // The highest exact point of a lane that is at most `found`; below all where there is none.
  float next(std::size_t l, float found) const {
    std::size_t i = points_[l];
    while (i > 0 && exact_[l][i - 1] > found) --i;
    return i > 0 ? exact_[l][i - 1] : -1.0f;
  }

  // Calls put(lane) for each lane that has exact points.
  template <typename Put>
  void each_inexact(Put put) const {
    for (std::size_t i = 0; i < count_; ++i) put(std::size_t{lanes_[i]});
  }

  float nudge;
  Floats scale;

 private:
  // Notes the points that a recall in a lane lies on and does not reach.
  void note(const ClassJob& job, std::size_t l, std::int32_t positives, std::int32_t last) {
    for (std::int32_t r = 1; r <= last; ++r) {
      const std::int32_t product = r * positives;
      if (job.missed[r] && product % last == 0) exact_[l][points_[l]++] = static_cast<float>(product / last);
    }
  }

  std::uint8_t points_[C] = {}, lanes_[C];
  std::size_t count_ = 0;
  float exact_[C][kMostPoints];  // rising
};

Floats scaled(const Lanes<std::int32_t, C>& counts, float by) {
  Floats out;
  for (std::size_t l = 0; l < C; ++l) out[l] = static_cast<float>(counts[l]) * by;
  return out;
}

// A count of 0 or more in multiples of 2^-24, or 1. The bits of such floats are in their order.
inline float at_least_one(float count) {
  std::int32_t bits, least;
  std::memcpy(&bits, &count, sizeof bits);
  std::memcpy(&least, &kUnit, sizeof least);
  bits = larger(bits, least);
  std::memcpy(&count, &bits, sizeof count);
  return count;
}

// One threshold, from the last hit back. `found` begins with all that is found, and falls; `ignored` is what is ignored
// down to the run that is next, in multiples of 2^-24.
class BackwardEnvelope {
 public:
  BackwardEnvelope(const BackwardGrid& grid, const Lanes<std::int32_t, C>& found, const Lanes<std::int32_t, C>& ignored)
      : grid_(grid), found_(scaled(found, 1.0f)), ignored_(scaled(ignored, kUnit)) {
    begin(found_.v, grid_.scale.v, grid_.nudge, reached_.v);
    grid_.each_inexact([&](std::size_t l) {
      const float exact = grid_.next(l, found_[l]);
      if (exact < 0) return;
      if (found_[l] == exact) reached_[l] -= 1;
      inexact_[count_++] = {exact, static_cast<std::uint32_t>(l)};
    });
  }

  // Runs that follow each other with nothing ignored between them: `count` of them, at most kTogether. Without<true>:
  // some are ignored down to them.
  static constexpr std::size_t kTogether = 4;
  template <bool Without>
  void runs(const RunSums* const* run, std::size_t count) {
    if (count == 4) together<Without, 4>(run);
    if (count == 2 || count == 3) together<Without, 2>(run);
    if (count % 2 == 1) together<Without, 1>(run + count - 1);
  }
  void ignore(const Bytes& weight) { take(weight.v, ignored_.v); }
  // The first point too.
  double figure(std::size_t l) const { return static_cast<double>(sum_[l] + best_[l]); }

 private:
  // What is known of a lane after each run.
  struct Lane {
    float found;
    std::int32_t best, sum, reached;

    void run(float down_to, float weight, float scale, float nudge) {
      best = larger(best, static_cast<std::int32_t>(found / down_to));
      found -= weight;
      const std::int32_t now = BackwardGrid::reached(found * scale + nudge);
      sum += best * (reached - now);
      reached = now;
    }
  };
  // A lane that has exact points below: the next of them.
  struct Inexact {
    float exact;
    std::uint32_t lane;
  };

  // Lanes that come down to an exact point are walked alone, and put in the place of what the others' way makes of
  // them.
  template <bool Without, std::size_t N>
  void together(const RunSums* const* run) {
    Lane lanes[C];
    std::uint8_t alone[C];
    std::size_t walked = 0, kept = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      Inexact at = inexact_[i];
      const std::size_t l = at.lane;
      float left = found_[l];
      for (std::size_t k = 0; k < N; ++k) left -= run[k]->weight[l];
      if (left <= at.exact) {
        lanes[walked] = alone_through<Without, N>(run, at);
        alone[walked++] = static_cast<std::uint8_t>(l);
      }
      if (at.exact > 0) inexact_[kept++] = at;
    }
    count_ = kept;
    steps<Without, N>(run[0], run[N > 1], run[N > 2 ? 2 : 0], run[N > 3 ? 3 : 0], ignored_.v, grid_.scale.v,
                      grid_.nudge, found_.v, best_.v, sum_.v, reached_.v);
    for (std::size_t i = 0; i < walked; ++i) {
      const std::size_t l = alone[i];
      found_[l] = lanes[i].found, best_[l] = lanes[i].best, sum_[l] = lanes[i].sum, reached_[l] = lanes[i].reached;
    }
  }

  // Takes away the points that are not reached, as long as what is found rests on them.
  template <bool Without, std::size_t N>
  Lane alone_through(const RunSums* const* run, Inexact& at) const {
    const std::size_t l = at.lane;
    Lane lane{found_[l], best_[l], sum_[l], reached_[l]};
    for (std::size_t k = 0; k < N; ++k) {
      const float down_to = run[k]->down_to[l];
      lane.run(Without ? at_least_one(down_to - ignored_[l]) : down_to, run[k]->weight[l], grid_.scale[l], grid_.nudge);
      if (lane.found < at.exact) at.exact = grid_.next(l, lane.found);
      if (lane.found != at.exact) continue;
      lane.sum += lane.best;
      lane.reached -= 1;
    }
    return lane;
  }

  // N runs, one after the other. What is known of a lane is read and written once for all of them.
  template <bool Without, std::size_t N>
  STEELYARD_NOINLINE static void steps(const RunSums* STEELYARD_RESTRICT a, const RunSums* STEELYARD_RESTRICT b,
                                       const RunSums* STEELYARD_RESTRICT c, const RunSums* STEELYARD_RESTRICT d,
                                       const float* STEELYARD_RESTRICT ignored, const float* STEELYARD_RESTRICT scale,
                                       float nudge, float* STEELYARD_RESTRICT found,
                                       std::int32_t* STEELYARD_RESTRICT best, std::int32_t* STEELYARD_RESTRICT sum,
                                       std::int32_t* STEELYARD_RESTRICT reached) {
    for (std::size_t l = 0; l < C; ++l) {
      Lane lane{found[l], best[l], sum[l], reached[l]};
      auto one = [&](const RunSums* run) {
        const float all = Without ? at_least_one(run->down_to.v[l] - ignored[l]) : run->down_to.v[l];
        lane.run(all, run->weight.v[l], scale[l], nudge);
      };
      one(a);
      if constexpr (N > 1) one(b);
      if constexpr (N > 2) one(c);
      if constexpr (N > 3) one(d);
      found[l] = lane.found;
      best[l] = lane.best;
      sum[l] = lane.sum;
      reached[l] = lane.reached;
    }
  }
  STEELYARD_NOINLINE static void begin(const float* STEELYARD_RESTRICT found, const float* STEELYARD_RESTRICT scale,
                                       float nudge, std::int32_t* STEELYARD_RESTRICT reached) {
    for (std::size_t l = 0; l < C; ++l) reached[l] = BackwardGrid::reached(found[l] * scale[l] + nudge);
  }
  STEELYARD_NOINLINE static void take(const std::uint8_t* STEELYARD_RESTRICT weight, float* STEELYARD_RESTRICT from) {
    for (std::size_t l = 0; l < C; ++l) from[l] -= static_cast<float>(std::int32_t{weight[l]}) * kUnit;
  }

  const BackwardGrid& grid_;
  Floats found_, ignored_;
  Shares best_{}, sum_{}, reached_;
  Inexact inexact_[C];
  std::size_t count_ = 0;
};

// Precision on the grid of a class with many truths.
//
// The floats of BackwardEnvelope do not tell the points of the grid apart in a class with more than kMostTruths. There
// a point takes many truths: how many a lane needs for the point that it has reached is kept, and a lane that falls
// below it is looked at in whole numbers.
class LargeEnvelope {
 public:
  // `positives`: at least 1.
  LargeEnvelope(const ClassJob& job, const Lanes<std::int32_t, C>& positives, const Lanes<std::int32_t, C>& found,
                const Lanes<std::int32_t, C>& ignored)
      : job_(job), positives_(positives), found_(scaled(found, 1.0f)), ignored_(scaled(ignored, kUnit)) {
    for (std::size_t l = 0; l < C; ++l) {
      reached_[l] = static_cast<std::int32_t>(job.points - 1);
      descend(l);
    }
  }

  static constexpr std::size_t kTogether = BackwardEnvelope::kTogether;
  template <bool Without>
  void runs(const RunSums* const* run, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) one<Without>(*run[i]);
  }
  void ignore(const Bytes& weight) { take(weight.v, ignored_.v); }
  // The first point too.
  double figure(std::size_t l) const { return static_cast<double>(sum_[l] + best_[l]); }

 private:
  template <bool Without>
  void one(const RunSums& run) {
    step<Without>(run.down_to.v, ignored_.v, run.weight.v, found_.v, best_.v);
    if (!any_short(found_.v, short_.v)) return;
    for (std::size_t l = 0; l < C; ++l) {
      if (found_[l] > short_[l]) continue;
      const std::int32_t before = reached_[l];
      descend(l);
      sum_[l] += best_[l] * (before - reached_[l]);
    }
  }
  template <bool Without>
  STEELYARD_NOINLINE static void step(const float* STEELYARD_RESTRICT down_to, const float* STEELYARD_RESTRICT ignored,
                                      const float* STEELYARD_RESTRICT weight, float* STEELYARD_RESTRICT found,
                                      std::int32_t* STEELYARD_RESTRICT best) {
    for (std::size_t l = 0; l < C; ++l) {
      const float all = Without ? at_least_one(down_to[l] - ignored[l]) : down_to[l];
      best[l] = larger(best[l], static_cast<std::int32_t>(found[l] / all));
      found[l] -= weight[l];
    }
  }
  STEELYARD_NOINLINE static bool any_short(const float* STEELYARD_RESTRICT found,
                                           const float* STEELYARD_RESTRICT mark) {
    std::int32_t any = 0;
    for (std::size_t l = 0; l < C; ++l) any |= found[l] <= mark[l] ? 1 : 0;
    return any != 0;
  }
  STEELYARD_NOINLINE static void take(const std::uint8_t* STEELYARD_RESTRICT weight, float* STEELYARD_RESTRICT from) {
    for (std::size_t l = 0; l < C; ++l) from[l] -= static_cast<float>(std::int32_t{weight[l]}) * kUnit;
  }
  // What must be found for a point; one more where a recall that lies on it exactly does not reach it.
  std::int64_t needed(std::size_t l, std::int32_t point) const {
    const auto last = static_cast<std::int64_t>(job_.points - 1), product = std::int64_t{point} * positives_[l];
    return product % last == 0 ? product / last + job_.missed[point] : product / last + 1;
  }
  // From the point that was reached down to the one that still is.
  void descend(std::size_t l) {
    const auto found = static_cast<std::int64_t>(found_[l]);
    std::int64_t need = 0;
    for (; reached_[l] > 0; --reached_[l]) {
      need = needed(l, reached_[l]);
      if (need <= found) break;
    }
    short_[l] = reached_[l] > 0 ? static_cast<float>(need - 1) : -1.0f;
  }

  const ClassJob& job_;
  const Lanes<std::int32_t, C>& positives_;
  Floats found_, ignored_, short_;  // short_: one less than what is needed
  Shares best_{}, sum_{}, reached_;
};

// --- Average precision as a sum of steps, and the best F1 ---

// The sums at the end of a step, and where it ends: its last event and its last entry, each plus one.
struct StepSums {
  Lanes<std::int32_t, C> found, ranked;  // hits, and all detections that are not ignored
  std::size_t event, entry;
};

// Walks from step to step at one threshold: a step is the end of a run of equal scores with a hit.
class StepWalk {
 public:
  // From the end of an earlier step on, or from the top.
  StepWalk(const ClassJob& job, std::size_t t, const StepSums& from)
      : job_(job),
        t_(t),
        from_(from),
        event_(from.event),
        entry_(from.entry),
        added_(from.entry),
        ranked_(job.heaviest),
        ignored_(job.heaviest),
        hits_(job.heaviest) {}

  // Goes to the next step; false where there is none.
  bool next() {
    const Events& in = job_.events;
    bool risen = false;
    for (; event_ < in.count; ++event_) {
      const bool hit = (in.hit[event_] >> t_) & 1;
      if (hit || ((in.ignored[event_] >> t_) & 1)) {
        (hit ? hits_ : ignored_).add_rows(0, 1, [&](std::size_t) {
          return row(static_cast<std::size_t>(in.unit[event_]));
        });
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
  void sums(StepSums& to) {
    if (job_.lacking) add_lacking(job_, added_, entry_, ranked_);
    else ranked_.add_rows(added_, entry_, [&](std::size_t i) { return row(job_.events.stream[i] & ~kEvent); });
    added_ = entry_;
    hits_.onto(from_.found.v, to.found.v);
    if (job_.lacking) ranked_.rest_onto(from_.ranked.v, static_cast<std::int32_t>(entry_ - from_.entry), to.ranked.v);
    else ranked_.onto(from_.ranked.v, to.ranked.v);
    if (any_ignored_) subtract(ignored_.total().v, to.ranked.v);
    to.event = event_;
    to.entry = entry_;
  }

 private:
  const std::uint8_t* row(std::size_t unit) const { return job_.counts + unit * C; }
  STEELYARD_NOINLINE static void subtract(const std::int32_t* STEELYARD_RESTRICT some,
                                          std::int32_t* STEELYARD_RESTRICT from) {
    for (std::size_t l = 0; l < C; ++l) from[l] -= some[l];
  }

  const ClassJob& job_;
  std::size_t t_;
  const StepSums& from_;
  std::size_t event_, entry_, added_;
  bool any_ignored_ = false;
  Tally<C> ranked_, ignored_, hits_;
};

// Average precision as a sum of precision times the step in what is found, not yet divided by the truths.
class TieSteps {
 public:
  TieSteps(const ClassJob& job, std::size_t t) {
    const StepSums top{};
    StepSums at{};
    for (StepWalk walk(job, t, top); walk.next();) {
      walk.sums(at);
      step(at.found.v, at.ranked.v, found.v, figure.v);
    }
  }

  Lanes<std::int32_t, C> found{};
  Lanes<double, C> figure{};

 private:
  STEELYARD_NOINLINE static void step(const std::int32_t* STEELYARD_RESTRICT found,
                                      const std::int32_t* STEELYARD_RESTRICT ranked,
                                      std::int32_t* STEELYARD_RESTRICT last, double* STEELYARD_RESTRICT figure) {
    for (std::size_t l = 0; l < C; ++l) {
      const double now = static_cast<double>(found[l]), all = static_cast<double>(larger(ranked[l], 1));
      figure[l] += static_cast<double>(found[l] - last[l]) * (now / all);
      last[l] = found[l];
    }
  }
};

// Half of the best F1 over all score thresholds, found / (ranked + truths).
//
// Every kSteps steps the sums are kept, and F1 is read there alone. Between two such places it is at most what it would
// be if the hits came first, so most stretches need not be looked at step by step. The walk ends where F1 would stay
// below the best one even if all hits that are left came next.
class TieBestF1 {
 public:
  // `positives`: at least 1.
  TieBestF1(const ClassJob& job, std::size_t t, const Lanes<std::int32_t, C>& positives) {
    Lanes<double, C> truths;
    for (std::size_t l = 0; l < C; ++l) truths[l] = static_cast<double>(positives[l]);
    const StepSums top{};
    auto* kept = static_cast<StepSums*>(job.scratch);
    kept[0] = top;
    std::size_t count = 1;
    {
      const Lanes<std::int32_t, C> all = all_hits(job, t);
      StepWalk walk(job, t, top);
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
    StepSums at;
    for (std::size_t i = 1; i < count; ++i) {
      const StepSums &from = kept[i - 1], &to = kept[i];
      if (!may_exceed(from.found.v, to.found.v, from.ranked.v, truths.v, best.v)) continue;
      for (StepWalk walk(job, t, from); walk.next();) {
        walk.sums(at);
        if (at.event == to.event) break;
        read(at.found.v, at.ranked.v, truths.v, best.v);
      }
    }
  }

  Lanes<double, C> best{};

 private:
  static constexpr std::size_t kSteps = 32;

  static Lanes<std::int32_t, C> all_hits(const ClassJob& job, std::size_t t) {
    const auto& [event, begin] = job.marks.hits;
    Tally<C> tally(job.heaviest);
    tally.add_rows(begin[t], begin[t + 1],
                   [&](std::size_t i) { return job.counts + static_cast<std::size_t>(job.events.unit[event[i]]) * C; });
    return tally.total();
  }
  STEELYARD_NOINLINE static void read(const std::int32_t* STEELYARD_RESTRICT found,
                                      const std::int32_t* STEELYARD_RESTRICT ranked,
                                      const double* STEELYARD_RESTRICT truths, double* STEELYARD_RESTRICT best) {
    for (std::size_t l = 0; l < C; ++l) {
      const double f1 = static_cast<double>(found[l]) / (static_cast<double>(ranked[l]) + truths[l]);
      best[l] = larger(best[l], f1);
    }
  }
  // Whether F1 may exceed the best where hits rise from `from` to `to` and as many detections more, at least, are
  // ranked.
  STEELYARD_NOINLINE static bool may_exceed(const std::int32_t* STEELYARD_RESTRICT from,
                                            const std::int32_t* STEELYARD_RESTRICT to,
                                            const std::int32_t* STEELYARD_RESTRICT ranked,
                                            const double* STEELYARD_RESTRICT truths,
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
