// Exact distances on a grid to the nearest place of a set. Pure C++.
//
// A grid has three axes, the last one without gaps in memory; a plane has one place along the first. Spacing is the
// size of a voxel along each axis.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace steelyard {

using Shape3 = std::array<std::size_t, 3>;
using Spacing3 = std::array<double, 3>;

// Squared distances to the nearest place of a set, at the places that are asked for; infinite where the set is empty.
// Squares are added in the order of the axes. Fastest where places are asked for in the order of the first axis.
//
// A place near the set is answered by a look around it. The first that is not has the distances of its whole slab
// worked out, by lower envelopes of parabolas. Both give the same bits: the look is taken only where every square and
// every sum of squares is exact, so for sizes that are whole multiples of 1/256.
class Nearest {
 public:
  Nearest(const std::uint8_t* set, const Shape3& shape, const Spacing3& spacing);

  double at(std::size_t z, std::size_t y, std::size_t x);
  const double* row(std::size_t z, std::size_t y);  // of all places along the last axis

 private:
  double look_around(std::size_t z, std::size_t y, std::size_t x) const;
  void hold(std::size_t z);

  Shape3 shape_;
  Spacing3 spacing_;
  std::vector<std::int32_t> steps_;  // places along the first axis to the nearest of the set; the axis' length for none
  std::vector<double> squares_;      // by steps
  bool exact_;
  std::size_t held_;                // the slab that is worked out; none at first
  std::vector<double> slab_;        // along the first two axes, and along all three in rows that are done
  std::vector<std::uint8_t> done_;  // rows of it
  std::vector<double> column_, result_, from_;
  std::vector<std::size_t> top_;
};

// Squared distance of every place to the nearest one that is set; infinite where none is.
void squared_distances(const std::uint8_t* set, const Shape3& shape, const Spacing3& spacing, double* out);

}  // namespace steelyard
