// Ranked detections, and the figures and curves that are read along them.
#include "ap/box_figures.hpp"
#include "ap/left_out.hpp"

#include "arrays.hpp"

namespace steelyard::box_figures_binding {
namespace {

using Counted = nb::ndarray<const std::uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;  // groups, units, lanes
using Values = Tuple<Out<double>, Out<double>>;

// The arrays of a ranking. They can change between two calls, so each call checks them.
struct RankedArrays {
  In1<std::int64_t> begin, end;
  In1<std::int32_t> image;
  In1<double> score;
  In1<std::uint16_t> rank;
  In1<Bits> hit, ignored;
  In1<std::int64_t> truth_begin;
  In1<std::int32_t> truth_image;
  In1<std::uint8_t> counts;
  std::size_t thresholds, most;

  Ranked checked(std::size_t units) const {
    const Ranked in{view(begin),   view(end),         view(image),       view(score),  view(rank), view(hit),
                    view(ignored), view(truth_begin), view(truth_image), view(counts), thresholds, most};
    check_ranked(in, units);
    return in;
  }
};

// What a kernel gives for so many rows: a figure and the recall, by threshold.
template <typename Kernel>
Values values_of(std::size_t rows, std::size_t thresholds, Kernel kernel) {
  double *v, *r;
  auto value = make_raw<double>({rows, thresholds}, v);
  auto recall = make_raw<double>({rows, thresholds}, r);
  {
    nb::gil_scoped_release release;
    kernel(v, r);
  }
  return nb::make_tuple(value, recall);
}

Tuple<Out<double>, Out<double>, Out<double>> curves(const RankedArrays& self, In1<double> weights, In1<double> grid,
                                                    bool with_scores, long threads) {
  const Ranked in = self.checked(weights.shape(0));
  check_weights(weights);
  check_grid(view(grid));
  const std::size_t thresholds = in.thresholds, points = grid.shape(0), classes = in.classes();
  double *p, *s, *r;
  auto precision = make_raw<double>({thresholds, points, classes}, p);
  auto scores = make_raw<double>({with_scores ? thresholds : 0, points, classes}, s);
  auto recall = make_raw<double>({thresholds, classes}, r);
  {
    nb::gil_scoped_release release;
    box_curves(in, view(weights), view(grid), threads, p, with_scores ? s : nullptr, r);
  }
  return nb::make_tuple(precision, recall, scores);
}

Values figures(const RankedArrays& self, In2<double> weights, BoxFigure figure, In1<double> grid, long threads) {
  const Ranked in = self.checked(weights.shape(1));
  check_weights(weights);
  check_box_figure(figure, view(grid));
  require(figure != BoxFigure::curves, "curves are no figure: call curves()");
  return values_of(weights.shape(0), in.thresholds, [&](double* value, double* recall) {
    box_figures(in, view(weights), figure, view(grid), threads, value, recall);
  });
}

void check_counted_figure(BoxFigure figure, View<double> grid) {
  check_box_figure(figure, grid);
  require(on_grid(figure) || by_tie(figure) || figure == BoxFigure::recall, "this figure cannot be counted");
  require(grid.size() <= kMostPoints, "too many points of the grid");
  check_grid(grid);
}

Values draws(const RankedArrays& self, Counted weights, std::size_t rows, BoxFigure figure, In1<double> grid,
             long threads) {
  const std::size_t groups = weights.shape(0), units = weights.shape(1);
  const Ranked in = self.checked(units);
  require(weights.shape(2) == kCountedRows, "counts come 32 rows side by side");
  require(rows <= groups * kCountedRows && groups == rows / kCountedRows + (rows % kCountedRows != 0),
          "the groups do not hold so many rows");
  check_counted_figure(figure, view(grid));
  return values_of(rows, in.thresholds, [&](double* value, double* recall) {
    box_draws(in, weights.data(), units, rows, figure, view(grid), threads, value, recall);
  });
}

Values left_out(const RankedArrays& self, In1<std::int32_t> group, std::size_t groups, BoxFigure figure,
                In1<double> grid, long threads) {
  const Ranked in = self.checked(group.shape(0));
  require(groups <= group.shape(0), "more groups than images");
  check_groups(view(group), groups);
  check_counted_figure(figure, view(grid));
  return values_of(groups, in.thresholds, [&](double* value, double* recall) {
    box_left_out(in, view(group), groups, figure, view(grid), threads, value, recall);
  });
}

}  // namespace

void bind(nb::module_& m) {
  nb::enum_<BoxFigure>(m, "BoxFigure", "What is read along a ranking of detections.")
      .value("coco", BoxFigure::coco, "Mean precision on a grid of recalls, as COCO has it.")
      .value("grid", BoxFigure::grid, "The same on any grid.")
      .value("area", BoxFigure::area, "Area under the envelope of precision.")
      .value("step", BoxFigure::step, "Area under the steps, one for each score.")
      .value("miss", BoxFigure::miss, "Log-average miss rate.")
      .value("best_f1", BoxFigure::best_f1, "The best F1, and in place of the recall the score that it is reached at.")
      .value("recall", BoxFigure::recall, "The recall alone.")
      .value("curves", BoxFigure::curves, "Precision and score at each recall of the grid.");
  nb::class_<RankedArrays>(m, "Ranked", "Matched detections by class and falling score, and the truths by class.")
      .def(
          "__init__",
          [](RankedArrays* self, In1<std::int64_t> begin, In1<std::int64_t> end, In1<std::int32_t> image,
             In1<double> score, In1<std::uint16_t> rank, In1<Bits> hit, In1<Bits> ignored,
             In1<std::int64_t> truth_begin, In1<std::int32_t> truth_image, In1<std::uint8_t> counts,
             std::size_t thresholds, std::size_t most) {
            new (self) RankedArrays{begin,   end,         image,       score,  rank,       hit,
                                    ignored, truth_begin, truth_image, counts, thresholds, most};
          },
          nb::arg("begin").noconvert(), nb::arg("end").noconvert(), nb::arg("image").noconvert(),
          nb::arg("score").noconvert(), nb::arg("rank").noconvert(), nb::arg("hit").noconvert(),
          nb::arg("ignored").noconvert(), nb::arg("truth_begin").noconvert(), nb::arg("truth_image").noconvert(),
          nb::arg("counts").noconvert(), nb::arg("thresholds"), nb::arg("most"),
          "`hit` and `ignored` have a bit for each threshold, `counts` is 1 where a truth counts; `most` detections of "
          "a class count in an image.")
      .def("curves", &curves, nb::arg("weights").noconvert(), nb::arg("grid").noconvert(), nb::arg("scores") = true,
           nb::arg("threads") = 0,
           "Precision (thresholds, grid, classes), recall (thresholds, classes) and scores (as precision, or of no "
           "threshold where they are not asked for) under one row of weights; nan for a class without truth.")
      .def("figures", &figures, nb::arg("weights").noconvert(), nb::arg("figure"), nb::arg("grid").noconvert(),
           nb::arg("threads") = 0,
           "A figure and the recall, mean over the classes with truth, for each row of weights and threshold.")
      .def("draws", &draws, nb::arg("weights").noconvert(), nb::arg("rows"), nb::arg("figure"),
           nb::arg("grid").noconvert(), nb::arg("threads") = 0,
           "The same to 1.2e-7 for rows of counts, which lie as (groups, units, 32 rows); of four figures.")
      .def("left_out", &left_out, nb::arg("group").noconvert(), nb::arg("groups"), nb::arg("figure"),
           nb::arg("grid").noconvert(), nb::arg("threads") = 0,
           "The same figures without each group of images, to the second order of a group's share of a class. `group` "
           "is by image; -1 is never left out.");
}

}  // namespace steelyard::box_figures_binding
