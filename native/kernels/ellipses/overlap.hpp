// The area that two ellipses share, and their IoU.
//
// An affine map takes the larger ellipse to the unit disc; the other becomes an ellipse with half axes A >= B
// around (h, k), and its contour (h + A cos t, k + B sin t) crosses the circle where
//     g(t) = (h + A cos t)^2 + (k + B sin t)^2 - 1
// changes its sign. The extremes of g are bracketed in closed form (see `nodes`), so between neighbours g is monotone
// and guarded Newton steps find every crossing: no quartic is solved, and no crossing is missed. The area is the
// polygon of the crossings plus, on each side of it, the segment of the curve that is inside: a sum of terms that are
// not negative. A contact that rounding turns into a crossing or not (tangent, nested, identical ellipses) moves the
// area by a third power of rounding, so such cases need no tolerance of their own.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "ellipses/ellipse.hpp"

namespace steelyard {

namespace overlap {

// The contour of the mapped ellipse, mirrored so that h, k >= 0, which leaves the area as it is. A quarter of it is
// t = 90 Q + f degrees with w = tan(f / 2) in [0, 1]: cosine and sine are quotients of polynomials in w, so there is no
// trigonometry until the arcs are measured.
struct Contour {
  double h, k, A, B;
};

// g times (1 + w^2)^2 on one quarter, and the point of the contour.
struct Quarter {
  double x0, x1, x2, y0, y1, y2;

  Quarter(const Contour& e, int quarter) {
    constexpr double kCosine[4] = {1, 0, -1, 0}, kSine[4] = {0, 1, 0, -1};
    const double c = kCosine[quarter], s = kSine[quarter];
    x0 = e.h + e.A * c, x1 = -2.0 * e.A * s, x2 = e.h - e.A * c;
    y0 = e.k + e.B * s, y1 = 2.0 * e.B * c, y2 = e.k - e.B * s;
  }
  double x(double w) const { return x0 + w * (x1 + w * x2); }
  double y(double w) const { return y0 + w * (y1 + w * y2); }
  double value(double w) const {
    const double px = x(w), py = y(w), d = 1.0 + w * w;
    return px * px + py * py - d * d;
  }
  double slope(double w) const {
    const double px = x(w), py = y(w), d = 1.0 + w * w;
    return 2.0 * (px * (x1 + 2.0 * w * x2) + py * (y1 + 2.0 * w * y2) - 2.0 * w * d);
  }
};

// g' / 2 times (1 + w^2)^2 on one quarter: u (1 - w^4) + v w + z w^3.
struct Slope {
  double u, v, z;
  double value(double w) const { return u * (1.0 - w * w * w * w) + w * (v + z * w * w); }
  double slope(double w) const { return v + w * w * (3.0 * z - 4.0 * u * w); }
};

// Zero in [low, high] of a function that changes its sign there: Newton steps, halved where they leave the bracket.
template <typename F>
double zero(const F& f, double low, double high, bool rising, double start, double tolerance) {
  double w = start > low && start < high ? start : 0.5 * (low + high);
  for (int i = 0; i < 80; ++i) {
    const double value = f.value(w);
    if (value == 0.0) break;
    ((value < 0.0) == rising ? low : high) = w;
    double next = w - value / f.slope(w);
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    const double moved = std::fabs(next - w);
    w = next;
    if (moved <= tolerance || high - low <= tolerance) break;
  }
  return w;
}

inline double half_tangent(double tangent) { return tangent / (1.0 + std::sqrt(1.0 + tangent * tangent)); }

// (x - sin x) / 2 for x in [0, 2 pi], given its sine: the segment that an arc of x radians cuts off the unit disc.
inline double segment(double x, double sine) {
  if (x < 0.3) {
    const double y = x * x;
    return x * y / 12.0 * (1.0 - y / 20.0 * (1.0 - y / 42.0 * (1.0 - y / 72.0 * (1.0 - y / 110.0))));
  }
  return 0.5 * (x - sine);
}

struct Node {
  int quarter;
  double w, g;
};

// The ends of the quarters and the extremes of g, in order; at most 9, the last being the first again. With m = h A,
// n = k B, e = A^2 - B^2 >= 0: g' / 2 = n cos t - m sin t - e sin t cos t. It falls from n to -m in the first quarter
// and rises from -n to m in the third: one zero in each. It is positive in the fourth. In the second it starts at -m
// and ends at -n, and exceeds 0 between iff e^(2/3) > m^(2/3) + n^(2/3), most at tan^3 f = m / n: two zeros or none.
// An extreme is needed only to 1e-8: there g is flat.
inline int nodes(const Contour& k, const Quarter* quarter, Node* at) {
  constexpr double kLoose = 1e-8;
  const double m = k.h * k.A, n = k.k * k.B, e = (k.A - k.B) * (k.A + k.B);
  int count = 0;
  auto add = [&](int q, double w) { at[count++] = {q, w, quarter[q].value(w)}; };

  add(0, 0.0);
  if (n > 0.0)
    add(0, zero(Slope{n, -2.0 * (m + e), -2.0 * (m - e)}, 0.0, 1.0, false, half_tangent(n / (m + e)), kLoose));
  add(1, 0.0);
  const double rest = e * e - m * m - n * n;
  if (rest > 0.0 && rest * rest * rest > 27.0 * (e * e) * (m * m) * (n * n)) {
    const Slope f{-m, 2.0 * (e - n), -2.0 * (e + n)};
    const double top = n > 0.0 ? half_tangent(std::cbrt(m / n)) : 1.0;
    if (m > 0.0) add(1, zero(f, 0.0, top, true, half_tangent(m / (e - n)), kLoose));
    if (n > 0.0) add(1, zero(f, top, 1.0, false, half_tangent((e - m) / n), kLoose));
  }
  add(2, 0.0);
  if (m > 0.0) add(2, zero(Slope{-n, 2.0 * (m - e), 2.0 * (m + e)}, 0.0, 1.0, true, half_tangent(n / (m - e)), kLoose));
  add(3, 0.0);
  at[count++] = {3, 1.0, at[0].g};
  return count;
}

// Area of the unit disc and the ellipse.
inline double with_disc(const Contour& k) {
  const Quarter quarter[4] = {{k, 0}, {k, 1}, {k, 2}, {k, 3}};
  Node at[9];
  const int count = nodes(k, quarter, at);

  struct Crossing {
    double c, s, x, y;  // on the parameter's circle, and on the unit circle
    bool inward;        // behind it the contour is inside the disc
  };
  Crossing crossing[8];
  int crossings = 0;
  for (int i = 0; i + 1 < count; ++i) {
    const Node &from = at[i], &to = at[i + 1];
    if ((from.g < 0.0) == (to.g < 0.0)) continue;
    const int q = from.quarter;
    const double high = to.quarter == q ? to.w : 1.0;
    // The ends' values times their (1 + w^2)^2 are where a straight line would cross.
    const double below = from.g, above = to.quarter == q ? to.g : 4.0 * to.g;
    const double start = from.w + (high - from.w) * (below / (below - above));
    const double w = zero(quarter[q], from.w, high, from.g < 0.0, start, 4e-16);
    const double d = 1.0 / (1.0 + w * w), c = (1.0 - w * w) * d, s = 2.0 * w * d;
    constexpr double kCosine[4] = {1, 0, -1, 0}, kSine[4] = {0, 1, 0, -1};
    crossing[crossings++] = {c * kCosine[q] - s * kSine[q], s * kCosine[q] + c * kSine[q], quarter[q].x(w) * d,
                             quarter[q].y(w) * d, to.g < 0.0};
  }
  // Two crossings that coincide are a contact.
  for (int i = 0; i < crossings;) {
    const int j = i + 1 == crossings ? 0 : i + 1;
    if (std::fabs(crossing[i].c - crossing[j].c) + std::fabs(crossing[i].s - crossing[j].s) < 1e-9) {
      const int first = std::min(i, j), second = std::max(i, j);
      int kept = 0;
      for (int r = 0; r < crossings; ++r) {
        if (r != first && r != second) crossing[kept++] = crossing[r];
      }
      crossings = kept;
      i = 0;
    } else {
      ++i;
    }
  }
  if (crossings < 2) {
    double sum = 0.0;
    for (int i = 0; i < count; ++i) sum += at[i].g;
    if (sum <= 0.0) return kPi * k.A * k.B;  // inside the disc
    const double u = k.h / k.A, v = k.k / k.B;
    return u * u + v * v < 1.0 ? kPi * std::min(1.0, k.A * k.B) : 0.0;
  }
  double area = 0.0;
  for (int i = 1; i + 1 < crossings; ++i) {
    const Crossing &o = crossing[0], &p = crossing[i], &q = crossing[i + 1];
    area += 0.5 * std::max(0.0, (p.x - o.x) * (q.y - o.y) - (p.y - o.y) * (q.x - o.x));
  }
  for (int i = 0; i < crossings; ++i) {
    const Crossing &p = crossing[i], &q = crossing[i + 1 == crossings ? 0 : i + 1];
    if (p.inward) {
      const double sine = p.c * q.s - p.s * q.c;
      double turn = std::atan2(sine, p.c * q.c + p.s * q.s);
      if (turn < 0.0) turn += 2.0 * kPi;
      area += k.A * k.B * segment(turn, sine);
    } else {
      const double sine = p.x * q.y - p.y * q.x;
      double arc = std::atan2(sine, p.x * q.x + p.y * q.y);
      // Points that coincide up to rounding: all of the circle only where the ellipse is about as large as the disc.
      if (arc < 0.0) arc = arc > -1e-6 && k.A * k.B < 0.5 ? 0.0 : arc + 2.0 * kPi;
      area += segment(arc, sine);
    }
  }
  return area;
}

}  // namespace overlap

// Area of the overlap of two ellipses; symmetric to the bit.
inline double intersection_area(const Ellipse& first, const Ellipse& second) {
  const double reach = first.a + second.a;
  if (squared_centers(first, second) >= reach * reach) return 0.0;
  if (first.x == second.x && first.y == second.y && first.a == second.a && first.b == second.b &&
      (first.degrees == second.degrees || first.a == first.b)) {
    return kPi * first.g;  // the same ellipse, to the bit
  }
  // The larger one becomes the disc; between equal areas, the order of the numbers decides.
  auto key = [](const Ellipse& e) { return std::array<double, 6>{e.g, e.a, e.x, e.y, e.degrees, e.b}; };
  const bool swap = key(first) < key(second);
  const Ellipse &u = swap ? second : first, &v = swap ? first : second;
  // The shape of v in the frame where u is the unit disc: L = diag(1/a, 1/b) R(v - u) diag(v.a, v.b).
  const double c = u.c * v.c + u.s * v.s, s = v.s * u.c - v.c * u.s;
  const double l00 = c * v.a / u.a, l01 = -s * v.b / u.a, l10 = s * v.a / u.b, l11 = c * v.b / u.b;
  const double dx = v.x - u.x, dy = v.y - u.y;
  const double px = (u.c * dx + u.s * dy) / u.a, py = (u.c * dy - u.s * dx) / u.b;
  // Half axes and directions of that shape: the eigenvectors of L L^T.
  const double m00 = l00 * l00 + l01 * l01, m11 = l10 * l10 + l11 * l11, m01 = l00 * l10 + l01 * l11;
  const double half = 0.5 * (m00 - m11), root = std::sqrt(half * half + m01 * m01);
  const double A2 = 0.5 * (m00 + m11) + root, det = v.g / u.g;
  const double A = std::sqrt(A2), B = std::min(A, det / A);
  double ex = 1.0, ey = 0.0;
  if (root > 0.0) {
    // The major direction (ex, ey) has the double angle (half, m01) / root.
    if (half >= 0.0) {
      ex = half + root, ey = m01;
    } else {
      ex = m01, ey = root - half;
    }
    const double length = std::sqrt(ex * ex + ey * ey);
    ex /= length, ey /= length;
  }
  const overlap::Contour contour{std::fabs(ex * px + ey * py), std::fabs(ex * py - ey * px), A, B};
  const double area = overlap::with_disc(contour) * u.g;
  return std::min(area, kPi * v.g);
}

struct IouDistance {
  double operator()(const Ellipse& u, const Ellipse& v) const {
    const double common = intersection_area(u, v);
    if (common <= 0.0) return 1.0;
    // 1 - I / U = (U - I) / U, and U - I is the sum of two differences that are not negative.
    const double rest = (kPi * u.g - common) + (kPi * v.g - common);
    return std::max(0.0, rest / (rest + common));
  }
};

}  // namespace steelyard
