// Boxes in space for Python: checks, arrays, threads. The kernels are in kernels/solid.
#include <algorithm>
#include <vector>

#include "arrays.hpp"
#include "solid/centres.hpp"
#include "solid/kitti.hpp"
#include "support/checks.hpp"

namespace steelyard::solid_binding {
namespace {

using namespace solid;

constexpr std::size_t kMostRows = std::size_t{1} << 31;

template <typename T, typename From, typename Get>
Out<T> column(const std::vector<From>& rows, Get get) {
  T* out;
  auto result = make_raw<T>({rows.size()}, out);
  for (const From& row : rows) *out++ = get(row);
  return result;
}

void check_groups(View<std::int32_t> group, std::int64_t low, std::size_t groups) {
  for (const std::int32_t one : group) {
    require(one >= low && one < static_cast<std::int64_t>(groups), "a class is out of range");
  }
}

using Columns = nb::typed<nb::dict, nb::str, nb::object>;

Columns match_kitti(int view_code, In1<std::int64_t> truth_begin, In2<double> truth_box, In1<std::int32_t> truth_group,
                    In1<std::uint8_t> truth_own, In1<std::uint8_t> truth_levels, In1<double> truth_alpha,
                    In1<std::int64_t> begin, In2<double> box, In1<std::int32_t> group, In1<std::uint8_t> small,
                    In1<double> alpha, In1<double> score, In1<std::int64_t> region_begin, In2<double> region,
                    In1<double> least, std::size_t levels, long threads) {
  require(view_code >= 0 && view_code <= 2, "the view is 0, 1 or 2");
  const std::size_t width = view_code == 0 ? 4 : kSolid, t = truth_group.shape(0), d = group.shape(0);
  require(levels >= 1 && levels <= kMostLevels, "there are from 1 to 8 levels");
  require(least.shape(0) >= 1 && least.shape(0) <= 4096, "there are from 1 to 4096 classes");
  require(t < kMostRows && d < kMostRows, "too many rows");
  require(truth_box.shape(0) == t && box.shape(0) == d && truth_box.shape(1) == width && box.shape(1) == width,
          "every row needs a box of the view");
  require(truth_own.shape(0) == t && truth_levels.shape(0) == t && truth_alpha.shape(0) == t,
          "every truth needs its columns");
  require(small.shape(0) == d && alpha.shape(0) == d && score.shape(0) == d, "every detection needs its columns");
  require(region.shape(1) == 4, "a region has four numbers");
  check_offsets(view(truth_begin), t, "truths must stand by frame");
  check_offsets(view(begin), d, "detections must stand by frame");
  check_offsets(view(region_begin), region.shape(0), "regions must stand by frame");
  require(truth_begin.shape(0) == begin.shape(0) && begin.shape(0) == region_begin.shape(0),
          "all must have as many frames");
  require(truth_begin.shape(0) - 1 < kMostRows, "too many frames");
  check_groups(view(truth_group), -1, least.shape(0));
  check_groups(view(group), -1, least.shape(0));
  check_finite(truth_box.data(), truth_box.size(), "boxes must be finite");
  check_finite(box.data(), box.size(), "boxes must be finite");
  check_finite(region.data(), region.size(), "regions must be finite");
  check_finite(score.data(), d, "scores must be finite");
  check_finite(truth_alpha.data(), t, "angles must be finite");
  check_finite(alpha.data(), d, "angles must be finite");
  require(all_within(least.data(), least.shape(0), 0.0, 1.0), "an overlap is from 0 to 1");
  const KittiSide truths{view(truth_begin),
                         view(truth_box),
                         view(truth_group),
                         view(truth_levels),
                         view(truth_alpha),
                         view(truth_own),
                         {}};
  const KittiSide found{view(begin), view(box), view(group), view(small), view(alpha), {}, view(score)};
  KittiMatched out;
  {
    nb::gil_scoped_release release;
    out = kitti_match(static_cast<View3>(view_code), truths, found, view(region_begin), view(region), view(least),
                      levels, threads);
  }
  nb::dict result;
  result["cell"] = column<std::int32_t>(out.events, [](const KittiEvent& e) { return e.cell; });
  result["unit"] = column<std::int32_t>(out.events, [](const KittiEvent& e) { return e.unit; });
  result["score"] = column<double>(out.events, [](const KittiEvent& e) { return e.score; });
  result["hits"] = column<std::int32_t>(out.events, [](const KittiEvent& e) { return e.hits; });
  result["tp"] = column<std::int32_t>(out.events, [](const KittiEvent& e) { return e.tp; });
  result["fp"] = column<std::int32_t>(out.events, [](const KittiEvent& e) { return e.fp; });
  result["similarity"] = column<double>(out.events, [](const KittiEvent& e) { return e.similarity; });
  result["count_cell"] = column<std::int32_t>(out.counts, [](const KittiCount& c) { return c.cell; });
  result["count_unit"] = column<std::int32_t>(out.counts, [](const KittiCount& c) { return c.unit; });
  result["count"] = column<double>(out.counts, [](const KittiCount& c) { return c.count; });
  return result;
}

Out<double> overlaps(int view_code, In2<double> a, In2<double> b) {
  require(view_code >= 0 && view_code <= 2, "the view is 0, 1 or 2");
  const std::size_t width = view_code == 0 ? 4 : kSolid;
  require(a.shape(1) == width && b.shape(1) == width && a.shape(0) == b.shape(0),
          "pairs of boxes of the view are expected");
  check_finite(a.data(), a.size(), "boxes must be finite");
  check_finite(b.data(), b.size(), "boxes must be finite");
  double* out;
  auto result = make_raw<double>({a.shape(0)}, out);
  nb::gil_scoped_release release;
  for (std::size_t i = 0; i < a.shape(0); ++i) {
    out[i] = overlap_of(static_cast<View3>(view_code), a.data() + width * i, b.data() + width * i);
  }
  return result;
}

KittiEvents kitti_events(const In1<double>& score, const In1<std::int32_t>& unit, const In1<std::int32_t>& hits,
                         const In1<std::int32_t>& tp, const In1<std::int32_t>& fp, const In1<double>& similarity,
                         std::size_t units, bool by_unit) {
  const std::size_t n = score.shape(0);
  require(unit.shape(0) == n && hits.shape(0) == n && tp.shape(0) == n && fp.shape(0) == n && similarity.shape(0) == n,
          "every event needs all columns");
  require(n < kMostRows, "too many events");
  check_finite(similarity.data(), n, "similarities must be finite");
  check_groups(view(unit), 0, units);
  for (std::size_t e = 1; e < n; ++e) {
    const bool same = !by_unit || unit.data()[e] == unit.data()[e - 1];
    require(same ? score.data()[e] <= score.data()[e - 1] : unit.data()[e] > unit.data()[e - 1],
            "events must stand in order");
  }
  return {view(score), view(unit), view(hits), view(tp), view(fp), view(similarity)};
}

Out<double> areas(In2<double> weights, In1<double> truths, In1<double> score, In1<std::int32_t> unit,
                  In1<std::int32_t> hits, In1<std::int32_t> tp, In1<std::int32_t> fp, In1<double> similarity,
                  long threads) {
  require(truths.shape(0) == weights.shape(1), "every unit needs its number of truths");
  check_weights(weights);
  check_weights(truths);
  const auto events = kitti_events(score, unit, hits, tp, fp, similarity, truths.shape(0), false);
  double* out;
  auto result = make_raw<double>({weights.shape(0), 4}, out);
  nb::gil_scoped_release release;
  kitti_areas(events, view(truths), view(weights), threads, out);
  return result;
}

Out<double> areas_by_unit(In1<double> truths, In1<double> score, In1<std::int32_t> unit, In1<std::int32_t> hits,
                          In1<std::int32_t> tp, In1<std::int32_t> fp, In1<double> similarity) {
  check_weights(truths);
  const auto events = kitti_events(score, unit, hits, tp, fp, similarity, truths.shape(0), true);
  double* out;
  auto result = make_raw<double>({truths.shape(0), 4}, out);
  nb::gil_scoped_release release;
  kitti_areas_by_unit(events, view(truths), out);
  return result;
}

Tuple<int, Out<double>> curve(In1<double> weights, In1<double> truths, In1<double> score, In1<std::int32_t> unit,
                              In1<std::int32_t> hits, In1<std::int32_t> tp, In1<std::int32_t> fp,
                              In1<double> similarity) {
  require(truths.shape(0) == weights.shape(0), "every unit needs its number of truths");
  check_weights(weights);
  check_weights(truths);
  const auto events = kitti_events(score, unit, hits, tp, fp, similarity, truths.shape(0), false);
  const KittiCurve found = kitti_curve(events, view(truths), weights.data());
  double* out;
  auto result = make_raw<double>({3, kPlaces}, out);
  for (const double* values : {found.score, found.precision, found.similarity}) out = std::copy_n(values, kPlaces, out);
  return nb::make_tuple(found.places, result);
}

Tuple<Out<std::uint8_t>, Out<double>, Out<std::int64_t>> match_centres(
    In1<std::int64_t> truth_begin, In2<double> truth_box, In1<std::int32_t> truth_group,
    In1<std::int32_t> truth_attribute, In1<std::int64_t> begin, In2<double> box, In1<std::int32_t> group,
    In1<std::int32_t> attribute, In1<double> score, In1<double> distances, std::size_t error_at, In1<std::uint8_t> half,
    long threads) {
  const std::size_t t = truth_group.shape(0), d = group.shape(0);
  require(truth_box.shape(0) == t && box.shape(0) == d && truth_box.shape(1) == kCentre && box.shape(1) == kCentre,
          "every row needs a box of eight numbers");
  require(truth_attribute.shape(0) == t && attribute.shape(0) == d && score.shape(0) == d,
          "every row needs its columns");
  require(distances.shape(0) >= 1 && distances.shape(0) <= kMostDistances && error_at < distances.shape(0),
          "there are from 1 to 8 distances");
  require(all_within(distances.data(), distances.shape(0), 0.0, kMostFinite), "a distance is negative or not finite");
  check_offsets(view(truth_begin), t, "truths must stand by sample");
  check_offsets(view(begin), d, "detections must stand by sample");
  require(truth_begin.shape(0) == begin.shape(0), "both sides must have as many samples");
  check_groups(view(truth_group), 0, half.shape(0));
  check_groups(view(group), 0, half.shape(0));
  check_finite(score.data(), d, "scores must be finite");
  std::uint8_t* bits;
  double* errors;
  std::int64_t* partner;
  auto bits_out = make_raw<std::uint8_t>({d}, bits);
  auto errors_out = make_raw<double>({d, kErrors}, errors);
  auto partner_out = make_raw<std::int64_t>({d}, partner);
  {
    nb::gil_scoped_release release;
    centre_match({view(truth_begin), view(truth_box), view(truth_group), view(truth_attribute)},
                 {view(begin), view(box), view(group), view(attribute)}, view(score), view(distances), error_at,
                 view(half), threads, bits, errors, partner);
  }
  return nb::make_tuple(bits_out, errors_out, partner_out);
}

struct CentreArguments {
  CentreEvents events;
  CentreRule rule;

  CentreArguments(const In1<double>& score, const In1<std::int32_t>& unit, const In1<std::uint8_t>& bits,
                  const In2<double>& errors, const In1<double>& truths, std::size_t distances, std::size_t error_at,
                  bool by_unit)
      : events{view(score), view(unit), view(bits), view(errors)}, rule{distances, error_at} {
    const std::size_t n = score.shape(0);
    require(unit.shape(0) == n && bits.shape(0) == n && errors.shape(0) == n && errors.shape(1) == kErrors,
            "every event needs all columns");
    require(distances >= 1 && distances <= kMostDistances && error_at < distances, "there are from 1 to 8 distances");
    check_weights(truths);
    check_groups(view(unit), 0, truths.shape(0));
    for (std::size_t e = 1; e < n; ++e) {
      const bool same = !by_unit || unit.data()[e] == unit.data()[e - 1];
      require(same ? score.data()[e] <= score.data()[e - 1] : unit.data()[e] > unit.data()[e - 1],
              "events must stand in order");
    }
  }
};

Out<double> scores(In2<double> weights, In1<double> truths, In1<double> score, In1<std::int32_t> unit,
                   In1<std::uint8_t> bits, In2<double> errors, std::size_t distances, std::size_t error_at,
                   long threads) {
  require(truths.shape(0) == weights.shape(1), "every unit needs its number of truths");
  check_weights(weights);
  const CentreArguments in(score, unit, bits, errors, truths, distances, error_at, false);
  double* out;
  auto result = make_raw<double>({weights.shape(0), distances + kErrors}, out);
  nb::gil_scoped_release release;
  centre_scores(in.events, view(truths), view(weights), in.rule, threads, out);
  return result;
}

Out<double> scores_by_unit(In1<double> truths, In1<double> score, In1<std::int32_t> unit, In1<std::uint8_t> bits,
                           In2<double> errors, std::size_t distances, std::size_t error_at) {
  const CentreArguments in(score, unit, bits, errors, truths, distances, error_at, true);
  double* out;
  auto result = make_raw<double>({truths.shape(0), distances + kErrors}, out);
  nb::gil_scoped_release release;
  centre_scores_by_unit(in.events, view(truths), in.rule, out);
  return result;
}

Out<double> curves(In1<double> weights, In1<double> truths, In1<double> score, In1<std::int32_t> unit,
                   In1<std::uint8_t> bits, In2<double> errors, std::size_t distances, std::size_t error_at) {
  require(truths.shape(0) == weights.shape(0), "every unit needs its number of truths");
  check_weights(weights);
  const CentreArguments in(score, unit, bits, errors, truths, distances, error_at, false);
  double* out;
  auto result = make_raw<double>({distances + 1 + kErrors, static_cast<std::size_t>(kRecalls)}, out);
  nb::gil_scoped_release release;
  centre_curves(in.events, view(truths), weights.data(), in.rule, out);
  return result;
}

}  // namespace

void bind(nb::module_& m) {
  m.def("kitti_match", &match_kitti, nb::arg("view"), nb::arg("truth_begin").noconvert(),
        nb::arg("truth_box").noconvert(), nb::arg("truth_group").noconvert(), nb::arg("truth_own").noconvert(),
        nb::arg("truth_levels").noconvert(), nb::arg("truth_alpha").noconvert(), nb::arg("begin").noconvert(),
        nb::arg("box").noconvert(), nb::arg("group").noconvert(), nb::arg("small").noconvert(),
        nb::arg("alpha").noconvert(), nb::arg("score").noconvert(), nb::arg("region_begin").noconvert(),
        nb::arg("region").noconvert(), nb::arg("least").noconvert(), nb::arg("levels"), nb::arg("threads") = 0,
        "Events and truths of KITTI's matching by class and level, in order.");
  m.def("kitti_areas", &areas, nb::arg("weights").noconvert(), nb::arg("truths").noconvert(),
        nb::arg("score").noconvert(), nb::arg("unit").noconvert(), nb::arg("hits").noconvert(),
        nb::arg("tp").noconvert(), nb::arg("fp").noconvert(), nb::arg("similarity").noconvert(), nb::arg("threads") = 0,
        "R11 and R40 of precision and of similarity for each row of weights, from events by falling score.");
  m.def("kitti_areas_by_unit", &areas_by_unit, nb::arg("truths").noconvert(), nb::arg("score").noconvert(),
        nb::arg("unit").noconvert(), nb::arg("hits").noconvert(), nb::arg("tp").noconvert(), nb::arg("fp").noconvert(),
        nb::arg("similarity").noconvert(), "The same of each unit alone, from events by unit and falling score.");
  m.def("kitti_curve", &curve, nb::arg("weights").noconvert(), nb::arg("truths").noconvert(),
        nb::arg("score").noconvert(), nb::arg("unit").noconvert(), nb::arg("hits").noconvert(),
        nb::arg("tp").noconvert(), nb::arg("fp").noconvert(), nb::arg("similarity").noconvert(),
        "How many places are reached, and score, precision and similarity at the 41 places.");
  m.def("solid_overlaps", &overlaps, nb::arg("view"), nb::arg("a").noconvert(), nb::arg("b").noconvert(),
        "The IoU of pairs of boxes: in the image (view 0), on the ground (1), in space (2).");
  m.def("centre_match", &match_centres, nb::arg("truth_begin").noconvert(), nb::arg("truth_box").noconvert(),
        nb::arg("truth_group").noconvert(), nb::arg("truth_attribute").noconvert(), nb::arg("begin").noconvert(),
        nb::arg("box").noconvert(), nb::arg("group").noconvert(), nb::arg("attribute").noconvert(),
        nb::arg("score").noconvert(), nb::arg("distances").noconvert(), nb::arg("error_at"),
        nb::arg("half").noconvert(), nb::arg("threads") = 0,
        "Of each detection the distances at which it finds a truth, as bits; its errors and its truth at one of them.");
  m.def("centre_scores", &scores, nb::arg("weights").noconvert(), nb::arg("truths").noconvert(),
        nb::arg("score").noconvert(), nb::arg("unit").noconvert(), nb::arg("bits").noconvert(),
        nb::arg("errors").noconvert(), nb::arg("distances"), nb::arg("error_at"), nb::arg("threads") = 0,
        "Average precision at each distance, then five errors, for each row of weights, from events by falling score.");
  m.def("centre_scores_by_unit", &scores_by_unit, nb::arg("truths").noconvert(), nb::arg("score").noconvert(),
        nb::arg("unit").noconvert(), nb::arg("bits").noconvert(), nb::arg("errors").noconvert(), nb::arg("distances"),
        nb::arg("error_at"), "The same of each unit alone, from events by unit and falling score.");
  m.def("centre_curves", &curves, nb::arg("weights").noconvert(), nb::arg("truths").noconvert(),
        nb::arg("score").noconvert(), nb::arg("unit").noconvert(), nb::arg("bits").noconvert(),
        nb::arg("errors").noconvert(), nb::arg("distances"), nb::arg("error_at"),
        "Precision at 101 recalls for each distance, then confidence and errors at these.");
}

}  // namespace steelyard::solid_binding
