// Overlaps and matching of boxes, keypoints and ellipses.
#include <cmath>
#include <vector>

#include "boxes/boxes.hpp"
#include "boxes/coco_eval.hpp"
#include "boxes/keypoints.hpp"
#include "check.hpp"
#include "ellipses/ellipses.hpp"

namespace {

using namespace steelyard;

TEST(overlap_of_boxes) {
  const double a[] = {0, 0, 2, 2}, b[] = {1, 0, 2, 2}, far[] = {5, 5, 1, 1}, wide[] = {0, 0, 10, 10};
  EQUAL(box_iou(a, b, false), 2.0 / 6);
  EQUAL(box_iou(a, b, true), 2.0 / 4);  // of a crowd: the share of the detection
  EQUAL(box_iou(a, far, false), 0.0);
  EQUAL(box_iou(a, wide, true), 1.0);
}

// Two images, one class. Image 0: truth A; detections with IoU 1 (score .5) and 1/3 (score .9). Image 1: nothing to
// find.
TEST(matching_by_hand) {
  const std::vector<Row> t_image{0}, t_label{0}, d_image{0, 0, 1}, d_label{0, 0, 0};
  const std::vector<double> t_box{0, 0, 2, 2}, t_area{4}, d_box{0, 0, 2, 2, 1, 0, 2, 2, 0, 0, 2, 2},
      d_score{.5, .9, .7};
  const std::vector<std::uint8_t> t_flags{0};
  const std::vector<double> ious{0.25, 0.5}, areas{0, 1e10};
  const Objects objects{t_image, t_label, {t_box.data(), 1, 4}, t_area,  t_flags,
                        d_image, d_label, {d_box.data(), 3, 4}, d_score, {},
                        2,       1};
  const MatchRules rules{ious, {areas.data(), 1, 2}, 100, false, true, 1};
  check_objects(objects, rules);
  std::vector<Row> order(3), partner(3), truth_order(1);
  std::vector<std::uint16_t> rank(3);
  std::vector<Bits> hit(3, 0), ignored(3, 0);
  std::vector<double> overlap(3);
  std::vector<std::int64_t> begin(1), end(1), truth_begin(2);
  match_objects(objects, rules, nullptr,
                {order.data(), rank.data(), hit.data(), ignored.data(), partner.data(), overlap.data(), begin.data(),
                 end.data(), truth_begin.data(), truth_order.data()});
  CHECK((order == std::vector<Row>{1, 2, 0}));
  CHECK((rank == std::vector<std::uint16_t>{0, 0, 1}));
  // The best score takes the truth at 0.25, which it reaches; at 0.5 it does not, and the exact one gets it.
  CHECK((hit == std::vector<Bits>{1, 0, 2}));
  CHECK((ignored == std::vector<Bits>{0, 0, 0}));
  CHECK((partner == std::vector<Row>{0, -1, -1}));
  EQUAL(overlap[0], 2.0 / 6);
  EQUAL(end[0], 3);
}

TEST(cells_without_thresholds_end_at_once) {
  const std::vector<std::int64_t> begin{0, 0}, category{0}, limits{1};
  const std::vector<double> none, recalls{0.5};
  const std::vector<std::uint8_t> flags;
  const Cells cells{begin, begin, none, {flags.data(), 1, 0}, flags, flags, none};
  const ScoredCells in{cells, category, none, {flags.data(), 1, 0}, flags, limits, recalls, std::size_t{1} << 62};
  check_scored(in);
  score_cells(in, 1, nullptr, nullptr, nullptr);
}

TEST(matching_checks_its_columns) {
  const std::vector<Row> one{0}, none, out_of_range{7};
  const std::vector<double> box{0, 0, 1, 1}, area{1}, ious{0.5}, areas{0, 1}, broken{NAN, 0, 1, 1}, zero{0.0};
  const std::vector<std::uint8_t> flags{0};
  auto with = [&](const std::vector<Row>& image, const std::vector<double>& d_box, const std::vector<double>& levels) {
    check_objects({one, one, {box.data(), 1, 4}, area, flags, image, one, {d_box.data(), 1, 4}, area, {}, 1, 1},
                  {levels, {areas.data(), 1, 2}, 100, false, false, 1});
  };
  with(one, box, ious);
  THROWS(with(out_of_range, box, ious));
  THROWS(with(one, broken, ious));
  THROWS(with(one, box, zero));
}

// One point, distance 1, sigma 0.1, area 100: exp(-1 / (2 * (2 * 0.1)^2 * 100)) = exp(-1 / 8).
TEST(keypoint_similarity) {
  const std::vector<double> truth{0, 0, 2}, found{1, 0, 1}, box{0, 0, 10, 10}, area{100}, sigmas{0.1};
  const Oks oks(truth.data(), found.data(), box.data(), area.data(), sigmas);
  CHECK(std::fabs(oks.of(0, 0, false, 0) - std::exp(-0.125)) < 1e-15);
}

// Two circles of radius 1 with centres 1 apart share 2 pi / 3 - sqrt(3) / 2.
TEST(overlap_of_circles) {
  const double pi = 3.14159265358979323846;
  const std::vector<double> a{0, 0, 0, 1, 1}, b{1, 0, 0, 1, 1};
  double out;
  overlaps_by_row({a.data(), 1, 5}, {b.data(), 1, 5}, &out);
  CHECK(std::fabs(out - (2 * pi / 3 - std::sqrt(3.0) / 2)) < 1e-14);
  const std::vector<double> weights(5, 1.0);
  distances_by_row({a.data(), 1, 5}, {b.data(), 1, 5}, EllipseDistance::center, weights, &out);
  EQUAL(out, 1.0);
  distances_by_row({a.data(), 1, 5}, {b.data(), 1, 5}, EllipseDistance::hausdorff, weights, &out);
  CHECK(std::fabs(out - 1.0) < 1e-12);
}

// The cheapest pairing is 2 + 1, not the 0 + 9 that begins with the smallest.
TEST(assignment) {
  const std::vector<double> cost{0, 1, 2, 9};
  std::vector<std::int64_t> partner(2);
  assign_costs({cost.data(), 2, 2}, true, partner.data());
  CHECK((partner == std::vector<std::int64_t>{1, 0}));
  assign_costs({cost.data(), 2, 2}, false, partner.data());
  CHECK((partner == std::vector<std::int64_t>{0, 1}));
}

// hit, miss, hit of two truths: precision 1 and 2/3, with numpy.spacing(1) in the divisor.
TEST(curves_of_the_reference) {
  const std::vector<std::int64_t> order{2, 0, 1};
  const std::vector<double> score{.8, .7, .9}, recalls{0.0, 0.5, 1.0};
  const std::vector<std::uint8_t> hit{0, 1, 1}, ignored{0, 0, 0};
  const ReferenceRanking in{order, score, {hit.data(), 1, 3}, {ignored.data(), 1, 3}, 2, recalls};
  check_reference(in);
  std::vector<double> p(3, 0.0), s(3, 0.0), r(1);
  reference_curves(in, 1, p.data(), s.data(), r.data());
  CHECK(std::fabs(p[1] - 1) < 1e-15 && std::fabs(p[2] - 2.0 / 3) < 1e-15);
  EQUAL(s[2], 0.7);
  EQUAL(r[0], 1.0);
}

}  // namespace
