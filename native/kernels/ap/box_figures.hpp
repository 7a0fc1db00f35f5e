// Average precision and its relatives of matched detections, under rows of image weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ap/events.hpp"
#include "ap/figures.hpp"

namespace steelyard {

// Throws where a figure cannot be read on a grid.
void check_box_figure(BoxFigure figure, View<double> grid);

// Of each point of an even grid: 1 where a recall of r / last exactly reaches it. The point is r * (1 / last), rounded
// twice.
std::vector<double> reached_points(View<double> grid);

// Precision and scores [thresholds][grid][classes] and the last recall [thresholds][classes], under one row of weights;
// nan for a class without truth. `scores` may be null.
void box_curves(const Ranked& in, View<double> weights, View<double> grid, long threads, double* precision,
                double* scores, double* recall);
// A figure and the recall, mean over the classes with truth, [rows][thresholds].
void box_figures(const Ranked& in, Matrix<double> weights, BoxFigure figure, View<double> grid, long threads,
                 double* value, double* recall);
// The same to 1.2e-7 for rows of counts, [groups][units][kCountedRows]; of coco, grid, step, best F1 (without
// the score that it is reached at) and recall. See fast.hpp.
void box_draws(const Ranked& in, const std::uint8_t* counts, std::size_t units, std::size_t rows, BoxFigure figure,
               View<double> grid, long threads, double* value, double* recall);
// The same without each group of units, every other unit once, [groups][thresholds]; see box_left_out.cpp. `group` is
// by unit; a unit in group -1 is never left out. To the second order of a group's share of a class, at most 1 in 8; of
// the four figures that are counted.
void box_left_out(const Ranked& in, View<std::int32_t> group, std::size_t groups, BoxFigure figure, View<double> grid,
                  long threads, double* value, double* recall);

}  // namespace steelyard
