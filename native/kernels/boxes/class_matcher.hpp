// Matching of one class: all IoU thresholds at once, a bit for each; see boxes.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "boxes/boxes.hpp"

namespace steelyard {

// A key that sorts doubles from high to low as integers. -0 and 0 are equal.
inline std::uint64_t falling_key(double value) {
  value += 0.0;
  std::uint64_t bits;
  std::memcpy(&bits, &value, 8);
  return bits >> 63 ? bits : ~bits & ~(1ull << 63);
}

struct Candidate {
  std::int32_t truth;  // place in the cell
  double iou;
};

struct Sortable {
  std::uint64_t key;
  Row place;
  bool operator<(const Sortable& other) const { return key != other.key ? key < other.key : place < other.place; }
};

// Stable sort by key: by bytes from the lowest, leaving out the bytes in which all agree.
inline void sort_by_key(std::vector<Sortable>& items, std::vector<Sortable>& spare) {
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
  ClassMatcher(const Objects& in, const MatchRules& rules, const Similarity* similarity, const Matches& out)
      : in_(in), rules_(rules), similarity_(similarity), out_(out) {
    for (std::size_t t = 0; t < rules.ious.size(); ++t) {
      iou_[t] = std::min(rules.ious[t], 1 - 1e-10);  // as the reference compares
      least_iou_ = std::min(least_iou_, iou_[t]);
    }
  }

  // Matches one class; gives the number of detections that are kept.
  std::size_t run(const Row* detections, std::size_t n, const Row* truths, std::size_t truth_count, std::size_t offset,
                  std::size_t all_detections) {
    offset_ = offset;
    stride_ = all_detections;
    sort_and_deal(detections, n);
    const std::size_t kept = kept_;
    const Bits full = all_bits(rules_.ious.size());
    std::size_t t = 0;
    for (std::size_t cell = 0; cell + 1 < cells_.size(); ++cell) {
      const Row image = in_.d_image[detections[cells_[cell]]];
      while (t < truth_count && in_.image[truths[t]] < image) ++t;
      std::size_t stop = t;
      while (stop < truth_count && in_.image[truths[stop]] == image) ++stop;
      if (stop > t) match_cell(cell, truths + t, stop - t);
      t = stop;
    }
    // What no truth took and lies outside the range is ignored.
    sizes_.resize(kept);
    for (std::size_t i = 0; i < kept; ++i) {
      const std::size_t row = static_cast<std::size_t>(out_.order[offset_ + i]);
      const double* box = in_.d_box.row(row);
      sizes_[i] = in_.d_area.empty() ? box[2] * box[3] : in_.d_area[row];
    }
    for (std::size_t a = 0; a < rules_.areas.rows; ++a) {
      const double low = rules_.areas.row(a)[0], high = rules_.areas.row(a)[1];
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
      if (filled_[cell] >= rules_.most) continue;
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
      const double* box = in_.d_box.row(found);
      for (std::size_t g = 0; g < count; ++g) {
        const std::size_t row = static_cast<std::size_t>(truths[g]);
        const bool crowd = in_.flags[row] & kCrowd;
        const double iou =
            similarity_ ? similarity_->of(found, row, crowd, least_iou_) : box_iou(box, in_.box.row(row), crowd);
        if (!(iou < least_iou_)) candidates_.push_back({static_cast<std::int32_t>(g), iou});
      }
    }
    starts_.push_back(candidates_.size());
    any = !candidates_.empty();
    if (!any) return;

    taken_.resize(count);
    outside_.resize(count);
    first_outside_.resize(count);
    for (std::size_t a = 0; a < rules_.areas.rows; ++a) {
      bool same = a > 0;
      for (std::size_t g = 0; g < count; ++g) {
        const std::size_t row = static_cast<std::size_t>(truths[g]);
        outside_[g] = (in_.flags[row] & kUncounted) || in_.area[row] < rules_.areas.row(a)[0] ||
                      in_.area[row] > rules_.areas.row(a)[1];
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
        else if (rules_.voc) best_only(c, n, truths, h, ig);
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
    for (std::size_t t = 0; t < rules_.ious.size(); ++t) bits |= static_cast<Bits>(!(iou < iou_[t])) << t;
    return bits;
  }

  void give(const Candidate& c, Bits bits, const Row* truths, Bits& hit, Bits& ignored) {
    const std::size_t g = static_cast<std::size_t>(c.truth);
    if (outside_[g]) ignored |= bits;
    else if (!(in_.flags[truths[g]] & kLost)) hit |= bits;
    taken_[g] |= bits;
    if (bits & 1) last_ = c;
  }

  void one(const Candidate& c, const Row* truths, Bits& hit, Bits& ignored) {
    const std::size_t g = static_cast<std::size_t>(c.truth);
    const bool many = in_.flags[truths[g]] & kMany;
    const Bits bits = reached(c.iou) & (many ? ~Bits{0} : ~taken_[g]);
    if (bits) give(c, bits, truths, hit, ignored);
  }

  void several(const Candidate* c, std::size_t n, const Row* truths, Bits& hit, Bits& ignored) {
    for (std::size_t t = 0; t < rules_.ious.size(); ++t) {
      const Bits bit = Bits{1} << t;
      double best = iou_[t];
      std::ptrdiff_t chosen = -1;
      for (int pass = 0; pass < 2 && chosen < 0; ++pass) {  // first the truths that count, then the ignored
        for (std::size_t i = 0; i < n; ++i) {
          const std::size_t g = static_cast<std::size_t>(c[i].truth);
          if (outside_[g] != (pass == 1)) continue;
          if ((taken_[g] & bit) && !(in_.flags[truths[g]] & kMany)) continue;
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

  const Objects& in_;
  const MatchRules& rules_;
  const Similarity* similarity_;  // null: the IoU of the boxes
  const Matches& out_;
  std::array<double, kMostThresholds> iou_;
  double least_iou_ = 1.0;
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

}  // namespace steelyard
