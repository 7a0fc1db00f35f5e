// Masks as run lengths, and COCO JSON.
#include <array>
#include <string>
#include <vector>

#include "check.hpp"
#include "coco/coco_file.hpp"
#include "masks/contours.hpp"
#include "masks/mask_similarity.hpp"
#include "masks/rle.hpp"

namespace {

using namespace steelyard;

// 3 x 2 pixels, column by column: 0 1 1 | 1 0 0.
TEST(runs_of_pixels) {
  const std::uint8_t pixels[] = {0, 1, 1, 1, 0, 0};
  const Rle rle = rle_from_pixels(pixels, 3, 2);
  CHECK((rle.counts == std::vector<std::uint32_t>{1, 3, 2}));
  const Extent extent = extent_of(rle);
  EQUAL(extent.area, 3u);
  EQUAL(extent.right, 2u);
  EQUAL(extent.low, 3u);
  std::uint8_t back[6] = {};
  rle_to_pixels(rle, back);
  for (int i = 0; i < 6; ++i) EQUAL(int{back[i]}, int{pixels[i]});
  CHECK((rle_from_text(rle_to_text(rle), 3, 2).counts == rle.counts));
  THROWS(rle_from_text("132", 3, 3));
  THROWS(check_size(-1, 2));
}

// Columns 0 and 1 against columns 1 and 2, of 2 pixels each: 2 of 6 in common.
TEST(overlap_of_masks) {
  const Rle a{2, 4, {0, 4, 4}}, b{2, 4, {2, 4, 2}};
  EQUAL(common_pixels(a, b), 2u);
  MaskIou iou(1, 1, false);
  iou.set(false, 0, a, extent_of(a), 0);
  iou.set(true, 0, b, extent_of(b), 0);
  EQUAL(iou.of(0, 0, false, 0), 2.0 / 6);
  EQUAL(iou.of(0, 0, true, 0), 2.0 / 4);
  CHECK((rle_merge({a, b}, false).counts == std::vector<std::uint32_t>{0, 6, 2}));
  CHECK((rle_merge({a, b}, true).counts == std::vector<std::uint32_t>{2, 2, 4}));
}

// Of 4 x 4 pixels, one in the second row and column has an outline of four: itself, and those above, to the left and
// between these. In the last column it is the same; in the last corner only three pixels have a neighbour that differs.
TEST(outlines_of_masks) {
  using Counts = std::array<std::int64_t, 4>;
  const Rle pixel{4, 4, {5, 1, 10}}, right{4, 4, {13, 1, 2}}, corner{4, 4, {15, 1}};
  CHECK((contour_counts(pixel, pixel, 0) == Counts{4, 4, 4, 4}));
  CHECK((contour_counts(pixel, right, 0) == Counts{4, 4, 0, 0}));
  CHECK((contour_counts(pixel, right, 1) == Counts{4, 4, 2, 2}));
  CHECK((contour_counts(pixel, right, 2) == Counts{4, 4, 4, 4}));
  CHECK((contour_counts(pixel, corner, 1) == Counts{4, 3, 0, 0}));  // the nearest are a diagonal apart
  CHECK((contour_counts(pixel, corner, 2) == Counts{4, 3, 1, 1}));
  CHECK((contour_counts(pixel, corner, (1 << 20) - 1) == Counts{4, 3, 4, 3}));
  const Rle empty{4, 4, {16}}, full{4, 4, {0, 16}};
  CHECK((contour_counts(pixel, empty, 9) == Counts{4, 0, 0, 0}));
  CHECK((contour_counts(full, pixel, 9) == Counts{0, 4, 0, 0}));
}

TEST(a_square_polygon) {
  Polygons polygons;
  const double square[] = {1, 1, 3, 1, 3, 3, 1, 3};
  polygons.add(square, 8);
  const Rle rle = polygons.take(4, 4);
  EQUAL(extent_of(rle).area, 4u);
}

TEST(coco_results) {
  const std::string text = R"([{"image_id": 7, "category_id": 2, "bbox": [1, 2.5, 3, 4], "score": 0.25}])";
  const auto parts = coco::read_parts(Source(text.data(), text.size()), false, 1, What::boxes, {});
  EQUAL(parts.size(), std::size_t{1});
  EQUAL(parts[0].image.numbers[0], 7);
  EQUAL(parts[0].label.numbers[0], 2);
  EQUAL(parts[0].box[1], 2.5);
  EQUAL(parts[0].score[0], 0.25);
  const std::string broken = R"([{"image_id": 7, "category_id": 2, "bbox": [1, 2, 3], "score": 1}])";
  bool met = false;
  try {
    coco::read_parts(Source(broken.data(), broken.size()), false, 1, What::boxes, {});
  } catch (const Fault& fault) {
    met = fault.record == 0 && !fault.syntax;
  }
  CHECK(met);
}

}  // namespace
