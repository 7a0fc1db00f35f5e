// The graph of a sentence -> tuples of its scene graph, by the rules of the original SPICE.
//
// The order of the rules is the original's, and so are quirks that a reader would call mistakes ("a couple of giraffes"
// has the attribute "a"): the aim is the same tuples, not better ones.
#include <algorithm>
#include <span>

#include "language/scene_graph.hpp"

namespace steelyard::language {
namespace {

class Rules {
 public:
  Rules(const SceneGraph& graph, const Lemmas& lemmas)
      : graph_(graph),
        lemmas_(lemmas),
        n_(graph.words()),
        lemma_(static_cast<std::size_t>(n_)),
        lemma_known_(static_cast<std::size_t>(n_)) {}

  std::vector<Tuple> tuples() {
    read_off();
    return std::move(out_);
  }

 private:
  int child(int of, Rel rel) const {  // the first child by that relation
    int found = -1;
    if (!(kinds_[static_cast<std::size_t>(of)] >> static_cast<unsigned>(rel) & 1)) return found;
    for (const Edge& e : graph_.edges()) {
      if (e.from == of && e.rel == rel && (found < 0 || e.to < found)) found = e.to;
    }
    return found;
  }

  const std::string& lemma(int i) {
    const auto k = static_cast<std::size_t>(i);
    if (!lemma_known_[k]) {
      lemma_known_[k] = 1;
      lemma_[k] = lemmas_.lemma(graph_.text(i), graph_.tag(i));
    }
    return lemma_[k];
  }

  std::string predicate(int i) {
    const int particle = child(i, Rel::compound_prt);
    const std::string& base = lemma(i);
    if (particle < 0) return base;
    return (base == "be" ? "" : base) + " " + graph_.text(particle);
  }

  static bool is_nmod(Rel rel) {
    return rel == Rel::nmod || rel == Rel::nmod_poss || rel == Rel::nmod_agent || rel == Rel::nmod_npmod ||
           rel == Rel::nmod_tmod;
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
    Outgoing out{std::vector<const Edge*>(graph_.edges().size()),
                 std::vector<std::size_t>(static_cast<std::size_t>(n_) + 2)};
    kinds_.assign(static_cast<std::size_t>(n_), 0);
    for (const Edge& e : graph_.edges()) {
      ++out.start[static_cast<std::size_t>(e.from) + 2];
      kinds_[static_cast<std::size_t>(e.from)] |= std::uint64_t{1} << static_cast<unsigned>(e.rel);
    }
    for (std::size_t k = 2; k < out.start.size(); ++k) out.start[k] += out.start[k - 1];
    for (const Edge& e : graph_.edges()) out.edges[out.start[static_cast<std::size_t>(e.from) + 1]++] = &e;
    return out;
  }

  void subject_without_object(int x, int s) {
    const int marker = child(x, Rel::case_);
    if (marker >= 0) {
      std::string words = graph_.text(marker);
      std::vector<int> rest;
      for (const Edge& e : graph_.edges()) {
        if (e.from == marker && e.rel == Rel::mwe) rest.push_back(e.to);
      }
      std::sort(rest.begin(), rest.end());
      for (int r : rest) words += " " + graph_.text(r);
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

  // How many there are of a plural noun: of a plural subject together with a plural object, of a plural subject alone,
  // and of any other plural noun that is not an object beside a plural subject.
  void numbers(const Outgoing& out) {
    auto plural_object = [&](const Edge& e) {
      if (!graph_.plural(e.to)) return false;
      if (e.rel == Rel::dobj || e.rel == Rel::iobj) return true;
      return is_nmod(e.rel) && e.rel != Rel::nmod_agent && !nmod_name(e).empty() && child(e.to, Rel::case_) >= 0;
    };
    for (int x = 0; x < n_; ++x) {
      int subject = -1, object = -1;
      for (const Edge* e : out.of(x)) {
        if (e->rel == Rel::nsubj && graph_.plural(e->to) && (subject < 0 || e->to < subject)) subject = e->to;
        if (plural_object(*e) && (object < 0 || e->to < object)) object = e->to;
      }
      if (subject < 0 || object < 0) continue;
      number_of(subject);
      number_of(object);
    }
    for (int h = 0; h < n_; ++h) {
      if (!graph_.plural(h)) continue;
      bool alone = graph_.root(h), other = !graph_.root(h);
      for (const Edge& e : graph_.edges()) {
        if (e.to != h) continue;
        const auto siblings = out.of(e.from);
        if (e.rel == Rel::nsubj) {
          other = false;
          alone =
              alone || std::none_of(siblings.begin(), siblings.end(), [&](const Edge* s) { return plural_object(*s); });
        } else if (e.rel == Rel::dobj || e.rel == Rel::iobj || is_nmod(e.rel)) {
          other = other && std::none_of(siblings.begin(), siblings.end(),
                                        [&](const Edge* s) { return s->rel == Rel::nsubj && graph_.plural(s->to); });
        }
      }
      if (alone || other) number_of(h);
    }
  }

  void read_off() {
    std::vector<char> vertex(static_cast<std::size_t>(n_), 0), compound(static_cast<std::size_t>(n_), 0);
    for (const Edge& e : graph_.edges())
      vertex[static_cast<std::size_t>(e.from)] = vertex[static_cast<std::size_t>(e.to)] = 1;
    for (int r : graph_.roots()) vertex[static_cast<std::size_t>(r)] = 1;
    const Outgoing out = outgoing();
    auto each = [&](int i, auto&& f) {
      for (const Edge* e : out.of(i)) f(*e);
    };
    for (int x = 0; x < n_; ++x) {  // subject, predicate, object
      if (child(x, Rel::cop) >= 0) continue;
      each(x, [&](const Edge& s) {
        if (s.rel != Rel::nsubj || !graph_.noun(s.to)) return;
        each(x, [&](const Edge& o) {
          if (to_object(o) && graph_.noun(o.to)) emit(lemma(s.to), predicate(x) + suffix(o), lemma(o.to));
        });
      });
    }
    for (int h = 0; h < n_; ++h) {  // participles behind a noun
      each(h, [&](const Edge& a) {
        if (a.rel != Rel::acl || !a.mark.empty() || !graph_.tag(a.to).starts_with("V")) return;
        each(a.to, [&](const Edge& o) {
          if (to_object(o) && graph_.noun(o.to)) emit(lemma(h), predicate(a.to) + suffix(o), lemma(o.to));
        });
      });
    }
    for (int x = 0; x < n_; ++x) {  // a subject without an object, and copulas
      bool object = false;
      each(x, [&](const Edge& o) { object = object || (to_object(o) && graph_.noun(o.to)); });
      const bool copula = child(x, Rel::cop) >= 0;
      if (object && !copula) continue;
      each(x, [&](const Edge& s) {
        if (s.rel == Rel::nsubj && graph_.noun(s.to)) subject_without_object(x, s.to);
      });
    }
    for (int h = 0; h < n_; ++h) {
      each(h, [&](const Edge& e) {
        if (e.rel == Rel::amod) emit(lemma(h), lemma(e.to));
      });
    }
    for (int x = 0; x < n_; ++x) {
      if (!graph_.tag(x).starts_with("J")) continue;
      each(x, [&](const Edge& s) {
        if (s.rel == Rel::nsubj) emit(lemma(s.to), lemma(x));
      });
    }
    for (int h = 0; h < n_; ++h) {
      if (!graph_.noun(h)) continue;
      each(h, [&](const Edge& e) {
        if (is_nmod(e.rel) && e.rel != Rel::nmod_poss && e.rel != Rel::nmod_agent && !nmod_name(e).empty()) {
          emit(lemma(h), nmod_name(e), lemma(e.to));
        }
      });
      each(h, [&](const Edge& e) {
        if (e.rel == Rel::nmod_poss && graph_.noun(e.to)) emit(lemma(e.to), "have", lemma(h));
      });
    }
    for (int x = 0; x < n_; ++x) {
      if (!graph_.tag(x).starts_with("V")) continue;
      each(x, [&](const Edge& a) {
        if (a.rel != Rel::nmod_agent || !graph_.noun(a.to)) return;
        each(x, [&](const Edge& o) {
          if (o.rel == Rel::nsubjpass && graph_.noun(o.to)) emit(lemma(a.to), predicate(x), lemma(o.to));
        });
      });
    }
    numbers(out);
    for (int h = 0; h < n_; ++h) {
      if (!graph_.noun(h)) continue;
      each(h, [&](const Edge& e) {
        if (e.rel != Rel::compound || !graph_.noun(e.to)) return;
        compound[static_cast<std::size_t>(h)] = compound[static_cast<std::size_t>(e.to)] = 1;
        emit(lemma(h), lemma(e.to));
      });
    }
    for (int i = 0; i < n_; ++i) {
      if (graph_.noun(i) && vertex[static_cast<std::size_t>(i)] && !compound[static_cast<std::size_t>(i)])
        emit(lemma(i));
    }
  }

  const SceneGraph& graph_;
  const Lemmas& lemmas_;
  int n_;
  std::vector<Tuple> out_;
  std::vector<std::string> lemma_;
  std::vector<char> lemma_known_;
  std::vector<std::uint64_t> kinds_;  // relations of each word's children, as bits
};

}  // namespace

std::vector<Tuple> scene_tuples(std::span<const Word> sentence, const Lemmas& lemmas) {
  if (sentence.empty()) return {};
  return Rules(SceneGraph(sentence), lemmas).tuples();
}

}  // namespace steelyard::language
