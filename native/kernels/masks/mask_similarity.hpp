// How alike two masks are. Every mask is prepared once (its runs, area and box); a pair is compared only where the
// overlap of the boxes, or the ratio of the areas, leaves a chance to reach the lowest threshold: few pairs do.
#pragma once

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
