// Elements of an HTML text, repaired by the HTML standard's rules for tables.
//
// Open tags close where the standard says, a cell outside a row gets a row, and what may not lie in a table stays where
// it is written, marked as stray. Nothing is thrown: any bytes give a document. Elements nested deeper than kMostDepth
// are dropped, and their texts kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace steelyard::tables {

constexpr std::size_t kMostDepth = 256;

// Tags that rules name; others are numbered from kOther on, in the order in which they are met.
enum Tag : std::uint32_t {
  kRoot,
  kTable,
  kThead,
  kTbody,
  kTfoot,
  kTr,
  kTd,
  kTh,
  kCaption,
  kColgroup,
  kCol,
  kHtml,
  kHead,
  kBody,
  kP,
  kLi,
  kUnk,
  kOther
};

// Numbers of tags, shared by the two texts that are compared.
class Names {
 public:
  Names();
  std::uint32_t number(std::string_view name);
  const std::string& name(std::uint32_t tag) const { return names_[tag]; }

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

// An element, or a text where `tag` is kText. Children are a list: `first`, then `next` of each; -1 ends it.
struct Node {
  static constexpr std::uint32_t kText = ~std::uint32_t{0};

  std::uint32_t tag = kText;
  std::int32_t parent = -1, first = -1, last = -1, next = -1;
  std::size_t begin = 0, end = 0;     // bytes of an element in the source; letters of a text
  std::string_view colspan, rowspan;  // as written; `has_*` says whether they are
  bool has_colspan = false, has_rowspan = false, implied = false, closed = false;
};

class Document {
 public:
  // The text must outlive the document.
  Document(std::string_view text, Names& names);

  const Node& node(std::int32_t i) const { return nodes_[static_cast<std::size_t>(i)]; }
  const std::uint32_t* letters() const { return letters_.data(); }
  // Tables that lie in no other, in their order.
  const std::vector<std::int32_t>& tables() const { return tables_; }
  // Whether the text begins as a whole document does.
  bool whole() const { return whole_; }

 private:
  struct Attributes {
    std::string_view colspan, rowspan;
    bool has_colspan = false, has_rowspan = false;
  };

  void read(std::string_view text);
  std::size_t read_tag(std::string_view text, std::size_t place);
  void add_text(std::string_view text, bool references);
  std::int32_t append(Node node);
  void push(Node node, bool open);
  void cut(std::size_t size, std::size_t end);
  std::size_t table_place() const;
  template <typename... Tags>
  std::size_t find_above(std::size_t place, Tags... tags) const;
  std::size_t cell_place(std::size_t table) const;
  void open(std::uint32_t tag, const Attributes& attributes, std::size_t at, bool empty);
  void close(std::uint32_t tag, std::size_t at);

  Names& names_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> letters_;
  std::vector<std::int32_t> stack_, tables_;
  bool whole_ = false;
};

// Whether a tag makes a new line around its text; whether it has no content; whether its content is text alone.
bool is_block(const std::string& name);
bool is_void(const std::string& name);
bool is_raw(const std::string& name);

}  // namespace steelyard::tables
