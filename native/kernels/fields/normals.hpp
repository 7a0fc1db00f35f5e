// Surface normals: the angles between two vectors of each valid pixel, and what is kept of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/views.hpp"

namespace steelyard {

// Angles in degrees of pixels whose truth is a finite vector of some length and whose mask is on, packed into `angles`
// (room for all pixels); returns how many. Vectors have three values each, of any length; a prediction of length 0 is
// 90 degrees off and counted in `zero`; `bad` counts predictions that are not finite, `first` is the place of the
// first.
template <typename T>
std::size_t measure_angles(const T* truth, const T* prediction, const std::uint8_t* mask, std::size_t pixels,
                           double* angles, std::size_t& zero, std::size_t& bad, std::size_t& first);

constexpr std::size_t kAngleBins = 1141;
// The bin of an angle: the first for exactly 0, then 0.05 degrees wide up to 30, 0.1 up to 60, 0.5 up to 180.
std::size_t angle_bin(double angle);

// Sums of the angles and of their squares; `below[k]` counts angles < limits[k]; `bins` counts by bin.
void sum_angles(View<double> angles, View<double> limits, double sums[2], double* below, std::int64_t* bins);

}  // namespace steelyard
