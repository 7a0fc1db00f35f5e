// Figures and curves of matched detections.
#include "ap/box_figures.hpp"
#include "ap/left_out.hpp"

#include "arrays.hpp"

namespace steelyard::box_figures_binding {
namespace {

using Counted = nb::ndarray<const std::uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;  // groups, units, lanes

Tuple<Out<double>, Out<double>, Out<double>> curves(In1<std::int64_t> begin, In1<std::int64_t> end,
                                                    In1<std::int32_t> image, In1<double> score, In1<std::uint16_t> rank,
                                                    In1<Bits> hit, In1<Bits> ignored, In1<std::int64_t> truth_begin,
                                                    In1<std::int32_t> truth_image, In1<std::uint8_t> counts,
                                                    std::size_t thresholds, std::size_t most, In1<double> weights,
                                                    In1<double> grid, bool with_scores, long threads) {
  const Ranked in = check_ranked({view(begin), view(end), view(image), view(score), view(rank), view(hit),
                                  view(ignored), view(truth_begin), view(truth_image), view(counts)},
                                 weights.shape(0), thresholds, most);
  check_weights(weights);
  check_grid(view(grid));
  double *p, *s, *r;
  auto precision = make_raw<double>({thresholds, grid.shape(0), in.classes}, p);
  auto scores = make_raw<double>({with_scores ? thresholds : 0, grid.shape(0), in.classes}, s);
  auto recall = make_raw<double>({thresholds, in.classes}, r);
  {
    nb::gil_scoped_release release;
    box_curves(in, view(weights), view(grid), threads, p, with_scores ? s : nullptr, r);
  }
  return nb::make_tuple(precision, recall, scores);
}

Tuple<Out<double>, Out<double>> figures(In1<std::int64_t> begin, In1<std::int64_t> end, In1<std::int32_t> image,
                                        In1<double> score, In1<std::uint16_t> rank, In1<Bits> hit, In1<Bits> ignored,
                                        In1<std::int64_t> truth_begin, In1<std::int32_t> truth_image,
                                        In1<std::uint8_t> counts, std::size_t thresholds, std::size_t most,
                                        In2<double> weights, int code, In1<double> grid, long threads) {
  const Ranked in = check_ranked({view(begin), view(end), view(image), view(score), view(rank), view(hit),
                                  view(ignored), view(truth_begin), view(truth_image), view(counts)},
                                 weights.shape(1), thresholds, most);
  check_weights(weights);
  const BoxFigure figure = check_box_figure(code, view(grid));
  require(figure != BoxFigure::curves, "an unknown figure");
  double *v, *r;
  auto value = make_raw<double>({weights.shape(0), thresholds}, v);
  auto recall = make_raw<double>({weights.shape(0), thresholds}, r);
  {
    nb::gil_scoped_release release;
    box_figures(in, view(weights), figure, view(grid), threads, v, r);
  }
  return nb::make_tuple(value, recall);
}

BoxFigure check_counted_figure(int code, View<double> grid) {
  const BoxFigure figure = check_box_figure(code, grid);
  require(on_grid(figure) || by_tie(figure) || figure == BoxFigure::recall, "this figure cannot be counted");
  require(grid.size() <= kMostPoints, "too many points of the grid");
  check_grid(grid);
  return figure;
}

Tuple<Out<double>, Out<double>> draws(In1<std::int64_t> begin, In1<std::int64_t> end, In1<std::int32_t> image,
                                      In1<double> score, In1<std::uint16_t> rank, In1<Bits> hit, In1<Bits> ignored,
                                      In1<std::int64_t> truth_begin, In1<std::int32_t> truth_image,
                                      In1<std::uint8_t> counts, std::size_t thresholds, std::size_t most,
                                      Counted weights, std::size_t rows, int code, In1<double> grid, long threads) {
  const std::size_t groups = weights.shape(0);
  const Ranked in = check_ranked({view(begin), view(end), view(image), view(score), view(rank), view(hit),
                                  view(ignored), view(truth_begin), view(truth_image), view(counts)},
                                 weights.shape(1), thresholds, most);
  require(weights.shape(2) == kCountedRows, "counts come 32 rows side by side");
  require(rows <= groups * kCountedRows && groups == rows / kCountedRows + (rows % kCountedRows != 0),
          "the groups do not hold so many rows");
  const BoxFigure figure = check_counted_figure(code, view(grid));
  double *v, *r;
  auto value = make_raw<double>({rows, thresholds}, v);
  auto recall = make_raw<double>({rows, thresholds}, r);
  {
    nb::gil_scoped_release release;
    box_draws(in, weights.data(), rows, figure, view(grid), threads, v, r);
  }
  return nb::make_tuple(value, recall);
}

Tuple<Out<double>, Out<double>> left_out(In1<std::int64_t> begin, In1<std::int64_t> end, In1<std::int32_t> image,
                                         In1<double> score, In1<std::uint16_t> rank, In1<Bits> hit, In1<Bits> ignored,
                                         In1<std::int64_t> truth_begin, In1<std::int32_t> truth_image,
                                         In1<std::uint8_t> counts, std::size_t thresholds, std::size_t most,
                                         In1<std::int32_t> group, std::size_t groups, int code, In1<double> grid,
                                         long threads) {
  const Ranked in = check_ranked({view(begin), view(end), view(image), view(score), view(rank), view(hit),
                                  view(ignored), view(truth_begin), view(truth_image), view(counts)},
                                 group.shape(0), thresholds, most);
  require(groups <= group.shape(0), "more groups than images");
  check_groups(view(group), groups);
  const BoxFigure figure = check_counted_figure(code, view(grid));
  double *v, *r;
  auto value = make_raw<double>({groups, thresholds}, v);
  auto recall = make_raw<double>({groups, thresholds}, r);
  {
    nb::gil_scoped_release release;
    box_left_out(in, view(group), groups, figure, view(grid), threads, v, r);
  }
  return nb::make_tuple(value, recall);
}

}  // namespace

void bind(nb::module_& m) {
  m.def("box_curves", &curves, nb::arg("begin").noconvert(), nb::arg("end").noconvert(), nb::arg("image").noconvert(),
        nb::arg("score").noconvert(), nb::arg("rank").noconvert(), nb::arg("hit").noconvert(),
        nb::arg("ignored").noconvert(), nb::arg("truth_begin").noconvert(), nb::arg("truth_image").noconvert(),
        nb::arg("counts").noconvert(), nb::arg("thresholds"), nb::arg("most"), nb::arg("weights").noconvert(),
        nb::arg("grid").noconvert(), nb::arg("scores") = true, nb::arg("threads") = 0,
        "Precision (thresholds, grid, classes), recall (thresholds, classes) and scores (as precision, or of no "
        "threshold where they are not asked for) under one row of weights; nan for a class without truth.");
  m.def("box_figures", &figures, nb::arg("begin").noconvert(), nb::arg("end").noconvert(), nb::arg("image").noconvert(),
        nb::arg("score").noconvert(), nb::arg("rank").noconvert(), nb::arg("hit").noconvert(),
        nb::arg("ignored").noconvert(), nb::arg("truth_begin").noconvert(), nb::arg("truth_image").noconvert(),
        nb::arg("counts").noconvert(), nb::arg("thresholds"), nb::arg("most"), nb::arg("weights").noconvert(),
        nb::arg("figure"), nb::arg("grid").noconvert(), nb::arg("threads") = 0,
        "A figure and the recall, mean over the classes with truth, for each row of weights and threshold.");
  m.def("box_draws", &draws, nb::arg("begin").noconvert(), nb::arg("end").noconvert(), nb::arg("image").noconvert(),
        nb::arg("score").noconvert(), nb::arg("rank").noconvert(), nb::arg("hit").noconvert(),
        nb::arg("ignored").noconvert(), nb::arg("truth_begin").noconvert(), nb::arg("truth_image").noconvert(),
        nb::arg("counts").noconvert(), nb::arg("thresholds"), nb::arg("most"), nb::arg("weights").noconvert(),
        nb::arg("rows"), nb::arg("figure"), nb::arg("grid").noconvert(), nb::arg("threads") = 0,
        "The same to 1.2e-7 for rows of counts, which lie as (groups, units, 32 rows); of four figures.");
  m.def(
      "box_left_out", &left_out, nb::arg("begin").noconvert(), nb::arg("end").noconvert(), nb::arg("image").noconvert(),
      nb::arg("score").noconvert(), nb::arg("rank").noconvert(), nb::arg("hit").noconvert(),
      nb::arg("ignored").noconvert(), nb::arg("truth_begin").noconvert(), nb::arg("truth_image").noconvert(),
      nb::arg("counts").noconvert(), nb::arg("thresholds"), nb::arg("most"), nb::arg("group").noconvert(),
      nb::arg("groups"), nb::arg("figure"), nb::arg("grid").noconvert(), nb::arg("threads") = 0,
      "The same figures without each group of images, to the second order of a group's share of a class. `group` is by "
      "image; -1 is never left out.");
}

}  // namespace steelyard::box_figures_binding
