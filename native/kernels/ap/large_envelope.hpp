// Precision on the grid of a class with many truths, under rows of counted weights, from the last hit back.
//
// It gives the numbers of backward_readings.hpp, whose floats do not tell the points of the grid apart in a class with more
// than kMostTruths. There a point takes many truths: how many a lane needs for the point that it has reached is kept, and a
// lane that falls below it is looked at in whole numbers.
#pragma once

#include "ap/backward_readings.hpp"

namespace steelyard::STEELYARD_TARGET {
namespace {

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
  STEELYARD_NOINLINE static bool any_short(const float* STEELYARD_RESTRICT found, const float* STEELYARD_RESTRICT mark) {
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

}  // namespace
}  // namespace steelyard::STEELYARD_TARGET
