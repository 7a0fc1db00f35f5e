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
  Score far_ahead() const { return far_ahead_; }

  // Tags, heads and relations of words between blanks. A sentence longer than kLongest words is cut; each piece has its root.
  std::vector<Word> parse(std::string_view text) const;

 private:
  struct Slot {
    std::uint32_t key = 0;
    std::uint32_t at = 0;  // of the row's first cell, plus one; 0 where the slot is free
  };
  // Eight features' weights for arcs: the upper half of each key, and the bytes of shift and left arc (the right arc's
  // weight is zero). An empty place has weights of zero, so that it need not be told from a full one.
  struct alignas(32) Bucket {
    std::uint16_t check[8];
    std::uint16_t weights[8];
  };
  struct Cell {
    std::uint16_t of;
    std::int16_t weight;
  };
  void add_arc(std::uint32_t key, std::uint16_t weights);
  void score_arcs(const Features& f, Score* out) const;
  void parse_piece(const std::vector<std::string_view>& words, std::size_t from, std::size_t to, std::vector<Word>& out) const;

  Score far_ahead_ = 1000;
  int classes_[kKinds];
  std::vector<Bucket> buckets_;
  std::vector<Slot> slots_[kKinds];
  std::vector<Cell> cells_[kKinds];  // a row is its number of cells, then the cells
  std::unordered_map<std::uint32_t, std::uint8_t> certain_;  // words of one tag only, with 1 + that tag
  std::vector<std::string> tags_, relations_;
  std::vector<Rel> rel_;
  std::vector<std::uint8_t> is_noun_, is_verb_;
};

}  // namespace steelyard::language
