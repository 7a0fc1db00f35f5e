// The rows of a class of labels as a walk sees them, and the figures that it reads there.
#pragma once

#include <cmath>

#include "ap/figures.hpp"
#include "ap/readings.hpp"
#include "ap/walk.hpp"

namespace steelyard::STEELYARD_TARGET {
namespace {

template <std::size_t L>
struct RowEvents {
  const RowJob& in;

  std::size_t size() const { return in.size; }
  Outcome outcome(std::size_t i) const { return in.positive[i] ? Outcome::hit : Outcome::miss; }
  bool closes(std::size_t i) const { return in.last[i]; }
  const double* weights(std::size_t i) const {
    const double* w = in.weights + (in.owner ? static_cast<std::size_t>(in.owner[i]) * L : 0);
    if (!in.value) return w;
    for (std::size_t l = 0; l < L; ++l) product[l] = w[l] * in.value[i];
    return product;
  }

  mutable double product[L] = {};
};

// One figure for each of L rows of weights.
template <std::size_t L>
void read_rows(const RowJob& job) {
  const RowEvents<L> events{job};
  const Reals<L> zero{};
  const Plain<L> none{&zero, 0};
  auto put = [&](const Reals<L>& tp, const Reals<L>& fp, bool both, auto value) {
    for (std::size_t l = 0; l < L; ++l) {
      job.out[l] = tp[l] > 0.0 && (!both || fp[l] > 0.0) ? value(l) : static_cast<double>(NAN);
    }
  };
  if (job.figure == RowFigure::ap) {
    Steps<L> reading{none};
    walk(events, reading);
    return put(reading.tp, reading.fp, false, [&](std::size_t l) { return reading.figure[l] / reading.tp[l]; });
  }
  if (job.figure == RowFigure::auc) {
    RocArea<L> reading;
    walk(events, reading);
    reading.finish();
    return put(reading.tp, reading.fp, true,
               [&](std::size_t l) { return reading.figure[l] / (reading.tp[l] * reading.fp[l]); });
  }
  Reals<L> positives{}, negatives{};  // these are needed beforehand
  for (std::size_t i = 0; i < job.size; ++i) add(job.positive[i] ? positives : negatives, events.weights(i));
  if (job.figure == RowFigure::tpr) {
    HitRate<L> reading{positives.v, negatives.v, job.limit};
    walk(events, reading);
    return put(reading.tp, reading.fp, true, [&](std::size_t l) { return reading.figure[l]; });
  }
  BestF1<L> reading(none, positives.v);
  walk(events, reading);
  const bool rank = job.figure == RowFigure::best_rank;
  put(reading.tp, reading.fp, false,
      [&](std::size_t l) {
        if (!rank) return reading.figure[l];
        return reading.at[l] == BestF1<L>::kNone ? 0.0 : static_cast<double>(reading.at[l]);
      });
}

}  // namespace
}  // namespace steelyard::STEELYARD_TARGET
