// The tree of a caption with the readings that cost a relation repaired.
//
// The original's parser, and ours with it, takes "a woman holding an umbrella" for a holding of the kind "woman",
// beside which an umbrella stands. First verbs and nouns that were taken for each other get their own tags and places
// back; then what stands behind a verb or a container is hung where it belongs (scene_placed.cpp). Each rule is one
// pass over the words.
#include <algorithm>

#include "language/scene_repaired.hpp"
#include "language/scene_words.hpp"

namespace steelyard::language {
namespace {

class Repair : Tree {
 public:
  explicit Repair(std::span<const Word> sentence) : Tree(sentence) {}

  std::vector<Word> words() {
    for (int i = 1; i < n_; ++i) {
      prepositions(i);
      compound_in_pieces(i);
      noun_read_as_verb(i);
      verb_read_as_plural(i);
      disagreeing(i);
      object_read_as_verb(i);
      participle_read_as_noun(i);
      joined_participle(i);
    }
    for (int i = 0; i < n_; ++i) introduced_subject(i);
    for (int i = 0; i < n_; ++i) article_before(i);
    for (int i = 0; i < n_; ++i) loose(i);
    return std::move(w_);
  }

 private:
  // Everything that hangs on `from` hangs on `to`, as far as it stands before `end`.
  void hand_over(int from, int to, int end) {
    for (int k = 0; k < end; ++k) {
      if (k != to && head(k) == from) at(k).head = to + 1;
    }
  }
  void take_place(int i, int of) { at(i).head = at(of).head, at(i).relation = at(of).relation; }

  // "sits next | to a dog" is one preposition; "full | of food" is none, but an adjective with what it is full of.
  void prepositions(int i) {
    if (i + 1 >= n_ || at(i + 1).relation != Rel::case_) return;
    const int object = head(i + 1);
    if (object <= i + 1) return;
    const std::string both = std::string(at(i).text) + "_" + std::string(at(i + 1).text);
    if (kSideBySide.contains(both)) {
      if (at(i).relation == Rel::advmod && head(i) == head(object)) hang(i, object, Rel::case_);
    } else if (at(i).tag == "JJ" && at(i).relation == Rel::case_ && head(i) == object && head(object) >= 0 &&
               head(object) < i) {
      hang(i, head(object), Rel::amod);
      hang(object, i, Rel::nmod);
    }
  }

  // "a fire | hydrant": two nouns side by side are one name, and the second is the thing.
  void compound_in_pieces(int i) {
    if (at(i).relation != Rel::dep || head(i) != i - 1 || !is_noun(at(i)) || !is_noun(at(i - 1)) ||
        at(i).text.ends_with("ing"))
      return;
    take_place(i, i - 1);
    hand_over(i - 1, i, n_);
    hang(i - 1, i, Rel::compound);
  }

  // "a teddy | bear sitting", "a group of teddy | bears sitting": a noun before a participle that was read as a verb.
  void noun_read_as_verb(int i) {
    if (!at(i).tag.starts_with("VB") || at(i).tag == "VBG" || at(i).tag == "VBN" || !is_noun(at(i - 1)) || i + 1 >= n_)
      return;
    const bool before = at(i + 1).tag == "VBG" && head(i + 1) == i;
    const bool disagrees = before && at(i).tag != "VBZ" && at(i - 1).tag == "NN" && !kPlainVerbs.contains(at(i).text);
    if (!disagrees && !(before && kNounsLikeVerbs.contains(at(i).text))) return;
    const int name = i - 1, top = head(name) == i ? name : head(name);
    if (top < 0 || head(top) != i || at(top).relation != Rel::nsubj || (top != name && at(name).relation != Rel::nmod))
      return;
    at(i).tag = at(i).text.ends_with("s") ? "NNS" : "NN";
    if (top != name) {
      take_place(top, i);
      hang(i, top, Rel::nmod);
    }
    hand_over(name, i, i);
    hang(name, i, Rel::compound);
    for (int k = i + 1; k < n_; ++k) {
      if (head(k) == i && is_verb(at(k))) at(k).relation = Rel::acl;
    }
  }

  // "a woman | waves": no plural has the article "a", so that it is a verb.
  void verb_read_as_plural(int i) {
    if (at(i).tag != "NNS" || at(i).relation != Rel::root || at(i - 1).tag != "NN" || head(i - 1) != i) return;
    if (at(i - 1).relation != Rel::compound || kPairs.contains(at(i).text)) return;
    bool article = false;
    for (int k = 0; k < i - 1; ++k) article = article || (head(k) == i && (at(k).text == "a" || at(k).text == "an"));
    if (!article) return;
    hand_over(i, i - 1, i);
    hang(i - 1, i, Rel::nsubj);
    at(i).tag = "VBZ";
  }

  // A verb that does not agree with its subject: "a boy watching a man | fly" has another one.
  void disagreeing(int i) {
    if (at(i).tag != "VBP" && at(i).tag != "VB") return;
    int subject = -1;
    for (int k = 0; k < i; ++k) {
      if (head(k) == i && at(k).relation == Rel::nsubj) subject = k;
    }
    if (subject < 0 || at(subject).tag != "NN") return;
    if (at(i - 1).relation == Rel::dobj && head(i - 1) >= 0 && is_verb(at(head(i - 1))) && head(i - 1) > subject) {
      const int watching = head(i - 1);
      take_place(subject, i);
      hang(i - 1, i, Rel::nsubj);
      hang(i, watching, Rel::ccomp);
    }
  }

  // "a giraffe eating | leaves": the giraffe's eating does not leave.
  void object_read_as_verb(int i) {
    const int verb = i + 1;
    if (verb >= n_ || at(verb).tag != "VBZ") return;
    const bool wearing = at(i).tag == "VBG" && at(i).relation == Rel::acl && kTaking.contains(at(i).text);
    if (!wearing && (!participle_like(i) || head(i - 1) != i)) return;
    const int top = head(i) == verb ? i : head(i) >= 0 && head(i) < i && head(head(i)) == verb ? head(i) : -1;
    if (top < 0 || at(top).relation != Rel::nsubj) return;
    take_place(top, verb);
    for (int k = 0; k < n_; ++k) {
      if (head(k) != verb) continue;
      const bool act = is_verb(at(k));
      at(k).head = (k > verb && !act ? i : top) + 1;
      if (act) at(k).relation = Rel::acl;
    }
    hang(verb, i, Rel::dobj);
    at(verb).tag = "NNS";
  }
  bool participle_like(int i) const {
    const std::string_view text = at(i).text;
    return text.size() > 4 && text.ends_with("ing") && (!is_verb(at(i)) || at(i).relation == Rel::nmod) &&
           !kNounsInIng.contains(text);
  }

  // "a man | holding": the man takes the place of the holding with all that stands before it, and what stands behind is
  // the object or says where.
  void participle_read_as_noun(int i) {
    if (!participle_like(i)) return;
    const int actor = i - 1;
    if (head(actor) != i ||
        (at(actor).relation != Rel::compound && at(actor).relation != Rel::amod && at(actor).relation != Rel::dep))
      return;
    if (at(i).relation == Rel::compound || at(i).relation == Rel::amod) return;
    const bool before_phrase =
        i + 1 < n_ && (opens_phrase(at(i + 1)) || is_noun(at(i + 1)) || at(i + 1).tag.starts_with("JJ"));
    const bool before_place =
        i + 1 < n_ && (at(i + 1).tag == "IN" || at(i + 1).tag == "TO" || at(i + 1).tag.starts_with("R"));
    if (!before_phrase && !before_place && i + 1 < n_) return;
    if (!before_phrase && at(actor).relation == Rel::amod) return;
    const int up = head(i);
    const Rel role = at(i).relation;
    int owner = actor;
    if (role == Rel::nmod && up >= 0 && is_noun(at(up)) && up < actor && !has_case(i, "of")) owner = up;
    bool object = false;
    for (int k = 0; k < n_; ++k) {
      if (k == actor) continue;
      if (head(k) == i && k < i) at(k).head = actor + 1;
      if (head(k) == i && k > i && (at(k).relation == Rel::conj || at(k).relation == Rel::cc) && !is_verb(at(k)) &&
          !object)
        at(k).head = actor + 1;
      if (k > i && is_noun(at(k)) && at(k).relation == Rel::dep && (head(k) == i || head(k) == up) && !object) {
        if (head(k) == up && role == Rel::conj) owner = up;
        hang(k, i, Rel::dobj);
        object = true;
      }
    }
    hang(actor, up, role);
    if (up < 0) at(actor).head = 0;
    if (!is_noun(at(actor))) at(actor).tag = "NN";
    hang(i, owner, Rel::acl);
    at(i).tag = "VBG";
  }

  bool has_case(int i, std::string_view word) const {
    for (int k = 0; k < i; ++k) {
      if (head(k) == i && at(k).relation == Rel::case_ && at(k).text == word) return true;
    }
    return false;
  }

  // "standing in the kitchen and cooking | food": no kitchen food, but two verbs.
  void joined_participle(int i) {
    if (at(i).tag != "VBG" || at(i).relation != Rel::conj) return;
    const int place = head(i);
    if (place < 0 || place > i || !is_noun(at(place)) || at(place).relation != Rel::compound) return;
    const int object = head(place);
    if (object <= i || head(object) < 0 || head(object) > place || !is_verb(at(head(object)))) return;
    const int verb = head(object);
    take_place(place, object);
    for (int k = 0; k < i; ++k) {
      if (k != place && head(k) == object) at(k).head = place + 1;
      if (head(k) == place && at(k).relation == Rel::cc) at(k).head = verb + 1;
    }
    hang(i, verb, Rel::conj);
    hang(object, i, Rel::dobj);
  }

  // "a boy in a uniform wearing a mitt": the uniform is not who wears. "with a dog sitting": the dog is.
  void introduced_subject(int i) {
    if (at(i).relation != Rel::mark || at(i).tag != "IN") return;
    const int verb = head(i);
    if (verb < 0 || verb <= i || at(verb).tag != "VBG") return;
    const std::string_view text = at(i).text;
    if (text != "in" && text != "on" && text != "with" && text != "at" && text != "by" && text != "near") return;
    const int up = head(verb);
    if (up < 0) return;
    for (int s = i + 1; s < verb; ++s) {
      if (head(s) != verb || at(s).relation != Rel::nsubj) continue;
      hang(s, up, Rel::nmod);
      hang(i, s, Rel::case_);
      hang(verb, text == "with" || !is_noun(at(up)) ? s : up, Rel::acl);
      return;
    }
  }

  // "a stuffed" with nothing behind it: what has an article and stands where a noun stands is one.
  void article_before(int i) {
    if (!opens_phrase(at(i)) || at(i).tag == "CD") return;
    const int h = head(i);
    if (h <= i || is_noun(at(h)) || at(h).tag.starts_with("PRP")) return;
    const Rel role = at(h).relation;
    if (role == Rel::dobj || role == Rel::nsubj || role == Rel::nsubjpass || role == Rel::nmod) at(h).tag = "NN";
  }

  // Relations that the parser could not name: a verb below a noun modifies it, a noun behind a verb is its object.
  void loose(int i) {
    if (at(i).relation != Rel::dep) return;
    const int h = head(i);
    if (h < 0 || h >= i) return;
    if ((at(i).tag == "VBG" || at(i).tag == "VBN") && is_noun(at(h))) at(i).relation = Rel::acl;
    if (is_noun(at(i)) && is_verb(at(h))) at(i).relation = Rel::dobj;
    if (is_noun(at(h)) && participle_like(i)) at(i).relation = Rel::acl, at(i).tag = "VBG";
  }
};

}  // namespace

std::vector<Word> repaired(std::span<const Word> sentence) { return placed(Repair(sentence).words()); }

}  // namespace steelyard::language
