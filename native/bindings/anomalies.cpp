// Bindings of packed scores: checks, arrays and the interpreter's lock.
#include "anomalies/lzw.hpp"
#include "anomalies/regions.hpp"
#include "anomalies/scores.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include "arrays.hpp"

namespace steelyard::anomalies_binding {
namespace {

using AnyScores = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using anomalies::Bytes;

template <typename T>
View<T> scores_view(const AnyScores& scores) {
  return {static_cast<const T*>(scores.data()), scores.shape(0)};
}

nb::bytes pack(AnyScores scores, In1<std::uint8_t> skip, bool sorted) {
  require(skip.shape(0) == 0 || skip.shape(0) == scores.shape(0), "each score is skipped or not");
  Bytes out;
  const auto kind = scores.dtype();
  const bool half = kind.code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float) && kind.bits == 16;
  require(half || kind == nb::dtype<float>() || kind == nb::dtype<double>() || kind == nb::dtype<std::uint8_t>() ||
              kind == nb::dtype<std::uint16_t>(),
          "scores are floats, or whole numbers of one or two bytes");
  {
    nb::gil_scoped_release release;
    if (half) {
      out = anomalies::pack_halves(scores_view<std::uint16_t>(scores), view(skip));
    } else if (kind == nb::dtype<float>() && !sorted) {
      out = anomalies::group_scores(scores_view<float>(scores), view(skip));
    } else if (kind == nb::dtype<float>()) {
      out = anomalies::pack_scores(scores_view<float>(scores), view(skip));
    } else if (kind == nb::dtype<double>()) {
      out = anomalies::pack_scores(scores_view<double>(scores), view(skip));
    } else if (kind == nb::dtype<std::uint8_t>()) {
      out = anomalies::pack_scores(scores_view<std::uint8_t>(scores), view(skip));
    } else {
      out = anomalies::pack_scores(scores_view<std::uint16_t>(scores), view(skip));
    }
  }
  return nb::bytes(reinterpret_cast<const char*>(out.data()), out.size());
}

Tuple<Out<double>, Out<std::int64_t>> unpack(In1<std::uint8_t> packed) {
  anomalies::Counted found;
  {
    nb::gil_scoped_release release;
    found = anomalies::unpack_scores(view(packed));
  }
  return nb::make_tuple(array_of(found.score), array_of(found.count));
}

std::vector<View<std::uint8_t>> sets_of(const In1<std::uint8_t>& packed, const In2<std::int64_t>& places) {
  require(places.shape(1) == 2, "a set has a first and a last byte");
  std::vector<View<std::uint8_t>> sets;
  for (std::size_t i = 0; i < places.shape(0); ++i) {
    const std::int64_t first = places.data()[2 * i], last = places.data()[2 * i + 1];
    require(first >= 0 && first <= last && static_cast<std::size_t>(last) <= packed.shape(0), "a set lies outside");
    sets.emplace_back(packed.data() + first, static_cast<std::size_t>(last - first));
  }
  return sets;
}

Tuple<Out<double>, Out<double>, Out<double>> sum(In1<std::uint8_t> packed, In2<std::int64_t> places,
                                                 In1<double> overlap, In1<double> positive,
                                                 In1<std::int64_t> saturation) {
  const auto sets = sets_of(packed, places);
  require(overlap.shape(0) == sets.size() && positive.shape(0) == sets.size() && saturation.shape(0) == sets.size(),
          "each set has its factors");
  std::vector<anomalies::Factor> factors;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    factors.push_back({overlap.data()[i], positive.data()[i], saturation.data()[i]});
  }
  anomalies::Summed found;
  {
    nb::gil_scoped_release release;
    found = anomalies::sum_scores(sets, factors);
  }
  return nb::make_tuple(array_of(found.score), array_of(found.overlap), array_of(found.positive));
}

// Counts of several packed sets of scores: (sets or 1, 2, thresholds), at or above and above.
Out<double> count(In1<std::uint8_t> packed, In2<std::int64_t> places, In1<double> thresholds, In1<double> weights,
                  bool each) {
  const auto sets = sets_of(packed, places);
  const std::size_t many = thresholds.shape(0);
  require(weights.shape(0) == sets.size(), "each set has a weight");
  for (std::size_t k = 1; k < many; ++k)
    require(thresholds.data()[k - 1] <= thresholds.data()[k], "the thresholds do not rise");
  require(many == 0 || (thresholds.data()[0] == thresholds.data()[0] &&
                        thresholds.data()[many - 1] == thresholds.data()[many - 1]),
          "a threshold is not a number");
  double* data;
  auto result = make_array<double>({each ? sets.size() : 1, 2, many}, data);
  {
    nb::gil_scoped_release release;
    anomalies::count_scores(sets, view(thresholds), view(weights), each, data);
  }
  return result;
}

Tuple<Out<std::int64_t>, Out<std::int64_t>> regions(In2<std::uint8_t> mask, bool corners) {
  anomalies::MaskRegions found;
  {
    nb::gil_scoped_release release;
    found = anomalies::find_regions({mask.data(), mask.shape(0), mask.shape(1)}, corners);
  }
  return nb::make_tuple(array_of(found.pixels), array_of(found.ends));
}

nb::bytes unpack_lzw(nb::bytes packed, std::size_t count) {
  const View<std::uint8_t> bytes{reinterpret_cast<const std::uint8_t*>(packed.c_str()), packed.size()};
  Bytes out;
  {
    nb::gil_scoped_release release;
    out = anomalies::unpack_lzw(bytes, count);
  }
  return nb::bytes(reinterpret_cast<const char*>(out.data()), out.size());
}

}  // namespace

void bind(nb::module_& m) {
  m.def(
      "pack_scores", &pack, nb::arg("scores").noconvert(), nb::arg("skip").noconvert(), nb::arg("sorted") = true,
      "Scores sorted, counted and packed, without those that are skipped; or, where they need not be sorted, those of "
      "single precision in groups.");
  m.def(
      "mask_regions", &regions, nb::arg("mask").noconvert(), nb::arg("corners"),
      "Places of the pixels of connected regions, region after region, and where each ends. With corners, pixels touch "
      "at corners too.");
  m.def("unpack_lzw", &unpack_lzw, nb::arg("packed"), nb::arg("count"),
        "At most so many bytes that LZW packed, as TIFF files have it.");
  m.def("unpack_scores", &unpack, nb::arg("packed").noconvert(),
        "The distinct scores that were packed, rising, and how often each occurs.");
  m.def("sum_scores", &sum, nb::arg("packed").noconvert(), nb::arg("places").noconvert(),
        nb::arg("overlap").noconvert(), nb::arg("positive").noconvert(), nb::arg("saturation").noconvert(),
        "The distinct scores of packed sets, rising, with sums of what each adds to the overlap of its set and of how "
        "often it occurs, times factors of the sets.");
  m.def("count_scores", &count, nb::arg("packed").noconvert(), nb::arg("places").noconvert(),
        nb::arg("thresholds").noconvert(), nb::arg("weights").noconvert(), nb::arg("each"),
        "How many scores of packed sets lie at or above, and above, rising thresholds: of each set, or their sum.");
}

}  // namespace steelyard::anomalies_binding
