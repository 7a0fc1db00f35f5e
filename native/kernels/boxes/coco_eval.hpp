// What a drop-in for COCO's own evaluator needs: its matching and its curves, with nothing left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

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

// Cells by category, and what accumulation needs besides their matches.
struct ScoredCells {
  Cells cells;
  View<std::int64_t> category;     // of each cell, rising
  View<double> score;              // of each detection; in a cell they fall
  Matrix<std::uint8_t> d_outside;  // [areas][detections]
  View<std::uint8_t> t_counts;     // whether a match with this truth counts as one
  View<std::int64_t> limits;       // most detections of a cell
  View<double> recalls;
  std::size_t categories;
};
void check_scored(const ScoredCells& in);
// Precision and scores [categories][areas][limits][thresholds][recalls] and the last recall [..][thresholds], which
// come filled with -1 and stay so where no truth counts: as the reference accumulates them.
void score_cells(const ScoredCells& in, long threads, double* precision, double* scores, double* recall);

// One side of an evaluation: the places of category and image of each row, and scores unless it is the truth.
struct CellRows {
  View<std::int32_t> category, image;
  View<double> score;
  std::size_t categories, images;
  bool by_category;  // else a cell is an image, and its rows go by category before they go by score
};
// The rows by cell, and in a cell by falling score; equal ones keep their order, and a score that is not a number is
// last.
void order_cells(const CellRows& in, std::int32_t* order);

// Where the IoUs of each cell begin, and their number.
std::vector<std::size_t> pairs_before(View<std::int64_t> d_begin, View<std::int64_t> t_begin);

// The rows of both sides that lie in the cells.
struct CellPairs {
  View<std::int64_t> d_begin, t_begin;
  View<std::int32_t> d_rows, t_rows;
};
// The number of pairs in all cells, after a check of the ranges and rows.
std::size_t check_cells_of(const CellPairs& in, std::size_t detections, std::size_t truths);

// Boxes of both sides, and the rows that lie in the cells.
struct CellBoxes {
  View<std::int64_t> d_begin, t_begin;
  View<std::int32_t> d_rows, t_rows;
  Matrix<double> d_box, t_box;
  View<std::uint8_t> crowd;  // of the truths in the cells
};
// The number of pairs in all cells, after a check of the ranges.
std::size_t check_cell_boxes(const CellBoxes& in);
void cell_box_ious(const CellBoxes& in, double* out);

}  // namespace steelyard
