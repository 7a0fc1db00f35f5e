// Surfaces of masks in two or three dimensions, exact distances between them, and connected parts. Pure C++.
//
// Grids are those of distances.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "maps/distances.hpp"

namespace steelyard {

// What the surface of a mask is. `voxels`: those that touch the outside by a face, each of weight 1. `elements`: points
// between 2 x 2 (x 2) voxels of which some are inside and some are not, with the length or area that marching squares
// or cubes give there.
enum class SurfaceOf { voxels, elements };

// Distances from the points of a surface to the nearest of another, rising, equal ones joined.
struct SurfaceDistances {
  std::vector<double> distance, weight;
  std::vector<std::int64_t> count;
};

// From the surface of `a` to that of `b`, and back. Both empty where either mask is.
void surface_distances(const std::uint8_t* a, const std::uint8_t* b, const Shape3& shape, const Spacing3& spacing,
                       bool plane, SurfaceOf method, SurfaceDistances& from_a, SurfaceDistances& from_b);

// Lengths of 16 or areas of 256 neighbourhoods, by the code of their voxels: the first has the highest bit.
std::vector<double> element_sizes(const Spacing3& spacing, bool plane);

// Numbers of connected parts from 1, in the order of their first voxels, 0 outside: neighbours share a corner.
std::int32_t connected_parts(const std::uint8_t* mask, const Shape3& shape, std::int32_t* out);

// The mask grown so many times by neighbours that share a face or an edge.
void dilate_mask(const std::uint8_t* mask, const Shape3& shape, std::size_t times, std::uint8_t* out);

// The smallest box around each value of a map, and how many voxels have it, by value: first and last place of each
// axis.
struct ValueBoxes {
  std::vector<std::uint32_t> value;
  std::vector<std::int64_t> box, count;
};
template <typename T>
ValueBoxes value_boxes(const T* map, const Shape3& shape);

}  // namespace steelyard
