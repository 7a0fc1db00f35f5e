// Trains the tagger and parser of native/parser.hpp; tools/train_parser.py drives it.
//
//   train_parser train GOLD [DEV|-] MODEL [key=value ...]   (silver=FILE, epochs=10, seed=1, size=BYTES, ...)
//   train_parser parse MODEL < tokens > conll
//
// Files hold one word a line (word, tag, head, relation between tabs) and an empty line behind each sentence. Averaged
// perceptrons: the first tagger alone, with folds so that the parser trains on tags as wrong as those it will meet; then
// the parser with a dynamic oracle (Goldberg and Nivre 2013): the move that loses fewest arcs from wherever its own
// mistakes have led it. Silver sentences (analysed by a slower parser) are mixed in, each pass over them once.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <unordered_map>

#include "../native/parser.hpp"

using namespace steelyard::language;

namespace {

// Rows of weights by feature, created when a feature is first updated, with the sums that averaging needs.
class Table {
 public:
  using Score = float;
  explicit Table(int width) : width_(width), keys_(1 << 16), slots_(1 << 16, -1) {}
  const float* find(std::uint32_t key) const {
    const std::size_t mask = keys_.size() - 1;
    for (std::size_t at = key & mask;; at = (at + 1) & mask) {
      if (slots_[at] < 0) return nullptr;
      if (keys_[at] == key) return &weight_[static_cast<std::size_t>(slots_[at]) * static_cast<std::size_t>(width_)];
    }
  }
  // Keeps only the rows with the largest weights, all set to zero again; from then on no row is added.
  void keep(std::size_t most) {
    std::vector<std::pair<float, std::uint32_t>> sized;
    for (const auto& [key, row] : rows()) {
      float low = 0, high = 0;
      for (int c = 0; c < width_; ++c) low = std::min(low, row[c]), high = std::max(high, row[c]);
      sized.emplace_back(high - low, key);
    }
    std::sort(sized.rbegin(), sized.rend());
    if (sized.size() > most) sized.resize(most);
    Table fresh(width_);
    for (const auto& [size, key] : sized) fresh.row_of(key);
    *this = std::move(fresh);
    closed_ = true;
  }
  void update(const Features& f, int right, int wrong, double step, float by = 1.0f) {
    for (int k = 0; k < f.count; ++k) {
      const std::int32_t found = row_of(f.key[static_cast<std::size_t>(k)]);
      if (found < 0) continue;
      const std::size_t row = static_cast<std::size_t>(found) * static_cast<std::size_t>(width_);
      weight_[row + static_cast<std::size_t>(right)] += by;
      weight_[row + static_cast<std::size_t>(wrong)] -= by;
      sum_[row + static_cast<std::size_t>(right)] += by * step;
      sum_[row + static_cast<std::size_t>(wrong)] -= by * step;
    }
  }
  void nudge(const Features& f, int of, float by, double step) {
    for (int k = 0; k < f.count; ++k) {
      const std::int32_t found = row_of(f.key[static_cast<std::size_t>(k)]);
      if (found < 0) continue;
      const std::size_t at = static_cast<std::size_t>(found) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(of);
      weight_[at] += by;
      sum_[at] += by * step;
    }
  }
  void average(double steps) {
    for (std::size_t i = 0; i < weight_.size(); ++i) weight_[i] -= static_cast<float>(sum_[i] / steps);
    sum_.clear();
    sum_.shrink_to_fit();
  }
  void add(const Features& f, float* out) const {
    for (int k = 0; k < f.count; ++k) {
      if (const float* row = find(f.key[static_cast<std::size_t>(k)])) {
        for (int c = 0; c < width_; ++c) out[c] += row[c];
      }
    }
  }
  template <typename F>
  void each_row(F f) {
    for (std::size_t i = 0; i < count_; ++i) f(&weight_[i * static_cast<std::size_t>(width_)]);
  }
  int width() const { return width_; }
  std::vector<std::pair<std::uint32_t, const float*>> rows() const {
    std::vector<std::pair<std::uint32_t, const float*>> all;
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (slots_[i] >= 0) all.emplace_back(keys_[i], &weight_[static_cast<std::size_t>(slots_[i]) * static_cast<std::size_t>(width_)]);
    }
    std::sort(all.begin(), all.end());
    return all;
  }

 private:
  std::int32_t row_of(std::uint32_t key) {
    if (count_ * 2 > keys_.size()) grow();
    const std::size_t mask = keys_.size() - 1;
    for (std::size_t at = key & mask;; at = (at + 1) & mask) {
      if (slots_[at] < 0) {
        if (closed_) return -1;
        keys_[at] = key;
        slots_[at] = static_cast<std::int32_t>(count_++);
        weight_.resize(count_ * static_cast<std::size_t>(width_));
        sum_.resize(weight_.size());
        return slots_[at];
      }
      if (keys_[at] == key) return slots_[at];
    }
  }
  void grow() {
    std::vector<std::uint32_t> keys(keys_.size() * 2);
    std::vector<std::int32_t> slots(keys.size(), -1);
    const std::size_t mask = keys.size() - 1;
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (slots_[i] < 0) continue;
      std::size_t at = keys_[i] & mask;
      while (slots[at] >= 0) at = (at + 1) & mask;
      keys[at] = keys_[i], slots[at] = slots_[i];
    }
    keys_.swap(keys), slots_.swap(slots);
  }
  int width_;
  bool closed_ = false;
  std::size_t count_ = 0;
  std::vector<std::uint32_t> keys_;
  std::vector<std::int32_t> slots_;
  std::vector<float> weight_;
  std::vector<double> sum_;
};

struct Names {
  std::vector<std::string> list;
  std::map<std::string, int> number;
  int of(const std::string& name, bool fixed) {
    const auto found = number.find(name);
    if (found != number.end()) return found->second;
    if (fixed) return 0;
    number[name] = static_cast<int>(list.size());
    list.push_back(name);
    return number[name];
  }
};

struct Example {
  Sentence s;
  std::vector<std::string> words;
  std::vector<std::uint8_t> tag, relation;  // from 0
  std::vector<std::int16_t> head;           // from 0, kNone for the root
  bool projective = true;
};

struct Model {
  using Score = float;
  Names tags, relations;
  std::vector<Table> table;
  std::vector<std::uint8_t> is_noun, is_verb;
  std::map<std::uint32_t, int> certain;  // words of one tag only, with that tag
  void find_certain(std::vector<Example>& all) {
    std::unordered_map<std::uint32_t, std::map<int, int>> seen;
    for (const Example& e : all) {
      for (std::size_t i = 0; i < e.tag.size(); ++i) ++seen[e.s.facts[i].word][e.tag[i]];
    }
    for (const auto& [word, tags] : seen) {
      int total = 0, most = 0, tag = 0;
      for (const auto& [t, c] : tags) {
        total += c;
        if (c > most) most = c, tag = t;
      }
      if (total >= 30 && most >= total * 0.9985) certain[word] = tag;
    }
  }
  void mark(Example& e) const {
    e.s.certain.assign(e.s.facts.size(), 0);
    for (std::size_t i = 0; i < e.s.facts.size(); ++i) {
      const auto found = certain.find(e.s.facts[i].word);
      if (found != certain.end()) e.s.certain[i] = static_cast<std::uint8_t>(1 + found->second);
    }
  }
  void ready() {
    const int t = static_cast<int>(tags.list.size()), r = static_cast<int>(relations.list.size());
    for (int width : {t, t, static_cast<int>(kMoves), r}) table.emplace_back(width);
    is_noun.assign(tags.list.size() + 1, 0);
    is_verb = is_noun;
    for (std::size_t i = 0; i < tags.list.size(); ++i) {
      is_noun[i + 1] = tags.list[i].starts_with("NN");
      is_verb[i + 1] = tags.list[i].starts_with("VB") || tags.list[i] == "MD";
    }
  }
  int classes(int kind) const { return table[static_cast<std::size_t>(kind)].width(); }
  void rows(int kind, const Features& f, float* out) const { table[static_cast<std::size_t>(kind)].add(f, out); }
};

std::vector<Example> read(const std::string& path, Model& model, bool fixed, std::size_t limit = 1u << 30) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::vector<Example> all;
  Example now;
  std::string line;
  auto close = [&] {
    const int n = static_cast<int>(now.words.size());
    if (n > 0 && n <= kLongest) {
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
          auto ends = [&](int k) {
            const int h = now.head[static_cast<std::size_t>(k)];
            return std::pair<int, int>(std::min(k, h), std::max(k, h));
          };
          const auto [a, b] = ends(i);
          const auto [c, d] = ends(j);
          if (a < c && c < b && b < d) now.projective = false;
        }
      }
      all.push_back(std::move(now));
    }
    now = Example();
  };
  while (std::getline(in, line) && all.size() < limit) {
    if (line.empty() || line[0] == '#') {
      if (!now.words.empty() && (line.empty() || line[0] == '#')) close();
      if (line.empty() || line.find('\t') == std::string::npos) continue;
    }
    std::istringstream fields(line);
    std::string word, tag, head, relation;
    std::getline(fields, word, '\t'), std::getline(fields, tag, '\t'), std::getline(fields, head, '\t'), std::getline(fields, relation, '\t');
    now.words.push_back(word);
    now.s.facts.push_back(facts_of(word));
    now.tag.push_back(static_cast<std::uint8_t>(model.tags.of(tag, fixed)));
    now.head.push_back(static_cast<std::int16_t>(std::stoi(head) - 1));
    now.relation.push_back(static_cast<std::uint8_t>(model.relations.of(relation, fixed)));
  }
  close();
  return all;
}

// Arcs of the gold tree that a move makes impossible, in the arc-hybrid system.
std::array<int, kMoves> costs(const State& t, const Example& e) {
  std::array<int, kMoves> cost{};
  const int s0 = t.top(0), s1 = t.top(1), b0 = t.buffer;
  auto head = [&](int i) { return static_cast<int>(e.head[static_cast<std::size_t>(i)]); };
  if (s0 >= 0) {
    int waiting = 0;
    for (int k = b0; k < t.n; ++k) waiting += head(k) == s0;
    const int h = head(s0);
    cost[kLeft] = waiting + (h == s1 || h > b0 || h == kNone);
    cost[kRight] = waiting + (h >= b0 || h == kNone);
  }
  if (b0 < t.n) {
    for (int k = 0; k < t.depth; ++k) {
      const int i = t.stack[static_cast<std::size_t>(k)];
      cost[kShift] += head(i) == b0;
      cost[kShift] += head(b0) == i && i != s0;
    }
    cost[kShift] += head(b0) == kNone && t.depth > 0;
  }
  return cost;
}

struct Trainer {
  Model& model;
  std::mt19937 random;
  double steps[kKinds] = {1, 1, 1, 1};
  float margin = 0;

  void train_first(Example& e) {
    e.s.first_tag.assign(e.s.facts.size(), 0);
    for (int i = 0; i < static_cast<int>(e.s.facts.size()); ++i) {
      if ((e.s.first_tag[static_cast<std::size_t>(i)] = e.s.certain[static_cast<std::size_t>(i)])) continue;
      Features f;
      first_tag_features(e.s, i, f);
      const int guess = learn(kFirstTag, f, e.tag[static_cast<std::size_t>(i)]);
      e.s.first_tag[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(1 + guess);
    }
  }

  int learn(int kind, const Features& f, int right) {
    std::array<float, kMost> score{};
    model.rows(kind, f, score.data());
    const int n = model.classes(kind);
    const int guess = static_cast<int>(std::max_element(score.begin(), score.begin() + n) - score.begin());
    int rival = guess;
    if (guess == right) {
      rival = right == 0 ? 1 : 0;
      for (int c = 0; c < n; ++c) {
        if (c != right && score[static_cast<std::size_t>(c)] > score[static_cast<std::size_t>(rival)]) rival = c;
      }
    }
    if (score[static_cast<std::size_t>(right)] <= score[static_cast<std::size_t>(rival)] + margin && rival != right) {
      model.table[static_cast<std::size_t>(kind)].update(f, right, rival, steps[kind]);
    }
    steps[kind] += 1;
    return guess;
  }

  void train_parse(const Example& e, double explore) {
    State t;
    t.start(e.s);
    const View view{e.s, t};
    std::uniform_real_distribution<double> coin(0, 1);
    while (!t.done()) {
      int move = forced(t);
      if (move < 0) {
        Features f;
        arc_features(view, f);
        std::array<float, kMost> score{};
        model.rows(kArc, f, score.data());
        const auto cost = costs(t, e);
        int guess = -1, least = 1 << 20;
        for (int m = 0; m < kMoves; ++m) {
          if (!t.may(m)) continue;
          least = std::min(least, cost[static_cast<std::size_t>(m)]);
          if (guess < 0 || score[static_cast<std::size_t>(m)] > score[static_cast<std::size_t>(guess)]) guess = m;
        }
        int right = -1, rival = -1;
        for (int m = 0; m < kMoves; ++m) {
          if (!t.may(m)) continue;
          int& best = cost[static_cast<std::size_t>(m)] == least ? right : rival;
          if (best < 0 || score[static_cast<std::size_t>(m)] > score[static_cast<std::size_t>(best)]) best = m;
        }
        if (rival >= 0 && score[static_cast<std::size_t>(right)] <= score[static_cast<std::size_t>(rival)] + margin) {
          model.table[kArc].update(f, right, rival, steps[kArc]);
        }
        steps[kArc] += 1;
        move = coin(random) < explore ? guess : right;
      }
      Features f;
      if (move == kShift) {
        if (const int tag = e.s.certain[static_cast<std::size_t>(t.buffer)]) {
          t.take(kShift, tag);
          continue;
        }
        second_tag_features(view, f);
        t.take(kShift, 1 + learn(kSecondTag, f, e.tag[static_cast<std::size_t>(t.buffer)]));
      } else {
        relation_features(view, move, f);
        const int child = t.top(0), parent = move == kLeft ? t.buffer : t.top(1);
        const bool is_right = e.head[static_cast<std::size_t>(child)] == parent;
        const int relation = is_right ? learn(kRelation_, f, e.relation[static_cast<std::size_t>(child)]) : best_class(model, kRelation_, f);
        t.take(move, 1 + relation);
      }
    }
  }
};

// A sequence of decisions under search: every move with the tag or relation that was settled with it.
struct Step {
  std::uint8_t move, with;  // `with` from 1; 0 where nothing was settled
};
struct Item {
  State t;
  double score = 0;
  std::vector<Step> steps;
  bool gold = true;  // so far the gold sequence
};

// The steps of the gold tree; of several moves that lose nothing the first of left, right, shift.
std::vector<Step> gold_steps(const Example& e) {
  State t;
  t.start(e.s);
  std::vector<Step> steps;
  while (!t.done()) {
    const auto cost = costs(t, e);
    int move = -1;
    for (int m : {kLeft, kRight, kShift}) {
      if (t.may(m) && (m == kShift || t.depth > 0) && cost[static_cast<std::size_t>(m)] == 0 && move < 0) move = m;
    }
    if (move < 0) return {};
    const int sure = move == kShift ? e.s.certain[static_cast<std::size_t>(t.buffer)] : 0;
    const int with = sure ? sure : 1 + (move == kShift ? e.tag[static_cast<std::size_t>(t.buffer)] : e.relation[static_cast<std::size_t>(t.top(0))]);
    steps.push_back({static_cast<std::uint8_t>(move), static_cast<std::uint8_t>(with)});
    t.take(move, with);
  }
  return steps;
}

// All ways to go on from an item that are worth it: for each move the best two tags or relations.
struct Next {
  double score;
  std::size_t from;
  Step step;
};

template <typename M>
void expand(const M& model, const Sentence& s, const Item& item, std::size_t number, std::vector<Next>& out, const Step* gold) {
  const View view{s, item.t};
  std::array<float, kMost> arcs{};
  if (forced(item.t) < 0) {
    Features f;
    arc_features(view, f);
    model.rows(kArc, f, arcs.data());
  }
  for (int m = 0; m < kMoves; ++m) {
    if (!item.t.may(m)) continue;
    if (m == kShift && s.certain[static_cast<std::size_t>(item.t.buffer)]) {
      out.push_back({item.score + arcs[kShift], number, {kShift, s.certain[static_cast<std::size_t>(item.t.buffer)]}});
      continue;
    }
    Features f;
    m == kShift ? second_tag_features(view, f) : relation_features(view, m, f);
    std::array<float, kMost> score{};
    const int kind = m == kShift ? kSecondTag : kRelation_;
    model.rows(kind, f, score.data());
    const int n = model.classes(kind);
    int first = 0;
    for (int c = 1; c < n; ++c) if (score[static_cast<std::size_t>(c)] > score[static_cast<std::size_t>(first)]) first = c;
    int second = first == 0 ? 1 : 0;
    for (int c = 0; c < n; ++c) if (c != first && score[static_cast<std::size_t>(c)] > score[static_cast<std::size_t>(second)]) second = c;
    const double base = item.score + arcs[static_cast<std::size_t>(m)];
    auto offer = [&](int c) {
      out.push_back({base + score[static_cast<std::size_t>(c)], number, {static_cast<std::uint8_t>(m), static_cast<std::uint8_t>(c + 1)}});
    };
    offer(first), offer(second);
    if (gold && gold->move == m && gold->with != first + 1 && gold->with != second + 1) offer(gold->with - 1);
  }
}

template <typename M>
std::vector<Item> search(const M& model, const Sentence& s, std::size_t width) {
  std::vector<Item> beam(1), next;
  beam[0].t.start(s);
  std::vector<Next> ways;
  for (std::size_t k = 0; k < 2 * s.facts.size() - 1; ++k) {
    ways.clear();
    for (std::size_t i = 0; i < beam.size(); ++i) expand(model, s, beam[i], i, ways, nullptr);
    const std::size_t kept = std::min(width, ways.size());
    std::partial_sort(ways.begin(), ways.begin() + static_cast<long>(kept), ways.end(), [](const Next& a, const Next& b) { return a.score > b.score; });
    next.clear();
    for (std::size_t i = 0; i < kept; ++i) {
      next.push_back(beam[ways[i].from]);
      next.back().score = ways[i].score;
      next.back().t.take(ways[i].step.move, ways[i].step.with);
    }
    beam.swap(next);
  }
  return beam;
}

struct BeamTrainer {
  Model& model;
  double steps = 1;

  void replay(const Example& e, const std::vector<Step>& sequence, std::size_t count, float by) {
    State t;
    t.start(e.s);
    const View view{e.s, t};
    for (std::size_t k = 0; k < count; ++k) {
      const Step step = sequence[k];
      if (forced(t) < 0) {
        Features f;
        arc_features(view, f);
        model.table[kArc].nudge(f, step.move, by, steps);
      }
      if (step.move == kShift && e.s.certain[static_cast<std::size_t>(t.buffer)]) {
        t.take(step.move, step.with);
        continue;
      }
      Features f;
      step.move == kShift ? second_tag_features(view, f) : relation_features(view, step.move, f);
      model.table[step.move == kShift ? kSecondTag : kRelation_].nudge(f, step.with - 1, by, steps);
      t.take(step.move, step.with);
    }
  }

  // Max violation: update where the best of the beam is furthest ahead of the gold sequence.
  void train(const Example& e, std::size_t width) {
    const std::vector<Step> gold = gold_steps(e);
    steps += 1;
    if (gold.empty()) return;
    std::vector<Item> beam(1), next;
    beam[0].t.start(e.s);
    Item truth = beam[0];
    std::vector<Next> ways;
    double worst = 0;
    std::size_t at = 0;
    std::vector<Step> rival;
    for (std::size_t k = 0; k < gold.size(); ++k) {
      ways.clear();
      expand(model, e.s, truth, 0, ways, &gold[k]);
      for (const Next& w : ways) {
        if (w.step.move == gold[k].move && w.step.with == gold[k].with) truth.score = w.score;
      }
      truth.t.take(gold[k].move, gold[k].with);
      ways.clear();
      for (std::size_t i = 0; i < beam.size(); ++i) expand(model, e.s, beam[i], i, ways, nullptr);
      const std::size_t kept = std::min(width, ways.size());
      std::partial_sort(ways.begin(), ways.begin() + static_cast<long>(kept), ways.end(), [](const Next& a, const Next& b) { return a.score > b.score; });
      next.clear();
      for (std::size_t i = 0; i < kept; ++i) {
        next.push_back(beam[ways[i].from]);
        Item& item = next.back();
        item.gold = item.gold && ways[i].step.move == gold[k].move && ways[i].step.with == gold[k].with;
        item.score = ways[i].score;
        item.steps.push_back(ways[i].step);
        item.t.take(ways[i].step.move, ways[i].step.with);
      }
      beam.swap(next);
      const double ahead = beam[0].score - truth.score;
      if (!beam[0].gold && ahead >= worst) worst = ahead, at = k + 1, rival = beam[0].steps;
      if (std::none_of(beam.begin(), beam.end(), [](const Item& i) { return i.gold; }) && ahead > 200) break;
    }
    if (at) {
      replay(e, gold, at, 1.0f);
      replay(e, rival, at, -1.0f);
    }
  }
};

struct Result {
  double words = 0, first = 0, second = 0, heads = 0, labelled = 0, whole = 0, sentences = 0;
};

template <typename M>
Result measure(const M& model, std::vector<Example>& dev, std::size_t width) {
  Result r;
  for (Example& e : dev) {
    tag_first(model, e.s);
    look_ahead(e.s, model.is_noun, model.is_verb);
    State t;
    if (width > 1) {
      t = search(model, e.s, width)[0].t;
    } else {
      parse_greedily(model, e.s, t);
    }
    bool all = true;
    for (int i = 0; i < t.n; ++i) {
      const auto k = static_cast<std::size_t>(i);
      r.words += 1;
      r.first += e.s.first_tag[k] == e.tag[k] + 1;
      r.second += t.tag[k] == e.tag[k] + 1;
      const bool head = t.head[k] == e.head[k];
      const bool label = e.head[k] == kNone || t.relation[k] == e.relation[k] + 1;
      r.heads += head;
      r.labelled += head && label;
      all = all && head && label && t.tag[k] == e.tag[k] + 1;
    }
    r.whole += all;
    r.sentences += 1;
  }
  return r;
}

void print(const char* what, const Result& r) {
  std::fprintf(stderr, "%s: tags %.4f then %.4f, heads %.4f, labelled %.4f, whole %.4f\n", what, r.first / r.words, r.second / r.words,
               r.heads / r.words, r.labelled / r.words, r.whole / r.sentences);
}

void put(std::string& out, std::uint32_t number) {
  while (number >= 128) out += static_cast<char>((number & 127) | 128), number >>= 7;
  out += static_cast<char>(number);
}

// The byte whose weight is nearest, in fine steps.
int byte_of(float weight, float step) {
  const float size = std::abs(weight) / step;
  int best = 0;
  for (int b = 1; b <= 127; ++b) {
    if (std::abs(static_cast<float>(weight_of(b)) / 16 - size) < std::abs(static_cast<float>(weight_of(best)) / 16 - size)) best = b;
  }
  return weight < 0 ? -best : best;
}

// Rounds the weights to bytes and sets what is too small to zero, so that what is measured is what is shipped. Only
// differences between classes matter: an arc's row is moved so that the right arc has weight zero.
void squeeze(Model& model, const std::array<float, kKinds>& step, const std::array<float, kKinds>& least) {
  for (int kind = 0; kind < kKinds; ++kind) {
    const auto k = static_cast<std::size_t>(kind);
    const int width = model.classes(kind);
    model.table[k].each_row([&](float* row) {
      if (kind == kArc) {
        for (int m = 0; m < kMoves; ++m) row[m] -= m == kRight ? 0 : row[kRight];
        row[kRight] = 0;
      }
      float largest = 0;
      for (int c = 0; c < width; ++c) largest = std::max(largest, std::abs(row[c]));
      for (int c = 0; c < width; ++c) {
        const bool small = kind != kArc && std::abs(row[c]) < least[k] / 2;
        row[c] = small || largest < least[k] ? 0 : static_cast<float>(weight_of(byte_of(row[c], step[k]))) / 16 * step[k];
      }
    });
  }
}

std::string pack(const Model& model, const std::array<float, kKinds>& step) {
  std::string out = "SYPM0001";
  for (const auto* names : {&model.tags.list, &model.relations.list}) {
    put(out, static_cast<std::uint32_t>(names->size()));
    for (const auto& name : *names) put(out, static_cast<std::uint32_t>(name.size())), out += name;
  }
  put(out, static_cast<std::uint32_t>(model.certain.size()));
  std::uint32_t last = 0;
  for (const auto& [word, tag] : model.certain) {
    put(out, word - last);
    out += static_cast<char>(tag);
    last = word;
  }
  for (int kind = 0; kind < kKinds; ++kind) {
    std::string rows;
    std::uint32_t count = 0, before = 0;
    const int width = model.classes(kind);
    for (const auto& [key, weight] : model.table[static_cast<std::size_t>(kind)].rows()) {
      std::string cells;
      int used = 0;
      auto byte = [&](int c) { return static_cast<char>(byte_of(weight[c], step[static_cast<std::size_t>(kind)])); };
      for (int c = 0; c < width; ++c) {
        if (byte(c) == 0) continue;
        cells += static_cast<char>(c);
        cells += byte(c);
        ++used;
      }
      if (!used) continue;
      put(rows, key - before);
      before = key;
      if (kind == kArc) {
        rows += byte(kShift), rows += byte(kLeft);
      } else {
        rows += static_cast<char>(used);
        rows += cells;
      }
      ++count;
    }
    put(out, count);
    out += rows;
    std::fprintf(stderr, "kind %d: %u rows, %zu bytes\n", kind, count, rows.size());
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5 || std::string(argv[1]) != "train") {
    std::fprintf(stderr, "usage: train_parser train GOLD DEV MODEL [key=value ...]\n");
    return 2;
  }
  std::map<std::string, std::string> option{{"epochs", "8"}, {"seed", "1"}, {"margin", "0"}, {"explore", "0.9"}, {"silver", ""},
                                            {"folds", "4"}, {"passes", "5"}, {"first", "60000"},
                                            {"second", "60000"}, {"arc", "450000"}, {"relation", "60000"}, {"limit", "1000000000"}, {"beam", "1"}, {"scout", "0"}, {"least", "0.25"},
                                            {"analyse", ""}};
  for (int i = 5; i < argc; ++i) {
    const std::string text = argv[i];
    option[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
  }
  const int epochs = std::stoi(option["epochs"]), folds = std::stoi(option["folds"]), passes = std::stoi(option["passes"]);
  Model model;
  std::vector<Example> gold = read(argv[2], model, false);
  std::vector<Example> dev, silver;
  if (std::string(argv[3]) != "-") dev = read(argv[3], model, true);
  if (!option["silver"].empty()) silver = read(option["silver"], model, true, std::stoul(option["limit"]));
  model.ready();
  model.find_certain(gold);
  for (auto* part : {&gold, &dev, &silver}) {
    for (auto& e : *part) model.mark(e);
  }
  const auto seed = static_cast<std::mt19937::result_type>(std::stoi(option["seed"]));
  const float margin = std::stof(option["margin"]);
  std::mt19937 random(seed);
  std::fprintf(stderr, "%zu gold, %zu silver, %zu dev\n", gold.size(), silver.size(), dev.size());

  // First tags of the training sentences, each by a tagger that has not seen it.
  std::vector<std::size_t> order(gold.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::vector<std::vector<std::uint8_t>> folded(gold.size());
  for (int fold = 0; fold < folds; ++fold) {
    Model part;
    part.tags = model.tags, part.relations = model.relations, part.certain = model.certain;
    part.ready();
    Trainer trainer{part, random};
    trainer.margin = margin;
    for (int pass = 0; pass < passes; ++pass) {
      std::shuffle(order.begin(), order.end(), random);
      for (std::size_t i : order) {
        if (static_cast<int>(i % static_cast<std::size_t>(folds)) != fold) trainer.train_first(gold[i]);
      }
    }
    part.table[kFirstTag].average(trainer.steps[kFirstTag]);
    for (std::size_t i = static_cast<std::size_t>(fold); i < gold.size(); i += static_cast<std::size_t>(folds)) {
      tag_first(part, gold[i].s);
      folded[i] = gold[i].s.first_tag;
    }
  }
  const auto width = static_cast<std::size_t>(std::stoul(option["beam"]));
  const double explore = std::stod(option["explore"]);
  std::vector<Example*> items;
  for (auto* part : {&gold, &silver}) {
    for (auto& e : *part) items.push_back(&e);
  }
  Trainer trainer{model, random};
  BeamTrainer beam_trainer{model};
  auto train_tags = [&](int count) {
    for (int pass = 0; pass < count; ++pass) {
      std::shuffle(items.begin(), items.end(), random);
      for (Example* e : items) trainer.train_first(*e);
    }
    model.table[kFirstTag].average(trainer.steps[kFirstTag]);
    for (auto& e : silver) tag_first(model, e.s);
    for (std::size_t i = 0; i < gold.size(); ++i) gold[i].s.first_tag = folded[i];
    for (Example* e : items) look_ahead(e->s, model.is_noun, model.is_verb);
  };
  auto train_parser = [&](int count) {
    for (int epoch = 0; epoch < count; ++epoch) {
      std::shuffle(items.begin(), items.end(), random);
      const auto begun = std::clock();
      for (const Example* e : items) {
        if (!e->projective) continue;
        width > 1 ? beam_trainer.train(*e, width) : trainer.train_parse(*e, epoch == 0 ? 0.0 : explore);
      }
      std::fprintf(stderr, "epoch %d: %.1f s\n", epoch + 1, static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC);
    }
  };
  const char* names[] = {"first", "second", "arc", "relation"};
  const int scout = std::stoi(option["scout"]);  // passes that only find out which features are worth their place
  if (scout > 0) {
    trainer.margin = 0;
    train_tags(scout);
    train_parser(scout);
    for (int kind = 0; kind < kKinds; ++kind) {
      if (kind != kFirstTag) model.table[static_cast<std::size_t>(kind)].average(trainer.steps[kind]);
      model.table[static_cast<std::size_t>(kind)].keep(std::stoul(option[names[kind]]));
      trainer.steps[kind] = 1;
    }
  }
  trainer.margin = margin;
  train_tags(passes);
  train_parser(epochs);
  for (int kind : {kSecondTag, kArc, kRelation_}) {
    model.table[static_cast<std::size_t>(kind)].average(width > 1 ? beam_trainer.steps : trainer.steps[kind]);
  }
  if (!dev.empty()) print("dev", measure(model, dev, width));

  if (!option["analyse"].empty()) {  // lines "TOKENS" of a file, analysed into MODEL as CoNLL instead of a model
    std::ifstream in(option["analyse"]);
    std::ofstream out(argv[4]);
    std::string line;
    while (std::getline(in, line)) {
      Example e;
      std::istringstream fields(line);
      for (std::string word; fields >> word;) e.words.push_back(word), e.s.facts.push_back(facts_of(word));
      if (e.words.empty() || e.words.size() > kLongest) continue;
      model.mark(e);
      tag_first(model, e.s);
      look_ahead(e.s, model.is_noun, model.is_verb);
      const State t = search(model, e.s, width)[0].t;
      for (std::size_t i = 0; i < e.words.size(); ++i) {
        out << e.words[i] << '\t' << model.tags.list[t.tag[i] - 1u] << '\t' << t.head[i] + 1 << '\t'
            << (t.head[i] == kNone ? "root" : model.relations.list[t.relation[i] - 1u]) << '\n';
      }
      out << '\n';
    }
    return 0;
  }

  // One unit of rounding and one least weight for each kind: the larger, the smaller the file.
  std::array<float, kKinds> step{}, least{};
  for (int kind = 0; kind < kKinds; ++kind) {
    std::vector<float> sizes;
    for (const auto& [key, row] : model.table[static_cast<std::size_t>(kind)].rows()) {
      float largest = 0;
      for (int c = 0; c < model.classes(kind); ++c) largest = std::max(largest, std::abs(row[c] - (kind == kArc ? row[kRight] : 0)));
      sizes.push_back(largest);
    }
    std::sort(sizes.rbegin(), sizes.rend());
    const auto rows = std::min(sizes.size() - 1, static_cast<std::size_t>(std::stoul(option[names[kind]])));
    step[static_cast<std::size_t>(kind)] = sizes[0] * 16 / static_cast<float>(weight_of(127));
    least[static_cast<std::size_t>(kind)] = std::max(sizes[rows], std::stof(option["least"]));
    std::fprintf(stderr, "%s: %zu rows, step %.4f, least %.4f\n", names[kind], sizes.size(), step[static_cast<std::size_t>(kind)], least[static_cast<std::size_t>(kind)]);
  }
  squeeze(model, step, least);
  if (!dev.empty()) print("dev, squeezed", measure(model, dev, 1));
  const std::string packed = pack(model, step);
  std::ofstream(argv[4], std::ios::binary) << packed;
  std::fprintf(stderr, "%zu bytes\n", packed.size());
  return 0;
}
