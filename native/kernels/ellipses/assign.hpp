// Pairing the rows of a cost matrix with its columns, each used once, until one side is used up.
//
// Greedy: the smallest cost first; ties by the row's index, then the column's. Sorting all n m costs is what the
// definition suggests; here each row keeps its best free column and a heap keeps the rows. A row whose column was
// taken looks for the next best only when its turn comes: its old cost is a lower bound, so the order is exact. A row
// that looks often sorts its free columns once, so the worst case stays at O(n m log m).
//
// Optimal: the smallest total, by shortest augmenting paths with potentials (Jonker and Volgenant), O(n^2 m). Rows
// whose best column is nobody else's are paired before the search starts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

namespace steelyard {

// The definition itself, for matrices so small that looking through all of it is cheaper than any order.
inline void assign_greedy_small(const double* cost, std::size_t n, std::size_t m, std::int64_t* partner) {
  std::uint64_t taken = 0;  // columns
  for (std::size_t left = std::min(n, m); left; --left) {
    double lowest = std::numeric_limits<double>::infinity();
    std::size_t row = 0, column = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (partner[i] >= 0) continue;
      for (std::size_t j = 0; j < m; ++j) {
        if (cost[i * m + j] < lowest && !(taken >> j & 1)) lowest = cost[i * m + j], row = i, column = j;
      }
    }
    partner[row] = static_cast<std::int64_t>(column);
    taken |= std::uint64_t{1} << column;
  }
}

// `partner[i]` is the column of row i, or -1. Costs are finite.
inline void assign_greedy(const double* cost, std::size_t n, std::size_t m, std::int64_t* partner) {
  std::fill_n(partner, n, std::int64_t{-1});
  if (n == 0 || m == 0) return;
  if (n <= 16 && m <= 16) return assign_greedy_small(cost, n, m, partner);
  constexpr std::uint32_t kNone = 0xFFFFFFFFu, kPatience = 24;
  std::vector<std::uint32_t> best(n), looks(n, 0);
  std::vector<std::uint32_t> free_columns(m);
  for (std::size_t j = 0; j < m; ++j) free_columns[j] = static_cast<std::uint32_t>(j);
  std::vector<std::uint8_t> taken(m, 0);
  std::size_t stale = 0;  // taken columns that still stand in free_columns
  std::vector<std::vector<std::uint32_t>> sorted;
  std::vector<std::size_t> cursor;

  auto look = [&](std::size_t i) {
    const double* row = cost + i * m;
    if (++looks[i] > kPatience) {
      if (sorted.empty()) sorted.resize(n), cursor.resize(n, 0);
      auto& order = sorted[i];
      if (order.empty()) {
        for (std::uint32_t j : free_columns) {
          if (!taken[j]) order.push_back(j);
        }
        std::sort(order.begin(), order.end(),
                  [row](std::uint32_t x, std::uint32_t y) { return row[x] < row[y] || (row[x] == row[y] && x < y); });
      }
      while (cursor[i] < order.size() && taken[order[cursor[i]]]) ++cursor[i];
      best[i] = cursor[i] < order.size() ? order[cursor[i]] : kNone;
      return;
    }
    double lowest = std::numeric_limits<double>::infinity();
    std::uint32_t found = kNone;
    for (std::uint32_t j : free_columns) {
      if (row[j] < lowest && !taken[j]) lowest = row[j], found = j;
    }
    best[i] = found;
  };

  using Entry = std::pair<double, std::uint32_t>;
  std::vector<Entry> entries;
  entries.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    look(i);
    if (best[i] != kNone) entries.emplace_back(cost[i * m + best[i]], static_cast<std::uint32_t>(i));
  }
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> heap(std::greater<Entry>(), std::move(entries));
  std::size_t left = std::min(n, m);
  while (left && !heap.empty()) {
    const std::size_t i = heap.top().second;
    heap.pop();
    if (!taken[best[i]]) {
      partner[i] = best[i];
      taken[best[i]] = 1;
      --left;
      if (++stale * 2 > free_columns.size()) {
        std::erase_if(free_columns, [&](std::uint32_t j) { return taken[j] != 0; });
        stale = 0;
      }
      continue;
    }
    look(i);
    if (best[i] != kNone) heap.emplace(cost[i * m + best[i]], static_cast<std::uint32_t>(i));
  }
}

// For n <= m: the assignment of every row with the smallest total.
inline void assign_rows(const double* cost, std::size_t n, std::size_t m, std::int64_t* partner) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> u(n);
  std::vector<std::int64_t> owner(m, -1);
  std::fill_n(partner, n, std::int64_t{-1});
  std::size_t paired = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double* row = cost + i * m;
    const std::size_t j = static_cast<std::size_t>(std::min_element(row, row + m) - row);
    u[i] = row[j];
    if (owner[j] >= 0) continue;
    owner[j] = static_cast<std::int64_t>(i), partner[i] = static_cast<std::int64_t>(j);
    ++paired;
  }
  if (paired == n) return;
  std::vector<double> v(m, 0.0), shortest(m);
  std::vector<std::uint32_t> from(m), open(m);
  std::vector<std::uint32_t> closed;
  for (std::size_t start = 0; start < n; ++start) {
    if (partner[start] >= 0) continue;
    std::fill(shortest.begin(), shortest.end(), kInfinity);
    for (std::size_t j = 0; j < m; ++j) open[j] = static_cast<std::uint32_t>(j);
    std::size_t remaining = m;
    closed.clear();
    double reached = 0.0;
    std::size_t i = start, sink = m;
    while (sink == m) {
      const double* row = cost + i * m;
      const double base = reached - u[i];
      double lowest = kInfinity;
      std::size_t at = 0;
      for (std::size_t r = 0; r < remaining; ++r) {
        const std::uint32_t j = open[r];
        const double candidate = base + (row[j] - v[j]);
        if (candidate < shortest[j]) shortest[j] = candidate, from[j] = static_cast<std::uint32_t>(i);
        // A free column ends the search, so it goes first among equals.
        if (shortest[j] < lowest || (shortest[j] == lowest && owner[j] < 0)) lowest = shortest[j], at = r;
      }
      const std::uint32_t j = open[at];
      reached = lowest;
      open[at] = open[--remaining];
      closed.push_back(j);
      if (owner[j] < 0) {
        sink = j;
      } else {
        i = static_cast<std::size_t>(owner[j]);
      }
    }
    u[start] += reached;
    for (std::uint32_t j : closed) {
      if (j == sink) continue;
      u[static_cast<std::size_t>(owner[j])] += reached - shortest[j];
      v[j] -= reached - shortest[j];
    }
    for (std::size_t j = sink;;) {
      const std::size_t row = from[j];
      owner[j] = static_cast<std::int64_t>(row);
      std::int64_t next = partner[row];
      partner[row] = static_cast<std::int64_t>(j);
      if (row == start) break;
      j = static_cast<std::size_t>(next);
    }
  }
}

inline void assign_optimal(const double* cost, std::size_t n, std::size_t m, std::int64_t* partner) {
  if (n == 0 || m == 0) {
    std::fill_n(partner, n, std::int64_t{-1});
    return;
  }
  if (n <= m) {
    assign_rows(cost, n, m, partner);
    return;
  }
  std::vector<double> turned(n * m);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < m; ++j) turned[j * n + i] = cost[i * m + j];
  }
  std::vector<std::int64_t> row_of(m);
  assign_rows(turned.data(), m, n, row_of.data());
  std::fill_n(partner, n, std::int64_t{-1});
  for (std::size_t j = 0; j < m; ++j) partner[row_of[j]] = static_cast<std::int64_t>(j);
}

}  // namespace steelyard
