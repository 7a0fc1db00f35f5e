// Sequences with full matrices of similarities: see dense.hpp.
#include "tracking/dense.hpp"

#include <algorithm>

namespace steelyard::tracking {
namespace {

// The order in which numpy adds: up to 128 values in eight lanes, more of them in halves.
double numpy_sum(const double* values, std::size_t n) {
  if (n < 8) {
    double sum = 0.0;
    for (std::size_t i = 0; i < n; ++i) sum += values[i];
    return sum;
  }
  if (n <= 128) {
    double lanes[8];
    std::copy_n(values, 8, lanes);
    std::size_t i = 8;
    for (; i + 8 <= n; i += 8) {
      for (std::size_t l = 0; l < 8; ++l) lanes[l] += values[i + l];
    }
    double sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
    for (; i < n; ++i) sum += values[i];
    return sum;
  }
  const std::size_t half = n / 2 - (n / 2) % 8;
  return numpy_sum(values, half) + numpy_sum(values + half, n - half);
}

}  // namespace

void dense_ious(const FrameSizes& sizes, const double* truth, const double* prediction, bool of_truth, double* out) {
  std::vector<double> areas;
  for (std::size_t f = 0; f < sizes.frames; ++f) {
    const auto n = static_cast<std::size_t>(sizes.truth[f]), m = static_cast<std::size_t>(sizes.prediction[f]);
    areas.resize(m);
    for (std::size_t j = 0; j < m; ++j) {
      const double* box = prediction + 4 * j;
      areas[j] = (box[2] - box[0]) * (box[3] - box[1]);
    }
    for (std::size_t i = 0; i < n; ++i) {
      const double* a = truth + 4 * i;
      const double own = (a[2] - a[0]) * (a[3] - a[1]);
      for (std::size_t j = 0; j < m; ++j) {
        const double* b = prediction + 4 * j;
        const double width = std::min(a[2], b[2]) - std::max(a[0], b[0]);
        const double height = std::min(a[3], b[3]) - std::max(a[1], b[1]);
        const double common = std::max(width, 0.0) * std::max(height, 0.0);
        if (of_truth) {
          *out++ = own > kEpsilon ? common / own : 0.0;
          continue;
        }
        const double whole = own + areas[j] - common;
        *out++ = own <= kEpsilon || areas[j] <= kEpsilon || whole <= kEpsilon ? 0.0 : common / whole;
      }
    }
    truth += 4 * n, prediction += 4 * m;
  }
}

std::size_t dense_select(const FrameSizes& sizes, const double* similarity, const Chosen& chosen, double* out) {
  const double* const first = out;
  const std::uint8_t *row = chosen.truth, *column = chosen.prediction;
  for (std::size_t f = 0; f < sizes.frames; ++f) {
    const auto n = static_cast<std::size_t>(sizes.truth[f]), m = static_cast<std::size_t>(sizes.prediction[f]);
    for (std::size_t i = 0; i < n; ++i, similarity += m) {
      if (!row[i]) continue;
      for (std::size_t j = 0; j < m; ++j) {
        if (column[j]) *out++ = similarity[j];
      }
    }
    row += n, column += m;
  }
  return static_cast<std::size_t>(out - first);
}

Sparse sparse_of(const FrameSizes& sizes, const double* similarity, const Chosen& chosen, double least) {
  Sparse sparse;
  sparse.frames.reserve(sizes.frames);
  std::size_t t = 0, p = 0;
  for (std::size_t f = 0; f < sizes.frames; ++f) {
    const auto n = static_cast<std::size_t>(sizes.truth[f]), m = static_cast<std::size_t>(sizes.prediction[f]);
    Frame frame{t, t + n, p, p + m, sparse.overlaps.size(), 0};
    for (std::size_t i = 0; i < n; ++i, similarity += m) {
      if (chosen.truth && !chosen.truth[t + i]) continue;
      for (std::size_t j = 0; j < m; ++j) {
        const double s = similarity[j];
        if (!(s >= least) || (chosen.prediction && !chosen.prediction[p + j])) continue;
        sparse.overlaps.push_back({static_cast<std::uint32_t>(t + i), static_cast<std::uint32_t>(p + j), s});
      }
    }
    frame.pair_end = sparse.overlaps.size();
    sparse.frames.push_back(frame);
    t += n, p += m;
  }
  return sparse;
}

void frame_sums(const FrameSizes& sizes, const double* similarity, double* out) {
  FramePairing pairing;
  std::vector<Edge> edges;
  std::vector<std::int64_t> column;
  std::vector<double> values, cost;
  for (std::size_t f = 0; f < sizes.frames; ++f) {
    const auto n = static_cast<std::size_t>(sizes.truth[f]), m = static_cast<std::size_t>(sizes.prediction[f]);
    const double* matrix = similarity;
    similarity += n * m;
    edges.clear();
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < m; ++j) {
        if (matrix[i * m + j] > 0)
          edges.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j), matrix[i * m + j]});
      }
    }
    column.resize(n);
    if (n) pairing.solve(edges, n, m, 0.0, column.data());
    values.clear();
    std::size_t pairs = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (column[i] >= 0) {
        values.push_back(matrix[i * m + static_cast<std::size_t>(column[i])]), ++pairs;
      } else if (n <= m) {
        values.push_back(0.0);
      }
    }
    if (n > m && m >= 8 && pairs < m) {  // rows that scipy pairs at 0 have places in the sum
      cost.resize(n * m);
      for (std::size_t c = 0; c < n * m; ++c) cost[c] = -matrix[c];
      assign_as_scipy(cost.data(), n, m, column.data());
      values.clear();
      for (std::size_t i = 0; i < n; ++i) {
        if (column[i] >= 0) values.push_back(matrix[i * m + static_cast<std::size_t>(column[i])]);
      }
    }
    out[f] = numpy_sum(values.data(), values.size());
  }
}

}  // namespace steelyard::tracking
