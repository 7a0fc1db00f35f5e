// The arguments and results of matching, shared by boxes, masks and keypoints.
#pragma once

#include "arrays.hpp"
#include "boxes/boxes.hpp"

namespace steelyard {

// The arrays behind Objects, kept alive.
struct ObjectArrays {
  In1<Row> t_image, t_label;
  In2<double> t_box;
  In1<double> t_area;
  In1<std::uint8_t> t_flags;
  In1<Row> d_image, d_label;
  In2<double> d_box;
  In1<double> d_score;
  std::size_t images, labels;
  In1<double> ious;
  In2<double> areas;
  std::size_t most;
  bool voc, partners;
  long threads;

  Objects objects() const {
    return {view(t_image), view(t_label), view(t_box),   view(t_area), view(t_flags), view(d_image),
            view(d_label), view(d_box),   view(d_score), images,       labels,        view(ious),
            view(areas),   most,          voc,           partners,     threads};
  }
};

// Begin and end of each class, rows, ranks, hits, ignored; begin of each class of truths, their rows; partners,
// overlaps.
using MatchedArrays =
    Tuple<Out<std::int64_t>, Out<std::int64_t>, Out<std::int32_t>, Out<std::uint16_t>, Out<std::uint32_t>,
          Out<std::uint32_t>, Out<std::int64_t>, Out<std::int32_t>, Out<std::int32_t>, Out<double>>;

// Checks, matches, and gives the arrays that boxes_match describes.
MatchedArrays match_arrays(const ObjectArrays& arrays, const Similarity* similarity, const double* d_area);

}  // namespace steelyard
