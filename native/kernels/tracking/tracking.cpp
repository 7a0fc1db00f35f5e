// Overlaps of a frame's boxes, and the pairing of a frame: see tracking.hpp.
#include "tracking/tracking.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "ellipses/assign.hpp"

namespace steelyard::tracking {

ScoredRows::ScoredRows(const Rows& all, const std::uint8_t* scored) : rank_(all.count, kOut), tracks_(all.tracks) {
  const auto count = all.count - static_cast<std::size_t>(std::count(scored, scored + all.count, std::uint8_t{0}));
  place_.reserve(count), frame_.reserve(count), track_.reserve(count);
  for (std::size_t i = 0; i < all.count; ++i) {
    if (!scored[i]) continue;
    rank_[i] = static_cast<std::uint32_t>(place_.size());
    place_.push_back(static_cast<std::uint32_t>(i));
    frame_.push_back(all.frame[i]);
    track_.push_back(all.track[i]);
  }
}

void keep_scored(std::vector<Overlap>& overlaps, const ScoredRows& truth, const ScoredRows& prediction) {
  std::size_t kept = 0;
  for (const Overlap& one : overlaps) {
    const std::uint32_t i = truth.rank(one.truth), j = prediction.rank(one.prediction);
    if (i != ScoredRows::kOut && j != ScoredRows::kOut) overlaps[kept++] = {i, j, one.similarity};
  }
  overlaps.resize(kept);
}

std::vector<Frame> frames_of(const Rows& truth, const Rows& prediction, const Overlap* overlaps, std::size_t count) {
  std::vector<Frame> frames;
  std::size_t t = 0, p = 0, o = 0;
  while (t < truth.count || p < prediction.count) {
    const bool has_truth = t < truth.count, has_prediction = p < prediction.count;
    const std::int64_t at =
        !has_prediction || (has_truth && truth.frame[t] <= prediction.frame[p]) ? truth.frame[t] : prediction.frame[p];
    Frame frame{t, t, p, p, o, o};
    while (t < truth.count && truth.frame[t] == at) ++t;
    while (p < prediction.count && prediction.frame[p] == at) ++p;
    std::uint64_t last = 0;
    while (o < count && overlaps[o].truth < t) {
      const Overlap& one = overlaps[o];
      const std::uint64_t key = (std::uint64_t{one.truth} << 32) + one.prediction + 1;
      if (one.truth < frame.truth || one.prediction < frame.prediction || one.prediction >= p || key <= last) {
        throw std::invalid_argument("overlaps must stand by frame, truth and prediction");
      }
      last = key;
      ++o;
    }
    frame.truth_end = t, frame.prediction_end = p, frame.pair_end = o;
    frames.push_back(frame);
  }
  if (o != count) throw std::invalid_argument("an overlap names a row that is not there");
  return frames;
}

void BoxOverlaps::add(const double* truth, std::size_t n, std::size_t t0, const double* prediction, std::size_t m,
                      std::size_t p0, std::vector<Overlap>& out) {
  // Predictions by their left edge: those that can touch a true box stand together.
  order_.resize(m);
  for (std::size_t j = 0; j < m; ++j) order_[j] = static_cast<std::uint32_t>(j);
  std::sort(order_.begin(), order_.end(),
            [&](std::uint32_t a, std::uint32_t b) { return prediction[4 * a] < prediction[4 * b]; });
  corners_.resize(5 * m);
  double *left = corners_.data(), *top = left + m, *right = top + m, *low = right + m, *area = low + m;
  double widest = 0.0;
  for (std::size_t j = 0; j < m; ++j) {
    const double* box = prediction + 4 * order_[j];
    left[j] = box[0], top[j] = box[1], right[j] = box[2], low[j] = box[3];
    area[j] = (right[j] - left[j]) * (low[j] - top[j]);
    widest = std::max(widest, right[j] - left[j]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double* box = truth + 4 * i;
    const double x0 = box[0], y0 = box[1], x1 = box[2], y1 = box[3];
    const double own = (x1 - x0) * (y1 - y0);
    if (!(own > kEpsilon)) continue;
    const double reach = x0 - widest - 1e-9 * (std::fabs(x0) + widest);
    const std::size_t first = out.size();
    for (std::size_t j = static_cast<std::size_t>(std::lower_bound(left, left + m, reach) - left);
         j < m && left[j] < x1; ++j) {
      if (right[j] <= x0 || top[j] >= y1 || low[j] <= y0) continue;
      const double width = std::min(x1, right[j]) - std::max(x0, left[j]);
      const double height = std::min(y1, low[j]) - std::max(y0, top[j]);
      const double common = std::max(width, 0.0) * std::max(height, 0.0);
      const double whole = own + area[j] - common;
      if (!(area[j] > kEpsilon) || !(whole > kEpsilon)) continue;
      const double similarity = common / whole;
      if (similarity > 0) {
        out.push_back({static_cast<std::uint32_t>(t0 + i), static_cast<std::uint32_t>(p0 + order_[j]), similarity});
      }
    }
    if (out.size() - first > 1) {
      std::sort(out.begin() + static_cast<std::ptrdiff_t>(first), out.end(),
                [](const Overlap& a, const Overlap& b) { return a.prediction < b.prediction; });
    }
  }
}

std::int64_t code_tracks(const std::int64_t* frame, const std::int64_t* track, std::size_t count, std::int32_t* code) {
  if (count == 0) return -1;
  const auto [low, high] = std::minmax_element(track, track + count);
  const std::int64_t first = *low;
  const std::uint64_t range = static_cast<std::uint64_t>(*high) - static_cast<std::uint64_t>(first);
  std::size_t tracks = 0;
  if (range <= 4 * count + 1024) {
    std::vector<std::int32_t> place(range + 1, -1);
    for (std::size_t i = 0; i < count; ++i) place[static_cast<std::size_t>(track[i] - first)] = 0;
    for (std::int32_t& one : place) {
      if (one == 0) one = static_cast<std::int32_t>(tracks++);
    }
    for (std::size_t i = 0; i < count; ++i) code[i] = place[static_cast<std::size_t>(track[i] - first)];
  } else {
    std::vector<std::int64_t> ids(track, track + count);
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    tracks = ids.size();
    for (std::size_t i = 0; i < count; ++i) {
      code[i] = static_cast<std::int32_t>(std::lower_bound(ids.begin(), ids.end(), track[i]) - ids.begin());
    }
  }
  std::vector<std::int64_t> row(tracks, -1);  // the last of each track
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t& before = row[static_cast<std::size_t>(code[i])];
    if (before >= 0 && frame[before] == frame[i]) return static_cast<std::int64_t>(i);
    before = static_cast<std::int64_t>(i);
  }
  return -1;
}

// Each row's best column, or each column's best row: where they are all different and clearly the best, no other answer
// is as good.
bool FramePairing::by_looking(const Edge* edges, std::size_t count, bool by_column, double near,
                              std::int64_t* partner) {
  for (std::size_t e = 0; e < count; ++e) {
    const std::uint32_t mine = by_column ? edges[e].column : edges[e].row;
    best_[mine] = second_[mine] = 0.0;
  }
  for (std::size_t e = 0; e < count; ++e) {
    const std::uint32_t mine = by_column ? edges[e].column : edges[e].row;
    const std::uint32_t other = by_column ? edges[e].row : edges[e].column;
    if (edges[e].worth > best_[mine]) {
      second_[mine] = best_[mine], best_[mine] = edges[e].worth, place_[mine] = other;
    } else {
      second_[mine] = std::max(second_[mine], edges[e].worth);
    }
    taken_[other] = -1;
  }
  for (std::size_t e = 0; e < count; ++e) {
    const std::uint32_t mine = by_column ? edges[e].column : edges[e].row;
    if (!(best_[mine] - second_[mine] > near)) return false;
    std::int64_t& by = taken_[static_cast<std::size_t>(place_[mine])];
    if (by >= 0 && by != mine) return false;
    by = mine;
  }
  for (std::size_t e = 0; e < count; ++e) {
    const std::uint32_t mine = by_column ? edges[e].column : edges[e].row;
    if (by_column) {
      partner[place_[mine]] = mine;
    } else {
      partner[mine] = place_[mine];
    }
  }
  return true;
}

namespace {

// All answers of a block of few edges, which stand by row: the best, and how much the next best is worth.
struct Answers {
  const Edge* edges;
  std::size_t count;
  double lift, best = -1.0, second = -1.0;
  std::uint32_t taken = 0, best_taken = 0;  // edges

  void from(std::size_t first, double worth) {
    if (first == count) {
      if (worth > best) {
        second = best, best = worth, best_taken = taken;
      } else {
        second = std::max(second, worth);
      }
      return;
    }
    std::size_t next = first;
    while (next < count && edges[next].row == edges[first].row) ++next;
    for (std::size_t e = first; e < next; ++e) {
      bool free = true;
      for (std::size_t other = 0; other < first; ++other) {
        free &= !(taken >> other & 1) || edges[other].column != edges[e].column;
      }
      if (!free) continue;
      taken |= std::uint32_t{1} << e;
      from(next, worth + edges[e].worth + lift);
      taken &= ~(std::uint32_t{1} << e);
    }
    from(next, worth);
  }
};

constexpr std::size_t kFewEdges = 9;  // at most 2^9 answers, mostly some twenty

}  // namespace

// One block: its best answer, unless another one is as good. The others all lack a pair of it, so each pair is tried.
bool FramePairing::block(const Edge* edges, std::size_t count, double lift, double near, std::int64_t* partner) {
  if (by_looking(edges, count, false, near, partner)) return true;
  if (by_looking(edges, count, true, near, partner)) return true;
  if (count <= kFewEdges) {
    Answers answers{edges, count, lift};
    answers.from(0, 0.0);
    if (!(answers.best - answers.second > near)) return false;
    for (std::size_t e = 0; e < count; ++e) {
      if (answers.best_taken >> e & 1) partner[edges[e].row] = edges[e].column;
    }
    return true;
  }
  std::vector<std::uint32_t> rows, columns;
  for (std::size_t e = 0; e < count; ++e) rows.push_back(edges[e].row), columns.push_back(edges[e].column);
  for (auto* side : {&rows, &columns}) {
    std::sort(side->begin(), side->end());
    side->erase(std::unique(side->begin(), side->end()), side->end());
  }
  const std::size_t n = rows.size(), m = columns.size();
  if (n * m > 4096) return false;
  auto place = [](const std::vector<std::uint32_t>& side, std::uint32_t value) {
    return static_cast<std::size_t>(std::lower_bound(side.begin(), side.end(), value) - side.begin());
  };
  cost_.assign(n * m, 0.0);
  for (std::size_t e = 0; e < count; ++e) {
    cost_[place(rows, edges[e].row) * m + place(columns, edges[e].column)] = -(edges[e].worth + lift);
  }
  column_.resize(n);
  auto total = [&](std::int64_t* answer) {
    assign_optimal(cost_.data(), n, m, answer);
    double sum = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      if (answer[i] >= 0) sum -= cost_[i * m + static_cast<std::size_t>(answer[i])];
    }
    return sum;
  };
  std::vector<std::int64_t> answer(n);
  const double best = total(answer.data());
  for (std::size_t i = 0; i < n; ++i) {
    if (answer[i] < 0) continue;
    double& pair = cost_[i * m + static_cast<std::size_t>(answer[i])];
    if (pair == 0.0) continue;
    const double kept = std::exchange(pair, 0.0);
    const double without = total(column_.data());
    pair = kept;
    if (!(best - without > near)) return false;
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (answer[i] >= 0 && cost_[i * m + static_cast<std::size_t>(answer[i])] != 0.0) {
      partner[rows[i]] = columns[static_cast<std::size_t>(answer[i])];
    }
  }
  return true;
}

void FramePairing::dense(const std::vector<Edge>& edges, std::size_t rows, std::size_t columns, double lift,
                         std::int64_t* partner) {
  cost_.assign(rows * columns, lift);
  for (const Edge& e : edges) cost_[e.row * columns + e.column] = -e.worth;
  column_.resize(rows);
  assign_as_scipy(cost_.data(), rows, columns, column_.data());
  std::fill_n(partner, rows, std::int64_t{-1});
  for (const Edge& e : edges) {
    if (column_[e.row] == static_cast<std::int64_t>(e.column) && e.worth > kEpsilon) partner[e.row] = e.column;
  }
}

void FramePairing::solve(const std::vector<Edge>& edges, std::size_t rows, std::size_t columns, double lift,
                         std::int64_t* partner) {
  std::fill_n(partner, rows, std::int64_t{-1});
  if (edges.empty()) return;
  const std::size_t most = std::max(rows, columns);
  if (best_.size() < most) best_.resize(most), second_.resize(most), place_.resize(most), taken_.resize(most);
  for (const Edge& e : edges) taken_[e.column] = -1;
  double largest = lift;
  for (const Edge& e : edges) largest = std::max(largest, e.worth);
  const double near = 1e-12 * largest * static_cast<double>(std::min(rows, columns));

  // A pair that is worth more than the next best of its row and the next best of its column together is in every best
  // answer: putting it in the place of those two can only gain. Most pairs are such, once those before them are taken.
  rest_ = edges;
  best_row_.resize(rows), best_column_.resize(columns);
  for (bool again = true; again && !rest_.empty();) {
    for (const Edge& e : rest_) best_row_[e.row] = best_column_[e.column] = {0.0, 0.0};
    auto note = [](std::pair<double, double>& two, double worth) {
      if (worth > two.first) {
        two.second = two.first, two.first = worth;
      } else {
        two.second = std::max(two.second, worth);
      }
    };
    for (const Edge& e : rest_) note(best_row_[e.row], e.worth + lift), note(best_column_[e.column], e.worth + lift);
    again = false;
    for (const Edge& e : rest_) {
      const auto &row = best_row_[e.row], &column = best_column_[e.column];
      const double worth = e.worth + lift;
      if (worth < row.first || worth < column.first || !(worth - row.second - column.second > near)) continue;
      partner[e.row] = e.column;
      taken_[e.column] = -2;
      again = true;
    }
    if (!again) break;
    std::erase_if(rest_, [&](const Edge& e) { return partner[e.row] >= 0 || taken_[e.column] == -2; });
  }
  if (rest_.empty()) return;
  parent_.resize(rows + columns);
  for (const Edge& e : rest_)
    parent_[e.row] = e.row, parent_[rows + e.column] = static_cast<std::uint32_t>(rows + e.column);
  auto root = [&](std::uint32_t x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  };
  for (const Edge& e : rest_) {
    const std::uint32_t a = root(e.row), b = root(static_cast<std::uint32_t>(rows + e.column));
    if (a != b) parent_[std::max(a, b)] = std::min(a, b);
  }
  // The edges by block, inside one in their order.
  starts_.assign(rows + columns + 1, 0);
  for (const Edge& e : rest_) ++starts_[root(e.row) + 1];
  for (std::size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
  sorted_.resize(rest_.size());
  ends_.assign(starts_.begin(), starts_.end() - 1);
  for (const Edge& e : rest_) sorted_[ends_[root(e.row)]++] = e;
  for (std::size_t b = 0; b < rows; ++b) {
    if (starts_[b] == starts_[b + 1]) continue;
    if (!block(sorted_.data() + starts_[b], starts_[b + 1] - starts_[b], lift, near, partner)) {
      return dense(edges, rows, columns, lift, partner);
    }
  }
}

void match_frames(const std::vector<Frame>& frames, const Overlap* overlaps, double lift, std::int64_t* partner) {
  FramePairing pairing;
  std::vector<Edge> edges;
  std::vector<std::int64_t> column;
  for (const Frame& f : frames) {
    edges.clear();
    for (std::size_t o = f.pair; o < f.pair_end; ++o) {
      if (overlaps[o].similarity < 0.5 - kEpsilon) continue;
      edges.push_back({static_cast<std::uint32_t>(overlaps[o].truth - f.truth),
                       static_cast<std::uint32_t>(overlaps[o].prediction - f.prediction), overlaps[o].similarity});
    }
    std::fill(partner + f.prediction, partner + f.prediction_end, std::int64_t{-1});
    if (edges.empty()) continue;
    column.resize(f.truth_end - f.truth);
    pairing.solve(edges, f.truth_end - f.truth, f.prediction_end - f.prediction, lift, column.data());
    for (std::size_t i = 0; i < column.size(); ++i) {
      if (column[i] >= 0)
        partner[f.prediction + static_cast<std::size_t>(column[i])] = static_cast<std::int64_t>(f.truth + i);
    }
  }
}

}  // namespace steelyard::tracking
