// Rankings that come in parts.
#include "ap/streams.hpp"

#include <nanobind/stl/variant.h>

#include "arrays.hpp"

namespace steelyard::streams_binding {
namespace {

void feed_boxes(BoxStream& stream, In1<double> score, In1<std::uint16_t> rank, In1<Bits> hit, In1<Bits> ignored) {
  nb::gil_scoped_release release;
  stream.feed(view(score), view(rank), view(hit), view(ignored));
}

Result<std::variant<Tuple<Out<double>, Out<double>>, Tuple<Out<double>, Out<double>, Out<double>>>> result_of(
    const BoxStream& stream) {
  const std::size_t T = stream.thresholds(), R = stream.points();
  double *a, *b, *c;
  auto recall = make_array<double>({T}, b);
  if (stream.curves()) {
    auto precision = make_array<double>({T, R}, a);
    auto scores = make_array<double>({T, R}, c);
    stream.curves(a, b, c);
    return nb::make_tuple(precision, recall, scores);
  }
  auto value = make_array<double>({T}, a);
  stream.figures(a, b);
  return nb::make_tuple(value, recall);
}

void feed_labels(LabelStream& stream, In1<double> score, In1<std::uint8_t> positive) {
  nb::gil_scoped_release release;
  stream.feed(view(score), view(positive));
}

}  // namespace

void bind(nb::module_& m) {
  nb::class_<BoxStream>(m, "BoxStream", "A class of detections that comes in parts by falling score; units weigh 1.")
      .def(
          "__init__",
          [](BoxStream* self, std::size_t thresholds, std::size_t most, BoxFigure figure, In1<double> grid,
             double positives,
             double images) { new (self) BoxStream(thresholds, most, figure, view(grid), positives, images); },
          nb::arg("thresholds"), nb::arg("most"), nb::arg("figure"), nb::arg("grid").noconvert(), nb::arg("positives"),
          nb::arg("images"), "As Ranked.figures, or Ranked.curves.")
      .def("feed", &feed_boxes, nb::arg("score").noconvert(), nb::arg("rank").noconvert(), nb::arg("hit").noconvert(),
           nb::arg("ignored").noconvert(), "The next part; equal scores in one.")
      .def("result", &result_of, "What all parts give.");
  nb::class_<LabelStream>(m, "LabelStream", "A ranking of rows that comes in parts by falling score; units weigh 1.")
      .def(nb::init<int, double, double, double>(), nb::arg("figure"), nb::arg("limit"), nb::arg("positives"),
           nb::arg("negatives"), "`figure` as for ranked, but 3 gives the score and not its rank.")
      .def("feed", &feed_labels, nb::arg("score").noconvert(), nb::arg("positive").noconvert(),
           "The next part; equal scores in one.")
      .def("result", &LabelStream::result, "What all parts give.");
}

}  // namespace steelyard::streams_binding
