// Counts of scores above thresholds, for ranks from a matrix of scores.
#include "rankings/count_above.hpp"

#include "arrays.hpp"

namespace steelyard::count_above_binding {
namespace {

using Counts = Out<std::int64_t>;

Tuple<Counts, Counts, Counts> scores_above(In2<float> scores, In1<std::int64_t> starts, In1<float> high,
                                           In1<float> low) {
  const std::size_t many = high.shape(0);
  require(starts.shape(0) == scores.shape(0) + 1, "each row of scores has its thresholds");
  require(low.shape(0) == many, "a threshold has two ends");
  check_offsets(view(starts), many, "the starts must rise and cover the thresholds");
  for (std::size_t i = 0; i < many; ++i)
    require(low.data()[i] <= high.data()[i], "the ends of a threshold are not in order");
  std::int64_t* above;
  auto counts = make_raw<std::int64_t>({many}, above);
  NearScores near;
  {
    nb::gil_scoped_release unlocked;
    count_above(view(scores), {view(starts), view(high), view(low)}, above, near);
  }
  return nb::make_tuple(counts, release(near.threshold), release(near.column));
}

}  // namespace

void bind(nb::module_& m) {
  m.def("count_above", &scores_above, nb::arg("scores").noconvert(), nb::arg("starts").noconvert(),
        nb::arg("high").noconvert(), nb::arg("low").noconvert(),
        "How many scores of each row lie above the high end of its thresholds; and those between a threshold's ends: "
        "its number, and the column.");
}

}  // namespace steelyard::count_above_binding
