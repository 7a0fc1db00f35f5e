// Matching of boxes: one task per class, all IoU thresholds at once, a bit for each.
//
// A class is visited once: its detections are sorted by score (ties by image, then by input order, as the reference's
// stable sorts give), dealt into their images, and matched only where an image holds truth of the class and the boxes
// overlap enough for the lowest threshold. Few detections touch a truth and nearly none touch two, so the common case
// is one candidate and three bit operations for all thresholds. An area range changes only which truths are ignored;
// an image where no flag changes reuses the matches of the first range. Nothing is sized classes x images.
//
// The rules are those of COCO: highest score first; the best still unmatched truth with IoU >= t, the last of equals;
// ignored truth only where no other will do; crowds match many; an unmatched detection outside the area range is
// ignored.
#include "boxes/boxes.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "boxes/class_matcher.hpp"
#include "support/checks.hpp"
#include "support/pool.hpp"

namespace steelyard {
namespace {

// Rows by class and, inside, by image; rows of one image keep their order.
struct Grouped {
  std::vector<Row> rows;
  std::vector<std::size_t> begin;  // of each class, and the end
};

Grouped group(const Row* image, const Row* label, std::size_t n, std::size_t images, std::size_t labels) {
  std::vector<Row> by_image;
  if (!std::is_sorted(image, image + n)) {
    std::vector<std::size_t> place(images + 1, 0);
    for (std::size_t i = 0; i < n; ++i) ++place[static_cast<std::size_t>(image[i]) + 1];
    for (std::size_t i = 0; i < images; ++i) place[i + 1] += place[i];
    by_image.resize(n);
    for (std::size_t i = 0; i < n; ++i) by_image[place[static_cast<std::size_t>(image[i])]++] = static_cast<Row>(i);
  }
  Grouped out;
  out.begin.assign(labels + 1, 0);
  for (std::size_t i = 0; i < n; ++i) ++out.begin[static_cast<std::size_t>(label[i]) + 1];
  for (std::size_t k = 0; k < labels; ++k) out.begin[k + 1] += out.begin[k];
  std::vector<std::size_t> place(out.begin.begin(), out.begin.end() - 1);
  out.rows.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const Row row = by_image.empty() ? static_cast<Row>(i) : by_image[i];
    out.rows[place[static_cast<std::size_t>(label[row])]++] = row;
  }
  return out;
}

constexpr std::size_t kMostNamed = std::size_t{1} << 28;  // images, and classes: tables are made of them

void check_rows(View<Row> values, std::size_t limit, const char* message) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    require(values[i] >= 0 && static_cast<std::size_t>(values[i]) < limit, message);
  }
}

void check_boxes(Matrix<double> boxes) {
  for (std::size_t i = 0; i < boxes.rows; ++i) {
    const double* b = boxes.row(i);
    for (int j = 0; j < 4; ++j) require(std::fabs(b[j]) <= 1e12, "a box is not finite, or beyond 1e12");
    require(b[2] >= 0 && b[3] >= 0, "a box has a negative width or height");
  }
}

}  // namespace

void check_objects(const Objects& objects, const MatchRules& rules) {
  const auto& [image, label, box, area, flags, d_image, d_label, d_box, d_score, d_area, units, classes] = objects;
  const std::size_t truths = image.size(), detections = d_image.size(), limit = std::size_t{1} << 31;
  require(truths < limit && detections < limit, "too many rows");
  require(units <= kMostNamed && classes <= kMostNamed, "too many images or classes");
  require(label.size() == truths && box.rows == truths && area.size() == truths && flags.size() == truths &&
              box.columns == 4,
          "columns of the truth differ in length");
  require(d_label.size() == detections && d_box.rows == detections && d_score.size() == detections &&
              d_box.columns == 4 && (d_area.empty() || d_area.size() == detections),
          "columns of the detections differ in length");
  require(rules.ious.size() >= 1 && rules.ious.size() <= kMostThresholds, "from 1 to 32 IoU thresholds");
  require(rules.areas.rows >= 1 && rules.areas.columns == 2, "area ranges are pairs");
  require(rules.most >= 1 && rules.most <= 65535, "from 1 to 65535 detections per image and class");
  check_rows(image, units, "an image of the truth is out of range");
  check_rows(d_image, units, "an image of the detections is out of range");
  check_rows(label, classes, "a class of the truth is out of range");
  check_rows(d_label, classes, "a class of the detections is out of range");
  check_boxes(box);
  check_boxes(d_box);
  check_finite(d_score.data(), detections, "a score is not finite");
  check_finite(area.data(), truths, "an area is not finite");
  check_finite(d_area.data(), d_area.size(), "an area is not finite");
  check_numbers(rules.areas.data(), rules.areas.size(), "the end of an area range is not a number");
  for (double iou : rules.ious) require(iou > 0 && iou <= 1, "an IoU threshold must be above 0 and at most 1");
}

void match_objects(const Objects& objects, const MatchRules& rules, const Similarity* similarity, const Matches& out) {
  const auto& [image, label, box, area, flags, d_image, d_label, d_box, d_score, d_area, units, classes] = objects;
  const std::size_t truths = image.size(), detections = d_image.size();
  const Grouped t = group(image.data(), label.data(), truths, units, classes);
  const Grouped d = group(d_image.data(), d_label.data(), detections, units, classes);
  std::copy(t.rows.begin(), t.rows.end(), out.truth_order);
  std::copy(t.begin.begin(), t.begin.end(), out.truth_begin);
  // The largest classes first, so that the threads end together.
  std::vector<std::size_t> turn(classes);
  for (std::size_t k = 0; k < classes; ++k) turn[k] = k;
  auto size = [&](std::size_t k) { return d.begin[k + 1] - d.begin[k]; };
  std::stable_sort(turn.begin(), turn.end(), [&](std::size_t a, std::size_t b) { return size(a) > size(b); });
  if (out.partner) {
    std::fill_n(out.partner, detections, Row{-1});
    std::fill_n(out.overlap, detections, 0.0);
  }
  parallel_for(classes, thread_count(rules.threads), [&](std::size_t i) {
    const std::size_t k = turn[i];
    ClassMatcher matcher(objects, rules, similarity, out);
    const std::size_t kept = matcher.run(d.rows.data() + d.begin[k], size(k), t.rows.data() + t.begin[k],
                                         t.begin[k + 1] - t.begin[k], d.begin[k], detections);
    out.begin[k] = static_cast<std::int64_t>(d.begin[k]);
    out.end[k] = static_cast<std::int64_t>(d.begin[k] + kept);
    std::fill(out.order + d.begin[k] + kept, out.order + d.begin[k + 1], Row{-1});
    std::fill(out.rank + d.begin[k] + kept, out.rank + d.begin[k + 1], std::uint16_t{65535});
  });
}

}  // namespace steelyard
