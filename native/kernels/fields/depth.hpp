// Depth maps: the valid pixels of a pair of maps, the moments that an alignment is fitted to, sums of errors, and
// edges.
//
// Sums are kept in four lanes that are added in a fixed order, so that their bits depend on the pixels alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/views.hpp"

namespace steelyard {

// Rows [top, bottom) and columns [left, right) of a map of height x width pixels; low < g < high, or closed.
struct DepthValid {
  std::size_t height, width, top, bottom, left, right;
  double low, high;
  bool closed;
};

// Packs valid pixels into `g` and `x` (room for all pixels of the box) and returns how many there are.
// `bad` counts predictions that are not finite, and `first` is the place of the first of them in the map.
template <typename T>
std::size_t pack_depth(const T* truth, const T* prediction, const std::uint8_t* mask, const DepthValid& valid,
                       double* g, double* x, std::size_t& bad, std::size_t& first);

// n, means of x and y, then the centred products xx, xy, yy; `inverse` fits to 1 / y, `positive` takes x > 0 alone.
void fit_depth(View<double> x, View<double> y, bool inverse, bool positive, double out[6]);

// What a prediction becomes before it is compared: s v + t with v = x or 1 / x; `disparity` says that this is a
// disparity, of which the larger of it and `floor` is inverted. Then it is clamped to [low, high].
struct DepthChange {
  bool invert = false, disparity = false;
  double scale = 1, shift = 0, floor = 0, low = 0, high = 0;
};

constexpr std::size_t kDepthSums = 14;
// n, sums of |e|, |e|/g, e^2/g, e^2/g^2, e^2; n of logarithms, sums of q, |q|, q^2, |1000/p - 1000/g| and its square;
// pixels clamped from below and from above. `below[k]` counts max(p, g) < thresholds[k] min(p, g), and moments are the
// mean of q and the sum of its squares about it. Where a p is not positive, logarithms and inverses are 0 of 0 pixels.
void sum_depth(View<double> g, View<double> x, const DepthChange& change, View<double> thresholds, double* sums,
               double* moments, double* below);

// Of pairs of neighbours, in four directions (left, top, right, bottom): how many exceed a ratio, by how many of the
// ratios they exceed: [4][3][ratios + 1] of prediction, truth and both; pairs that exceed none are counted or not.
// Ratios rise. `valid` may be null. Depths count from 1e-6 to 1e30, and nan as the least.
template <typename T>
void count_depth_edges(const T* truth, const T* prediction, const std::uint8_t* valid, std::size_t height,
                       std::size_t width, View<double> ratios, std::int64_t* counts);

}  // namespace steelyard
