// An image is a task of its own: its distance matrix lives as long as its pairing and is never handed to Python, so a
// hundred thousand small images cost no allocation there, and memory holds one image per thread. Large matrices are
// filled by rows in parallel.
#include "ellipses/ellipses.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "ellipses/assign.hpp"
#include "ellipses/ellipse.hpp"
#include "ellipses/hausdorff.hpp"
#include "ellipses/overlap.hpp"
#include "support/checks.hpp"
#include "support/pool.hpp"

namespace steelyard {
namespace {

constexpr double kLargest = 1e12, kSmallest = 1e-12;
constexpr double kRounding = 1e-12;  // of an IoU: a pair at the one asked for counts
constexpr std::size_t kLargeMatrix = 1 << 15;

void make_ellipses(const double* rows, std::size_t count, bool turned, std::vector<Ellipse>& out) {
  out.resize(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = make_ellipse(rows + 5 * i, turned);
}

std::vector<Ellipse> ellipses(Matrix<double> rows) {
  std::vector<Ellipse> result;
  make_ellipses(rows.data(), rows.rows, true, result);
  return result;
}

ParamDistance param(View<double> weights) {
  ParamDistance d;
  for (std::size_t i = 0; i < 5; ++i) d.w[i] = weights[i];
  return d;
}

// Calls `use` with the distance that is named: each use is compiled for each distance.
template <typename Use>
void with_distance(EllipseDistance metric, const ParamDistance& weighted, Use use) {
  switch (metric) {
    case EllipseDistance::param: return use(weighted);
    case EllipseDistance::center: return use(CenterDistance());
    case EllipseDistance::wasserstein: return use(WassersteinDistance());
    case EllipseDistance::iou: return use(IouDistance());
    case EllipseDistance::hausdorff: return use(HausdorffDistance());
    case EllipseDistance::prob_iou: return use(ProbIouDistance());
  }
}

template <typename Distance>
void fill(const Ellipse* truth, std::size_t n, const Ellipse* detected, std::size_t m, const Distance& distance,
          double* out, std::size_t threads) {
  parallel_for(n, n * m < kLargeMatrix ? 1 : threads, [&](std::size_t i) {
    for (std::size_t j = 0; j < m; ++j) out[i * m + j] = distance(truth[i], detected[j]);
  });
}

void assign(const double* cost, std::size_t n, std::size_t m, bool optimal, std::int64_t* partner) {
  if (optimal) {
    assign_optimal(cost, n, m, partner);
  } else {
    assign_greedy(cost, n, m, partner);
  }
}

std::size_t begin_of(View<std::int64_t> ends, std::size_t image) {
  return image ? static_cast<std::size_t>(ends[image - 1]) : std::size_t{0};
}

// Where the pairs of each image go.
std::vector<std::size_t> pair_places(const EllipseSides& sides) {
  std::vector<std::size_t> place(sides.truth_ends.size() + 1, 0);
  for (std::size_t i = 0; i + 1 < place.size(); ++i) {
    const std::size_t n = static_cast<std::size_t>(sides.truth_ends[i]) - begin_of(sides.truth_ends, i);
    const std::size_t m = static_cast<std::size_t>(sides.detected_ends[i]) - begin_of(sides.detected_ends, i);
    place[i + 1] = place[i] + std::min(n, m);
  }
  return place;
}

void check_ends(View<std::int64_t> ends, std::size_t rows) {
  std::int64_t last = 0;
  for (std::int64_t end : ends) {
    require(end >= last, "the ends of the images must rise");
    last = end;
  }
  require(last == static_cast<std::int64_t>(rows), "the last image must end with the rows");
}

}  // namespace

EllipseDistance check_distance(int distance) {
  require(distance >= 0 && distance <= static_cast<int>(EllipseDistance::prob_iou), "there is no such distance");
  return static_cast<EllipseDistance>(distance);
}

void check_ellipses(Matrix<double> rows) {
  require(rows.columns == 5, "an ellipse is x, y, degrees, a, b");
  for (std::size_t i = 0; i < rows.rows; ++i) {
    const double* r = rows.row(i);
    // Written so that nan fails.
    require(std::fabs(r[0]) <= kLargest && std::fabs(r[1]) <= kLargest, "a centre must be finite, up to 1e12");
    require(r[2] >= 0.0 && r[2] < 180.0, "an angle must be in [0, 180) degrees");
    require(r[3] >= r[4] && r[4] >= kSmallest && r[3] <= kLargest, "half axes must be a >= b, from 1e-12 to 1e12");
  }
}

void check_parameter_weights(View<double> weights) {
  require(weights.size() == 5, "five weights: x, y, angle, a, b");
  for (double w : weights) require(w >= 0.0 && w <= kLargest, "weights must be finite and not negative");
}

void check_sides(const EllipseSides& sides) {
  check_ellipses(sides.truth);
  check_ellipses(sides.detected);
  require(sides.truth_ends.size() == sides.detected_ends.size(), "both sides must have as many images");
  check_ends(sides.truth_ends, sides.truth.rows);
  check_ends(sides.detected_ends, sides.detected.rows);
}

void distance_matrix(Matrix<double> truth, Matrix<double> detected, EllipseDistance metric, View<double> weights,
                     long threads, double* out) {
  const auto t = ellipses(truth), d = ellipses(detected);
  with_distance(metric, param(weights), [&](const auto& distance) {
    fill(t.data(), t.size(), d.data(), d.size(), distance, out, thread_count(threads));
  });
}

void distances_by_row(Matrix<double> truth, Matrix<double> detected, EllipseDistance metric, View<double> weights,
                      double* out) {
  const auto t = ellipses(truth), d = ellipses(detected);
  with_distance(metric, param(weights), [&](const auto& distance) {
    for (std::size_t i = 0; i < t.size(); ++i) out[i] = distance(t[i], d[i]);
  });
}

void overlaps_by_row(Matrix<double> truth, Matrix<double> detected, double* out) {
  const auto t = ellipses(truth), d = ellipses(detected);
  for (std::size_t i = 0; i < t.size(); ++i) out[i] = intersection_area(t[i], d[i]);
}

std::size_t most_pairs(const EllipseSides& sides) { return pair_places(sides).back(); }

void match_ellipses(const EllipseSides& sides, EllipseDistance metric, View<double> weights, bool optimal, long threads,
                    const EllipsePairs& out) {
  const std::size_t images = sides.truth_ends.size();
  const View<std::int64_t> ends = sides.truth_ends, other_ends = sides.detected_ends;
  const std::vector<std::size_t> place = pair_places(sides);
  const ParamDistance weighted = param(weights);
  const std::size_t workers = thread_count(threads);
  constexpr std::size_t kChunk = 64;
  const bool turned = metric != EllipseDistance::param && metric != EllipseDistance::center;
  const double *true_rows = sides.truth.data(), *found_rows = sides.detected.data();
  with_distance(metric, weighted, [&](const auto& distance) {
    parallel_for((images + kChunk - 1) / kChunk, workers, [&](std::size_t chunk) {
      std::vector<Ellipse> t, d;
      std::vector<double> cost;
      std::vector<std::int64_t> partner, order;
      for (std::size_t image = chunk * kChunk; image < std::min(images, (chunk + 1) * kChunk); ++image) {
        const std::size_t first = begin_of(ends, image), start = begin_of(other_ends, image);
        const std::size_t n = static_cast<std::size_t>(ends[image]) - first;
        const std::size_t m = static_cast<std::size_t>(other_ends[image]) - start;
        cost.resize(std::max(cost.size(), n * m));
        partner.resize(std::max(partner.size(), n));
        make_ellipses(true_rows + 5 * first, n, turned, t);
        make_ellipses(found_rows + 5 * start, m, turned, d);
        fill(t.data(), n, d.data(), m, distance, cost.data(), workers);
        check_finite(cost.data(), n * m, "a distance is not finite");
        assign(cost.data(), n, m, optimal, partner.data());
        order.clear();
        for (std::size_t i = 0; i < n; ++i) {
          if (partner[i] >= 0) order.push_back(static_cast<std::int64_t>(i));
        }
        auto length = [&](std::int64_t i) { return cost[static_cast<std::size_t>(i) * m + partner[i]]; };
        std::sort(order.begin(), order.end(), [&](std::int64_t x, std::int64_t y) {
          return length(x) < length(y) || (length(x) == length(y) && x < y);
        });
        std::size_t at = place[image];
        for (std::int64_t i : order) {
          out.image[at] = static_cast<std::int64_t>(image);
          out.truth[at] = static_cast<std::int64_t>(first) + i;
          out.detected[at] = static_cast<std::int64_t>(start) + partner[i];
          out.distance[at++] = length(i);
        }
      }
    });
  });
}

void match_by_score(const EllipseSides& sides, View<double> scores, View<double> ious, long threads,
                    std::uint8_t* hit) {
  const auto t = ellipses(sides.truth), d = ellipses(sides.detected);
  const std::size_t levels = ious.size(), images = sides.truth_ends.size();
  const double *score = scores.data(), *wanted = ious.data();
  const View<std::int64_t> ends = sides.truth_ends, other_ends = sides.detected_ends;
  const IouDistance distance;
  constexpr std::size_t kChunk = 64;
  parallel_for((images + kChunk - 1) / kChunk, thread_count(threads), [&](std::size_t chunk) {
    std::vector<double> cost;
    std::vector<std::size_t> order;
    std::vector<std::uint8_t> used;
    for (std::size_t image = chunk * kChunk; image < std::min(images, (chunk + 1) * kChunk); ++image) {
      const std::size_t first = image ? static_cast<std::size_t>(ends[image - 1]) : 0;
      const std::size_t start = image ? static_cast<std::size_t>(other_ends[image - 1]) : 0;
      const std::size_t n = static_cast<std::size_t>(ends[image]) - first;
      const std::size_t m = static_cast<std::size_t>(other_ends[image]) - start;
      cost.resize(std::max(cost.size(), n * m));
      fill(d.data() + start, m, t.data() + first, n, distance, cost.data(), 1);
      order.resize(m);
      for (std::size_t j = 0; j < m; ++j) order[j] = j;
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t x, std::size_t y) { return score[start + x] > score[start + y]; });
      for (std::size_t level = 0; level < levels; ++level) {
        used.assign(n, 0);
        for (std::size_t j : order) {
          double lowest = std::numeric_limits<double>::infinity();
          std::size_t found = n;
          for (std::size_t i = 0; i < n; ++i) {
            if (!used[i] && cost[j * n + i] < lowest) lowest = cost[j * n + i], found = i;
          }
          if (found == n || !(lowest <= 1.0 - wanted[level] + kRounding)) continue;
          used[found] = 1;
          hit[(start + j) * levels + level] = 1;
        }
      }
    }
  });
}

void assign_costs(Matrix<double> cost, bool optimal, std::int64_t* partner) {
  assign(cost.data(), cost.rows, cost.columns, optimal, partner);
}

}  // namespace steelyard
