// Edit distances and the edits of one alignment.
#include <algorithm>
#include <string>
#include <vector>

#include "check.hpp"
#include "language/edit_distance.hpp"

namespace {

using namespace steelyard;
using language::Symbols;

struct Rows {
  std::vector<std::uint32_t> symbol;
  std::vector<std::int64_t> end;

  explicit Rows(const std::vector<std::u32string>& texts) {
    for (const auto& text : texts) {
      symbol.insert(symbol.end(), text.begin(), text.end());
      end.push_back(static_cast<std::int64_t>(symbol.size()));
    }
  }
  Symbols symbols() const { return {symbol, end}; }
};

// The distance by its definition, a table of all beginnings.
std::int64_t by_table(const std::u32string& a, const std::u32string& b) {
  std::vector<std::int64_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<std::int64_t>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::int64_t before = row[0];
    row[0] = static_cast<std::int64_t>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::int64_t both = before + (a[i - 1] != b[j - 1]);
      before = row[j];
      row[j] = std::min({both, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

TEST(edits_by_hand) {
  // kitten -> sitting: k for s, e for i, g added. "abcd" -> "dcba" keeps the b (jiwer 4.0.0), "flaw" -> "lawn" one end
  // each.
  const Rows a({U"kitten", U"abc", U"", U"abcd", U"flaw", U"aaa"}),
      b({U"sitting", U"", U"abc", U"dcba", U"lawn", U"aaaa"});
  std::int64_t counts[6 * language::kEdits], distances[6];
  language::edit_counts(a.symbols(), b.symbols(), 1, counts);
  language::edit_distances(a.symbols(), b.symbols(), 1, distances);
  const std::int64_t expected[6][4] = {{4, 2, 0, 1}, {0, 0, 3, 0}, {0, 0, 0, 3},
                                       {1, 2, 1, 1}, {3, 0, 1, 1}, {3, 0, 0, 1}};
  for (int i = 0; i < 6; ++i) {
    for (int k = 0; k < 4; ++k) EQUAL(counts[4 * i + k], expected[i][k]);
    EQUAL(distances[i], expected[i][1] + expected[i][2] + expected[i][3]);
  }
  Buffer<std::int64_t> steps;
  const Rows c({U"ab", U"kitten"}), d({U"ab", U"sitting"});
  language::edit_steps(c.symbols(), d.symbols(), steps);
  const std::int64_t listed[] = {1, language::kInserted,    -1, 6, 1, language::kSubstituted, 4, 4,
                                 1, language::kSubstituted, 0,  0};
  EQUAL(steps.size(), std::size_t{12});
  for (std::size_t i = 0; i < 12 && i < steps.size(); ++i) EQUAL(steps[i], listed[i]);
}

TEST(edits_by_definition) {
  std::uint64_t state = 7;
  const auto next = [&](std::uint64_t most) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % most;
  };
  std::vector<std::u32string> a, b;
  for (int i = 0; i < 600; ++i) {
    std::u32string one, other;
    for (std::uint64_t n = next(200); n-- > 0;)
      one += static_cast<char32_t>(next(2) ? U'a' + next(4) : 0x65E5 + next(90));
    for (char32_t symbol : one) {
      if (next(9)) other += symbol;
      if (!next(9)) other += static_cast<char32_t>(U'a' + next(4));
    }
    a.push_back(one);
    b.push_back(next(3) ? other : a[next(a.size())]);
  }
  const Rows left(a), right(b);
  std::vector<std::int64_t> counts(a.size() * language::kEdits), distances(a.size()), threaded(a.size());
  language::edit_counts(left.symbols(), right.symbols(), 1, counts.data());
  language::edit_distances(left.symbols(), right.symbols(), 1, distances.data());
  language::edit_distances(left.symbols(), right.symbols(), 3, threaded.data());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::int64_t* n = counts.data() + language::kEdits * i;
    EQUAL(distances[i], by_table(a[i], b[i]));
    EQUAL(threaded[i], distances[i]);
    EQUAL(n[1] + n[2] + n[3], distances[i]);
    EQUAL(n[0] + n[1] + n[2], static_cast<std::int64_t>(a[i].size()));
    EQUAL(n[0] + n[1] + n[3], static_cast<std::int64_t>(b[i].size()));
  }
}

// So long that not all columns are kept: 21,001 x 21,002 symbols, of which every hundredth is another one.
TEST(edits_of_long_rows) {
  std::u32string a, b;
  for (std::size_t i = 0; i < 21000; ++i) {
    const auto symbol = static_cast<char32_t>(U'a' + (i * i / 7) % 23);
    a += symbol;
    b += i % 100 == 50 ? U'*' : symbol;
    if (i == 12345) b += U'+';
  }
  b += U'!';
  a += U'?';
  const Rows left({a}), right({b});
  std::int64_t counts[language::kEdits], distance;
  language::edit_counts(left.symbols(), right.symbols(), 1, counts);
  language::edit_distances(left.symbols(), right.symbols(), 1, &distance);
  EQUAL(counts[language::kSubstituted], 211);
  EQUAL(counts[language::kDeleted], 0);
  EQUAL(counts[language::kInserted], 1);
  EQUAL(distance, 212);
}

}  // namespace
