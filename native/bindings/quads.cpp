// Quadrilaterals and rotated rectangles: their overlap, and the matching by it.
#include "matching.hpp"
#include "quads/quad_similarity.hpp"

namespace steelyard::quads_binding {
namespace {

constexpr const char* kRectangles = "rectangles are centre x, centre y, width, height, angle";

template <typename Iou>
Out<double> matrix_of(In2<double> d, In2<double> g, In1<std::uint8_t> crowd, Iou iou) {
  const std::size_t n = d.shape(0), m = g.shape(0);
  require(crowd.shape(0) == m, "one crowd flag for each truth");
  double* out;
  auto result = make_raw<double>({n, m}, out);
  nb::gil_scoped_release release;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < m; ++j) {
      out[i * m + j] = iou(d.data() + d.shape(1) * i, g.data() + g.shape(1) * j, crowd.data()[j] != 0);
    }
  }
  return result;
}

Out<double> quads_iou(In2<double> d, In2<double> g, In1<std::uint8_t> crowd) {
  check_quads(view(d), d.shape(0), "a detection needs x and y of four corners");
  check_quads(view(g), g.shape(0), "a truth needs x and y of four corners");
  return matrix_of(d, g, crowd, [](const double* a, const double* b, bool c) { return quad_iou(a, b, c); });
}

Out<double> rectangles_iou(In2<double> d, In2<double> g, In1<std::uint8_t> crowd) {
  check_rectangles(view(d), d.shape(0), kRectangles);
  check_rectangles(view(g), g.shape(0), kRectangles);
  return matrix_of(d, g, crowd, [](const double* a, const double* b, bool c) { return rectangle_iou(a, b, c); });
}

Out<double> rectangles_probiou(In2<double> d, In2<double> g) {
  const std::size_t n = d.shape(0), m = g.shape(0);
  check_rectangles(view(d), n, kRectangles);
  check_rectangles(view(g), m, kRectangles);
  double* out;
  auto result = make_raw<double>({n, m}, out);
  const GaussianSimilarity similarity(view(d), view(g));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < m; ++j) out[i * m + j] = similarity.of(i, j, false, 0.0);
  }
  return result;
}

Out<std::uint8_t> quad_shapes(In2<double> quads) {
  require(quads.shape(1) == 8, "a quadrilateral needs x and y of four corners");
  require(all_within(quads.data(), quads.size(), -1e12, 1e12), "a corner is not finite, or beyond 1e12");
  std::uint8_t* out;
  auto result = make_raw<std::uint8_t>({quads.shape(0)}, out);
  for (std::size_t i = 0; i < quads.shape(0); ++i) {
    const double* row = quads.data() + 8 * i;
    std::size_t dent = 0;
    out[i] = static_cast<std::uint8_t>(quad_shape(quad_of(row, {row[0], row[1]}), dent));
  }
  return result;
}

MatchColumns match(nb::object objects, nb::object rules) {
  ObjectColumns in(objects);
  const auto t_quads = in.given.column<In2<double>>("shape"), d_quads = in.given.column<In2<double>>("d_shape");
  const std::size_t truths = in.image.size(), detections = in.d_image.size();
  check_quads(t_quads, truths, "a truth needs x and y of four corners");
  check_quads(d_quads, detections, "a detection needs x and y of four corners");
  require(in.box.rows == truths && in.box.columns == 4, "columns of the truth differ in length");
  require(in.d_box.rows == detections && in.d_box.columns == 4 && in.d_area.size() == detections,
          "columns of the detections differ in length");
  const QuadIou similarity(d_quads, t_quads, in.d_box.data(), in.box.data());
  return match_columns(in, GivenRules(rules), &similarity);
}

MatchColumns match_gaussians(nb::object objects, nb::object rules) {
  ObjectColumns in(objects);
  const auto truths = in.given.column<In2<double>>("shape"), detections = in.given.column<In2<double>>("d_shape");
  check_rectangles(truths, in.image.size(), kRectangles);
  check_rectangles(detections, in.d_image.size(), kRectangles);
  require(in.d_area.size() == in.d_image.size(), "columns of the detections differ in length");
  const GaussianSimilarity similarity(detections, truths);
  return match_columns(in, GivenRules(rules), &similarity);
}

}  // namespace

void bind(nb::module_& m) {
  m.def("quads_iou", &quads_iou, nb::arg("detections").noconvert(), nb::arg("truths").noconvert(),
        nb::arg("crowd").noconvert(),
        "IoU of quadrilaterals x1 y1 ... x4 y4, detections by truths; of a crowd the share of the detection inside.");
  m.def("rectangles_iou", &rectangles_iou, nb::arg("detections").noconvert(), nb::arg("truths").noconvert(),
        nb::arg("crowd").noconvert(), "The same of rectangles cx, cy, width, height, angle (radians, x towards y).");
  m.def("rectangles_probiou", &rectangles_probiou, nb::arg("detections").noconvert(), nb::arg("truths").noconvert(),
        "The similarity of Gaussians that stand for rectangles (probIoU), detections by truths.");
  m.def("probiou_match", &match_gaussians, nb::arg("objects"), nb::arg("rules"),
        "As boxes_match, by probIoU of rectangles.");
  m.def("quad_shapes", &quad_shapes, nb::arg("quads").noconvert(),
        "Shapes of quadrilaterals: 0 convex, 1 dented, 2 crossed, 3 flat.");
  m.def("quads_match", &match, nb::arg("objects"), nb::arg("rules"),
        "As boxes_match, by the IoU of quadrilaterals; the boxes must enclose them.");
}

}  // namespace steelyard::quads_binding
