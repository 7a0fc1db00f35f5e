// Masks as columns, which the drop-in for pycocotools keeps of a file: COCO's compressed texts, one behind the other,
// with the size and the extent of each. A run takes four bytes as a number and about one as text; the texts are decoded
// again only where the extents of a pair leave a chance.
#pragma once

#include <cstddef>
#include <cstdint>

#include "masks/rle.hpp"
#include "support/views.hpp"

namespace steelyard {

struct MaskColumn {
  Matrix<std::uint32_t> heads;  // kPackedHead words of each mask
  View<std::int64_t> begin;     // where each text begins, and where the last one ends
  View<char> texts;

  std::size_t size() const { return heads.rows; }
};

// Cells of an evaluation as in coco_eval.hpp, and the rows of both columns that lie in them.
struct CellMasks {
  View<std::int64_t> d_begin, t_begin;
  View<std::int32_t> d_rows, t_rows;
  MaskColumn detected, truth;
  View<std::uint8_t> crowd;  // of the truths in the cells
  double boundary;           // share of the diagonal; above 0: the lesser of IoU and boundary IoU
  double least;              // a pair below it may be 0
};
// The number of pairs in all cells, after all checks.
std::size_t check_cell_masks(const CellMasks& in);
// IoU of all pairs in each cell, flat; -1 where the sizes of two masks differ.
void cell_mask_ious(const CellMasks& in, long threads, double* out);

}  // namespace steelyard
