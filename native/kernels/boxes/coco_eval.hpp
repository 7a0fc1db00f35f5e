// What a drop-in for COCO's own evaluator needs: its matching and its curves, with nothing left out.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/views.hpp"

namespace steelyard {

// Cells (image and class) one after the other: cell c has the detections from d_begin[c] to d_begin[c + 1], truths
// alike.
struct Cells {
  View<std::int64_t> d_begin, t_begin;
  View<double> ious;               // of all pairs of each cell, detections by truths
  Matrix<std::uint8_t> t_ignored;  // [areas][truths]
  View<std::uint8_t> crowd, takes;
  View<double> thresholds;
};
void check_cells(const Cells& in);
// `d_match` [areas][thresholds][detections] and `t_match` [areas][thresholds][truths]: rows of the partners, -1 for
// none.
void match_cells(const Cells& in, long threads, std::int32_t* d_match, std::int32_t* t_match);

struct ReferenceRanking {
  View<std::int64_t> order;
  View<double> score;
  Matrix<std::uint8_t> hit, ignored;  // [thresholds][detections]
  double positives;
  View<double> recalls;
};
void check_reference(const ReferenceRanking& in);
// Precision and scores (thresholds, recalls), which come zeroed, and the last recall, of the detections in the order
// given.
void reference_curves(const ReferenceRanking& in, long threads, double* p, double* s, double* r);

// The number of pairs in all cells, after a check of the ranges.
std::size_t check_cell_boxes(View<std::int64_t> d_begin, View<std::int64_t> t_begin, Matrix<double> d_box,
                             Matrix<double> t_box, View<std::uint8_t> crowd);
void cell_box_ious(View<std::int64_t> d_begin, View<std::int64_t> t_begin, Matrix<double> d_box, Matrix<double> t_box,
                   View<std::uint8_t> crowd, double* out);

}  // namespace steelyard
