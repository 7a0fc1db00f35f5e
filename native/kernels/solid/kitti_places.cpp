// KITTI's 41 places of recall under weights of frames: see kitti.hpp.
//
// A frame of weight w stands for w frames: its scores come w times. The part of a weight beyond a whole number is a
// piece of its own, so that weights may be any numbers.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "solid/kitti.hpp"
#include "solid/weighed.hpp"
#include "support/pool.hpp"

namespace steelyard::solid {
namespace {

// Chooses thresholds from scores that come by falling score, each with the piece of weight that it stands for.
class Sampler {
 public:
  Sampler(double truths, KittiCurve& curve) : truths_(truths), curve_(curve) {}

  bool full() const { return curve_.places == kPlaces; }

  void add(double score, double weight) {
    while (weight > 0 && !full()) {
      if (weight > 8 && pending_) {  // pieces that the recall asked for lies beyond are passed in one step
        const double reach = std::floor(recall_ * truths_ - done_) - 3;
        const double many = std::min(std::floor(weight) - 4, reach);
        if (many >= 1) settle(done_ + 1), done_ += many, weight -= many, score_ = score;
      }
      const double piece = std::min(1.0, weight);
      if (pending_) settle(done_ + piece);
      done_ += piece, weight -= piece;
      score_ = score, pending_ = true;
    }
  }
  void finish() {
    if (pending_) take();
  }

 private:
  // The last score, now that the one behind it is known.
  void settle(double next) {
    const double left = done_ / truths_, right = next / truths_;
    if (right - recall_ < recall_ - left) return;
    take();
  }
  void take() {
    if (full()) return;
    curve_.score[curve_.places++] = score_;
    recall_ += 1.0 / (kPlaces - 1.0);
  }

  double truths_;
  KittiCurve& curve_;
  double done_ = 0, recall_ = 0, score_ = 0;
  bool pending_ = false;
};

KittiCurve walk(const KittiEvents& in, const std::vector<std::uint32_t>& hits, std::size_t begin, std::size_t end,
                double truths, Weighed weigh) {
  KittiCurve curve;
  curve.truths = truths;
  std::fill_n(curve.precision, kPlaces, 0.0);
  std::fill_n(curve.similarity, kPlaces, 0.0);
  std::fill_n(curve.score, kPlaces, std::numeric_limits<double>::quiet_NaN());
  if (!(truths > 0) || !std::isfinite(truths)) return curve;
  Sampler sampler(weigh.scaled(truths), curve);
  for (const std::uint32_t e : hits) {
    const double w = weigh.of(in.unit[e]);
    if (w > 0) {
      for (std::int32_t k = 0; k < in.hits[e] && !sampler.full(); ++k) sampler.add(in.score[e], w);
    }
  }
  sampler.finish();
  double tp = 0, fp = 0, similarity = 0;
  std::size_t at = begin;
  for (int k = 0; k < curve.places; ++k) {
    for (; at < end && in.score[at] >= curve.score[k]; ++at) {
      const double w = weigh.of(in.unit[at]);
      tp += w * in.tp[at], fp += w * in.fp[at], similarity += w * in.similarity[at];
    }
    const double all = tp + fp;
    if (all > 0) curve.precision[k] = tp / all, curve.similarity[k] = similarity / all;
  }
  for (int k = kPlaces - 1; k-- > 0;) {
    curve.precision[k] = std::max(curve.precision[k], curve.precision[k + 1]);
    curve.similarity[k] = std::max(curve.similarity[k], curve.similarity[k + 1]);
  }
  return curve;
}

void areas(const KittiCurve& curve, double* out) {
  if (!(curve.truths > 0) || !std::isfinite(curve.truths)) {
    std::fill_n(out, 4, std::numeric_limits<double>::quiet_NaN());
    return;
  }
  for (const double* values : {curve.precision, curve.similarity}) {
    double eleven = 0, forty = 0;
    for (int k = 0; k < kPlaces; k += 4) eleven += values[k];
    for (int k = 1; k < kPlaces; ++k) forty += values[k];
    *out++ = eleven / 11 * 100, *out++ = forty / 40 * 100;
  }
}

std::vector<std::uint32_t> hit_places(const KittiEvents& in, std::size_t begin, std::size_t end) {
  std::vector<std::uint32_t> hits;
  for (std::size_t e = begin; e < end; ++e) {
    if (in.hits[e] > 0) hits.push_back(static_cast<std::uint32_t>(e));
  }
  return hits;
}

double weighed_truths(View<double> truths, const double* weights) {
  double sum = 0;
  for (std::size_t u = 0; u < truths.size(); ++u) sum += truths[u] * weights[u];
  return sum;
}

}  // namespace

void kitti_areas(const KittiEvents& events, View<double> truths, Matrix<double> weights, long threads, double* out) {
  const auto hits = hit_places(events, 0, events.score.size());
  parallel_for(weights.rows, thread_count(threads), [&](std::size_t r) {
    const double* row = weights.row(r);
    areas(walk(events, hits, 0, events.score.size(), weighed_truths(truths, row), {row}), out + 4 * r);
  });
}

void kitti_areas_by_unit(const KittiEvents& events, View<double> truths, double* out) {
  std::size_t begin = 0;
  for (std::size_t unit = 0; unit < truths.size(); ++unit) {
    std::size_t end = begin;
    while (end < events.unit.size() && events.unit[end] == static_cast<std::int32_t>(unit)) ++end;
    areas(walk(events, hit_places(events, begin, end), begin, end, truths[unit], {nullptr}), out + 4 * unit);
    begin = end;
  }
}

KittiCurve kitti_curve(const KittiEvents& events, View<double> truths, const double* weights) {
  return walk(events, hit_places(events, 0, events.score.size()), 0, events.score.size(),
              weighed_truths(truths, weights), {weights});
}

}  // namespace steelyard::solid
