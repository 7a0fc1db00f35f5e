// Cells of tables, by the rules of a reading.
#include "tables/read.hpp"

#include <algorithm>
#include <functional>

namespace steelyard::tables {
namespace {

constexpr std::uint32_t kMostSpan = 1000000000;

// A span as the HTML standard reads it: 1 where it is not a number above 0, which `read` then denies.
std::uint32_t span_of(std::string_view text, bool& read) {
  std::size_t i = 0;
  while (i < text.size() &&
         (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\f' || text[i] == '\r')) {
    ++i;
  }
  if (i < text.size() && text[i] == '+') ++i;
  std::uint32_t value = 0;
  for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
    value = std::min(value * 10 + static_cast<std::uint32_t>(text[i] - '0'), kMostSpan / 10);
  }
  read = read && value > 0;
  return std::max(value, 1u);
}

// Adds the letters of an element. Tags are tokens, or blanks where they begin a new line, or nothing.
void add_letters(const Document& document, const Names& names, const Node& element, bool tokens, bool& tags,
                 Symbols& out) {
  for (std::int32_t i = element.first; i >= 0; i = document.node(i).next) {
    const Node& child = document.node(i);
    if (child.tag == Node::kText) {
      out.insert(out.end(), document.letters() + child.begin, document.letters() + child.end);
      continue;
    }
    tags = true;
    const bool block = !tokens && is_block(names.name(child.tag));
    if (tokens) out.push_back(tag_token(child.tag, false));
    if (block) out.push_back(' ');
    add_letters(document, names, child, tokens, tags, out);
    if (tokens) out.push_back(tag_token(child.tag, true));
    if (block) out.push_back(' ');
  }
}

// Folds blanks, with none at the ends.
void fold(Symbols& text) {
  std::size_t n = 0;
  for (std::uint32_t symbol : text) {
    if (!is_white(symbol)) {
      text[n++] = symbol;
    } else if (n && text[n - 1] != ' ') {
      text[n++] = ' ';
    }
  }
  if (n && text[n - 1] == ' ') --n;
  text.resize(n);
}

// Puts cells on the grid: each takes the first free column of its row, then its span. Gives the columns.
class Placing {
 public:
  void place(Cell& cell, std::uint32_t row, std::uint32_t& notes) {
    if (row != row_ || !started_) {
      started_ = true;
      row_ = row;
      next_ = 0;
    }
    while (next_ < until_.size() && until_[next_] > row) ++next_;
    cell.row = row;
    cell.column = next_;
    const std::size_t end = std::size_t{next_} + cell.colspan;
    if (end > kMostPlaces) {
      notes |= kOversize;
      cell.colspan = static_cast<std::uint32_t>(next_ < kMostPlaces ? kMostPlaces - next_ : 1);
    }
    const std::size_t stop = std::size_t{next_} + cell.colspan;
    if (stop > until_.size()) until_.resize(stop, 0);
    for (std::size_t c = next_; c < stop; ++c) {
      if (until_[c] > row) notes |= kCrossedSpans;
      until_[c] = std::max(until_[c], row + cell.rowspan);
    }
  }
  std::uint32_t columns() const { return static_cast<std::uint32_t>(until_.size()); }

 private:
  std::vector<std::uint32_t> until_;  // the first row in which each column is free
  std::uint32_t row_ = 0, next_ = 0;
  bool started_ = false;
};

void note_places(Cells& cells) {
  if (std::size_t{cells.rows} * cells.columns > kMostPlaces) cells.notes |= kOversize;
  if (cells.notes & kOversize) return;
  const auto covered = cover(cells);
  if (std::find(covered.begin(), covered.end(), -1) != covered.end()) cells.notes |= kOpenPlaces;
}

}  // namespace

bool is_white(std::uint32_t point) {
  return (point >= 9 && point <= 13) || (point >= 0x1C && point <= 0x20) || point == 0x85 || point == 0xA0 ||
         point == 0x1680 || (point >= 0x2000 && point <= 0x200A) || point == 0x2028 || point == 0x2029 ||
         point == 0x202F || point == 0x205F || point == 0x3000;
}

std::uint32_t Distinct::number(const Symbols& symbols) {
  const auto [place, added] = numbers_.emplace(symbols, static_cast<std::uint32_t>(end.size()));
  if (added) {
    symbol.insert(symbol.end(), symbols.begin(), symbols.end());
    end.push_back(static_cast<std::int64_t>(symbol.size()));
  }
  return place->second;
}

Cells clean_cells(const Document& document, const Names& names, std::int32_t table, bool tokens) {
  Cells out;
  const Node& root = document.node(table);
  out.begin = root.begin;
  out.end = root.end;
  if (!root.closed) out.notes |= kCutOff;
  std::vector<std::pair<std::int32_t, bool>> rows;
  for (std::int32_t i = root.first; i >= 0; i = document.node(i).next) {
    const std::uint32_t tag = document.node(i).tag;
    if (tag == kTr) rows.emplace_back(i, false);
    if (tag != kThead && tag != kTbody && tag != kTfoot) continue;
    for (std::int32_t j = document.node(i).first; j >= 0; j = document.node(j).next) {
      if (document.node(j).tag == kTr) rows.emplace_back(j, tag == kThead);
    }
  }
  if (rows.size() > kMostNodes) {
    out.notes |= kOversize;
    rows.resize(kMostNodes);
  }
  out.rows = static_cast<std::uint32_t>(rows.size());
  Placing placing;
  std::size_t letters = 0;
  for (std::uint32_t r = 0; r < out.rows; ++r) {
    for (std::int32_t i = document.node(rows[r].first).first; i >= 0; i = document.node(i).next) {
      const Node& element = document.node(i);
      if (element.tag != kTd && element.tag != kTh) continue;
      if (out.cells.size() + out.rows >= kMostNodes) {
        out.notes |= kOversize;
        break;
      }
      Cell cell;
      bool read = true, tags = false;
      cell.rowspan = element.has_rowspan ? span_of(element.rowspan, read) : 1;
      cell.colspan = element.has_colspan ? span_of(element.colspan, read) : 1;
      if (!read) out.notes |= kUnreadSpan;
      if (cell.colspan > kMostColumns) {
        out.notes |= kWideSpan;
        cell.colspan = kMostColumns;
      }
      if (cell.rowspan > out.rows - r) {
        out.notes |= kLongSpan;
        cell.rowspan = out.rows - r;
      }
      placing.place(cell, r, out.notes);
      add_letters(document, names, element, tokens, tags, cell.text);
      fold(cell.text);
      if (tags) out.notes |= kInnerTags;
      letters += cell.text.size();
      cell.th = element.tag == kTh;
      out.cells.push_back(std::move(cell));
    }
    out.row_end.push_back(static_cast<std::uint32_t>(out.cells.size()));
    out.head.push_back(rows[r].second);
  }
  out.columns = placing.columns();
  if (letters > kMostLetters) out.notes |= kOversize;
  note_places(out);
  return out;
}

Cells published_cells(const Document& document) {
  Cells out;
  Placing placing;
  std::size_t letters = 0;
  std::uint32_t row = 0;
  bool any = false;
  // All texts of an element, joined by blanks.
  const std::function<void(const Node&, bool&, Symbols&)> join = [&](const Node& element, bool& first, Symbols& text) {
    for (std::int32_t i = element.first; i >= 0; i = document.node(i).next) {
      const Node& child = document.node(i);
      if (child.tag == Node::kText) {
        if (!first) text.push_back(' ');
        first = false;
        text.insert(text.end(), document.letters() + child.begin, document.letters() + child.end);
      } else {
        join(child, first, text);
      }
    }
  };
  const std::function<void(const Node&)> visit = [&](const Node& element) {
    for (std::int32_t i = element.first; i >= 0; i = document.node(i).next) {
      const Node& child = document.node(i);
      if (child.tag == Node::kText) continue;
      if (child.tag == kTr) {
        row += any;
        any = true;
      }
      if (child.tag == kTd || child.tag == kTh) {
        if (out.cells.size() + row >= kMostNodes) {
          out.notes |= kOversize;
          return;
        }
        Cell cell;
        bool read = true, first = true;
        cell.rowspan = child.has_rowspan ? span_of(child.rowspan, read) : 1;
        cell.colspan = child.has_colspan ? span_of(child.colspan, read) : 1;
        if (!read) out.notes |= kUnreadSpan;
        cell.th = child.tag == kTh;
        if (std::size_t{row} + cell.rowspan > kMostPlaces) {
          out.notes |= kOversize;
          cell.rowspan = 1;
        }
        placing.place(cell, row, out.notes);
        join(child, first, cell.text);
        letters += cell.text.size();
        out.rows = std::max(out.rows, row + cell.rowspan);
        out.cells.push_back(std::move(cell));
      }
      visit(child);
    }
  };
  visit(document.node(0));
  out.columns = placing.columns();
  if (letters > kMostLetters) out.notes |= kOversize;
  note_places(out);
  return out;
}

std::vector<std::int32_t> cover(const Cells& cells) {
  std::vector<std::int32_t> covered(std::size_t{cells.rows} * cells.columns, -1);
  for (std::size_t i = 0; i < cells.cells.size(); ++i) {
    const Cell& cell = cells.cells[i];
    for (std::size_t r = cell.row; r < std::size_t{cell.row} + cell.rowspan; ++r) {
      std::fill_n(covered.begin() + static_cast<std::ptrdiff_t>(r * cells.columns + cell.column), cell.colspan,
                  static_cast<std::int32_t>(i));
    }
  }
  return covered;
}

std::vector<Cells> read_cells(std::string_view text) {
  Names names;
  const Document document(text, names);
  std::vector<Cells> out;
  for (std::int32_t table : document.tables()) out.push_back(clean_cells(document, names, table, false));
  return out;
}

}  // namespace steelyard::tables
