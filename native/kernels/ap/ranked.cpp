// Sorting is done once; a row of weights (a bootstrap draw, a slice) is then one walk down the ranking. Events of equal
// score are one step. An event without weight changes no sum, so a draw is exactly the ranking of the units that were
// drawn. Several rows of weights go down together, their weights side by side in memory.
#include "ap/ranked.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "ap/reference.hpp"
#include "support/checks.hpp"
#include "support/pool.hpp"
#include "wide/wide.hpp"

namespace steelyard {
namespace {

RowJob job_of(const RankedRows& rows, RowFigure figure, double limit) {
  return {rows.positive.size(),
          rows.owner.empty() ? nullptr : rows.owner.data(),
          rows.positive.data(),
          rows.last.data(),
          rows.value.empty() ? nullptr : rows.value.data(),
          nullptr,
          figure,
          limit,
          nullptr};
}

// The places of a ranking that a walk stops at: hits, and all of a run of equal scores.
std::vector<std::uint32_t> stops_of(const std::uint8_t* positive, const std::uint8_t* last, std::size_t size) {
  std::vector<std::uint32_t> stops;
  bool tied = false;  // with the row before
  for (std::size_t i = 0; i < size; ++i) {
    if (positive[i] || !last[i] || tied) stops.push_back(static_cast<std::uint32_t>(i));
    tied = !last[i];
  }
  return stops;
}

constexpr double kWeighsOne[kRowLanes] = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0};

}  // namespace

RowFigure check_row_figure(int figure) {
  require(figure >= 0 && figure <= static_cast<int>(RowFigure::tpr), "there is no such figure");
  return static_cast<RowFigure>(figure);
}

void check_ranked_rows(const RankedRows& rows, std::size_t units) {
  const std::size_t n = rows.positive.size();
  require(rows.last.size() == n && (rows.owner.empty() || rows.owner.size() == n),
          "events must be as many in every column");
  require(rows.value.size() == n || rows.value.empty(), "each event needs a value, or none has one");
  check_weights(rows.value);
  for (std::int64_t owner : rows.owner) {
    require(owner >= 0 && static_cast<std::size_t>(owner) < units, "an owner is out of range");
  }
}

void ranked(const RankedRows& rows, Matrix<double> weights, RowFigure figure, double limit, long threads, double* out) {
  const std::size_t units = weights.columns;
  const auto walk = wide_kernels().walk_rows;
  parallel_for((weights.rows + kRowLanes - 1) / kRowLanes, thread_count(threads), [&](std::size_t block) {
    const std::size_t first = block * kRowLanes, lanes = std::min(kRowLanes, weights.rows - first);
    RowJob job = job_of(rows, figure, limit);
    double values[kRowLanes];
    job.out = lanes == 1 ? out + first : values;
    job.weights = kWeighsOne;
    if (lanes == 1) {
      if (job.owner) job.weights = weights.row(first);
      return baseline::read_rows<1>(job);
    }
    std::vector<double> table;
    if (job.owner) {
      table.assign(units * kRowLanes, 0.0);
      for (std::size_t l = 0; l < lanes; ++l) {
        const double* row = weights.row(first + l);
        for (std::size_t u = 0; u < units; ++u) table[u * kRowLanes + l] = row[u];
      }
      job.weights = table.data();
    }
    walk(job);
    std::copy_n(values, lanes, out + first);
  });
}

void ranked_each(const RankedRows& rows, View<std::int64_t> starts, RowFigure figure, double limit, double* out) {
  for (std::size_t u = 0; u + 1 < starts.size(); ++u) {
    const auto first = static_cast<std::size_t>(starts[u]);
    RowJob job = job_of(rows, figure, limit);
    job.size = static_cast<std::size_t>(starts[u + 1]) - first;
    job.positive += first;
    job.last += first;
    if (job.value) job.value += first;
    job.weights = kWeighsOne;
    job.out = out + u;
    baseline::read_rows<1>(job);
  }
}

void check_counted_rows(const CountedRows& rows, std::size_t units) {
  const std::size_t n = rows.positive.size();
  require(rows.last.size() == n && rows.unit.size() == n, "events must be as many in every column");
  check_offsets(rows.begin, n, "rankings must follow each other and cover all events");
  for (std::size_t k = 0; k < rows.rankings(); ++k) {
    const auto first = static_cast<std::size_t>(rows.begin[k]), end = static_cast<std::size_t>(rows.begin[k + 1]);
    require(end - first <= 0xFFFFFFFFu / 255, "too many events to count");
    require(first == end || rows.last[end - 1] != 0, "the last run of equal scores does not end");
  }
  for (std::int32_t unit : rows.unit) {
    require(unit >= 0 && static_cast<std::size_t>(unit) < units, "a unit is out of range");
  }
}

// All rankings are walked under 32 draws before the next 32 are looked at: their counts of all units stay near.
void ranked_draws(const CountedRows& rows, const std::uint8_t* counts, std::size_t units, std::size_t draws,
                  RowFigure figure, long threads, double* out) {
  const std::size_t rankings = rows.rankings();
  std::vector<std::vector<std::uint32_t>> stops(rankings);
  for (std::size_t k = 0; k < rankings; ++k) {
    const auto first = static_cast<std::size_t>(rows.begin[k]), end = static_cast<std::size_t>(rows.begin[k + 1]);
    stops[k] = stops_of(rows.positive.data() + first, rows.last.data() + first, end - first);
  }
  const auto walk = wide_kernels().walk_drawn;
  parallel_for((draws + kDrawnLanes - 1) / kDrawnLanes, thread_count(threads), [&](std::size_t group) {
    const std::size_t drawn = std::min(kDrawnLanes, draws - group * kDrawnLanes);
    double values[kDrawnLanes];
    for (std::size_t k = 0; k < rankings; ++k) {
      const auto first = static_cast<std::size_t>(rows.begin[k]), end = static_cast<std::size_t>(rows.begin[k + 1]);
      walk({end - first, rows.unit.data() + first, rows.positive.data() + first, rows.last.data() + first,
            stops[k].data(), stops[k].size(), counts + group * units * kDrawnLanes, figure, values});
      for (std::size_t d = 0; d < drawn; ++d) out[(group * kDrawnLanes + d) * rankings + k] = values[d];
    }
  });
}

}  // namespace steelyard
