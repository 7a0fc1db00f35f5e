// The tagger and dependency parser: a small recurrent net that reads a whole sentence, and the best tree of its scores.
//
// Two layers of gated recurrent units run over the words in both directions. From each word's vector come its tag, a
// vector as dependent and one as head, whose product scores an arc, and two more, whose sum gives the relation once the
// head is settled. The tree is the best projective one with one root. Weights and what passes between layers are bytes
// and products are integers; what lies between is computed value by value, never summed, so that every machine,
// compiler and number of threads gives the same. tools/teach_parser.py, train_parser.py and pack_parser.py make the
// model.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "language/dots.hpp"
#include "language/language.hpp"

namespace steelyard::language {

class ParserModel {
 public:
  explicit ParserModel(std::string_view packed);

  // Words between blanks, with tags, heads and relations. What is longer than kLongest words is cut into pieces, each
  // with a root of its own; `each` is given the text's number and one piece after the other (heads count from the
  // piece's first word). Several pieces go through the net together, so that its weights are loaded once for all of
  // them.
  template <typename F>
  void parse(std::span<const std::string_view> texts, F each) const {
    Pieces pieces;
    std::vector<std::size_t> of;  // the text of each piece
    auto finish = [&] {
      parse_pieces(pieces);
      std::size_t start = 0;
      for (std::size_t p = 0; p < of.size(); ++p) {
        each(of[p], std::span<const Word>(pieces.words).subspan(start, pieces.ends[p] - start));
        start = pieces.ends[p];
      }
      of.clear();
      pieces.clear();
    };
    for (std::size_t t = 0; t < texts.size(); ++t) {
      for (std::size_t at = 0; at < texts[t].size();) {
        const std::size_t from = pieces.words.size();
        while (at < texts[t].size() && pieces.words.size() < from + kLongest) {
          const std::size_t end = std::min(texts[t].find(' ', at), texts[t].size());
          if (end > at) pieces.words.push_back({.text = texts[t].substr(at, end - at), .tag = ""});
          at = end + 1;
        }
        if (pieces.words.size() == from) continue;
        pieces.ends.push_back(pieces.words.size());
        of.push_back(t);
        if (pieces.words.size() >= kTogether) finish();
      }
    }
    if (!of.empty()) finish();
  }

  static constexpr std::size_t kLongest = 120;

 private:
  static constexpr std::size_t kTogether = 80;  // words
  struct Pieces {
    std::vector<Word> words;
    std::vector<std::size_t> ends;
    void clear() { words.clear(), ends.clear(); }
  };
  static constexpr std::size_t kWord = 96, kPart = 48, kSides = 5 * kPart, kAffixes = 4096, kAtHand = 1024;

  struct Layer {  // both directions: their gates follow each other in `input`
    std::size_t units = 0;
    ByteMatrix input;
    std::vector<float> input_scale, input_bias;
    std::array<ByteMatrix, 2> recurrent;
    std::array<std::vector<float>, 2> recurrent_scale, reset_bias;
  };
  struct Scratch;
  struct Choice {  // a class by a vector of kPart values that are not negative
    ByteMatrix weights;
    std::vector<float> scale, bias;
    void best(const std::int16_t* x, std::size_t stride, std::size_t n, std::size_t without, Scratch& s) const;
  };

  static float to_bytes(const std::int16_t* from, std::int8_t* to);
  const std::int8_t* vector_of(std::string_view word, std::int8_t* made, std::int32_t& number) const;
  void first_gates(const std::vector<Word>& words, Scratch& s) const;
  void read_layer(const Layer& layer, const Pieces& pieces, std::int8_t* out, Scratch& s) const;
  void settle_heads(std::size_t start, std::size_t end, std::vector<Word>& words, Scratch& s) const;
  void parse_pieces(Pieces& pieces) const;

  std::vector<std::string> tags_, relations_;
  std::vector<Rel> rel_;
  std::size_t root_relation_name_ = 0;
  std::string text_;                 // of all known words
  std::vector<std::uint32_t> ends_;  // of each in it
  std::vector<std::int32_t> slots_;  // words by their hash, plus one
  std::vector<std::int8_t> vectors_, affixes_;
  float affix_scale_ = 0;
  std::vector<float> unknown_;
  std::array<Layer, 2> layer_;
  std::vector<float> at_hand_;  // what the first layer's gates take from each of the commonest words
  ByteMatrix sides_;
  std::vector<float> side_scale_, side_bias_;
  std::array<std::int16_t, kPart> root_, root_relation_;
  Choice tag_, relation_;
};

}  // namespace steelyard::language
