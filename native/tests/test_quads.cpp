// Overlaps and matching of quadrilaterals and rotated rectangles.
#include <cmath>
#include <vector>

#include "check.hpp"
#include "quads/quad_similarity.hpp"

namespace {

using namespace steelyard;

bool near(double a, double b) { return std::fabs(a - b) <= 1e-12; }

double iou(std::vector<double> d, std::vector<double> g, bool crowd = false) {
  return d.size() == 5 ? rectangle_iou(d.data(), g.data(), crowd) : quad_iou(d.data(), g.data(), crowd);
}

TEST(overlap_of_rectangles) {
  EQUAL(iou({50, 50, 40, 20, 0.3}, {50, 50, 40, 20, 0.3}), 1.0);
  CHECK(near(iou({10, 10, 20, 10, 0}, {20, 10, 20, 10, 0}), 1.0 / 3));
  // A square and the same turned by 45 degrees share a regular octagon: 8(√2 - 1) of 4.
  const double octagon = 8 * (std::sqrt(2.0) - 1);
  CHECK(near(iou({0, 0, 2, 2, 0}, {0, 0, 2, 2, std::atan(1.0)}), octagon / (8 - octagon)));
  CHECK(near(iou({0, 0, 100, 2, 0}, {0, 0, 100, 2, 2 * std::atan(1.0)}), 4.0 / 396));
  CHECK(near(iou({0, 0, 100, 100, 0.2}, {3, -4, 10, 10, 1.1}), 0.01));
  CHECK(near(iou({3, -4, 10, 10, 1.1}, {0, 0, 100, 100, 0.2}, true), 1.0));  // the share of the detection
}

TEST(touching_and_flat_rectangles_share_nothing) {
  EQUAL(iou({0, 0, 10, 10, 0}, {10, 0, 10, 10, 0}), 0.0);
  EQUAL(iou({0, 0, 10, 10, 0}, {10, 10, 10, 10, 0}), 0.0);
  EQUAL(iou({0, 0, 10, 10, 0.4}, {100, 0, 10, 10, 0.4}), 0.0);
  EQUAL(iou({10, 10, 0, 10, 0.5}, {10, 10, 5, 10, 0.5}), 0.0);
  EQUAL(iou({10, 10, 0, 0, 0}, {10, 10, 0, 0, 0}), 0.0);
}

TEST(overlap_of_quadrilaterals) {
  const std::vector<double> square{0, 0, 4, 0, 4, 4, 0, 4}, back{0, 4, 4, 4, 4, 0, 0, 0}, half{0, 0, 4, 0, 4, 2, 0, 2};
  EQUAL(iou(square, back), 1.0);  // the order of the corners does not matter
  EQUAL(iou(half, square), 0.5);
  EQUAL(iou(half, square, true), 1.0);
  const std::vector<double> moved{1e9, 1e9, 1e9 + 4, 1e9, 1e9 + 4, 1e9 + 2, 1e9, 1e9 + 2};
  EQUAL(iou(moved, {1e9, 1e9, 1e9 + 4, 1e9, 1e9 + 4, 1e9 + 4, 1e9, 1e9 + 4}), 0.5);
  // An arrow head of two triangles, each of area 2; below y = 2 lie the one and 4/3 of the other.
  const std::vector<double> dented{0, 0, 4, 0, 1, 1, 0, 4}, other{0, 4, 1, 1, 4, 0, 0, 0};
  EQUAL(quad_area(quad_of(dented.data())), 4.0);
  CHECK(near(iou(dented, square), 0.25));
  CHECK(near(iou(dented, other), 1.0));
  CHECK(near(iou(dented, half), 5.0 / 13));
}

TEST(shapes_of_quadrilaterals) {
  std::size_t dent = 9;
  auto shape = [&](std::vector<double> eight) { return quad_shape(quad_of(eight.data()), dent); };
  CHECK(shape({0, 0, 4, 0, 4, 4, 0, 4}) == QuadShape::kConvex);
  CHECK(shape({0, 4, 4, 4, 4, 0, 0, 0}) == QuadShape::kConvex);
  CHECK(shape({0, 0, 4, 0, 4, 4, 4, 4}) == QuadShape::kConvex);  // a triangle
  CHECK(shape({0, 0, 4, 0, 1, 1, 0, 4}) == QuadShape::kDented);
  EQUAL(dent, 2u);
  CHECK(shape({0, 4, 1, 1, 4, 0, 0, 0}) == QuadShape::kDented);
  EQUAL(dent, 1u);
  CHECK(shape({0, 0, 4, 4, 4, 0, 0, 4}) == QuadShape::kCrossed);
  CHECK(shape({0, 0, 1, 1, 2, 2, 3, 3}) == QuadShape::kFlat);
  CHECK(shape({5, 5, 5, 5, 5, 5, 5, 5}) == QuadShape::kFlat);
}

TEST(similarity_skips_what_cannot_reach_the_threshold) {
  const std::vector<double> t{0, 0, 4, 0, 4, 4, 0, 4}, d{0, 0, 4, 0, 4, 1, 0, 1, 9, 9, 10, 9, 10, 10, 9, 10};
  const std::vector<double> t_box{0, 0, 4, 4}, d_box{0, 0, 4, 1, 9, 9, 1, 1};
  const QuadIou similarity({d.data(), 2, 8}, {t.data(), 1, 8}, d_box.data(), t_box.data());
  EQUAL(similarity.of(0, 0, false, 0.0), 0.25);
  EQUAL(similarity.of(0, 0, false, 0.25), 0.25);
  EQUAL(similarity.of(0, 0, false, 0.5), 0.0);
  EQUAL(similarity.of(0, 0, true, 0.5), 1.0);
  EQUAL(similarity.of(1, 0, false, 0.0), 0.0);
  const std::vector<double> crossed{0, 0, 4, 4, 4, 0, 0, 4}, broken{NAN, 0, 4, 0, 4, 4, 0, 4};
  check_quads({t.data(), 1, 8}, 1, "four corners");
  THROWS(check_quads({crossed.data(), 1, 8}, 1, "four corners"));
  THROWS(check_quads({broken.data(), 1, 8}, 1, "four corners"));
  THROWS(check_quads({t.data(), 1, 8}, 2, "four corners"));
}

}  // namespace
