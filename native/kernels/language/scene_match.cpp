// Scene graphs with merged synonyms, and how many tuples of a candidate's graph a reference's graph has.
//
// As the original SPICE does it: a concept is a set of words and a set of synsets; a word joins the node it is most
// similar to; a candidate tuple counts when some reference tuple of the same length is similar in every place
// ("any"), or when a largest one-to-one matching covers it ("one"). Words are interned once for the whole call, so that
// an image costs comparisons of small sorted arrays only.
#include "language/scene_match.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <unordered_map>

#include "support/pool.hpp"

namespace steelyard::language {
namespace {

using Ids = std::vector<std::uint32_t>;

bool share(const Ids& a, const Ids& b) {
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j]) return true;
    a[i] < b[j] ? ++i : ++j;
  }
  return false;
}

void unite(Ids& a, const Ids& b) {
  Ids both;
  both.reserve(a.size() + b.size());
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  a.swap(both);
}

struct Concept {
  Ids words, synsets;
  bool operator==(const Concept&) const = default;
  bool similar(const Concept& o) const { return share(words, o.words) || share(synsets, o.synsets); }
  float similarity(const Concept& o) const {
    if (share(words, o.words)) return 1.0f;
    std::size_t common = 0;
    for (std::size_t i = 0, j = 0; i < synsets.size() && j < o.synsets.size();) {
      if (synsets[i] == o.synsets[j]) {
        ++common, ++i, ++j;
      } else {
        synsets[i] < o.synsets[j] ? ++i : ++j;
      }
    }
    const std::size_t all = synsets.size() + o.synsets.size() - common;
    return all ? static_cast<float>(common) / static_cast<float>(all) : 0.0f;
  }
  void merge(const Concept& o) {
    unite(words, o.words);
    unite(synsets, o.synsets);
  }
};

std::string_view trim(std::string_view text) {
  const std::size_t from = text.find_first_not_of(' ');
  return from == std::string_view::npos ? "" : text.substr(from, text.find_last_not_of(' ') - from + 1);
}

// Every distinct word of the call with its synsets; read only once it is filled.
class Words {
 public:
  Words(const WordNet* wordnet) : wordnet_(wordnet) {}
  void add(std::string_view word) {
    if (number_.contains(word)) return;
    number_.emplace(std::string(word), static_cast<std::uint32_t>(concepts_.size()));
    Concept made{{static_cast<std::uint32_t>(concepts_.size())}, {}};
    if (wordnet_) {
      std::string key(trim(word));
      for (char& c : key) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
        if (c == ' ') c = '_';
      }
      made.synsets = wordnet_->similar(key);
    }
    kind_.push_back(kind_of(word));
    concepts_.push_back(std::move(made));
  }
  const Concept& operator[](std::string_view word) const { return concepts_[number_.find(word)->second]; }
  // Which list of single words an attribute stands in: 0 none, else the category.
  int kind(const Concept& attribute) const { return attribute.words.size() == 1 ? kind_[attribute.words[0]] : 0; }

 private:
  static int kind_of(std::string_view word) {
    static const std::unordered_map<std::string_view, int> lists = [] {
      std::unordered_map<std::string_view, int> made;
      for (auto w : {"black", "brown", "blue", "red", "yellow", "pink", "gray", "grey", "green", "dark", "light",
                     "white", "cream", "orange", "purple", "maroon", "beige", "violet"})
        made[w] = kColor;
      for (auto w : {"one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}) made[w] = kCount;
      for (auto w :
           {"baby",        "beefy",        "big",        "bony",          "boundless",   "brawny",    "broad",
            "bulky",       "chunky",       "colossal",   "compact",       "corpulent",   "cosmic",    "cubby",
            "curvy",       "elfin",        "emaciated",  "endless",       "enormous",    "epic",      "expansive",
            "extensive",   "fat",          "fleshy",     "full-size",     "gargantuan",  "gaunt",     "giant",
            "gigantic",    "grand",        "great",      "heavy",         "hefty",       "huge",      "hulking",
            "illimitable", "immeasurable", "immense",    "infinitesimal", "lanky",       "large",     "lean",
            "life-size",   "limitless",    "little",     "mammoth",       "massive",     "meager",    "measly",
            "microscopic", "mini",         "miniature",  "minuscule",     "minute",      "narrow",    "obese",
            "outsized",    "oversize",     "overweight", "paltry",        "petite",      "pint-size", "plump",
            "pocket-size", "portly",       "pudgy",      "puny",          "rotund",      "scanty",    "scraggy",
            "scrawny",     "short",        "sizable",    "skeletal",      "skimpy",      "skinny",    "slender",
            "slim",        "small",        "squat",      "stocky",        "stout",       "strapping", "sturdy",
            "tall",        "teensy",       "teeny",      "teeny-tiny",    "teeny-weeny", "thick",     "thickset",
            "thin",        "tiny",         "titanic",    "towering",      "trifling",    "trim",      "tubby",
            "undersized",  "underweight",  "unlimited",  "vast",          "wee",         "whopping",  "wide"})
        made[w] = kSize;
      return made;
    }();
    const auto found = lists.find(word);
    return found == lists.end() ? 0 : found->second;
  }

  const WordNet* wordnet_;
  TextMap<std::uint32_t> number_;
  std::vector<Concept> concepts_;
  std::vector<int> kind_;
};

std::string_view without_be(std::string_view relation) {
  return relation.starts_with("be ") ? relation.substr(3) : relation;
}

// Calls `tuple(parts, count)` for each line of a caption's tuples.
template <typename F>
void each_tuple(std::string_view text, F tuple) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    std::array<std::string_view, 3> part;
    std::size_t count = 0;
    for (bool more = true; more && count < 3; ++count) {
      const std::size_t tab = line.find('\t');
      more = tab != std::string_view::npos && count < 2;
      part[count] = more ? line.substr(0, tab) : line;
      if (more) line.remove_prefix(tab + 1);
    }
    if (count == 3) part[1] = without_be(part[1]);
    tuple(part, count);
  }
}

struct GraphEdge {
  std::size_t from, to;
  Concept relation;
};

struct Graph {
  std::vector<Concept> nodes;
  std::vector<std::vector<Concept>> attributes;
  std::vector<GraphEdge> edges;

  std::size_t node(const Concept& c, bool merging) {
    std::size_t best = nodes.size();
    float most = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i] == c) return i;
      const float s = nodes[i].similarity(c);
      if (s > most) most = s, best = i;
    }
    if (merging && best < nodes.size()) {
      nodes[best].merge(c);
      return best;
    }
    nodes.push_back(c);
    attributes.emplace_back();
    return nodes.size() - 1;
  }

  Graph(std::string_view text, const Words& words, bool merging) {
    each_tuple(text, [&](const auto& part, std::size_t count) {
      const std::size_t from = node(words[part[0]], merging);
      if (count == 2) {
        const Concept& c = words[part[1]];
        auto& all = attributes[from];
        if (std::find(all.begin(), all.end(), c) != all.end()) return;
        auto found = all.end();
        if (merging) found = std::find_if(all.begin(), all.end(), [&](const Concept& a) { return a.similar(c); });
        found == all.end() ? all.push_back(c) : found->merge(c);
      } else if (count == 3) {
        const std::size_t to = node(words[part[2]], merging);
        const Concept& c = words[part[1]];
        auto same_ends = [&](const GraphEdge& e) { return e.from == from && e.to == to; };
        for (const GraphEdge& e : edges) {
          if (same_ends(e) && e.relation == c) return;
        }
        for (GraphEdge& e : edges) {
          if (merging && same_ends(e) && e.relation.similar(c)) return e.relation.merge(c);
        }
        edges.push_back({from, to, c});
      }
    });
  }
};

using Flat = std::array<const Concept*, 3>;

struct Listed {
  std::vector<Flat> tuple;
  std::vector<int> kind;  // of each tuple: bits of the categories it belongs to
};

Listed list(const Graph& graph, const Words& words) {
  Listed out;
  auto add = [&](Flat flat, int kinds) {
    out.tuple.push_back(flat);
    out.kind.push_back(kinds | 1 << kAll);
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) add({&graph.nodes[i]}, 1 << kObject);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const Concept& a : graph.attributes[i]) {
      const int special = words.kind(a);
      add({&graph.nodes[i], &a}, 1 << kAttribute | (special ? 1 << special : 0));
    }
  }
  for (const GraphEdge& e : graph.edges) add({&graph.nodes[e.from], &e.relation, &graph.nodes[e.to]}, 1 << kRelation);
  return out;
}

bool similar(const Flat& a, const Flat& b) {
  for (int i = 0; i < 3; ++i) {
    if (!a[i] != !b[i]) return false;
    if (a[i] && !a[i]->similar(*b[i])) return false;
  }
  return true;
}

// Size of a largest one-to-one matching between the candidate and reference tuples that belong to a category.
int largest_matching(const std::vector<std::vector<std::size_t>>& near, const Listed& a, const Listed& b,
                     int category) {
  std::vector<int> taken(b.tuple.size(), -1);
  std::vector<char> seen;
  std::function<bool(std::size_t)> place = [&](std::size_t i) {
    for (std::size_t j : near[i]) {
      if (seen[j] || !(b.kind[j] >> category & 1)) continue;
      seen[j] = 1;
      if (taken[j] < 0 || place(static_cast<std::size_t>(taken[j]))) {
        taken[j] = static_cast<int>(i);
        return true;
      }
    }
    return false;
  };
  int matched = 0;
  for (std::size_t i = 0; i < a.tuple.size(); ++i) {
    if (!(a.kind[i] >> category & 1)) continue;
    seen.assign(b.tuple.size(), 0);
    matched += place(i);
  }
  return matched;
}

}  // namespace

void scene_scores(const WordNet* wordnet, const std::vector<std::string_view>& candidates,
                  const std::vector<std::string_view>& references, std::size_t threads, std::int32_t* out) {
  Words words(wordnet);
  for (const auto* side : {&candidates, &references}) {
    for (std::string_view text : *side) {
      each_tuple(text, [&](const auto& part, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) words.add(part[i]);
      });
    }
  }
  const bool merging = wordnet != nullptr;
  constexpr std::size_t kBlock = 16;
  const std::size_t images = candidates.size();
  parallel_for((images + kBlock - 1) / kBlock, threads, [&](std::size_t block) {
    for (std::size_t image = block * kBlock; image < std::min(images, (block + 1) * kBlock); ++image) {
      const Graph candidate(candidates[image], words, merging), reference(references[image], words, merging);
      const Listed a = list(candidate, words), b = list(reference, words);
      std::vector<std::vector<std::size_t>> near(a.tuple.size());
      for (std::size_t i = 0; i < a.tuple.size(); ++i) {
        for (std::size_t j = 0; j < b.tuple.size(); ++j) {
          if (similar(a.tuple[i], b.tuple[j])) near[i].push_back(j);
        }
      }
      for (int category = 0; category < kCategories; ++category) {
        std::int32_t* row = out + (image * kCategories + static_cast<std::size_t>(category)) * 4;
        for (std::size_t i = 0; i < a.tuple.size(); ++i) {
          if (!(a.kind[i] >> category & 1)) continue;
          ++row[0];
          row[2] +=
              std::any_of(near[i].begin(), near[i].end(), [&](std::size_t j) { return b.kind[j] >> category & 1; });
        }
        for (int kinds : b.kind) row[1] += kinds >> category & 1;
        row[3] = row[2] ? largest_matching(near, a, b, category) : 0;
      }
    }
  });
}

}  // namespace steelyard::language
