// The graph of a sentence -> tuples of what it describes, where the original's rules lose or misread it.
//
// Nouns are objects; adjectives, numbers and compounds are their attributes; verbs and prepositions relate them. A verb
// keeps its subject wherever it stands: finite, passive, behind its noun as a participle, in a relative clause, or
// joined to another verb. The rules stand in docs/captions.md, one line each; scene_rules.cpp has the original's.
#include <algorithm>
#include <span>
#include <unordered_set>

#include "language/scene_graph.hpp"
#include "language/scene_words.hpp"

namespace steelyard::language {
namespace {

constexpr int kMostSteps = 8;  // from a verb up to the one whose subject it shares

class Described {
 public:
  Described(const SceneGraph& graph, const Lemmas& lemmas)
      : g_(graph), lemmas_(lemmas), n_(graph.words()), out_(size(n_)), in_(size(n_)), part_(size(n_), 0) {
    for (const Edge& e : g_.edges()) {
      out_[size(e.from)].push_back(&e);
      in_[size(e.to)].push_back(&e);
      // "front" of "in front of" and "couple" of "a couple of" are not things of their own.
      if (e.rel == Rel::mwe) part_[size(e.from)] = part_[size(e.to)] = 1;
      if (e.rel == Rel::compound && g_.noun(e.from)) part_[size(e.to)] = 1;
    }
  }

  std::vector<Tuple> tuples() {
    for (int i = 0; i < n_; ++i) {
      if (g_.noun(i)) {
        noun(i);
      } else {
        predicate(i);
      }
    }
    std::stable_sort(tuples_.begin(), tuples_.end(), [](const Tuple& a, const Tuple& b) { return a.size < b.size; });
    return std::move(tuples_);
  }

 private:
  static std::size_t size(int i) { return static_cast<std::size_t>(i); }
  bool object(int i) const { return g_.noun(i) && !part_[size(i)]; }
  bool verb(int i) const { return g_.tag(i).starts_with("V"); }
  bool passive_form(int i) const { return g_.tag(i) == "VBN" || (g_.tag(i) == "VBD" && g_.text(i).ends_with("ed")); }
  int child(int of, Rel rel) const {
    int found = -1;
    for (const Edge* e : out_[size(of)]) {
      if (e->rel == rel && (found < 0 || e->to < found)) found = e->to;
    }
    return found;
  }
  bool marked(int i, std::string_view word) const {
    const auto& edges = out_[size(i)];
    return std::any_of(edges.begin(), edges.end(), [&](const Edge* e) { return e->to < i && g_.text(e->to) == word; });
  }

  void emit(Tuple tuple) {
    std::string key;
    for (int k = 0; k < tuple.size; ++k) key.append(tuple.part[k]).append("\t");
    if (said_.insert(std::move(key)).second) tuples_.push_back(std::move(tuple));
  }
  void attribute(int of, std::string what) { emit({{name(of), std::move(what), ""}, 2}); }
  void relate(int from, std::string relation, int to) {
    if (from != to) emit({{name(from), std::move(relation), name(to)}, 3});
  }

  std::string name(int i) const { return lemmas_.lemma(g_.text(i), g_.tag(i)); }
  std::string modifier(int i) const {  // as it is written: "parked", "living"; of a noun the lemma
    return g_.noun(i) && !g_.text(i).ends_with("ing") ? name(i) : g_.text(i);
  }
  std::string base(int i) const {
    return lemmas_.lemma(g_.text(i), verb(i) ? g_.tag(i) : passive_like(i) ? "VBN" : "VBG");
  }
  bool passive_like(int i) const { return g_.text(i).ends_with("ed") || g_.text(i).ends_with("en"); }
  std::string verb_name(int i) const {
    std::string made = base(i);
    for (const Edge* e : out_[size(i)]) {
      if (e->rel == Rel::compound_prt ||
          (e->rel == Rel::advmod && e->to == i + 1 && kParticles.contains(g_.text(e->to)))) {
        return made + " " + g_.text(e->to);
      }
    }
    return made;
  }
  static std::string spaced(std::string text) {
    std::replace(text.begin(), text.end(), '_', ' ');
    return text;
  }
  // The preposition before a noun, all its words.
  std::string preposition(int i) const {
    const int marker = child(i, Rel::case_);
    if (marker < 0) return "";
    std::vector<int> words{marker};
    for (const Edge* e : out_[size(marker)]) {
      if (e->rel == Rel::mwe) words.push_back(e->to);
    }
    std::sort(words.begin(), words.end());
    std::string made;
    for (const int w : words) made += (made.empty() ? "" : " ") + g_.text(w);
    return made;
  }

  // "a group of people": people sit, not the group.
  int member(int i) const {
    if (!kCollectives.contains(g_.text(i))) return i;
    for (const Edge* e : out_[size(i)]) {
      if (e->rel == Rel::nmod && e->mark == "of" && object(e->to)) return e->to;
    }
    return i;
  }
  // All that a word behind joined nouns belongs to: "a cat and a dog | sitting", where they open the caption.
  std::vector<int> joined(int i, int behind) const {
    int first = i;
    for (const Edge* e : in_[size(i)]) {
      if (e->rel == Rel::conj && g_.noun(e->from) && e->from < i) first = e->from;
    }
    std::vector<int> all{i};
    if (!opening(first)) return all;
    if (first != i) all.push_back(first);
    for (const Edge* e : out_[size(first)]) {
      if (e->rel != Rel::conj || !g_.noun(e->to) || e->to == i) continue;
      if (e->to > behind) return {i};
      all.push_back(e->to);
    }
    std::sort(all.begin(), all.end());
    return all;
  }
  bool opening(int i) const {
    if (g_.root(i)) return true;
    return std::any_of(in_[size(i)].begin(), in_[size(i)].end(), [&](const Edge* e) {
      return e->rel == Rel::nsubj && g_.root(e->from) && base(e->from) == "be";
    });
  }

  // Who does what `x` says, or is it. `up` leads from a verb to the one that it shares its subject with.
  std::vector<int> subjects(int x) const {
    std::vector<int> found;
    for (int steps = 0; steps < kMostSteps; ++steps) {
      int next = -1;
      bool own = false;
      for (const Edge* e : out_[size(x)]) {
        if (e->rel != Rel::nsubj && e->rel != Rel::nsubjpass) continue;
        if (object(e->to)) found.push_back(member(e->to));
        own = own || !g_.tag(e->to).starts_with("W");
      }
      if (!found.empty() || own) return found;
      for (const Edge* e : in_[size(x)]) {
        const bool infinitive = marked(x, "to");
        if (e->rel == Rel::acl || e->rel == Rel::acl_relcl) {
          if (e->rel == Rel::acl && infinitive) next = next < 0 ? acting_on(e->from) : next;
          if (!object(e->from) || (e->rel == Rel::acl && (infinitive || !e->mark.empty()))) continue;
          for (const int s : joined(e->from, x)) found.push_back(member(s));
        } else if (e->rel == Rel::advcl || e->rel == Rel::dep || e->rel == Rel::parataxis || e->rel == Rel::xcomp ||
                   e->rel == Rel::conj) {
          if (g_.noun(e->from) && child(e->from, Rel::cop) < 0) {
            if (object(e->from) && e->rel != Rel::conj) found.push_back(member(e->from));
          } else if (next < 0) {
            next = e->from;
          }
        }
      }
      if (!found.empty() || next < 0) break;
      x = next;
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }

  // "raises its trunk to grab": who raises it grabs.
  int acting_on(int i) const {
    for (const Edge* e : in_[size(i)]) {
      if (e->rel == Rel::dobj && verb(e->from)) return e->from;
    }
    return -1;
  }

  // "try to catch", "get ready to catch": what leads to the verb, where it is joined by "to".
  std::string leading(int x) const {
    std::string made;
    for (int steps = 0; steps < kMostSteps; ++steps) {
      const bool infinitive = marked(x, "to");
      const auto up =
          std::find_if(in_[size(x)].begin(), in_[size(x)].end(), [](const Edge* e) { return e->rel == Rel::xcomp; });
      if (up == in_[size(x)].end() || !(infinitive || (steps > 0 && !verb(x)))) break;
      x = (*up)->from;
      made = (verb(x) ? verb_name(x) : g_.text(x)) + (infinitive ? " to " : " ") + made;
    }
    return made;
  }

  // A word that is not a noun and has a subject: a verb, an adjective.
  void predicate(int x) {
    const bool is_verb = verb(x), adjective = g_.tag(x).starts_with("J");
    if (!is_verb && !adjective) return;
    if (is_verb && helps(x)) return;
    const std::vector<int> who = adjective ? of_adjective(x) : before_noun(x) ? std::vector<int>{} : subjects(x);
    if (who.empty()) return;
    const bool passive = passive_form(x) || child(x, Rel::auxpass) >= 0;
    const std::string doing = adjective ? g_.text(x) : leading(x) + verb_name(x);
    const bool be = doing == "be", placed = (passive || adjective) && passive_like(x) && kPlaced.contains(base(x));
    const bool there = be || (placed && leading(x).empty());
    bool related = false;
    for (const Edge* e : out_[size(x)]) {
      if (!object(e->to)) {
        related =
            related || e->rel == Rel::ccomp || (e->rel == Rel::xcomp && (verb(e->to) || kLinking.contains(base(x))));
        if (e->rel == Rel::ccomp && is_verb) watched(*e, who, doing);
        continue;
      }
      std::string relation;
      bool agent = e->rel == Rel::nmod_agent;
      if (e->rel == Rel::dobj || e->rel == Rel::iobj) {
        relation = doing;
      } else if (e->rel == Rel::nmod && !e->mark.empty()) {
        agent = e->mark == "by" && is_verb && passive && !placed;
        relation = spaced(e->mark);
        if (!there && (!adjective || completes(e->mark))) relation = doing + " " + relation;
      } else if (!agent) {
        continue;
      }
      if (agent && placed) agent = false, relation = "by";
      if (agent) relation = doing;
      related = related || !adjective || relation != spaced(e->mark) || there;
      for (const int s : who) relate(agent ? e->to : s, relation, agent ? s : e->to);
    }
    related = related || relative_object(x, doing);
    if (related || be || (is_verb && base(x) == "have")) return;
    for (const int s : who) attribute(s, adjective || passive ? g_.text(x) : doing);
  }
  static bool completes(const std::string& mark) {
    return mark == "of" || mark == "with" || mark == "to" || mark == "for";
  }
  // A form of "be" or "have" that only helps another word has nothing below it.
  bool helps(int x) const {
    return out_[size(x)].empty() && std::any_of(in_[size(x)].begin(), in_[size(x)].end(), [&](const Edge* e) {
             return e->rel == Rel::auxpass || e->rel == Rel::cop || e->rel == Rel::other;
           });
  }
  bool before_noun(int x) const {  // "a smiling woman" is the noun's matter
    return std::any_of(in_[size(x)].begin(), in_[size(x)].end(),
                       [&](const Edge* e) { return (e->rel == Rel::amod || e->rel == Rel::compound) && e->from > x; });
  }
  std::vector<int> of_adjective(int x) const {
    std::vector<int> found;
    for (const Edge* e : in_[size(x)]) {  // "a plate full of food"
      if ((e->rel == Rel::amod || e->rel == Rel::acl || e->rel == Rel::dep) && e->from < x && object(e->from))
        found.push_back(e->from);
    }
    if (!found.empty() || before_noun(x)) return found;
    return subjects(x);
  }
  // "watching a man fly a kite": the man is watched.
  void watched(const Edge& clause, const std::vector<int>& who, const std::string& doing) {
    if (marked(clause.to, "that")) return;
    for (const Edge* s : out_[size(clause.to)]) {
      if (s->rel != Rel::nsubj || !object(s->to)) continue;
      for (const int w : who) relate(w, doing, s->to);
    }
  }
  // "the hat that a man wears": the hat is worn.
  bool relative_object(int x, const std::string& doing) {
    const int subject = child(x, Rel::nsubj), what = child(x, Rel::dobj);
    if (subject < 0 || !object(subject) || (what >= 0 && !g_.tag(what).starts_with("W"))) return false;
    bool found = false;
    for (const Edge* e : in_[size(x)]) {
      if (e->rel != Rel::acl_relcl || !object(e->from)) continue;
      relate(subject, doing, e->from);
      found = true;
    }
    return found;
  }

  void noun(int i) {
    if (object(i)) emit({{name(i), "", ""}, 1});
    if (part_[size(i)]) return;
    for (const Edge* e : out_[size(i)]) {
      const int m = e->to;
      if (e->rel == Rel::amod) {
        if (m < i || child(m, Rel::nmod) < 0) attribute(i, modifier(m));
      } else if (e->rel == Rel::compound) {
        attribute(i, modifier(m));
      } else if (e->rel == Rel::nummod && m < i) {
        attribute(i, g_.text(m));
      } else if (e->rel == Rel::det_qmod) {
        attribute(i, g_.text(quantity(m)));
      } else if (e->rel == Rel::nmod_poss && object(m)) {
        relate(m, "have", i);
      } else if (e->rel == Rel::nmod && !e->mark.empty() && object(m)) {
        place(i, *e);
      }
    }
    copular(i);
  }
  void place(int i, const Edge& e) {
    const std::string relation = spaced(e.mark);
    if (relation == "of") return relate(i, relation, e.to);
    if (relation == "with") return relate(member(i), relation, e.to);
    for (const int s : joined(i, e.to)) relate(member(s), relation, e.to);
  }
  // "the boat is on the lake", "the man is a chef".
  void copular(int i) {
    if (child(i, Rel::cop) < 0 && child(i, Rel::nsubj) < 0) return;
    const std::string relation = preposition(i);
    for (const int s : subjects(i)) {
      if (relation.empty()) attribute(s, name(i));
      else relate(s, relation, i);
    }
  }
  // The word of a quantity that counts: the one before "of".
  int quantity(int first) const {
    int last = first;
    for (const Edge* e : out_[size(first)]) {
      if (e->rel == Rel::mwe) last = std::max(last, e->to);
    }
    return last > first ? last - 1 : first;
  }

  const SceneGraph& g_;
  const Lemmas& lemmas_;
  int n_;
  std::vector<std::vector<const Edge*>> out_, in_;
  std::vector<char> part_;  // words that belong to another's name
  std::vector<Tuple> tuples_;
  std::unordered_set<std::string> said_;
};

}  // namespace

std::vector<Tuple> described_tuples(std::span<const Word> sentence, const Lemmas& lemmas) {
  if (sentence.empty()) return {};
  const std::vector<Word> words = repaired(sentence);
  return Described(SceneGraph(words), lemmas).tuples();
}

}  // namespace steelyard::language
