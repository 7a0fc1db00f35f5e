// Precision, recall and scores of matched detections on a grid of recalls, under one row of image weights.
//
// The reference's curves to the bit. The precision envelope and the grid are taken from hits only: between two hits
// precision falls and recall rests. Classes are independent: the number of threads changes nothing.
#include "ap/box_figures.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "ap/box_events.hpp"
#include "support/pool.hpp"

namespace steelyard {
namespace {

// The curves of one class under one row of weights: precision and score on the recall grid, and the final recall.
struct ClassCurves {
  const Ranked& in;
  const double* weight;
  const double* grid;
  std::size_t points;
  std::array<std::vector<std::array<double, 2>>, kMostThresholds> hits;  // precision, recall at each hit
  std::array<std::vector<std::int64_t>, kMostThresholds> places;

  // Whether a recall reaches point r of the grid. On the point itself (real weights add up to it only nearly) the
  // point's own rounding decides, as it does for whole weights in the reference.
  bool reaches(double recall, std::size_t r) const {
    const double last = static_cast<double>(points - 1), beyond = recall * last - static_cast<double>(r);
    return beyond * beyond < 1e-18 ? static_cast<double>(r) / last >= grid[r] : beyond > 0;
  }

  void run(std::size_t k, double* precision_out, double* score_out, double* recall_out) {
    const std::size_t T = in.thresholds, K = in.classes;
    double positives = 0;
    for (std::int64_t i = in.truth_begin[k]; i < in.truth_begin[k + 1]; ++i) {
      if (in.counts[i]) positives += weight[in.truth_image[i]];
    }
    if (!(positives > 0)) return;
    const Bits full = all_bits(T);
    std::array<double, kMostThresholds> tp{}, fp{};
    double plain = 0;
    std::int64_t first = -1;
    for (std::size_t t = 0; t < T; ++t) {
      hits[t].clear();
      places[t].clear();
    }
    for (std::int64_t i = in.begin[k]; i < in.end[k]; ++i) {
      if (in.rank[i] >= in.most) continue;
      const double w = weight[in.image[i]];
      if (!(w > 0)) continue;
      if (first < 0) first = i;
      const Bits h = in.hit[i], ig = in.ignored[i];
      if ((h | ig) == 0) {
        plain += w;
        continue;
      }
      if (h == 0 && ig == full) continue;
      for (std::size_t t = 0; t < T; ++t) {
        if ((h >> t) & 1) {
          tp[t] += w;
          hits[t].push_back({tp[t] / ((fp[t] + plain) + tp[t] + kTiny), tp[t] / positives});
          places[t].push_back(i);
        } else if (!((ig >> t) & 1)) {
          fp[t] += w;
        }
      }
    }
    for (std::size_t t = 0; t < T; ++t) {
      auto& list = hits[t];
      for (std::size_t i = list.size(); i-- > 1;) list[i - 1][0] = std::max(list[i - 1][0], list[i][0]);
      recall_out[t * K + k] = list.empty() ? 0.0 : list.back()[1];
      std::size_t at = 0;
      for (std::size_t r = 0; r < points; ++r) {
        double p = 0, s = 0;
        if (grid[r] <= 0) {
          p = list.empty() ? 0.0 : list[0][0];
          s = first < 0 ? 0.0 : in.score[first];
        } else {
          while (at < list.size() && !reaches(list[at][1], r)) ++at;
          if (at < list.size()) {
            p = list[at][0];
            s = in.score[places[t][at]];
          }
        }
        precision_out[(t * points + r) * K + k] = p;
        score_out[(t * points + r) * K + k] = s;
      }
    }
  }
};

}  // namespace

void box_curves(const Ranked& in, View<double> weights, View<double> grid, long threads, double* p, double* s, double* r) {
  const std::size_t T = in.thresholds, R = grid.size(), K = in.classes;
  const double undefined = std::numeric_limits<double>::quiet_NaN();
  std::fill_n(p, T * R * K, undefined);
  std::fill_n(s, T * R * K, undefined);
  std::fill_n(r, T * K, undefined);
  // Neighbouring classes write to one cache line: a task takes eight of them.
  parallel_for((K + 7) / 8, thread_count(threads), [&](std::size_t block) {
    ClassCurves one{in, weights.data(), grid.data(), R, {}, {}};
    for (std::size_t k = 8 * block; k < std::min(K, 8 * block + 8); ++k) one.run(k, p, s, r);
  });
}

}  // namespace steelyard
