// Visual information fidelity in the pixel domain. Pure C++; no Python here.
//
// Each of four levels filters five planes, x, y, x², y² and xy, with a separable Gaussian window. Strips of columns are
// filtered row by row as the window passes, so that what is read again stays in cache. wide/information_rows.cpp has
// the loops.
#pragma once

#include <cstddef>
#include <cstdint>

namespace steelyard {

constexpr std::size_t kInformationLeast = 41;  // the shortest side, with which the last window still fits
constexpr std::size_t kInformationLanes = 8;

// A row filtered along both axes: `rows` are `taps` of them, each with `planes` parts of `wide` values. The result has
// `planes` parts of wide - taps + 1 values; `between` holds one row of the input.
struct FilterRow {
  const double* const* rows;
  const double* weights;
  std::size_t taps, planes, wide;  // 3, 5, 9 or 17 taps
  double* between;
  double* out;
};

// What a row of five filtered planes tells: products of 1 + signal / noise for the distorted picture and for the
// reference, in lanes. At most kInformationLanes * 16 columns: such products stay finite for pixels up to 10^6.
struct InformationRow {
  const double* planes;
  std::size_t columns;
  double eps;
  double carried[kInformationLanes], there[kInformationLanes];
};

// Of one channel of pictures [height][width][channels], where x and y point to their first pixel and x is the
// reference: the information in bits of base 10 that the distorted picture has, and all that there is.
struct Information {
  double carried = 0, there = 0;
};
template <typename T>
Information information(const T* x, const T* y, std::size_t height, std::size_t width, std::size_t channels,
                        double scale, double eps);

}  // namespace steelyard
