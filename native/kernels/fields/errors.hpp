// Errors of disparity and flow: sums over the pixels of one image, by region and speed. Pure C++; no Python here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace steelyard {

// Pixels that are summed: those whose bit `region` is set (all where it is negative), and whose true length is at
// least `low` and below `high`.
struct FieldGroup {
  std::int32_t region;
  double low, high;
};

// What is summed. The columns of a group: valid pixels, those with an estimate; of these the errors, their squares, the
// weights of WAUC, the angles in radians, the outliers by our rule and by KITTI's, and those above each threshold.
struct FieldRequest {
  std::span<const FieldGroup> groups;
  std::span<const double> thresholds;
  bool wauc, angles, kitti;
};

constexpr std::size_t kFieldColumns = 8;

// `truth` and `found` have `channels` (1 or 2) values for each of n pixels; a value that is not finite, or beyond 1e9,
// means that there is none. `several` truths lie one behind the other, for each pixel: the error is the smallest. A
// pixel is invalid where all truths are missing; for outliers and lengths see `pixel_of_several`. `bits` are the
// regions of each pixel, or null. `errors` is null or takes the error of each pixel, nan where there is none.
template <typename T>
void field_errors(const T* truth, const T* found, const std::uint32_t* bits, std::size_t n, std::size_t channels,
                  std::size_t several, const FieldRequest& request, double* sums, double* errors);

// Fills the pixels without an estimate as KITTI does: a gap in a row takes the smaller end (of each channel), the ends
// of a row the nearest value, empty rows at the top and bottom the nearest row. Others keep `rest`.
template <typename T>
void fill_rows(T* values, std::size_t height, std::size_t width, std::size_t channels, T rest);

}  // namespace steelyard
