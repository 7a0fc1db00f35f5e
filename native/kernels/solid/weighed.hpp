// Weights of frames for curves that are walked in steps of one: see kitti_places.cpp and centre_scores.cpp.
#pragma once

#include <cmath>
#include <cstdint>

namespace steelyard::solid {

// A step of one must move a sum of weights and a recall. Above this many weighed truths all weights are divided by a
// power of two, which leaves every ratio the same to the bit.
constexpr int kMostTruthBits = 44;

struct Weighed {
  const double* weights;  // null: 1
  double scale = 1;

  // The number of weighed truths after scaling.
  double scaled(double truths) {
    const int bits = std::ilogb(truths);
    scale = bits > kMostTruthBits ? std::ldexp(1.0, kMostTruthBits - bits) : 1.0;
    return truths * scale;
  }
  double of(std::int32_t unit) const { return (weights ? weights[unit] : 1.0) * scale; }
};

}  // namespace steelyard::solid
