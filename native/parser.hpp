// The tagger and dependency parser: features and decoding, shared by the runtime and by the program that trains it.
//
// Three kinds of decision, each scored by a linear model over hashed features: a tag for every word from its neighbours;
// then an arc-hybrid transition system (shift, left arc, right arc), where shifting a word settles its tag once more, now
// with the stack in sight, and where an arc's relation is settled when it is drawn. Every decision is taken greedily: what
// a wider search finds is put into the weights by training (tools/train_parser.cpp) rather than searched for at run time.
// A sentence of n words costs 2n decisions of about 70 features, each one lookup that was prefetched.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace steelyard::language {

constexpr int kLongest = 120;  // words of a sentence; a longer one is cut into pieces
enum Kind : int { kFirstTag, kSecondTag, kArc, kRelation_, kKinds };
enum Move : int { kShift, kLeft, kRight, kMoves };

// One step of a hash: cheap, since a decision makes hundreds of them; `finish` spreads the bits.
inline std::uint32_t mix(std::uint32_t a, std::uint32_t b) {
  const std::uint64_t x = (static_cast<std::uint64_t>(a) << 32 | b) * 0x9E3779B97F4A7C15ull;
  return static_cast<std::uint32_t>(x >> 32) ^ static_cast<std::uint32_t>(x);
}

inline std::uint32_t hash_text(std::string_view text) {
  std::uint32_t h = 2166136261u;
  for (char c : text) h = (h ^ static_cast<std::uint8_t>(c)) * 16777619u;
  return mix(h, static_cast<std::uint32_t>(text.size()));
}

// A weight is a byte: fine steps near zero, where most weights are, and coarse ones far out. In units of 1/16 fine step.
constexpr std::int32_t weight_of(std::int32_t byte) {
  const std::int32_t size = byte < 0 ? -byte : byte;
  const std::int32_t value = 16 * size + size * size;
  return byte < 0 ? -value : value;
}

// What is known of a word before anything is decided.
struct WordFacts {
  std::uint32_t word, shape;
  std::array<std::uint32_t, 4> suffix;
  std::array<std::uint32_t, 2> prefix;
};

inline WordFacts facts_of(std::string_view text) {
  WordFacts f{};
  bool digit = false, hyphen = false, other = false;
  for (char c : text) {
    digit = digit || (c >= '0' && c <= '9');
    hyphen = hyphen || c == '-';
    other = other || !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-');
  }
  bool number = digit;
  for (char c : text) number = number && ((c >= '0' && c <= '9') || c == '.' || c == ',' || c == ':' || c == '/');
  f.word = number ? hash_text("0") + static_cast<std::uint32_t>(text.size()) : hash_text(text);
  f.shape = 1u + (digit ? 1u : 0u) + (hyphen ? 2u : 0u) + (other ? 4u : 0u) + (number ? 8u : 0u);
  for (std::size_t k = 0; k < 4; ++k) f.suffix[k] = hash_text(text.substr(text.size() - std::min(text.size(), k + 1)));
  for (std::size_t k = 0; k < 2; ++k) f.prefix[k] = hash_text(text.substr(0, k + 2));
  return f;
}

struct Features {
  std::array<std::uint32_t, 96> key;
  int count = 0;
  void add(std::uint64_t a) { put(a * kOne); }
  void add(std::uint64_t a, std::uint64_t b) { put((a * kOne + b) * kTwo); }
  void add(std::uint64_t a, std::uint64_t b, std::uint64_t c) { put(((a * kOne + b) * kTwo + c) * kThree); }
  void add(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
    put((((a * kOne + b) * kTwo + c) * kThree + d) * kOne);
  }

 private:
  static constexpr std::uint64_t kOne = 0x9E3779B97F4A7C15ull, kTwo = 0xBF58476D1CE4E5B9ull, kThree = 0x94D049BB133111EBull;
  void put(std::uint64_t x) {  // the number of the template is part of the key
    x += static_cast<std::uint64_t>(count + 1) * 0xD6E8FEB86659FD93ull;
    x ^= x >> 32;
    key[static_cast<std::size_t>(count++)] = static_cast<std::uint32_t>(x * kTwo >> 32);
  }
};

// A sentence and what has been decided about it. Words count from 0; head n is the root.
struct Sentence {
  std::vector<WordFacts> facts;
  std::vector<std::uint8_t> first_tag;  // 1 + tag, from the first pass
  std::vector<std::uint8_t> certain;    // 1 + tag of a word that has no other, else 0
  std::vector<std::int16_t> next_noun, next_verb;
};

constexpr std::int16_t kNone = -1;

struct State {
  int n = 0, buffer = 0, depth = 0;
  std::array<std::uint8_t, kLongest> stack;
  std::array<std::uint8_t, kLongest> tag;  // 1 + tag: the first pass's, then that of the shift
  std::array<std::int16_t, kLongest> head;
  std::array<std::uint8_t, kLongest> relation;  // 1 + relation
  std::array<std::int16_t, kLongest> left, right, left2, right2;
  std::array<std::uint8_t, kLongest> lefts, rights;
  std::array<std::uint32_t, kLongest> has;  // relations that a word's dependents have, as bits of a small hash

  void start(const Sentence& s) {
    n = static_cast<int>(s.facts.size());
    buffer = depth = 0;
    for (int i = 0; i < n; ++i) {
      const auto k = static_cast<std::size_t>(i);
      tag[k] = s.first_tag[k];
      head[k] = left[k] = right[k] = left2[k] = right2[k] = kNone;
      relation[k] = lefts[k] = rights[k] = 0;
      has[k] = 0;
    }
  }
  // Which moves may be taken: one word only is left to hang on the root at the end.
  bool may(int move) const {
    if (move == kShift) return buffer < n;
    if (move == kLeft) return depth > 0 && buffer < n;
    return depth > 1;
  }
  bool done() const { return buffer == n && depth <= 1; }
  int top(int k) const { return depth > k ? stack[static_cast<std::size_t>(depth - 1 - k)] : kNone; }

  void take(int move, int tag_or_relation) {
    if (move == kShift) {
      if (tag_or_relation) tag[static_cast<std::size_t>(buffer)] = static_cast<std::uint8_t>(tag_or_relation);
      stack[static_cast<std::size_t>(depth++)] = static_cast<std::uint8_t>(buffer++);
      return;
    }
    const int child = top(0), parent = move == kLeft ? buffer : top(1);
    const auto c = static_cast<std::size_t>(child), p = static_cast<std::size_t>(parent);
    --depth;
    head[c] = static_cast<std::int16_t>(parent);
    relation[c] = static_cast<std::uint8_t>(tag_or_relation);
    has[p] |= 1u << (tag_or_relation & 31);
    if (move == kLeft) {
      left2[p] = left[p];
      left[p] = static_cast<std::int16_t>(child);
      if (lefts[p] < 5) ++lefts[p];
    } else {
      right2[p] = right[p];
      right[p] = static_cast<std::int16_t>(child);
      if (rights[p] < 5) ++rights[p];
    }
  }
};

inline void first_tag_features(const Sentence& s, int i, Features& f) {
  const int n = static_cast<int>(s.facts.size());
  auto word = [&](int k) { return k < 0 ? 11u : k >= n ? 12u : s.facts[static_cast<std::size_t>(k)].word; };
  auto suffix = [&](int k, int length) {
    return k < 0 ? 11u : k >= n ? 12u : s.facts[static_cast<std::size_t>(k)].suffix[static_cast<std::size_t>(length - 1)];
  };
  auto tag = [&](int k) -> std::uint32_t { return k < 0 ? 0u : s.first_tag[static_cast<std::size_t>(k)]; };
  const WordFacts& w = s.facts[static_cast<std::size_t>(i)];
  f.add(1);
  f.add(w.word);
  for (auto x : w.suffix) f.add(x);
  for (auto x : w.prefix) f.add(x);
  f.add(w.shape);
  f.add(tag(i - 1));
  f.add(tag(i - 1), tag(i - 2));
  f.add(tag(i - 1), w.word);
  f.add(tag(i - 1), tag(i - 2), w.word);
  f.add(word(i - 1));
  f.add(word(i - 2));
  f.add(word(i + 1));
  f.add(word(i + 2));
  f.add(w.word, word(i + 1));
  f.add(w.word, word(i - 1));
  f.add(word(i + 1), word(i + 2));
  f.add(suffix(i + 1, 3));
  f.add(suffix(i + 2, 3));
  f.add(tag(i - 1), word(i + 1));
  f.add(tag(i - 1), suffix(i + 1, 2));
  f.add(tag(i - 1), w.suffix[2]);
  f.add(tag(i - 1), w.suffix[1], suffix(i + 1, 2));
  f.add(w.suffix[2], suffix(i + 1, 3));
  f.add(tag(i - 1), tag(i - 2), w.suffix[1]);
  f.add(w.word, word(i + 1), word(i + 2));
  f.add(w.word, word(i - 1), word(i + 1));
}

// Everything the features of a state are made of.
struct View {
  const Sentence& s;
  const State& t;
  std::uint32_t word(int i) const { return i < 0 ? 7u : s.facts[static_cast<std::size_t>(i)].word; }
  std::uint32_t tag(int i) const { return i < 0 ? 77u : t.tag[static_cast<std::size_t>(i)]; }
  std::uint32_t rel(int i) const { return i < 0 ? 88u : t.relation[static_cast<std::size_t>(i)]; }
  int ahead(int k) const { return t.buffer + k < t.n ? t.buffer + k : kNone; }
  int left(int i) const { return i < 0 ? kNone : t.left[static_cast<std::size_t>(i)]; }
  int right(int i) const { return i < 0 ? kNone : t.right[static_cast<std::size_t>(i)]; }
  int left2(int i) const { return i < 0 ? kNone : t.left2[static_cast<std::size_t>(i)]; }
  int right2(int i) const { return i < 0 ? kNone : t.right2[static_cast<std::size_t>(i)]; }
  std::uint32_t lefts(int i) const { return i < 0 ? 9u : t.lefts[static_cast<std::size_t>(i)]; }
  std::uint32_t rights(int i) const { return i < 0 ? 9u : t.rights[static_cast<std::size_t>(i)]; }
  std::uint32_t has(int i) const { return i < 0 ? 9u : t.has[static_cast<std::size_t>(i)]; }
  int noun_from(int i) const { return i < 0 ? kNone : s.next_noun[static_cast<std::size_t>(i)]; }
  int verb_from(int i) const { return i < 0 ? kNone : s.next_verb[static_cast<std::size_t>(i)]; }
  static std::uint32_t distance(int a, int b) {
    if (a < 0 || b < 0) return 9;
    const int d = b > a ? b - a : a - b;
    return static_cast<std::uint32_t>(d < 5 ? d : d < 8 ? 6 : 7);
  }
};

inline void second_tag_features(const View& v, Features& f) {
  const int b = v.t.buffer, s0 = v.t.top(0), s1 = v.t.top(1), b1 = v.ahead(1), b2 = v.ahead(2), l = v.left(b);
  const WordFacts& w = v.s.facts[static_cast<std::size_t>(b)];
  const std::uint32_t first = v.tag(b), before = b ? v.tag(b - 1) : 0u;
  f.add(first);
  f.add(first, w.word);
  f.add(first, before);
  f.add(first, v.tag(s0));
  f.add(first, v.tag(s0), v.tag(b1));
  f.add(first, v.word(s0));
  f.add(first, v.tag(s0), v.tag(s1));
  f.add(first, v.tag(b1));
  f.add(first, v.tag(b1), v.tag(b2));
  f.add(w.word, v.word(s0));
  f.add(w.word, v.tag(s0));
  f.add(w.word, v.tag(s0), v.tag(s1));
  f.add(w.word, v.word(b1));
  f.add(w.word, v.tag(b1));
  f.add(w.word, v.tag(s0), v.tag(b1));
  f.add(w.word, v.tag(l), v.rel(l));
  f.add(first, v.tag(l), v.rel(l));
  f.add(first, v.word(l));
  f.add(w.word, before);
  f.add(w.word, before, v.tag(b1));
  f.add(first, w.suffix[2]);
  f.add(w.suffix[2], v.tag(s0));
  f.add(w.suffix[2], v.tag(s0), v.tag(b1));
  f.add(first, v.rel(v.right(s0)), v.tag(s0));
  f.add(first, v.tag(v.verb_from(b1)));
  f.add(first, v.tag(v.verb_from(b1)), v.tag(s0));
  f.add(w.word, v.tag(v.verb_from(b1)), v.tag(s0));
  f.add(first, v.lefts(b), v.tag(s0));
  f.add(first, v.tag(b1), v.word(b2));
  f.add(first, v.word(b1));
  f.add(first, v.word(b1), before);
}

inline void arc_features(const View& v, Features& f) {
  const int s0 = v.t.top(0), s1 = v.t.top(1), s2 = v.t.top(2), b0 = v.ahead(0), b1 = v.ahead(1), b2 = v.ahead(2);
  const int s0l = v.left(s0), s0r = v.right(s0), s1r = v.right(s1), s1l = v.left(s1), b0l = v.left(b0);
  const int noun = v.noun_from(b0), verb = v.verb_from(b0);
  const std::uint32_t s0w = v.word(s0), s1w = v.word(s1), b0w = v.word(b0), b1w = v.word(b1), nw = v.word(noun);
  const std::uint32_t s0t = v.tag(s0), s1t = v.tag(s1), s2t = v.tag(s2), b0t = v.tag(b0), b1t = v.tag(b1), b2t = v.tag(b2);
  const std::uint32_t vt = v.tag(verb), s0lw = v.word(s0l), near = View::distance(s0, b0), gap = View::distance(s1, s0);
  const std::uint32_t s0wt = mix(s0w, s0t), s1wt = mix(s1w, s1t), b0wt = mix(b0w, b0t), st = mix(s0t, b0t), sst = mix(s1t, st);
  f.add(1);
  f.add(s0wt);
  f.add(s0w);
  f.add(s0t);
  f.add(s1wt);
  f.add(s1t);
  f.add(b0wt);
  f.add(b0w);
  f.add(b0t);
  f.add(b1w, b1t);
  f.add(b1t);
  f.add(b2t, v.word(b2));
  f.add(s0wt, b0wt);
  f.add(s0w, b0t);
  f.add(s0t, b0w);
  f.add(s0w, b0w);
  f.add(st);
  f.add(s1wt, s0wt);
  f.add(s1w, s0w);
  f.add(s1w, s0t);
  f.add(s1t, s0w);
  f.add(s1t, s0t);
  f.add(b0t, b1t, b2t);
  f.add(st, b1t);
  f.add(st, b1t, b2t);
  f.add(sst);
  f.add(sst, b1t);
  f.add(sst, s2t);
  f.add(s1w, st);
  f.add(s1t, s0w, b0t);
  f.add(s1t, s0t, b0w);
  f.add(s1w, s0w, b0w);
  f.add(s1w, s0t, b0w);
  f.add(s1t, s0w, b0w);
  f.add(s1w, s0w, b0t);
  f.add(s0t, v.tag(s0l), b0t);
  f.add(s0t, v.tag(s0r), b0t);
  f.add(s1t, v.tag(s1r), s0t);
  f.add(sst, v.tag(s1r));
  f.add(sst, v.rel(s1r));
  f.add(sst, v.rel(s0r));
  f.add(sst, v.rel(s0l));
  f.add(st, v.tag(b0l), v.rel(b0l));
  f.add(s1w, s0lw);
  f.add(s1w, s0lw, s0w);
  f.add(s1t, s0lw, s0t);
  f.add(s1t, s0lw, s0w);
  f.add(s1w, s0lw, s0t);
  f.add(mix(s1t, s0lw), mix(s0t, b0t), b0w);
  f.add(mix(s2t, s1t), mix(s0lw, s0t), v.word(s2));
  f.add(mix(s2t, s1t), mix(s0lw, s0t), b0t);
  f.add(s0w, b0w, nw);
  f.add(s1w, b0w, nw);
  f.add(mix(s1t, s0t), b0w, nw);
  f.add(mix(s1w, s0w), b0w, v.tag(noun));
  f.add(mix(s1w, s0t), b0w, b1w);
  f.add(st, b0w, b1w);
  f.add(s0w, b0w, b1w);
  f.add(st, near);
  f.add(s1t, s0t, gap);
  f.add(s0wt, near);
  f.add(sst, near, gap);
  f.add(sst, vt);
  f.add(st, vt, b1t);
  f.add(s0w, b0t, vt);
  f.add(sst, vt, v.word(verb));
  f.add(mix(sst, s2t), vt, b0w);
  f.add(s1t, v.has(s1), s0t, b0t);
  f.add(s0t, v.has(s0), b0t, vt);
  f.add(s0t, v.lefts(s0), b0t);
  f.add(s0t, v.rights(s0), b0t);
  f.add(s1t, v.rights(s1), s0t, b0t);
  f.add(s1t, v.word(s1l), st);
  f.add(s0t, v.word(s0r), b0t, b0w);
  f.add(sst, v.tag(v.right2(s1)), v.rel(v.left2(s0)));
  f.add(b0t, vt, v.t.depth == 0 ? 1u : v.t.depth == 1 ? 2u : 3u);
  f.add(mix(s2t, s1t), s0t, v.t.depth < 4 ? static_cast<std::uint32_t>(v.t.depth) : 4u);
}

inline void relation_features(const View& v, int move, Features& f) {
  const int d = v.t.top(0), h = move == kLeft ? v.t.buffer : v.t.top(1);
  const int dl = v.left(d), dr = v.right(d), b0 = v.ahead(0), b1 = v.ahead(1);
  const std::uint32_t side = static_cast<std::uint32_t>(move), hw = v.word(h), dw = v.word(d);
  const std::uint32_t ht = mix(v.tag(h), side), dt = v.tag(d), both = mix(ht, dt);
  const std::uint32_t between = move == kRight ? v.tag(d > 0 ? d - 1 : kNone) : v.tag(d + 1 < v.t.n ? d + 1 : kNone);
  const std::uint32_t dlw = v.word(dl), dlr = v.rel(dl);
  f.add(side);
  f.add(both);
  f.add(both, hw);
  f.add(both, dw);
  f.add(both, hw, dw);
  f.add(ht, dw);
  f.add(dt, hw, side);
  f.add(dw, side);
  f.add(hw, dw, side);
  f.add(both, dlr);
  f.add(both, dlw);
  f.add(both, dlw, hw);
  f.add(both, dlw, dw);
  f.add(both, v.rel(dr));
  f.add(both, v.rel(v.left2(d)));
  f.add(both, View::distance(h, d));
  f.add(both, between);
  f.add(both, v.has(h) & 0xFFFFFFu);
  f.add(both, v.has(d));
  f.add(both, v.tag(v.right(h)), v.rel(v.right(h)));
  f.add(both, v.tag(v.left(h)), v.rel(v.left(h)));
  f.add(both, v.tag(b0));
  f.add(both, v.tag(b0), v.tag(b1));
  f.add(both, v.tag(h > 0 ? h - 1 : kNone));
  f.add(both, v.tag(d > 0 ? d - 1 : kNone));
  f.add(both, v.word(d > 0 ? d - 1 : kNone));
  f.add(dw, v.word(d > 0 ? d - 1 : kNone), side);
  f.add(both, v.tag(v.verb_from(b0)));
  f.add(both, v.tag(v.t.top(move == kLeft ? 1 : 2)));
  f.add(both, dw, v.tag(b0));
  f.add(both, v.t.depth < 4 ? static_cast<std::uint32_t>(v.t.depth) : 4u, v.tag(b0));
}

// How far the best tag of the first pass must be ahead for the second pass to leave it; in units of weight_of.
template <typename Scorer>
concept Hurried = requires(const Scorer& s) { s.far_ahead(); };

// `Scorer` gives scores: `rows(kind, features, out)` adds the weights of every feature for each class to `out`, which has
// room for kMost classes; `classes(kind)` says how many there are.
constexpr int kMost = 64;

template <typename Scorer>
int best_class(const Scorer& scorer, int kind, const Features& f) {
  std::array<typename Scorer::Score, kMost> score{};
  scorer.rows(kind, f, score.data());
  return static_cast<int>(std::max_element(score.begin(), score.begin() + scorer.classes(kind)) - score.begin());
}

template <typename Scorer>
void tag_first(const Scorer& scorer, Sentence& s) {
  s.first_tag.assign(s.facts.size(), 0);
  for (int i = 0; i < static_cast<int>(s.facts.size()); ++i) {
    if ((s.first_tag[static_cast<std::size_t>(i)] = s.certain[static_cast<std::size_t>(i)])) continue;
    Features f;
    first_tag_features(s, i, f);
    std::array<typename Scorer::Score, kMost> score{};
    scorer.rows(kFirstTag, f, score.data());
    const int n = scorer.classes(kFirstTag);
    const auto best = std::max_element(score.begin(), score.begin() + n);
    s.first_tag[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(1 + (best - score.begin()));
    if constexpr (Hurried<Scorer>) {
      const auto limit = *best - scorer.far_ahead();
      if (std::count_if(score.begin(), score.begin() + n, [&](auto x) { return x > limit; }) == 1) {
        s.certain[static_cast<std::size_t>(i)] = s.first_tag[static_cast<std::size_t>(i)];
      }
    }
  }
}

// For every place the next noun and the next verb by the first pass's tags, within a few words.
inline void look_ahead(Sentence& s, const std::vector<std::uint8_t>& is_noun, const std::vector<std::uint8_t>& is_verb) {
  const int n = static_cast<int>(s.facts.size());
  s.next_noun.assign(s.facts.size(), kNone);
  s.next_verb.assign(s.facts.size(), kNone);
  for (int i = n - 1; i >= 0; --i) {
    const auto k = static_cast<std::size_t>(i);
    s.next_noun[k] = is_noun[s.first_tag[k]] ? static_cast<std::int16_t>(i) : i + 1 < n ? s.next_noun[k + 1] : kNone;
    s.next_verb[k] = is_verb[s.first_tag[k]] ? static_cast<std::int16_t>(i) : i + 1 < n ? s.next_verb[k + 1] : kNone;
  }
}

// The move where only one may be taken, else -1.
inline int forced(const State& t) {
  if (t.depth == 0) return kShift;
  return t.buffer == t.n ? static_cast<int>(kRight) : -1;
}

template <typename Scorer>
void parse_greedily(const Scorer& scorer, const Sentence& s, State& t) {
  t.start(s);
  const View view{s, t};
  while (!t.done()) {
    int move = forced(t);
    if (move < 0) {
      Features f;
      arc_features(view, f);
      std::array<typename Scorer::Score, kMost> score{};
      scorer.rows(kArc, f, score.data());
      for (int m = 0; m < kMoves; ++m) {
        if (t.may(m) && (move < 0 || score[static_cast<std::size_t>(m)] > score[static_cast<std::size_t>(move)])) move = m;
      }
    }
    Features f;
    if (move == kShift) {
      if (const int tag = s.certain[static_cast<std::size_t>(t.buffer)]) {
        t.take(kShift, tag);
        continue;
      }
      second_tag_features(view, f);
      t.take(kShift, 1 + best_class(scorer, kSecondTag, f));
    } else {
      relation_features(view, move, f);
      t.take(move, 1 + best_class(scorer, kRelation_, f));
    }
  }
}

}  // namespace steelyard::language
