// Tables of HTML: cells, distances of trees, grids.
#include <string>
#include <string_view>
#include <vector>

#include "check.hpp"
#include "tables/tables.hpp"

namespace {

using namespace steelyard;
using namespace steelyard::tables;

constexpr std::string_view kTwo = "<table><tr><td>a</td><td>1</td></tr><tr><td>b</td><td>2</td></tr></table>";

TEST(tables_cells_take_the_first_free_column) {
  const auto read = read_cells("x<table><tr><th rowspan=2>a<td colspan=2>b<tr><td>c<td>d</table>");
  EQUAL(read.size(), 1u);
  EQUAL(read[0].rows, 2u);
  EQUAL(read[0].columns, 3u);
  const std::uint32_t expected[4][4] = {{0, 0, 2, 1}, {0, 1, 1, 2}, {1, 1, 1, 1}, {1, 2, 1, 1}};
  for (std::size_t i = 0; i < 4; ++i) {
    const Cell& cell = read[0].cells[i];
    EQUAL(cell.row, expected[i][0]);
    EQUAL(cell.column, expected[i][1]);
    EQUAL(cell.rowspan, expected[i][2]);
    EQUAL(cell.colspan, expected[i][3]);
  }
  CHECK(read[0].cells[0].th);
  CHECK(!read[0].cells[1].th);
}

TEST(tables_spans_are_bounded) {
  const auto read = read_cells("<table><tr><td colspan=5000 rowspan=9999999999>a<td colspan=x>b</table>");
  EQUAL(read[0].cells[0].colspan, kMostColumns);
  EQUAL(read[0].cells[0].rowspan, 1u);
  EQUAL(read[0].cells[1].colspan, 1u);
  EQUAL(read[0].notes & (kWideSpan | kLongSpan | kUnreadSpan), std::uint32_t{kWideSpan | kLongSpan | kUnreadSpan});
  std::string many = "<table><tr>";
  for (int i = 0; i < 5000; ++i) many += "<td colspan=1000>";
  CHECK(read_cells(many)[0].notes & kOversize);
  EQUAL(int(tree_distance(many, many, {}).status), int(kTooLarge));
  EQUAL(int(grid_score(many, many, {}, {}, {}).status), int(kTooLarge));
}

TEST(tables_distance_by_hand) {
  // One letter of one: 1. A row less: the row and its two cells. Without texts, equal shapes cost nothing.
  EQUAL(tree_distance(kTwo, kTwo, {}).distance, 0.0);
  EQUAL(tree_distance(kTwo, "<table><tr><td>a<td>1<tr><td>c<td>2</table>", {}).distance, 1.0);
  EQUAL(tree_distance(kTwo, "<table><tr><td>a<td>1</table>", {}).distance, 3.0);
  EQUAL(tree_distance(kTwo, kTwo, {}).size, 6u);
  TreeRules structure;
  structure.structure = true;
  EQUAL(tree_distance(kTwo, "<table><tr><td>c<td>d<tr><td>e<td>f</table>", structure).distance, 0.0);
  EQUAL(int(tree_distance(kTwo, "text", {}).status), int(kNoTable));
  // A row that is split: its tag is deleted and two are inserted, and all four cells stay.
  EQUAL(tree_distance("<table><tr><td>a<td>b<td>c<td>d</table>", "<table><tr><td>a<td>b<tr><td>c<td>d</table>", {})
            .distance,
        3.0);
}

TEST(tables_path_by_hand) {
  Status status;
  const auto path = tree_path(kTwo, "<table><tr><td>b<td>2</table>", status);
  EQUAL(int(status), int(kScored));
  int lost = 0, kept = 0;
  for (const Step& step : path) (step.reply_row < 0 ? lost : kept)++;
  EQUAL(lost, 3);
  EQUAL(kept, 3);
}

TEST(tables_grids_by_hand) {
  // The second row is lost: 2 places of 4 and 2 remain.
  const GridScore score = grid_score(kTwo, "<table><tr><td>a<td>1</table>", {}, {}, {});
  EQUAL(score.score, 2.0);
  EQUAL(score.truth, 4u);
  EQUAL(score.reply, 2u);
  GridRules boxes;
  boxes.kind = kLoc;
  const std::vector<double> one = {0, 0, 2, 2}, other = {1, 0, 3, 2};
  EQUAL(grid_score("<table><td>a</table>", "<table><td>b</table>", boxes, one, other).score, 1.0 / 3.0);
  EQUAL(int(grid_score(kTwo, kTwo, boxes, one, other).status), int(kBadSpan));
}

TEST(tables_difflib_by_hand) {
  // difflib takes "bc" of "abcd" and "xbcy", and then nothing beside it.
  const std::vector<std::uint32_t> a = {'a', 'b', 'c', 'd'}, b = {'x', 'b', 'c', 'y'};
  EQUAL(difflib_common(a, b), 2u);
  EQUAL(difflib_common(a, {}), 0u);
}

TEST(tables_any_bytes_are_read) {
  std::uint32_t seed = 1;
  const std::string_view pieces[] = {"<table>", "<tr",      ">",        "<td",  " colspan=", "9",        "\"",
                                     "</",      "&",        "\xE2\x82", "<!--", "<p>",       "<script>", "\xFF",
                                     "<b>",     "</table>", "<",        "-->",  "<thead>",   "x"};
  for (int round = 0; round < 400; ++round) {
    std::string text[2];
    for (auto& t : text) {
      for (int k = 0; k < 30; ++k)
        t += pieces[(seed = seed * 1664525u + 1013904223u) >> 16 & 15 ? (seed >> 20) % 20 : 0];
    }
    Status status;
    for (Rules rules : {kClean, kPublished}) {
      TreeRules how;
      how.rules = rules;
      tree_distance(text[0], text[1], how);
    }
    tree_path(text[0], text[1], status);
    for (Rules rules : {kClean, kMicrosoft}) grid_score(text[0], text[1], {kCon, rules, kHull, kDifflib}, {}, {});
  }
  std::string deep;
  for (int i = 0; i < 20000; ++i) deep += "<table><tr><td>";
  CHECK(read_cells(deep).size() == 1);
  tree_distance(deep, deep, {});
}

}  // namespace
