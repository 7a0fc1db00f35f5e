// The trained parser, ready to be asked: see parser_model.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "language.hpp"
#include "parser.hpp"

namespace steelyard::language {

class ParserModel {
 public:
  using Score = std::int32_t;
  explicit ParserModel(std::string_view packed);

  int classes(int kind) const { return classes_[kind]; }
  void rows(int kind, const Features& f, Score* out) const;

  // Tags, heads and relations of words between blanks. A sentence longer than kLongest words is cut; each piece has its root.
  std::vector<Word> parse(std::string_view text) const;

 private:
  struct Slot {
    std::uint32_t key = 0;
    std::uint32_t at = 0;  // of the row's first cell, plus one; for arcs the weights themselves; 0 where the slot is free
  };
  struct Cell {
    std::uint8_t of;
    std::int8_t weight;
  };
  void parse_piece(const std::vector<std::string_view>& words, std::size_t from, std::size_t to, std::vector<Word>& out) const;

  int classes_[kKinds];
  std::vector<Slot> slots_[kKinds];
  std::vector<Cell> cells_[kKinds];  // a row is its number of cells, then the cells
  std::unordered_map<std::uint32_t, std::uint8_t> certain_;  // words of one tag only, with 1 + that tag
  std::vector<std::string> tags_, relations_;
  std::vector<Rel> rel_;
  std::vector<std::uint8_t> is_noun_, is_verb_;
};

}  // namespace steelyard::language
