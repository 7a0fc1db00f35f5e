// What a drop-in for COCO's own evaluator needs: its matching and its curves, with nothing left out.
//
// The evaluator of boxes keeps bits and needs one visit per class. Code that is written for pycocotools reads more than
// scores: every IoU, and for each image, class, area range and threshold who was matched with whom. So cells (image and
// class) come flat, one after the other, and the matches go out as rows. The rules are the reference's to the letter:
// detections in the order given, truths that count before ignored ones, the last of equals, at most one match a truth
// unless it is a crowd or was taken by a detection whose id does not count (the reference asks whether that id is above
// 0).
#include "boxes/coco_eval.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "ap/figures.hpp"
#include "boxes/boxes.hpp"
#include "support/checks.hpp"
#include "support/pool.hpp"

namespace steelyard {
namespace {

// Where the IoUs of each cell begin, and their number.
std::vector<std::size_t> pairs_before(View<std::int64_t> d_begin, View<std::int64_t> t_begin) {
  std::vector<std::size_t> before(d_begin.size(), 0);
  for (std::size_t c = 0; c + 1 < before.size(); ++c) {
    before[c + 1] = before[c] + static_cast<std::size_t>(d_begin[c + 1] - d_begin[c]) *
                                    static_cast<std::size_t>(t_begin[c + 1] - t_begin[c]);
  }
  return before;
}

// Rows by falling score; equal ones keep their order, and what is not a number is last.
void sort_falling(View<double> score, std::int32_t* begin, std::int32_t* end) {
  if (end - begin < 2) return;
  std::stable_sort(begin, end, [&](std::int32_t a, std::int32_t b) {
    const double x = score[static_cast<std::size_t>(a)], y = score[static_cast<std::size_t>(b)];
    return x > y || (std::isnan(y) && !std::isnan(x));
  });
}

// Matches one cell in one range of areas, threshold by threshold, and calls matched(threshold, detection, truth).
class CellMatcher {
 public:
  explicit CellMatcher(const Cells& in) : in_(in), iou_begin_(pairs_before(in.d_begin, in.t_begin)) {
    lowest_ = 1.0;
    for (double threshold : in.thresholds) lowest_ = std::min(lowest_, std::min(threshold, 1 - 1e-10));
  }

  struct Room {
    std::vector<std::uint8_t> taken;
    std::vector<std::size_t> turn, candidates;
  };

  template <typename Matched>
  void match(std::size_t cell, Room& room, Matched matched) const {
    const std::size_t d0 = static_cast<std::size_t>(in_.d_begin[cell]);
    const std::size_t d1 = static_cast<std::size_t>(in_.d_begin[cell + 1]);
    const std::size_t t0 = static_cast<std::size_t>(in_.t_begin[cell]);
    const std::size_t n = static_cast<std::size_t>(in_.t_begin[cell + 1]) - t0;
    if (n == 0 || d0 == d1) return;
    const double* ious = in_.ious.data() + iou_begin_[cell];
    room.candidates.clear();  // the others match nothing at any threshold
    for (std::size_t d = d0; d < d1; ++d) {
      const double* row = ious + (d - d0) * n;
      for (std::size_t g = 0; g < n; ++g) {
        if (row[g] < lowest_) continue;
        room.candidates.push_back(d);
        break;
      }
    }
    if (room.candidates.empty()) return;
    for (std::size_t a = 0; a < in_.t_ignored.rows; ++a) {
      const std::uint8_t* ignored = in_.t_ignored.row(a) + t0;
      room.turn.clear();
      for (int pass = 0; pass < 2; ++pass) {
        for (std::size_t g = 0; g < n; ++g)
          if ((ignored[g] != 0) == (pass == 1)) room.turn.push_back(g);
      }
      for (std::size_t t = 0; t < in_.thresholds.size(); ++t) {
        room.taken.assign(n, 0);
        for (std::size_t d : room.candidates) {
          const double* row = ious + (d - d0) * n;
          double best = std::min(in_.thresholds[t], 1 - 1e-10);
          std::ptrdiff_t chosen = -1;
          for (std::size_t g : room.turn) {
            if (room.taken[g] && !in_.crowd[t0 + g]) continue;
            if (chosen >= 0 && !ignored[chosen] && ignored[g]) break;
            if (row[g] < best) continue;
            best = row[g];
            chosen = static_cast<std::ptrdiff_t>(g);
          }
          if (chosen < 0) continue;
          const std::size_t g = static_cast<std::size_t>(chosen);
          matched(a, t, d, t0 + g);
          room.taken[g] = in_.takes[d];
        }
      }
    }
  }

 private:
  const Cells& in_;
  std::vector<std::size_t> iou_begin_;
  double lowest_;
};

}  // namespace

void check_cells(const Cells& in) {
  const std::size_t areas = in.t_ignored.rows, truths = in.crowd.size(), detections = in.takes.size();
  const std::size_t count = in.thresholds.size(), limit = std::size_t{1} << 31;
  require(truths < limit && detections < limit, "too many rows");
  require(in.d_begin.size() == in.t_begin.size(), "one range for each cell");
  check_offsets(in.d_begin, detections, "the detections' ranges are out of bounds");
  check_offsets(in.t_begin, truths, "the truths' ranges are out of bounds");
  require(in.t_ignored.columns == truths, "one flag for each truth and area");
  check_numbers(in.thresholds.data(), count, "a threshold is not a number");
  require(pairs_before(in.d_begin, in.t_begin).back() == in.ious.size(), "one IoU for each pair in a cell");
  require(areas < 65536 && count < 65536 &&
              truths + detections <= (std::size_t{1} << 36) / std::max<std::size_t>(1, areas * count),
          "too many matches");
}

void match_cells(const Cells& in, long threads, std::int32_t* d_match, std::int32_t* t_match) {
  const std::size_t areas = in.t_ignored.rows, truths = in.crowd.size(), detections = in.takes.size();
  const std::size_t count = in.thresholds.size(), cells = in.d_begin.size() - 1;
  std::fill_n(d_match, areas * count * detections, std::int32_t{-1});
  std::fill_n(t_match, areas * count * truths, std::int32_t{-1});
  const CellMatcher matcher(in);
  constexpr std::size_t kBlock = 256;
  parallel_for((cells + kBlock - 1) / kBlock, thread_count(threads), [&](std::size_t block) {
    CellMatcher::Room room;
    for (std::size_t c = block * kBlock; c < std::min(cells, (block + 1) * kBlock); ++c) {
      matcher.match(c, room, [&](std::size_t a, std::size_t t, std::size_t d, std::size_t g) {
        d_match[(a * count + t) * detections + d] = static_cast<std::int32_t>(g);
        t_match[(a * count + t) * truths + g] = static_cast<std::int32_t>(d);
      });
    }
  });
}

void order_cells(const CellRows& in, std::int32_t* order) {
  const std::size_t n = in.image.size();
  std::vector<std::int32_t> before(n);
  for (std::size_t i = 0; i < n; ++i) before[i] = static_cast<std::int32_t>(i);
  const auto sort_by = [&](View<std::int32_t> key, std::size_t keys) {  // `before` into `order`, and back
    std::vector<std::size_t> next(keys + 1, 0);
    for (std::int32_t value : key) {
      require(value >= 0 && static_cast<std::size_t>(value) < keys, "a place is out of range");
      ++next[static_cast<std::size_t>(value) + 1];
    }
    for (std::size_t k = 0; k < keys; ++k) next[k + 1] += next[k];
    for (std::int32_t row : before) order[next[static_cast<std::size_t>(key[static_cast<std::size_t>(row)])]++] = row;
    std::copy_n(order, n, before.begin());
  };
  if (in.by_category) {
    sort_by(in.image, in.images);
    sort_by(in.category, in.categories);
  } else {
    sort_by(in.category, in.categories);
    sort_by(in.image, in.images);
  }
  if (in.score.empty()) return;
  const auto cell_of = [&](std::int32_t row) {
    const auto i = static_cast<std::size_t>(row);
    return std::pair(in.by_category ? in.category[i] : 0, in.image[i]);
  };
  for (std::size_t first = 0, last; first < n; first = last) {
    for (last = first + 1; last < n && cell_of(order[last]) == cell_of(order[first]);) ++last;
    sort_falling(in.score, order + first, order + last);
  }
}

void check_scored(const ScoredCells& in) {
  check_cells(in.cells);
  const std::size_t cells = in.cells.d_begin.size() - 1, detections = in.cells.takes.size();
  require(in.category.size() == cells, "one category for each cell");
  for (std::size_t c = 0; c < cells; ++c) {
    require(in.category[c] >= 0 && static_cast<std::size_t>(in.category[c]) < in.categories,
            "a category is out of range");
    require(c == 0 || in.category[c - 1] <= in.category[c], "cells must be ordered by category");
  }
  require(in.score.size() == detections && in.d_outside.columns == detections, "one score and flag for each detection");
  require(in.d_outside.rows == in.cells.t_ignored.rows, "one row of flags for each range of areas");
  require(in.t_counts.size() == in.cells.crowd.size(), "one flag for each truth");
  check_numbers(in.recalls.data(), in.recalls.size(), "a recall is not a number");
}

namespace {

enum Flag : std::uint8_t { kWrong, kFound, kLeftOut };

// The curve of one ranking: precision only has to be known where a truth is found, since it falls in between.
class Curve {
 public:
  void read(const std::vector<std::int32_t>& order, const std::uint8_t* flags, double positives) {
    found_.clear();
    precision_.clear();
    double tp = 0, fp = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::uint8_t flag = flags[order[i]];
      if (flag == kFound) {
        tp += 1;
        found_.push_back(i);
        precision_.push_back(tp / (fp + tp + kTiny));
      } else if (flag == kWrong) {
        fp += 1;
      }
    }
    for (std::size_t k = precision_.size(); k-- > 1;) precision_[k - 1] = std::max(precision_[k - 1], precision_[k]);
    positives_ = positives;
  }

  // Precision and the place in the ranking where a recall is reached; false where it is not.
  bool at(double recall, std::size_t count, double& precision, std::size_t& place) const {
    const bool first_found = !found_.empty() && found_[0] == 0;
    if (count > 0 && !((first_found ? 1 / positives_ : 0.0) < recall)) {
      place = 0;
      precision = precision_.empty() ? 0.0 : precision_[0];
      return true;
    }
    std::size_t low = 0, high = found_.size();
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (static_cast<double>(middle + 1) / positives_ < recall) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low == found_.size()) return false;
    place = found_[low];
    precision = precision_[low];
    return true;
  }

  double recall() const { return static_cast<double>(found_.size()) / positives_; }

 private:
  std::vector<std::size_t> found_;
  std::vector<double> precision_;
  double positives_ = 1;
};

}  // namespace

void score_cells(const ScoredCells& in, long threads, double* precision, double* scores, double* recall) {
  const Cells& cells = in.cells;
  const std::size_t K = in.categories, A = cells.t_ignored.rows, M = in.limits.size();
  const std::size_t T = cells.thresholds.size(), R = in.recalls.size();
  const CellMatcher matcher(cells);
  parallel_for(K, thread_count(threads), [&](std::size_t k) {
    const auto key = static_cast<std::int64_t>(k);
    const std::size_t first =
        static_cast<std::size_t>(std::lower_bound(in.category.begin(), in.category.end(), key) - in.category.begin());
    const std::size_t last =
        static_cast<std::size_t>(std::upper_bound(in.category.begin(), in.category.end(), key) - in.category.begin());
    const std::size_t d0 = static_cast<std::size_t>(cells.d_begin[first]);
    const std::size_t n = static_cast<std::size_t>(cells.d_begin[last]) - d0;
    std::vector<std::size_t> positives(A, 0);
    for (std::size_t a = 0; a < A; ++a) {
      for (std::int64_t g = cells.t_begin[first]; g < cells.t_begin[last]; ++g)
        positives[a] += cells.t_ignored.row(a)[g] == 0;
    }
    std::vector<std::uint8_t> flags(A * T * n, kWrong);
    for (std::size_t a = 0; a < A; ++a) {
      for (std::size_t d = 0; d < n; ++d) {
        if (!in.d_outside.row(a)[d0 + d]) continue;
        for (std::size_t t = 0; t < T; ++t) flags[(a * T + t) * n + d] = kLeftOut;
      }
    }
    CellMatcher::Room room;
    for (std::size_t c = first; c < last; ++c) {
      matcher.match(c, room, [&](std::size_t a, std::size_t t, std::size_t d, std::size_t g) {
        std::uint8_t& flag = flags[(a * T + t) * n + d - d0];
        if (cells.t_ignored.row(a)[g]) {
          flag = kLeftOut;
        } else if (in.t_counts[g]) {
          flag = kFound;
        }
      });
    }
    std::vector<std::int64_t> rank(n);
    std::vector<std::int32_t> whole(n), order;
    for (std::size_t c = first; c < last; ++c) {
      for (std::int64_t d = cells.d_begin[c]; d < cells.d_begin[c + 1]; ++d)
        rank[static_cast<std::size_t>(d) - d0] = d - cells.d_begin[c];
    }
    for (std::size_t d = 0; d < n; ++d) whole[d] = static_cast<std::int32_t>(d);
    const View<double> score(in.score.data() + d0, n);
    sort_falling(score, whole.data(), whole.data() + n);
    Curve curve;
    for (std::size_t m = 0; m < M; ++m) {
      order.clear();
      for (std::int32_t d : whole)
        if (rank[static_cast<std::size_t>(d)] < in.limits[m]) order.push_back(d);
      for (std::size_t a = 0; a < A; ++a) {
        if (positives[a] == 0) continue;
        for (std::size_t t = 0; t < T; ++t) {
          curve.read(order, flags.data() + (a * T + t) * n, static_cast<double>(positives[a]));
          const auto place = [&](std::size_t row) { return ((row * K + k) * A + a) * M + m; };
          recall[place(t)] = order.empty() ? 0.0 : curve.recall();
          bool reached = true;
          for (std::size_t r = 0; r < R; ++r) {  // the reference stops at the first point that is not reached
            double value = 0;
            std::size_t at = 0;
            reached = reached && curve.at(in.recalls[r], order.size(), value, at);
            precision[place(t * R + r)] = reached ? value : 0.0;
            scores[place(t * R + r)] = reached ? score[static_cast<std::size_t>(order[at])] : 0.0;
          }
        }
      }
    }
  });
}

void check_reference(const ReferenceRanking& in) {
  const std::size_t rows = in.score.size();
  require(in.hit.columns == rows && in.ignored.rows == in.hit.rows && in.ignored.columns == rows,
          "columns differ in length");
  require(in.positives > 0 && in.positives <= kMostFinite, "there must be a truth");
  check_numbers(in.recalls.data(), in.recalls.size(), "a recall is not a number");
  for (std::int64_t row : in.order) require(row >= 0 && static_cast<std::size_t>(row) < rows, "a row is out of range");
}

void reference_curves(const ReferenceRanking& in, long threads, double* p, double* s, double* r) {
  const std::size_t n = in.order.size(), rows = in.score.size(), T = in.hit.rows, R = in.recalls.size();
  parallel_for(T, n * T < 20000 ? 1 : thread_count(threads), [&](std::size_t t) {
    std::vector<double> rc(n), pr(n);
    double tp = 0, fp = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t row = t * rows + static_cast<std::size_t>(in.order.data()[i]);
      if (!in.ignored.data()[row]) (in.hit.data()[row] ? tp : fp) += 1;
      rc[i] = tp / in.positives;
      pr[i] = tp / (fp + tp + kTiny);
    }
    for (std::size_t i = n; i-- > 1;) pr[i - 1] = std::max(pr[i - 1], pr[i]);
    r[t] = n ? rc[n - 1] : 0.0;
    for (std::size_t k = 0; k < R; ++k) {
      const std::size_t at =
          static_cast<std::size_t>(std::lower_bound(rc.begin(), rc.end(), in.recalls.data()[k]) - rc.begin());
      if (at == n) break;  // the reference stops at the first point that is not reached
      p[t * R + k] = pr[at];
      s[t * R + k] = in.score.data()[in.order.data()[at]];
    }
  });
}

std::size_t check_cell_boxes(const CellBoxes& in) {
  require(in.d_begin.size() == in.t_begin.size(), "one range for each cell");
  check_offsets(in.d_begin, in.d_rows.size(), "the detections' ranges are out of bounds");
  check_offsets(in.t_begin, in.t_rows.size(), "the truths' ranges are out of bounds");
  require(in.d_box.columns == 4 && in.t_box.columns == 4, "boxes are x, y, width, height");
  require(in.crowd.size() == in.t_rows.size(), "one crowd flag for each truth");
  for (const auto& [rows, box] : {std::pair(in.d_rows, in.d_box), std::pair(in.t_rows, in.t_box)}) {
    for (std::int32_t row : rows)
      require(row >= 0 && static_cast<std::size_t>(row) < box.rows, "a row is out of range");
  }
  return pairs_before(in.d_begin, in.t_begin).back();
}

void cell_box_ious(const CellBoxes& in, double* out) {
  for (std::size_t c = 0; c + 1 < in.d_begin.size(); ++c) {
    for (std::int64_t d = in.d_begin[c]; d < in.d_begin[c + 1]; ++d) {
      const double* found = in.d_box.row(static_cast<std::size_t>(in.d_rows[static_cast<std::size_t>(d)]));
      for (std::int64_t g = in.t_begin[c]; g < in.t_begin[c + 1]; ++g) {
        const auto truth = static_cast<std::size_t>(g);
        *out++ = box_iou(found, in.t_box.row(static_cast<std::size_t>(in.t_rows[truth])), in.crowd[truth]);
      }
    }
  }
}

}  // namespace steelyard
