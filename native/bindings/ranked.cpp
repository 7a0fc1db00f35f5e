// Ranked rows of a class.
#include "ap/ranked.hpp"

#include <cmath>

#include "ap/left_out.hpp"
#include "ap/order.hpp"
#include "arrays.hpp"

namespace steelyard::ranked_binding {
namespace {

using Counted = nb::ndarray<const std::uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;  // groups, units, lanes

Tuple<Out<std::uint32_t>, Out<std::uint8_t>, Out<std::uint8_t>> order_of(In1<double> scores,
                                                                         In1<std::uint8_t> positive) {
  const std::size_t n = scores.shape(0);
  require(n < (std::size_t{1} << 32), "too many scores");
  require(positive.shape(0) == n, "each score needs to be of the class or not");
  std::uint32_t* order;
  std::uint8_t *last, *marked;
  auto order_array = make_array<std::uint32_t>({n}, order);
  auto last_array = make_array<std::uint8_t>({n}, last);
  auto marked_array = make_array<std::uint8_t>({n}, marked);
  bool numbers = true;
  {
    nb::gil_scoped_release release;
    numbers = rank_order(view(scores), view(positive), order, last, marked);
  }
  require(numbers, "a score is not a number");
  return nb::make_tuple(order_array, last_array, marked_array);
}

Out<double> under_weights(In2<double> weights, In1<std::int64_t> owner, In1<std::uint8_t> positive,
                          In1<std::uint8_t> last, In1<double> value, int code, double limit, long threads) {
  const RankedRows rows{view(owner), view(positive), view(last), view(value)};
  const RowFigure figure = check_row_figure(code);
  require(!std::isnan(limit), "the limit is not a number");
  check_ranked_rows(rows, weights.shape(1));
  check_weights(weights);
  double* out;
  auto result = make_array<double>({weights.shape(0)}, out);
  nb::gil_scoped_release release;
  ranked(rows, view(weights), figure, limit, threads, out);
  return result;
}

Out<double> each_unit(In1<std::int64_t> starts, In1<std::uint8_t> positive, In1<std::uint8_t> last, In1<double> value,
                      int code, double limit) {
  require(starts.shape(0) >= 1, "there must be one start more than units");
  const RankedRows rows{{}, view(positive), view(last), view(value)};
  const RowFigure figure = check_row_figure(code);
  require(!std::isnan(limit), "the limit is not a number");
  check_ranked_rows(rows, 0);
  const std::size_t units = starts.shape(0) - 1, n = positive.shape(0);
  const std::int64_t* start = starts.data();
  for (std::size_t u = 0; u < units; ++u) {
    require(start[u] >= 0 && start[u] <= start[u + 1] && static_cast<std::size_t>(start[u + 1]) <= n,
            "starts must rise and stay inside the events");
  }
  double* out;
  auto result = make_array<double>({units}, out);
  nb::gil_scoped_release release;
  ranked_each(rows, view(starts), figure, limit, out);
  return result;
}

RowFigure counted_figure(int code) {
  const RowFigure figure = check_row_figure(code);
  require(figure == RowFigure::ap || figure == RowFigure::auc, "this figure cannot be counted");
  return figure;
}

Out<double> under_counts(Counted weights, std::size_t draws, In1<std::int64_t> begin, In1<std::int32_t> unit,
                         In1<std::uint8_t> positive, In1<std::uint8_t> last, int code, long threads) {
  const CountedRows rows{view(begin), view(unit), view(positive), view(last)};
  const RowFigure figure = counted_figure(code);
  const std::size_t groups = weights.shape(0);
  require(weights.shape(2) == kDrawnLanes, "counts come 32 rows side by side");
  require(draws <= groups * kDrawnLanes && groups == draws / kDrawnLanes + (draws % kDrawnLanes != 0),
          "the groups do not hold so many rows");
  check_counted_rows(rows, weights.shape(1));
  double* out;
  auto result = make_array<double>({draws, rows.rankings()}, out);
  nb::gil_scoped_release release;
  ranked_draws(rows, weights.data(), weights.shape(1), draws, figure, threads, out);
  return result;
}

Out<double> without_groups(In1<std::int32_t> group, std::size_t groups, In1<std::int64_t> begin, In1<std::int32_t> unit,
                           In1<std::uint8_t> positive, In1<std::uint8_t> last, int code, long threads) {
  const CountedRows rows{view(begin), view(unit), view(positive), view(last)};
  const RowFigure figure = counted_figure(code);
  check_groups(view(group), groups);
  check_counted_rows(rows, group.shape(0));
  double* out;
  auto result = make_array<double>({groups, rows.rankings()}, out);
  nb::gil_scoped_release release;
  ranked_left_out(rows, view(group), groups, figure, threads, out);
  return result;
}

}  // namespace

void bind(nb::module_& m) {
  m.def("rank_order", &order_of, nb::arg("scores").noconvert(), nb::arg("positive").noconvert(),
        "Places of the scores from the highest to the lowest, 1 where a run of equal scores ends, and what each is.");
  m.def("ranked", &under_weights, nb::arg("weights").noconvert(), nb::arg("owner").noconvert(),
        nb::arg("positive").noconvert(), nb::arg("last").noconvert(), nb::arg("value").noconvert(), nb::arg("figure"),
        nb::arg("limit") = 0.0, nb::arg("threads") = 0,
        "One value for each row of weights (without owners, of even weights); figure: 0 AP, 1 ROC AUC, 2 best F1, 3 "
        "its rank, 4 TPR at an FPR.");
  m.def("ranked_draws", &under_counts, nb::arg("weights").noconvert(), nb::arg("draws"), nb::arg("begin").noconvert(),
        nb::arg("unit").noconvert(), nb::arg("positive").noconvert(), nb::arg("last").noconvert(), nb::arg("figure"),
        nb::arg("threads") = 0,
        "The same of several rankings for rows of counts, which lie as (groups, units, 32 rows), to the bit; figure: 0 "
        "AP, 1 ROC AUC.");
  m.def("ranked_left_out", &without_groups, nb::arg("group").noconvert(), nb::arg("groups"),
        nb::arg("begin").noconvert(), nb::arg("unit").noconvert(), nb::arg("positive").noconvert(),
        nb::arg("last").noconvert(), nb::arg("figure"), nb::arg("threads") = 0,
        "The same with one group of units left out for each row; `group` is by unit, -1 is never left out.");
  m.def("ranked_each", &each_unit, nb::arg("starts").noconvert(), nb::arg("positive").noconvert(),
        nb::arg("last").noconvert(), nb::arg("value").noconvert(), nb::arg("figure"), nb::arg("limit") = 0.0,
        "The same for each unit alone, whose events stand together.");
}

}  // namespace steelyard::ranked_binding
