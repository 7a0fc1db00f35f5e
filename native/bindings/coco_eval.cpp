// What a drop-in for COCO's own evaluator calls.
#include <algorithm>

#include "arrays.hpp"
#include "boxes/coco_eval.hpp"

namespace steelyard::coco_eval_binding {
namespace {

Tuple<Out<std::int32_t>, Out<std::int32_t>> match_cell_arrays(In1<std::int64_t> d_begin, In1<std::int64_t> t_begin,
                                                              In1<double> ious, In2<std::uint8_t> t_ignored,
                                                              In1<std::uint8_t> crowd, In1<std::uint8_t> takes,
                                                              In1<double> thresholds, long threads) {
  const Cells cells{view(d_begin), view(t_begin), view(ious),      view(t_ignored),
                    view(crowd),   view(takes),   view(thresholds)};
  check_cells(cells);
  const std::size_t areas = t_ignored.shape(0), count = thresholds.shape(0);
  std::int32_t *d_match, *t_match;
  auto d_out = make_raw<std::int32_t>({areas, count, takes.shape(0)}, d_match);
  auto t_out = make_raw<std::int32_t>({areas, count, crowd.shape(0)}, t_match);
  {
    nb::gil_scoped_release release;
    match_cells(cells, threads, d_match, t_match);
  }
  return nb::make_tuple(d_out, t_out);
}

Tuple<Out<double>, Out<double>, Out<double>> reference_curve_arrays(In1<std::int64_t> order, In1<double> score,
                                                                    In2<std::uint8_t> hit, In2<std::uint8_t> ignored,
                                                                    double positives, In1<double> recalls,
                                                                    long threads) {
  const ReferenceRanking in{view(order), view(score), view(hit), view(ignored), positives, view(recalls)};
  check_reference(in);
  const std::size_t T = hit.shape(0), R = recalls.shape(0);
  double *p, *s, *r;
  auto precision = make_array<double>({T, R}, p);
  auto scores = make_array<double>({T, R}, s);
  auto recall = make_array<double>({T}, r);
  {
    nb::gil_scoped_release release;
    reference_curves(in, threads, p, s, r);
  }
  return nb::make_tuple(precision, recall, scores);
}

Tuple<Out<double>, Out<double>, Out<double>> score_cell_arrays(
    In1<std::int64_t> d_begin, In1<std::int64_t> t_begin, In1<double> ious, In2<std::uint8_t> t_ignored,
    In1<std::uint8_t> crowd, In1<std::uint8_t> takes, In1<double> thresholds, In1<std::int64_t> category,
    In1<double> score, In2<std::uint8_t> d_outside, In1<std::uint8_t> t_counts, In1<std::int64_t> limits,
    In1<double> recalls, std::size_t categories, long threads) {
  const ScoredCells in{
      {view(d_begin), view(t_begin), view(ious), view(t_ignored), view(crowd), view(takes), view(thresholds)},
      view(category),
      view(score),
      view(d_outside),
      view(t_counts),
      view(limits),
      view(recalls),
      categories};
  check_scored(in);
  const std::size_t A = t_ignored.shape(0), M = limits.shape(0), T = thresholds.shape(0), R = recalls.shape(0);
  double *p, *s, *r;
  auto precision = make_raw<double>({T, R, categories, A, M}, p);
  auto scores = make_raw<double>({T, R, categories, A, M}, s);
  auto recall = make_raw<double>({T, categories, A, M}, r);
  {
    nb::gil_scoped_release release;
    score_cells(in, threads, p, s, r);
  }
  return nb::make_tuple(precision, recall, scores);
}

Out<std::int32_t> order_cell_array(In1<std::int32_t> category, In1<std::int32_t> image, In1<double> score,
                                   std::size_t categories, std::size_t images, bool by_category) {
  const std::size_t n = image.shape(0);
  require(category.shape(0) == n && (score.shape(0) == n || score.shape(0) == 0), "columns differ in length");
  require(categories < (std::size_t{1} << 32) && images < (std::size_t{1} << 32), "too many categories or images");
  require(n < (std::size_t{1} << 31), "too many rows");
  std::int32_t* out;
  auto order = make_raw<std::int32_t>({n}, out);
  {
    nb::gil_scoped_release release;
    order_cells({view(category), view(image), view(score), categories, images, by_category}, out);
  }
  return order;
}

Out<double> cell_box_iou_array(In1<std::int64_t> d_begin, In1<std::int64_t> t_begin, In1<std::int32_t> d_rows,
                               In1<std::int32_t> t_rows, In2<double> d_box, In2<double> t_box,
                               In1<std::uint8_t> crowd) {
  const CellBoxes in{view(d_begin), view(t_begin), view(d_rows), view(t_rows), view(d_box), view(t_box), view(crowd)};
  const std::size_t pairs = check_cell_boxes(in);
  double* out;
  auto result = make_raw<double>({pairs}, out);
  nb::gil_scoped_release release;
  cell_box_ious(in, out);
  return result;
}

}  // namespace

void bind(nb::module_& m) {
  m.def("match_cells", &match_cell_arrays, nb::arg("d_begin").noconvert(), nb::arg("t_begin").noconvert(),
        nb::arg("ious").noconvert(), nb::arg("t_ignored").noconvert(), nb::arg("crowd").noconvert(),
        nb::arg("takes").noconvert(), nb::arg("thresholds").noconvert(), nb::arg("threads") = 0,
        "Rows of the matched truths (areas, thresholds, detections) and detections (areas, thresholds, truths); -1: "
        "none.");
  m.def("score_cells", &score_cell_arrays, nb::arg("d_begin").noconvert(), nb::arg("t_begin").noconvert(),
        nb::arg("ious").noconvert(), nb::arg("t_ignored").noconvert(), nb::arg("crowd").noconvert(),
        nb::arg("takes").noconvert(), nb::arg("thresholds").noconvert(), nb::arg("category").noconvert(),
        nb::arg("score").noconvert(), nb::arg("d_outside").noconvert(), nb::arg("t_counts").noconvert(),
        nb::arg("limits").noconvert(), nb::arg("recalls").noconvert(), nb::arg("categories"), nb::arg("threads") = 0,
        "Precision (thresholds, recalls, categories, areas, limits), last recall and scores as pycocotools "
        "accumulates them; -1 where no truth counts.");
  m.def("order_cells", &order_cell_array, nb::arg("category").noconvert(), nb::arg("image").noconvert(),
        nb::arg("score").noconvert(), nb::arg("categories"), nb::arg("images"), nb::arg("by_category"),
        "Rows by cell, and in a cell by falling score.");
  m.def("cell_box_ious", &cell_box_iou_array, nb::arg("d_begin").noconvert(), nb::arg("t_begin").noconvert(),
        nb::arg("d_rows").noconvert(), nb::arg("t_rows").noconvert(), nb::arg("d_box").noconvert(),
        nb::arg("t_box").noconvert(), nb::arg("crowd").noconvert(), "IoU of all pairs in each cell, flat.");
  m.def("reference_curves", &reference_curve_arrays, nb::arg("order").noconvert(), nb::arg("score").noconvert(),
        nb::arg("hit").noconvert(), nb::arg("ignored").noconvert(), nb::arg("positives"),
        nb::arg("recalls").noconvert(), nb::arg("threads") = 0,
        "Precision, last recall and scores as pycocotools accumulates them.");
}

}  // namespace steelyard::coco_eval_binding
