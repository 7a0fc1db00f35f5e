// GriTS: grids aligned by rows and by columns (Smock, Pesala and Abraham 2023), by dynamic programming.
//
// Places of a grid have few distinct features, and rows few distinct sequences of them: similarities are made once for
// each pair of distinct features, alignments once for each pair of distinct rows. Ties go to the pair, then to leaving
// out the truth, then to leaving out the reply, as in the published code; sums are made in its order.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>

#include "language/edit_distance.hpp"
#include "tables/read.hpp"

namespace steelyard::tables {
namespace {

using Box = std::array<double, 4>;

// Numbers of features by place, row by row.
struct Grid {
  std::size_t rows = 0, columns = 0;
  std::vector<std::uint32_t> feature;

  std::size_t places() const { return rows * columns; }
  Grid transposed() const {
    Grid out{columns, rows, std::vector<std::uint32_t>(feature.size())};
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < columns; ++c) out.feature[c * rows + r] = feature[r * columns + c];
    }
    return out;
  }
};

// The share of the intersection of two boxes in the box around both, or in their union. Coordinates are rounded to
// single precision, as the published code has them; a box that is turned round has no area.
double overlap_of(const Box& first, const Box& second, Overlap overlap) {
  const auto single = [](double value) {
    return static_cast<double>(static_cast<float>(std::clamp(value, -1e30, 1e30)));
  };
  Box a, b;
  for (int k = 0; k < 4; ++k) {
    a[static_cast<std::size_t>(k)] = single(first[static_cast<std::size_t>(k)]);
    b[static_cast<std::size_t>(k)] = single(second[static_cast<std::size_t>(k)]);
  }
  const auto valid = [](const Box& box) { return box[2] >= box[0] && box[3] >= box[1]; };
  const auto area = [](double wide, double high) { return std::max(wide, 0.0) * std::max(high, 0.0); };
  const bool both = valid(a) && valid(b);
  const double common =
      both ? area(std::min(a[2], b[2]) - std::max(a[0], b[0]), std::min(a[3], b[3]) - std::max(a[1], b[1])) : 0.0;
  const double own = valid(a) ? area(a[2] - a[0], a[3] - a[1]) : 0.0,
               other = valid(b) ? area(b[2] - b[0], b[3] - b[1]) : 0.0;
  double whole;
  if (overlap == kUnion) {
    whole = own + other - common;
  } else if (both) {
    whole = area(std::max(a[2], b[2]) - std::min(a[0], b[0]), std::max(a[3], b[3]) - std::min(a[1], b[1]));
  } else {
    whole = std::max(own, other);
  }
  return whole > 0 ? common / whole : 0.0;
}

// Scores of an alignment, and the pairs of it.
class Alignment {
 public:
  // Rewards are `reward(i, j)` of n and m places.
  template <typename Reward>
  double fill(std::size_t n, std::size_t m, const Reward& reward) {
    wide_ = m + 1;
    score_.assign((n + 1) * wide_, 0.0);
    for (std::size_t i = 1; i <= n; ++i) {
      const double* above = score_.data() + (i - 1) * wide_;
      double* row = score_.data() + i * wide_;
      for (std::size_t j = 1; j <= m; ++j) {
        row[j] = std::max(above[j - 1] + reward(i - 1, j - 1), std::max(above[j], row[j - 1]));
      }
    }
    return score_[n * wide_ + m];
  }

  template <typename Reward>
  std::vector<std::pair<std::size_t, std::size_t>> pairs(std::size_t n, std::size_t m, const Reward& reward) const {
    std::vector<std::pair<std::size_t, std::size_t>> out;
    while (n && m) {
      const double score = score_[n * wide_ + m];
      if (score == score_[(n - 1) * wide_ + m - 1] + reward(n - 1, m - 1)) {
        out.emplace_back(--n, --m);
      } else if (score == score_[(n - 1) * wide_ + m]) {
        --n;
      } else {
        --m;
      }
    }
    std::reverse(out.begin(), out.end());
    return out;
  }

 private:
  std::size_t wide_ = 1;
  std::vector<double> score_;
};

// The best alignment of the rows of two grids: its score, and its pairs.
double align_rows(const Grid& a, const Grid& b, const std::vector<double>& reward, std::size_t stride,
                  std::vector<std::pair<std::size_t, std::size_t>>& pairs) {
  Distinct rows[2];
  std::vector<std::uint32_t> number[2];
  for (int side = 0; side < 2; ++side) {
    const Grid& grid = side ? b : a;
    for (std::size_t r = 0; r < grid.rows; ++r) {
      const auto begin = grid.feature.begin() + static_cast<std::ptrdiff_t>(r * grid.columns);
      number[side].push_back(rows[side].number(Symbols(begin, begin + static_cast<std::ptrdiff_t>(grid.columns))));
    }
  }
  Alignment inner, outer;
  std::vector<double> score(rows[0].size() * rows[1].size());
  for (std::size_t i = 0; i < rows[0].size(); ++i) {
    for (std::size_t j = 0; j < rows[1].size(); ++j) {
      const auto x = rows[0].row(i), y = rows[1].row(j);
      score[i * rows[1].size() + j] =
          inner.fill(x.size(), y.size(), [&](std::size_t c, std::size_t d) { return reward[x[c] * stride + y[d]]; });
    }
  }
  const auto of_rows = [&](std::size_t r, std::size_t s) {
    return score[number[0][r] * rows[1].size() + number[1][s]];
  };
  const double best = outer.fill(a.rows, b.rows, of_rows);
  pairs = outer.pairs(a.rows, b.rows, of_rows);
  return best;
}

GridScore score_grids(const Grid& a, const Grid& b, const std::vector<double>& reward, std::size_t stride) {
  GridScore out;
  out.truth = a.places();
  out.reply = b.places();
  std::vector<std::pair<std::size_t, std::size_t>> rows, columns;
  const double by_rows = align_rows(a, b, reward, stride, rows);
  const double by_columns = align_rows(a.transposed(), b.transposed(), reward, stride, columns);
  out.bound = std::min(by_rows, by_columns);
  for (const auto& [r, s] : rows) {
    for (const auto& [c, d] : columns) {
      out.score += reward[a.feature[r * a.columns + c] * stride + b.feature[s * b.columns + d]];
    }
  }
  return out;
}

Grid grid_of(const Cells& cells) {
  return {cells.rows, cells.columns, std::vector<std::uint32_t>(std::size_t{cells.rows} * cells.columns)};
}

// Spans of the cells relative to their places; an open place is a cell of its own.
Grid span_grid(const Cells& cells, std::vector<Box>& boxes) {
  Grid grid = grid_of(cells);
  std::map<std::array<std::int32_t, 4>, std::uint32_t> numbers;
  const auto covered = cover(cells);
  for (std::size_t place = 0; place < covered.size(); ++place) {
    std::array<std::int32_t, 4> span = {0, 0, 1, 1};
    if (covered[place] >= 0) {
      const Cell& cell = cells.cells[static_cast<std::size_t>(covered[place])];
      const auto r = static_cast<std::int32_t>(place / cells.columns),
                 c = static_cast<std::int32_t>(place % cells.columns);
      const auto column = static_cast<std::int32_t>(cell.column), row = static_cast<std::int32_t>(cell.row);
      span = {column - c, row - r, column + static_cast<std::int32_t>(cell.colspan) - c,
              row + static_cast<std::int32_t>(cell.rowspan) - r};
    }
    const auto [entry, added] = numbers.emplace(span, static_cast<std::uint32_t>(boxes.size()));
    if (added) boxes.push_back({double(span[0]), double(span[1]), double(span[2]), double(span[3])});
    grid.feature[place] = entry->second;
  }
  return grid;
}

Grid text_grid(const Cells& cells, Distinct& texts) {
  Grid grid = grid_of(cells);
  const auto covered = cover(cells);
  std::vector<std::uint32_t> number;
  for (const Cell& cell : cells.cells) number.push_back(texts.number(cell.text));
  for (std::size_t place = 0; place < covered.size(); ++place) {
    grid.feature[place] = covered[place] < 0 ? texts.number({}) : number[static_cast<std::size_t>(covered[place])];
  }
  return grid;
}

// Boxes of cells; the last feature is that of places without a box.
Grid box_grid(const Cells& cells, View<double> values, std::vector<Box>& boxes) {
  Grid grid = grid_of(cells);
  for (std::size_t i = 0; i < cells.cells.size(); ++i) {
    boxes.push_back({values[4 * i], values[4 * i + 1], values[4 * i + 2], values[4 * i + 3]});
  }
  const auto none = static_cast<std::uint32_t>(boxes.size());
  boxes.push_back({0, 0, -1, -1});
  const auto covered = cover(cells);
  for (std::size_t place = 0; place < covered.size(); ++place) {
    const std::int32_t i = covered[place];
    const bool open = i < 0 || std::isnan(boxes[static_cast<std::size_t>(i)][0]);
    grid.feature[place] = open ? none : static_cast<std::uint32_t>(i);
  }
  return grid;
}

std::vector<double> overlaps(const std::vector<Box>& a, const std::vector<Box>& b, Overlap overlap) {
  std::vector<double> reward;
  reward.reserve(a.size() * b.size());
  for (const Box& x : a) {
    for (const Box& y : b) reward.push_back(overlap_of(x, y, overlap));
  }
  return reward;
}

std::vector<double> similarities(const Distinct& a, const Distinct& b, Text text) {
  std::vector<std::int32_t> common(a.size() * b.size());
  if (text == kLcs) {
    language::common_table({a.symbol, a.end}, {b.symbol, b.end}, common.data());
  } else {
    for (std::size_t i = 0; i < a.size(); ++i) {
      for (std::size_t j = 0; j < b.size(); ++j) {
        common[i * b.size() + j] = static_cast<std::int32_t>(difflib_common(a.row(i), b.row(j)));
      }
    }
  }
  std::vector<double> reward(common.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t k = i * b.size() + j, letters = a.length(i) + b.length(j);
      reward[k] = letters ? 2.0 * common[k] / static_cast<double>(letters) : 1.0;
    }
  }
  return reward;
}

Status read_side(std::string_view text, Rules rules, Cells& cells) {
  Names names;
  const Document document(text, names);
  if (rules == kMicrosoft) {
    cells = published_cells(document);
  } else {
    if (document.tables().empty()) return kNoTable;
    cells = clean_cells(document, names, document.tables()[0], false);
  }
  return cells.notes & kOversize ? kTooLarge : kScored;
}

// difflib.SequenceMatcher: the longest common run, then what lies before and behind it. From 200 letters on, a letter
// that is more than a hundredth of the second text does not begin a run.
class Runs {
 public:
  Runs(View<std::uint32_t> a, View<std::uint32_t> b) : a_(a), b_(b) {
    for (std::size_t j = 0; j < b.size(); ++j) places_[b[j]].push_back(j);
    if (b.size() >= 200) {
      const std::size_t most = b.size() / 100 + 1;
      for (auto entry = places_.begin(); entry != places_.end();) {
        entry = entry->second.size() > most ? places_.erase(entry) : std::next(entry);
      }
    }
    length_.resize(b.size() + 1);
    next_.resize(b.size() + 1);
  }

  std::size_t total() {
    struct Part {
      std::size_t a, a_end, b, b_end;
    };
    std::vector<Part> open = {{0, a_.size(), 0, b_.size()}};
    std::size_t sum = 0;
    while (!open.empty()) {
      const Part part = open.back();
      open.pop_back();
      const auto [i, j, size] = longest(part.a, part.a_end, part.b, part.b_end);
      if (!size) continue;
      sum += size;
      if (part.a < i && part.b < j) open.push_back({part.a, i, part.b, j});
      if (i + size < part.a_end && j + size < part.b_end) open.push_back({i + size, part.a_end, j + size, part.b_end});
    }
    return sum;
  }

 private:
  struct Run {
    std::size_t a, b, size;
  };

  Run longest(std::size_t a_begin, std::size_t a_end, std::size_t b_begin, std::size_t b_end) {
    Run best{a_begin, b_begin, 0};
    // length_[j + 1] is the length of the run that ends at j in the row before; marks say which are set.
    for (std::size_t i = a_begin; i < a_end; ++i) {
      touched_next_.clear();
      const auto entry = places_.find(a_[i]);
      if (entry != places_.end()) {
        const auto& at = entry->second;
        for (auto j = std::lower_bound(at.begin(), at.end(), b_begin); j != at.end() && *j < b_end; ++j) {
          const std::size_t k = length_[*j] + 1;
          next_[*j + 1] = k;
          touched_next_.push_back(*j + 1);
          if (k > best.size) best = {i + 1 - k, *j + 1 - k, k};
        }
      }
      for (std::size_t j : touched_) length_[j] = 0;
      for (std::size_t j : touched_next_) length_[j] = next_[j];
      touched_.swap(touched_next_);
    }
    for (std::size_t j : touched_) length_[j] = 0;
    touched_.clear();
    while (best.a > a_begin && best.b > b_begin && a_[best.a - 1] == b_[best.b - 1]) {
      --best.a;
      --best.b;
      ++best.size;
    }
    while (best.a + best.size < a_end && best.b + best.size < b_end &&
           a_[best.a + best.size] == b_[best.b + best.size]) {
      ++best.size;
    }
    return best;
  }

  View<std::uint32_t> a_, b_;
  std::unordered_map<std::uint32_t, std::vector<std::size_t>> places_;
  std::vector<std::size_t> length_, next_, touched_, touched_next_;
};

}  // namespace

std::size_t difflib_common(View<std::uint32_t> a, View<std::uint32_t> b) { return Runs(a, b).total(); }

GridScore grid_score(std::string_view truth, std::string_view reply, const GridRules& rules, View<double> truth_boxes,
                     View<double> reply_boxes) {
  Cells cells[2];
  GridScore out;
  const Status first = read_side(truth, rules.rules, cells[0]), second = read_side(reply, rules.rules, cells[1]);
  out.status = first != kScored ? first : second;
  out.truth = first == kScored ? std::size_t{cells[0].rows} * cells[0].columns : 0;
  out.reply = second == kScored ? std::size_t{cells[1].rows} * cells[1].columns : 0;
  if (out.status != kScored) return out;
  if (rules.kind == kCon) {
    Distinct texts[2];
    const Grid a = text_grid(cells[0], texts[0]), b = text_grid(cells[1], texts[1]);
    if (rules.text == kDifflib) {
      for (const Distinct& side : texts) {
        for (std::size_t i = 0; i < side.size(); ++i) {
          if (side.length(i) > kMostCompared) out.status = kTooLarge;
        }
      }
      if (out.status != kScored) return out;
    }
    return score_grids(a, b, similarities(texts[0], texts[1], rules.text), texts[1].size());
  }
  std::vector<Box> boxes[2];
  Grid grids[2];
  for (std::size_t side = 0; side < 2; ++side) {
    const View<double> values = side ? reply_boxes : truth_boxes;
    if (rules.kind == kLoc && values.size() != 4 * cells[side].cells.size()) {
      out.status = kBadSpan;
      return out;
    }
    grids[side] = rules.kind == kLoc ? box_grid(cells[side], values, boxes[side]) : span_grid(cells[side], boxes[side]);
  }
  return score_grids(grids[0], grids[1], overlaps(boxes[0], boxes[1], rules.overlap), boxes[1].size());
}

}  // namespace steelyard::tables
