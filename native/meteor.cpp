// METEOR 1.5 without its paraphrase tables: words match exactly, by stem or by synonym.
//
// Of all one-to-one alignments the one with most matches, then fewest chunks, then least crossing is sought by a beam
// over the candidate's words. Words are numbered once, and each distinct word is stemmed and looked up in WordNet once.
#include "meteor.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "pool.hpp"

namespace steelyard::language {
namespace {

constexpr double kAlpha = 0.85, kBeta = 0.2, kGamma = 0.6, kDelta = 0.75;
constexpr double kExact = 1.0, kStem = 0.6, kSynonym = 0.8;
constexpr std::size_t kBeam = 40;

const std::unordered_set<std::string_view> kFunctionWords{
    "the", ",", ".", "to", "of", "and", "a", "in", "that", "for", "\"", "is", "on", "'s", "it", "with", "was", "as", "said",
    "at", "he", "by", "be", "from", "have", "has", "are", "his", "but", "an", "this", "not", "i", "will", "they", ")",
    "-rrb-", "(", "-lrb-", "who", "their", "had", "we", "which", "were", "been", "more", "or", "s", "its", "would", "about",
    "new", "one", "after", "you", ":", "also", "up", "when", "there", "than", "$", "all", "out", "her", "people", "she",
    "year", "two", "-", "can", "if", "last", "first", "over", "other", "into", "some", "what", "so", "--", "no", "time",
    "years", "could", "?", "'t", "'"};

struct Known {
  std::uint32_t stem;
  std::vector<std::uint32_t> synsets;
  bool function;
};

class Words {
 public:
  explicit Words(const WordNet& wordnet) : wordnet_(wordnet) {}
  std::vector<std::uint32_t> read(std::string_view text) {
    std::vector<std::uint32_t> out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      if (end > at) out.push_back(number(text.substr(at, end - at)));
      at = end + 1;
    }
    return out;
  }
  const Known& operator[](std::uint32_t word) const { return known_[word]; }

 private:
  std::uint32_t number(std::string_view word) {
    const auto found = words_.emplace(word, static_cast<std::uint32_t>(known_.size()));
    if (found.second) {
      const auto stem = stems_.emplace(snowball_stem(word), static_cast<std::uint32_t>(stems_.size())).first->second;
      known_.push_back({stem, wordnet_.similar(word), kFunctionWords.contains(word)});
    }
    return found.first->second;
  }
  const WordNet& wordnet_;
  std::unordered_map<std::string_view, std::uint32_t> words_;
  std::unordered_map<std::string, std::uint32_t> stems_;
  std::vector<Known> known_;
};

double match_weight(const Words& words, std::uint32_t a, std::uint32_t b) {
  if (a == b) return kExact;
  if (words[a].stem == words[b].stem) return kStem;
  const auto &x = words[a].synsets, &y = words[b].synsets;
  for (std::size_t i = 0, j = 0; i < x.size() && j < y.size();) {
    if (x[i] == y[j]) return kSynonym;
    x[i] < y[j] ? ++i : ++j;
  }
  return 0;
}

struct Option {
  std::size_t at;
  double weight;
};

struct Partial {
  std::vector<int> to;  // the reference word of each candidate word so far, or -1
  std::vector<char> used;
  int matches = 0, chunks = 0;
  long distance = 0;
};

bool better(const Partial& a, const Partial& b) {
  if (a.matches != b.matches) return a.matches > b.matches;
  if (a.chunks != b.chunks) return a.chunks < b.chunks;
  return a.distance < b.distance;
}

Partial align(const std::vector<std::vector<Option>>& options, std::size_t references) {
  std::vector<Partial> beam(1), next;
  beam[0].used.assign(references, 0);
  for (std::size_t i = 0; i < options.size(); ++i) {
    next.clear();
    for (const Partial& p : beam) {
      next.push_back(p);
      next.back().to.push_back(-1);
      for (const Option& o : options[i]) {
        if (p.used[o.at]) continue;
        next.push_back(p);
        Partial& q = next.back();
        const bool goes_on = i > 0 && p.to.back() >= 0 && static_cast<std::size_t>(p.to.back()) + 1 == o.at;
        q.to.push_back(static_cast<int>(o.at));
        q.used[o.at] = 1;
        ++q.matches;
        q.chunks += goes_on ? 0 : 1;
        q.distance += std::abs(static_cast<long>(i) - static_cast<long>(o.at));
      }
    }
    if (next.size() > kBeam) {
      std::stable_sort(next.begin(), next.end(), better);
      next.resize(kBeam);
    }
    beam.swap(next);
  }
  return *std::min_element(beam.begin(), beam.end(), better);
}

void score_one(const Words& words, const std::vector<std::uint32_t>& candidate, const std::vector<std::uint32_t>& reference,
               double* out) {
  std::vector<std::vector<Option>> options(candidate.size());
  for (std::size_t i = 0; i < candidate.size(); ++i) {
    for (std::size_t j = 0; j < reference.size(); ++j) {
      if (const double w = match_weight(words, candidate[i], reference[j]); w > 0) options[i].push_back({j, w});
    }
  }
  const Partial best = align(options, reference.size());
  auto share = [&](std::uint32_t word) { return words[word].function ? 1 - kDelta : kDelta; };
  double matched_a = 0, matched_b = 0, all_a = 0, all_b = 0;
  for (std::uint32_t w : candidate) all_a += share(w);
  for (std::uint32_t w : reference) all_b += share(w);
  for (std::size_t i = 0; i < candidate.size(); ++i) {
    if (best.to[i] < 0) continue;
    const std::uint32_t other = reference[static_cast<std::size_t>(best.to[i])];
    const double weight = match_weight(words, candidate[i], other);
    matched_a += weight * share(candidate[i]);
    matched_b += weight * share(other);
  }
  const auto matches = static_cast<double>(best.matches);
  const double precision = all_a > 0 ? matched_a / all_a : 0, recall = all_b > 0 ? matched_b / all_b : 0;
  double score = 0;
  if (precision > 0 && recall > 0) {
    const double mean = 1 / ((1 - kAlpha) / precision + kAlpha / recall);
    const bool whole = best.chunks == 1 && candidate.size() == reference.size() && matches == static_cast<double>(candidate.size());
    const double broken = whole ? 0 : best.chunks / matches;
    score = mean * (1 - kGamma * std::pow(broken, kBeta));
  }
  const double row[kMeteorColumns] = {matched_a, all_a, matched_b, all_b, matches, matches, static_cast<double>(best.chunks), score};
  std::copy(row, row + kMeteorColumns, out);
}

}  // namespace

void meteor_counts(const Corpus& corpus, const WordNet& wordnet, std::size_t threads, double* out) {
  Words words(wordnet);
  std::vector<std::vector<std::uint32_t>> candidates, references;
  for (std::string_view text : corpus.candidates) candidates.push_back(words.read(text));
  for (std::string_view text : corpus.references) references.push_back(words.read(text));
  constexpr std::size_t kBlock = 16;
  const std::size_t images = candidates.size();
  parallel_for((images + kBlock - 1) / kBlock, threads, [&](std::size_t block) {
    double row[kMeteorColumns];
    for (std::size_t i = block * kBlock; i < std::min(images, (block + 1) * kBlock); ++i) {
      double* best = out + i * static_cast<std::size_t>(kMeteorColumns);
      for (std::size_t r = corpus.starts[i]; r < corpus.starts[i + 1]; ++r) {
        score_one(words, candidates[i], references[r], row);
        if (r == corpus.starts[i] || row[kMeteorColumns - 1] > best[kMeteorColumns - 1]) std::copy(row, row + kMeteorColumns, best);
      }
    }
  });
}

}  // namespace steelyard::language
