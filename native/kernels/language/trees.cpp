// The best projective tree of arc scores, one word on the root.
//
// Most often every word's best head already makes such a tree; that is tried first and costs next to nothing. Else
// Eisner's dynamic program (1996) over spans: complete ones, whose end has all its dependents, and open ones, which an
// arc spans.
#include "language/trees.hpp"

#include <algorithm>

namespace steelyard::language {
namespace {

// Whether each word hangs on the root at last, one directly, and no two arcs cross.
bool is_tree(const std::vector<std::int32_t>& heads) {
  const auto n = static_cast<std::int32_t>(heads.size());
  if (std::count(heads.begin(), heads.end(), 0) != 1) return false;
  // Without crossing arcs the words below an arc stay below it: a stack of open arcs' ends says so.
  for (std::int32_t i = 1; i <= n; ++i) {
    const std::int32_t h = heads[static_cast<std::size_t>(i - 1)], from = std::min(i, h), to = std::max(i, h);
    for (std::int32_t k = from + 1; k < to; ++k) {
      const std::int32_t up = heads[static_cast<std::size_t>(k - 1)];
      if (up < from || up > to) return false;
    }
    std::int32_t at = i;
    for (std::int32_t steps = 0; at != 0; ++steps) {
      if (steps > n) return false;
      at = heads[static_cast<std::size_t>(at - 1)];
    }
  }
  return true;
}

class Eisner {
 public:
  Eisner(const std::int32_t* arcs, std::size_t n) : arcs_(arcs), n_(n + 1), best_(4 * n_ * n_), split_(4 * n_ * n_) {
    for (std::size_t k = 1; k < n_; ++k) {
      for (std::size_t s = 0; s + k < n_; ++s) span(s, s + k);
    }
  }
  void walk(std::size_t s, std::size_t t, int kind, std::vector<std::int32_t>& heads) const {
    if (s == t) return;
    const std::size_t m = split_[at(s, t, kind)];
    switch (kind) {
      case kLeft: walk(s, m, kLeft, heads); return walk(m, t, kOpenLeft, heads);
      case kRight: walk(s, m, kOpenRight, heads); return walk(m, t, kRight, heads);
      default:
        heads[(kind == kOpenLeft ? s : t) - 1] = static_cast<std::int32_t>(kind == kOpenLeft ? t : s);
        walk(s, m, kRight, heads);
        return walk(m + 1, t, kLeft, heads);
    }
  }
  enum : int {
    kLeft,
    kRight,
    kOpenLeft,
    kOpenRight
  };  // where the head of the span stands: left means at its right end

 private:
  std::size_t at(std::size_t s, std::size_t t, int kind) const {
    return (static_cast<std::size_t>(kind) * n_ + s) * n_ + t;
  }
  std::int64_t arc(std::size_t word, std::size_t head) const { return arcs_[(word - 1) * n_ + head]; }
  void settle(std::size_t s, std::size_t t, int kind, std::int64_t score, std::size_t m, bool first) {
    const std::size_t k = at(s, t, kind);
    if (first || score > best_[k]) best_[k] = score, split_[k] = static_cast<std::uint8_t>(m);
  }
  void span(std::size_t s, std::size_t t) {
    for (std::size_t m = s; m < t; ++m) {
      if (s == 0 && m > 0) break;  // one word only hangs on the root
      const std::int64_t both = best_[at(s, m, kRight)] + best_[at(m + 1, t, kLeft)];
      settle(s, t, kOpenLeft, s == 0 ? kNever : both + arc(s, t), m, m == s);
      settle(s, t, kOpenRight, both + arc(t, s), m, m == s);
    }
    for (std::size_t m = s; m < t; ++m) {
      settle(s, t, kLeft, best_[at(s, m, kLeft)] + best_[at(m, t, kOpenLeft)], m, m == s);
      settle(s, t, kRight, best_[at(s, m + 1, kOpenRight)] + best_[at(m + 1, t, kRight)], m + 1, m == s);
    }
  }
  static constexpr std::int64_t kNever = -(std::int64_t{1} << 50);
  const std::int32_t* arcs_;
  std::size_t n_;
  std::vector<std::int64_t> best_;
  std::vector<std::uint8_t> split_;
};

}  // namespace

void best_tree(const std::int32_t* arcs, std::size_t n, std::vector<std::int32_t>& heads) {
  heads.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t* row = arcs + i * (n + 1);
    heads[i] = static_cast<std::int32_t>(std::max_element(row, row + n + 1) - row);
  }
  if (is_tree(heads)) return;
  Eisner(arcs, n).walk(0, n, Eisner::kRight, heads);
}

}  // namespace steelyard::language
