// One class of detections under many rows of weights side by side: see ap/walk.hpp and its readings.
#include "ap/counted_readings.hpp"
#include "ap/readings.hpp"
#include "ap/walk.hpp"
#include "wide/target.hpp"

namespace steelyard::STEELYARD_TARGET {
namespace {

constexpr std::size_t L = kRealLanes;

// Adds the figure and the recall of one threshold, where the class has truth.
template <std::size_t N, typename Value, typename Found>
void put(const ClassJob& job, std::size_t t, const bool* counts, Value value, Found found) {
  double *values = job.value + t * N, *recalls = job.recall + t * N;
  for (std::size_t l = 0; l < N; ++l) {
    if (!counts[l]) continue;
    values[l] += value(l);
    recalls[l] += found(l);
  }
}

}  // namespace

void walk_class(const ClassJob& job) {
  const Events& in = job.events;
  Reals<L> positives{}, scale;
  for (std::size_t i = 0; i < in.truths; ++i) add(positives, job.weights + static_cast<std::size_t>(in.truth_unit[i]) * L);
  bool any = false, counts[L];
  const double last = static_cast<double>(job.points - 1);
  for (std::size_t l = 0; l < L; ++l) {
    counts[l] = positives[l] > 0;
    any |= counts[l];
    job.classes[l] += counts[l] ? 1.0 : 0.0;
    positives[l] = counts[l] ? positives[l] : 1.0;
    scale[l] = last / positives[l];
  }
  if (!any) return;
  auto* scratch = static_cast<Reals<L>*>(job.scratch);
  Reals<L>*plain = scratch, *precision = scratch + in.count, *found = scratch + 2 * in.count;
  Reals<L> sum{};
  if (by_tie(job.figure)) plain_to_tie(in, job.weights, sum, plain);
  else if (job.figure != BoxFigure::recall) plain_before(in, job.weights, sum, plain);
  for (std::size_t t = 0; t < job.thresholds; ++t) {
    const ClassEvents<double, L> events(in, t, job.weights);
    auto share = [&](const Reals<L>& tp) { return [&](std::size_t l) { return tp[l] / positives[l]; }; };
    switch (job.figure) {
      case BoxFigure::coco:
      case BoxFigure::grid: {
        Envelope<L> reading{{plain}, job.figure == BoxFigure::coco ? kTiny : 0.0, precision, found};
        Reals<L> figure{};
        walk(events, reading);
        reading.grid({last, job.reached}, scale.v, figure);
        put<L>(job, t, counts, [&](std::size_t l) { return figure[l]; }, share(reading.tp));
        break;
      }
      case BoxFigure::area: {
        Envelope<L> reading{{plain}, 0.0, precision, found};
        Reals<L> figure{};
        walk(events, reading);
        reading.area(figure);
        put<L>(job, t, counts, [&](std::size_t l) { return figure[l] / positives[l]; }, share(reading.tp));
        break;
      }
      case BoxFigure::step: {
        Steps<L> reading{{plain}};
        walk(events, reading);
        put<L>(job, t, counts, [&](std::size_t l) { return reading.figure[l] / positives[l]; }, share(reading.tp));
        break;
      }
      case BoxFigure::miss: {
        MissRate<L> reading{{plain}, job.grid, job.points, positives.v, job.images};
        walk(events, reading);
        reading.finish();
        put<L>(job, t, counts, [&](std::size_t l) { return reading.figure[l]; }, share(reading.tp));
        break;
      }
      case BoxFigure::best_f1: {
        BestF1<L> reading({plain}, positives.v);
        walk(events, reading);
        put<L>(job, t, counts, [&](std::size_t l) { return reading.figure[l]; }, [&](std::size_t l) {
          return reading.at[l] == BestF1<L>::kNone ? static_cast<double>(NAN) : in.score[reading.at[l]];
        });
        break;
      }
      default: {
        Recall<L> reading;
        walk(events, reading);
        put<L>(job, t, counts, [](std::size_t) { return 0.0; }, share(reading.tp));
      }
    }
  }
}

namespace {

template <typename Count>
void count_as(const ClassJob& job) {
  const Events& in = job.events;
  Lanes<Count, C> positives{};
  for (std::size_t i = 0; i < in.truths; ++i) {
    add_apart(positives, job.counts + static_cast<std::size_t>(in.truth_unit[i]) * C);
  }
  bool any = false, counts[C];
  for (std::size_t l = 0; l < C; ++l) {
    counts[l] = positives[l] > 0;
    any |= counts[l];
    job.classes[l] += counts[l] ? 1.0 : 0.0;
    positives[l] = counts[l] ? positives[l] : 1;
  }
  if (!any) return;
  auto* scratch = static_cast<Lanes<Count, C>*>(job.scratch);
  auto* precision = reinterpret_cast<Shares*>(scratch + in.count);
  Lanes<Count, C> sum{};
  if (job.figure == BoxFigure::step) plain_to_tie(in, job.counts, sum, scratch);
  else if (job.figure != BoxFigure::recall) plain_before(in, job.counts, sum, scratch);
  CountedGrid<Count> grid;
  grid.last = static_cast<typename CountedGrid<Count>::Unsigned>(job.points - 1);
  grid.missed = job.missed;
  grid.points = on_grid(job.figure) ? job.points : 0;
  grid.begin(positives, counts);
  const double whole = static_cast<double>(job.points) * static_cast<double>(kOne);
  for (std::size_t t = 0; t < job.thresholds; ++t) {
    const ClassEvents<std::uint8_t, C> events(in, t, job.counts);
    auto share = [&](const Lanes<Count, C>& tp) {
      return [&](std::size_t l) { return static_cast<double>(tp[l]) / static_cast<double>(positives[l]); };
    };
    if (on_grid(job.figure)) {
      CountedEnvelope<Count> reading{scratch, grid, precision, precision + in.count};
      Shares figure{};
      walk(events, reading);
      reading.figure(figure);
      put<C>(job, t, counts, [&](std::size_t l) { return static_cast<double>(figure[l]) / whole; }, share(reading.tp));
    } else if (job.figure == BoxFigure::step) {
      CountedSteps<Count> reading{scratch};
      walk(events, reading);
      put<C>(job, t, counts, [&](std::size_t l) { return reading.figure[l] / static_cast<double>(positives[l]); },
             share(reading.tp));
    } else {
      CountedRecall<Count> reading;
      walk(events, reading);
      put<C>(job, t, counts, [](std::size_t) { return 0.0; }, share(reading.tp));
    }
  }
}

}  // namespace

void count_class(const ClassJob& job) { count_as<std::int32_t>(job); }
void count_class_wide(const ClassJob& job) { count_as<std::int64_t>(job); }

}  // namespace steelyard::STEELYARD_TARGET
