// Distances between ellipses, and pairing of truths with detections image by image.
//
// An image is a task of its own: its distance matrix lives as long as its pairing and is never handed to Python, so a
// hundred thousand small images cost no allocation there, and memory holds one image a thread. Large matrices are
// filled by rows in parallel. The rows that cross the boundary are x, y, degrees, a, b with a >= b and the angle in
// [0, 180): the reader of the data brings them into this form, and it is checked here.
#include <limits>
#include <vector>

#include "arrays.hpp"
#include "assign.hpp"
#include "checks.hpp"
#include "ellipse.hpp"
#include "pool.hpp"

namespace steelyard {
namespace {

enum Kind : int { kParam = 0, kCenter = 1, kWasserstein = 2, kIou = 3, kHausdorff = 4, kProbIou = 5 };

constexpr double kLargest = 1e12, kSmallest = 1e-12;
constexpr double kRounding = 1e-12;  // of an IoU: a pair at the one asked for counts
constexpr std::size_t kLargeMatrix = 1 << 15;

void check_rows(In2<double> rows) {
  require(rows.shape(1) == 5, "an ellipse is x, y, degrees, a, b");
  for (std::size_t i = 0; i < rows.shape(0); ++i) {
    const double* r = rows.data() + 5 * i;
    // Written so that nan fails.
    require(std::fabs(r[0]) <= kLargest && std::fabs(r[1]) <= kLargest, "a centre must be finite, up to 1e12");
    require(r[2] >= 0.0 && r[2] < 180.0, "an angle must be in [0, 180) degrees");
    require(r[3] >= r[4] && r[4] >= kSmallest && r[3] <= kLargest, "half axes must be a >= b, from 1e-12 to 1e12");
  }
}

void make_ellipses(const double* rows, std::size_t count, bool turned, std::vector<Ellipse>& out) {
  out.resize(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = make_ellipse(rows + 5 * i, turned);
}

std::vector<Ellipse> ellipses(In2<double> rows) {
  check_rows(rows);
  std::vector<Ellipse> result;
  make_ellipses(rows.data(), rows.shape(0), true, result);
  return result;
}

ParamDistance param(In1<double> weights) {
  require(weights.shape(0) == 5, "five weights: x, y, angle, a, b");
  ParamDistance d;
  for (std::size_t i = 0; i < 5; ++i) {
    d.w[i] = weights.data()[i];
    require(d.w[i] >= 0.0 && d.w[i] <= kLargest, "weights must be finite and not negative");
  }
  return d;
}

// Calls `use` with the distance of that kind: each use is compiled for each distance.
template <typename Use>
void with_distance(int kind, const ParamDistance& weighted, Use use) {
  switch (kind) {
    case kParam: return use(weighted);
    case kCenter: return use(CenterDistance());
    case kWasserstein: return use(WassersteinDistance());
    case kIou: return use(IouDistance());
    case kHausdorff: return use(HausdorffDistance());
    case kProbIou: return use(ProbIouDistance());
    default: throw std::invalid_argument("there is no such distance");
  }
}

template <typename Distance>
void fill(const Ellipse* truth, std::size_t n, const Ellipse* detected, std::size_t m, const Distance& distance,
          double* out, std::size_t threads) {
  parallel_for(n, n * m < kLargeMatrix ? 1 : threads, [&](std::size_t i) {
    for (std::size_t j = 0; j < m; ++j) out[i * m + j] = distance(truth[i], detected[j]);
  });
}

Out<double> matrix(In2<double> truth, In2<double> detected, int kind, In1<double> weights, long threads) {
  const auto t = ellipses(truth), d = ellipses(detected);
  const ParamDistance weighted = param(weights);
  double* out;
  auto result = make_array<double>({t.size(), d.size()}, out);
  nb::gil_scoped_release release;
  with_distance(kind, weighted, [&](const auto& distance) {
    fill(t.data(), t.size(), d.data(), d.size(), distance, out, thread_count(threads));
  });
  return result;
}

Out<double> pairwise(In2<double> truth, In2<double> detected, int kind, In1<double> weights) {
  require(truth.shape(0) == detected.shape(0), "both sides must have as many rows");
  const auto t = ellipses(truth), d = ellipses(detected);
  const ParamDistance weighted = param(weights);
  double* out;
  auto result = make_array<double>({t.size()}, out);
  nb::gil_scoped_release release;
  with_distance(kind, weighted, [&](const auto& distance) {
    for (std::size_t i = 0; i < t.size(); ++i) out[i] = distance(t[i], d[i]);
  });
  return result;
}

Out<double> overlap_area(In2<double> truth, In2<double> detected) {
  require(truth.shape(0) == detected.shape(0), "both sides must have as many rows");
  const auto t = ellipses(truth), d = ellipses(detected);
  double* out;
  auto result = make_array<double>({t.size()}, out);
  nb::gil_scoped_release release;
  for (std::size_t i = 0; i < t.size(); ++i) out[i] = intersection_area(t[i], d[i]);
  return result;
}

void check_ends(In1<std::int64_t> ends, std::size_t rows) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < ends.shape(0); ++i) {
    require(ends.data()[i] >= last, "the ends of the images must rise");
    last = ends.data()[i];
  }
  require(last == static_cast<std::int64_t>(rows), "the last image must end with the rows");
}

void assign(const double* cost, std::size_t n, std::size_t m, bool optimal, std::int64_t* partner) {
  if (optimal) {
    assign_optimal(cost, n, m, partner);
  } else {
    assign_greedy(cost, n, m, partner);
  }
}

// The pairs of all images: by image, inside one by distance (ties by truth), so that sums over them do not depend on
// the order in which an image lists its ellipses.
nb::tuple match(In2<double> truth, In2<double> detected, In1<std::int64_t> truth_ends, In1<std::int64_t> detected_ends,
                int kind, In1<double> weights, bool optimal, long threads) {
  check_rows(truth);
  check_rows(detected);
  const ParamDistance weighted = param(weights);
  require(truth_ends.shape(0) == detected_ends.shape(0), "both sides must have as many images");
  check_ends(truth_ends, truth.shape(0));
  check_ends(detected_ends, detected.shape(0));
  const std::size_t images = truth_ends.shape(0);
  const std::int64_t *ends = truth_ends.data(), *other_ends = detected_ends.data();
  auto begin_of = [](const std::int64_t* of, std::size_t image) {
    return image ? static_cast<std::size_t>(of[image - 1]) : std::size_t{0};
  };
  std::vector<std::size_t> place(images + 1, 0);
  for (std::size_t i = 0; i < images; ++i) {
    const std::size_t n = static_cast<std::size_t>(ends[i]) - begin_of(ends, i);
    const std::size_t m = static_cast<std::size_t>(other_ends[i]) - begin_of(other_ends, i);
    place[i + 1] = place[i] + std::min(n, m);
  }
  std::int64_t *truth_of, *detected_of, *image_of;
  double* distances;
  auto images_out = make_array<std::int64_t>({place[images]}, image_of);
  auto truths_out = make_array<std::int64_t>({place[images]}, truth_of);
  auto detected_out = make_array<std::int64_t>({place[images]}, detected_of);
  auto distances_out = make_array<double>({place[images]}, distances);
  {
    nb::gil_scoped_release release;
    const std::size_t workers = thread_count(threads);
    constexpr std::size_t kChunk = 64;
    const bool turned = kind != kParam && kind != kCenter;
    const double *true_rows = truth.data(), *found_rows = detected.data();
    with_distance(kind, weighted, [&](const auto& distance) {
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
            image_of[at] = static_cast<std::int64_t>(image);
            truth_of[at] = static_cast<std::int64_t>(first) + i;
            detected_of[at] = static_cast<std::int64_t>(start) + partner[i];
            distances[at++] = length(i);
          }
        }
      });
    });
  }
  return nb::make_tuple(images_out, truths_out, detected_out, distances_out);
}

// The rule of detection benchmarks: highest score first, the free truth with the largest IoU, if it reaches the one
// asked for. The IoU matrix is made once for all that are asked for.
Out<std::uint8_t> match_by_score(In2<double> truth, In2<double> detected, In1<std::int64_t> truth_ends,
                                 In1<std::int64_t> detected_ends, In1<double> scores, In1<double> ious, long threads) {
  const auto t = ellipses(truth), d = ellipses(detected);
  require(truth_ends.shape(0) == detected_ends.shape(0), "both sides must have as many images");
  require(scores.shape(0) == d.size(), "every detection needs a score");
  check_finite(scores.data(), d.size(), "scores must be finite");
  require(all_within(ious.data(), ious.shape(0), 0.0, 1.0), "an IoU that is asked for must be from 0 to 1");
  check_ends(truth_ends, t.size());
  check_ends(detected_ends, d.size());
  const std::size_t levels = ious.shape(0), images = truth_ends.shape(0);
  std::uint8_t* hit;
  auto result = make_array<std::uint8_t>({d.size(), levels}, hit);
  const double *score = scores.data(), *wanted = ious.data();
  const std::int64_t *ends = truth_ends.data(), *other_ends = detected_ends.data();
  nb::gil_scoped_release release;
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
  return result;
}

Out<std::int64_t> assign_matrix(In2<double> cost, bool optimal) {
  const std::size_t n = cost.shape(0), m = cost.shape(1);
  require(all_within(cost.data(), cost.size(), -1e300, 1e300), "costs must be finite");
  require(n < 0xFFFFFFFFu && m < 0xFFFFFFFFu, "too many rows or columns");
  std::int64_t* partner;
  auto result = make_array<std::int64_t>({n}, partner);
  nb::gil_scoped_release release;
  assign(cost.data(), n, m, optimal, partner);
  return result;
}

}  // namespace

void bind_ellipses(nb::module_& m) {
  m.def("ellipse_matrix", &matrix, nb::arg("truth").noconvert(), nb::arg("detected").noconvert(), nb::arg("kind"),
        nb::arg("weights").noconvert(), nb::arg("threads") = 0, "Distances of every truth to every detection.");
  m.def("ellipse_pairwise", &pairwise, nb::arg("truth").noconvert(), nb::arg("detected").noconvert(), nb::arg("kind"),
        nb::arg("weights").noconvert(), "The distance of each row of one side to the same row of the other.");
  m.def("ellipse_overlap", &overlap_area, nb::arg("truth").noconvert(), nb::arg("detected").noconvert(),
        "The area that each row of one side shares with the same row of the other.");
  m.def("ellipse_match", &match, nb::arg("truth").noconvert(), nb::arg("detected").noconvert(),
        nb::arg("truth_ends").noconvert(), nb::arg("detected_ends").noconvert(), nb::arg("kind"),
        nb::arg("weights").noconvert(), nb::arg("optimal"), nb::arg("threads") = 0,
        "Pair truths with detections image by image: for each pair its image, truth, detection and distance.");
  m.def("ellipse_match_by_score", &match_by_score, nb::arg("truth").noconvert(), nb::arg("detected").noconvert(),
        nb::arg("truth_ends").noconvert(), nb::arg("detected_ends").noconvert(), nb::arg("scores").noconvert(),
        nb::arg("ious").noconvert(), nb::arg("threads") = 0,
        "Which detections find a truth, highest score first: one row a detection, one column an IoU.");
  m.def("assign", &assign_matrix, nb::arg("cost").noconvert(), nb::arg("optimal"),
        "Pair rows with columns, each used once: the column of each row, or -1.");
}

}  // namespace steelyard
