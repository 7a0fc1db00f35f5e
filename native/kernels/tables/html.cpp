// Reads HTML by the standard's rules for tables. See html.hpp.
#include "tables/html.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace steelyard::tables {
namespace {

constexpr std::array<std::string_view, kOther> kKnown = {"",     "table", "thead",   "tbody",    "tfoot", "tr",
                                                         "td",   "th",    "caption", "colgroup", "col",   "html",
                                                         "head", "body",  "p",       "li",       "unk"};

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }

bool starts(std::string_view text, std::size_t place, std::string_view word) {
  if (text.size() - place < word.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (lower(text[place + i]) != word[i]) return false;
  }
  return true;
}

template <std::size_t kSize>
bool is_one_of(std::string_view name, const std::array<std::string_view, kSize>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The code point at a place of UTF-8, and the place behind it; bytes that are none give U+FFFD, one at a time.
std::uint32_t decode(std::string_view text, std::size_t& place) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(place++);
  if (first < 0x80) return first;
  const int more = first >= 0xF0 && first < 0xF5   ? 3
                   : first >= 0xE0 && first < 0xF0 ? 2
                   : first >= 0xC2 && first < 0xE0 ? 1
                                                   : 0;
  if (!more || place + static_cast<std::size_t>(more) > text.size()) return 0xFFFD;
  std::uint32_t point = first & (0x3Fu >> more);
  for (int i = 0; i < more; ++i) {
    const std::uint8_t next = byte(place + static_cast<std::size_t>(i));
    if ((next & 0xC0) != 0x80) return 0xFFFD;
    point = (point << 6) | (next & 0x3Fu);
  }
  if (point > 0x10FFFF) return 0xFFFD;
  place += static_cast<std::size_t>(more);
  return point;
}

bool is_section(std::uint32_t tag) { return tag == kThead || tag == kTbody || tag == kTfoot; }
bool is_cell(std::uint32_t tag) { return tag == kTd || tag == kTh; }

}  // namespace

bool is_block(const std::string& name) {
  static constexpr std::array<std::string_view, 23> names = {
      "br", "p",  "div", "li", "ul",  "ol",         "dl",    "dt", "dd", "h1", "h2",     "h3",
      "h4", "h5", "h6",  "hr", "pre", "blockquote", "table", "tr", "td", "th", "caption"};
  return is_one_of(name, names);
}

bool is_void(const std::string& name) {
  static constexpr std::array<std::string_view, 13> names = {"area",  "base", "br",   "col",    "embed", "hr", "img",
                                                             "input", "link", "meta", "source", "track", "wbr"};
  return is_one_of(name, names);
}

bool is_raw(const std::string& name) {
  static constexpr std::array<std::string_view, 8> names = {"script", "style",  "textarea", "title",
                                                            "xmp",    "iframe", "noembed",  "noframes"};
  return is_one_of(name, names);
}

Names::Names() {
  for (std::string_view name : kKnown) {
    numbers_.emplace(name, static_cast<std::uint32_t>(names_.size()));
    names_.emplace_back(name);
  }
}

std::uint32_t Names::number(std::string_view name) {
  std::string folded(name);
  std::transform(folded.begin(), folded.end(), folded.begin(), lower);
  const auto [place, added] = numbers_.emplace(folded, static_cast<std::uint32_t>(names_.size()));
  if (added) names_.push_back(std::move(folded));
  return place->second;
}

Document::Document(std::string_view text, Names& names) : names_(names) {
  Node root;
  root.tag = kRoot;
  nodes_.push_back(root);
  stack_.push_back(0);
  read(text);
  cut(1, text.size());
}

void Document::read(std::string_view text) {
  std::size_t place = 0;
  while (place < text.size() && (is_space(text[place]) || text[place] == '\v')) ++place;
  whole_ = starts(text, place, "<html") || starts(text, place, "<!doctype");
  place = 0;
  while (place < text.size()) {
    if (text[place] != '<') {
      const std::size_t end = std::min(text.find('<', place), text.size());
      add_text(text.substr(place, end - place), true);
      place = end;
    } else if (starts(text, place, "<!--")) {
      const std::size_t end = text.find("-->", place + 4);
      place = end == std::string_view::npos ? text.size() : end + 3;
    } else if (place + 1 < text.size() && (text[place + 1] == '!' || text[place + 1] == '?')) {
      const std::size_t end = text.find('>', place);
      place = end == std::string_view::npos ? text.size() : end + 1;
    } else {
      place = read_tag(text, place);
    }
  }
}

// Reads the tag that begins at a place, or the sign `<` where none does; gives the place behind it.
std::size_t Document::read_tag(std::string_view text, std::size_t place) {
  const std::size_t start = place, size = text.size();
  const bool closing = place + 1 < size && text[place + 1] == '/';
  std::size_t i = place + 1 + closing;
  if (i >= size || !is_letter(text[i])) {
    add_text(text.substr(start, 1), false);
    return start + 1;
  }
  const std::size_t name = i;
  while (i < size && !is_space(text[i]) && text[i] != '/' && text[i] != '>') ++i;
  const std::uint32_t tag = names_.number(text.substr(name, i - name));
  Attributes attributes;
  while (i < size && text[i] != '>') {
    if (is_space(text[i]) || text[i] == '/') {
      ++i;
      continue;
    }
    const std::size_t key = i++;
    while (i < size && !is_space(text[i]) && text[i] != '/' && text[i] != '>' && text[i] != '=') ++i;
    const std::string_view word = text.substr(key, i - key);
    std::size_t next = i;
    while (next < size && is_space(text[next])) ++next;
    std::string_view value;
    if (next < size && text[next] == '=') {
      i = next + 1;
      while (i < size && is_space(text[i])) ++i;
      if (i < size && (text[i] == '"' || text[i] == '\'')) {
        const std::size_t end = std::min(text.find(text[i], i + 1), size);
        value = text.substr(i + 1, end - i - 1);
        i = std::min(end + 1, size);
      } else {
        const std::size_t from = i;
        while (i < size && !is_space(text[i]) && text[i] != '>') ++i;
        value = text.substr(from, i - from);
      }
    }
    if (word.size() == 7 && starts(word, 0, "colspan") && !attributes.has_colspan) {
      attributes.colspan = value;
      attributes.has_colspan = true;
    } else if (word.size() == 7 && starts(word, 0, "rowspan") && !attributes.has_rowspan) {
      attributes.rowspan = value;
      attributes.has_rowspan = true;
    }
  }
  i = std::min(i + 1, size);
  const std::string& written = names_.name(tag);
  if (closing) {
    close(tag, i);
    return i;
  }
  open(tag, attributes, start, is_void(written));
  if (!is_raw(written)) return i;
  const std::string end = "</" + written;
  std::size_t stop = i;
  while (stop < size && !starts(text, stop, end)) stop = std::min(text.find('<', stop + 1), size);
  add_text(text.substr(i, stop - i), false);
  return stop;
}

void Document::add_text(std::string_view text, bool references) {
  Node node;
  node.begin = letters_.size();
  for (std::size_t i = 0; i < text.size();) {
    if (references && text[i] == '&') {
      const std::pair<std::string_view, std::uint32_t> known[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}};
      const auto* match = std::find_if(std::begin(known), std::end(known),
                                       [&](const auto& entry) { return starts(text, i, entry.first); });
      if (match != std::end(known)) {
        letters_.push_back(match->second);
        i += match->first.size();
        continue;
      }
    }
    letters_.push_back(decode(text, i));
  }
  node.end = letters_.size();
  const std::int32_t before = nodes_[static_cast<std::size_t>(stack_.back())].last;
  if (before >= 0 && this->node(before).tag == Node::kText && this->node(before).end == node.begin) {
    nodes_[static_cast<std::size_t>(before)].end = node.end;  // a comment or a sign lay between
  } else {
    append(node);
  }
}

std::int32_t Document::append(Node node) {
  const auto place = static_cast<std::int32_t>(nodes_.size());
  node.parent = stack_.back();
  Node& parent = nodes_[static_cast<std::size_t>(node.parent)];
  if (parent.last >= 0) nodes_[static_cast<std::size_t>(parent.last)].next = place;
  if (parent.first < 0) parent.first = place;
  parent.last = place;
  nodes_.push_back(node);
  return place;
}

void Document::push(Node node, bool open) {
  if (stack_.size() >= kMostDepth) return;
  const std::int32_t place = append(node);
  if (open) stack_.push_back(place);
}

void Document::cut(std::size_t size, std::size_t end) {
  while (stack_.size() > size) {
    nodes_[static_cast<std::size_t>(stack_.back())].end = end;
    stack_.pop_back();
  }
}

// Where the innermost open table stands on the stack, 0 without one.
std::size_t Document::table_place() const { return find_above(0, kTable); }

// Where the innermost open element with one of these tags stands above a place, 0 without one.
template <typename... Tags>
std::size_t Document::find_above(std::size_t place, Tags... tags) const {
  for (std::size_t i = stack_.size() - 1; i > place; --i) {
    const std::uint32_t tag = node(stack_[i]).tag;
    if (((tag == static_cast<std::uint32_t>(tags)) || ...)) return i;
  }
  return 0;
}

std::size_t Document::cell_place(std::size_t table) const { return find_above(table, kTd, kTh, kCaption); }

void Document::open(std::uint32_t tag, const Attributes& attributes, std::size_t at, bool empty) {
  if (tag == kHtml || tag == kHead || tag == kBody) return;
  std::size_t table = table_place();
  const std::size_t inside = table ? cell_place(table) : 0;
  Node element;
  element.tag = tag;
  element.begin = element.end = at;
  element.colspan = attributes.colspan;
  element.rowspan = attributes.rowspan;
  element.has_colspan = attributes.has_colspan;
  element.has_rowspan = attributes.has_rowspan;
  const auto close_paragraph = [&](std::size_t above) {
    if (const std::size_t place = find_above(above, kP)) cut(place, at);
  };
  const auto cut_to_section = [&] {
    const std::size_t section = find_above(table, kThead, kTbody, kTfoot);
    cut((section ? section : table) + 1, at);
  };
  if (tag == kTable) {
    if (table && !inside) {
      cut(table, at);
      table = table_place();
    }
    if (!table) close_paragraph(0);
    if (stack_.size() >= kMostDepth) return;
    if (!table) tables_.push_back(static_cast<std::int32_t>(nodes_.size()));
    push(element, true);
  } else if (!table) {
    if (is_block(names_.name(tag))) close_paragraph(0);
    push(element, !empty);
  } else if (is_section(tag) || tag == kCaption || tag == kColgroup) {
    cut(table + 1, at);
    push(element, true);
  } else if (tag == kTr) {
    cut_to_section();
    push(element, true);
  } else if (is_cell(tag)) {
    std::size_t row = find_above(table, kTr);
    if (!row) {
      cut_to_section();
      Node implied;
      implied.tag = kTr;
      implied.implied = true;
      implied.begin = at;
      push(implied, true);
      row = stack_.size() - 1;
    }
    cut(row + 1, at);
    push(element, true);
  } else {
    if (inside && is_block(names_.name(tag))) close_paragraph(inside);
    if (inside && tag == kLi) {
      if (const std::size_t place = find_above(inside, kLi)) cut(place, at);
    }
    push(element, !empty);
  }
}

void Document::close(std::uint32_t tag, std::size_t at) {
  if (tag == kHtml || tag == kHead || tag == kBody) return;
  const std::size_t table = table_place();
  if (tag == kTable) {
    if (!table) return;
    nodes_[static_cast<std::size_t>(stack_[table])].closed = true;
    cut(table, at);
    return;
  }
  std::size_t limit = table;
  const bool of_table = is_cell(tag) || is_section(tag) || tag == kTr || tag == kCaption || tag == kColgroup;
  if (!of_table) limit = std::max(table, cell_place(table));
  if (const std::size_t place = find_above(limit, tag)) cut(place, at);
}

}  // namespace steelyard::tables
