// Precision on the grid under rows of counted weights, read from the last hit back: bootstrap draws, swaps, left-out groups.
//
// It gives the numbers of counted_readings.hpp to the bit, in one pass for each threshold instead of two. What all thresholds
// share is made once for a class: how much of the ranking each event closes, and its weights. From the last hit back, what is
// found falls from its total, the running maximum of precision is at hand, and nothing has to be kept for a second pass.
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
constexpr std::size_t kTallied = 256;         // as many bytes fit into 16 bits

using Floats = Lanes<float, C>;

// A sum of rows of bytes, in 16 bits for as long as it fits.
class Tally {
 public:
  // Adds row(i) for each i from `first` to `last`. Four at a time: the sum is then not waited for at each of them.
  template <typename Row>
  void add_rows(std::size_t first, std::size_t last, Row row) {
    while (first < last) {
      const std::size_t room = kTallied - rows_, end = last - first > room ? first + room : last;
      rows_ += end - first;
      for (; first + 4 <= end; first += 4) four(row(first), row(first + 1), row(first + 2), row(first + 3), part_.v);
      for (; first < end; ++first) one(row(first), part_.v);
      if (rows_ == kTallied) flush();
    }
  }
  const Lanes<std::int32_t, C>& total() {
    if (rows_) flush();
    return sum_;
  }

 private:
  using Bytes = const std::uint8_t* STEELYARD_RESTRICT;

  STEELYARD_NOINLINE static void four(Bytes a, Bytes b, Bytes c, Bytes d, std::uint16_t* STEELYARD_RESTRICT to) {
    for (std::size_t l = 0; l < C; ++l) to[l] = static_cast<std::uint16_t>(to[l] + ((a[l] + b[l]) + (c[l] + d[l])));
  }
  STEELYARD_NOINLINE static void one(Bytes row, std::uint16_t* STEELYARD_RESTRICT to) {
    for (std::size_t l = 0; l < C; ++l) to[l] = static_cast<std::uint16_t>(to[l] + row[l]);
  }
  void flush() {
    for (std::size_t l = 0; l < C; ++l) sum_[l] += part_[l];
    part_ = {};
    rows_ = 0;
  }

  Lanes<std::uint16_t, C> part_{};
  Lanes<std::int32_t, C> sum_{};
  std::size_t rows_ = 0;
};

std::int32_t largest(const Lanes<std::int32_t, C>& of) {
  std::int32_t most = 0;
  for (std::size_t l = 0; l < C; ++l) most = larger(most, of[l]);
  return most;
}

// What the thresholds of a class share, by event: the weight of all detections down to it (at least 1), and its own in
// multiples of 2^-24.
struct EventRows {
  Floats *down_to, *weight;

  // Whether floats hold the sums.
  bool note(const ClassJob& job) const {
    const Events& in = job.events;
    Tally tally;
    std::size_t next = 0;
    auto row = [&](std::size_t i) { return job.counts + static_cast<std::size_t>(in.stream[i] & ~kEvent) * C; };
    for (std::size_t e = 0; e < in.count; ++e) {
      const std::size_t at = job.marks.place[e];
      tally.add_rows(next, at + 1, row);
      next = at + 1;
      put(tally.total().v, row(at), down_to[e].v, weight[e].v);
    }
    tally.add_rows(next, in.entries, row);
    return largest(tally.total()) < (1 << 24);
  }

 private:
  STEELYARD_NOINLINE static void put(const std::int32_t* STEELYARD_RESTRICT sum,
                                     const std::uint8_t* STEELYARD_RESTRICT counts,
                                     float* STEELYARD_RESTRICT down_to, float* STEELYARD_RESTRICT weight) {
    for (std::size_t l = 0; l < C; ++l) down_to[l] = static_cast<float>(larger(sum[l], 1));
    for (std::size_t l = 0; l < C; ++l) weight[l] = static_cast<float>(std::int32_t{counts[l]}) * kOne;
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
    for (std::size_t l = 0; l < C; ++l) scale[l] = static_cast<float>(last) / (static_cast<float>(positives[l]) * kOne);
    for (std::int32_t r = 1; r <= last; ++r) {
      if (job.missed[r]) note(r, positives, counts, last);
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
  // Notes the lanes whose recall may lie on point r.
  void note(std::int32_t r, const Lanes<std::int32_t, C>& positives, const bool* counts, std::int32_t last) {
    for (std::size_t l = 0; l < C; ++l) {
      const std::int32_t product = r * positives[l];
      if (counts[l] && product % last == 0) exact_[l][points_[l]++] = static_cast<float>(product / last) * kOne;
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

// Takes weights in multiples of 2^-24 away.
STEELYARD_NOINLINE void take(const float* STEELYARD_RESTRICT weight, float* STEELYARD_RESTRICT from) {
  for (std::size_t l = 0; l < C; ++l) from[l] -= weight[l] * (1 / kOne);
}

// One threshold, from the last hit back. `found` begins with all that is found, and falls; `ignored` is what is ignored
// down to the hit that is next.
class BackwardEnvelope {
 public:
  BackwardEnvelope(const BackwardGrid& grid, const Lanes<std::int32_t, C>& found, const Lanes<std::int32_t, C>& ignored)
      : grid_(grid), found_(scaled(found, kOne)), ignored_(scaled(ignored, 1.0f)) {
    for (std::size_t l = 0; l < C; ++l) {
      reached_[l] = BackwardGrid::reached(found_[l] * grid_.scale[l] + grid_.nudge);
      exact_[l] = grid_.next(l, found_[l]);
    }
    correct();
  }

  // A hit that closes `down_to`. Without<true>: some are ignored down to it.
  template <bool Without>
  void hit(const float* down_to, const float* weight) {
    step<Without>(down_to, ignored_.v, weight, grid_.scale.v, grid_.nudge, found_.v, best_.v, sum_.v, reached_.v);
    if (doubtful_ && passes(found_.v, exact_.v)) correct();
  }
  void ignore(const float* weight) { take(weight, ignored_.v); }
  // The first point too.
  double figure(std::size_t l) const { return static_cast<double>(sum_[l] + best_[l]); }

 private:
  template <bool Without>
  STEELYARD_NOINLINE static void step(const float* STEELYARD_RESTRICT down_to, const float* STEELYARD_RESTRICT ignored,
                                      const float* STEELYARD_RESTRICT weight, const float* STEELYARD_RESTRICT scale,
                                      float nudge, float* STEELYARD_RESTRICT found, std::int32_t* STEELYARD_RESTRICT best,
                                      std::int32_t* STEELYARD_RESTRICT sum, std::int32_t* STEELYARD_RESTRICT reached) {
    for (std::size_t l = 0; l < C; ++l) {
      const float all = Without ? larger(down_to[l] - ignored[l], 1.0f) : down_to[l];
      const std::int32_t b = larger(best[l], static_cast<std::int32_t>(found[l] / all));
      const float left = found[l] - weight[l];
      const std::int32_t now = BackwardGrid::reached(left * scale[l] + nudge);
      best[l] = b;
      found[l] = left;
      sum[l] += b * (reached[l] - now);
      reached[l] = now;
    }
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
