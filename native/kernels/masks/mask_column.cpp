#include "masks/mask_column.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "boxes/coco_eval.hpp"
#include "masks/mask_similarity.hpp"
#include "support/checks.hpp"
#include "support/pool.hpp"

namespace steelyard {
namespace {

void check_column(const MaskColumn& in) {
  require(in.heads.columns == kPackedHead, "a mask has its size and extent");
  require(in.begin.size() == in.size() + 1, "one text for each mask");
  check_offsets(in.begin, in.texts.size(), "the texts of the masks are out of bounds");
  for (std::size_t i = 0; i < in.size(); ++i) check_size(in.heads.row(i)[0], in.heads.row(i)[1]);
}

// One mask of a column, decoded at the first need.
class Decoded {
 public:
  void show(const MaskColumn& column, std::size_t row, double boundary) {
    column_ = &column;
    row_ = row;
    boundary_ = boundary;
    ready_ = ring_ready_ = false;
  }
  const std::uint32_t* head() const { return column_->heads.row(row_); }
  Extent extent() const { return packed_extent(head()); }

  const Rle& whole() {
    if (ready_) return rle_;
    const std::int64_t begin = column_->begin[row_], end = column_->begin[row_ + 1];
    rle_.height = head()[0];
    rle_.width = head()[1];
    rle_.counts.clear();
    counts_from_text(std::string_view(column_->texts.data() + begin, static_cast<std::size_t>(end - begin)),
                     rle_.counts);
    check_counts(rle_);
    ready_ = true;
    return rle_;
  }
  const Rle& ring() {
    if (!ring_ready_) ring_ = rle_boundary(whole(), reach_of(head()[0], head()[1], boundary_));
    ring_ready_ = true;
    return ring_;
  }

 private:
  const MaskColumn* column_ = nullptr;
  std::size_t row_ = 0;
  double boundary_ = 0;
  bool ready_ = false, ring_ready_ = false;
  Rle rle_, ring_;
};

double iou_of(Decoded& d, Decoded& g, bool crowd, double boundary, double least) {
  if (d.head()[0] != g.head()[0] || d.head()[1] != g.head()[1]) return -1;
  const Extent a = d.extent(), b = g.extent();
  const double most = most_iou(a, b, crowd);
  if (most == 0 || most < least) return 0;
  const double iou = pixel_iou(common_pixels(d.whole(), g.whole()), a.area, b.area, crowd);
  if (boundary == 0 || iou < least) return iou;
  const Rle &inner = d.ring(), &outer = g.ring();
  const std::uint32_t common = common_pixels(inner, outer);
  return std::min(iou, pixel_iou(common, extent_of(inner).area, extent_of(outer).area, crowd));
}

}  // namespace

std::size_t check_cell_masks(const CellMasks& in) {
  check_column(in.detected);
  check_column(in.truth);
  require(in.boundary >= 0 && in.boundary <= 1, "the boundary's share of the diagonal is from 0 to 1");
  require(in.crowd.size() == in.t_rows.size(), "one crowd flag for each truth");
  return check_cells_of({in.d_begin, in.t_begin, in.d_rows, in.t_rows}, in.detected.size(), in.truth.size());
}

void cell_mask_ious(const CellMasks& in, long threads, double* out) {
  const std::size_t cells = in.d_begin.size() - 1;
  const std::vector<std::size_t> before = pairs_before(in.d_begin, in.t_begin);
  constexpr std::size_t kBlock = 64;
  parallel_for((cells + kBlock - 1) / kBlock, thread_count(threads), [&](std::size_t block) {
    Decoded detection;
    std::vector<Decoded> truths;
    for (std::size_t c = block * kBlock; c < std::min(cells, (block + 1) * kBlock); ++c) {
      const auto t0 = static_cast<std::size_t>(in.t_begin[c]), t1 = static_cast<std::size_t>(in.t_begin[c + 1]);
      if (truths.size() < t1 - t0) truths.resize(t1 - t0);
      for (std::size_t g = t0; g < t1; ++g)
        truths[g - t0].show(in.truth, static_cast<std::size_t>(in.t_rows[g]), in.boundary);
      double* to = out + before[c];
      for (std::int64_t d = in.d_begin[c]; t0 < t1 && d < in.d_begin[c + 1]; ++d) {
        detection.show(in.detected, static_cast<std::size_t>(in.d_rows[static_cast<std::size_t>(d)]), in.boundary);
        for (std::size_t g = t0; g < t1; ++g)
          *to++ = iou_of(detection, truths[g - t0], in.crowd[g], in.boundary, in.least);
      }
    }
  });
}

}  // namespace steelyard
