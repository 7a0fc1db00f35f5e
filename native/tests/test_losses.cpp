// The focal loss: values by its formula in double precision, and the same bits alone as among others.
#include <cmath>
#include <vector>

#include "check.hpp"
#include "losses/focal.hpp"

namespace {

using namespace steelyard;

double by_definition(double z, double alpha, double gamma) {
  return alpha * std::pow(1 / (1 + std::exp(-z)), gamma) * std::log1p(std::exp(z));
}

// Logits from -9 to 9 in two layouts: the class of anchor a is a % 4 - 2, so some are background and some do not count.
TEST(focal_of_rows_and_planes_by_definition) {
  constexpr std::size_t kAnchors = 37, kClasses = 3;
  std::vector<float> rows(kAnchors * kClasses), planes(rows.size());
  std::vector<std::int64_t> labels(kAnchors);
  double expected = 0;
  for (std::size_t a = 0; a < kAnchors; ++a) {
    labels[a] = static_cast<std::int64_t>(a % 4) - 2;
    for (std::size_t c = 0; c < kClasses; ++c) {
      const float x = static_cast<float>((a * 7 + c * 31) % 73) / 4 - 9;
      rows[a * kClasses + c] = planes[c * kAnchors + a] = x;
      const bool hit = labels[a] == static_cast<std::int64_t>(c);
      if (labels[a] != -2) expected += by_definition(hit ? -x : x, hit ? 0.25 : 0.75, 1.5);
    }
  }
  const FocalSettings settings{0.25f, 0.75f, FocalPower::one_and_half};
  std::vector<float> row_slope(rows.size()), plane_slope(rows.size());
  const double sum = focal_of_rows(rows.data(), labels.data(), kAnchors, kClasses, settings, row_slope.data(), 2);
  CHECK(std::fabs(sum / expected - 1) < 1e-6);
  const FocalPlanes lying{{1, 1, kAnchors}, {0, 0}, kAnchors, {0, 0, 1}, kClasses};
  const double other = focal_of_planes(planes.data(), labels.data(), lying, settings, plane_slope.data(), 2);
  CHECK(std::fabs(other / expected - 1) < 1e-6);
  for (std::size_t a = 0; a < kAnchors; ++a) {
    for (std::size_t c = 0; c < kClasses; ++c) EQUAL(row_slope[a * kClasses + c], plane_slope[c * kAnchors + a]);
  }
}

// At x = 0 with gamma 2: q is 1/2, the loss of background 3/4 1/4 log 2, its slope 3/16 (1/2 + 2 1/2 log 2).
TEST(focal_at_zero_by_hand) {
  const std::vector<float> x(5);
  const std::vector<std::int64_t> labels{-1, -2, -1, -1, 0};
  std::vector<float> slope(5, 9);
  const FocalSettings settings{0.25f, 0.75f, FocalPower::two};
  const double log2 = std::log(2.0), sum = focal_of_rows(x.data(), labels.data(), 5, 1, settings, slope.data(), 1);
  CHECK(std::fabs(sum - (3 * 3.0 / 16 + 1.0 / 16) * log2) < 1e-7);
  CHECK(std::fabs(slope[0] - 3.0 / 16 * (0.5 + log2)) < 1e-7);
  EQUAL(slope[1], 0.0f);
  CHECK(std::fabs(slope[4] + 1.0 / 16 * (0.5 + log2)) < 1e-7);
}

}  // namespace
