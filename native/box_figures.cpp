// Average precision and its kin under many rows of image weights: the bootstrap's draws, and what has weights of its own.
//
// A class is boiled down once (box_events.hpp) and every row is a weighted pass over it, many rows side by side: counts
// that were drawn go through box_counted_pass.hpp, all other weights through box_pass.hpp. Every number is a function of
// its own row of weights; classes are added in their order. The number of threads, the block and the lane that a row
// falls into change nothing.
#include <algorithm>
#include <limits>
#include <vector>

#include "arrays.hpp"
#include "box_counted_pass.hpp"
#include "box_events.hpp"
#include "box_pass.hpp"
#include "checks.hpp"
#include "pool.hpp"

namespace steelyard {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

using Counted = nb::ndarray<const std::uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;  // groups, units, lanes

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

nb::tuple figures(In1<std::int64_t> begin, In1<std::int64_t> end, In1<std::int32_t> image, In1<double> score,
                  In1<std::uint16_t> rank, In1<Bits> hit, In1<Bits> ignored, In1<std::int64_t> truth_begin,
                  In1<std::int32_t> truth_image, In1<std::uint8_t> counts, std::size_t thresholds, std::size_t most,
                  In2<double> weights, int kind, In1<double> grid, long threads) {
  const std::size_t rows = weights.shape(0), units = weights.shape(1);
  const Ranked in = check_ranked(begin, end, image, score, rank, hit, ignored, truth_begin, truth_image, counts, units,
                                 thresholds, most);
  check_weights(weights);
  require(kind >= kCoco && kind <= kRecall, "an unknown kind");
  check_finite(grid.data(), grid.shape(0), "the grid must be finite");
  require(grid.shape(0) >= 2 && std::is_sorted(grid.data(), grid.data() + grid.shape(0)), "the grid must rise");
  if (kind == kCoco || kind == kGrid) check_grid(grid);
  Results results{thresholds, nullptr, nullptr};
  auto value = make_raw<double>({rows, thresholds}, results.value);
  auto recall = make_raw<double>({rows, thresholds}, results.recall);
  {
    nb::gil_scoped_release release;
    const std::size_t workers = thread_count(threads);
    const std::vector<Boiled> boiled = boil_all(in, kind, workers);
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
      Pass pass(kind, thresholds, grid.data(), grid.shape(0), table.data(), images);
      for (const Boiled& one : boiled) pass.run(one);
      results.put(pass, first, lanes);
    });
  }
  return nb::make_tuple(value, recall);
}

template <typename Count>
void counted_group(const std::vector<Boiled>& boiled, int kind, In1<double> grid, const std::uint8_t* table,
                   std::size_t first, std::size_t lanes, const Results& results) {
  CountedPass<Count> pass(kind, results.thresholds, grid.data(), grid.shape(0), table);
  for (const Boiled& one : boiled) pass.run(one);
  results.put(pass, first, lanes);
}

nb::tuple draws(In1<std::int64_t> begin, In1<std::int64_t> end, In1<std::int32_t> image, In1<double> score,
                In1<std::uint16_t> rank, In1<Bits> hit, In1<Bits> ignored, In1<std::int64_t> truth_begin,
                In1<std::int32_t> truth_image, In1<std::uint8_t> counts, std::size_t thresholds, std::size_t most,
                Counted weights, std::size_t rows, int kind, In1<double> grid, bool wide, long threads) {
  const std::size_t groups = weights.shape(0), units = weights.shape(1);
  const Ranked in = check_ranked(begin, end, image, score, rank, hit, ignored, truth_begin, truth_image, counts, units,
                                 thresholds, most);
  require(weights.shape(2) == kCountedLanes, "counts come 32 rows side by side");
  require(rows <= groups * kCountedLanes && groups == rows / kCountedLanes + (rows % kCountedLanes != 0), "the groups do not hold so many rows");
  require(kind == kCoco || kind == kGrid || kind == kStep || kind == kRecall, "this kind cannot be counted");
  require(grid.shape(0) <= kMostPoints, "too many points of the grid");
  check_grid(grid);
  Results results{thresholds, nullptr, nullptr};
  auto value = make_raw<double>({rows, thresholds}, results.value);
  auto recall = make_raw<double>({rows, thresholds}, results.recall);
  {
    nb::gil_scoped_release release;
    const std::size_t workers = thread_count(threads);
    const std::vector<Boiled> boiled = boil_all(in, kind, workers);
    std::size_t largest = 0;
    for (const Boiled& one : boiled) largest = std::max({largest, one.stream.size(), one.truth_image.size()});
    wide |= largest > std::size_t{0x7FFFFFFF} / 255;
    parallel_for(groups, workers, [&](std::size_t group) {
      const std::size_t first = group * kCountedLanes, lanes = std::min(kCountedLanes, rows - first);
      const std::uint8_t* table = weights.data() + group * units * kCountedLanes;
      if (wide) counted_group<std::int64_t>(boiled, kind, grid, table, first, lanes, results);
      else counted_group<std::int32_t>(boiled, kind, grid, table, first, lanes, results);
    });
  }
  return nb::make_tuple(value, recall);
}

}  // namespace

void bind_box_figures(nb::module_& m) {
  m.def("box_figures", &figures, nb::arg("begin").noconvert(), nb::arg("end").noconvert(),
        nb::arg("image").noconvert(), nb::arg("score").noconvert(), nb::arg("rank").noconvert(),
        nb::arg("hit").noconvert(), nb::arg("ignored").noconvert(), nb::arg("truth_begin").noconvert(),
        nb::arg("truth_image").noconvert(), nb::arg("counts").noconvert(), nb::arg("thresholds"), nb::arg("most"),
        nb::arg("weights").noconvert(), nb::arg("kind"), nb::arg("grid").noconvert(), nb::arg("threads") = 0,
        "A figure and the recall, mean over the classes with truth, for each row of weights and threshold.");
  m.def("box_draws", &draws, nb::arg("begin").noconvert(), nb::arg("end").noconvert(), nb::arg("image").noconvert(),
        nb::arg("score").noconvert(), nb::arg("rank").noconvert(), nb::arg("hit").noconvert(),
        nb::arg("ignored").noconvert(), nb::arg("truth_begin").noconvert(), nb::arg("truth_image").noconvert(),
        nb::arg("counts").noconvert(), nb::arg("thresholds"), nb::arg("most"), nb::arg("weights").noconvert(),
        nb::arg("rows"), nb::arg("kind"), nb::arg("grid").noconvert(), nb::arg("wide") = false,
        nb::arg("threads") = 0,
        "The same to 1.2e-7 for rows of counts, which lie as (groups, units, 32 rows); of four kinds. `wide` counts in "
        "64 bits, as is done for large classes anyway, with the same results.");
}

}  // namespace steelyard
