// Matching of boxes: one task a class, all IoU thresholds at once, a bit for each.
//
// A class is visited once: its detections are sorted by score (ties by image, then by input order, as the reference's
// stable sorts give), dealt into their images, and matched only where an image holds truth of the class and the boxes
// overlap enough for the lowest threshold. Few detections touch a truth and nearly none touch two, so the common case
// is one candidate and three bit operations for all thresholds. An area range changes only which truths are ignored;
// an image where no flag changes reuses the matches of the first range. Nothing is sized classes x images.
//
// The rules are those of COCO: highest score first; the best still unmatched truth with IoU >= t, the last of equals;
// ignored truth only where no other will do; crowds match many; an unmatched detection outside the area range is ignored.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "arrays.hpp"
#include "boxes.hpp"
#include "checks.hpp"
#include "pool.hpp"

namespace steelyard {
namespace {

using Row = std::int32_t;

// Of a truth. A lost match is the reference's fate of an annotation with id 0. Crowd and difficult are matched by many and
// count neither way; only a crowd's overlap is the share of the detection.
enum Flag : std::uint8_t {
  kCrowd = 1, kLost = 2, kDifficult = 4, kIgnored = 8, kMany = kCrowd | kDifficult, kUncounted = kMany | kIgnored
};

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

// A key that sorts doubles from high to low as integers. -0 and 0 are equal.
std::uint64_t falling_key(double value) {
  value += 0.0;
  std::uint64_t bits;
  std::memcpy(&bits, &value, 8);
  return bits >> 63 ? bits : ~bits & ~(1ull << 63);
}

struct Candidate {
  std::int32_t truth;  // place in the cell
  double iou;
};

struct Input {
  const Row *t_image, *t_label, *d_image, *d_label;
  const double *t_box, *t_area, *d_box, *d_score;
  const std::uint8_t* t_flags;  // kCrowd, kLost, kDifficult, kIgnored
  std::size_t thresholds, areas;
  std::array<double, kMostThresholds> iou;  // as the reference compares: at most 1 - 1e-10
  double least_iou;
  const double* area;  // [areas][2]
  std::size_t most;    // detections an image and class
  bool voc;
  const Likeness* likeness;  // null: the IoU of the boxes
  const double* d_area;      // null: of the boxes
};

struct Output {
  Row* order;             // rows of detections, by class and score
  std::uint16_t* rank;    // of a detection in its image and class
  Bits *hit, *ignored;    // [areas][detections]
  Row* partner;           // the truth's row, for the first threshold and area; or null
  double* overlap;
};

struct Sortable {
  std::uint64_t key;
  Row place;
  bool operator<(const Sortable& other) const {
    return key != other.key ? key < other.key : place < other.place;
  }
};

// Stable sort by key: by bytes from the lowest, leaving out the bytes in which all agree.
void sort_by_key(std::vector<Sortable>& items, std::vector<Sortable>& spare) {
  const std::size_t n = items.size();
  if (n < 256) {
    std::sort(items.begin(), items.end());
    return;
  }
  std::uint64_t ones = 0, zeros = 0;
  for (const Sortable& item : items) {
    ones |= item.key;
    zeros |= ~item.key;
  }
  const std::uint64_t varies = ones & zeros;
  spare.resize(n);
  for (int shift = 0; shift < 64; shift += 11) {
    if (!((varies >> shift) & 0x7FF)) continue;
    std::array<std::uint32_t, 2049> count{};
    for (const Sortable& item : items) ++count[((item.key >> shift) & 0x7FF) + 1];
    for (std::size_t b = 0; b < 2048; ++b) count[b + 1] += count[b];
    for (const Sortable& item : items) spare[count[(item.key >> shift) & 0x7FF]++] = item;
    items.swap(spare);
  }
}

class ClassMatcher {
 public:
  ClassMatcher(const Input& in, const Output& out) : in_(in), out_(out) {}

  // Matches one class; gives the number of detections that are kept.
  std::size_t run(const Row* detections, std::size_t n, const Row* truths, std::size_t truth_count,
                  std::size_t offset, std::size_t all_detections) {
    offset_ = offset;
    stride_ = all_detections;
    sort_and_deal(detections, n);
    const std::size_t kept = kept_;
    const Bits full = all_bits(in_.thresholds);
    std::size_t t = 0;
    for (std::size_t cell = 0; cell + 1 < cells_.size(); ++cell) {
      const Row image = in_.d_image[detections[cells_[cell]]];
      while (t < truth_count && in_.t_image[truths[t]] < image) ++t;
      std::size_t stop = t;
      while (stop < truth_count && in_.t_image[truths[stop]] == image) ++stop;
      if (stop > t) match_cell(cell, truths + t, stop - t);
      t = stop;
    }
    // What no truth took and lies outside the range is ignored.
    sizes_.resize(kept);
    for (std::size_t i = 0; i < kept; ++i) {
      const std::size_t row = static_cast<std::size_t>(out_.order[offset_ + i]);
      const double* box = in_.d_box + 4 * row;
      sizes_[i] = in_.d_area ? in_.d_area[row] : box[2] * box[3];
    }
    for (std::size_t a = 0; a < in_.areas; ++a) {
      const double low = in_.area[2 * a], high = in_.area[2 * a + 1];
      const Bits* hit = out_.hit + a * stride_ + offset_;
      Bits* ignored = out_.ignored + a * stride_ + offset_;
      for (std::size_t i = 0; i < kept; ++i) {
        const bool outside = (sizes_[i] < low) | (sizes_[i] > high);
        ignored[i] |= (outside ? full : Bits{0}) & ~hit[i];
      }
    }
    return kept;
  }

 private:
  void sort_and_deal(const Row* detections, std::size_t n) {
    cells_.clear();
    cell_of_.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      if (i == 0 || in_.d_image[detections[i]] != in_.d_image[detections[i - 1]]) cells_.push_back(i);
      cell_of_[i] = static_cast<Row>(cells_.size() - 1);
    }
    cells_.push_back(n);
    items_.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      items_[i] = {falling_key(in_.d_score[detections[i]]), static_cast<Row>(i)};
    }
    sort_by_key(items_, spare_);
    dealt_.resize(n);
    filled_.assign(cells_.size(), 0);
    kept_ = 0;
    for (const Sortable& item : items_) {
      const std::size_t cell = static_cast<std::size_t>(cell_of_[static_cast<std::size_t>(item.place)]);
      if (filled_[cell] >= in_.most) continue;
      out_.order[offset_ + kept_] = detections[item.place];
      out_.rank[offset_ + kept_] = static_cast<std::uint16_t>(filled_[cell]);
      dealt_[cells_[cell] + filled_[cell]] = static_cast<Row>(kept_);
      ++filled_[cell];
      ++kept_;
    }
  }

  void match_cell(std::size_t cell, const Row* truths, std::size_t count) {
    const Row* places = dealt_.data() + cells_[cell];
    const std::size_t dets = filled_[cell];
    // Candidates, by detection in order of score.
    candidates_.clear();
    starts_.clear();
    bool any = false;
    for (std::size_t d = 0; d < dets; ++d) {
      starts_.push_back(candidates_.size());
      const std::size_t found = static_cast<std::size_t>(out_.order[offset_ + static_cast<std::size_t>(places[d])]);
      const double* box = in_.d_box + 4 * found;
      for (std::size_t g = 0; g < count; ++g) {
        const std::size_t row = static_cast<std::size_t>(truths[g]);
        const bool crowd = in_.t_flags[row] & kCrowd;
        const double iou = in_.likeness ? in_.likeness->of(found, row, crowd, in_.least_iou)
                                        : box_iou(box, in_.t_box + 4 * row, crowd);
        if (!(iou < in_.least_iou)) candidates_.push_back({static_cast<std::int32_t>(g), iou});
      }
    }
    starts_.push_back(candidates_.size());
    any = !candidates_.empty();
    if (!any) return;

    taken_.resize(count);
    outside_.resize(count);
    first_outside_.resize(count);
    for (std::size_t a = 0; a < in_.areas; ++a) {
      bool same = a > 0;
      for (std::size_t g = 0; g < count; ++g) {
        const std::size_t row = static_cast<std::size_t>(truths[g]);
        outside_[g] = (in_.t_flags[row] & kUncounted) || in_.t_area[row] < in_.area[2 * a] ||
                      in_.t_area[row] > in_.area[2 * a + 1];
        same = same && outside_[g] == first_outside_[g];
      }
      Bits* hit = out_.hit + a * stride_ + offset_;
      Bits* ignored = out_.ignored + a * stride_ + offset_;
      if (same) {
        for (std::size_t d = 0; d < dets; ++d) {
          hit[places[d]] = out_.hit[offset_ + static_cast<std::size_t>(places[d])];
          ignored[places[d]] = out_.ignored[offset_ + static_cast<std::size_t>(places[d])];
        }
        continue;
      }
      if (a == 0) first_outside_ = outside_;
      std::fill(taken_.begin(), taken_.end(), Bits{0});
      for (std::size_t d = 0; d < dets; ++d) {
        const Candidate* c = candidates_.data() + starts_[d];
        const std::size_t n = starts_[d + 1] - starts_[d];
        if (n == 0) continue;
        Bits h = 0, ig = 0;
        if (n == 1) one(c[0], truths, h, ig);
        else if (in_.voc) best_only(c, n, truths, h, ig);
        else several(c, n, truths, h, ig);
        hit[places[d]] = h;
        ignored[places[d]] = ig;
        if (a == 0 && out_.partner && (h | ig) & 1) {
          const std::size_t at = offset_ + static_cast<std::size_t>(places[d]);
          out_.partner[at] = truths[last_.truth];
          out_.overlap[at] = last_.iou;
        }
      }
    }
  }

  Bits reached(double iou) const {
    Bits bits = 0;
    for (std::size_t t = 0; t < in_.thresholds; ++t) bits |= static_cast<Bits>(!(iou < in_.iou[t])) << t;
    return bits;
  }

  void give(const Candidate& c, Bits bits, const Row* truths, Bits& hit, Bits& ignored) {
    const std::size_t g = static_cast<std::size_t>(c.truth);
    if (outside_[g]) ignored |= bits;
    else if (!(in_.t_flags[truths[g]] & kLost)) hit |= bits;
    taken_[g] |= bits;
    if (bits & 1) last_ = c;
  }

  void one(const Candidate& c, const Row* truths, Bits& hit, Bits& ignored) {
    const std::size_t g = static_cast<std::size_t>(c.truth);
    const bool many = in_.t_flags[truths[g]] & kMany;
    const Bits bits = reached(c.iou) & (many ? ~Bits{0} : ~taken_[g]);
    if (bits) give(c, bits, truths, hit, ignored);
  }

  void several(const Candidate* c, std::size_t n, const Row* truths, Bits& hit, Bits& ignored) {
    for (std::size_t t = 0; t < in_.thresholds; ++t) {
      const Bits bit = Bits{1} << t;
      double best = in_.iou[t];
      std::ptrdiff_t chosen = -1;
      for (int pass = 0; pass < 2 && chosen < 0; ++pass) {  // first the truths that count, then the ignored
        for (std::size_t i = 0; i < n; ++i) {
          const std::size_t g = static_cast<std::size_t>(c[i].truth);
          if (outside_[g] != (pass == 1)) continue;
          if ((taken_[g] & bit) && !(in_.t_flags[truths[g]] & kMany)) continue;
          if (c[i].iou < best) continue;
          best = c[i].iou;
          chosen = static_cast<std::ptrdiff_t>(i);
        }
      }
      if (chosen >= 0) give(c[chosen], bit, truths, hit, ignored);
    }
  }

  // The rule of PASCAL VOC: only the truth that overlaps most; where it is taken, the detection is wrong.
  void best_only(const Candidate* c, std::size_t n, const Row* truths, Bits& hit, Bits& ignored) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < n; ++i) {
      if (c[i].iou > c[best].iou) best = i;
    }
    one(c[best], truths, hit, ignored);
  }

  const Input& in_;
  const Output& out_;
  std::size_t offset_ = 0, stride_ = 0, kept_ = 0;
  std::vector<std::size_t> cells_, filled_, starts_;
  std::vector<Row> cell_of_, dealt_;
  std::vector<double> sizes_;
  std::vector<Sortable> items_, spare_;
  std::vector<Candidate> candidates_;
  std::vector<Bits> taken_;
  std::vector<std::uint8_t> outside_, first_outside_;
  Candidate last_{0, 0.0};
};

constexpr std::size_t kMostNamed = std::size_t{1} << 28;  // images, and classes: tables are made of them

void check_rows(In1<Row> values, std::size_t limit, const char* message) {
  for (std::size_t i = 0; i < values.shape(0); ++i) {
    require(values.data()[i] >= 0 && static_cast<std::size_t>(values.data()[i]) < limit, message);
  }
}

void check_boxes(In2<double> boxes) {
  for (std::size_t i = 0; i < boxes.shape(0); ++i) {
    const double* b = boxes.data() + 4 * i;
    for (int j = 0; j < 4; ++j) require(std::fabs(b[j]) <= 1e12, "a box is not finite, or beyond 1e12");
    require(b[2] >= 0 && b[3] >= 0, "a box has a negative width or height");
  }
}

}  // namespace

nb::tuple match_objects(const Objects& objects, const Likeness* likeness, const double* d_area) {
  const auto& [t_image, t_label, t_box, t_area, t_flags, d_image, d_label, d_box, d_score, images, labels, ious, areas, most,
               voc, partners, threads] = objects;
  const std::size_t truths = t_image.shape(0), detections = d_image.shape(0), limit = std::size_t{1} << 31;
  require(truths < limit && detections < limit, "too many rows");
  require(images <= kMostNamed && labels <= kMostNamed, "too many images or classes");
  require(t_label.shape(0) == truths && t_box.shape(0) == truths && t_area.shape(0) == truths &&
              t_flags.shape(0) == truths && t_box.shape(1) == 4, "columns of the truth differ in length");
  require(d_label.shape(0) == detections && d_box.shape(0) == detections && d_score.shape(0) == detections &&
              d_box.shape(1) == 4, "columns of the detections differ in length");
  require(ious.shape(0) >= 1 && ious.shape(0) <= kMostThresholds, "from 1 to 32 IoU thresholds");
  require(areas.shape(0) >= 1 && areas.shape(1) == 2, "area ranges are pairs");
  require(most >= 1 && most <= 65535, "from 1 to 65535 detections an image and class");
  check_rows(t_image, images, "an image of the truth is out of range");
  check_rows(d_image, images, "an image of the detections is out of range");
  check_rows(t_label, labels, "a class of the truth is out of range");
  check_rows(d_label, labels, "a class of the detections is out of range");
  check_boxes(t_box);
  check_boxes(d_box);
  check_finite(d_score.data(), detections, "a score is not finite");
  check_finite(t_area.data(), truths, "an area is not finite");
  if (d_area) check_finite(d_area, detections, "an area is not finite");
  check_numbers(areas.data(), areas.size(), "the end of an area range is not a number");

  Input in{t_image.data(), t_label.data(), d_image.data(), d_label.data(), t_box.data(), t_area.data(), d_box.data(),
           d_score.data(), t_flags.data(), ious.shape(0), areas.shape(0), {}, 1.0, areas.data(), most, voc, likeness,
           d_area};
  for (std::size_t t = 0; t < in.thresholds; ++t) {
    require(ious.data()[t] > 0 && ious.data()[t] <= 1, "an IoU threshold must be above 0 and at most 1");
    in.iou[t] = std::min(ious.data()[t], 1 - 1e-10);
    in.least_iou = std::min(in.least_iou, in.iou[t]);
  }
  Output out{};
  auto order = make_raw<Row>({detections}, out.order);
  auto rank = make_raw<std::uint16_t>({detections}, out.rank);
  auto hit = make_array<Bits>({in.areas, detections}, out.hit);
  auto ignored = make_array<Bits>({in.areas, detections}, out.ignored);
  auto partner = make_raw<Row>({partners ? detections : 0}, out.partner);
  auto overlap = make_raw<double>({partners ? detections : 0}, out.overlap);
  std::fill_n(out.partner, partners ? detections : 0, Row{-1});
  std::fill_n(out.overlap, partners ? detections : 0, 0.0);
  if (!partners) out.partner = nullptr;
  std::int64_t *begin, *end, *truth_begin;
  Row* truth_rows;
  auto begins = make_raw<std::int64_t>({labels}, begin);
  auto ends = make_raw<std::int64_t>({labels}, end);
  auto truth_begins = make_raw<std::int64_t>({labels + 1}, truth_begin);
  auto truth_order = make_raw<Row>({truths}, truth_rows);
  {
    nb::gil_scoped_release release;
    const Grouped t = group(in.t_image, in.t_label, truths, images, labels);
    const Grouped d = group(in.d_image, in.d_label, detections, images, labels);
    std::copy(t.rows.begin(), t.rows.end(), truth_rows);
    std::copy(t.begin.begin(), t.begin.end(), truth_begin);
    // The largest classes first, so that the threads end together.
    std::vector<std::size_t> turn(labels);
    for (std::size_t k = 0; k < labels; ++k) turn[k] = k;
    auto size = [&](std::size_t k) { return d.begin[k + 1] - d.begin[k]; };
    std::stable_sort(turn.begin(), turn.end(), [&](std::size_t a, std::size_t b) { return size(a) > size(b); });
    parallel_for(labels, thread_count(threads), [&](std::size_t i) {
      const std::size_t k = turn[i];
      ClassMatcher matcher(in, out);
      const std::size_t kept = matcher.run(d.rows.data() + d.begin[k], size(k), t.rows.data() + t.begin[k],
                                           t.begin[k + 1] - t.begin[k], d.begin[k], detections);
      begin[k] = static_cast<std::int64_t>(d.begin[k]);
      end[k] = static_cast<std::int64_t>(d.begin[k] + kept);
      std::fill(out.order + d.begin[k] + kept, out.order + d.begin[k + 1], Row{-1});
      std::fill(out.rank + d.begin[k] + kept, out.rank + d.begin[k + 1], std::uint16_t{65535});
    });
  }
  return nb::make_tuple(begins, ends, order, rank, hit, ignored, truth_begins, truth_order, partner, overlap);
}

void bind_boxes(nb::module_& m) {
  m.def("boxes_match",
        [](In1<Row> t_image, In1<Row> t_label, In2<double> t_box, In1<double> t_area, In1<std::uint8_t> t_flags,
           In1<Row> d_image, In1<Row> d_label, In2<double> d_box, In1<double> d_score, std::size_t images,
           std::size_t labels, In1<double> ious, In2<double> areas, std::size_t most, bool voc, bool partners,
           long threads) {
          return match_objects({t_image, t_label, t_box, t_area, t_flags, d_image, d_label, d_box, d_score, images, labels,
                                ious, areas, most, voc, partners, threads}, nullptr, nullptr);
        },
        nb::arg("t_image").noconvert(), nb::arg("t_label").noconvert(),
        nb::arg("t_box").noconvert(), nb::arg("t_area").noconvert(), nb::arg("t_flags").noconvert(),
        nb::arg("d_image").noconvert(), nb::arg("d_label").noconvert(), nb::arg("d_box").noconvert(),
        nb::arg("d_score").noconvert(), nb::arg("images"), nb::arg("labels"), nb::arg("ious").noconvert(),
        nb::arg("areas").noconvert(), nb::arg("most"), nb::arg("voc"), nb::arg("partners"), nb::arg("threads") = 0,
        "Match detections to truth. Gives, with detections by class and falling score: begin and end of each class, "
        "the detections' rows, their rank in their image, bits of hits and of ignored by area; begin of each class "
        "among the truths, the truths' rows; and each detection's partner and overlap at the first threshold.");
}

}  // namespace steelyard
