// The Hausdorff distance of two ellipses.
//
// ---- Hausdorff ----
//
// For convex bodies the Hausdorff distance of the contours is that of the bodies, and that is the largest difference
// of the support functions: max over directions f of |<dc, f> + h1(f) - h2(f)|, h(f) = sqrt(f^T S f). One function of
// one angle, instead of a nearest point on a contour for each point of the other.
//
// A thin ellipse has a kink in h, of width b / a, at its minor axis. So the directions that are looked at are the
// normals at evenly spaced parameters of both ellipses, which crowd there, and an even grid: between neighbours the
// function is plain, and where its slope changes sign the extreme is found by bisection-guarded Newton steps.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "ellipses/ellipse.hpp"

namespace steelyard {

struct HausdorffDistance {
  static constexpr int kOwn = 16, kEven = 16, kNodes = 2 * kOwn + kEven;

  // Value and slope, along the angle, of the support function in the direction (c, s).
  static void support(const Ellipse& e, double c, double s, double& value, double& slope, double& bend) {
    const double along = c * e.c + s * e.s, across = s * e.c - c * e.s;
    const double u = e.a * along, v = e.b * across;
    value = std::sqrt(u * u + v * v);
    slope = -2.0 * e.q * along * across / value;
    const double radius = e.g / value * (e.g / value) / value;  // of curvature: h + h''
    bend = radius - value;
  }

  // A direction in the upper half plane; `order` rises with its angle.
  struct Direction {
    double order, c, s;
  };
  struct Node {
    Direction at;
    double difference, slope, offset, offset_slope;  // of h1 - h2, and of <dc, f>
  };

  static Direction direction(double x, double y) {
    const double scale = (y < 0.0 || (y == 0.0 && x < 0.0) ? -1.0 : 1.0) / std::sqrt(x * x + y * y);
    const double c = x * scale, s = y * scale;
    return {c >= 0.0 ? s / (1.0 + c) : 2.0 - s / (1.0 - c), c, s};
  }

  double operator()(const Ellipse& u, const Ellipse& v) const {
    const double dx = u.x - v.x, dy = u.y - v.y;
    Direction directions[kNodes];
    std::copy_n(even, kEven, directions);
    int count = kEven;
    for (const Ellipse* e : {&u, &v}) {
      const double flat = e->b / e->a;
      for (int i = 0; i < kOwn; ++i) {
        // The normal at parameter t is (b cos t, a sin t) in the ellipse's own frame.
        const double nx = flat * cosine[i], ny = sine[i];
        if (nx == 0.0 && ny == 0.0) continue;
        directions[count++] = direction(e->c * nx - e->s * ny, e->s * nx + e->c * ny);
      }
    }
    std::sort(directions, directions + count, [](const Direction& x, const Direction& y) { return x.order < y.order; });

    auto look = [&](const Direction& at) {
      Node n;
      n.at = at;
      double h1, h2, d1, d2, bend;
      support(u, at.c, at.s, h1, d1, bend);
      support(v, at.c, at.s, h2, d2, bend);
      n.difference = h1 - h2, n.slope = d1 - d2;
      n.offset = dx * at.c + dy * at.s, n.offset_slope = dy * at.c - dx * at.s;
      return n;
    };
    double best = 0.0;
    const Node first = look(directions[0]);
    Node left = first;
    for (int i = 0; i < count; ++i) {
      const bool last = i + 1 == count;
      Node right = last ? first : look(directions[i + 1]);
      if (last) right.offset = -first.offset, right.offset_slope = -first.offset_slope;  // half a turn on
      best = std::max(best, std::fabs(left.offset) + std::fabs(left.difference));
      for (double sign : {1.0, -1.0}) {
        const double from = sign * left.offset_slope + left.slope, to = sign * right.offset_slope + right.slope;
        if ((from < 0.0) == (to < 0.0) && from != 0.0 && to != 0.0) continue;
        const double low = std::atan2(left.at.s, left.at.c);
        const double high = std::atan2(right.at.s, right.at.c) + (last ? kPi : 0.0);
        best = std::max(best, extreme(u, v, sign * dx, sign * dy, low, high, from < 0.0));
      }
      left = right;
    }
    return best;
  }

  // |<d, f> + h1 - h2| where its slope is 0, between two angles.
  static double extreme(const Ellipse& u, const Ellipse& v, double dx, double dy, double low, double high,
                        bool rising) {
    double angle = 0.5 * (low + high), value = 0.0;
    for (int i = 0; i < 60; ++i) {
      const double c = std::cos(angle), s = std::sin(angle);
      double h1, h2, d1, d2, b1, b2;
      support(u, c, s, h1, d1, b1);
      support(v, c, s, h2, d2, b2);
      value = dx * c + dy * s + h1 - h2;
      const double slope = dy * c - dx * s + d1 - d2, bend = -(dx * c + dy * s) + b1 - b2;
      if (slope == 0.0) break;
      ((slope < 0.0) == rising ? low : high) = angle;
      double next = angle - slope / bend;
      if (!(next > low && next < high)) next = 0.5 * (low + high);
      const double moved = std::fabs(next - angle);
      angle = next;
      if (moved < 1e-9) break;  // the value is flat there
    }
    return std::fabs(value);
  }

  double cosine[kOwn], sine[kOwn];
  Direction even[kEven];

  HausdorffDistance() {
    for (int i = 0; i < kOwn; ++i) cosine[i] = std::cos(kPi * i / kOwn), sine[i] = std::sin(kPi * i / kOwn);
    for (int i = 0; i < kEven; ++i) even[i] = direction(std::cos(kPi * i / kEven), std::sin(kPi * i / kEven));
  }
};

}  // namespace steelyard
