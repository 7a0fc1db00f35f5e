// One class of detections under many rows of weights side by side: see ap/reference.hpp.
#include "ap/reference.hpp"
#include "wide/target.hpp"

namespace steelyard::STEELYARD_TARGET {
namespace {

constexpr std::size_t L = kRealLanes;

}  // namespace

void walk_class(const ClassJob& job) {
  const Events& in = job.events;
  Reals<L> positives{}, scale;
  for (std::size_t i = 0; i < in.truths; ++i)
    add(positives, job.weights + static_cast<std::size_t>(in.truth_unit[i]) * L);
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
        put<L>(
            job, t, counts, [&](std::size_t l) { return reading.figure[l]; },
            [&](std::size_t l) {
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

}  // namespace steelyard::STEELYARD_TARGET
