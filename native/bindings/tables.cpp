// Tables of HTML for Python. Texts cross the boundary as one block of UTF-8 and the end of each text in it.
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "arrays.hpp"
#include "support/pool.hpp"
#include "tables/tables.hpp"

namespace steelyard::tables_binding {
namespace {

using namespace tables;
using Ends = In1<std::int64_t>;

constexpr std::size_t kMostBytes = std::size_t{1} << 30;

class Texts {
 public:
  Texts(const nb::bytes& block, const Ends& ends) : all_(block.c_str(), block.size()), end_(view(ends)) {
    require(all_.size() <= kMostBytes, "the texts have more than a gibibyte");
    std::int64_t last = 0;
    for (std::int64_t end : end_) {
      require(end >= last && end <= static_cast<std::int64_t>(all_.size()), "ends must grow and stay inside the block");
      last = end;
    }
  }
  std::size_t size() const { return end_.size(); }
  std::string_view operator[](std::size_t i) const {
    const auto begin = static_cast<std::size_t>(i ? end_[i - 1] : 0);
    return all_.substr(begin, static_cast<std::size_t>(end_[i]) - begin);
  }

 private:
  std::string_view all_;
  View<std::int64_t> end_;
};

// Boxes of all cells, and where those of each text end.
class Boxes {
 public:
  Boxes(const In2<double>& boxes, const Ends& ends, std::size_t texts) : all_(view(boxes)), end_(view(ends)) {
    require(boxes.shape(0) == 0 || boxes.shape(1) == 4, "a box has four numbers");
    require(end_.empty() || end_.size() == texts, "there must be an end of boxes for each text");
    std::int64_t last = 0;
    for (std::int64_t end : end_) {
      require(end >= last && end <= static_cast<std::int64_t>(all_.rows), "ends must grow and stay inside the boxes");
      last = end;
    }
  }
  View<double> operator[](std::size_t i) const {
    if (end_.empty()) return {};
    const auto begin = static_cast<std::size_t>(i ? end_[i - 1] : 0), end = static_cast<std::size_t>(end_[i]);
    return {all_.data() + 4 * begin, 4 * (end - begin)};
  }

 private:
  Matrix<double> all_;
  View<std::int64_t> end_;
};

void require_pairs(const Texts& a, const Texts& b) {
  require(a.size() == b.size(), "truths and replies must be as many");
}

// Letters as UTF-8; halves of surrogate pairs are written as they are.
void add_utf8(std::uint32_t point, std::string& out) {
  const auto add = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (point < 0x80) {
    add(point);
  } else if (point < 0x800) {
    add(0xC0 | point >> 6);
    add(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    add(0xE0 | point >> 12);
    add(0x80 | (point >> 6 & 0x3F));
    add(0x80 | (point & 0x3F));
  } else {
    add(0xF0 | point >> 18);
    add(0x80 | (point >> 12 & 0x3F));
    add(0x80 | (point >> 6 & 0x3F));
    add(0x80 | (point & 0x3F));
  }
}

// Of each text: tables, and of the first one rows, columns, cells and notes.
Out<std::int64_t> scan(nb::bytes block, Ends ends, long threads) {
  const Texts texts(block, ends);
  std::int64_t* out;
  auto result = make_array<std::int64_t>({texts.size(), 5}, out);
  nb::gil_scoped_release release;
  parallel_for(texts.size(), thread_count(threads), [&](std::size_t i) {
    const auto read = read_cells(texts[i]);
    out[5 * i] = static_cast<std::int64_t>(read.size());
    if (read.empty()) return;
    out[5 * i + 1] = read[0].rows;
    out[5 * i + 2] = read[0].columns;
    out[5 * i + 3] = static_cast<std::int64_t>(read[0].cells.size());
    out[5 * i + 4] = read[0].notes;
  });
  return result;
}

// Tables of a text (begin, end, rows, columns, notes, cells), their cells (row, column, rowspan, colspan, header, end
// of the text), and the texts of the cells.
Tuple<Out<std::int64_t>, Out<std::int64_t>, nb::bytes> cells_of(nb::bytes text) {
  require(text.size() <= kMostBytes, "the text has more than a gibibyte");
  const auto read = read_cells({text.c_str(), text.size()});
  std::size_t count = 0;
  for (const Cells& table : read) count += table.cells.size();
  std::int64_t *tables, *cells;
  auto of_tables = make_raw<std::int64_t>({read.size(), 6}, tables);
  auto of_cells = make_raw<std::int64_t>({count, 6}, cells);
  std::string letters;
  for (const Cells& table : read) {
    for (std::size_t value : {table.begin, table.end, std::size_t{table.rows}, std::size_t{table.columns},
                              std::size_t{table.notes}, table.cells.size()}) {
      *tables++ = static_cast<std::int64_t>(value);
    }
    for (const Cell& cell : table.cells) {
      for (std::uint32_t point : cell.text) add_utf8(point, letters);
      const bool header = cell.th || table.head[cell.row];
      for (std::size_t value : {std::size_t{cell.row}, std::size_t{cell.column}, std::size_t{cell.rowspan},
                                std::size_t{cell.colspan}, std::size_t{header}, letters.size()}) {
        *cells++ = static_cast<std::int64_t>(value);
      }
    }
  }
  return nb::make_tuple(of_tables, of_cells, nb::bytes(letters.data(), letters.size()));
}

// Of each pair: the distance of the trees, the nodes of the larger one, and the status.
Out<double> distances(nb::bytes truth, Ends truth_ends, nb::bytes reply, Ends reply_ends, int rules, bool structure,
                      bool header, bool tokens, nb::bytes ignore, long threads) {
  const Texts a(truth, truth_ends), b(reply, reply_ends);
  require_pairs(a, b);
  require(rules == kClean || rules == kPublished, "rules must be 0 or 1");
  TreeRules how;
  how.rules = static_cast<Rules>(rules);
  how.structure = structure;
  how.header = header;
  how.tokens = tokens;
  std::string_view names(ignore.c_str(), ignore.size());
  while (!names.empty()) {
    const std::size_t end = std::min(names.find('/'), names.size());
    if (end) how.ignore.push_back(names.substr(0, end));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  double* out;
  auto result = make_array<double>({a.size(), 3}, out);
  nb::gil_scoped_release release;
  parallel_for(a.size(), thread_count(threads), [&](std::size_t i) {
    const Distance distance = tree_distance(a[i], b[i], how);
    out[3 * i] = distance.distance;
    out[3 * i + 1] = static_cast<double>(distance.size);
    out[3 * i + 2] = distance.status;
  });
  return result;
}

// Of each pair: the sum of similarity, its upper bound, places of both grids, and the status.
Out<double> grids(nb::bytes truth, Ends truth_ends, nb::bytes reply, Ends reply_ends, int kind, int rules, int overlap,
                  int text, In2<double> truth_boxes, Ends truth_box_ends, In2<double> reply_boxes, Ends reply_box_ends,
                  long threads) {
  const Texts a(truth, truth_ends), b(reply, reply_ends);
  require_pairs(a, b);
  require(kind >= kTop && kind <= kLoc, "kind must be 0, 1 or 2");
  require(rules == kClean || rules == kMicrosoft, "rules must be 0 or 2");
  require((overlap == kHull || overlap == kUnion) && (text == kLcs || text == kDifflib), "0 or 1 must be chosen");
  const Boxes own(truth_boxes, truth_box_ends, a.size()), other(reply_boxes, reply_box_ends, b.size());
  const GridRules how{static_cast<Kind>(kind), static_cast<Rules>(rules), static_cast<Overlap>(overlap),
                      static_cast<Text>(text)};
  double* out;
  auto result = make_array<double>({a.size(), 5}, out);
  nb::gil_scoped_release release;
  parallel_for(a.size(), thread_count(threads), [&](std::size_t i) {
    const GridScore score = grid_score(a[i], b[i], how, own[i], other[i]);
    out[5 * i] = score.score;
    out[5 * i + 1] = score.bound;
    out[5 * i + 2] = static_cast<double>(score.truth);
    out[5 * i + 3] = static_cast<double>(score.reply);
    out[5 * i + 4] = score.status;
  });
  return result;
}

// Of each pair: cells that both have, cells of the truth and of the reply, and whether rows and columns are as many.
Out<std::int64_t> shared_cells(nb::bytes truth, Ends truth_ends, nb::bytes reply, Ends reply_ends, long threads) {
  const Texts a(truth, truth_ends), b(reply, reply_ends);
  require_pairs(a, b);
  std::int64_t* out;
  auto result = make_array<std::int64_t>({a.size(), 4}, out);
  nb::gil_scoped_release release;
  parallel_for(a.size(), thread_count(threads), [&](std::size_t i) {
    auto x = read_cells(a[i]), y = read_cells(b[i]);
    if (x.empty()) return;
    out[4 * i + 1] = static_cast<std::int64_t>(x[0].cells.size());
    if (y.empty()) return;
    out[4 * i + 2] = static_cast<std::int64_t>(y[0].cells.size());
    if ((x[0].notes | y[0].notes) & kOversize) return;
    out[4 * i + 3] = x[0].rows == y[0].rows && x[0].columns == y[0].columns;
    const auto key = [](const Cell& cell) {
      return std::tie(cell.row, cell.column, cell.rowspan, cell.colspan, cell.text);
    };
    const auto before = [&](const Cell& c, const Cell& d) { return key(c) < key(d); };
    std::sort(x[0].cells.begin(), x[0].cells.end(), before);
    std::sort(y[0].cells.begin(), y[0].cells.end(), before);
    auto p = x[0].cells.begin();
    auto q = y[0].cells.begin();
    while (p != x[0].cells.end() && q != y[0].cells.end()) {
      if (before(*p, *q)) {
        ++p;
      } else if (before(*q, *p)) {
        ++q;
      } else {
        ++out[4 * i];
        ++p;
        ++q;
      }
    }
  });
  return result;
}

// Edits that make the one table the other: row and cell of the truth, row and cell of the reply.
Tuple<Out<std::int64_t>, nb::int_> path(nb::bytes truth, nb::bytes reply) {
  require(truth.size() <= kMostBytes && reply.size() <= kMostBytes, "a text has more than a gibibyte");
  std::vector<Step> steps;
  Status status = kScored;
  {
    const std::string_view a(truth.c_str(), truth.size()), b(reply.c_str(), reply.size());
    nb::gil_scoped_release release;
    steps = tree_path(a, b, status);
  }
  std::int64_t* out;
  auto result = make_raw<std::int64_t>({steps.size(), 4}, out);
  for (const Step& step : steps) {
    for (std::int32_t value : {step.truth_row, step.truth_cell, step.reply_row, step.reply_cell}) *out++ = value;
  }
  return nb::make_tuple(result, nb::int_(static_cast<int>(status)));
}

}  // namespace

void bind(nb::module_& m) {
  m.def("table_scan", &scan, nb::arg("texts"), nb::arg("ends").noconvert(), nb::arg("threads") = 0,
        "Tables of each text, and rows, columns, cells and notes of the first.");
  m.def(
      "table_cells", &cells_of, nb::arg("text"),
      "Tables of a text (begin, end, rows, columns, notes, cells), their cells (row, column, rowspan, colspan, header, "
      "end of the text) and the texts of these.");
  m.def("table_distances", &distances, nb::arg("truth"), nb::arg("truth_ends").noconvert(), nb::arg("reply"),
        nb::arg("reply_ends").noconvert(), nb::arg("rules"), nb::arg("structure"), nb::arg("header"), nb::arg("tokens"),
        nb::arg("ignore"), nb::arg("threads") = 0,
        "Edit distance of the trees of each pair of tables, nodes of the larger one, and status.");
  m.def("table_grids", &grids, nb::arg("truth"), nb::arg("truth_ends").noconvert(), nb::arg("reply"),
        nb::arg("reply_ends").noconvert(), nb::arg("kind"), nb::arg("rules"), nb::arg("overlap"), nb::arg("text"),
        nb::arg("truth_boxes").noconvert(), nb::arg("truth_box_ends").noconvert(), nb::arg("reply_boxes").noconvert(),
        nb::arg("reply_box_ends").noconvert(), nb::arg("threads") = 0,
        "GriTS of each pair of tables: sum of similarity, its upper bound, places of both grids, and status.");
  m.def("table_shared_cells", &shared_cells, nb::arg("truth"), nb::arg("truth_ends").noconvert(), nb::arg("reply"),
        nb::arg("reply_ends").noconvert(), nb::arg("threads") = 0,
        "Cells that both tables of each pair have, cells of either, and whether their shapes are the same.");
  m.def("table_path", &path, nb::arg("truth"), nb::arg("reply"),
        "Edits that make one table the other (row and cell of both, -1 for none), and status.");
}

}  // namespace steelyard::tables_binding
