// Keypoints: their similarity, and the matching by it.
#include "boxes/keypoints.hpp"

#include <variant>

#include <nanobind/stl/variant.h>

#include "matching.hpp"

namespace steelyard::keypoints_binding {
namespace {

Out<double> similarities(In2<double> d_points, In2<double> t_points, In2<double> t_box, In1<double> t_area,
                         In1<double> sigmas) {
  const std::size_t n = d_points.shape(0), m = t_points.shape(0);
  check_sigmas(view(sigmas));
  check_points(view(d_points), view(sigmas), n, "a detection needs x, y and v for each sigma");
  check_points(view(t_points), view(sigmas), m, "a truth needs x, y and v for each sigma");
  require(t_box.shape(0) == m && t_box.shape(1) == 4 && t_area.shape(0) == m, "columns of the truth differ in length");
  check_finite(t_box.data(), t_box.size(), "a box is not finite");
  check_finite(t_area.data(), m, "an area is not finite");
  double* out;
  auto result = make_raw<double>({n, m}, out);
  const Oks similarity(t_points.data(), d_points.data(), t_box.data(), t_area.data(), view(sigmas));
  nb::gil_scoped_release release;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < m; ++j) out[i * m + j] = similarity.of(i, j, false, 0.0);
  }
  return result;
}

MatchColumns match(nb::object objects, nb::object rules, In1<double> sigmas) {
  ObjectColumns in(objects);
  const auto t_points = in.given.column<In2<double>>("shape"), d_points = in.given.column<In2<double>>("d_shape");
  check_sigmas(view(sigmas));
  check_points(t_points, view(sigmas), in.image.size(), "a truth needs x, y and v for each sigma");
  check_points(d_points, view(sigmas), in.d_image.size(), "a detection needs x, y and v for each sigma");
  require(in.d_area.size() == in.d_image.size(), "columns of the detections differ in length");
  require(in.box.rows == t_points.rows && in.box.columns == 4 && in.area.size() == t_points.rows,
          "columns of the truth differ in length");
  const Oks similarity(t_points.data(), d_points.data(), in.box.data(), in.area.data(), view(sigmas));
  return match_columns(in, GivenRules(rules), &similarity);
}

Tuple<Out<double>, Out<std::int64_t>, Out<std::int64_t>> exponents_of(
    In1<std::int64_t> d_begin, In1<std::int64_t> t_begin, In1<std::int32_t> d_rows, In1<std::int32_t> t_rows,
    In2<double> d_points, std::variant<In2<double>, In2<std::int16_t>> t_points, In2<double> t_box, In1<double> t_area,
    In1<double> sigmas, double least, std::size_t first, std::size_t last) {
  const auto* whole = std::get_if<In2<double>>(&t_points);
  const auto* small = std::get_if<In2<std::int16_t>>(&t_points);
  CellPoints in{view(d_begin), view(t_begin), view(d_rows), view(t_rows), view(d_points), {},  {},
                view(t_box),   view(t_area),  view(sigmas), least,        first,          last};
  if (whole != nullptr) in.t_points = view(*whole);
  if (small != nullptr) in.t_small = view(*small);
  Exponents out;
  {
    nb::gil_scoped_release release;
    check_cell_points(in);
    out = oks_exponents(in);
  }
  return nb::make_tuple(array_of(out.values), array_of(out.begin), array_of(out.pair));
}

Out<double> means_of(In1<double> values, In1<std::int64_t> begin) {
  require(begin.shape(0) > 0, "the values of the pairs are out of bounds");
  double* out;
  auto result = make_raw<double>({begin.shape(0) - 1}, out);
  oks_means(view(values), view(begin), out);
  return result;
}

}  // namespace

void bind(nb::module_& m) {
  m.def("oks", &similarities, nb::arg("d_points").noconvert(), nb::arg("t_points").noconvert(),
        nb::arg("t_box").noconvert(), nb::arg("t_area").noconvert(), nb::arg("sigmas").noconvert(),
        "Object keypoint similarity, detections by truths; points are x, y, v in turn.");
  m.def("oks_exponents", &exponents_of, nb::arg("d_begin").noconvert(), nb::arg("t_begin").noconvert(),
        nb::arg("d_rows").noconvert(), nb::arg("t_rows").noconvert(), nb::arg("d_points").noconvert(),
        nb::arg("t_points").noconvert(), nb::arg("t_box").noconvert(), nb::arg("t_area").noconvert(),
        nb::arg("sigmas").noconvert(), nb::arg("least"), nb::arg("first"), nb::arg("last"),
        "What exp is asked of for the pairs in the cells from `first` to `last`, where each pair begins, and its place "
        "among all pairs. Pairs that are surely less alike than `least` are left out.");
  m.def("oks_means", &means_of, nb::arg("values").noconvert(), nb::arg("begin").noconvert(),
        "The mean of the values of each pair, added as NumPy adds them.");
  m.def("keypoints_match", &match, nb::arg("objects"), nb::arg("rules"), nb::arg("sigmas").noconvert(),
        "As boxes_match, by object keypoint similarity.");
}

}  // namespace steelyard::keypoints_binding
