// A sentence's tree that can be changed: what the passes of scene_repaired.cpp and scene_placed.cpp share.
#pragma once

#include <span>
#include <vector>

#include "language/language.hpp"

namespace steelyard::language {

inline bool is_noun(const Word& w) { return w.tag.starts_with("NN"); }
inline bool is_verb(const Word& w) { return w.tag.starts_with("V"); }
inline bool opens_phrase(const Word& w) { return w.tag == "DT" || w.tag == "PRP$" || w.tag == "CD"; }

class Tree {
 protected:
  explicit Tree(std::span<const Word> sentence)
      : w_(sentence.begin(), sentence.end()), n_(static_cast<int>(w_.size())) {}

  Word& at(int i) { return w_[static_cast<std::size_t>(i)]; }
  const Word& at(int i) const { return w_[static_cast<std::size_t>(i)]; }
  int head(int i) const { return at(i).head - 1; }  // -1: the root
  void hang(int i, int on, Rel rel) { at(i).head = on + 1, at(i).relation = rel; }
  // Whether `i` hangs below `top`; a stranger's tree may hold a ring, so that steps are counted.
  bool below(int i, int top) const {
    for (int steps = 0; i >= 0 && steps <= n_; ++steps, i = head(i)) {
      if (i == top) return true;
    }
    return false;
  }

  std::vector<Word> w_;
  int n_;
};

// The sentence with its prepositional phrases and participles on the words that they belong to: see scene_placed.cpp.
std::vector<Word> placed(std::vector<Word> sentence);

}  // namespace steelyard::language
