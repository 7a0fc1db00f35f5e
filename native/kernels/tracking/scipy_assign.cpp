// The assignment that scipy makes: see tracking.hpp.
#include "tracking/tracking.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "ellipses/assign.hpp"

namespace steelyard::tracking {

namespace {

// For n <= m. Crouse 2016, as scipy writes it: rows in order, free columns from a list that starts in reverse order and
// closes its gaps with its last entry, the lowest path first and among equals one that ends in a free column.
void assign_wide(const double* cost, std::size_t n, std::size_t m, std::int64_t* column) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> u(n, 0.0), v(m, 0.0), shortest(m);
  std::vector<std::int64_t> owner(m, -1);
  std::vector<std::size_t> path(m, 0), remaining(m), rows, columns;
  std::fill_n(column, n, std::int64_t{-1});
  for (std::size_t start = 0; start < n; ++start) {
    for (std::size_t it = 0; it < m; ++it) remaining[it] = m - it - 1;
    std::size_t left = m, i = start, sink = m;
    std::fill(shortest.begin(), shortest.end(), kInfinity);
    rows.clear(), columns.clear();
    double reached = 0.0;
    while (sink == m) {
      rows.push_back(i);
      double lowest = kInfinity;
      std::size_t at = 0;
      for (std::size_t it = 0; it < left; ++it) {
        const std::size_t j = remaining[it];
        const double r = reached + cost[i * m + j] - u[i] - v[j];
        if (r < shortest[j]) path[j] = i, shortest[j] = r;
        if (shortest[j] < lowest || (shortest[j] == lowest && owner[j] < 0)) lowest = shortest[j], at = it;
      }
      reached = lowest;
      const std::size_t j = remaining[at];
      if (owner[j] < 0) {
        sink = j;
      } else {
        i = static_cast<std::size_t>(owner[j]);
      }
      columns.push_back(j);
      remaining[at] = remaining[--left];
    }
    u[start] += reached;
    for (std::size_t row : rows) {
      if (row != start) u[row] += reached - shortest[static_cast<std::size_t>(column[row])];
    }
    for (std::size_t j : columns) v[j] -= reached - shortest[j];
    for (std::size_t j = sink;;) {
      const std::size_t row = path[j];
      owner[j] = static_cast<std::int64_t>(row);
      const std::int64_t next = std::exchange(column[row], static_cast<std::int64_t>(j));
      if (row == start) break;
      j = static_cast<std::size_t>(next);
    }
  }
}

}  // namespace

void assign_as_scipy(const double* cost, std::size_t n, std::size_t m, std::int64_t* column) {
  if (n <= m) return assign_wide(cost, n, m, column);
  std::vector<double> turned(n * m);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < m; ++j) turned[j * n + i] = cost[i * m + j];
  }
  std::vector<std::int64_t> row(m);
  assign_wide(turned.data(), m, n, row.data());
  std::fill_n(column, n, std::int64_t{-1});
  for (std::size_t j = 0; j < m; ++j) column[row[j]] = static_cast<std::int64_t>(j);
}

}  // namespace steelyard::tracking
