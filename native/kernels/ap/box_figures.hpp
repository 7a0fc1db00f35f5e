// Average precision and its kin of matched detections, under rows of image weights.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ap/box_events.hpp"

namespace steelyard {

enum Kind : int { kCoco = 0, kGrid = 1, kArea = 2, kStep = 3, kMiss = 4, kBestF1 = 5, kRecall = 6 };

constexpr std::size_t kCountedLanes = 32;
constexpr std::size_t kMostPoints = 127;   // of the grid: their sum must stay below 2^31

// Precision and scores [thresholds][grid][classes] and the last recall [thresholds][classes], under one row of weights;
// nan for a class without truth.
void box_curves(const Ranked& in, View<double> weights, View<double> grid, long threads, double* precision, double* scores,
                double* recall);
// A figure and the recall, mean over the classes with truth, [rows][thresholds].
void box_figures(const Ranked& in, Matrix<double> weights, int kind, View<double> grid, long threads, double* value,
                 double* recall);
// The same to 1.2e-7 for rows of counts, [groups][units][kCountedLanes]; of kCoco, kGrid, kStep and kRecall. `wide` counts in 64
// bits, as is done for large classes anyway, with the same results.
void box_draws(const Ranked& in, const std::uint8_t* counts, std::size_t rows, int kind, View<double> grid, bool wide, long threads,
               double* value, double* recall);

}  // namespace steelyard
