// Rates of ranked events of two kinds, and counts of scores at thresholds.
#include "rates/rates.hpp"

#include "arrays.hpp"
#include "rates/count_at.hpp"

namespace steelyard::rates_binding {
namespace {

void check_parameters(In1<double> parameters) {
  require(parameters.shape(0) == kRateParameters, "a figure takes four parameters");
  check_finite(parameters.data(), parameters.shape(0), "a parameter is not finite");
}

Out<double> under_weights(In2<double> weights, In1<std::int64_t> owner, In1<std::int64_t> second,
                          In1<std::uint8_t> kind, In1<std::uint8_t> last, In1<double> value, In1<double> score,
                          int code, In1<double> parameters, long threads) {
  const RatedEvents events{view(owner), view(second), view(kind), view(last), view(value), view(score)};
  const RateFigure figure = check_rate_figure(code);
  check_parameters(parameters);
  check_rated_events(events, weights.shape(1));
  require(!owner.shape(0) || owner.shape(0) == kind.shape(0), "each event needs an owner, or none has one");
  require(owner.shape(0) || !second.shape(0), "a second owner needs a first");
  check_weights(weights);
  double* out;
  auto result = make_array<double>({weights.shape(0)}, out);
  nb::gil_scoped_release release;
  rates(events, view(weights), figure, view(parameters), threads, out);
  return result;
}

Out<double> each_unit(In1<std::int64_t> starts, In1<std::uint8_t> kind, In1<std::uint8_t> last, In1<double> value,
                      In1<double> score, int code, In1<double> parameters) {
  require(starts.shape(0) >= 1, "there must be one start more than units");
  const RatedEvents events{{}, {}, view(kind), view(last), view(value), view(score)};
  const RateFigure figure = check_rate_figure(code);
  check_parameters(parameters);
  check_rated_events(events, 0);
  const std::size_t units = starts.shape(0) - 1, n = kind.shape(0);
  const std::int64_t* start = starts.data();
  for (std::size_t u = 0; u < units; ++u) {
    require(start[u] >= 0 && start[u] <= start[u + 1] && static_cast<std::size_t>(start[u + 1]) <= n,
            "starts must rise and stay inside the events");
  }
  double* out;
  auto result = make_array<double>({units}, out);
  nb::gil_scoped_release release;
  rates_each(events, view(starts), figure, view(parameters), out);
  return result;
}

using Table = nb::ndarray<std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void add_counts(In1<double> thresholds, In1<double> score, In1<std::int32_t> first, In1<std::int32_t> second,
                Table counts) {
  const OwnedScores scores{view(score), view(first), view(second)};
  require(counts.shape(1) == 2 * thresholds.shape(0) + 1, "a row of counts has two places per threshold and one more");
  check_owned_scores(view(thresholds), scores, counts.shape(0));
  nb::gil_scoped_release release;
  count_at(view(thresholds), scores, counts.data());
}

bool read_at_hits(int code, In1<double> parameters) {
  const RateFigure figure = check_rate_figure(code);
  check_parameters(parameters);
  return is_read_at_hits(figure, view(parameters));
}

}  // namespace

void bind(nb::module_& m) {
  m.def("count_at", &add_counts, nb::arg("thresholds").noconvert(), nb::arg("score").noconvert(),
        nb::arg("first").noconvert(), nb::arg("second").noconvert(), nb::arg("counts").noconvert(),
        "Add scores between rising thresholds, and at them, to rows of counts: those of their one or two owners.");
  m.def("rates_read_at_hits", &read_at_hits, nb::arg("figure"), nb::arg("parameters").noconvert(),
        "Whether a figure needs no other scores than those of hits, beside how many others lie between them.");
  m.def("rates", &under_weights, nb::arg("weights").noconvert(), nb::arg("owner").noconvert(),
        nb::arg("second").noconvert(), nb::arg("kind").noconvert(), nb::arg("last").noconvert(),
        nb::arg("value").noconvert(), nb::arg("score").noconvert(), nb::arg("figure"),
        nb::arg("parameters").noconvert(), nb::arg("threads") = 0,
        "One figure of ranked events for each row of weights; an event with two owners weighs their product.");
  m.def("rates_each", &each_unit, nb::arg("starts").noconvert(), nb::arg("kind").noconvert(),
        nb::arg("last").noconvert(), nb::arg("value").noconvert(), nb::arg("score").noconvert(), nb::arg("figure"),
        nb::arg("parameters").noconvert(), "The same for each unit alone, whose events stand together.");
}

}  // namespace steelyard::rates_binding
