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

#include "ap/event_rows.hpp"

namespace steelyard::STEELYARD_TARGET {
namespace {

constexpr std::int32_t kMostTruths = 10'000;  // of a class: further on the points of the grid lie closer than floats tell

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

  // Lanes that come down to an exact point are walked alone, and put in the place of what the others' way makes of them.
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
    steps<Without, N>(run[0], run[N > 1], run[N > 2 ? 2 : 0], run[N > 3 ? 3 : 0], ignored_.v, grid_.scale.v, grid_.nudge,
                      found_.v, best_.v, sum_.v, reached_.v);
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
                                       float nudge, float* STEELYARD_RESTRICT found, std::int32_t* STEELYARD_RESTRICT best,
                                       std::int32_t* STEELYARD_RESTRICT sum, std::int32_t* STEELYARD_RESTRICT reached) {
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
  STEELYARD_NOINLINE static void begin(const float* STEELYARD_RESTRICT found, const float* STEELYARD_RESTRICT scale, float nudge,
                                       std::int32_t* STEELYARD_RESTRICT reached) {
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

}  // namespace
}  // namespace steelyard::STEELYARD_TARGET
