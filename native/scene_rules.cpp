// Dependencies of a sentence -> tuples of its scene graph, by the rules of the original SPICE.
//
// The basic tree is first made into the graph that those rules are written for (multi-word prepositions, relation names
// with their preposition, shared arguments of coordinations), then quantifiers and pronouns are resolved, then tuples are
// read off. The order of the steps is the original's, and so are quirks that a reader would call mistakes ("a couple of
// giraffes" has the attribute "a"): the aim is the same tuples, not better ones.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <unordered_set>

#include "language.hpp"

namespace steelyard::language {
namespace {

using Texts = std::unordered_set<std::string_view>;

const Texts kSideBySide{
    "across_from", "along_with", "alongside_of", "apart_from", "as_for", "as_from", "as_of", "as_per", "as_to",
    "aside_from", "based_on", "close_by", "close_to", "contrary_to", "compared_to", "compared_with", "except_for",
    "exclusive_of", "far_from", "followed_by", "inside_of", "irrespective_of", "next_to", "near_to", "off_of",
    "out_of", "outside_of", "owing_to", "preliminary_to", "preparatory_to", "previous_to", "pursuant_to",
    "regardless_of", "subsequent_to", "thanks_to", "together_with"};
const Texts kNested{"apart_from", "as_from", "aside_from", "away_from", "close_by", "close_to", "contrary_to", "far_from",
                    "next_to", "near_to", "out_of", "outside_of", "pursuant_to", "regardless_of", "together_with"};
const Texts kThreeWords{"by_means_of", "in_accordance_with", "in_addition_to", "in_case_of", "in_front_of", "in_lieu_of",
                        "in_place_of", "in_spite_of", "on_account_of", "on_behalf_of", "on_top_of", "with_regard_to",
                        "with_respect_to"};
const Texts kQuantityWithArticle{
    "lot", "assortment", "number", "couple", "bunch", "handful", "litany", "sheaf", "slew", "dozen", "series", "variety",
    "multitude", "wad", "clutch", "wave", "mountain", "array", "spate", "string", "ton", "range", "plethora", "heap",
    "sort", "form", "kind", "type", "version", "bit", "pair", "triple", "total"};
const Texts kQuantity{"lots", "many", "several", "plenty", "tons", "dozens", "multitudes", "mountains", "loads", "pairs",
                      "tens", "hundreds", "thousands", "millions", "billions", "trillions"};
const Texts kQuantityOfThe{"some", "all", "both", "neither", "everyone", "nobody", "one", "two", "three", "four", "five",
                           "six", "seven", "eight", "nine", "ten", "hundred", "thousand", "million", "billion",
                           "trillion"};
const Texts kOfOne{"i", "me", "myself", "mine", "my", "yourself", "he", "him", "himself", "his", "she", "her", "herself",
                   "hers", "it", "itself", "its", "one", "oneself", "one's"};

bool is_noun(std::string_view tag) { return tag == "NN" || tag == "NNS" || tag == "NNP" || tag == "NNPS"; }
bool is_plural(std::string_view tag) { return tag == "NNS" || tag == "NNPS"; }
bool is_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

struct Edge {
  int from, to;
  Rel rel;
  std::string mark;  // the preposition behind nmod, the conjunction behind conj
  bool operator==(const Edge&) const = default;
};

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return out;
}

class Scene {
 public:
  Scene(std::span<const Word> words, const Lemmas& lemmas) : words_(words), lemmas_(lemmas) {
    n_ = static_cast<int>(words.size());
    low_.reserve(words.size());
    lemma_.resize(words.size());
    lemma_known_.resize(words.size());
    edges_.reserve(2 * words.size());
    for (const Word& w : words) low_.push_back(lowered(w.text));
    for (const std::string& w : low_) of_.push_back(w == "of");
    for (int i = 0; i < n_; ++i) {
      if (words[static_cast<std::size_t>(i)].head > 0 && words[static_cast<std::size_t>(i)].relation != Rel::root) {
        edges_.push_back({words[static_cast<std::size_t>(i)].head - 1, i, words[static_cast<std::size_t>(i)].relation, ""});
      } else {
        roots_.push_back(i);
      }
    }
  }

  std::vector<Tuple> tuples() {
    nested_prepositions();
    three_word_prepositions();
    side_by_side_prepositions();
    name_by_preposition();
    name_by_conjunction();
    share_arguments();
    quantifiers();
    pronouns();
    read_off();
    return std::move(out_);
  }

 private:
  const std::string& text(int i) const { return low_[static_cast<std::size_t>(i)]; }
  std::string_view tag(int i) const { return words_[static_cast<std::size_t>(i)].tag; }
  bool noun(int i) const { return is_noun(tag(i)); }
  bool plural(int i) const { return is_plural(tag(i)); }

  int child(int of, Rel rel) const {  // the first child by that relation
    int found = -1;
    if (!kinds_.empty() && !(kinds_[static_cast<std::size_t>(of)] >> static_cast<unsigned>(rel) & 1)) return found;
    for (const Edge& e : edges_) {
      if (e.from == of && e.rel == rel && (found < 0 || e.to < found)) found = e.to;
    }
    return found;
  }
  bool has_child(int of) const {
    return std::any_of(edges_.begin(), edges_.end(), [&](const Edge& e) { return e.from == of; });
  }
  void remove(int from, int to, Rel rel) {
    std::erase_if(edges_, [&](const Edge& e) { return e.from == from && e.to == to && e.rel == rel; });
  }
  void add(int from, int to, Rel rel, std::string mark = "") {
    Edge edge{from, to, rel, std::move(mark)};
    if (std::find(edges_.begin(), edges_.end(), edge) == edges_.end()) edges_.push_back(std::move(edge));
  }
  bool root(int i) const { return std::find(roots_.begin(), roots_.end(), i) != roots_.end(); }
  bool joined_in(const Texts& list, int i, int count) const {
    const std::string& last = text(i + count - 1);  // every one of them ends with one of these words
    const bool may = last == "of" || last == "to" || last == "from" || last == "with" || last == "on" || last == "by" ||
                     last == "for" || last == "per";
    if (!may) return false;
    std::string both = text(i);
    for (int k = 1; k < count; ++k) both += "_" + text(i + k);
    return list.contains(both);
  }

  // Relations that stay what they are when a multi-word preposition gives its place to its noun.
  static bool clause(Rel rel) {
    return rel == Rel::acl_relcl || rel == Rel::conj || rel == Rel::advcl || rel == Rel::ccomp;
  }

  // "next to" where both words hang on the same noun: one case marker.
  void side_by_side_prepositions() {
    for (int i = 0; i + 1 < n_; ++i) {
      if (!joined_in(kSideBySide, i, 2) || has_child(i) || has_child(i + 1)) continue;
      for (const Edge& e : edges_) {
        if (e.to != i || (e.rel != Rel::case_ && e.rel != Rel::advmod)) continue;
        const int gov = e.from;
        const Rel first = e.rel;
        const auto second = std::find_if(edges_.begin(), edges_.end(), [&](const Edge& o) {
          return o.to == i + 1 && o.from == gov && (o.rel == Rel::case_ || o.rel == Rel::advmod);
        });
        if (second == edges_.end() || (first == Rel::advmod && second->rel == Rel::advmod)) break;
        const Rel other = second->rel;
        remove(gov, i, first);
        remove(gov, i + 1, other);
        add(gov, i, Rel::case_);
        add(i, i + 1, Rel::mwe);
        break;
      }
    }
  }

  // "sitting next to a dog", where "next" governs the noun: the noun hangs on what "next" hung on.
  void nested_prepositions() {
    for (int i = 0; i + 1 < n_; ++i) {
      if (!joined_in(kNested, i, 2)) continue;
      int object = -1;
      for (const Edge& e : edges_) {
        if (e.from == i && e.rel == Rel::nmod && object < 0 &&
            std::find(edges_.begin(), edges_.end(), Edge{e.to, i + 1, Rel::case_, ""}) != edges_.end()) {
          object = e.to;
        }
      }
      const auto up = std::find_if(edges_.begin(), edges_.end(), [&](const Edge& e) { return e.to == i; });
      if (object < 0 || (up == edges_.end() && !root(i))) continue;
      const int gov = up == edges_.end() ? -1 : up->from;
      const Rel rel = up == edges_.end() ? Rel::root : up->rel;
      if (gov >= 0) remove(gov, i, rel);
      remove(i, object, Rel::nmod);
      remove(object, i + 1, Rel::case_);
      for (Edge& e : edges_) {
        if (e.from == i) e.from = object;
      }
      if (gov < 0) {
        std::replace(roots_.begin(), roots_.end(), i, object);
      } else {
        add(gov, object, clause(rel) ? rel : Rel::nmod);
      }
      add(object, i, Rel::case_);
      add(i, i + 1, Rel::mwe);
    }
  }

  // "in front of a house": the house hangs on what "front" hung on; "front" itself stays a word of its own.
  void three_word_prepositions() {
    for (int i = 0; i + 2 < n_; ++i) {
      if (!joined_in(kThreeWords, i, 3)) continue;
      const int middle = i + 1;
      if (std::find(edges_.begin(), edges_.end(), Edge{middle, i, Rel::case_, ""}) == edges_.end()) continue;
      int object = -1;
      Rel inner = Rel::other, marker = Rel::other;
      for (const Edge& e : edges_) {
        if (e.from != middle || (e.rel != Rel::nmod && e.rel != Rel::acl && e.rel != Rel::advcl) || object >= 0) continue;
        for (const Edge& m : edges_) {
          if (m.from == e.to && m.to == i + 2 && (m.rel == Rel::case_ || m.rel == Rel::mark)) {
            object = e.to, inner = e.rel, marker = m.rel;
          }
        }
      }
      const auto up = std::find_if(edges_.begin(), edges_.end(), [&](const Edge& e) { return e.to == middle; });
      if (object < 0 || (up == edges_.end() && !root(middle))) continue;
      const int gov = up == edges_.end() ? -1 : up->from;
      const Rel rel = up == edges_.end() ? Rel::root : up->rel;
      if (gov >= 0) remove(gov, middle, rel);
      remove(middle, object, inner);
      remove(middle, i, Rel::case_);
      remove(object, i + 2, marker);
      for (Edge& e : edges_) {
        if (e.from == middle) e.from = object;
      }
      if (gov < 0) {
        std::replace(roots_.begin(), roots_.end(), middle, object);
      } else {
        add(gov, object, clause(rel) ? rel : inner);
      }
      add(object, i, marker);
      add(i, middle, Rel::mwe);
      add(i, i + 2, Rel::mwe);
    }
  }

  // The case marker of a word that was attached last, with the words that belong to it; `by` says whether any marker is "by".
  std::string preposition(int i, bool& by) const {
    int last = -1;
    for (const Edge& m : edges_) {
      if (m.from != i || m.rel != Rel::case_) continue;
      by = by || text(m.to) == "by";
      last = m.to;  // what was attached last
    }
    if (last < 0) return "";
    std::vector<int> marks{last};
    for (const Edge& w : edges_) {
      if (w.from == last && w.rel == Rel::mwe) marks.push_back(w.to);
    }
    std::sort(marks.begin(), marks.end());
    std::string name = text(marks[0]);
    for (std::size_t k = 1; k < marks.size(); ++k) name += "_" + text(marks[k]);
    return name;
  }

  // "on and near a bench": the bench is related by either preposition.
  void other_prepositions(const Edge& e, std::vector<Edge>& more) const {
    for (const Edge& m : edges_) {
      if (m.from != e.to || m.rel != Rel::case_) continue;
      for (const Edge& c : edges_) {
        if (c.from == m.to && c.rel == Rel::conj) more.push_back({e.from, e.to, e.rel, text(c.to)});
      }
    }
  }

  // nmod with the preposition "in" becomes nmod:in; "by" in a passive names the agent.
  void name_by_preposition() {
    std::vector<Edge> more;
    for (Edge& e : edges_) {
      if (e.rel != Rel::nmod && e.rel != Rel::acl && e.rel != Rel::advcl) continue;
      bool by = false;
      e.mark = preposition(e.to, by);
      if (e.rel == Rel::nmod && by && child(e.from, Rel::auxpass) >= 0) {
        e.rel = Rel::nmod_agent;
        e.mark.clear();
      } else if (e.rel == Rel::nmod) {
        other_prepositions(e, more);
      }
    }
    for (Edge& e : more) edges_.push_back(std::move(e));
  }

  // conj with the word that joins: the last cc before the conjunct, else the first one.
  void name_by_conjunction() {
    for (Edge& e : edges_) {
      if (e.rel != Rel::conj) continue;
      int joint = -1;
      for (const Edge& c : edges_) {
        if (c.from != e.from || c.rel != Rel::cc) continue;
        if (joint < 0 || (c.to < e.to && (c.to > joint || joint > e.to))) joint = c.to;
      }
      e.mark = joint < 0 ? "" : text(joint) == "&" ? "and" : text(joint);
    }
  }

  bool has_subject(int i) const {
    return std::any_of(edges_.begin(), edges_.end(), [&](const Edge& e) {
      return e.from == i && (e.rel == Rel::nsubj || e.rel == Rel::nsubjpass || e.rel == Rel::csubj);
    });
  }

  // What the first conjunct is to others, every conjunct is; a verb without a subject takes the first one's.
  void share_arguments() {
    std::vector<Edge> joins;
    for (const Edge& e : edges_) {
      if (e.rel == Rel::conj && !e.mark.empty()) joins.push_back(e);
    }
    if (joins.empty()) return;
    std::sort(joins.begin(), joins.end(), [](const Edge& a, const Edge& b) {
      return a.from != b.from ? a.from < b.from : a.to < b.to;
    });
    const std::vector<Edge> before = edges_;  // what a conjunct was given is not handed on
    for (const Edge& join : joins) {
      for (const Edge& e : before) {
        if (e.to != join.from || e.rel == Rel::case_ || e.from == join.to) continue;
        bool by = false;
        std::string own = e.rel == Rel::nmod ? preposition(join.to, by) : "";
        add(e.from, join.to, e.rel, own.empty() ? e.mark : std::move(own));
      }
      const std::string_view t = tag(join.to);
      if ((!t.starts_with("VB") && !t.starts_with("JJ")) || has_subject(join.to)) continue;
      for (const Edge& e : before) {
        if (e.from != join.from || (e.rel != Rel::nsubj && e.rel != Rel::nsubjpass && e.rel != Rel::csubj)) continue;
        Rel rel = e.rel;
        if (rel == Rel::nsubj && child(join.to, Rel::auxpass) >= 0) rel = Rel::nsubjpass;
        if (rel == Rel::nsubjpass && (t == "VB" || t == "VBZ" || t == "VBP" || t == "JJ")) rel = Rel::nsubj;
        add(join.to, e.to, rel);
      }
    }
  }

  // "a couple of giraffes": the giraffes take the couple's place and have it as a modifier.
  void quantifiers() {
    for (int kind = 1; kind <= 3; ++kind) {
      for (int q = 0; q + 2 < n_; ++q) {
        if (of_[static_cast<std::size_t>(q + 1)]) quantifier(q, kind);
      }
    }
  }

  void quantifier(int q, int kind) {
    const std::string& word = text(q);
    const bool fits = kind == 1   ? kQuantityWithArticle.contains(word)
                      : kind == 2 ? kQuantity.contains(word) || (word.size() > 1 && word.back() == 's' &&
                                                                 is_digits(std::string_view(word).substr(0, word.size() - 1)))
                                  : kQuantityOfThe.contains(word) || is_digits(word);
    if (!fits) return;
    int article = -1;
    if (kind == 1) {
      for (const Edge& e : edges_) {
        if (e.from == q && e.rel == Rel::det && (text(e.to) == "a" || text(e.to) == "an")) article = e.to;
      }
      if (article < 0) return;
    }
    for (std::size_t k = 0; k < edges_.size(); ++k) {
      const Edge inner = edges_[k];
      if (inner.from != q || inner.rel != Rel::nmod) continue;
      const int object = inner.to;
      const bool pronoun = tag(object).starts_with("PRP");
      if (!tag(object).starts_with("NN") && !pronoun) continue;
      if (std::find(edges_.begin(), edges_.end(), Edge{object, q + 1, Rel::case_, ""}) == edges_.end()) continue;
      if (kind == 3 && !pronoun && std::find(edges_.begin(), edges_.end(), Edge{object, q + 2, Rel::det, ""}) == edges_.end()) {
        continue;
      }
      std::vector<int> group{q, q + 1};
      if (article >= 0) group.push_back(article);
      for (const Edge& e : edges_) {
        if (e.from == q && e.to < q && e.to != article && (kind != 1 || e.rel == Rel::amod)) group.push_back(e.to);
      }
      std::sort(group.begin(), group.end());
      group.erase(std::unique(group.begin(), group.end()), group.end());
      const bool was_root = root(q);
      Edge taken{-1, -1, Rel::other, ""};  // the edge from the first of its governors
      for (const Edge& e : edges_) {
        if (e.to == q && e.from != object && (taken.from < 0 || e.from < taken.from)) taken = e;
      }
      auto inside = [&](int i) { return std::find(group.begin(), group.end(), i) != group.end(); };
      remove(q, object, Rel::nmod);
      std::erase_if(edges_, [&](const Edge& e) { return inside(e.to) && (inside(e.from) || e.from == object); });
      std::erase_if(edges_, [&](const Edge& e) { return e.to == q; });
      if (was_root) {
        std::replace(roots_.begin(), roots_.end(), q, object);
      } else if (taken.from >= 0) {
        add(taken.from, object, taken.rel, taken.mark);
      }
      add(object, group[0], Rel::det_qmod);
      for (std::size_t g = 1; g < group.size(); ++g) add(group[0], group[g], Rel::mwe);
      return;
    }
  }

  // A pronoun stands for the first noun from the root, where that noun precedes it.
  void pronouns() {
    for (int p = 1; p < n_; ++p) {
      if (!tag(p).starts_with("PRP")) continue;
      if (std::none_of(edges_.begin(), edges_.end(), [&](const Edge& e) { return e.to == p; })) continue;
      const bool one = kOfOne.contains(text(p));
      const int meant = first_noun(one);
      if (meant < 0 || meant >= p) continue;
      std::vector<Edge> moved;
      for (const Edge& e : edges_) {
        if (e.from == p || e.to == p) moved.push_back({e.from == p ? meant : e.from, e.to == p ? meant : e.to, e.rel, e.mark});
      }
      std::erase_if(edges_, [&](const Edge& e) { return e.from == p || e.to == p; });
      edges_.insert(edges_.end(), moved.begin(), moved.end());
    }
  }

  int first_noun(bool singular) const {
    if (roots_.empty()) return -1;
    std::vector<int> queue{roots_[0]};
    std::vector<char> seen(static_cast<std::size_t>(n_), 0);
    seen[static_cast<std::size_t>(roots_[0])] = 1;
    for (std::size_t k = 0; k < queue.size(); ++k) {
      const int i = queue[k];
      if (noun(i) && (!singular || !plural(i))) return i;
      std::vector<int> next;
      for (const Edge& e : edges_) {
        if (e.from == i && !seen[static_cast<std::size_t>(e.to)]) {
          seen[static_cast<std::size_t>(e.to)] = 1;
          next.push_back(e.to);
        }
      }
      std::sort(next.begin(), next.end());
      queue.insert(queue.end(), next.begin(), next.end());
    }
    return -1;
  }

  const std::string& lemma(int i) {
    const auto k = static_cast<std::size_t>(i);
    if (!lemma_known_[k]) {
      lemma_known_[k] = 1;
      lemma_[k] = lemmas_.lemma(text(i), tag(i));
    }
    return lemma_[k];
  }

  std::string predicate(int i) {
    const int particle = child(i, Rel::compound_prt);
    const std::string& base = lemma(i);
    if (particle < 0) return base;
    return (base == "be" ? "" : base) + " " + text(particle);
  }

  static bool is_nmod(Rel rel) {
    return rel == Rel::nmod || rel == Rel::nmod_poss || rel == Rel::nmod_agent || rel == Rel::nmod_npmod || rel == Rel::nmod_tmod;
  }
  // The name behind "nmod:", with blanks; nothing for a plain nmod, which the rules do not see.
  static std::string nmod_name(const Edge& e) {
    switch (e.rel) {
      case Rel::nmod_poss: return "poss";
      case Rel::nmod_agent: return "agent";
      case Rel::nmod_npmod: return "npmod";
      case Rel::nmod_tmod: return "tmod";
      default: break;
    }
    std::string name = e.mark;
    std::replace(name.begin(), name.end(), '_', ' ');
    return name;
  }
  static bool to_object(const Edge& e) {
    return e.rel == Rel::iobj || e.rel == Rel::dobj || (is_nmod(e.rel) && !nmod_name(e).empty());
  }
  static std::string suffix(const Edge& e) {
    if (!is_nmod(e.rel) || e.rel == Rel::nmod_poss || e.rel == Rel::nmod_agent) return "";
    return " " + nmod_name(e);
  }

  void emit(std::string a) { out_.push_back({{std::move(a), "", ""}, 1}); }
  void emit(std::string a, std::string b) { out_.push_back({{std::move(a), std::move(b), ""}, 2}); }
  void emit(std::string a, std::string b, std::string c) {
    out_.push_back({{std::move(a), std::move(b), std::move(c)}, 3});
  }

  // The edges that leave each word, in their order.
  struct Outgoing {
    std::vector<const Edge*> edges;
    std::vector<std::size_t> start;
    std::span<const Edge* const> of(int i) const {
      const auto k = static_cast<std::size_t>(i);
      return std::span(edges).subspan(start[k], start[k + 1] - start[k]);
    }
  };
  // Made when edges change no more; from then on `child` knows at once where there is none.
  Outgoing outgoing() {
    Outgoing out{std::vector<const Edge*>(edges_.size()), std::vector<std::size_t>(static_cast<std::size_t>(n_) + 2)};
    kinds_.assign(static_cast<std::size_t>(n_), 0);
    for (const Edge& e : edges_) {
      ++out.start[static_cast<std::size_t>(e.from) + 2];
      kinds_[static_cast<std::size_t>(e.from)] |= std::uint64_t{1} << static_cast<unsigned>(e.rel);
    }
    for (std::size_t k = 2; k < out.start.size(); ++k) out.start[k] += out.start[k - 1];
    for (const Edge& e : edges_) out.edges[out.start[static_cast<std::size_t>(e.from) + 1]++] = &e;
    return out;
  }

  void subject_without_object(int x, int s) {
    const int marker = child(x, Rel::case_);
    if (marker >= 0) {
      std::string words = text(marker);
      std::vector<int> rest;
      for (const Edge& e : edges_) {
        if (e.from == marker && e.rel == Rel::mwe) rest.push_back(e.to);
      }
      std::sort(rest.begin(), rest.end());
      for (int r : rest) words += " " + text(r);
      emit(lemma(s), std::move(words), lemma(x));
    } else if (lemma(x) != "be") {
      emit(lemma(s), lemma(x));
    }
  }

  void number_of(int h) {
    const int number = child(h, Rel::nummod), quantity = child(h, Rel::det_qmod);
    if (number >= 0) {
      if (number < h) emit(lemma(h), lemma(number));  // not "number 5"
    } else if (quantity >= 0) {
      emit(lemma(h), lemma(quantity));
    }
  }

  // How many there are of a plural noun: of a plural subject together with a plural object, of a plural subject alone, and
  // of any other plural noun that is no object beside a plural subject.
  void numbers(const Outgoing& out) {
    auto plural_object = [&](const Edge& e) {
      if (!plural(e.to)) return false;
      if (e.rel == Rel::dobj || e.rel == Rel::iobj) return true;
      return is_nmod(e.rel) && e.rel != Rel::nmod_agent && !nmod_name(e).empty() && child(e.to, Rel::case_) >= 0;
    };
    for (int x = 0; x < n_; ++x) {
      int subject = -1, object = -1;
      for (const Edge* e : out.of(x)) {
        if (e->rel == Rel::nsubj && plural(e->to) && (subject < 0 || e->to < subject)) subject = e->to;
        if (plural_object(*e) && (object < 0 || e->to < object)) object = e->to;
      }
      if (subject < 0 || object < 0) continue;
      number_of(subject);
      number_of(object);
    }
    for (int h = 0; h < n_; ++h) {
      if (!plural(h)) continue;
      bool alone = root(h), other = !root(h);
      for (const Edge& e : edges_) {
        if (e.to != h) continue;
        const auto siblings = out.of(e.from);
        if (e.rel == Rel::nsubj) {
          other = false;
          alone = alone || std::none_of(siblings.begin(), siblings.end(), [&](const Edge* s) { return plural_object(*s); });
        } else if (e.rel == Rel::dobj || e.rel == Rel::iobj || is_nmod(e.rel)) {
          other = other && std::none_of(siblings.begin(), siblings.end(),
                                        [&](const Edge* s) { return s->rel == Rel::nsubj && plural(s->to); });
        }
      }
      if (alone || other) number_of(h);
    }
  }

  void read_off() {
    std::vector<char> vertex(static_cast<std::size_t>(n_), 0), compound(static_cast<std::size_t>(n_), 0);
    for (const Edge& e : edges_) vertex[static_cast<std::size_t>(e.from)] = vertex[static_cast<std::size_t>(e.to)] = 1;
    for (int r : roots_) vertex[static_cast<std::size_t>(r)] = 1;
    const Outgoing out = outgoing();
    auto each = [&](int i, auto&& f) {
      for (const Edge* e : out.of(i)) f(*e);
    };
    for (int x = 0; x < n_; ++x) {  // subject, predicate, object
      if (child(x, Rel::cop) >= 0) continue;
      each(x, [&](const Edge& s) {
        if (s.rel != Rel::nsubj || !noun(s.to)) return;
        each(x, [&](const Edge& o) {
          if (to_object(o) && noun(o.to)) emit(lemma(s.to), predicate(x) + suffix(o), lemma(o.to));
        });
      });
    }
    for (int h = 0; h < n_; ++h) {  // participles behind a noun
      each(h, [&](const Edge& a) {
        if (a.rel != Rel::acl || !a.mark.empty() || !tag(a.to).starts_with("V")) return;
        each(a.to, [&](const Edge& o) {
          if (to_object(o) && noun(o.to)) emit(lemma(h), predicate(a.to) + suffix(o), lemma(o.to));
        });
      });
    }
    for (int x = 0; x < n_; ++x) {  // a subject without an object, and copulas
      bool object = false;
      each(x, [&](const Edge& o) { object = object || (to_object(o) && noun(o.to)); });
      const bool copula = child(x, Rel::cop) >= 0;
      if (object && !copula) continue;
      each(x, [&](const Edge& s) {
        if (s.rel == Rel::nsubj && noun(s.to)) subject_without_object(x, s.to);
      });
    }
    for (int h = 0; h < n_; ++h) {
      each(h, [&](const Edge& e) {
        if (e.rel == Rel::amod) emit(lemma(h), lemma(e.to));
      });
    }
    for (int x = 0; x < n_; ++x) {
      if (!tag(x).starts_with("J")) continue;
      each(x, [&](const Edge& s) {
        if (s.rel == Rel::nsubj) emit(lemma(s.to), lemma(x));
      });
    }
    for (int h = 0; h < n_; ++h) {
      if (!noun(h)) continue;
      each(h, [&](const Edge& e) {
        if (is_nmod(e.rel) && e.rel != Rel::nmod_poss && e.rel != Rel::nmod_agent && !nmod_name(e).empty()) {
          emit(lemma(h), nmod_name(e), lemma(e.to));
        }
      });
      each(h, [&](const Edge& e) {
        if (e.rel == Rel::nmod_poss && noun(e.to)) emit(lemma(e.to), "have", lemma(h));
      });
    }
    for (int x = 0; x < n_; ++x) {
      if (!tag(x).starts_with("V")) continue;
      each(x, [&](const Edge& a) {
        if (a.rel != Rel::nmod_agent || !noun(a.to)) return;
        each(x, [&](const Edge& o) {
          if (o.rel == Rel::nsubjpass && noun(o.to)) emit(lemma(a.to), predicate(x), lemma(o.to));
        });
      });
    }
    numbers(out);
    for (int h = 0; h < n_; ++h) {
      if (!noun(h)) continue;
      each(h, [&](const Edge& e) {
        if (e.rel != Rel::compound || !noun(e.to)) return;
        compound[static_cast<std::size_t>(h)] = compound[static_cast<std::size_t>(e.to)] = 1;
        emit(lemma(h), lemma(e.to));
      });
    }
    for (int i = 0; i < n_; ++i) {
      if (noun(i) && vertex[static_cast<std::size_t>(i)] && !compound[static_cast<std::size_t>(i)]) emit(lemma(i));
    }
  }

  std::span<const Word> words_;
  const Lemmas& lemmas_;
  int n_;
  std::vector<std::string> low_;
  std::vector<char> of_;
  std::vector<Edge> edges_;
  std::vector<int> roots_;
  std::vector<Tuple> out_;
  std::vector<std::string> lemma_;
  std::vector<char> lemma_known_;
  std::vector<std::uint64_t> kinds_;  // relations of each word's children, as bits
};

}  // namespace

std::vector<Tuple> scene_tuples(std::span<const Word> sentence, const Lemmas& lemmas) {
  if (sentence.empty()) return {};
  return Scene(sentence, lemmas).tuples();
}

}  // namespace steelyard::language
