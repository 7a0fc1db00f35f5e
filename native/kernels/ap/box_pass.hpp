// Figures of matched detections under rows of real weights: kLanes rows in one walk over the events.
//
// The order of the detections and their matches do not depend on the weights, so a bootstrap draw is one weighted pass
// over each class. The weights of one image lie side by side, and each threshold walks the events alone.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "ap/box_events.hpp"
#include "ap/box_figures.hpp"

namespace steelyard {

constexpr std::size_t kLanes = 20;  // more than compilers unroll whole, which would keep them from vector code

#if defined(_MSC_VER)
#define STEELYARD_RESTRICT __restrict
#define STEELYARD_ALONE __declspec(noinline)
#else
#define STEELYARD_RESTRICT __restrict__
#define STEELYARD_ALONE __attribute__((noinline))
#endif

// One number for each of kLanes rows of weights.
struct alignas(64) Lane {
  double v[kLanes];
  double& operator[](std::size_t l) { return v[l]; }
  double operator[](std::size_t l) const { return v[l]; }
};

inline void add(Lane& to, const double* STEELYARD_RESTRICT weights) {
  double* STEELYARD_RESTRICT v = to.v;
  for (std::size_t l = 0; l < kLanes; ++l) v[l] += weights[l];
}

// Figures of kLanes rows of weights, added up over classes. Every loop over the lanes does one plain thing with arrays
// that do not overlap, which is what compilers turn into vector code.
class Pass {
 public:
  Pass(int kind, std::size_t thresholds, const double* grid, std::size_t points, const double* table, const Lane& images)
      : kind_(kind), thresholds_(thresholds), grid_(grid), points_(points), table_(table), images_(images),
        last_(static_cast<double>(points - 1)), value(thresholds, Lane{}), recall(thresholds, Lane{}), classes{} {
    if (kind > kGrid) return;
    // Where a recall is r / last exactly, does it reach the point? The point is r * (1 / last), rounded twice.
    for (std::size_t r = 0; r < points; ++r) reached_.push_back(static_cast<double>(r) / last_ >= grid[r] ? 1.0 : 0.0);
  }

  void run(const Boiled& in) {
    positives_ = Lane{};
    for (std::int32_t image : in.truth_image) add(positives_, weight(image));
    bool any = false;
    for (std::size_t l = 0; l < kLanes; ++l) {
      const bool counts = positives_[l] > 0;
      counts_[l] = counts ? 1.0 : 0.0;
      classes[l] += counts_[l];
      divisor_[l] = counts ? positives_[l] : 1.0;
      scale_[l] = last_ / divisor_[l];
      any |= counts;
    }
    if (!any) return;
    if (kind_ <= kArea) count_before(in);
    for (std::size_t t = 0; t < thresholds_; ++t) {
      Lane figure{}, found{};
      if (kind_ <= kArea) by_hits(in, t, figure, found);
      else if (kind_ == kStep) by_steps(in, t, figure, found);
      else if (kind_ == kMiss) by_misses(in, t, figure, found);
      else if (kind_ == kRecall) by_events(in, t, found);
      else best_f1(in, t, figure, found);
      for (std::size_t l = 0; l < kLanes; ++l) {
        if (counts_[l] == 0) continue;
        value[t][l] += figure[l];
        recall[t][l] += kind_ == kBestF1 ? found[l] : found[l] / divisor_[l];
      }
    }
  }

 private:
  const double* weight(std::int32_t image) const { return table_ + static_cast<std::size_t>(image) * kLanes; }
  const double* weight(std::uint32_t entry) const { return table_ + static_cast<std::size_t>(entry & ~kEvent) * kLanes; }

  // Plain false positives before each event: shared by all thresholds.
  void count_before(const Boiled& in) {
    before_.resize(in.hit.size());
    precision_.resize(in.hit.size());
    found_.resize(in.hit.size());
    Lane plain{};
    std::size_t e = 0;
    for (std::uint32_t entry : in.stream) {
      if (entry & kEvent) before_[e++] = plain;
      else add(plain, weight(entry));
    }
  }

  void by_hits(const Boiled& in, std::size_t t, Lane& figure, Lane& tp) {
    const double tiny = kind_ == kCoco ? kTiny : 0.0;
    Lane fp{};
    std::size_t hits = 0;
    for (std::size_t e = 0; e < in.hit.size(); ++e) {
      const double* w = weight(in.event_image[e]);
      if ((in.hit[e] >> t) & 1) {
        at_hit(tp.v, fp.v, before_[e].v, w, tiny, precision_[hits].v, found_[hits].v);
        ++hits;
      } else if (!((in.ignored[e] >> t) & 1)) {
        add(fp, w);
      }
    }
    if (hits == 0) return;
    Lane best{};
    if (kind_ == kArea) {
      for (std::size_t i = hits; i-- > 0;) {
        for (std::size_t l = 0; l < kLanes; ++l) {
          best[l] = best[l] > precision_[i][l] ? best[l] : precision_[i][l];
          figure[l] += best[l] * (found_[i][l] - (i ? found_[i - 1][l] : 0.0));
        }
      }
      for (std::size_t l = 0; l < kLanes; ++l) figure[l] /= divisor_[l];
      return;
    }
    // From the last hit back: each hit has the points of the grid that it reaches and the one before does not.
    for (std::size_t i = 0; i < hits; ++i) points_to(found_[i].v, scale_.v, found_[i].v);
    for (std::size_t i = hits; i-- > 1;) fall(precision_[i].v, found_[i].v, found_[i - 1].v, best.v, figure.v);
    const Lane nothing{};
    fall(precision_[0].v, found_[0].v, nothing.v, best.v, figure.v);
    for (std::size_t l = 0; l < kLanes; ++l) figure[l] /= static_cast<double>(points_);
  }

  // One more hit: its weight is added, precision and the weight found so far are noted.
  // The quotient is made of a float's inverse and two steps of Newton's: to about the last bit, and vector units are
  // several times faster at it than at dividing doubles.
  static void at_hit(double* STEELYARD_RESTRICT tp, const double* STEELYARD_RESTRICT fp,
                     const double* STEELYARD_RESTRICT before, const double* STEELYARD_RESTRICT w, double tiny,
                     double* STEELYARD_RESTRICT precision, double* STEELYARD_RESTRICT found) {
    alignas(64) double all[kLanes];
    alignas(64) float inverse[kLanes];
    for (std::size_t l = 0; l < kLanes; ++l) {
      const double sum = tp[l] + w[l];
      tp[l] = found[l] = sum;
      const double whole = (fp[l] + before[l]) + sum + tiny;
      all[l] = whole > kTiny ? whole : kTiny;
    }
    for (std::size_t l = 0; l < kLanes; ++l) inverse[l] = 1.0f / static_cast<float>(all[l]);
    for (std::size_t l = 0; l < kLanes; ++l) {
      double r = static_cast<double>(inverse[l]);
      r = r * (2.0 - all[l] * r);
      r = r * (2.0 - all[l] * r);
      precision[l] = found[l] * r;
    }
  }

  // How many points of the grid a recall reaches. The nearest point decides; adding and taking away 1.5 * 2^52 rounds
  // to it without a branch. A recall that is on the point is looked up: `reached_`.
  void points_to(const double* found, const double* STEELYARD_RESTRICT scale, double* out) const {
    constexpr double magic = 6755399441055744.0;
    alignas(64) double nearest[kLanes], beyond[kLanes];
    for (std::size_t l = 0; l < kLanes; ++l) {
      const double reach = found[l] * scale[l], at = reach < last_ ? reach : last_;
      nearest[l] = (at + magic) - magic;
      beyond[l] = at - nearest[l];
    }
    for (std::size_t l = 0; l < kLanes; ++l) out[l] = nearest[l] + (beyond[l] > 0 ? 1.0 : 0.0);
    for (std::size_t block = 0; block < kLanes; block += 4) {
      double doubt = 0;
      for (std::size_t l = block; l < block + 4; ++l) doubt += beyond[l] * beyond[l] < 1e-18 ? 1.0 : 0.0;
      if (doubt == 0) continue;
      for (std::size_t l = block; l < block + 4; ++l) {
        if (beyond[l] * beyond[l] < 1e-18) out[l] = nearest[l] + reached_[static_cast<std::size_t>(nearest[l])];
      }
    }
  }

  static void fall(const double* STEELYARD_RESTRICT precision, const double* STEELYARD_RESTRICT upper,
                   const double* STEELYARD_RESTRICT lower, double* STEELYARD_RESTRICT best,
                   double* STEELYARD_RESTRICT figure) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      const double b = best[l] > precision[l] ? best[l] : precision[l];
      best[l] = b;
      figure[l] += b * (upper[l] - lower[l]);
    }
  }

  void by_events(const Boiled& in, std::size_t t, Lane& tp) {
    for (std::size_t e = 0; e < in.hit.size(); ++e) {
      if ((in.hit[e] >> t) & 1) add(tp, weight(in.event_image[e]));
    }
  }

  template <typename AtTie>
  void walk(const Boiled& in, std::size_t t, Lane& tp, Lane& fp, AtTie at_tie) {
    std::size_t e = 0;
    for (std::size_t i = 0; i < in.stream.size(); ++i) {
      const std::uint32_t entry = in.stream[i];
      bool hit = false, ignored = false;
      if (entry & kEvent) {
        hit = (in.hit[e] >> t) & 1;
        ignored = (in.ignored[e] >> t) & 1;
        ++e;
      }
      if (hit) add(tp, weight(entry));
      else if (!ignored) add(fp, weight(entry));
      if (in.last_of_tie[i]) at_tie(i);
    }
  }

  // Sum of precision times the step in recall; equal scores are one step.
  void by_steps(const Boiled& in, std::size_t t, Lane& figure, Lane& tp) {
    Lane fp{}, last{};
    walk(in, t, tp, fp, [&](std::size_t) {
      for (std::size_t l = 0; l < kLanes; ++l) {
        const double all = tp[l] + fp[l];
        figure[l] += (tp[l] - last[l]) * (tp[l] / (all > 0 ? all : 1.0));
        last[l] = tp[l];
      }
    });
    for (std::size_t l = 0; l < kLanes; ++l) figure[l] /= divisor_[l];
  }

  // Geometric mean of the miss rate at given numbers of false positives an image.
  void by_misses(const Boiled& in, std::size_t t, Lane& figure, Lane& tp) {
    Lane fp{};
    std::array<std::size_t, kLanes> next{};
    auto settle = [&](std::size_t l, double limit) {
      while (next[l] < points_ && limit > grid_[next[l]]) {
        figure[l] += std::log(std::max(1e-10, 1 - tp[l] / divisor_[l]));
        ++next[l];
      }
    };
    std::size_t e = 0;
    for (std::uint32_t entry : in.stream) {
      bool hit = false, ignored = false;
      if (entry & kEvent) {
        hit = (in.hit[e] >> t) & 1;
        ignored = (in.ignored[e] >> t) & 1;
        ++e;
      }
      const double* w = weight(entry);
      if (hit) {
        add(tp, w);
      } else if (!ignored) {
        add(fp, w);
        for (std::size_t l = 0; l < kLanes; ++l) settle(l, images_[l] > 0 ? fp[l] / images_[l] : 0.0);
      }
    }
    for (std::size_t l = 0; l < kLanes; ++l) {
      settle(l, std::numeric_limits<double>::infinity());
      figure[l] = std::exp(figure[l] / static_cast<double>(points_));
    }
  }

  // The best F1 over all score thresholds; `found` becomes that threshold.
  void best_f1(const Boiled& in, std::size_t t, Lane& figure, Lane& found) {
    Lane tp{}, fp{};
    for (std::size_t l = 0; l < kLanes; ++l) found[l] = std::numeric_limits<double>::quiet_NaN();
    walk(in, t, tp, fp, [&](std::size_t i) {
      for (std::size_t l = 0; l < kLanes; ++l) {
        const double f1 = 2 * tp[l] / (tp[l] + fp[l] + divisor_[l]);
        const bool better = f1 > figure[l];
        figure[l] = better ? f1 : figure[l];
        found[l] = better ? in.score[i] : found[l];
      }
    });
  }

  int kind_;
  std::size_t thresholds_;
  const double* grid_;
  std::size_t points_;
  const double* table_;
  Lane images_, positives_, divisor_, scale_, counts_;
  double last_;
  std::vector<double> reached_;
  std::vector<Lane> before_, precision_, found_;

 public:
  std::vector<Lane> value, recall;
  Lane classes;
};

}  // namespace steelyard
