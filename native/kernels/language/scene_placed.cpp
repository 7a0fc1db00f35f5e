// Where phrases hang in the tree of a caption, by rules instead of the parser's guess.
//
// The parser hangs "on the beach" of "a man riding a horse on the beach" on the man, the riding or the horse, as it
// happens. Two captions that say the same must give the same graph: a place behind a verb and its object belongs to the
// verb, "of" to the noun before it, a place behind "a vase of flowers" to the vase, and what only a living being does
// to the nearest such being.
#include "language/scene_repaired.hpp"
#include "language/scene_words.hpp"

namespace steelyard::language {
namespace {

class Placing : Tree {
 public:
  explicit Placing(std::span<const Word> sentence) : Tree(sentence) {}

  std::vector<Word> words() {
    for (int i = 1; i < n_; ++i) {
      if (at(i).relation == Rel::case_ && head(i) > i && at(head(i)).relation == Rel::nmod) phrase(i, head(i));
    }
    for (int i = 1; i < n_; ++i) act(i);
    return std::move(w_);
  }

 private:
  void move(int i, int on, Rel rel) {
    if (on != head(i) && !below(on, i)) hang(i, on, rel);
  }
  bool contains(int i) const { return is_noun(at(i)) && kContainers.contains(at(i).text); }
  // The container whose content `i` is, or -1.
  int container_of(int i) const {
    const int up = head(i);
    return at(i).relation == Rel::nmod && up >= 0 && up < i && contains(up) && at(up + 1).text == "of" ? up : -1;
  }

  void phrase(int preposition, int object) {
    const int before = preposition - 1, up = head(object);
    const std::string_view word = at(preposition).text;
    if (word == "of") {
      const bool three = preposition > 1 && (at(before).text == "front" || at(before).text == "top");
      if (three && is_noun(at(before))) return move(object, before, Rel::nmod);
      if (is_noun(at(before)) && up >= 0 && is_noun(at(up)) && at(before).relation != Rel::compound)
        move(object, before, Rel::nmod);
      return;
    }
    if (up < 0 || up >= preposition || word == "with" || word == "for" || word == "like" || word == "as" ||
        word == "than")
      return;
    if (!is_noun(at(up))) return;
    if (const int holder = container_of(up); holder >= 0) return move(object, holder, Rel::nmod);
    if (contains(before) && at(before).relation == Rel::nmod && head(before) == up) {
      return move(object, before, Rel::nmod);
    }
    if (at(up).relation == Rel::dobj && head(up) >= 0 && head(up) < up && is_verb(at(head(up))))
      return move(object, head(up), Rel::nmod);
    int verb = -1;  // the last participle of the noun before the phrase
    for (int k = up + 1; k < before + 1; ++k) {
      if (at(k).relation != Rel::acl || !is_verb(at(k))) continue;
      const int owner = head(k);
      if (owner == up || (owner > up && head(owner) == up && at(owner).relation == Rel::nmod)) verb = k;
    }
    if (verb >= 0) move(object, verb, Rel::nmod);
  }

  // "stands on a skateboard holding a rope": a skateboard holds nothing.
  void act(int i) {
    if (at(i).tag != "VBG" || at(i).relation != Rel::acl || !kActs.contains(at(i).text)) return;
    const int doer = head(i);
    if (doer < 0 || doer >= i || kBeings.contains(at(doer).text) || at(doer).relation != Rel::nmod) return;
    int up = head(doer);
    for (int steps = 0; up >= 0 && steps < 4; ++steps, up = head(up)) {
      if (is_verb(at(up))) return move(i, up, Rel::advcl);
      if (is_noun(at(up)) && kBeings.contains(at(up).text)) return move(i, up, Rel::acl);
    }
  }
};

}  // namespace

std::vector<Word> placed(std::vector<Word> sentence) { return Placing(sentence).words(); }

}  // namespace steelyard::language
