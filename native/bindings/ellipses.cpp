// Distances between ellipses, and their pairing.
#include "ellipses/ellipses.hpp"

#include "arrays.hpp"

namespace steelyard::ellipses_binding {
namespace {

Out<double> matrix(In2<double> truth, In2<double> detected, int code, In1<double> weights, long threads) {
  check_ellipses(view(truth));
  check_ellipses(view(detected));
  check_parameter_weights(view(weights));
  const EllipseDistance distance = check_distance(code);
  double* out;
  auto result = make_array<double>({truth.shape(0), detected.shape(0)}, out);
  nb::gil_scoped_release release;
  distance_matrix(view(truth), view(detected), distance, view(weights), threads, out);
  return result;
}

void check_rows(const In2<double>& truth, const In2<double>& detected) {
  require(truth.shape(0) == detected.shape(0), "both sides must have as many rows");
  check_ellipses(view(truth));
  check_ellipses(view(detected));
}

Out<double> pairwise(In2<double> truth, In2<double> detected, int code, In1<double> weights) {
  check_rows(truth, detected);
  check_parameter_weights(view(weights));
  const EllipseDistance distance = check_distance(code);
  double* out;
  auto result = make_array<double>({truth.shape(0)}, out);
  nb::gil_scoped_release release;
  distances_by_row(view(truth), view(detected), distance, view(weights), out);
  return result;
}

Out<double> overlap_area(In2<double> truth, In2<double> detected) {
  check_rows(truth, detected);
  double* out;
  auto result = make_array<double>({truth.shape(0)}, out);
  nb::gil_scoped_release release;
  overlaps_by_row(view(truth), view(detected), out);
  return result;
}

Tuple<Out<std::int64_t>, Out<std::int64_t>, Out<std::int64_t>, Out<double>> match(
    In2<double> truth, In2<double> detected, In1<std::int64_t> truth_ends, In1<std::int64_t> detected_ends, int code,
    In1<double> weights, bool optimal, long threads) {
  const EllipseSides sides{view(truth), view(detected), view(truth_ends), view(detected_ends)};
  check_sides(sides);
  check_parameter_weights(view(weights));
  const EllipseDistance distance = check_distance(code);
  const std::size_t pairs = most_pairs(sides);
  EllipsePairs out;
  auto images = make_array<std::int64_t>({pairs}, out.image);
  auto truths = make_array<std::int64_t>({pairs}, out.truth);
  auto detections = make_array<std::int64_t>({pairs}, out.detected);
  auto distances = make_array<double>({pairs}, out.distance);
  {
    nb::gil_scoped_release release;
    match_ellipses(sides, distance, view(weights), optimal, threads, out);
  }
  return nb::make_tuple(images, truths, detections, distances);
}

Out<std::uint8_t> match_scored(In2<double> truth, In2<double> detected, In1<std::int64_t> truth_ends,
                               In1<std::int64_t> detected_ends, In1<double> scores, In1<double> ious, long threads) {
  const EllipseSides sides{view(truth), view(detected), view(truth_ends), view(detected_ends)};
  check_sides(sides);
  require(scores.shape(0) == detected.shape(0), "every detection needs a score");
  check_finite(scores.data(), scores.shape(0), "scores must be finite");
  require(all_within(ious.data(), ious.shape(0), 0.0, 1.0), "an IoU that is asked for must be from 0 to 1");
  std::uint8_t* hit;
  auto result = make_array<std::uint8_t>({detected.shape(0), ious.shape(0)}, hit);
  nb::gil_scoped_release release;
  match_by_score(sides, view(scores), view(ious), threads, hit);
  return result;
}

Out<std::int64_t> assign_matrix(In2<double> cost, bool optimal) {
  require(all_within(cost.data(), cost.size(), -1e300, 1e300), "costs must be finite");
  require(cost.shape(0) < 0xFFFFFFFFu && cost.shape(1) < 0xFFFFFFFFu, "too many rows or columns");
  std::int64_t* partner;
  auto result = make_array<std::int64_t>({cost.shape(0)}, partner);
  nb::gil_scoped_release release;
  assign_costs(view(cost), optimal, partner);
  return result;
}

}  // namespace

void bind(nb::module_& m) {
  m.def("ellipse_matrix", &matrix, nb::arg("truth").noconvert(), nb::arg("detected").noconvert(), nb::arg("distance"),
        nb::arg("weights").noconvert(), nb::arg("threads") = 0, "Distances of every truth to every detection.");
  m.def("ellipse_pairwise", &pairwise, nb::arg("truth").noconvert(), nb::arg("detected").noconvert(),
        nb::arg("distance"), nb::arg("weights").noconvert(),
        "The distance of each row of one side to the same row of the other.");
  m.def("ellipse_overlap", &overlap_area, nb::arg("truth").noconvert(), nb::arg("detected").noconvert(),
        "The area that each row of one side shares with the same row of the other.");
  m.def("ellipse_match", &match, nb::arg("truth").noconvert(), nb::arg("detected").noconvert(),
        nb::arg("truth_ends").noconvert(), nb::arg("detected_ends").noconvert(), nb::arg("distance"),
        nb::arg("weights").noconvert(), nb::arg("optimal"), nb::arg("threads") = 0,
        "Pair truths with detections image by image: for each pair its image, truth, detection and distance.");
  m.def("ellipse_match_by_score", &match_scored, nb::arg("truth").noconvert(), nb::arg("detected").noconvert(),
        nb::arg("truth_ends").noconvert(), nb::arg("detected_ends").noconvert(), nb::arg("scores").noconvert(),
        nb::arg("ious").noconvert(), nb::arg("threads") = 0,
        "Which detections find a truth, highest score first: one row per detection, one column per IoU.");
  m.def("assign", &assign_matrix, nb::arg("cost").noconvert(), nb::arg("optimal"),
        "Pair rows with columns, each used once: the column of each row, or -1.");
}

}  // namespace steelyard::ellipses_binding
