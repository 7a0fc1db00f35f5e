// Edit distance, 64 symbols of the reference at a time (Myers 1999; Hyyro 2003): a word of bits says where the distance
// rises (`up`) and where it falls (`down`) from one symbol of the reference to the next, and a column of words is one
// symbol of the hypothesis. The alignment is read from the words of all columns. Where these are too many to keep, some
// are, and those between two of them are made again.
#include "language/edit_distance.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "language/bit_column.hpp"
#include "support/pool.hpp"

namespace steelyard::language {
namespace {

constexpr std::size_t kRowsPerTask = 512;
// Words of columns that are kept: 16 MB.
constexpr std::size_t kWordsKept = std::size_t{1} << 21;

// A pair without what both begin and end with.
struct Middle {
  View<std::uint32_t> a, b;
  std::size_t before, after;

  Middle(View<std::uint32_t> reference, View<std::uint32_t> hypothesis) : a(reference), b(hypothesis) {
    const auto front = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    before = static_cast<std::size_t>(front.first - a.begin());
    a = a.subspan(before);
    b = b.subspan(before);
    after = 0;
    while (after < a.size() && after < b.size() && a[a.size() - 1 - after] == b[b.size() - 1 - after]) ++after;
    a = a.first(a.size() - after);
    b = b.first(b.size() - after);
  }
};

class Aligner {
 public:
  std::int64_t distance(View<std::uint32_t> reference, View<std::uint32_t> hypothesis) {
    Middle middle(reference, hypothesis);
    if (middle.a.size() > middle.b.size()) std::swap(middle.a, middle.b);  // the distance is the same
    const View<std::uint32_t> a = middle.a, b = middle.b;
    if (a.empty()) return static_cast<std::int64_t>(b.size());
    places_.fill(a);
    return to_filled(a.size(), b);
  }

  // Distances of one reference to many hypotheses: `fill` once, then `to_filled` with its size for each.
  void fill(View<std::uint32_t> reference) { places_.fill(reference); }
  std::int64_t to_filled(std::size_t size, View<std::uint32_t> b) {
    if (!size) return static_cast<std::int64_t>(b.size());
    const std::size_t words = places_.words();
    const auto last = static_cast<unsigned>((size - 1) % kBits);
    auto edits = static_cast<std::int64_t>(size);
    if (words == 1) return edits + short_rise<1>(b, last);
    if (words == 2) return edits + short_rise<2>(b, last);
    if (words == 3) return edits + short_rise<3>(b, last);
    column_.assign(words, BitColumn{});
    for (std::uint32_t symbol : b) edits += next(places_.of(symbol), column_.data(), column_.data(), last);
    return edits;
  }

  // The longest common subsequence with what was filled (Hyyro 2004): a bit that falls is a symbol more.
  std::int64_t common_with_filled(View<std::uint32_t> b) {
    const std::size_t words = places_.words();
    rows_.assign(words, ~std::uint64_t{0});
    for (std::uint32_t symbol : b) {
      const std::uint64_t* match = places_.of(symbol);
      std::uint64_t carry = 0;
      for (std::size_t w = 0; w < words; ++w) {
        const std::uint64_t v = rows_[w], u = v & match[w], sum = v + u, all = sum + carry;
        carry = (sum < v) | (all < sum);
        rows_[w] = all | (v - u);
      }
    }
    std::int64_t common = 0;
    for (std::uint64_t v : rows_) common += std::popcount(~v);
    return common;
  }

  // Calls `visit(edit, place in the reference, place in the hypothesis)` from the end; gives how many are kept
  // unvisited.
  template <typename Visit>
  void align(View<std::uint32_t> reference, View<std::uint32_t> hypothesis, std::int64_t* counts, const Visit& visit) {
    const Middle middle(reference, hypothesis);
    counts[kKept] += static_cast<std::int64_t>(middle.before + middle.after);
    const View<std::uint32_t> a = middle.a, b = middle.b;
    std::size_t i = a.size(), j = b.size();
    const auto add = [&](Edit edit, std::size_t at, std::size_t in) {
      ++counts[edit];
      visit(edit, at + middle.before, in + middle.before);
    };
    if (i && j) {
      places_.fill(a);
      const std::size_t words = places_.words();
      const std::size_t most = std::max<std::size_t>(1, kWordsKept / (2 * words));
      const std::size_t span =
          std::min(j, std::max(most, static_cast<std::size_t>(std::sqrt(static_cast<double>(j))) + 1));
      const std::size_t spans = (j + span - 1) / span;
      kept_.resize(spans * words);  // the column before each span
      columns_.resize((span + 1) * words);
      std::fill_n(columns_.begin(), words, BitColumn{});
      for (std::size_t s = 0; s < spans; ++s) {
        std::copy_n(columns_.begin(), words, kept_.begin() + static_cast<std::ptrdiff_t>(s * words));
        if (s + 1 == spans) break;
        for (std::size_t k = 0; k < span; ++k) {
          next(places_.of(b[s * span + k]), columns_.data(), columns_.data(), kBits - 1);
        }
      }
      for (std::size_t s = spans; s-- > 0 && i;) {
        const std::size_t first = s * span, columns = std::min(span, b.size() - first);
        std::copy_n(kept_.begin() + static_cast<std::ptrdiff_t>(s * words), words, columns_.begin());
        for (std::size_t k = 0; k < columns; ++k) {
          next(places_.of(b[first + k]), columns_.data() + k * words, columns_.data() + (k + 1) * words, kBits - 1);
        }
        while (i && j > first) {
          if (bit(i - 1, (j - first) * words, &BitColumn::up)) {
            add(kDeleted, --i, j);
          } else if (--j && bit(i - 1, (j - first) * words, &BitColumn::down)) {
            add(kInserted, i, j);
          } else if (a[--i] == b[j]) {
            ++counts[kKept];
          } else {
            add(kSubstituted, i, j);
          }
        }
      }
    }
    while (i) add(kDeleted, --i, j);
    while (j) add(kInserted, i, --j);
  }

 private:
  // What all columns add, where a column has so few words that they stay in registers.
  template <std::size_t kWords>
  std::int64_t short_rise(View<std::uint32_t> b, unsigned last) const {
    BitColumn column[kWords];
    std::int64_t edits = 0;
    for (std::uint32_t symbol : b) {
      const std::uint64_t* match = places_.of(symbol);
      std::uint64_t rise = 1, fall = 0;
      for (std::size_t w = 0; w + 1 < kWords; ++w) column[w] = step(column[w], match[w], rise, fall, kBits - 1);
      column[kWords - 1] = step(column[kWords - 1], match[kWords - 1], rise, fall, last);
      edits += static_cast<std::int64_t>(rise) - static_cast<std::int64_t>(fall);
    }
    return edits;
  }
  // The column behind `from` for one symbol of the hypothesis; what the last bit adds.
  std::int64_t next(const std::uint64_t* match, const BitColumn* from, BitColumn* to, unsigned last) const {
    std::uint64_t rise = 1, fall = 0;
    const std::size_t words = places_.words();
    for (std::size_t w = 0; w + 1 < words; ++w) to[w] = step(from[w], match[w], rise, fall, kBits - 1);
    to[words - 1] = step(from[words - 1], match[words - 1], rise, fall, last);
    return static_cast<std::int64_t>(rise) - static_cast<std::int64_t>(fall);
  }
  bool bit(std::size_t i, std::size_t column, std::uint64_t BitColumn::* of) const {
    return (columns_[column + i / kBits].*of >> (i % kBits)) & 1;
  }

  Places places_;
  std::vector<BitColumn> column_, columns_, kept_;
  std::vector<std::uint64_t> rows_;
};

template <typename Body>
void for_rows(std::size_t rows, std::size_t threads, const Body& body) {
  parallel_for((rows + kRowsPerTask - 1) / kRowsPerTask, threads, [&](std::size_t task) {
    Aligner aligner;
    for (std::size_t i = task * kRowsPerTask; i < std::min(rows, (task + 1) * kRowsPerTask); ++i) body(aligner, i);
  });
}

}  // namespace

void edit_distances(const Symbols& reference, const Symbols& hypothesis, std::size_t threads, std::int64_t* out) {
  for_rows(reference.end.size(), threads,
           [&](Aligner& aligner, std::size_t i) { out[i] = aligner.distance(reference.row(i), hypothesis.row(i)); });
}

void edit_table(const Symbols& reference, const Symbols& hypothesis, std::int32_t* out) {
  Aligner aligner;
  for (std::size_t i = 0; i < reference.end.size(); ++i) {
    const auto row = reference.row(i);
    aligner.fill(row);
    for (std::size_t j = 0; j < hypothesis.end.size(); ++j) {
      *out++ = static_cast<std::int32_t>(aligner.to_filled(row.size(), hypothesis.row(j)));
    }
  }
}

void common_table(const Symbols& reference, const Symbols& hypothesis, std::int32_t* out) {
  Aligner aligner;
  for (std::size_t i = 0; i < reference.end.size(); ++i) {
    aligner.fill(reference.row(i));
    for (std::size_t j = 0; j < hypothesis.end.size(); ++j) {
      *out++ = static_cast<std::int32_t>(aligner.common_with_filled(hypothesis.row(j)));
    }
  }
}

void edit_counts(const Symbols& reference, const Symbols& hypothesis, std::size_t threads, std::int64_t* out) {
  for_rows(reference.end.size(), threads, [&](Aligner& aligner, std::size_t i) {
    std::fill_n(out + kEdits * i, kEdits, 0);
    aligner.align(reference.row(i), hypothesis.row(i), out + kEdits * i, [](Edit, std::size_t, std::size_t) {});
  });
}

void edit_steps(const Symbols& reference, const Symbols& hypothesis, Buffer<std::int64_t>& out) {
  Aligner aligner;
  for (std::size_t i = 0; i < reference.end.size(); ++i) {
    std::int64_t counts[kEdits] = {};
    aligner.align(reference.row(i), hypothesis.row(i), counts, [&](Edit edit, std::size_t a, std::size_t b) {
      out.push(static_cast<std::int64_t>(i));
      out.push(edit);
      out.push(edit == kInserted ? -1 : static_cast<std::int64_t>(a));
      out.push(edit == kDeleted ? -1 : static_cast<std::int64_t>(b));
    });
  }
}

}  // namespace steelyard::language
