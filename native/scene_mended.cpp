// The tree of a caption with the verbs that the parser reads as nouns made verbs again.
//
// The original's parser, and ours with it, takes "a woman holding an umbrella" for a holding of the kind "woman", beside which
// an umbrella stands. Three such readings are mended: a participle read as a noun behind the noun that acts; a subject that
// "in" or "with" introduces; and a word with an article that is no noun by its tag. Each is one pass over the words.
#include <algorithm>

#include "language.hpp"
#include "scene_words.hpp"

namespace steelyard::language {
namespace {

bool is_noun(const Word& w) { return w.tag.starts_with("NN"); }
bool is_verb(const Word& w) { return w.tag.starts_with("V"); }
bool opens_phrase(const Word& w) { return w.tag == "DT" || w.tag == "PRP$" || w.tag == "CD"; }

class Mending {
 public:
  explicit Mending(std::span<const Word> sentence) : w_(sentence.begin(), sentence.end()), n_(static_cast<int>(w_.size())) {}

  std::vector<Word> words() {
    for (int i = 1; i < n_; ++i) participle_read_as_noun(i);
    for (int i = 0; i < n_; ++i) introduced_subject(i);
    for (int i = 0; i < n_; ++i) article_before(i);
    for (int i = 0; i < n_; ++i) loose(i);
    return std::move(w_);
  }

 private:
  Word& at(int i) { return w_[static_cast<std::size_t>(i)]; }
  int head(int i) const { return w_[static_cast<std::size_t>(i)].head - 1; }
  void hang(int i, int on, Rel rel) { at(i).head = on + 1, at(i).relation = rel; }

  // "a man | holding": the man takes the place of the holding with all that stands before it, and what stands behind is the
  // object or says where.
  void participle_read_as_noun(int i) {
    const std::string_view text = at(i).text;
    if (text.size() < 5 || !text.ends_with("ing") || is_verb(at(i)) || kNounsInIng.contains(text)) return;
    const int actor = i - 1;
    if (head(actor) != i || (at(actor).relation != Rel::compound && at(actor).relation != Rel::amod && at(actor).relation != Rel::dep)) return;
    if (at(i).relation == Rel::compound || at(i).relation == Rel::amod) return;
    const bool before_phrase = i + 1 < n_ && (opens_phrase(at(i + 1)) || is_noun(at(i + 1)) || at(i + 1).tag.starts_with("JJ"));
    const bool before_place = i + 1 < n_ && (at(i + 1).tag == "IN" || at(i + 1).tag == "TO" || at(i + 1).tag.starts_with("R"));
    if (!before_phrase && !before_place && i + 1 < n_) return;
    if (!before_phrase && at(actor).relation == Rel::amod) return;
    const int up = head(i);
    const Rel role = at(i).relation;
    int owner = actor;
    if (role == Rel::nmod && up >= 0 && is_noun(at(up)) && up < actor) owner = up;
    bool object = false;
    for (int k = 0; k < n_; ++k) {
      if (k == actor) continue;
      if (head(k) == i && k < i) at(k).head = actor + 1;
      if (head(k) == i && k > i && (at(k).relation == Rel::conj || at(k).relation == Rel::cc) && !is_verb(at(k)) && !object) at(k).head = actor + 1;
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
  }

  std::vector<Word> w_;
  int n_;
};

}  // namespace

std::vector<Word> mended(std::span<const Word> sentence) { return Mending(sentence).words(); }

}  // namespace steelyard::language
