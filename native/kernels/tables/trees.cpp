// TEDS: the edit distance of two trees (Zhang and Shasha 1989) on arrays.
//
// A tree is its nodes in postorder, each with the place of its leftmost leaf. The subproblems of two cells, which are
// most of them, are one comparison; those of two rows are sequences of cells. Distances of texts are made once for each
// pair of distinct texts.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <utility>

#include "language/edit_distance.hpp"
#include "tables/read.hpp"

namespace steelyard::tables {
namespace {

constexpr std::uint32_t kNoText = ~std::uint32_t{0};

struct Tree {
  std::vector<std::uint32_t> label, text;
  std::vector<std::int32_t> left, root;  // leftmost leaves; nodes whose subtree is a subproblem of its own
  std::vector<std::int32_t> parent;
  std::size_t size = 0;  // elements that are counted
  Distinct texts;

  std::size_t nodes() const { return label.size(); }
  // Adds a node behind its children, the first of which begins at `first`; gives the place of its leftmost leaf.
  std::int32_t add(std::uint32_t its_label, std::uint32_t its_text, std::int32_t first) {
    const auto place = static_cast<std::int32_t>(label.size());
    label.push_back(its_label);
    text.push_back(its_text);
    left.push_back(first < 0 ? place : first);
    return left.back();
  }
  void finish() {
    parent.assign(nodes(), -1);
    for (std::size_t i = 0; i < nodes(); ++i) {  // children end where the next one begins, before their parent
      for (auto child = static_cast<std::int32_t>(i) - 1; child >= left[i];
           child = left[static_cast<std::size_t>(child)] - 1) {
        parent[static_cast<std::size_t>(child)] = static_cast<std::int32_t>(i);
      }
    }
    std::vector<std::int32_t> last(nodes(), -1);
    for (std::size_t i = 0; i < nodes(); ++i) last[static_cast<std::size_t>(left[i])] = static_cast<std::int32_t>(i);
    for (std::size_t i = 0; i < nodes(); ++i) {
      if (last[static_cast<std::size_t>(left[i])] == static_cast<std::int32_t>(i))
        root.push_back(static_cast<std::int32_t>(i));
    }
  }
};

// Numbers of labels, shared by both trees: tag and spans.
using Labels = std::map<std::array<std::int64_t, 3>, std::uint32_t>;

std::uint32_t label_of(Labels& labels, std::int64_t tag, std::int64_t colspan, std::int64_t rowspan) {
  return labels.emplace(std::array<std::int64_t, 3>{tag, colspan, rowspan}, static_cast<std::uint32_t>(labels.size()))
      .first->second;
}

Tree clean_tree(const Cells& cells, const TreeRules& rules, Labels& labels) {
  Tree tree;
  const auto later = [](std::int32_t first, std::int32_t own) { return first < 0 ? own : first; };
  std::size_t i = 0;
  std::int32_t all = -1, head = -1;
  bool in_head = false;
  const std::uint32_t row_label = label_of(labels, kTr, 0, 0);
  const auto end_head = [&] {
    if (in_head) all = later(all, tree.add(label_of(labels, kThead, 0, 0), kNoText, head));
    in_head = false;
    head = -1;
  };
  for (std::uint32_t r = 0; r < cells.rows; ++r) {
    const bool heads = rules.header && cells.head[r];
    if (!heads) end_head();
    std::int32_t row = -1;
    for (; i < cells.row_end[r]; ++i) {
      const Cell& cell = cells.cells[i];
      const std::uint32_t tag = rules.header && cell.th ? kTh : kTd;
      const std::uint32_t text = rules.structure ? kNoText : tree.texts.number(cell.text);
      row = later(row, tree.add(label_of(labels, tag, cell.colspan, cell.rowspan), text, -1));
    }
    row = tree.add(row_label, kNoText, row);
    in_head = in_head || heads;
    (in_head ? head : all) = later(in_head ? head : all, row);
  }
  end_head();
  tree.size = tree.nodes();
  tree.add(label_of(labels, kTable, 0, 0), kNoText, all);
  tree.finish();
  return tree;
}

// A number as Python's int() reads it from plain digits.
bool whole_number(std::string_view text, std::int64_t& value) {
  const auto white = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!text.empty() && white(text.front())) text.remove_prefix(1);
  while (!text.empty() && white(text.back())) text.remove_suffix(1);
  const bool negative = !text.empty() && text.front() == '-';
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  if (text.empty()) return false;
  value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return false;
    value = std::min<std::int64_t>(value * 10 + (c - '0'), std::int64_t{1} << 40);
  }
  if (negative) value = -value;
  return true;
}

// The tree of PubTabNet's code: all elements below the table, with texts of `td` alone.
class PublishedTree {
 public:
  PublishedTree(const Document& document, const TreeRules& rules, Names& names, Labels& labels)
      : document_(document), structure_(rules.structure), labels_(labels) {
    for (std::string_view name : rules.ignore) ignored_.push_back(names.number(name));
  }

  Status build(std::int32_t table, Tree& tree) {
    const std::int32_t first = children(document_.node(table), tree);
    tree.add(label_of(labels_, kTable, -1, -1), kNoText, first);
    tree.finish();
    return status_;
  }

 private:
  bool skipped(const Node& node) const {
    return node.implied || std::find(ignored_.begin(), ignored_.end(), node.tag) != ignored_.end();
  }
  std::int32_t children(const Node& element, Tree& tree) {
    std::int32_t first = -1;
    for (std::int32_t i = element.first; i >= 0 && status_ != kTooLarge; i = document_.node(i).next) {
      const Node& child = document_.node(i);
      if (child.tag == Node::kText) continue;
      std::int32_t own;
      if (skipped(child)) {
        own = children(child, tree);
        if (own < 0) continue;
      } else {
        ++tree.size;
        own = child.tag == kTd ? cell(child, tree)
                               : tree.add(label_of(labels_, child.tag, -1, -1), kNoText, children(child, tree));
      }
      if (first < 0) first = own;
      if (tree.nodes() > kMostNodes || letters_ > kMostLetters) status_ = kTooLarge;
    }
    return first;
  }
  std::int32_t cell(const Node& element, Tree& tree) {
    Symbols tokens;
    add_tokens(element, tree, tokens);
    letters_ += tokens.size();
    std::int64_t colspan = 1, rowspan = 1;
    const bool read = (!element.has_colspan || whole_number(element.colspan, colspan)) &&
                      (!element.has_rowspan || whole_number(element.rowspan, rowspan));
    if (!read && status_ == kScored) status_ = kBadSpan;
    return tree.add(label_of(labels_, kTd, colspan, rowspan), structure_ ? kNoText : tree.texts.number(tokens), -1);
  }
  void add_tokens(const Node& element, Tree& tree, Symbols& out) {
    for (std::int32_t i = element.first; i >= 0; i = document_.node(i).next) {
      const Node& child = document_.node(i);
      if (child.tag == Node::kText) {
        out.insert(out.end(), document_.letters() + child.begin, document_.letters() + child.end);
      } else if (skipped(child)) {
        add_tokens(child, tree, out);
      } else {
        ++tree.size;
        out.push_back(tag_token(child.tag, false));
        add_tokens(child, tree, out);
        if (child.tag != kUnk) out.push_back(tag_token(child.tag, true));
      }
    }
  }

  const Document& document_;
  bool structure_;
  Labels& labels_;
  std::vector<std::uint32_t> ignored_;
  std::size_t letters_ = 0;
  Status status_ = kScored;
};

class Matching {
 public:
  Matching(const Tree& a, const Tree& b) : a_(a), b_(b), wide_(b.nodes()) {
    tree_.resize(a.nodes() * b.nodes());
    forest_.resize((a.nodes() + 1) * (b.nodes() + 1));
    if (!a.texts.size() || !b.texts.size()) return;
    std::vector<std::int32_t> edits(a.texts.size() * b.texts.size());
    language::edit_table({a.texts.symbol, a.texts.end}, {b.texts.symbol, b.texts.end}, edits.data());
    costs_.resize(edits.size());
    for (std::size_t i = 0; i < a.texts.size(); ++i) {
      for (std::size_t j = 0; j < b.texts.size(); ++j) {
        const std::size_t k = i * b.texts.size() + j, longer = std::max(a.texts.length(i), b.texts.length(j));
        costs_[k] = longer ? static_cast<double>(edits[k]) / static_cast<double>(longer) : 0.0;
      }
    }
  }

  double distance() {
    match_leaves();
    for (std::int32_t i : a_.root) {
      if (left(a_, i) == i) continue;
      for (std::int32_t j : b_.root) {
        if (left(b_, j) != j) fill(i, j, true);
      }
    }
    return tree_.back();
  }

  // Calls `visit(a, b)` for nodes that are matched, with -1 on one side for those that are not; after `distance`.
  template <typename Visit>
  void trace(const Visit& visit) {
    std::vector<std::pair<std::int32_t, std::int32_t>> open = {
        {static_cast<std::int32_t>(a_.nodes()) - 1, static_cast<std::int32_t>(b_.nodes()) - 1}};
    while (!open.empty()) {
      const auto [i, j] = open.back();
      open.pop_back();
      fill(i, j, false);
      const std::int32_t low = left(a_, i), side = left(b_, j);
      std::int32_t x = i, y = j;
      while (x >= low || y >= side) {
        const std::size_t p = static_cast<std::size_t>(x - low) + 1, q = static_cast<std::size_t>(y - side) + 1;
        if (x >= low && y >= side) {
          const bool whole = left(a_, x) == low && left(b_, y) == side;
          if (whole && forest(p, q) == forest(p - 1, q - 1) + rename(x, y)) {
            visit(x, y);
            --x;
            --y;
            continue;
          }
          const auto p0 = static_cast<std::size_t>(left(a_, x) - low),
                     q0 = static_cast<std::size_t>(left(b_, y) - side);
          if (!whole && forest(p, q) == forest(p0, q0) + tree(x, y)) {
            open.emplace_back(x, y);
            x = left(a_, x) - 1;
            y = left(b_, y) - 1;
            continue;
          }
        }
        if (x >= low && forest(p, q) == forest(p - 1, q) + 1.0) {
          visit(x--, -1);
        } else {
          visit(-1, y--);
        }
      }
    }
  }

 private:
  static std::int32_t left(const Tree& tree, std::int32_t i) { return tree.left[static_cast<std::size_t>(i)]; }
  double& tree(std::int32_t i, std::int32_t j) {
    return tree_[static_cast<std::size_t>(i) * wide_ + static_cast<std::size_t>(j)];
  }
  double& forest(std::size_t p, std::size_t q) { return forest_[p * (wide_ + 1) + q]; }

  double rename(std::int32_t x, std::int32_t y) const {
    const auto i = static_cast<std::size_t>(x), j = static_cast<std::size_t>(y);
    if (a_.label[i] != b_.label[j]) return 1.0;
    if (a_.text[i] == kNoText || b_.text[j] == kNoText) return 0.0;
    return costs_[a_.text[i] * b_.texts.size() + b_.text[j]];
  }

  // Distances of leaves to subtrees: a leaf becomes the node that is most like it, and the others are inserted. The
  // least cost of a subtree is the least of its node and of its children's subtrees; these lie before it.
  void match_leaves() {
    const auto high = static_cast<std::int32_t>(a_.nodes()), wide = static_cast<std::int32_t>(b_.nodes());
    std::fill_n(forest_.begin(), a_.nodes() * (wide_ + 1), 1.0);
    for (std::int32_t x = 0; x < high; ++x) {
      double* least = &forest(static_cast<std::size_t>(x), 0);
      double* known = &tree(x, 0);
      const bool leaf = left(a_, x) == x;
      const std::int32_t above = a_.parent[static_cast<std::size_t>(x)];
      for (std::int32_t y = 0; y < wide; ++y) {
        if (!leaf && left(b_, y) != y) continue;
        least[y] = std::min(least[y], rename(x, y));
        known[y] = static_cast<double>(leaf ? y - left(b_, y) : x - left(a_, x)) + least[y];
        const std::int32_t over = b_.parent[static_cast<std::size_t>(y)];
        if (leaf && over >= 0) least[over] = std::min(least[over], least[y]);
      }
      if (above < 0) continue;
      double* next = &forest(static_cast<std::size_t>(above), 0);
      for (std::int32_t y = 0; y < wide; ++y) next[y] = std::min(next[y], least[y]);
    }
  }

  // Distances of all beginnings of two subtrees; those of subtrees within them are known, or kept where `keep` says so.
  void fill(std::int32_t i, std::int32_t j, bool keep) {
    const std::int32_t low = left(a_, i), side = left(b_, j);
    const auto high = static_cast<std::size_t>(i - low) + 1, wide = static_cast<std::size_t>(j - side) + 1;
    for (std::size_t p = 0; p <= high; ++p) forest(p, 0) = static_cast<double>(p);
    for (std::size_t q = 0; q <= wide; ++q) forest(0, q) = static_cast<double>(q);
    for (std::size_t p = 1; p <= high; ++p) {
      const auto x = low + static_cast<std::int32_t>(p) - 1;
      const double* above = &forest(p - 1, 0);
      double* row = &forest(p, 0);
      const bool whole = left(a_, x) == low;
      const double* cut = &forest(static_cast<std::size_t>(left(a_, x) - low), 0);
      double* known = &tree(x, 0);
      const std::int32_t* leaf = b_.left.data() + side;
      known += side;
      double before = row[0];
      if (!whole) {
        for (std::size_t q = 0; q < wide; ++q) {
          const double paired = cut[leaf[q] - side] + known[q];
          row[q + 1] = before = std::min(std::min(above[q + 1], before) + 1.0, paired);
        }
        continue;
      }
      for (std::size_t q = 0; q < wide; ++q) {
        double cost = std::min(above[q + 1], before) + 1.0;
        if (leaf[q] == side) {
          cost = std::min(cost, above[q] + rename(x, side + static_cast<std::int32_t>(q)));
          if (keep) known[q] = cost;
        } else {
          cost = std::min(cost, cut[leaf[q] - side] + known[q]);
        }
        row[q + 1] = before = cost;
      }
    }
  }

  const Tree &a_, &b_;
  std::size_t wide_;
  std::vector<double> tree_, forest_, costs_;
};

bool same(const Tree& a, const Tree& b) {
  if (a.label != b.label || a.left != b.left) return false;
  for (std::size_t i = 0; i < a.nodes(); ++i) {
    if ((a.text[i] == kNoText) != (b.text[i] == kNoText)) return false;
    if (a.text[i] == kNoText) continue;
    const auto x = a.texts.row(a.text[i]), y = b.texts.row(b.text[i]);
    if (!std::equal(x.begin(), x.end(), y.begin(), y.end())) return false;
  }
  return true;
}

// The table that PubTabNet's code finds: the first one right in the body of a whole document.
std::int32_t body_table(const Document& document) {
  if (!document.whole()) return -1;
  for (std::int32_t i = document.node(0).first; i >= 0; i = document.node(i).next) {
    if (document.node(i).tag == kTable) return i;
  }
  return -1;
}

Status build(std::string_view text, const TreeRules& rules, Names& names, Labels& labels, Tree& tree) {
  const Document document(text, names);
  if (rules.rules == kPublished) {
    const std::int32_t table = body_table(document);
    return table < 0 ? kNoTable : PublishedTree(document, rules, names, labels).build(table, tree);
  }
  if (document.tables().empty()) return kNoTable;
  const Cells cells = clean_cells(document, names, document.tables()[0], rules.tokens);
  if (cells.notes & kOversize) return kTooLarge;
  tree = clean_tree(cells, rules, labels);
  return kScored;
}

}  // namespace

Distance tree_distance(std::string_view truth, std::string_view reply, const TreeRules& rules) {
  Names names;
  Labels labels;
  Tree a, b;
  Distance out;
  const Status first = build(truth, rules, names, labels, a), second = build(reply, rules, names, labels, b);
  out.status = first != kScored ? first : second;
  if (out.status != kScored) return out;
  out.size = std::max(a.size, b.size);
  if (!same(a, b)) out.distance = Matching(a, b).distance();
  return out;
}

std::vector<Step> tree_path(std::string_view truth, std::string_view reply, Status& status) {
  Names names;
  Labels labels;
  const TreeRules rules;
  Cells cells[2];
  Tree trees[2];
  for (int side = 0; side < 2; ++side) {
    const Document document(side ? reply : truth, names);
    status = document.tables().empty() ? kNoTable : kScored;
    if (status != kScored) return {};
    cells[side] = clean_cells(document, names, document.tables()[0], false);
    status = cells[side].notes & kOversize ? kTooLarge : kScored;
    if (status != kScored) return {};
    trees[side] = clean_tree(cells[side], rules, labels);
  }
  // Rows and cells of nodes, which lie row by row with each row behind its cells, and the table last.
  std::vector<std::pair<std::int32_t, std::int32_t>> places[2];
  for (int side = 0; side < 2; ++side) {
    std::uint32_t i = 0;
    for (std::uint32_t r = 0; r < cells[side].rows; ++r) {
      for (; i < cells[side].row_end[r]; ++i) places[side].emplace_back(r, i);
      places[side].emplace_back(r, -1);
    }
    places[side].emplace_back(-1, -1);
  }
  Matching matching(trees[0], trees[1]);
  matching.distance();
  std::vector<Step> steps;
  matching.trace([&](std::int32_t x, std::int32_t y) {
    const auto first = x < 0 ? std::pair<std::int32_t, std::int32_t>{-1, -1} : places[0][static_cast<std::size_t>(x)];
    const auto second = y < 0 ? std::pair<std::int32_t, std::int32_t>{-1, -1} : places[1][static_cast<std::size_t>(y)];
    if (first.first >= 0 || second.first >= 0)
      steps.push_back({first.first, first.second, second.first, second.second});
  });
  std::reverse(steps.begin(), steps.end());
  return steps;
}

}  // namespace steelyard::tables
