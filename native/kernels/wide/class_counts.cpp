// One class of detections under many rows of counts side by side: see ap/walk.hpp and the readings.
#include <cmath>

#include "ap/backward_readings.hpp"
#include "ap/counted_readings.hpp"
#include "ap/large_envelope.hpp"
#include "ap/event_rows.hpp"
#include "ap/put.hpp"
#include "ap/tied_readings.hpp"
#include "ap/walk.hpp"
#include "wide/target.hpp"

namespace steelyard::STEELYARD_TARGET {
namespace {

template <typename Count>
Lanes<Count, C> all_truths(const ClassJob& job) {
  const Events& in = job.events;
  auto unit = [&](std::size_t i) { return static_cast<std::size_t>(in.truth_unit[i]); };
  Tally<C, Count> tally(job.heaviest);
  tally.add_rows(0, in.truths, [&](std::size_t i) { return job.counts + unit(i) * C; });
  return tally.total();
}

// Figures that take equal scores as one step, at one threshold.
template <typename Count, typename Share>
void read_ties(const ClassJob& job, std::size_t t, const Lanes<Count, C>& positives, const bool* counts, Share share) {
  if (job.figure == BoxFigure::step) {
    const CountedSteps<Count> reading(job, t);
    put<C>(job, t, counts, [&](std::size_t l) { return reading.figure[l] / static_cast<double>(positives[l]); },
           share(reading.found));
    return;
  }
  const CountedBestF1<Count> reading(job, t, positives);
  put<C>(job, t, counts, [&](std::size_t l) { return 2 * reading.best[l]; }, [](std::size_t) { return static_cast<double>(NAN); });
}

template <typename Count>
void count_as(const ClassJob& job) {
  const Events& in = job.events;
  Lanes<Count, C> positives = all_truths<Count>(job);
  bool any = false, counts[C];
  for (std::size_t l = 0; l < C; ++l) {
    counts[l] = positives[l] > 0;
    any |= counts[l];
    job.classes[l] += counts[l] ? 1.0 : 0.0;
    positives[l] = counts[l] ? positives[l] : 1;
  }
  if (!any) return;
  auto share = [&](const Lanes<Count, C>& tp) {
    return [&](std::size_t l) { return static_cast<double>(tp[l]) / static_cast<double>(positives[l]); };
  };
  if (by_tie(job.figure)) {
    for (std::size_t t = 0; t < job.thresholds; ++t) read_ties(job, t, positives, counts, share);
    return;
  }
  auto* scratch = static_cast<Lanes<Count, C>*>(job.scratch);
  auto* precision = reinterpret_cast<Shares*>(scratch + in.count);
  Lanes<Count, C> sum{};
  if (job.figure != BoxFigure::recall) plain_before(in, job.counts, sum, scratch);
  CountedGrid<Count> grid;
  grid.last = static_cast<typename CountedGrid<Count>::Unsigned>(job.points - 1);
  grid.missed = job.missed;
  grid.points = on_grid(job.figure) ? job.points : 0;
  grid.begin(positives, counts);
  const double whole = static_cast<double>(job.points) * static_cast<double>(kOne);
  for (std::size_t t = 0; t < job.thresholds; ++t) {
    const ClassEvents<std::uint8_t, C> events(in, t, job.counts);
    if (on_grid(job.figure)) {
      CountedEnvelope<Count> reading{scratch, grid, precision, precision + in.count};
      Shares figure{};
      walk(events, reading);
      reading.figure(figure);
      put<C>(job, t, counts, [&](std::size_t l) { return static_cast<double>(figure[l]) / whole; }, share(reading.tp));
    } else {
      CountedRecall<Count> reading;
      walk(events, reading);
      put<C>(job, t, counts, [](std::size_t) { return 0.0; }, share(reading.tp));
    }
  }
}

// What is marked at a threshold, in the end.
Lanes<std::int32_t, C> marked_at(const ClassJob& job, const EventRows& rows, const MarkedEvents& marked, std::size_t t) {
  Tally<C> tally(job.heaviest);
  tally.add_rows(marked.begin[t], marked.begin[t + 1], [&](std::size_t i) { return rows.weight[marked.event[i]].v; });
  return tally.total();
}

// One threshold, from the last run back.
template <typename Reading>
void fall(const ClassJob& job, const EventRows& rows, std::size_t t, Reading& reading) {
  const Runs& runs = job.marks.runs;
  const auto& [ignored, ignored_begin] = job.marks.ignored;
  const std::size_t begin = runs.begin[t], none = ignored_begin[t];
  std::size_t next = ignored_begin[t + 1], r = runs.begin[t + 1];
  while (r > begin) {
    const RunSums* some[Reading::kTogether];
    std::size_t count = 0;
    do {
      const std::uint32_t row = runs.row[r - 1], last = runs.last[r - 1];
      if (next > none && ignored[next - 1] > last) {
        if (count > 0) break;
        do reading.ignore(rows.weight[ignored[--next]]);
        while (next > none && ignored[next - 1] > last);
      }
      some[count++] = rows.run + row;
    } while (--r > begin && count < Reading::kTogether);
    for (std::size_t i = 1; i <= Reading::kTogether && r >= begin + i; ++i) {
      const RunSums& soon = rows.run[runs.row[r - i]];
      prefetch(&soon.down_to);
      prefetch(&soon.weight);
    }
    if (next > none) reading.template runs<true>(some, count);
    else reading.template runs<false>(some, count);
  }
}

// Whether the figure or the recall could be had so: the class must not be too large, and no more be found than there is.
bool read_backward(const ClassJob& job) {
  Lanes<std::int32_t, C> positives = all_truths<std::int32_t>(job), found[kMostThresholds];
  const std::int32_t most = largest(positives);
  const bool grid = on_grid(job.figure);
  if (most > 0x7FFFFFFF / 255) return false;
  auto* scratch = static_cast<Floats*>(job.scratch);
  const EventRows rows{reinterpret_cast<RunSums*>(scratch), reinterpret_cast<Bytes*>(scratch + 2 * job.marks.runs.rows)};
  rows.take(job);
  std::int32_t beyond = 0;
  Lanes<std::int32_t, C> first{};
  for (std::size_t t = job.thresholds; t-- > 0;) {
    add(first, marked_at(job, rows, job.marks.first, t).v);
    found[t] = marked_at(job, rows, job.marks.others, t);
    add(found[t], first.v);
    for (std::size_t l = 0; l < C; ++l) beyond |= found[t][l] > positives[l] ? 1 : 0;
  }
  if (beyond) return false;
  if (most == 0) return true;
  bool counts[C];
  for (std::size_t l = 0; l < C; ++l) {
    counts[l] = positives[l] > 0;
    positives[l] = counts[l] ? positives[l] : 1;
  }
  if (grid && !rows.add_up(job)) return false;
  for (std::size_t l = 0; l < C; ++l) job.classes[l] += counts[l] ? 1.0 : 0.0;
  auto recall = [&](std::size_t t) {
    return [&, t](std::size_t l) { return static_cast<double>(found[t][l]) / static_cast<double>(positives[l]); };
  };
  if (!grid) {
    for (std::size_t t = 0; t < job.thresholds; ++t) put<C>(job, t, counts, [](std::size_t) { return 0.0; }, recall(t));
    return true;
  }
  rows.add_runs(job);
  const double whole = static_cast<double>(job.points) * static_cast<double>(kOne);
  auto read = [&](std::size_t t, auto&& reading) {
    fall(job, rows, t, reading);
    put<C>(job, t, counts, [&](std::size_t l) { return reading.figure(l) / whole; }, recall(t));
  };
  auto ignored = [&](std::size_t t) { return marked_at(job, rows, job.marks.ignored, t); };
  if (most > kMostTruths) {
    for (std::size_t t = 0; t < job.thresholds; ++t) read(t, LargeEnvelope(job, positives, found[t], ignored(t)));
    return true;
  }
  const BackwardGrid points(job, positives, counts);
  for (std::size_t t = 0; t < job.thresholds; ++t) read(t, BackwardEnvelope(points, found[t], ignored(t)));
  return true;
}

}  // namespace

void count_class(const ClassJob& job) {
  if (by_tie(job.figure) || !read_backward(job)) count_as<std::int32_t>(job);
}
void count_class_wide(const ClassJob& job) { count_as<std::int64_t>(job); }

}  // namespace steelyard::STEELYARD_TARGET
