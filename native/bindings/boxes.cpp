// Matching of boxes.
#include "matching.hpp"

namespace steelyard {

ObjectColumns::ObjectColumns(nb::handle source) : Objects{}, given(source) {
  image = given.column<In1<Row>>("image");
  label = given.column<In1<Row>>("label");
  box = given.column<In2<double>>("box");
  area = given.column<In1<double>>("area");
  flags = given.column<In1<std::uint8_t>>("flags");
  d_image = given.column<In1<Row>>("d_image");
  d_label = given.column<In1<Row>>("d_label");
  d_box = given.column<In2<double>>("d_box");
  d_score = given.column<In1<double>>("d_score");
  if (!given.object("d_area").is_none()) d_area = given.column<In1<double>>("d_area");
  units = given.value<std::size_t>("units");
  classes = given.value<std::size_t>("classes");
}

GivenRules::GivenRules(nb::handle source) : MatchRules{}, given(source) {
  ious = given.column<In1<double>>("ious");
  areas = given.column<In2<double>>("areas");
  most = given.value<std::size_t>("most");
  voc = given.value<bool>("voc");
  partners = given.value<bool>("partners");
  threads = given.value<long>("threads");
}

MatchColumns match_columns(const Objects& objects, const MatchRules& rules, const Similarity* similarity) {
  check_objects(objects, rules);
  const std::size_t detections = objects.d_image.size(), partners = rules.partners ? detections : 0;
  Matches out{};
  MatchColumns columns;
  columns["begin"] = make_raw<std::int64_t>({objects.classes}, out.begin);
  columns["end"] = make_raw<std::int64_t>({objects.classes}, out.end);
  columns["order"] = make_raw<Row>({detections}, out.order);
  columns["rank"] = make_raw<std::uint16_t>({detections}, out.rank);
  columns["hit"] = make_array<Bits>({rules.areas.rows, detections}, out.hit);
  columns["ignored"] = make_array<Bits>({rules.areas.rows, detections}, out.ignored);
  columns["truth_begin"] = make_raw<std::int64_t>({objects.classes + 1}, out.truth_begin);
  columns["truth_order"] = make_raw<Row>({objects.image.size()}, out.truth_order);
  columns["partner"] = make_raw<Row>({partners}, out.partner);
  columns["overlap"] = make_raw<double>({partners}, out.overlap);
  if (!rules.partners) out.partner = nullptr;
  nb::gil_scoped_release release;
  match_objects(objects, rules, similarity, out);
  return columns;
}

}  // namespace steelyard

namespace steelyard::boxes_binding {

void bind(nb::module_& m) {
  m.def(
      "boxes_match",
      [](nb::object objects, nb::object rules) {
        return match_columns(ObjectColumns(objects), GivenRules(rules), nullptr);
      },
      nb::arg("objects"), nb::arg("rules"),
      "Match detections to truth. Gives, with detections by class and falling score: begin and end of each class, "
      "the detections' rows (order), their rank in their image, bits of hit and ignored by area; begin of each class "
      "among the truths, the truths' rows; and each detection's partner and overlap at the first threshold.");
}

}  // namespace steelyard::boxes_binding
