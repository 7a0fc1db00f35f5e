// METEOR 1.5 without its paraphrase tables: words match exactly, by stem or by synonym.
//
// What is aligned follows METEOR 1.5's own alignments, which say more than its papers do. Two words that match each
// other and no other word, by one stage alone, are always aligned. Of the others, a beam over the reference's words
// seeks most exact matches, then fewest chunks, then most weight, then least crossing: so that a stem or a synonym that
// is found in several ways counts where it stands beside another match, and not alone. Words are numbered once, and
// each distinct word is stemmed and looked up in WordNet once.
#include "language/meteor.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "support/pool.hpp"

namespace steelyard::language {
namespace {

constexpr double kAlpha = 0.85, kBeta = 0.2, kGamma = 0.6, kDelta = 0.75;
constexpr int kExact = 10, kStem = 6, kSynonym = 8;  // what matches weigh, in tenths
constexpr std::size_t kBeam = 40;

const std::unordered_set<std::string_view> kFunctionWords{
    "the",  ",",      ".",     "to",   "of",    "and",  "a",     "in",    "that",  "for",   "\"",    "is",    "on",
    "'s",   "it",     "with",  "was",  "as",    "said", "at",    "he",    "by",    "be",    "from",  "have",  "has",
    "are",  "his",    "but",   "an",   "this",  "not",  "i",     "will",  "they",  ")",     "-rrb-", "(",     "-lrb-",
    "who",  "their",  "had",   "we",   "which", "were", "been",  "more",  "or",    "s",     "its",   "would", "about",
    "new",  "one",    "after", "you",  ":",     "also", "up",    "when",  "there", "than",  "$",     "all",   "out",
    "her",  "people", "she",   "year", "two",   "-",    "can",   "if",    "last",  "first", "over",  "other", "into",
    "some", "what",   "so",    "--",   "no",    "time", "years", "could", "?",     "'t",    "'"};

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

bool synonyms(const Known& a, const Known& b) {
  const auto &x = a.synsets, &y = b.synsets;
  for (std::size_t i = 0, j = 0; i < x.size() && j < y.size();) {
    if (x[i] == y[j]) return true;
    x[i] < y[j] ? ++i : ++j;
  }
  return false;
}

int match_weight(const Words& words, std::uint32_t a, std::uint32_t b) {
  if (a == b) return kExact;
  if (words[a].stem == words[b].stem) return kStem;
  return synonyms(words[a], words[b]) ? kSynonym : 0;
}

// An alignment of the reference's first words, as a step behind another one.
struct Step {
  int to;  // the candidate word of the last reference word, or -1
  std::uint32_t before;
  int exact, chunks;
  long weight, distance;
};

bool better(const Step& a, const Step& b) {
  if (a.exact != b.exact) return a.exact > b.exact;
  if (a.chunks != b.chunks) return a.chunks < b.chunks;
  if (a.weight != b.weight) return a.weight > b.weight;
  return a.distance < b.distance;
}

// Candidate words that each reference word matches, the nearest kNearest of them.
class Options {
 public:
  struct Match {
    std::uint32_t at;
    int weight;
  };
  Options(const Words& words, const std::vector<std::uint32_t>& reference, const std::vector<std::uint32_t>& candidate)
      : rivals_(candidate.size()) {
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> places;
    for (std::size_t i = 0; i < candidate.size(); ++i) places[candidate[i]].push_back(static_cast<std::uint32_t>(i));
    std::unordered_map<std::uint32_t, std::uint32_t> times;
    for (const std::uint32_t word : reference) ++times[word];
    for (const auto& [word, count] : times) {
      auto& found = matching_[word];
      for (const auto& [other, at] : places) {
        const int weight = match_weight(words, word, other);
        if (!weight) continue;
        found.twice = found.twice || (weight == kStem && synonyms(words[word], words[other]));
        for (const std::uint32_t i : at) {
          found.all.push_back({i, weight});
          rivals_[i] += count;
        }
      }
      std::sort(found.all.begin(), found.all.end(), [](const Match& a, const Match& b) { return a.at < b.at; });
    }
  }
  std::span<const Match> of(std::uint32_t word, std::size_t j) const {
    const auto& all = matching_.find(word)->second.all;
    std::size_t from = 0, to = all.size();
    while (to - from > kNearest) {  // the farther end goes
      const long before = static_cast<long>(j) - static_cast<long>(all[from].at),
                 behind = static_cast<long>(all[to - 1].at) - static_cast<long>(j);
      if (to - from > 4 * kNearest && before > 0 && behind > 0) {
        const auto near = static_cast<std::size_t>(
            std::partition_point(all.begin(), all.end(), [&](const Match& m) { return m.at < j; }) - all.begin());
        from = near > kNearest ? std::max(from, near - kNearest) : from;
        to = std::min(to, near + kNearest);
      } else if (to - from > 4 * kNearest) {
        before > 0 ? from = to - kNearest : to = from + kNearest;
      } else {
        before > behind ? ++from : --to;
      }
    }
    return std::span(all).subspan(from, to - from);
  }
  // Whether the word matches one candidate word, by one stage, and that one no other.
  bool alone(std::uint32_t word) const {
    const auto& found = matching_.find(word)->second;
    return found.all.size() == 1 && !found.twice && rivals_[found.all[0].at] == 1;
  }

 private:
  static constexpr std::size_t kNearest = 64;
  struct Found {
    std::vector<Match> all;
    bool twice = false;  // a match by stem is one by synonym, too
  };
  std::unordered_map<std::uint32_t, Found> matching_;
  std::vector<std::uint32_t> rivals_;  // how many reference words each candidate word matches
};

// The candidate word of each reference word, or -1. Of the steps to each word the best kBeam are kept, with the
// candidate words that each has taken; the way back is read off in the end, so that a long text costs no more a word
// than a short one but for those bits.
std::vector<int> align(const Options& options, const std::vector<std::uint32_t>& reference, std::size_t candidates,
                       int& chunks) {
  using Bits = std::vector<std::uint64_t>;
  std::vector<std::vector<Step>> steps(reference.size() + 1);
  std::vector<Bits> taken{Bits(candidates / 64 + 1)}, next_taken;
  steps[0] = {{-1, 0, 0, 0, 0, 0}};
  std::vector<Step> next;
  std::vector<std::uint32_t> order;
  for (std::size_t j = 0; j < reference.size(); ++j) {
    next.clear();
    const auto choices = options.of(reference[j], j);
    const bool alone = options.alone(reference[j]);
    for (std::uint32_t k = 0; k < steps[j].size(); ++k) {
      const Step& p = steps[j][k];
      if (!alone) next.push_back({-1, k, p.exact, p.chunks, p.weight, p.distance});
      for (const auto& [at, weight] : choices) {
        if (taken[k][at / 64] >> (at % 64) & 1) continue;
        const bool goes_on = p.to >= 0 && static_cast<std::uint32_t>(p.to) + 1 == at;
        next.push_back({static_cast<int>(at), k, p.exact + (weight == kExact), p.chunks + (goes_on ? 0 : 1),
                        p.weight + weight, p.distance + std::abs(static_cast<long>(j) - static_cast<long>(at))});
      }
    }
    order.resize(next.size());
    for (std::uint32_t k = 0; k < order.size(); ++k) order[k] = k;
    if (next.size() > kBeam) {
      std::partial_sort(order.begin(), order.begin() + kBeam, order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return better(next[a], next[b]) || (!better(next[b], next[a]) && a < b);
      });
      order.resize(kBeam);
    }
    next_taken.resize(order.size());
    steps[j + 1].reserve(order.size());
    for (std::size_t k = 0; k < order.size(); ++k) {
      const Step& step = next[order[k]];
      steps[j + 1].push_back(step);
      next_taken[k] = taken[step.before];
      if (step.to >= 0) next_taken[k][static_cast<std::size_t>(step.to) / 64] |= std::uint64_t{1} << (step.to % 64);
    }
    taken.swap(next_taken);
  }
  std::size_t k = static_cast<std::size_t>(std::min_element(steps.back().begin(), steps.back().end(), better) -
                                           steps.back().begin());
  chunks = steps.back()[k].chunks;
  std::vector<int> to(reference.size());
  for (std::size_t j = reference.size(); j > 0; --j) {
    to[j - 1] = steps[j][k].to;
    k = steps[j][k].before;
  }
  return to;
}

void score_one(const Words& words, const std::vector<std::uint32_t>& candidate,
               const std::vector<std::uint32_t>& reference, double* out) {
  int chunks = 0;
  const std::vector<int> to = align(Options(words, reference, candidate), reference, candidate.size(), chunks);
  auto share = [&](std::uint32_t word) { return words[word].function ? 1 - kDelta : kDelta; };
  double matched_a = 0, matched_b = 0, all_a = 0, all_b = 0, matches = 0;
  for (std::uint32_t w : candidate) all_a += share(w);
  for (std::uint32_t w : reference) all_b += share(w);
  for (std::size_t j = 0; j < reference.size(); ++j) {
    if (to[j] < 0) continue;
    const std::uint32_t other = candidate[static_cast<std::size_t>(to[j])];
    const double weight = match_weight(words, reference[j], other) / 10.0;
    matched_a += weight * share(other);
    matched_b += weight * share(reference[j]);
    ++matches;
  }
  double score = 0;
  if (matches > 0) {
    const double precision = matched_a / all_a, recall = matched_b / all_b;
    const double mean = 1 / ((1 - kAlpha) / precision + kAlpha / recall);
    const bool whole =
        chunks == 1 && candidate.size() == reference.size() && matches == static_cast<double>(candidate.size());
    const double broken = whole ? 0 : chunks / matches;
    score = mean * (1 - kGamma * std::pow(broken, kBeta));
  }
  const double row[kMeteorColumns] = {matched_a, all_a, matched_b, all_b, matches, matches, static_cast<double>(chunks),
                                      score};
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
        if (r == corpus.starts[i] || row[kMeteorColumns - 1] > best[kMeteorColumns - 1])
          std::copy(row, row + kMeteorColumns, best);
      }
    }
  });
}

}  // namespace steelyard::language
