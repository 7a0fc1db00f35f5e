// Matching by the distance of centres: see centres.hpp. The order of operations is that of nuScenes' development kit.
#include "solid/centres.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "support/pool.hpp"

namespace steelyard::solid {
namespace {

constexpr std::size_t kSamples = 32;  // that a task goes through
constexpr double kNoError = std::numeric_limits<double>::quiet_NaN();

// What is left of a division whose result is rounded down.
double modulo(double x, double period) {
  const double rest = std::fmod(x, period);
  return rest != 0 && (rest < 0) != (period < 0) ? rest + period : rest;
}

double turned(double a, double b, double period) {
  double difference = modulo(a - b + period / 2, period) - period / 2;
  if (difference > std::numbers::pi) difference -= 2 * std::numbers::pi;
  return std::fabs(difference);
}

double scale_error(const double* t, const double* d) {
  double common = 1, of_truth = 1, of_detection = 1;
  for (std::size_t k : {3, 2, 4}) {  // width, length, height
    common *= std::min(t[k], d[k]), of_truth *= t[k], of_detection *= d[k];
  }
  return 1 - common / (of_truth + of_detection - common);
}

void errors_of(const double* t, const double* d, std::int32_t t_attribute, std::int32_t d_attribute, double distance,
               bool half, double* out) {
  out[0] = distance;
  out[1] = scale_error(t, d);
  out[2] = turned(t[5], d[5], half ? std::numbers::pi : 2 * std::numbers::pi);
  out[3] = std::hypot(d[6] - t[6], d[7] - t[7]);
  out[4] = t_attribute < 0 ? kNoError : t_attribute == d_attribute ? 0 : 1;
}

}  // namespace

void centre_match(const CentreSide& truth, const CentreSide& detection, View<double> score, View<double> distances,
                  std::size_t error_at, View<std::uint8_t> half, long threads, std::uint8_t* bits, double* errors,
                  std::int64_t* partner) {
  const std::size_t units = truth.begin.size() - 1;
  const double farthest = *std::max_element(distances.begin(), distances.end());
  parallel_for((units + kSamples - 1) / kSamples, thread_count(threads), [&](std::size_t task) {
    std::vector<std::size_t> order, truths;
    std::vector<std::uint8_t> taken;
    for (std::size_t u = task * kSamples; u < std::min(units, (task + 1) * kSamples); ++u) {
      const auto first = static_cast<std::size_t>(detection.begin[u]),
                 last = static_cast<std::size_t>(detection.begin[u + 1]);
      const auto from = static_cast<std::size_t>(truth.begin[u]), to = static_cast<std::size_t>(truth.begin[u + 1]);
      order.resize(last - first);
      for (std::size_t k = 0; k < order.size(); ++k) order[k] = last - 1 - k;
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return detection.group[a] != detection.group[b] ? detection.group[a] < detection.group[b] : score[a] > score[b];
      });
      taken.assign(to - from, 0);
      std::int32_t group = -1;
      for (const std::size_t j : order) {
        if (detection.group[j] != group) {
          group = detection.group[j];
          truths.clear();
          for (std::size_t i = from; i < to; ++i) {
            if (truth.group[i] == group) truths.push_back(i);
          }
        }
        const double* d = detection.box.row(j);
        double nearest[kMostDistances];
        std::size_t chosen[kMostDistances];
        std::fill_n(nearest, distances.size(), std::numeric_limits<double>::infinity());
        for (const std::size_t i : truths) {
          const double* t = truth.box.row(i);
          const double x = d[0] - t[0], y = d[1] - t[1];
          if (!(std::fabs(x) < farthest) || !(std::fabs(y) < farthest)) continue;
          const double distance = std::sqrt(x * x + y * y);
          for (std::size_t k = 0; k < distances.size(); ++k) {
            if (distance < nearest[k] && !(taken[i - from] & (1u << k))) nearest[k] = distance, chosen[k] = i;
          }
        }
        bits[j] = 0;
        partner[j] = -1;
        std::fill_n(errors + kErrors * j, kErrors, kNoError);
        for (std::size_t k = 0; k < distances.size(); ++k) {
          if (!(nearest[k] < distances[k])) continue;
          bits[j] = static_cast<std::uint8_t>(bits[j] | (1u << k));
          taken[chosen[k] - from] = static_cast<std::uint8_t>(taken[chosen[k] - from] | (1u << k));
          if (k != error_at) continue;
          partner[j] = static_cast<std::int64_t>(chosen[k]);
          errors_of(truth.box.row(chosen[k]), d, truth.attribute[chosen[k]], detection.attribute[j], nearest[k],
                    half[static_cast<std::size_t>(group)] != 0, errors + kErrors * j);
        }
      }
    }
  });
}

}  // namespace steelyard::solid
