// Tables of HTML compared as trees (TEDS) and as grids (GriTS). See trees.cpp and grids.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "support/views.hpp"

namespace steelyard::tables {

constexpr std::uint32_t kMostColumns = 1000;   // that a cell spans, as in HTML
constexpr std::size_t kMostNodes = 4000;       // rows and cells of a table
constexpr std::size_t kMostPlaces = 20000;     // of a grid
constexpr std::size_t kMostLetters = 1 << 18;  // of all cells of a table
constexpr std::size_t kMostCompared = 4096;    // letters of a text that is compared as difflib does

// How HTML is read: by the standard; as PubTabNet's code does; as the published code of GriTS does.
enum Rules : int { kClean, kPublished, kMicrosoft };
enum Kind : int { kTop, kCon, kLoc };
enum Overlap : int { kHull, kUnion };
enum Text : int { kLcs, kDifflib };

// Why two tables have no score.
enum Status : int { kScored, kNoTable, kTooLarge, kBadSpan };

// What is odd about a table: bits of `Cells::notes`.
enum Note : std::uint32_t {
  kCutOff = 1,         // no end tag
  kUnreadSpan = 2,     // a span that is not a number above 0 counts as 1
  kWideSpan = 4,       // a colspan above 1000
  kLongSpan = 8,       // a rowspan that ends behind the last row
  kInnerTags = 16,     // tags inside cells
  kOpenPlaces = 32,    // places of the grid that no cell covers
  kCrossedSpans = 64,  // places of the grid that two cells cover
  kOversize = 128,     // more nodes, places or letters than are compared
};

struct Cell {
  std::uint32_t row, column, rowspan, colspan;
  bool th;  // written as `th`
  std::vector<std::uint32_t> text;
};

// A table by the standard's rules: its bytes, its cells in their order, and where those of each row end.
struct Cells {
  std::size_t begin = 0, end = 0;
  std::uint32_t rows = 0, columns = 0, notes = 0;
  std::vector<Cell> cells;
  std::vector<std::uint32_t> row_end;
  std::vector<bool> head;  // whether each row is in the table's head
};

// All tables of a text that lie in no other.
std::vector<Cells> read_cells(std::string_view text);

struct TreeRules {
  Rules rules = kClean;
  bool structure = false, header = false, tokens = false;
  std::vector<std::string_view> ignore;
};

struct Distance {
  double distance = 0.0;
  std::size_t size = 0;  // nodes of the larger tree, without the table itself
  Status status = kScored;
};

// The tree edit distance of the first table of both texts.
Distance tree_distance(std::string_view truth, std::string_view reply, const TreeRules& rules);

// The edits of that distance by the clean rules, in the order of the trees: rows and cells of the truth and of the
// reply, -1 where there is none; a cell of -1 means the row itself.
struct Step {
  std::int32_t truth_row, truth_cell, reply_row, reply_cell;
};
std::vector<Step> tree_path(std::string_view truth, std::string_view reply, Status& status);

struct GridRules {
  Kind kind = kTop;
  Rules rules = kClean;
  Overlap overlap = kHull;
  Text text = kLcs;
};

struct GridScore {
  double score = 0.0, bound = 0.0;  // sums of similarity: of the aligned places, and the most that either alignment has
  std::size_t truth = 0, reply = 0;  // places
  Status status = kScored;
};

// GriTS of the first table of both texts. Boxes are four numbers for each cell, in the order of the cells; they are
// read for kLoc alone, and must be as many as the table has cells, else the status is kBadSpan.
GridScore grid_score(std::string_view truth, std::string_view reply, const GridRules& rules, View<double> truth_boxes,
                     View<double> reply_boxes);

// How many letters two texts have in common as Python's difflib finds them.
std::size_t difflib_common(View<std::uint32_t> a, View<std::uint32_t> b);

}  // namespace steelyard::tables
