// Sorting is done once; a row of weights (a bootstrap draw, a slice) is then one walk down the ranking. Events of equal
// score are one step. An event without weight changes no sum, so a draw is exactly the ranking of the units that were drawn.
// Several rows of weights go down together, their weights side by side in memory.
#include "ap/ranked.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ap/row_walk.hpp"
#include "support/checks.hpp"
#include "support/pool.hpp"
#include "wide/wide.hpp"

namespace steelyard {
namespace {

RowJob job_of(const RankedRows& rows, RowFigure figure, double limit) {
  return {rows.positive.size(), rows.owner.empty() ? nullptr : rows.owner.data(), rows.positive.data(), rows.last.data(),
          rows.value.empty() ? nullptr : rows.value.data(), nullptr, figure, limit, nullptr};
}

constexpr double kWeighsOne[kRowLanes] = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0};

}  // namespace

RowFigure check_row_figure(int figure) {
  require(figure >= 0 && figure <= static_cast<int>(RowFigure::tpr), "there is no such figure");
  return static_cast<RowFigure>(figure);
}

void check_ranked_rows(const RankedRows& rows, std::size_t units) {
  const std::size_t n = rows.positive.size();
  require(rows.last.size() == n && (rows.owner.empty() || rows.owner.size() == n), "events must be as many in every column");
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

}  // namespace steelyard
