// A sentence's dependencies as the graph that SPICE's rules are written for: see scene_graph.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "language/language.hpp"

namespace steelyard::language {

struct Edge {
  int from, to;
  Rel rel;
  std::string mark;  // the preposition behind nmod, the conjunction behind conj
  bool operator==(const Edge&) const = default;
};

class SceneGraph {
 public:
  explicit SceneGraph(std::span<const Word> words);

  int words() const { return n_; }
  const std::string& text(int i) const { return low_[static_cast<std::size_t>(i)]; }
  std::string_view tag(int i) const { return words_[static_cast<std::size_t>(i)].tag; }
  bool noun(int i) const { return is(i, kNoun); }
  bool plural(int i) const { return is(i, kPlural); }
  bool root(int i) const { return std::find(roots_.begin(), roots_.end(), i) != roots_.end(); }
  const std::vector<int>& roots() const { return roots_; }
  const std::vector<Edge>& edges() const { return edges_; }

 private:
  // What is asked of words again and again.
  enum Kind : std::uint8_t { kNoun = 1, kPlural = 2, kPronoun = 4, kOf = 8, kLastOfSeveral = 16 };
  bool is(int i, Kind kind) const { return kinds_[static_cast<std::size_t>(i)] & kind; }
  static std::uint8_t kind_of(std::string_view text, std::string_view tag);

  int child(int of, Rel rel) const;
  bool has_child(int of) const;
  bool has_subject(int i) const;
  void remove(int from, int to, Rel rel);
  void add(int from, int to, Rel rel, std::string mark = "");

  void side_by_side_prepositions();
  void nested_prepositions();
  void three_word_prepositions();
  std::string preposition(int i, bool& by) const;
  void other_prepositions(const Edge& e, std::vector<Edge>& more) const;
  void name_by_preposition();
  void name_by_conjunction();
  void share_arguments();
  void quantifiers();
  void quantifier(int q, int kind);
  void pronouns();
  int first_noun(bool singular) const;

  std::span<const Word> words_;
  int n_;
  std::vector<std::string> low_;
  std::vector<std::uint8_t> kinds_;
  std::vector<Edge> edges_;
  std::vector<int> roots_;
};

}  // namespace steelyard::language
