// The focal loss of logits in single precision, and its derivative, in one pass over memory as it lies.
//
// Of z = -x where the class is the anchor's, else x, the loss is a sigmoid(z)^g softplus(z). Almost all elements are of
// the second kind: they are computed in long stretches, and the few others apart (wide/focal_stretches.cpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace steelyard {

constexpr std::int32_t kNotCounted = -2;  // a label

enum class FocalPower { none, one, one_and_half, two };

// A stretch of logits. One does not count where its label is `left_out` or kNotCounted: its loss and its slope are 0.
struct FocalStretch {
  const float* x;
  const std::int32_t* labels;
  std::size_t n;
  std::int32_t left_out;
  float alpha;
  FocalPower power;
  float* slope;  // or null
};

struct FocalSettings {
  float alpha_class, alpha_background;
  FocalPower power;
};

// Where logits and labels of anchors lie: along two axes of lines, and along a line. A class of a line is one stretch.
struct FocalPlanes {
  std::array<std::size_t, 3> size;    // lines by two axes, anchors of a line
  std::array<std::size_t, 2> logits;  // from line to line
  std::size_t by_class;
  std::array<std::size_t, 3> labels;
  std::size_t classes;
};

// The sum of the loss. Anchors in planes of a class each, or with all classes of an anchor one after the other.
// `slope`, which may be null, lies as the logits do.
double focal_of_planes(const float* x, const std::int64_t* labels, const FocalPlanes& planes,
                       const FocalSettings& settings, float* slope, std::size_t threads);
double focal_of_rows(const float* x, const std::int64_t* labels, std::size_t rows, std::size_t classes,
                     const FocalSettings& settings, float* slope, std::size_t threads);

}  // namespace steelyard
