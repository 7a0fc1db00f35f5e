// Ellipses and the distances between two of them in closed form. The formulas stand here and nowhere else.
//
// An ellipse is kept with everything that a distance needs of it alone (the sine of its angle, its area, ...), so that
// the n x m loop has no trigonometry for most distances. Every distance is written without cancellation: equal
// ellipses are at distance 0 to the bit, and no rounding makes a square root of something negative.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace steelyard {

constexpr double kPi = 3.14159265358979323846;

struct Ellipse {
  double x, y, degrees, a, b;  // a >= b > 0, degrees in [0, 180)
  double c, s;                 // cosine and sine of the angle
  double p, q, g;              // (a^2 + b^2) / 2, (a^2 - b^2) / 2, a b
};

// `turned` false leaves out the sine and cosine, for distances that do not look at them.
inline Ellipse make_ellipse(const double* row, bool turned = true) {
  Ellipse e;
  e.x = row[0], e.y = row[1], e.degrees = row[2], e.a = row[3], e.b = row[4];
  const double t = e.degrees * (kPi / 180.0);
  e.c = turned ? std::cos(t) : 1.0, e.s = turned ? std::sin(t) : 0.0;
  e.p = 0.5 * (e.a * e.a + e.b * e.b);
  e.q = 0.5 * (e.a - e.b) * (e.a + e.b);
  e.g = e.a * e.b;
  return e;
}

// ---- distances in closed form ----

struct ParamDistance {
  double w[5];  // weights of x, y, angle, a, b

  double operator()(const Ellipse& u, const Ellipse& v) const {
    double turn = std::fabs(u.degrees - v.degrees);
    turn = std::min(turn, 180.0 - turn);
    if (u.a == u.b || v.a == v.b) turn = 0.0;  // a circle has no angle
    return w[0] * std::fabs(u.x - v.x) + w[1] * std::fabs(u.y - v.y) + w[2] * turn + w[3] * std::fabs(u.a - v.a) +
           w[4] * std::fabs(u.b - v.b);
  }
};

inline double squared_centers(const Ellipse& u, const Ellipse& v) {
  const double dx = u.x - v.x, dy = u.y - v.y;
  return dx * dx + dy * dy;
}

struct CenterDistance {
  double operator()(const Ellipse& u, const Ellipse& v) const { return std::sqrt(squared_centers(u, v)); }
};

// sin^2 of the angle between the major axes.
inline double sine_squared(const Ellipse& u, const Ellipse& v) {
  const double s = u.s * v.c - u.c * v.s;
  return s * s;
}

// W2 between Gaussians whose standard deviations are the half axes:
//     W^2 = |dc|^2 + tr(S1 + S2 - 2 (S1^1/2 S2 S1^1/2)^1/2).
// With p, q, g as above the trace is 2 (p1 + p2 - r), r^2 = 2 p1 p2 + 2 q1 q2 cos 2d + 2 g1 g2; multiplied by
// (p1 + p2 + r) / (p1 + p2 + r) the difference of large numbers becomes a sum of squares.
struct WassersteinDistance {
  double operator()(const Ellipse& u, const Ellipse& v) const {
    const double s2 = sine_squared(u, v), dq = u.q - v.q, dg = u.g - v.g;
    const double r2 = 2.0 * (u.p * v.p + u.q * v.q * (1.0 - 2.0 * s2) + u.g * v.g);
    const double shape = (dq * dq + 4.0 * u.q * v.q * s2 + dg * dg) / (u.p + v.p + std::sqrt(std::max(r2, 0.0)));
    return std::sqrt(squared_centers(u, v) + 2.0 * shape);
  }
};

// Hellinger distance of Gaussians with the covariances of the two uniform ellipses (half axes squared over 4):
// sqrt(1 - exp(-BD)); ProbIoU is 1 minus it. det((S1 + S2) / 2) / sqrt(det S1 det S2) = 1 + excess.
struct ProbIouDistance {
  double operator()(const Ellipse& u, const Ellipse& v) const {
    const double s2 = sine_squared(u, v), dg = u.g - v.g, cross = u.a * v.b - u.b * v.a;
    const double excess = (dg * dg + cross * cross + 4.0 * u.q * v.q * s2) / (4.0 * u.g * v.g);
    // The sum of the two shape matrices (half axes squared), and the centres' difference in it.
    const double u2 = 2.0 * u.q, v2 = 2.0 * v.q;
    const double yy = u2 * u.s * u.s + u.b * u.b + v2 * v.s * v.s + v.b * v.b;
    const double xy = u2 * u.c * u.s + v2 * v.c * v.s;
    const double det = 4.0 * u.g * v.g * (1.0 + excess);
    const double dx = u.x - v.x, dy = u.y - v.y;
    // Written as a square plus a rest: yy dx^2 - 2 xy dx dy + xx dy^2 with yy > 0.
    const double along = yy * dx - xy * dy;
    const double form = (along * along / yy + det * dy * dy / yy) / det;
    // S = (S1 + S2) / 2 with covariances shape / 4, so S = (shape1 + shape2) / 8 and form is d^T (8 S)^-1 d.
    const double distance = form + 0.5 * std::log1p(excess);
    return std::sqrt(std::max(0.0, -std::expm1(-distance)));
  }
};

}  // namespace steelyard
