// Average precision and recall of matched detections under rows of counted weights: bootstrap draws of images.
//
// A draw takes an image 0, 1, 2, ... times. So all that is added up are whole numbers: weights are bytes, sums are exact
// in 32 bits (64 where a class is large, with the same results), and whether a recall reaches a point of the grid is
// asked in whole numbers. Precision is a quotient in single precision, held as a multiple of 2^-24, so that its
// running maximum and its sum over the grid are whole numbers too. A figure is off by less than 2^-23 (1.2e-7), and
// where every detection is right it is 1 exactly. Four times as many lanes fit into a vector as with real weights.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "ap/box_events.hpp"
#include "ap/box_figures.hpp"
#include "ap/box_pass.hpp"

namespace steelyard {

constexpr float kOne = 16777216.0f;        // 2^24: the precision 1

template <typename Count>
class CountedPass {
  using Unsigned = std::make_unsigned_t<Count>;
  struct alignas(64) Counts {
    Count v[kCountedLanes];
  };
  struct alignas(64) Shares {
    std::int32_t v[kCountedLanes];
  };
  struct alignas(64) Floats {
    float v[kCountedLanes];
  };

 public:
  struct alignas(64) Figures {
    double v[kCountedLanes];
  };

  CountedPass(int kind, std::size_t thresholds, const double* grid, std::size_t points, const std::uint8_t* table)
      : value(thresholds, Figures{}), recall(thresholds, Figures{}), classes{}, curves_(kind <= kGrid),
        steps_of_ties_(kind == kStep), table_(table), last_(static_cast<Unsigned>(points - 1)), unit_(static_cast<double>(points) * static_cast<double>(kOne)) {
    // A recall of r / last exactly reaches the point, but for a few r: the point is r * (1 / last), rounded twice.
    for (std::size_t r = 0; curves_ && r < points; ++r) {
      missed_.push_back(static_cast<double>(r) / static_cast<double>(last_) < grid[r]);
    }
  }

  void run(const Boiled& in) {
    Counts positives{};
    for (std::int32_t image : in.truth_image) add_alone(positives, weight(image));
    bool any = false;
    doubtful_ = 0;
    for (std::size_t l = 0; l < kCountedLanes; ++l) {
      const bool counts = positives.v[l] > 0;
      any |= counts;
      counts_[l] = counts;
      classes.v[l] += counts ? 1.0 : 0.0;
      positives_.v[l] = counts ? positives.v[l] : 1;
      scale_.v[l] = static_cast<float>(last_) / static_cast<float>(positives_.v[l]);
      if (counts && may_miss(static_cast<Unsigned>(positives.v[l]))) doubtful_lanes_[doubtful_++] = l;
    }
    if (!any) return;
    if (curves_) count_before(in);
    for (std::size_t t = 0; t < value.size(); ++t) {
      Shares figure{};
      Counts found{};
      Figures area{};
      if (curves_) by_hits(in, t, figure, found);
      else if (steps_of_ties_) by_steps(in, t, area, found);
      else by_events(in, t, found);
      for (std::size_t l = 0; l < kCountedLanes; ++l) {
        if (!counts_[l]) continue;
        value[t].v[l] += steps_of_ties_ ? area.v[l] / static_cast<double>(positives_.v[l])
                                        : static_cast<double>(figure.v[l]) / unit_;
        recall[t].v[l] += static_cast<double>(found.v[l]) / static_cast<double>(positives_.v[l]);
      }
    }
  }

  std::vector<Figures> value, recall;
  Figures classes;

 private:
  template <typename Index>
  const std::uint8_t* weight(Index image) const {
    return table_ + static_cast<std::size_t>(image) * kCountedLanes;
  }
  static void add(Counts& to, const std::uint8_t* STEELYARD_RESTRICT weights) {
    Count* STEELYARD_RESTRICT v = to.v;
    for (std::size_t l = 0; l < kCountedLanes; ++l) v[l] += weights[l];
  }

  // The same, kept from being woven into a loop around it, where compilers give up vector code.
  STEELYARD_ALONE static void add_alone(Counts& to, const std::uint8_t* weights) { add(to, weights); }

  // Whether some recall is exactly on one of the points that is then not reached.
  bool may_miss(Unsigned positives) const {
    for (std::size_t r = 0; r < missed_.size(); ++r) {
      if (missed_[r] && static_cast<std::uint64_t>(r) * positives % last_ == 0) return true;
    }
    return false;
  }

  // Plain false positives before each event: shared by all thresholds.
  void count_before(const Boiled& in) {
    before_.resize(in.hit.size());
    precision_.resize(in.hit.size());
    steps_.resize(in.hit.size());
    Counts plain{};
    std::size_t e = 0;
    for (std::uint32_t entry : in.stream) {
      if (entry & kEvent) before_[e++] = plain;
      else add(plain, weight(entry));
    }
  }

  void by_events(const Boiled& in, std::size_t t, Counts& tp) const {
    for (std::size_t e = 0; e < in.hit.size(); ++e) {
      if ((in.hit[e] >> t) & 1) add(tp, weight(in.event_image[e]));
    }
  }

  // Sum of precision times the step in recall; equal scores are one step. In double precision, and only where a tie has
  // a hit: a step without one adds 0. The numbers are those of box_pass.hpp to the bit.
  void by_steps(const Boiled& in, std::size_t t, Figures& area, Counts& tp) const {
    Counts all{}, last{};
    std::size_t e = 0;
    bool risen = false;
    for (std::size_t i = 0; i < in.stream.size(); ++i) {
      const std::uint32_t entry = in.stream[i];
      const std::uint8_t* w = weight(entry & ~kEvent);
      if (entry & kEvent) {
        const bool hit = (in.hit[e] >> t) & 1, ignored = (in.ignored[e] >> t) & 1;
        ++e;
        if (hit) add(tp, w);
        if (hit || !ignored) add(all, w);
        risen |= hit;
      } else {
        add(all, w);
      }
      if (risen && in.last_of_tie[i]) {
        step(tp.v, all.v, last.v, area.v);
        risen = false;
      }
    }
  }

  STEELYARD_ALONE static void step(const Count* STEELYARD_RESTRICT tp, const Count* STEELYARD_RESTRICT all,
                                   Count* STEELYARD_RESTRICT last, double* STEELYARD_RESTRICT area) {
    for (std::size_t l = 0; l < kCountedLanes; ++l) {
      const double found = static_cast<double>(tp[l]), whole = static_cast<double>(all[l] > 0 ? all[l] : 1);
      area[l] += static_cast<double>(tp[l] - last[l]) * (found / whole);
      last[l] = tp[l];
    }
  }

  void by_hits(const Boiled& in, std::size_t t, Shares& figure, Counts& tp) {
    Counts fp{};
    Shares points{};
    std::size_t hits = 0;
    for (std::size_t e = 0; e < in.hit.size(); ++e) {
      const std::uint8_t* w = weight(in.event_image[e]);
      if ((in.hit[e] >> t) & 1) {
        add(tp, w);
        divide(tp.v, fp.v, before_[e].v, precision_[hits].v);
        climb(tp.v, points.v, steps_[hits].v);
        ++hits;
      } else if (!((in.ignored[e] >> t) & 1)) {
        add(fp, w);
      }
    }
    // From the last hit back: each hit has the points of the grid that it reaches and the one before does not.
    Shares best{};
    for (std::size_t i = hits; i-- > 0;) fall(precision_[i].v, steps_[i].v, best.v, figure.v);
  }

  static void divide(const Count* STEELYARD_RESTRICT tp, const Count* STEELYARD_RESTRICT fp,
                     const Count* STEELYARD_RESTRICT before, std::int32_t* STEELYARD_RESTRICT precision) {
    for (std::size_t l = 0; l < kCountedLanes; ++l) {
      const Count all = tp[l] + fp[l] + before[l];
      const float whole = static_cast<float>(all > 0 ? all : 1);
      precision[l] = static_cast<std::int32_t>(static_cast<float>(tp[l]) * kOne / whole);
    }
  }

  // How many more points of the grid are reached with `tp` found. Rounding finds the nearest point r; the sign of
  // tp * last - r * positives, which is small and so right even where the products wrap, says on which side of it.
  void climb(const Count* STEELYARD_RESTRICT tp, std::int32_t* STEELYARD_RESTRICT points,
             std::int32_t* STEELYARD_RESTRICT steps) const {
    alignas(64) Count beyond[kCountedLanes];
    alignas(64) std::int32_t nearest[kCountedLanes];
    const Count* STEELYARD_RESTRICT positives = positives_.v;
    const float* STEELYARD_RESTRICT scale = scale_.v;
    const float most = static_cast<float>(last_);
    for (std::size_t l = 0; l < kCountedLanes; ++l) {
      const float at = static_cast<float>(tp[l]) * scale[l];
      nearest[l] = static_cast<std::int32_t>((at < most ? at : most) + 0.5f);
      beyond[l] = static_cast<Count>(static_cast<Unsigned>(tp[l]) * last_ -
                                     static_cast<Unsigned>(nearest[l]) * static_cast<Unsigned>(positives[l]));
    }
    for (std::size_t l = 0; l < kCountedLanes; ++l) {
      const std::int32_t now = nearest[l] + (beyond[l] >= 0 ? 1 : 0);
      steps[l] = now - points[l];
      points[l] = now;
    }
    for (std::size_t i = 0; i < doubtful_; ++i) {
      const std::size_t l = doubtful_lanes_[i];
      const bool missed = beyond[l] == 0 && missed_[static_cast<std::size_t>(nearest[l])];
      steps[l] -= missed;
      points[l] -= missed;
    }
  }

  static void fall(const std::int32_t* STEELYARD_RESTRICT precision, const std::int32_t* STEELYARD_RESTRICT steps,
                   std::int32_t* STEELYARD_RESTRICT best, std::int32_t* STEELYARD_RESTRICT figure) {
    for (std::size_t l = 0; l < kCountedLanes; ++l) {
      const std::int32_t b = best[l] > precision[l] ? best[l] : precision[l];
      best[l] = b;
      figure[l] += b * steps[l];
    }
  }

  bool curves_, steps_of_ties_;
  const std::uint8_t* table_;
  Unsigned last_;
  double unit_;
  Counts positives_{};
  Floats scale_{};
  bool counts_[kCountedLanes] = {};
  std::size_t doubtful_ = 0, doubtful_lanes_[kCountedLanes] = {};
  std::vector<std::uint8_t> missed_;
  std::vector<Counts> before_;
  std::vector<Shares> precision_, steps_;
};

}  // namespace steelyard
