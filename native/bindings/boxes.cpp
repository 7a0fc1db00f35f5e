// Matching of boxes.
#include "matching.hpp"

namespace steelyard {

MatchedArrays match_arrays(const ObjectArrays& arrays, const Similarity* similarity, const double* d_area) {
  const Objects objects = arrays.objects();
  check_objects(objects, d_area);
  const std::size_t truths = objects.t_image.size(), detections = objects.d_image.size(), labels = objects.labels;
  const std::size_t areas = objects.areas.rows, partners = objects.partners ? detections : 0;
  Matched out{};
  auto order = make_raw<Row>({detections}, out.order);
  auto rank = make_raw<std::uint16_t>({detections}, out.rank);
  auto hit = make_array<Bits>({areas, detections}, out.hit);
  auto ignored = make_array<Bits>({areas, detections}, out.ignored);
  auto partner = make_raw<Row>({partners}, out.partner);
  auto overlap = make_raw<double>({partners}, out.overlap);
  if (!objects.partners) out.partner = nullptr;
  auto begins = make_raw<std::int64_t>({labels}, out.begin);
  auto ends = make_raw<std::int64_t>({labels}, out.end);
  auto truth_begins = make_raw<std::int64_t>({labels + 1}, out.truth_begin);
  auto truth_order = make_raw<Row>({truths}, out.truth_order);
  {
    nb::gil_scoped_release release;
    match_objects(objects, similarity, d_area, out);
  }
  return nb::make_tuple(begins, ends, order, rank, hit, ignored, truth_begins, truth_order, partner, overlap);
}

}  // namespace steelyard

namespace steelyard::boxes_binding {

void bind(nb::module_& m) {
  m.def(
      "boxes_match",
      [](In1<Row> t_image, In1<Row> t_label, In2<double> t_box, In1<double> t_area, In1<std::uint8_t> t_flags,
         In1<Row> d_image, In1<Row> d_label, In2<double> d_box, In1<double> d_score, std::size_t images,
         std::size_t labels, In1<double> ious, In2<double> areas, std::size_t most, bool voc, bool partners,
         long threads) {
        return match_arrays({t_image, t_label, t_box, t_area, t_flags, d_image, d_label, d_box, d_score, images, labels,
                             ious, areas, most, voc, partners, threads},
                            nullptr, nullptr);
      },
      nb::arg("t_image").noconvert(), nb::arg("t_label").noconvert(), nb::arg("t_box").noconvert(),
      nb::arg("t_area").noconvert(), nb::arg("t_flags").noconvert(), nb::arg("d_image").noconvert(),
      nb::arg("d_label").noconvert(), nb::arg("d_box").noconvert(), nb::arg("d_score").noconvert(), nb::arg("images"),
      nb::arg("labels"), nb::arg("ious").noconvert(), nb::arg("areas").noconvert(), nb::arg("most"), nb::arg("voc"),
      nb::arg("partners"), nb::arg("threads") = 0,
      "Match detections to truth. Gives, with detections by class and falling score: begin and end of each class, "
      "the detections' rows, their rank in their image, bits of hits and of ignored by area; begin of each class "
      "among the truths, the truths' rows; and each detection's partner and overlap at the first threshold.");
}

}  // namespace steelyard::boxes_binding
