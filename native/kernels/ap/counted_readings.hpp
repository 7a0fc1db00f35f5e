// Readings of a walk under rows of counted weights: bootstrap draws of images.
//
// A draw takes an image 0, 1, 2, ... times. So all that is added up are whole numbers: weights are bytes, sums are exact
// in 32 bits (64 where a class is large, with the same results), and whether a recall reaches a point of the grid is
// asked in whole numbers. Precision is a quotient in single precision, held as a multiple of 2^-24, so that its
// running maximum and its sum over the grid are whole numbers too. A figure is off by less than 2^-23 (1.2e-7), and
// where every detection is right it is 1 exactly. Four times as many lanes fit into a vector as with real weights.
#pragma once

#include <type_traits>

#include "ap/figures.hpp"
#include "ap/lanes.hpp"

namespace steelyard::STEELYARD_TARGET {
namespace {

constexpr float kOne = 16777216.0f;  // 2^24: the precision 1
constexpr std::size_t C = kCountedLanes;

using Shares = Lanes<std::int32_t, C>;  // multiples of 2^-24, and points of the grid

// Where the points of an even grid of recalls are reached, in whole numbers.
template <typename Count>
struct CountedGrid {
  using Unsigned = std::make_unsigned_t<Count>;
  Unsigned last;
  const std::uint8_t* missed;  // by point: a recall of r / last exactly does not reach it, by its rounding
  std::size_t points;
  Lanes<Count, C> positives;  // at least 1
  Lanes<float, C> scale;
  std::size_t doubtful = 0, lanes[C];  // where some recall is exactly on a point that is then not reached

  void begin(const Lanes<Count, C>& of, const bool* counts) {
    positives = of;
    doubtful = 0;
    for (std::size_t l = 0; l < C; ++l) {
      scale[l] = static_cast<float>(last) / static_cast<float>(positives[l]);
      if (counts[l] && may_miss(static_cast<Unsigned>(positives[l]))) lanes[doubtful++] = l;
    }
  }

  // How many more points of the grid are reached with `tp` found. Rounding finds the nearest point r; the sign of
  // tp * last - r * positives, which is small and so right even where the products wrap, says on which side of it.
  void climb(const Count* STEELYARD_RESTRICT tp, std::int32_t* STEELYARD_RESTRICT reached,
             std::int32_t* STEELYARD_RESTRICT steps) const {
    alignas(64) Count beyond[C];
    alignas(64) std::int32_t nearest[C];
    const Count* STEELYARD_RESTRICT all = positives.v;
    const float* STEELYARD_RESTRICT by = scale.v;
    const float most = static_cast<float>(last);
    for (std::size_t l = 0; l < C; ++l) {
      const float at = static_cast<float>(tp[l]) * by[l];
      nearest[l] = static_cast<std::int32_t>((at < most ? at : most) + 0.5f);
      beyond[l] = static_cast<Count>(static_cast<Unsigned>(tp[l]) * last -
                                     static_cast<Unsigned>(nearest[l]) * static_cast<Unsigned>(all[l]));
    }
    for (std::size_t l = 0; l < C; ++l) {
      const std::int32_t now = nearest[l] + (beyond[l] >= 0 ? 1 : 0);
      steps[l] = now - reached[l];
      reached[l] = now;
    }
    for (std::size_t i = 0; i < doubtful; ++i) {
      const std::size_t l = lanes[i];
      const bool short_of_it = beyond[l] == 0 && missed[static_cast<std::size_t>(nearest[l])];
      steps[l] -= short_of_it;
      reached[l] -= short_of_it;
    }
  }

 private:
  bool may_miss(Unsigned of) const {
    for (std::size_t r = 0; r < points; ++r) {
      if (missed[r] && static_cast<std::uint64_t>(r) * of % last == 0) return true;
    }
    return false;
  }
};

// What is found in the end, and nothing else.
template <typename Count>
struct CountedRecall {
  static constexpr bool kByTie = false;
  Lanes<Count, C> tp{};

  void hit(const std::uint8_t* w, std::size_t) { add(tp, w); }
  void miss(const std::uint8_t*) {}
};

// Precision and the points of the grid that are reached at each hit, kept: both have room for every event.
template <typename Count>
struct CountedEnvelope {
  static constexpr bool kByTie = false;
  const Lanes<Count, C>* plain;
  const CountedGrid<Count>& grid;
  Shares *precision, *steps;
  Lanes<Count, C> tp{}, fp{};
  Shares reached{};
  std::size_t hits = 0;

  void hit(const std::uint8_t* w, std::size_t i) {
    add(tp, w);
    divide(tp.v, fp.v, plain[i].v, precision[hits].v);
    grid.climb(tp.v, reached.v, steps[hits].v);
    ++hits;
  }
  void miss(const std::uint8_t* w) { add(fp, w); }

  // From the last hit back: each hit has the points of the grid that it reaches and the one before does not.
  void figure(Shares& out) const {
    Shares best{};
    for (std::size_t i = hits; i-- > 0;) fall(precision[i].v, steps[i].v, best.v, out.v);
  }

 private:
  static void divide(const Count* STEELYARD_RESTRICT tp, const Count* STEELYARD_RESTRICT fp,
                     const Count* STEELYARD_RESTRICT plain, std::int32_t* STEELYARD_RESTRICT precision) {
    for (std::size_t l = 0; l < C; ++l) {
      const Count all = tp[l] + fp[l] + plain[l];
      const float whole = static_cast<float>(all > 0 ? all : 1);
      precision[l] = static_cast<std::int32_t>(static_cast<float>(tp[l]) * kOne / whole);
    }
  }

  static void fall(const std::int32_t* STEELYARD_RESTRICT precision, const std::int32_t* STEELYARD_RESTRICT steps,
                   std::int32_t* STEELYARD_RESTRICT best, std::int32_t* STEELYARD_RESTRICT figure) {
    for (std::size_t l = 0; l < C; ++l) {
      const std::int32_t b = best[l] > precision[l] ? best[l] : precision[l];
      best[l] = b;
      figure[l] += b * steps[l];
    }
  }
};

}  // namespace
}  // namespace steelyard::STEELYARD_TARGET
