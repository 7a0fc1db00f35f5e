// The tagger and dependency parser: a small recurrent net that reads a whole sentence, and the best tree of its scores.
//
// Two layers of gated recurrent units run over the words in both directions. From each word's vector come its tag, a vector
// as dependent and one as head, whose product scores an arc, and two more, whose sum gives the relation once the head is
// settled. The tree is the best projective one with one root. Weights and what passes between layers are bytes and products
// are integers; what lies between is computed value by value, never summed, so that every machine, compiler and number of
// threads gives the same. tools/teach_parser.py, train_parser.py and pack_parser.py make the model.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dots.hpp"
#include "language.hpp"

namespace steelyard::language {

class ParserModel {
 public:
  explicit ParserModel(std::string_view packed);

  // Words between blanks, with tags, heads and relations. What is longer than kLongest words is cut into pieces, each with a
  // root of its own; `each` is given one piece after the other (heads count from the piece's first word).
  template <typename F>
  void parse(std::string_view text, F each) const {
    std::vector<std::string_view> words;
    std::vector<Word> out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      if (end > at) words.push_back(text.substr(at, end - at));
      at = end + 1;
      if (words.size() < kLongest && at < text.size()) continue;
      if (words.empty()) break;
      parse_piece(words, out);
      each(out);
      words.clear();
    }
    if (!words.empty()) {
      parse_piece(words, out);
      each(out);
    }
  }

  static constexpr std::size_t kLongest = 120;

 private:
  static constexpr std::size_t kWord = 96, kPart = 48, kAffixes = 4096, kMostUnits = 128, kAtHand = 1024;

  struct Layer {  // both directions: their gates follow each other in `input`
    std::size_t units = 0;
    ByteMatrix input;
    std::vector<float> input_scale, input_bias;
    std::array<ByteMatrix, 2> recurrent;
    std::array<std::vector<float>, 2> recurrent_scale, reset_bias;
  };
  struct Choice {  // a class by a vector of kPart values that are not negative
    std::vector<std::int8_t> weights;
    std::vector<float> scale, bias;
    std::size_t best(const std::int16_t* x, std::size_t without) const;
  };
  struct Scratch;

  const std::int8_t* vector_of(std::string_view word, std::int8_t* made, std::int32_t& number) const;
  void read_layer(const Layer& layer, const std::vector<const float*>& gates, std::int8_t* out, Scratch& s) const;
  void parse_piece(const std::vector<std::string_view>& words, std::vector<Word>& out) const;

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
