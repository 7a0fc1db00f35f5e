// How alike two masks are. Every mask is prepared once (its runs, area and box); a pair is compared only where the
// overlap of the boxes, or the ratio of the areas, leaves a chance to reach the lowest threshold: few pairs do.
#pragma once

#include <algorithm>
#include <vector>

#include "boxes/boxes.hpp"
#include "masks/rle.hpp"

namespace steelyard {

// How far from its end a mask's boundary reaches: a share of the image's diagonal, at least a pixel.
std::uint32_t reach_of(std::uint32_t height, std::uint32_t width, double ratio);

// One side as matching needs it: where the counts are, and what tells most pairs apart without them.
struct Prepared {
  std::vector<RunsView> runs;
  std::vector<Extent> extent;

  void resize(std::size_t n) {
    runs.resize(n);
    extent.resize(n);
  }
  void set(std::size_t i, const RunsView& mask, const Extent& known) {
    runs[i] = mask;
    extent[i] = known;
  }
};

// The highest IoU that the boxes and areas of two masks of one size leave possible; 0 where they have nothing in
// common.
inline double most_iou(const Extent& a, const Extent& b, bool crowd) {
  const std::uint32_t left = std::max(a.left, b.left), right = std::min(a.right, b.right);
  const std::uint32_t top = std::max(a.top, b.top), low = std::min(a.low, b.low);
  if (left >= right || top >= low) return 0;
  const std::uint64_t box = std::uint64_t{right - left} * (low - top);
  const auto most = static_cast<std::uint32_t>(std::min<std::uint64_t>({box, a.area, b.area}));
  return pixel_iou(most, a.area, b.area, crowd);
}

class MaskIou : public Similarity {
 public:
  // Without `boundary` by the whole masks; with it, by the lesser of that and the IoU of the boundaries.
  MaskIou(std::size_t detections, std::size_t truths, bool boundary);
  double of(std::size_t detection, std::size_t truth, bool crowd, double least) const override;
  // `ratio` above 0 keeps the boundary as well. Every row by itself, from any thread.
  void set(bool truth, std::size_t i, const RunsView& mask, const Extent& extent, double ratio);

 private:
  Prepared d_, t_, d_edge_, t_edge_;
  std::vector<Rle> d_rings_, t_rings_;
  bool boundary_;
};

// Prepares one side. RunsView must be packed, with the head before their counts.
void prepare(MaskIou& similarity, bool truth, const std::vector<RunsView>& packed, double ratio, std::size_t threads);
void prepare(MaskIou& similarity, bool truth, const std::vector<Rle>& masks, double ratio, std::size_t threads);

}  // namespace steelyard
