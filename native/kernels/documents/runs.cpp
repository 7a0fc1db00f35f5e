// A candidate is a block with a run of neighbouring pieces, or a piece with a run of two and more blocks. Its gain is
// the mean length of both sides less the edits between them. Candidates are taken by falling gain, ties by blocks and
// then by pieces, each if nothing of it is taken yet.
//
// All runs that begin at one place are a group. A queue holds groups by an upper bound of their gain: first by lengths,
// then by letters that both sides have, then the candidates themselves. A group whose block or first piece is taken is
// dropped unseen, so that most distances are never computed, and what is taken is the same. For one group all run ends
// come from one pass of the bit-parallel edit distance: the column lives on while pieces are added.
#include "documents/runs.hpp"

#include <algorithm>
#include <queue>
#include <tuple>
#include <unordered_map>

#include "language/bit_column.hpp"

namespace steelyard::documents {
namespace {

using language::BitColumn;
using language::kBits;

enum Stage : std::uint8_t { kLengths, kLetters, kExact };

struct Entry {
  std::int64_t twice_gain;  // or an upper bound of it
  std::uint32_t anchor, start, end;
  std::int32_t edits;
  Stage stage;
  bool over_blocks;  // whether the run is one of blocks, and the anchor a piece

  std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t> places() const {
    return over_blocks ? std::tuple(start, end, anchor, anchor) : std::tuple(anchor, anchor, start, end);
  }
};

// The queue gives the largest gain first; of equal ones bounds come before candidates, so that nothing is overlooked.
struct Later {
  bool operator()(const Entry& a, const Entry& b) const {
    if (a.twice_gain != b.twice_gain) return a.twice_gain < b.twice_gain;
    if ((a.stage == kExact) != (b.stage == kExact)) return a.stage == kExact;
    return a.stage == kExact && a.places() > b.places();
  }
};

// One side of a page, with symbols numbered from 0 in the order in which the page has them.
struct Side {
  std::vector<std::uint32_t> symbol;
  std::vector<std::size_t> begin;
  std::vector<std::uint32_t> glue;  // a number plus 1; 0 for none

  std::size_t rows() const { return begin.size() - 1; }
  std::size_t length(std::size_t i) const { return begin[i + 1] - begin[i]; }
  View<std::uint32_t> row(std::size_t i) const { return View<std::uint32_t>(symbol).subspan(begin[i], length(i)); }
};

class Numbers {
 public:
  std::uint32_t of(std::uint32_t symbol) {
    if (symbol < 128) {
      if (!plain_[symbol]) plain_[symbol] = ++count_;
      return plain_[symbol] - 1;
    }
    const auto [place, added] = others_.try_emplace(symbol, count_);
    if (added) ++count_;
    return place->second;
  }
  std::size_t count() const { return count_; }

 private:
  std::uint32_t plain_[128] = {};
  std::unordered_map<std::uint32_t, std::uint32_t> others_;
  std::uint32_t count_ = 0;
};

Side side_of(const Texts& texts, std::size_t first, std::size_t last, Numbers& numbers) {
  Side side;
  side.begin.push_back(0);
  for (std::size_t i = first; i < last; ++i) {
    for (std::uint32_t symbol : texts.row(i)) side.symbol.push_back(numbers.of(symbol));
    side.begin.push_back(side.symbol.size());
    side.glue.push_back(texts.glue[i] ? numbers.of(texts.glue[i]) + 1 : 0);
  }
  return side;
}

class Page {
 public:
  Page(const Side& blocks, const Side& pieces, std::size_t letters, const RunLimits& limits)
      : blocks_(blocks), pieces_(pieces), limits_(limits), letters_(letters) {}

  void match(std::size_t block_offset, std::size_t piece_offset, std::vector<Match>& out) {
    for (std::size_t i = 0; i < blocks_.rows(); ++i) add_groups(blocks_, i, pieces_, false);
    for (std::size_t a = 0; a < pieces_.rows(); ++a) add_groups(pieces_, a, blocks_, true);
    std::vector<bool> block_taken(blocks_.rows()), piece_taken(pieces_.rows());
    while (!queue_.empty()) {
      const Entry entry = queue_.top();
      queue_.pop();
      const auto& anchors = entry.over_blocks ? piece_taken : block_taken;
      const auto& runs = entry.over_blocks ? block_taken : piece_taken;
      if (anchors[entry.anchor] || runs[entry.start]) continue;
      if (entry.stage == kLengths) {
        bound_by_letters(entry);
      } else if (entry.stage == kLetters) {
        measure(entry);
      } else {
        const auto [i, j, a, b] = entry.places();
        bool is_free = true;
        for (std::size_t k = entry.start; k <= entry.end; ++k) is_free = is_free && !runs[k];
        if (!is_free) continue;
        for (std::size_t k = i; k <= j; ++k) block_taken[k] = true;
        for (std::size_t k = a; k <= b; ++k) piece_taken[k] = true;
        // twice_gain = (shorter + longer) - 2 edits, and the run's length is known from the anchor's.
        const auto anchor = static_cast<std::int64_t>((entry.over_blocks ? pieces_ : blocks_).length(entry.anchor));
        const std::int64_t run = entry.twice_gain + 2 * entry.edits - anchor;
        out.push_back({static_cast<std::int64_t>(i + block_offset), static_cast<std::int64_t>(j + block_offset),
                       static_cast<std::int64_t>(a + piece_offset), static_cast<std::int64_t>(b + piece_offset),
                       entry.edits, std::max(anchor, run)});
      }
    }
  }

 private:
  bool is_too_long(std::size_t run, std::size_t anchor) const {
    return static_cast<double>(run) > limits_.stretch * static_cast<double>(anchor) + limits_.slack;
  }

  // Calls `visit(place, length of the run so far)` for each run end; runs of one are left out for runs of blocks.
  template <typename Visit>
  void for_ends(const Side& side, std::size_t start, std::size_t anchor, const Visit& visit) const {
    std::size_t length = side.length(start);
    visit(start, length);
    for (std::size_t end = start + 1; end < side.rows(); ++end) {
      length += side.length(end) + (side.glue[end] ? 1 : 0);
      if (is_too_long(length, anchor)) break;
      visit(end, length);
    }
  }

  // Twice the gain that lengths allow: the edits are at least their difference.
  static std::int64_t most_gain(std::size_t anchor, std::size_t run) {
    return 3 * static_cast<std::int64_t>(std::min(anchor, run)) - static_cast<std::int64_t>(std::max(anchor, run));
  }

  void add_groups(const Side& anchors, std::size_t anchor, const Side& runs, bool over_blocks) {
    const std::size_t length = anchors.length(anchor);
    for (std::size_t start = 0; start < runs.rows(); ++start) {
      bool has_any = false;
      std::int64_t most = 0;
      for_ends(runs, start, length, [&](std::size_t end, std::size_t run) {
        if (over_blocks && end == start) return;
        const std::size_t longer = std::max(length, run), least = longer - std::min(length, run);
        if (static_cast<double>(least) > limits_.share * static_cast<double>(longer)) return;
        const std::int64_t gain = most_gain(length, run);
        most = has_any ? std::max(most, gain) : gain;
        has_any = true;
      });
      if (!has_any) continue;
      queue_.push(
          {most, static_cast<std::uint32_t>(anchor), static_cast<std::uint32_t>(start), 0, 0, kLengths, over_blocks});
    }
  }

  // Edits are at least the letters that one side has more often: of all run ends the best is the group's bound.
  void bound_by_letters(Entry entry) {
    const Side& runs = entry.over_blocks ? blocks_ : pieces_;
    const View<std::uint32_t> anchor = (entry.over_blocks ? pieces_ : blocks_).row(entry.anchor);
    left_.assign(letters_, 0);
    for (std::uint32_t symbol : anchor) ++left_[symbol];
    std::size_t common = 0;
    const auto count = [&](std::uint32_t symbol) { common += left_[symbol]-- > 0; };
    bool has_any = false;
    std::int64_t most = 0;
    for_ends(runs, entry.start, anchor.size(), [&](std::size_t end, std::size_t run) {
      if (end > entry.start && runs.glue[end]) count(runs.glue[end] - 1);
      for (std::uint32_t symbol : runs.row(end)) count(symbol);
      if (entry.over_blocks && end == entry.start) return;
      const std::size_t longer = std::max(anchor.size(), run), least = longer - common;
      if (static_cast<double>(least) > limits_.share * static_cast<double>(longer)) return;
      const auto gain = static_cast<std::int64_t>(anchor.size() + run) - 2 * static_cast<std::int64_t>(least);
      most = has_any ? std::max(most, gain) : gain;
      has_any = true;
    });
    if (!has_any) return;
    entry.twice_gain = most;
    entry.stage = kLetters;
    queue_.push(entry);
  }

  void measure(const Entry& group) {
    const Side& runs = group.over_blocks ? blocks_ : pieces_;
    const View<std::uint32_t> anchor = (group.over_blocks ? pieces_ : blocks_).row(group.anchor);
    if (anchor.empty()) return;
    const std::uint32_t key = 2 * group.anchor + group.over_blocks;
    if (key != filled_) places_.fill(anchor);
    filled_ = key;
    const std::size_t words = places_.words();
    const auto last = static_cast<unsigned>((anchor.size() - 1) % kBits);
    column_.assign(words, BitColumn{});
    auto edits = static_cast<std::int64_t>(anchor.size());
    const auto add = [&](std::uint32_t symbol) {
      const std::uint64_t* match = places_.of(symbol);
      std::uint64_t rise = 1, fall = 0;
      for (std::size_t w = 0; w + 1 < words; ++w) column_[w] = step(column_[w], match[w], rise, fall, kBits - 1);
      column_[words - 1] = step(column_[words - 1], match[words - 1], rise, fall, last);
      edits += static_cast<std::int64_t>(rise) - static_cast<std::int64_t>(fall);
    };
    for_ends(runs, group.start, anchor.size(), [&](std::size_t end, std::size_t run) {
      if (end > group.start && runs.glue[end]) add(runs.glue[end] - 1);
      for (std::uint32_t symbol : runs.row(end)) add(symbol);
      if (group.over_blocks && end == group.start) return;
      const std::size_t longer = std::max(anchor.size(), run);
      if (static_cast<double>(edits) > limits_.share * static_cast<double>(longer)) return;
      queue_.push({static_cast<std::int64_t>(anchor.size() + run) - 2 * edits, group.anchor, group.start,
                   static_cast<std::uint32_t>(end), static_cast<std::int32_t>(edits), kExact, group.over_blocks});
    });
  }

  const Side &blocks_, &pieces_;
  const RunLimits& limits_;
  std::size_t letters_;
  std::priority_queue<Entry, std::vector<Entry>, Later> queue_;
  std::vector<std::int32_t> left_;
  std::vector<BitColumn> column_;
  language::Places places_;
  std::uint32_t filled_ = ~std::uint32_t{0};
};

}  // namespace

void match_runs(const Texts& blocks, std::size_t first_block, std::size_t last_block, const Texts& pieces,
                std::size_t first_piece, std::size_t last_piece, const RunLimits& limits, std::vector<Match>& out) {
  Numbers numbers;
  const Side left = side_of(blocks, first_block, last_block, numbers);
  const Side right = side_of(pieces, first_piece, last_piece, numbers);
  Page(left, right, numbers.count(), limits).match(first_block, first_piece, out);
}

}  // namespace steelyard::documents
