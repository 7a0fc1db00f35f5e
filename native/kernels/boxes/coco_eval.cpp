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
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "ap/figures.hpp"
#include "boxes/boxes.hpp"
#include "support/checks.hpp"
#include "support/pool.hpp"

namespace steelyard {

std::vector<std::size_t> pairs_before(View<std::int64_t> d_begin, View<std::int64_t> t_begin) {
  std::vector<std::size_t> before(d_begin.size(), 0);
  for (std::size_t c = 0; c + 1 < before.size(); ++c) {
    before[c + 1] = before[c] + static_cast<std::size_t>(d_begin[c + 1] - d_begin[c]) *
                                    static_cast<std::size_t>(t_begin[c + 1] - t_begin[c]);
  }
  return before;
}

namespace {

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

using Mask = std::uint64_t;  // a bit for each of up to 64 thresholds
constexpr std::size_t kBits = 64;

// What became of the detections of a category in one range of areas, and of those at up to 64 thresholds.
struct Fates {
  std::vector<Mask> found, left_out;  // of each detection; what is neither is wrong
  Mask all = 0;
};

// The curves of a ranking, one per threshold. Precision has to be known only where a truth is found: it falls in
// between.
class Curves {
 public:
  explicit Curves(std::size_t thresholds) : places_(thresholds), precision_(thresholds), left_out_(thresholds) {}

  void read(const std::vector<std::int32_t>& order, const Fates& fates) {
    for (std::size_t t = 0; t < places_.size(); ++t) {
      places_[t].clear();
      precision_[t].clear();
      left_out_[t] = 0;
    }
    std::size_t always_left_out = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto d = static_cast<std::size_t>(order[i]);
      const Mask found = fates.found[d], left_out = fates.left_out[d];
      if (left_out == fates.all) {
        ++always_left_out;
        continue;
      }
      for (Mask rest = left_out; rest != 0; rest &= rest - 1)
        ++left_out_[static_cast<std::size_t>(std::countr_zero(rest))];
      for (Mask rest = found; rest != 0; rest &= rest - 1) {
        const auto t = static_cast<std::size_t>(std::countr_zero(rest));
        const double fp = static_cast<double>(i - always_left_out - left_out_[t] - places_[t].size());
        places_[t].push_back(i);
        const double tp = static_cast<double>(places_[t].size());
        precision_[t].push_back(tp / (fp + tp + kTiny));
      }
    }
    for (std::vector<double>& values : precision_)
      for (std::size_t k = values.size(); k-- > 1;) values[k - 1] = std::max(values[k - 1], values[k]);
  }

  // Calls reached(number, precision, place) for one recall after the other, up to the first that a ranking of so many
  // does not reach: there the reference stops.
  template <typename Reached>
  void walk(std::size_t t, View<double> recalls, double positives, std::size_t count, Reached reached) const {
    const std::vector<std::size_t>& places = places_[t];
    const bool first_found = !places.empty() && places[0] == 0;
    const double start = first_found ? 1 / positives : 0.0;
    const auto below = [&](std::size_t k, double recall) { return static_cast<double>(k + 1) / positives < recall; };
    std::size_t k = 0;
    for (std::size_t r = 0; r < recalls.size(); ++r) {
      if (count > 0 && !(start < recalls[r])) {
        reached(r, places.empty() ? 0.0 : precision_[t][0], std::size_t{0});
        continue;
      }
      while (k > 0 && !below(k - 1, recalls[r])) --k;  // recalls need not rise
      while (k < places.size() && below(k, recalls[r])) ++k;
      if (k == places.size()) return;
      reached(r, precision_[t][k], places[k]);
    }
  }

  double recall(std::size_t t, double positives) const { return static_cast<double>(places_[t].size()) / positives; }

 private:
  std::vector<std::vector<std::size_t>> places_;
  std::vector<std::vector<double>> precision_;
  std::vector<std::size_t> left_out_;
};

// One category: its detections as they rank, and how many truths count in each range of areas.
struct Category {
  std::size_t index, first, last, d0, n;  // cells and detections
  std::vector<std::size_t> positives;
  std::vector<std::vector<std::int32_t>> orders;  // by limit
};

Category category_of(const ScoredCells& in, std::size_t k) {
  const Cells& cells = in.cells;
  const auto range = std::equal_range(in.category.begin(), in.category.end(), static_cast<std::int64_t>(k));
  const auto first = static_cast<std::size_t>(range.first - in.category.begin());
  const auto last = static_cast<std::size_t>(range.second - in.category.begin());
  const auto d0 = static_cast<std::size_t>(cells.d_begin[first]);
  Category out{k, first, last, d0, static_cast<std::size_t>(cells.d_begin[last]) - d0, {}, {}};
  for (std::size_t a = 0; a < cells.t_ignored.rows; ++a) {
    const std::uint8_t* ignored = cells.t_ignored.row(a);
    out.positives.push_back(static_cast<std::size_t>(
        std::count(ignored + cells.t_begin[first], ignored + cells.t_begin[last], std::uint8_t{0})));
  }
  std::vector<std::int32_t> rank(out.n), order(out.n);
  for (std::size_t c = first; c < last; ++c) {
    for (std::int64_t d = cells.d_begin[c]; d < cells.d_begin[c + 1]; ++d)
      rank[static_cast<std::size_t>(d) - d0] = static_cast<std::int32_t>(d - cells.d_begin[c]);
  }
  for (std::size_t d = 0; d < out.n; ++d) order[d] = static_cast<std::int32_t>(d);
  sort_falling(View<double>(in.score.data() + d0, out.n), order.data(), order.data() + out.n);
  for (std::int64_t limit : in.limits) {
    std::vector<std::int32_t>& kept = out.orders.emplace_back();
    for (std::int32_t d : order)
      if (rank[static_cast<std::size_t>(d)] < limit) kept.push_back(d);
  }
  return out;
}

std::vector<Fates> fates_of(const ScoredCells& in, const CellMatcher& matcher, const Category& category,
                            std::size_t first_threshold, std::size_t thresholds) {
  const Cells& cells = in.cells;
  std::vector<Fates> out(cells.t_ignored.rows);
  for (std::size_t a = 0; a < out.size(); ++a) {
    out[a].all = thresholds == kBits ? ~Mask{0} : (Mask{1} << thresholds) - 1;
    out[a].found.assign(category.n, 0);
    out[a].left_out.assign(category.n, 0);
    for (std::size_t d = 0; d < category.n; ++d)
      if (in.d_outside.row(a)[category.d0 + d]) out[a].left_out[d] = out[a].all;
  }
  CellMatcher::Room room;
  for (std::size_t c = category.first; c < category.last; ++c) {
    matcher.match(c, room, [&](std::size_t a, std::size_t t, std::size_t d, std::size_t g) {
      if (t < first_threshold || t >= first_threshold + thresholds) return;
      const Mask bit = Mask{1} << (t - first_threshold);
      const std::size_t row = d - category.d0;
      if (cells.t_ignored.row(a)[g]) {
        out[a].left_out[row] |= bit;
      } else if (in.t_counts[g]) {
        out[a].left_out[row] &= ~bit;
        out[a].found[row] |= bit;
      }
    });
  }
  return out;
}

}  // namespace

void score_cells(const ScoredCells& in, long threads, double* precision, double* scores, double* recall) {
  const std::size_t K = in.categories, A = in.cells.t_ignored.rows, M = in.limits.size();
  const std::size_t T = in.cells.thresholds.size(), R = in.recalls.size();
  if (T == 0 || A == 0 || M == 0) return;  // nothing to write, however many categories there are said to be
  const CellMatcher matcher(in.cells);
  parallel_for(K, thread_count(threads), [&](std::size_t k) {
    const Category category = category_of(in, k);
    const double* score = in.score.data() + category.d0;
    for (std::size_t from = 0; from < T; from += kBits) {
      const std::size_t count = std::min(kBits, T - from);
      const std::vector<Fates> fates = fates_of(in, matcher, category, from, count);
      Curves curves(count);
      std::vector<double> p(count * R * A * M, -1.0), s(p);  // written in rows, since whole arrays are far apart
      for (std::size_t a = 0; a < A; ++a) {
        const auto positives = static_cast<double>(category.positives[a]);
        for (std::size_t m = 0; m < M; ++m) {
          const auto recall_at = [&](std::size_t t) { return (((from + t) * K + k) * A + a) * M + m; };
          if (category.positives[a] == 0) {
            for (std::size_t t = 0; t < count; ++t) recall[recall_at(t)] = -1;
            continue;
          }
          const std::vector<std::int32_t>& order = category.orders[m];
          curves.read(order, fates[a]);
          for (std::size_t t = 0; t < count; ++t) {
            recall[recall_at(t)] = order.empty() ? 0.0 : curves.recall(t, positives);
            const auto at = [&](std::size_t r) { return ((t * R + r) * A + a) * M + m; };
            for (std::size_t r = 0; r < R; ++r) p[at(r)] = s[at(r)] = 0;
            curves.walk(t, in.recalls, positives, order.size(), [&](std::size_t r, double value, std::size_t place) {
              p[at(r)] = value;
              s[at(r)] = score[order[place]];
            });
          }
        }
      }
      for (std::size_t row = 0; row < count * R; ++row) {
        const std::size_t to = ((from * R + row) * K + k) * A * M;
        std::copy_n(p.data() + row * A * M, A * M, precision + to);
        std::copy_n(s.data() + row * A * M, A * M, scores + to);
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

std::size_t check_cells_of(const CellPairs& in, std::size_t detections, std::size_t truths) {
  require(in.d_begin.size() == in.t_begin.size(), "one range for each cell");
  check_offsets(in.d_begin, in.d_rows.size(), "the detections' ranges are out of bounds");
  check_offsets(in.t_begin, in.t_rows.size(), "the truths' ranges are out of bounds");
  for (const auto& [rows, count] : {std::pair(in.d_rows, detections), std::pair(in.t_rows, truths)}) {
    for (std::int32_t row : rows) require(row >= 0 && static_cast<std::size_t>(row) < count, "a row is out of range");
  }
  return pairs_before(in.d_begin, in.t_begin).back();
}

std::size_t check_cell_boxes(const CellBoxes& in) {
  require(in.d_box.columns == 4 && in.t_box.columns == 4, "boxes are x, y, width, height");
  require(in.crowd.size() == in.t_rows.size(), "one crowd flag for each truth");
  return check_cells_of({in.d_begin, in.t_begin, in.d_rows, in.t_rows}, in.d_box.rows, in.t_box.rows);
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
