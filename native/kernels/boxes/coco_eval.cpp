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
  const std::vector<std::size_t> iou_begin = pairs_before(in.d_begin, in.t_begin);
  std::fill_n(d_match, areas * count * detections, std::int32_t{-1});
  std::fill_n(t_match, areas * count * truths, std::int32_t{-1});
  constexpr std::size_t kBlock = 256;
  parallel_for((cells + kBlock - 1) / kBlock, thread_count(threads), [&](std::size_t block) {
    std::vector<std::uint8_t> taken;
    std::vector<std::size_t> turn;
    for (std::size_t c = block * kBlock; c < std::min(cells, (block + 1) * kBlock); ++c) {
      const std::size_t d0 = static_cast<std::size_t>(in.d_begin[c]), d1 = static_cast<std::size_t>(in.d_begin[c + 1]);
      const std::size_t t0 = static_cast<std::size_t>(in.t_begin[c]), t1 = static_cast<std::size_t>(in.t_begin[c + 1]);
      const std::size_t n = t1 - t0;
      if (n == 0 || d0 == d1) continue;
      for (std::size_t a = 0; a < areas; ++a) {
        const std::uint8_t* ignored = in.t_ignored.data() + a * truths + t0;
        turn.clear();
        for (int pass = 0; pass < 2; ++pass) {
          for (std::size_t g = 0; g < n; ++g)
            if ((ignored[g] != 0) == (pass == 1)) turn.push_back(g);
        }
        for (std::size_t t = 0; t < count; ++t) {
          taken.assign(n, 0);
          std::int32_t* dm = d_match + (a * count + t) * detections;
          std::int32_t* tm = t_match + (a * count + t) * truths;
          for (std::size_t d = d0; d < d1; ++d) {
            const double* row = in.ious.data() + iou_begin[c] + (d - d0) * n;
            double best = std::min(in.thresholds[t], 1 - 1e-10);
            std::ptrdiff_t chosen = -1;
            for (std::size_t g : turn) {
              if (taken[g] && !in.crowd[t0 + g]) continue;
              if (chosen >= 0 && !ignored[chosen] && ignored[g]) break;
              if (row[g] < best) continue;
              best = row[g];
              chosen = static_cast<std::ptrdiff_t>(g);
            }
            if (chosen < 0) continue;
            const std::size_t g = static_cast<std::size_t>(chosen);
            dm[d] = static_cast<std::int32_t>(t0 + g);
            tm[t0 + g] = static_cast<std::int32_t>(d);
            taken[g] = in.takes[d];
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

std::size_t check_cell_boxes(View<std::int64_t> d_begin, View<std::int64_t> t_begin, Matrix<double> d_box,
                             Matrix<double> t_box, View<std::uint8_t> crowd) {
  require(d_begin.size() == t_begin.size(), "one range for each cell");
  check_offsets(d_begin, d_box.rows, "the detections' ranges are out of bounds");
  check_offsets(t_begin, t_box.rows, "the truths' ranges are out of bounds");
  require(d_box.columns == 4 && t_box.columns == 4, "boxes are x, y, width, height");
  require(crowd.size() == t_box.rows, "one crowd flag for each truth");
  return pairs_before(d_begin, t_begin).back();
}

void cell_box_ious(View<std::int64_t> d_begin, View<std::int64_t> t_begin, Matrix<double> d_box, Matrix<double> t_box,
                   View<std::uint8_t> crowd, double* out) {
  for (std::size_t c = 0; c + 1 < d_begin.size(); ++c) {
    for (std::int64_t d = d_begin[c]; d < d_begin[c + 1]; ++d) {
      for (std::int64_t g = t_begin[c]; g < t_begin[c + 1]; ++g) {
        const auto truth = static_cast<std::size_t>(g);
        *out++ = box_iou(d_box.row(static_cast<std::size_t>(d)), t_box.row(truth), crowd[truth]);
      }
    }
  }
}

}  // namespace steelyard
