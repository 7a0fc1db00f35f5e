// What a drop-in for COCO's own evaluator needs: its matching and its curves, with nothing left out.
//
// The evaluator of boxes keeps bits and needs one visit a class. Code that is written for pycocotools reads more than scores:
// every IoU, and for each image, class, area range and threshold who was matched with whom. So cells (image and class) come
// flat, one after the other, and the matches go out as rows. The rules are the reference's to the letter: detections in the
// order given, truths that count before ignored ones, the last of equals, at most one match a truth unless it is a crowd or
// was taken by a detection whose id does not count (the reference asks whether that id is above 0).
#include <algorithm>
#include <cmath>
#include <vector>

#include "arrays.hpp"
#include "boxes.hpp"
#include "checks.hpp"
#include "pool.hpp"

namespace steelyard {
namespace {

nb::tuple match_cells(In1<std::int64_t> d_begin, In1<std::int64_t> t_begin, In1<double> ious, In2<std::uint8_t> t_ignored,
                      In1<std::uint8_t> crowd, In1<std::uint8_t> takes, In1<double> thresholds, long threads) {
  const std::size_t areas = t_ignored.shape(0), truths = crowd.shape(0), detections = takes.shape(0);
  const std::size_t count = thresholds.shape(0), limit = std::size_t{1} << 31;
  require(truths < limit && detections < limit, "too many rows");
  require(d_begin.shape(0) == t_begin.shape(0), "one range for each cell");
  check_offsets(d_begin, detections, "the detections' ranges are out of bounds");
  check_offsets(t_begin, truths, "the truths' ranges are out of bounds");
  require(t_ignored.shape(1) == truths, "one flag for each truth and area");
  check_numbers(thresholds.data(), count, "a threshold is not a number");
  const std::size_t cells = d_begin.shape(0) - 1;
  std::vector<std::size_t> iou_begin(cells + 1, 0);
  for (std::size_t c = 0; c < cells; ++c) {
    iou_begin[c + 1] = iou_begin[c] + static_cast<std::size_t>(d_begin.data()[c + 1] - d_begin.data()[c]) *
                                          static_cast<std::size_t>(t_begin.data()[c + 1] - t_begin.data()[c]);
  }
  require(iou_begin[cells] == ious.shape(0), "one IoU for each pair in a cell");
  require(areas < 65536 && count < 65536 && truths + detections <= (std::size_t{1} << 36) / std::max<std::size_t>(1, areas * count),
          "too many matches");
  std::int32_t *d_match, *t_match;
  auto d_out = make_raw<std::int32_t>({areas, count, detections}, d_match);
  auto t_out = make_raw<std::int32_t>({areas, count, truths}, t_match);
  std::fill_n(d_match, areas * count * detections, std::int32_t{-1});
  std::fill_n(t_match, areas * count * truths, std::int32_t{-1});
  {
    nb::gil_scoped_release release;
    constexpr std::size_t kBlock = 256;
    parallel_for((cells + kBlock - 1) / kBlock, thread_count(threads), [&](std::size_t block) {
      std::vector<std::uint8_t> taken;
      std::vector<std::size_t> turn;
      for (std::size_t c = block * kBlock; c < std::min(cells, (block + 1) * kBlock); ++c) {
        const std::size_t d0 = static_cast<std::size_t>(d_begin.data()[c]), d1 = static_cast<std::size_t>(d_begin.data()[c + 1]);
        const std::size_t t0 = static_cast<std::size_t>(t_begin.data()[c]), t1 = static_cast<std::size_t>(t_begin.data()[c + 1]);
        const std::size_t n = t1 - t0;
        if (n == 0 || d0 == d1) continue;
        for (std::size_t a = 0; a < areas; ++a) {
          const std::uint8_t* ignored = t_ignored.data() + a * truths + t0;
          turn.clear();
          for (int pass = 0; pass < 2; ++pass) {
            for (std::size_t g = 0; g < n; ++g) if ((ignored[g] != 0) == (pass == 1)) turn.push_back(g);
          }
          for (std::size_t t = 0; t < count; ++t) {
            taken.assign(n, 0);
            std::int32_t* dm = d_match + (a * count + t) * detections;
            std::int32_t* tm = t_match + (a * count + t) * truths;
            for (std::size_t d = d0; d < d1; ++d) {
              const double* row = ious.data() + iou_begin[c] + (d - d0) * n;
              double best = std::min(thresholds.data()[t], 1 - 1e-10);
              std::ptrdiff_t chosen = -1;
              for (std::size_t g : turn) {
                if (taken[g] && !crowd.data()[t0 + g]) continue;
                if (chosen >= 0 && !ignored[chosen] && ignored[g]) break;
                if (row[g] < best) continue;
                best = row[g];
                chosen = static_cast<std::ptrdiff_t>(g);
              }
              if (chosen < 0) continue;
              const std::size_t g = static_cast<std::size_t>(chosen);
              dm[d] = static_cast<std::int32_t>(t0 + g);
              tm[t0 + g] = static_cast<std::int32_t>(d);
              taken[g] = takes.data()[d];
            }
          }
        }
      }
    });
  }
  return nb::make_tuple(d_out, t_out);
}

// Precision and scores (thresholds, recalls) and the last recall, of the detections in the order given.
nb::tuple reference_curves(In1<std::int64_t> order, In1<double> score, In2<std::uint8_t> hit, In2<std::uint8_t> ignored,
                           double positives, In1<double> recalls, long threads) {
  const std::size_t n = order.shape(0), rows = score.shape(0), T = hit.shape(0), R = recalls.shape(0);
  require(hit.shape(1) == rows && ignored.shape(0) == T && ignored.shape(1) == rows, "columns differ in length");
  require(positives > 0 && positives <= kMostFinite, "there must be a truth");
  check_numbers(recalls.data(), R, "a recall is not a number");
  for (std::size_t i = 0; i < n; ++i) {
    require(order.data()[i] >= 0 && static_cast<std::size_t>(order.data()[i]) < rows, "a row is out of range");
  }
  double *p, *s, *r;
  auto precision = make_array<double>({T, R}, p);
  auto scores = make_array<double>({T, R}, s);
  auto recall = make_array<double>({T}, r);
  {
    nb::gil_scoped_release release;
    parallel_for(T, n * T < 20000 ? 1 : thread_count(threads), [&](std::size_t t) {
      std::vector<double> rc(n), pr(n);
      double tp = 0, fp = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t row = t * rows + static_cast<std::size_t>(order.data()[i]);
        if (!ignored.data()[row]) (hit.data()[row] ? tp : fp) += 1;
        rc[i] = tp / positives;
        pr[i] = tp / (fp + tp + 2.220446049250313e-16);
      }
      for (std::size_t i = n; i-- > 1;) pr[i - 1] = std::max(pr[i - 1], pr[i]);
      r[t] = n ? rc[n - 1] : 0.0;
      for (std::size_t k = 0; k < R; ++k) {
        const std::size_t at = static_cast<std::size_t>(std::lower_bound(rc.begin(), rc.end(), recalls.data()[k]) - rc.begin());
        if (at == n) break;  // the reference stops at the first point that is not reached
        p[t * R + k] = pr[at];
        s[t * R + k] = score.data()[order.data()[at]];
      }
    });
  }
  return nb::make_tuple(precision, recall, scores);
}

Out<double> cell_box_ious(In1<std::int64_t> d_begin, In1<std::int64_t> t_begin, In2<double> d_box, In2<double> t_box,
                          In1<std::uint8_t> crowd) {
  require(d_begin.shape(0) == t_begin.shape(0), "one range for each cell");
  check_offsets(d_begin, d_box.shape(0), "the detections' ranges are out of bounds");
  check_offsets(t_begin, t_box.shape(0), "the truths' ranges are out of bounds");
  require(d_box.shape(1) == 4 && t_box.shape(1) == 4, "boxes are x, y, width, height");
  require(crowd.shape(0) == t_box.shape(0), "one crowd flag for each truth");
  const std::size_t cells = d_begin.shape(0) - 1;
  std::size_t pairs = 0;
  for (std::size_t c = 0; c < cells; ++c) {
    pairs += static_cast<std::size_t>((d_begin.data()[c + 1] - d_begin.data()[c]) * (t_begin.data()[c + 1] - t_begin.data()[c]));
  }
  double* out;
  auto result = make_raw<double>({pairs}, out);
  nb::gil_scoped_release release;
  for (std::size_t c = 0; c < cells; ++c) {
    for (std::int64_t d = d_begin.data()[c]; d < d_begin.data()[c + 1]; ++d) {
      for (std::int64_t g = t_begin.data()[c]; g < t_begin.data()[c + 1]; ++g) {
        *out++ = box_iou(d_box.data() + 4 * d, t_box.data() + 4 * g, crowd.data()[g]);
      }
    }
  }
  return result;
}

}  // namespace

void bind_coco_eval(nb::module_& m) {
  m.def("match_cells", &match_cells, nb::arg("d_begin").noconvert(), nb::arg("t_begin").noconvert(),
        nb::arg("ious").noconvert(), nb::arg("t_ignored").noconvert(), nb::arg("crowd").noconvert(),
        nb::arg("takes").noconvert(), nb::arg("thresholds").noconvert(), nb::arg("threads") = 0,
        "Rows of the matched truths (areas, thresholds, detections) and detections (areas, thresholds, truths); -1: none.");
  m.def("cell_box_ious", &cell_box_ious, nb::arg("d_begin").noconvert(), nb::arg("t_begin").noconvert(),
        nb::arg("d_box").noconvert(), nb::arg("t_box").noconvert(), nb::arg("crowd").noconvert(),
        "IoU of all pairs in each cell, flat.");
  m.def("reference_curves", &reference_curves, nb::arg("order").noconvert(), nb::arg("score").noconvert(),
        nb::arg("hit").noconvert(), nb::arg("ignored").noconvert(), nb::arg("positives"), nb::arg("recalls").noconvert(),
        nb::arg("threads") = 0, "Precision, last recall and scores as pycocotools accumulates them.");
}

}  // namespace steelyard
