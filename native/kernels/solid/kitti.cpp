// KITTI's matching: see kitti.hpp. The order of operations is that of the development kit.
#include "solid/kitti.hpp"

#include <algorithm>
#include <cmath>

#include "quads/quads.hpp"
#include "support/pool.hpp"

namespace steelyard::solid {
namespace {

constexpr double kNoScore = -10000000;  // the kit takes no score below it for a threshold
constexpr std::size_t kFrames = 64;     // that a task goes through

double image_common(const double* a, const double* b) {
  const double w = std::min(a[2], b[2]) - std::max(a[0], b[0]), h = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  return w <= 0 || h <= 0 ? 0 : w * h;
}
double image_area(const double* a) { return (a[2] - a[0]) * (a[3] - a[1]); }

double ground_common(const double* a, const double* b) {
  const double reach = std::hypot(a[4], a[5]) + std::hypot(b[4], b[5]);
  if (2 * std::max(std::fabs(a[0] - b[0]), std::fabs(a[1] - b[1])) > reach) return 0;
  return common_area(rectangle_of(a[0] - b[0], a[1] - b[1], a[4], a[5], a[6]), rectangle_of(0, 0, b[4], b[5], b[6]));
}

double share(double common, double a, double b) {
  const double all = a + b - common;
  return common > 0 && all > 0 ? std::min(1.0, common / all) : 0;
}

struct Link {
  std::size_t detection;
  double overlap;
};

// One frame and class: truths with the detections that fit them, and the detections that fit some.
class Frame {
 public:
  Frame(View3 view, const KittiSide& t, const KittiSide& d, View<std::int64_t> region_begin, Matrix<double> region,
        std::size_t levels)
      : view_(view), t_(t), d_(d), region_begin_(region_begin), region_(region), levels_(levels) {}

  void run(std::size_t unit, std::int32_t group, double least, KittiMatched& out) {
    truths_.clear(), links_.clear(), ends_.clear();
    const auto first = static_cast<std::size_t>(d_.begin[unit]), last = static_cast<std::size_t>(d_.begin[unit + 1]);
    first_ = first, count_ = last - first;
    for (auto i = static_cast<std::size_t>(t_.begin[unit]); i < static_cast<std::size_t>(t_.begin[unit + 1]); ++i) {
      if (t_.group[i] == group) truths_.push_back(i);
    }
    bool any = !truths_.empty();
    for (std::size_t j = first; j < last && !any; ++j) any = d_.group[j] == group;
    if (!any) return;
    linked_.assign(count_, 0);
    for (const std::size_t i : truths_) {
      for (std::size_t j = first; j < last; ++j) {
        if (d_.group[j] != group && d_.kind[j] == 0) continue;
        const double overlap = overlap_of(view_, d_.box.row(j), t_.box.row(i));
        if (overlap > least) links_.push_back({j - first, overlap}), linked_[j - first] = 1;
      }
      ends_.push_back(links_.size());
    }
    covered(unit, group, least);
    for (std::size_t level = 0; level < levels_; ++level) {
      level_ = level;
      one_level(static_cast<std::int32_t>(unit), group, out);
    }
  }

 private:
  enum Role : std::uint8_t { kCounted, kSmall, kUnseen };

  void covered(std::size_t unit, std::int32_t group, double least) {
    covered_.assign(count_, 0);
    if (view_ != View3::image) return;
    const auto begin = static_cast<std::size_t>(region_begin_[unit]),
               end = static_cast<std::size_t>(region_begin_[unit + 1]);
    for (std::size_t j = 0; j < count_; ++j) {
      if (d_.group[first_ + j] != group) continue;
      const double* box = d_.box.row(first_ + j);
      for (std::size_t r = begin; r < end && !covered_[j]; ++r) {
        const double common = image_common(box, region_.row(r));
        covered_[j] = common > 0 && common / image_area(box) > least;
      }
    }
  }

  void one_level(std::int32_t unit, std::int32_t group, KittiMatched& out) {
    const auto bit = static_cast<std::uint8_t>(1u << level_);
    const std::int32_t cell = group * static_cast<std::int32_t>(levels_) + static_cast<std::int32_t>(level_);
    role_.resize(count_);
    scores_.clear();
    for (std::size_t j = 0; j < count_; ++j) {
      const std::size_t row = first_ + j;
      role_[j] = d_.kind[row] & bit ? kSmall : d_.group[row] == group ? kCounted : kUnseen;
      if (linked_[j] && role_[j] != kUnseen) {
        scores_.push_back(d_.score[row]);
      } else if (role_[j] == kCounted && !covered_[j]) {
        out.events.push_back({cell, unit, d_.score[row], 0, 0, 1, 0});
      }
    }
    double counted = 0;
    for (const std::size_t i : truths_) counted += is_counted(i, bit);
    if (counted > 0) out.counts.push_back({cell, unit, counted});
    if (scores_.empty()) return;
    std::sort(scores_.begin(), scores_.end(), std::greater<>());
    scores_.erase(std::unique(scores_.begin(), scores_.end()), scores_.end());
    thresholds(bit);
    std::int32_t tp = 0, fp = 0;
    double similarity = 0;
    std::size_t hit = 0;
    for (const double score : scores_) {
      std::int32_t tp_now, fp_now, hits = 0;
      double similarity_now;
      at_threshold(score, bit, tp_now, fp_now, similarity_now);
      while (hit < found_.size() && found_[hit] == score) ++hits, ++hit;
      if (hits || tp_now != tp || fp_now != fp || similarity_now != similarity) {
        out.events.push_back({cell, unit, score, hits, tp_now - tp, fp_now - fp, similarity_now - similarity});
      }
      tp = tp_now, fp = fp_now, similarity = similarity_now;
    }
  }

  bool is_counted(std::size_t truth, std::uint8_t bit) const { return t_.own[truth] && (t_.kind[truth] & bit); }

  // The scores that become thresholds: each truth takes the detection of highest score.
  void thresholds(std::uint8_t bit) {
    taken_.assign(count_, 0);
    found_.clear();
    for (std::size_t k = 0; k < truths_.size(); ++k) {
      double best = kNoScore;
      std::size_t chosen = count_;
      for (std::size_t l = k ? ends_[k - 1] : 0; l < ends_[k]; ++l) {
        const std::size_t j = links_[l].detection;
        if (role_[j] == kUnseen || taken_[j]) continue;
        if (d_.score[first_ + j] > best) best = d_.score[first_ + j], chosen = j;
      }
      if (chosen == count_) continue;
      taken_[chosen] = 1;
      if (is_counted(truths_[k], bit) && role_[chosen] == kCounted) found_.push_back(best);
    }
    std::sort(found_.begin(), found_.end(), std::greater<>());
  }

  // Each truth takes the counted detection of largest overlap, or a small one where there is no other.
  void at_threshold(double score, std::uint8_t bit, std::int32_t& tp, std::int32_t& fp, double& similarity) {
    taken_.assign(count_, 0);
    tp = fp = 0;
    likeness_.clear();
    for (std::size_t k = 0; k < truths_.size(); ++k) {
      double most = 0;
      std::size_t chosen = count_;
      bool small = false;
      for (std::size_t l = k ? ends_[k - 1] : 0; l < ends_[k]; ++l) {
        const auto [j, overlap] = links_[l];
        if (role_[j] == kUnseen || taken_[j] || d_.score[first_ + j] < score) continue;
        if (role_[j] == kCounted && overlap > most) {  // a small one has no share in `most`
          most = overlap, chosen = j, small = false;
        } else if (role_[j] == kSmall && chosen == count_) {
          chosen = j, small = true;
        }
      }
      if (chosen == count_) continue;
      taken_[chosen] = 1;
      if (small || !is_counted(truths_[k], bit)) continue;
      ++tp;
      likeness_.push_back((1.0 + std::cos(t_.alpha[truths_[k]] - d_.alpha[first_ + chosen])) / 2.0);
    }
    for (std::size_t j = 0; j < count_; ++j) {
      fp += linked_[j] && role_[j] == kCounted && !taken_[j] && !covered_[j] && d_.score[first_ + j] >= score;
    }
    std::sort(likeness_.begin(), likeness_.end());  // the sum does not depend on the order of rows
    similarity = 0;
    for (const double one : likeness_) similarity += one;
  }

  View3 view_;
  const KittiSide &t_, &d_;
  View<std::int64_t> region_begin_;
  Matrix<double> region_;
  std::size_t levels_, level_ = 0, first_ = 0, count_ = 0;
  std::vector<std::size_t> truths_, ends_;
  std::vector<Link> links_;
  std::vector<std::uint8_t> linked_, covered_, taken_;
  std::vector<Role> role_;
  std::vector<double> scores_, found_, likeness_;
};

}  // namespace

double overlap_of(View3 view, const double* a, const double* b) {
  if (view == View3::image) return share(image_common(a, b), image_area(a), image_area(b));
  const double common = ground_common(a, b);
  if (view == View3::ground) return share(common, a[4] * a[5], b[4] * b[5]);
  const double height = std::max(0.0, std::min(a[3], b[3]) - std::max(a[2], b[2]));
  return share(common * height, a[4] * a[5] * (a[3] - a[2]), b[4] * b[5] * (b[3] - b[2]));
}

KittiMatched kitti_match(View3 view, const KittiSide& truth, const KittiSide& detection,
                         View<std::int64_t> region_begin, Matrix<double> region, View<double> least, std::size_t levels,
                         long threads) {
  const std::size_t units = truth.begin.size() - 1, tasks = (units + kFrames - 1) / kFrames;
  std::vector<KittiMatched> parts(tasks);
  parallel_for(tasks, thread_count(threads), [&](std::size_t task) {
    Frame frame(view, truth, detection, region_begin, region, levels);
    for (std::size_t unit = task * kFrames; unit < std::min(units, (task + 1) * kFrames); ++unit) {
      for (std::size_t group = 0; group < least.size(); ++group) {
        frame.run(unit, static_cast<std::int32_t>(group), least[group], parts[task]);
      }
    }
  });
  KittiMatched out;
  std::size_t events = 0, counts = 0;
  for (const auto& part : parts) events += part.events.size(), counts += part.counts.size();
  out.events.reserve(events), out.counts.reserve(counts);
  for (const auto& part : parts) {
    out.events.insert(out.events.end(), part.events.begin(), part.events.end());
    out.counts.insert(out.counts.end(), part.counts.begin(), part.counts.end());
  }
  // By class and level, then falling score; frames stand in order, and what is equal stays so.
  std::stable_sort(out.events.begin(), out.events.end(), [](const KittiEvent& a, const KittiEvent& b) {
    return a.cell != b.cell ? a.cell < b.cell : a.score > b.score;
  });
  std::stable_sort(out.counts.begin(), out.counts.end(),
                   [](const KittiCount& a, const KittiCount& b) { return a.cell < b.cell; });
  return out;
}

}  // namespace steelyard::solid
