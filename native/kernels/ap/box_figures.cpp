// Average precision and its kin under many rows of image weights: the bootstrap's draws, and what has weights of its own.
//
// A class is boiled down once (box_events.hpp) and every row is a weighted pass over it, many rows side by side: counts
// that were drawn go through box_counted_pass.hpp, all other weights through box_pass.hpp. Every number is a function of
// its own row of weights; classes are added in their order. The number of threads, the block and the lane that a row
// falls into change nothing.
#include "ap/box_figures.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "ap/box_counted_pass.hpp"
#include "ap/box_events.hpp"
#include "ap/box_pass.hpp"
#include "support/pool.hpp"

namespace steelyard {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

// Where results go: (rows, thresholds).
struct Results {
  std::size_t thresholds;
  double *value, *recall;

  template <typename Passed>
  void put(const Passed& pass, std::size_t first, std::size_t lanes) const {
    for (std::size_t l = 0; l < lanes; ++l) {
      const double n = pass.classes.v[l];
      for (std::size_t t = 0; t < thresholds; ++t) {
        value[(first + l) * thresholds + t] = n > 0 ? pass.value[t].v[l] / n : kUndefined;
        recall[(first + l) * thresholds + t] = n > 0 ? pass.recall[t].v[l] / n : kUndefined;
      }
    }
  }
};

std::vector<Boiled> boil_all(const Ranked& in, int kind, std::size_t workers) {
  std::vector<Boiled> boiled(in.classes);
  parallel_for(in.classes, workers, [&](std::size_t k) { boiled[k] = boil(in, k, kind >= kStep && kind <= kBestF1); });
  return boiled;
}

template <typename Count>
void counted_group(const std::vector<Boiled>& boiled, int kind, View<double> grid, const std::uint8_t* table,
                   std::size_t first, std::size_t lanes, const Results& results) {
  CountedPass<Count> pass(kind, results.thresholds, grid.data(), grid.size(), table);
  for (const Boiled& one : boiled) pass.run(one);
  results.put(pass, first, lanes);
}

}  // namespace

void box_figures(const Ranked& in, Matrix<double> weights, int kind, View<double> grid, long threads, double* value,
                 double* recall) {
  const std::size_t rows = weights.rows, units = weights.columns, thresholds = in.thresholds;
  const Results results{thresholds, value, recall};
  const std::size_t workers = thread_count(threads);
  const std::vector<Boiled> boiled = boil_all(in, kind, workers);
  parallel_for((rows + kLanes - 1) / kLanes, workers, [&](std::size_t group) {
    const std::size_t first = group * kLanes, lanes = std::min(kLanes, rows - first);
    std::vector<double> table(units * kLanes, 0.0);
    Lane images{};
    for (std::size_t l = 0; l < lanes; ++l) {
      const double* row = weights.row(first + l);
      for (std::size_t u = 0; u < units; ++u) {
        table[u * kLanes + l] = row[u];
        images[l] += row[u];
      }
    }
    Pass pass(kind, thresholds, grid.data(), grid.size(), table.data(), images);
    for (const Boiled& one : boiled) pass.run(one);
    results.put(pass, first, lanes);
  });
}

void box_draws(const Ranked& in, const std::uint8_t* counts, std::size_t rows, int kind, View<double> grid, bool wide, long threads,
               double* value, double* recall) {
  const std::size_t groups = (rows + kCountedLanes - 1) / kCountedLanes, units = in.units;
  const Results results{in.thresholds, value, recall};
  const std::size_t workers = thread_count(threads);
  const std::vector<Boiled> boiled = boil_all(in, kind, workers);
  std::size_t largest = 0;
  for (const Boiled& one : boiled) largest = std::max({largest, one.stream.size(), one.truth_image.size()});
  wide |= largest > std::size_t{0x7FFFFFFF} / 255;
  parallel_for(groups, workers, [&](std::size_t group) {
    const std::size_t first = group * kCountedLanes, lanes = std::min(kCountedLanes, rows - first);
    const std::uint8_t* table = counts + group * units * kCountedLanes;
    if (wide) counted_group<std::int64_t>(boiled, kind, grid, table, first, lanes, results);
    else counted_group<std::int32_t>(boiled, kind, grid, table, first, lanes, results);
  });
}

}  // namespace steelyard
