// One class of detections under many rows of counts side by side: see ap/fast.hpp.
#include <cmath>

#include "ap/fast.hpp"
#include "wide/target.hpp"

namespace steelyard::STEELYARD_TARGET {
namespace {

Lanes<std::int32_t, C> all_truths(const ClassJob& job) {
  const Events& in = job.events;
  auto unit = [&](std::size_t i) { return static_cast<std::size_t>(in.truth_unit[i]); };
  Tally<C> tally(job.heaviest);
  tally.add_rows(0, in.truths, [&](std::size_t i) { return job.counts + unit(i) * C; });
  return tally.total();
}

// What is marked at a threshold, in the end.
Lanes<std::int32_t, C> marked_at(const ClassJob& job, const EventRows& rows, const MarkedEvents& marked,
                                 std::size_t t) {
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

// Notes which lanes have truth and are counted, and gives the others a truth. Whether any is.
bool begin(const ClassJob& job, Lanes<std::int32_t, C>& positives, bool* counts) {
  bool any = false;
  for (std::size_t l = 0; l < C; ++l) {
    counts[l] = positives[l] > 0 && !job.uncounted[l];
    any |= counts[l];
    job.classes[l] += counts[l] ? 1.0 : 0.0;
    positives[l] = counts[l] ? positives[l] : 1;
  }
  return any;
}

// Figures on the grid, and the recall.
void read_grid(const ClassJob& job) {
  Lanes<std::int32_t, C> positives = all_truths(job), found[kMostThresholds];
  auto* scratch = static_cast<Floats*>(job.scratch);
  const EventRows rows{reinterpret_cast<RunSums*>(scratch),
                       reinterpret_cast<Bytes*>(scratch + 2 * job.marks.runs.rows)};
  rows.take(job);
  Lanes<std::int32_t, C> first{};
  for (std::size_t t = job.thresholds; t-- > 0;) {
    add(first, marked_at(job, rows, job.marks.first, t).v);
    found[t] = marked_at(job, rows, job.marks.others, t);
    add(found[t], first.v);
    for (std::size_t l = 0; l < C; ++l) job.uncounted[l] |= found[t][l] > positives[l] || positives[l] >= kMostExact;
  }
  const bool grid = on_grid(job.figure);
  if (grid) rows.add_up(job);
  bool counts[C];
  if (!begin(job, positives, counts)) return;
  for (std::size_t l = 0; l < C; ++l) {
    for (std::size_t t = 0; t < job.thresholds && !counts[l]; ++t) found[t][l] = 0;
  }
  auto recall = [&](std::size_t t) {
    return [&, t](std::size_t l) { return static_cast<double>(found[t][l]) / static_cast<double>(positives[l]); };
  };
  if (!grid) {
    for (std::size_t t = 0; t < job.thresholds; ++t) put<C>(job, t, counts, [](std::size_t) { return 0.0; }, recall(t));
    return;
  }
  rows.add_runs(job);
  const double whole = static_cast<double>(job.points) * static_cast<double>(kOne);
  auto read = [&](std::size_t t, auto&& reading) {
    fall(job, rows, t, reading);
    put<C>(job, t, counts, [&](std::size_t l) { return reading.figure(l) / whole; }, recall(t));
  };
  auto ignored = [&](std::size_t t) { return marked_at(job, rows, job.marks.ignored, t); };
  if (largest(positives) > kMostTruths) {
    for (std::size_t t = 0; t < job.thresholds; ++t) read(t, LargeEnvelope(job, positives, found[t], ignored(t)));
    return;
  }
  const BackwardGrid points(job, positives, counts);
  for (std::size_t t = 0; t < job.thresholds; ++t) read(t, BackwardEnvelope(points, found[t], ignored(t)));
}

// Figures that take equal scores as one step.
void read_ties(const ClassJob& job) {
  Lanes<std::int32_t, C> positives = all_truths(job);
  bool counts[C];
  if (!begin(job, positives, counts)) return;
  for (std::size_t t = 0; t < job.thresholds; ++t) {
    if (job.figure == BoxFigure::step) {
      const TieSteps reading(job, t);
      auto share = [&](double of, std::size_t l) { return of / static_cast<double>(positives[l]); };
      put<C>(
          job, t, counts, [&](std::size_t l) { return share(reading.figure[l], l); },
          [&](std::size_t l) { return share(static_cast<double>(reading.found[l]), l); });
    } else {
      const TieBestF1 reading(job, t, positives);
      put<C>(
          job, t, counts, [&](std::size_t l) { return 2 * reading.best[l]; },
          [](std::size_t) { return static_cast<double>(NAN); });
    }
  }
}

}  // namespace

void count_class(const ClassJob& job) {
  const bool fits = larger(job.events.entries, job.events.truths) <= std::size_t{0x7FFFFFFF} / job.heaviest;
  for (std::size_t l = 0; l < C; ++l) job.uncounted[l] = !fits;
  if (!fits) return;
  if (by_tie(job.figure)) read_ties(job);
  else read_grid(job);
}

}  // namespace steelyard::STEELYARD_TARGET
