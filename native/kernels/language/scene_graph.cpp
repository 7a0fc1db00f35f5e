// The basic tree of a sentence -> the graph that the rules of the original SPICE are written for.
//
// Multi-word prepositions become one, relations get the name of their preposition or conjunction, conjuncts share their
// arguments; then quantifiers and pronouns are resolved. The order of the steps is the original's.
#include "language/scene_graph.hpp"

#include "language/scene_words.hpp"

namespace steelyard::language {
namespace {

bool is_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return out;
}

bool joined_in(const Texts& list, const std::vector<std::string>& words, int from, int count) {
  std::string all = words[static_cast<std::size_t>(from)];
  for (int k = 1; k < count; ++k) all += "_" + words[static_cast<std::size_t>(from + k)];
  return list.contains(all);
}

// Relations that stay what they are when a multi-word preposition gives its place to its noun.
bool clause(Rel rel) { return rel == Rel::acl_relcl || rel == Rel::conj || rel == Rel::advcl || rel == Rel::ccomp; }

}  // namespace

SceneGraph::SceneGraph(std::span<const Word> words) : words_(words), n_(static_cast<int>(words.size())) {
  low_.reserve(words.size());
  kinds_.reserve(words.size());
  edges_.reserve(2 * words.size());
  for (int i = 0; const Word& w : words) {
    low_.push_back(lowered(w.text));
    kinds_.push_back(kind_of(low_.back(), w.tag));
    if (w.head > 0 && w.relation != Rel::root) {
      edges_.push_back({w.head - 1, i, w.relation, ""});
    } else {
      roots_.push_back(i);
    }
    ++i;
  }
  nested_prepositions();
  three_word_prepositions();
  side_by_side_prepositions();
  name_by_preposition();
  name_by_conjunction();
  share_arguments();
  quantifiers();
  pronouns();
}

std::uint8_t SceneGraph::kind_of(std::string_view text, std::string_view tag) {
  std::uint8_t kind = 0;
  if (tag == "NN" || tag == "NNP") kind |= kNoun;
  if (tag == "NNS" || tag == "NNPS") kind |= kNoun | kPlural;
  if (tag.starts_with("PRP")) kind |= kPronoun;
  if (text == "of") kind |= kOf;
  // Every preposition of several words ends with one of these.
  if (text.size() > 1 && text.size() < 5) {
    for (const std::string_view last : {"of", "to", "from", "with", "on", "by", "for", "per"}) {
      if (text == last) kind |= kLastOfSeveral;
    }
  }
  return kind;
}

int SceneGraph::child(int of, Rel rel) const {  // the first child by that relation
  int found = -1;
  for (const Edge& e : edges_) {
    if (e.from == of && e.rel == rel && (found < 0 || e.to < found)) found = e.to;
  }
  return found;
}

bool SceneGraph::has_child(int of) const {
  return std::any_of(edges_.begin(), edges_.end(), [&](const Edge& e) { return e.from == of; });
}

void SceneGraph::remove(int from, int to, Rel rel) {
  std::erase_if(edges_, [&](const Edge& e) { return e.from == from && e.to == to && e.rel == rel; });
}

void SceneGraph::add(int from, int to, Rel rel, std::string mark) {
  Edge edge{from, to, rel, std::move(mark)};
  if (std::find(edges_.begin(), edges_.end(), edge) == edges_.end()) edges_.push_back(std::move(edge));
}

// "next to" where both words hang on the same noun: one case marker.
void SceneGraph::side_by_side_prepositions() {
  for (int i = 0; i + 1 < n_; ++i) {
    if (!is(i + 1, kLastOfSeveral) || !joined_in(kSideBySide, low_, i, 2) || has_child(i) || has_child(i + 1)) continue;
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
void SceneGraph::nested_prepositions() {
  for (int i = 0; i + 1 < n_; ++i) {
    if (!is(i + 1, kLastOfSeveral) || !joined_in(kNested, low_, i, 2)) continue;
    int object = -1;
    for (const Edge& e : edges_) {
      if (e.from == i && e.rel == Rel::nmod && object < 0 &&
          std::find(edges_.begin(), edges_.end(), Edge{e.to, i + 1, Rel::case_, ""}) != edges_.end()) {
        object = e.to;
      }
    }
    const auto up = std::find_if(edges_.begin(), edges_.end(), [&](const Edge& e) { return e.to == i; });
    if (object < 0) continue;
    const int gov = up == edges_.end() ? -1 : up->from;  // nothing is above a root
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
void SceneGraph::three_word_prepositions() {
  for (int i = 0; i + 2 < n_; ++i) {
    if (!is(i + 2, kLastOfSeveral) || !joined_in(kThreeWords, low_, i, 3)) continue;
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
    if (object < 0) continue;
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

// The case marker of a word that was attached last, with the words that belong to it; `by` says whether any marker is
// "by".
std::string SceneGraph::preposition(int i, bool& by) const {
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
void SceneGraph::other_prepositions(const Edge& e, std::vector<Edge>& more) const {
  for (const Edge& m : edges_) {
    if (m.from != e.to || m.rel != Rel::case_) continue;
    for (const Edge& c : edges_) {
      if (c.from == m.to && c.rel == Rel::conj) more.push_back({e.from, e.to, e.rel, text(c.to)});
    }
  }
}

// nmod with the preposition "in" becomes nmod:in; "by" in a passive names the agent.
void SceneGraph::name_by_preposition() {
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
void SceneGraph::name_by_conjunction() {
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

bool SceneGraph::has_subject(int i) const {
  return std::any_of(edges_.begin(), edges_.end(), [&](const Edge& e) {
    return e.from == i && (e.rel == Rel::nsubj || e.rel == Rel::nsubjpass || e.rel == Rel::csubj);
  });
}

// What the first conjunct is to others, every conjunct is; a verb without a subject takes the first one's.
void SceneGraph::share_arguments() {
  std::vector<Edge> joins;
  for (const Edge& e : edges_) {
    if (e.rel == Rel::conj && !e.mark.empty()) joins.push_back(e);
  }
  if (joins.empty()) return;
  std::sort(joins.begin(), joins.end(),
            [](const Edge& a, const Edge& b) { return a.from != b.from ? a.from < b.from : a.to < b.to; });
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
void SceneGraph::quantifiers() {
  for (int kind = 1; kind <= 3; ++kind) {
    for (int q = 0; q + 2 < n_; ++q) {
      if (is(q + 1, kOf)) quantifier(q, kind);
    }
  }
}

void SceneGraph::quantifier(int q, int kind) {
  const std::string& word = text(q);
  const bool fits = kind == 1 ? kQuantityWithArticle.contains(word)
                    : kind == 2
                        ? kQuantity.contains(word) || (word.size() > 1 && word.back() == 's' &&
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
    if (kind == 3 && !pronoun &&
        std::find(edges_.begin(), edges_.end(), Edge{object, q + 2, Rel::det, ""}) == edges_.end()) {
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
void SceneGraph::pronouns() {
  for (int p = 1; p < n_; ++p) {
    if (!is(p, kPronoun)) continue;
    if (std::none_of(edges_.begin(), edges_.end(), [&](const Edge& e) { return e.to == p; })) continue;
    const bool one = kOfOne.contains(text(p));
    const int meant = first_noun(one);
    if (meant < 0 || meant >= p) continue;
    std::vector<Edge> moved;
    for (const Edge& e : edges_) {
      if (e.from == p || e.to == p)
        moved.push_back({e.from == p ? meant : e.from, e.to == p ? meant : e.to, e.rel, e.mark});
    }
    std::erase_if(edges_, [&](const Edge& e) { return e.from == p || e.to == p; });
    edges_.insert(edges_.end(), moved.begin(), moved.end());
  }
}

int SceneGraph::first_noun(bool singular) const {
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

}  // namespace steelyard::language
