// Precision on the grid under rows of counted weights, read from the last hit back: bootstrap draws, swaps, left-out groups.
//
// It gives the numbers of counted_readings.hpp to the bit, in one pass for each threshold instead of two. What all thresholds
// share is made once for a class: how much of the ranking each event closes, and its weights. From the last hit back, what is
// found falls from its total, the running maximum of precision is at hand, and nothing has to be kept for a second pass.
//
// Hits with no miss between them are one step. Precision rises along such a run whatever the hits weigh, so that the maximum
// is read at its end; and one maximum serves all points of the grid that the run reaches.
//
// Sums are whole numbers below 2^24, which floats hold exactly; a class that is larger is left to counted_readings.hpp.
#pragma once

#include <cstring>

#include "ap/counted_readings.hpp"
#include "ap/figures.hpp"
#include "ap/lanes.hpp"

namespace steelyard::STEELYARD_TARGET {
namespace {

constexpr std::int32_t kMostTruths = 10'000;  // of a class: further on the points of the grid lie closer than floats tell
constexpr std::size_t H = C / 2;
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
  STEELYARD_NOINLINE static void put(const std::int32_t* STEELYARD_RESTRICT sum, Row part, float* STEELYARD_RESTRICT to) {
    for (std::size_t l = 0; l < L; ++l) to[l] = static_cast<float>(larger(sum[l] + part[l], 1)) * kUnit;
  }
  STEELYARD_NOINLINE static void put_rest(const std::int32_t* STEELYARD_RESTRICT sum, Row part, std::int32_t all,
                                          float* STEELYARD_RESTRICT to) {
    for (std::size_t l = 0; l < L; ++l) to[l] = static_cast<float>(larger(all - (sum[l] + part[l]), 1)) * kUnit;
  }
  void flush() {
    for (std::size_t l = 0; l < L; ++l) sum_[l] += part_[l];
    part_ = {};
    rows_ = 0;
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

// What the thresholds of a class share. By event: its weights, and the weight of all detections down to it (at least 1, in
// multiples of 2^-24) where a run ends with it. By row of the runs: what its hits weigh.
struct EventRows {
  Floats *down_to, *run;
  Bytes* weight;

  void take(const ClassJob& job) const {
    const Events& in = job.events;
    for (std::size_t e = 0; e < in.count; ++e) {
      const auto unit = static_cast<std::size_t>(in.unit[e]);
      if (job.halves) put_both(job.halves + unit * H, weight[e].v, weight[e].v + H);
      else std::memcpy(weight[e].v, job.counts + unit * C, C);
    }
  }
  void add_runs(const ClassJob& job) const {
    const Runs& runs = job.marks.runs;
    for (std::size_t r = 0; r < runs.rows; ++r) {
      const std::uint32_t* hits = job.marks.hits.event + runs.start[r];
      if (runs.size[r] == 1) {
        put_float(weight[*hits].v, run[r].v);
        continue;
      }
      Lanes<std::uint16_t, C> all;
      two(weight[hits[0]].v, weight[hits[1]].v, all.v);
      for (std::size_t i = 2; i < runs.size[r]; ++i) more(weight[hits[i]].v, all.v);
      put_float(all.v, run[r].v);
    }
  }
  // Adds up what is above each event. Whether floats hold the sums.
  bool add_up(const ClassJob& job) const {
    if (!job.halves) {
      Tally<C> tally(job.heaviest);
      each_end(job, job.counts, tally, [&](std::size_t e, std::size_t) { tally.into(down_to[e].v); });
      return largest(tally.total()) < kMostExact;  // nothing is asked of what is below
    }
    if (job.events.entries >= kMostExact) return false;
    Tally<H> tally(job.heaviest);
    each_end(job, job.halves, tally, [&](std::size_t e, std::size_t entries) {
      tally.into(down_to[e].v);
      tally.rest_into(static_cast<std::int32_t>(entries), down_to[e].v + H);
    });
    return true;
  }

 private:
  static constexpr std::int32_t kMostExact = 1 << 24;

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
  static void put_both(const std::uint8_t* STEELYARD_RESTRICT half, std::uint8_t* STEELYARD_RESTRICT to,
                       std::uint8_t* STEELYARD_RESTRICT other) {
    for (std::size_t l = 0; l < H; ++l) to[l] = half[l];
    for (std::size_t l = 0; l < H; ++l) other[l] = static_cast<std::uint8_t>(1 - half[l]);
  }

  // Adds up the entries down to the last run, and calls put(event, entries down to it) at the end of each.
  template <std::size_t L, typename Put>
  static void each_end(const ClassJob& job, const std::uint8_t* table, Tally<L>& tally, Put put) {
    const Events& in = job.events;
    auto row = [&](std::size_t i) { return table + static_cast<std::size_t>(in.stream[i] & ~kEvent) * L; };
    std::size_t next = 0;
    for (std::size_t e = 0; e < in.count; ++e) {
      if (!job.marks.ends[e]) continue;
      const std::size_t end = std::size_t{job.marks.place[e]} + 1;
      tally.add_rows(next, end, row);
      next = end;
      put(e, end);
    }
  }
};

// The points of the grid but the first, which whatever is found reaches. A recall of found / positives reaches
// floor(found * last / positives) of them. The quotient lies at least 1 / positives below the next whole number, so adding
// half of that makes up for its rounding. Its whole part stands in the upper bits where 384 is added to it.
//
// Some points of a grid are rounded up: a recall that lies on one exactly does not reach it. A lane has few of them, and
// what is found passes each once.
class BackwardGrid {
 public:
  // `positives`: at least 1, at most kMostTruths.
  BackwardGrid(const ClassJob& job, const Lanes<std::int32_t, C>& positives, const bool* counts)
      : nudge(384.0f + 0.5f / static_cast<float>(largest(positives))) {
    const auto last = static_cast<std::int32_t>(job.points - 1);
    for (std::size_t l = 0; l < C; ++l) scale[l] = static_cast<float>(last) / static_cast<float>(positives[l]);
    for (std::size_t l = 0; l < C; ++l) {
      if (counts[l] && job.inexact[positives[l] % last]) note(job, l, positives[l], last);
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

  std::uint8_t points_[C] = {};
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
    for (std::size_t l = 0; l < C; ++l) {
      reached_[l] = BackwardGrid::reached(found_[l] * grid_.scale[l] + grid_.nudge);
      exact_[l] = grid_.next(l, found_[l]);
    }
    correct();
  }

  // A run that weighs `weight` and closes `down_to`. Without<true>: some are ignored down to it.
  template <bool Without>
  void run(const Floats& down_to, const Floats& weight) {
    step<Without>(down_to.v, ignored_.v, weight.v, grid_.scale.v, grid_.nudge, found_.v, best_.v, sum_.v, reached_.v);
    if (doubtful_ && passes(found_.v, exact_.v)) correct();
  }
  void ignore(const Bytes& weight) { take(weight.v, ignored_.v); }
  // The first point too.
  double figure(std::size_t l) const { return static_cast<double>(sum_[l] + best_[l]); }

 private:
  template <bool Without>
  STEELYARD_NOINLINE static void step(const float* STEELYARD_RESTRICT down_to, const float* STEELYARD_RESTRICT ignored,
                                      const float* STEELYARD_RESTRICT weight, const float* STEELYARD_RESTRICT scale,
                                      float nudge, float* STEELYARD_RESTRICT found, std::int32_t* STEELYARD_RESTRICT best,
                                      std::int32_t* STEELYARD_RESTRICT sum, std::int32_t* STEELYARD_RESTRICT reached) {
    for (std::size_t l = 0; l < C; ++l) {
      const float all = Without ? at_least_one(down_to[l] - ignored[l]) : down_to[l];
      const std::int32_t b = larger(best[l], static_cast<std::int32_t>(found[l] / all));
      const float left = found[l] - weight[l];
      const std::int32_t now = BackwardGrid::reached(left * scale[l] + nudge);
      best[l] = b;
      found[l] = left;
      sum[l] += b * (reached[l] - now);
      reached[l] = now;
    }
  }
  STEELYARD_NOINLINE static void take(const std::uint8_t* STEELYARD_RESTRICT weight, float* STEELYARD_RESTRICT from) {
    for (std::size_t l = 0; l < C; ++l) from[l] -= static_cast<float>(std::int32_t{weight[l]}) * kUnit;
  }
  // Whether something found has come down to an exact point.
  STEELYARD_NOINLINE static bool passes(const float* STEELYARD_RESTRICT found, const float* STEELYARD_RESTRICT exact) {
    std::int32_t any = 0;
    for (std::size_t l = 0; l < C; ++l) any |= found[l] <= exact[l] ? 1 : 0;
    return any != 0;
  }
  // Takes away the points that are not reached, as long as what is found rests on them.
  void correct() {
    doubtful_ = false;
    for (std::size_t l = 0; l < C; ++l) {
      if (found_[l] < exact_[l]) exact_[l] = grid_.next(l, found_[l]);
      doubtful_ |= exact_[l] > 0;
      if (found_[l] != exact_[l]) continue;
      sum_[l] += best_[l];
      reached_[l] -= 1;
    }
  }

  const BackwardGrid& grid_;
  Floats found_, ignored_, exact_;
  Shares best_{}, sum_{}, reached_;
  bool doubtful_ = false;  // exact points lie below
};

}  // namespace
}  // namespace steelyard::STEELYARD_TARGET
