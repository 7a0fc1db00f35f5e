// Quadrilaterals and rotated rectangles: their corners, areas and shapes, what two of them share, and the IoU.
// The one place where the formula stands.
//
// Clipping is exact but for rounding: no epsilon decides what is inside, so boxes that nearly coincide keep their true
// overlap. Both are moved next to the origin first, which keeps the digits of boxes that lie far away.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace steelyard {

struct Corner {
  double x, y;
};
using Quad = std::array<Corner, 4>;

// x1 y1 ... x4 y4, in order around, seen from `origin`.
inline Quad quad_of(const double* eight, Corner origin = {0, 0}) {
  Quad q;
  for (std::size_t i = 0; i < 4; ++i) q[i] = {eight[2 * i] - origin.x, eight[2 * i + 1] - origin.y};
  return q;
}

// A rectangle: centre, width along the direction `angle`, height across; the angle in radians, x towards y.
inline Quad rectangle_of(double cx, double cy, double width, double height, double angle) {
  const double c = std::cos(angle) / 2, s = std::sin(angle) / 2;
  const double ax = c * width, ay = s * width, bx = -s * height, by = c * height;
  return {{{cx - ax - bx, cy - ay - by},
           {cx + ax - bx, cy + ay - by},
           {cx + ax + bx, cy + ay + by},
           {cx - ax + bx, cy - ay + by}}};
}

// How far left of the line from a to b the point lies, times the length of the line.
inline double side_of(Corner a, Corner b, Corner p) { return (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x); }

// Twice the area, positive where the corners turn x towards y.
inline double twice_signed_area(const Corner* p, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 2; i < n; ++i) sum += side_of(p[0], p[i - 1], p[i]);
  return sum;
}

inline double quad_area(const Quad& q) { return std::fabs(twice_signed_area(q.data(), 4)) / 2; }

enum class QuadShape : std::uint8_t { kConvex, kDented, kCrossed, kFlat };

// A corner that turns the other way dents the outline; two such corners cross it. What rounding could have bent is
// straight. `dent` gets the place of the corner that dents.
inline QuadShape quad_shape(const Quad& q, std::size_t& dent) {
  double most = 0;
  for (std::size_t i = 1; i < 4; ++i) most = std::max({most, std::fabs(q[i].x - q[0].x), std::fabs(q[i].y - q[0].y)});
  const double noise = 16 * 2.220446049250313e-16 * most * most;
  std::size_t left = 0, right = 0, last_left = 0, last_right = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const double turn = side_of(q[(i + 3) % 4], q[i], q[(i + 1) % 4]);
    if (turn > noise) ++left, last_left = i;
    if (turn < -noise) ++right, last_right = i;
  }
  if (left == 0 && right == 0) return QuadShape::kFlat;
  if (left >= 2 && right >= 2) return QuadShape::kCrossed;
  if (left == 0 || right == 0) return QuadShape::kConvex;
  dent = left < right ? last_left : last_right;
  return QuadShape::kDented;
}

// The area that two convex outlines share. Both must turn x towards y; corners may coincide.
inline double convex_common_area(const Corner* a, std::size_t n, const Corner* b, std::size_t m) {
  // Each of the four cuts adds at most half as many corners as there are, even where rounding bends an outline.
  std::array<Corner, 24> first, second;
  Corner *from = first.data(), *to = second.data();
  std::copy(a, a + n, from);
  for (std::size_t e = 0; e < m && n > 0; ++e) {
    const Corner p = b[e], q = b[(e + 1) % m];
    std::size_t kept = 0;
    Corner last = from[n - 1];
    double last_side = side_of(p, q, last);
    for (std::size_t i = 0; i < n; ++i) {
      const Corner here = from[i];
      const double side = side_of(p, q, here);
      if ((side > 0 && last_side < 0) || (side < 0 && last_side > 0)) {
        const double t = last_side / (last_side - side);
        to[kept++] = {last.x + t * (here.x - last.x), last.y + t * (here.y - last.y)};
      }
      if (side >= 0) to[kept++] = here;
      last = here;
      last_side = side;
    }
    std::swap(from, to);
    n = kept;
  }
  return n < 3 ? 0 : std::max(0.0, twice_signed_area(from, n) / 2);
}

// One or two convex parts of a quadrilateral, each turning x towards y.
struct ConvexParts {
  std::array<std::array<Corner, 4>, 2> part;
  std::array<std::size_t, 2> corners{};
  std::size_t count = 0;
};

inline ConvexParts convex_parts(Quad q) {
  ConvexParts out;
  if (twice_signed_area(q.data(), 4) < 0) std::reverse(q.begin(), q.end());
  std::size_t dent = 0;
  if (quad_shape(q, dent) != QuadShape::kDented) {
    out.part[0] = q;
    out.corners[0] = 4;
    out.count = 1;
    return out;
  }
  const Corner a = q[dent], b = q[(dent + 1) % 4], c = q[(dent + 2) % 4], d = q[(dent + 3) % 4];
  out.part[0] = {a, b, c, c};
  out.part[1] = {a, c, d, d};
  out.corners = {3, 3};
  out.count = 2;
  return out;
}

// The area that two quadrilaterals share; a dented one is its two triangles. Neither may be crossed.
inline double common_area(const Quad& a, const Quad& b) {
  const ConvexParts first = convex_parts(a), second = convex_parts(b);
  double sum = 0;
  for (std::size_t i = 0; i < first.count; ++i) {
    for (std::size_t j = 0; j < second.count; ++j) {
      sum += convex_common_area(first.part[i].data(), first.corners[i], second.part[j].data(), second.corners[j]);
    }
  }
  return std::min({sum, quad_area(a), quad_area(b)});
}

// From 0 to 1; with a crowd the share of `d` that lies inside `g`. Without an area on either side 0.
inline double quad_iou(const Quad& d, const Quad& g, bool crowd) {
  const double d_area = quad_area(d), g_area = quad_area(g);
  if (!(d_area > 0) || !(g_area > 0)) return 0;
  const double common = common_area(d, g);
  return std::min(1.0, common / (crowd ? d_area : d_area + g_area - common));
}

// The same of corners [x1 y1 ... x4 y4], moved to the first corner of `g`.
inline double quad_iou(const double* d, const double* g, bool crowd) {
  const Corner origin{g[0], g[1]};
  return quad_iou(quad_of(d, origin), quad_of(g, origin), crowd);
}

// The same of rectangles [cx, cy, width, height, angle], moved to the centre of `g`.
inline double rectangle_iou(const double* d, const double* g, bool crowd) {
  return quad_iou(rectangle_of(d[0] - g[0], d[1] - g[1], d[2], d[3], d[4]), rectangle_of(0, 0, g[2], g[3], g[4]),
                  crowd);
}

}  // namespace steelyard
