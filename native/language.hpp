// What the parts of the language layer share: words, dependencies, tuples, and the tables they are made with.
//
// A caption goes tokens -> tagged dependencies (parser) -> scene-graph tuples (scene_rules) -> matches (scene_match).
// Each step takes and gives plain text or small structs, so that each can be verified, or replaced by the user's own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace steelyard::language {

// A map from text that can be asked with a view, without making a string.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
};
template <typename T>
using TextMap = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

// Relations of Universal Dependencies v1 that the rules look at; everything else is `other`.
enum class Rel : std::uint8_t {
  other, root, acl, acl_relcl, advcl, advmod, amod, auxpass, case_, cc, ccomp, compound, compound_prt, conj, cop, det, det_qmod, dobj, iobj,
  mark, mwe, nmod, nmod_poss, nmod_agent, nmod_npmod, nmod_tmod, nsubj, nsubjpass, nummod, csubj, csubjpass
};
Rel relation_of(std::string_view name);

// One word of a sentence: `head` counts from 1, 0 is the root.
struct Word {
  std::string_view text;
  std::string_view tag;
  Rel relation = Rel::other;
  std::int32_t head = 0;
  std::string_view relation_name = "";
};

// Lemmas by the longest known ending of a word, for nouns and for verbs; a few function words by heart.
class Lemmas {
 public:
  explicit Lemmas(std::string_view table);
  std::string lemma(std::string_view word, std::string_view tag) const;

 private:
  struct Change {
    std::uint8_t cut;
    std::string add;
  };
  TextMap<Change> nouns_, verbs_;
  std::size_t longest_ = 0;
};

// WordNet's synsets by lemma. `similar(word)` is what SPICE compares: the synsets of the word and of its stem.
class WordNet {
 public:
  explicit WordNet(std::string_view table);
  std::vector<std::uint32_t> similar(std::string_view word) const;
  const std::vector<std::uint32_t>* synsets(std::string_view word) const;

 private:
  std::string stem(std::string_view word) const;
  TextMap<std::vector<std::uint32_t>> synsets_;
  TextMap<std::vector<std::string>> bases_;
};

// A tuple of a scene graph: (object), (object, attribute) or (subject, relation, object).
struct Tuple {
  std::string part[3];
  std::uint8_t size = 0;
};

// The tuples that SPICE's rules read off a sentence's dependencies.
std::vector<Tuple> scene_tuples(const std::vector<Word>& sentence, const Lemmas& lemmas);

}  // namespace steelyard::language
