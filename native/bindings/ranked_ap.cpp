// Average precision of ranked events.
#include "ap/ranked_ap.hpp"

#include "arrays.hpp"

namespace steelyard::ranked_ap_binding {
namespace {

Out<double> under_weights(In2<double> weights, In1<double> truths, In1<std::int64_t> owner, In1<std::uint8_t> hit,
                          In1<std::uint8_t> closes, int rule, long threads) {
  const OwnedEvents events{view(truths), view(owner), view(hit), view(closes)};
  require(truths.shape(0) == weights.shape(1), "every unit needs its number of truths");
  check_weights(weights);
  const ApRule checked = check_owned_events(events, rule);
  double* out;
  auto result = make_array<double>({weights.shape(0)}, out);
  nb::gil_scoped_release release;
  ranked_ap(events, view(weights), checked, threads, out);
  return result;
}

Out<double> by_unit(In1<double> truths, In1<std::int64_t> owner, In1<std::uint8_t> hit, In1<std::uint8_t> closes,
                    int rule) {
  const OwnedEvents events{view(truths), view(owner), view(hit), view(closes)};
  const ApRule checked = check_owned_events(events, rule);
  for (std::size_t e = 1; e < owner.shape(0); ++e)
    require(owner.data()[e] >= owner.data()[e - 1], "events must go by unit");
  double* out;
  auto result = make_array<double>({truths.shape(0)}, out);
  nb::gil_scoped_release release;
  ranked_ap_by_unit(events, checked, out);
  return result;
}

}  // namespace

void bind(nb::module_& m) {
  m.def("ranked_ap", &under_weights, nb::arg("weights").noconvert(), nb::arg("truths").noconvert(),
        nb::arg("owner").noconvert(), nb::arg("hit").noconvert(), nb::arg("closes").noconvert(), nb::arg("rule"),
        nb::arg("threads") = 0,
        "Average precision, one per row of weights, of events sorted by falling score; `closes` ends equal scores.");
  m.def("ranked_ap_by_unit", &by_unit, nb::arg("truths").noconvert(), nb::arg("owner").noconvert(),
        nb::arg("hit").noconvert(), nb::arg("closes").noconvert(), nb::arg("rule"),
        "Average precision of each unit alone; events sorted by unit, then by falling score.");
}

}  // namespace steelyard::ranked_ap_binding
