// Curves and average precision of matched detections, under weights of images.
//
// The order of the detections and their matches do not depend on the weights, so a bootstrap draw is one weighted pass
// over each class. Most detections touch no truth at all: they only add to the false positives of every threshold. So a
// class is first boiled down to events (detections that are a hit or ignored at some threshold) and runs of plain
// false positives between them. A pass carries kLanes draws at once: the weights of one image lie side by side, and each
// threshold then walks the events alone. The precision envelope and the recall grid are taken from hits only: between two
// hits precision falls and recall rests.
//
// Every number is a function of its own row of weights; classes are added in their order. The number of threads, the
// block and the lane that a row falls into change nothing.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "arrays.hpp"
#include "boxes.hpp"
#include "pool.hpp"

namespace steelyard {
namespace {

constexpr std::size_t kLanes = 20;  // more than compilers unroll whole, which would keep them from vector code
constexpr double kTiny = 2.220446049250313e-16;  // numpy.spacing(1), as the reference adds it


#if defined(_MSC_VER)
#define STEELYARD_RESTRICT __restrict
#else
#define STEELYARD_RESTRICT __restrict__
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

enum Kind : int { kCoco = 0, kGrid = 1, kArea = 2, kStep = 3, kMiss = 4, kBestF1 = 5, kRecall = 6 };

struct Ranked {
  std::size_t classes, detections, truths, units;
  const std::int64_t *begin, *end, *truth_begin;
  const std::int32_t *image, *truth_image;
  const double* score;
  const std::uint16_t* rank;
  const Bits *hit, *ignored;
  const std::uint8_t* counts;  // of a truth: 1 where it is not ignored
  std::size_t thresholds, most;
};

Ranked check(In1<std::int64_t> begin, In1<std::int64_t> end, In1<std::int32_t> image, In1<double> score,
             In1<std::uint16_t> rank, In1<Bits> hit, In1<Bits> ignored, In1<std::int64_t> truth_begin,
             In1<std::int32_t> truth_image, In1<std::uint8_t> counts, std::size_t units, std::size_t thresholds,
             std::size_t most) {
  const std::size_t classes = begin.shape(0), n = image.shape(0), truths = truth_image.shape(0);
  require(end.shape(0) == classes && truth_begin.shape(0) == classes + 1, "one range for each class");
  require(score.shape(0) == n && rank.shape(0) == n && hit.shape(0) == n && ignored.shape(0) == n,
          "columns of the detections differ in length");
  require(counts.shape(0) == truths, "columns of the truth differ in length");
  require(thresholds >= 1 && thresholds <= kMostThresholds, "from 1 to 32 IoU thresholds");
  for (std::size_t k = 0; k < classes; ++k) {
    const std::int64_t a = begin.data()[k], b = end.data()[k];
    require(0 <= a && a <= b && static_cast<std::size_t>(b) <= n, "the range of a class is out of bounds");
    for (std::int64_t i = a; i < b; ++i) {
      require(image.data()[i] >= 0 && static_cast<std::size_t>(image.data()[i]) < units, "an image is out of range");
    }
    const std::int64_t c = truth_begin.data()[k], d = truth_begin.data()[k + 1];
    require(0 <= c && c <= d && static_cast<std::size_t>(d) <= truths, "the range of a class is out of bounds");
  }
  for (std::size_t i = 0; i < truths; ++i) {
    require(truth_image.data()[i] >= 0 && static_cast<std::size_t>(truth_image.data()[i]) < units,
            "an image is out of range");
  }
  return {classes, n, truths, units, begin.data(), end.data(), truth_begin.data(), image.data(), truth_image.data(),
          score.data(), rank.data(), hit.data(), ignored.data(), counts.data(), thresholds, most};
}

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

void check_grid(In1<double> grid) {
  require(grid.shape(0) >= 2, "the grid needs two points");
  const double last = static_cast<double>(grid.shape(0) - 1);
  for (std::size_t i = 0; i < grid.shape(0); ++i) {
    const double at = static_cast<double>(i);
    // Other tools have the same points in single precision.
    require(std::fabs(grid.data()[i] - at / last) <= 1e-7, "the grid must be even, from 0 to 1");
  }
}

nb::tuple curves(In1<std::int64_t> begin, In1<std::int64_t> end, In1<std::int32_t> image, In1<double> score,
                 In1<std::uint16_t> rank, In1<Bits> hit, In1<Bits> ignored, In1<std::int64_t> truth_begin,
                 In1<std::int32_t> truth_image, In1<std::uint8_t> counts, std::size_t thresholds, std::size_t most,
                 In1<double> weights, In1<double> grid, long threads) {
  const Ranked in = check(begin, end, image, score, rank, hit, ignored, truth_begin, truth_image, counts,
                          weights.shape(0), thresholds, most);
  const std::size_t T = thresholds, R = grid.shape(0), K = in.classes;
  check_grid(grid);
  const double undefined = std::numeric_limits<double>::quiet_NaN();
  double *p, *s, *r;
  auto precision = make_raw<double>({T, R, K}, p);
  auto scores = make_raw<double>({T, R, K}, s);
  auto recall = make_raw<double>({T, K}, r);
  std::fill_n(p, T * R * K, undefined);
  std::fill_n(s, T * R * K, undefined);
  std::fill_n(r, T * K, undefined);
  {
    nb::gil_scoped_release release;
    // Neighbouring classes write to one cache line: a task takes eight of them.
    parallel_for((K + 7) / 8, thread_count(threads), [&](std::size_t block) {
      ClassCurves one{in, weights.data(), grid.data(), R, {}, {}};
      for (std::size_t k = 8 * block; k < std::min(K, 8 * block + 8); ++k) one.run(k, p, s, r);
    });
  }
  return nb::make_tuple(precision, recall, scores);
}

// A class boiled down: what is ignored throughout is gone, and only events carry bits.
struct Boiled {
  std::vector<std::uint32_t> stream;      // one entry a detection: its image; the top bit marks an event
  std::vector<std::uint8_t> last_of_tie;  // by entry: the next one has another score
  std::vector<double> score;              // by entry
  std::vector<Bits> hit, ignored;         // by event
  std::vector<std::int32_t> event_image, truth_image;
};
constexpr std::uint32_t kEvent = 1u << 31;

Boiled boil(const Ranked& in, std::size_t k, bool by_score) {
  Boiled out;
  const Bits full = all_bits(in.thresholds);
  for (std::int64_t i = in.begin[k]; i < in.end[k]; ++i) {
    if (in.rank[i] >= in.most) continue;
    const Bits h = in.hit[i] & full, ig = in.ignored[i] & full;
    if (h == 0 && ig == full) continue;
    const bool event = (h | ig) != 0;
    out.stream.push_back(static_cast<std::uint32_t>(in.image[i]) | (event ? kEvent : 0));
    if (by_score) {
      if (!out.score.empty() && out.score.back() == in.score[i]) out.last_of_tie.back() = 0;
      out.last_of_tie.push_back(1);
      out.score.push_back(in.score[i]);
    }
    if (event) {
      out.hit.push_back(h);
      out.ignored.push_back(ig);
      out.event_image.push_back(in.image[i]);
    }
  }
  for (std::int64_t i = in.truth_begin[k]; i < in.truth_begin[k + 1]; ++i) {
    if (in.counts[i]) out.truth_image.push_back(in.truth_image[i]);
  }
  return out;
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
      const double at = found[l] * scale[l];
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

nb::tuple draws(In1<std::int64_t> begin, In1<std::int64_t> end, In1<std::int32_t> image, In1<double> score,
                In1<std::uint16_t> rank, In1<Bits> hit, In1<Bits> ignored, In1<std::int64_t> truth_begin,
                In1<std::int32_t> truth_image, In1<std::uint8_t> counts, std::size_t thresholds, std::size_t most,
                In2<double> weights, int kind, In1<double> grid, long threads) {
  const std::size_t rows = weights.shape(0), units = weights.shape(1), T = thresholds;
  const Ranked in = check(begin, end, image, score, rank, hit, ignored, truth_begin, truth_image, counts, units,
                          thresholds, most);
  require(kind >= kCoco && kind <= kRecall, "an unknown kind");
  require(grid.shape(0) >= 2 && std::is_sorted(grid.data(), grid.data() + grid.shape(0)), "the grid must rise");
  if (kind == kCoco || kind == kGrid) check_grid(grid);
  double *v, *r;
  auto value = make_raw<double>({rows, T}, v);
  auto recall = make_raw<double>({rows, T}, r);
  {
    nb::gil_scoped_release release;
    const std::size_t workers = thread_count(threads);
    std::vector<Boiled> boiled(in.classes);
    parallel_for(in.classes, workers, [&](std::size_t k) { boiled[k] = boil(in, k, kind >= kStep && kind <= kBestF1); });
    parallel_for((rows + kLanes - 1) / kLanes, workers, [&](std::size_t group) {
      const std::size_t first = group * kLanes, lanes = std::min(kLanes, rows - first);
      std::vector<double> table(units * kLanes, 0.0);
      Lane images{};
      for (std::size_t l = 0; l < lanes; ++l) {
        const double* row = weights.data() + (first + l) * units;
        for (std::size_t u = 0; u < units; ++u) {
          table[u * kLanes + l] = row[u];
          images[l] += row[u];
        }
      }
      Pass pass(kind, T, grid.data(), grid.shape(0), table.data(), images);
      for (const Boiled& one : boiled) pass.run(one);
      for (std::size_t l = 0; l < lanes; ++l) {
        for (std::size_t t = 0; t < T; ++t) {
          const double n = pass.classes[l];
          const double undefined = std::numeric_limits<double>::quiet_NaN();
          v[(first + l) * T + t] = n > 0 ? pass.value[t][l] / n : undefined;
          r[(first + l) * T + t] = n > 0 ? pass.recall[t][l] / n : undefined;
        }
      }
    });
  }
  return nb::make_tuple(value, recall);
}

}  // namespace

void bind_curves(nb::module_& m) {
  m.def("box_curves", &curves, nb::arg("begin").noconvert(), nb::arg("end").noconvert(),
        nb::arg("image").noconvert(), nb::arg("score").noconvert(), nb::arg("rank").noconvert(),
        nb::arg("hit").noconvert(), nb::arg("ignored").noconvert(), nb::arg("truth_begin").noconvert(),
        nb::arg("truth_image").noconvert(), nb::arg("counts").noconvert(), nb::arg("thresholds"), nb::arg("most"),
        nb::arg("weights").noconvert(), nb::arg("grid").noconvert(), nb::arg("threads") = 0,
        "Precision (thresholds, grid, classes), recall (thresholds, classes) and scores (as precision) under one row "
        "of weights; nan for a class without truth.");
  m.def("box_figures", &draws, nb::arg("begin").noconvert(), nb::arg("end").noconvert(), nb::arg("image").noconvert(),
        nb::arg("score").noconvert(), nb::arg("rank").noconvert(), nb::arg("hit").noconvert(),
        nb::arg("ignored").noconvert(), nb::arg("truth_begin").noconvert(), nb::arg("truth_image").noconvert(),
        nb::arg("counts").noconvert(), nb::arg("thresholds"), nb::arg("most"), nb::arg("weights").noconvert(),
        nb::arg("kind"), nb::arg("grid").noconvert(), nb::arg("threads") = 0,
        "A figure and the recall, mean over the classes with truth, for each row of weights and threshold.");
}

}  // namespace steelyard
