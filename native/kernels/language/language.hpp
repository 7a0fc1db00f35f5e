// What the parts of the language layer share: words, dependencies, tuples, and the tables they are made with.
//
// A caption goes tokens -> tagged dependencies (parser) -> scene-graph tuples (scene_rules) -> matches (scene_match).
// Each step takes and gives plain text or small structs, so that each can be verified, or replaced by the user's own.
#pragma once

#include <cstdint>
#include <span>
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
  other,
  root,
  acl,
  acl_relcl,
  advcl,
  advmod,
  amod,
  auxpass,
  case_,
  cc,
  ccomp,
  compound,
  compound_prt,
  conj,
  cop,
  det,
  det_qmod,
  dobj,
  iobj,
  mark,
  mwe,
  nmod,
  nmod_poss,
  nmod_agent,
  nmod_npmod,
  nmod_tmod,
  nsubj,
  nsubjpass,
  nummod,
  csubj,
  csubjpass,
  dep,
  parataxis,
  xcomp
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
  Lemmas(const Lemmas&) = delete;
  Lemmas& operator=(const Lemmas&) = delete;
  std::string lemma(std::string_view word, std::string_view tag) const;

 private:
  struct Change {  // an ending, how many letters go, and what comes in their place; all views into `text_`
    std::uint64_t hash = 0;
    std::string_view ending, add;
    std::uint8_t cut = 0;
  };
  // Endings by a hash that is made from the last letter on, so that those of all endings of a word are made in one go.
  struct Endings {
    std::vector<Change> slots = std::vector<Change>(16);
    std::size_t count = 0;
    void add(Change change);
    const Change* longest(std::string_view word) const;
  };
  std::string text_;
  Endings nouns_, verbs_;
};

// WordNet's synsets by lemma. `similar(word)` is what SPICE compares: the synsets of the word and of its stem.
class WordNet {
 public:
  explicit WordNet(std::string_view table);
  std::vector<std::uint32_t> similar(std::string_view word) const;
  std::span<const std::uint32_t> synsets(std::string_view word) const;  // none where the word is not known

 private:
  std::string stem(std::string_view word) const;
  // Lemmas in open-addressed slots: where the word stands in `text_` and where its synsets start in `ids_`.
  struct Entry {
    std::uint32_t hash = 0, start = 0, ids = 0;
    std::uint16_t count = 0;
    std::uint8_t size = 0;
    bool used = false;
  };
  std::string text_;
  std::vector<std::uint32_t> ids_;
  std::vector<Entry> slots_;
  TextMap<std::vector<std::string>> bases_;
};

// A tuple of a scene graph: (object), (object, attribute) or (subject, relation, object).
struct Tuple {
  std::string part[3];
  std::uint8_t size = 0;
};

// The tuples that SPICE's rules read off a sentence's dependencies.
std::vector<Tuple> scene_tuples(std::span<const Word> sentence, const Lemmas& lemmas);

// The tuples of what the sentence describes: see scene_described.cpp.
std::vector<Tuple> described_tuples(std::span<const Word> sentence, const Lemmas& lemmas);

// A copy of the sentence in which a verb that was read as a noun is a verb again: see scene_repaired.cpp.
std::vector<Word> repaired(std::span<const Word> sentence);

}  // namespace steelyard::language
