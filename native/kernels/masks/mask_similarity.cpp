#include "masks/mask_similarity.hpp"

#include <algorithm>
#include <cmath>

#include "support/pool.hpp"

namespace steelyard {
namespace {

double iou_of(const Prepared& d, std::size_t i, const Prepared& g, std::size_t j, bool crowd, double least) {
  const Extent &a = d.extent[i], &b = g.extent[j];
  if (d.runs[i].height != g.runs[j].height || d.runs[i].width != g.runs[j].width) return 0;
  const double most = most_iou(a, b, crowd);
  if (most == 0 || most < least) return 0;
  return pixel_iou(common_pixels(d.runs[i], g.runs[j]), a.area, b.area, crowd);
}

inline Extent known_extent(const RunsView& packed) { return packed_extent(packed.counts - kPackedHead); }
inline Extent known_extent(const Rle& rle) { return extent_of(rle); }

template <typename Masks>
void prepare_all(MaskIou& similarity, bool truth, const Masks& masks, double ratio, std::size_t threads) {
  constexpr std::size_t kBlock = 256;
  parallel_for((masks.size() + kBlock - 1) / kBlock, threads, [&](std::size_t block) {
    for (std::size_t i = block * kBlock; i < std::min(masks.size(), (block + 1) * kBlock); ++i) {
      similarity.set(truth, i, masks[i], known_extent(masks[i]), ratio);
    }
  });
}

}  // namespace

std::uint32_t reach_of(std::uint32_t height, std::uint32_t width, double ratio) {
  const double h = height, w = width;
  const double reach = std::nearbyint(ratio * std::sqrt(h * h + w * w));
  return reach < 1 ? 1 : static_cast<std::uint32_t>(std::min(reach, 1e9));
}

MaskIou::MaskIou(std::size_t detections, std::size_t truths, bool boundary) : boundary_(boundary) {
  d_.resize(detections);
  t_.resize(truths);
  if (boundary) {
    d_edge_.resize(detections);
    t_edge_.resize(truths);
    d_rings_.resize(detections);
    t_rings_.resize(truths);
  }
}

double MaskIou::of(std::size_t detection, std::size_t truth, bool crowd, double least) const {
  const double iou = iou_of(d_, detection, t_, truth, crowd, least);
  if (!boundary_ || iou < least) return iou;
  return std::min(iou, iou_of(d_edge_, detection, t_edge_, truth, crowd, least));
}

void MaskIou::set(bool truth, std::size_t i, const RunsView& mask, const Extent& extent, double ratio) {
  (truth ? t_ : d_).set(i, mask, extent);
  if (!boundary_) return;
  Rle& edge = (truth ? t_rings_ : d_rings_)[i];
  const Rle whole{mask.height, mask.width, std::vector<std::uint32_t>(mask.counts, mask.counts + mask.size)};
  edge = rle_boundary(whole, reach_of(mask.height, mask.width, ratio));
  (truth ? t_edge_ : d_edge_).set(i, edge, extent_of(edge));
}

void prepare(MaskIou& similarity, bool truth, const std::vector<RunsView>& packed, double ratio, std::size_t threads) {
  prepare_all(similarity, truth, packed, ratio, threads);
}

void prepare(MaskIou& similarity, bool truth, const std::vector<Rle>& masks, double ratio, std::size_t threads) {
  prepare_all(similarity, truth, masks, ratio, threads);
}

}  // namespace steelyard
