// BLEU's counts, ROUGE and CIDEr of captions, in one pass over n-grams that are numbered once.
//
// An n-gram's number is made from the number of its first n - 1 words and the last word, so that equal numbers mean
// equal n-grams, without hashing them away. Numbering is one walk over all texts; after it an image costs a few merges
// of short sorted arrays, and images are independent of each other. CIDEr weighs an n-gram by the number of images
// whose references have it: a fact of the whole corpus, counted in the walk.
#include "language/ngrams.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <unordered_map>

#include "support/pool.hpp"

namespace steelyard::language {
namespace {

constexpr int kOrders = 4;

// Numbers for pairs of numbers.
class Pairs {
 public:
  Pairs() : keys_(1 << 12), values_(1 << 12, kEmpty) {}
  std::uint32_t number(std::uint32_t a, std::uint32_t b) {
    if (count_ * 2 > keys_.size()) grow();
    const std::uint64_t key = static_cast<std::uint64_t>(a) << 32 | b;
    std::size_t at = slot(key, keys_.size());
    for (; values_[at] != kEmpty; at = (at + 1) & (keys_.size() - 1)) {
      if (keys_[at] == key) return values_[at];
    }
    keys_[at] = key;
    return values_[at] = count_++;
  }
  std::size_t size() const { return count_; }

 private:
  static constexpr std::uint32_t kEmpty = 0xFFFFFFFFu;
  static std::size_t slot(std::uint64_t key, std::size_t size) {
    key *= 0x9E3779B97F4A7C15ull;
    return static_cast<std::size_t>(key ^ key >> 32) & (size - 1);
  }
  void grow() {
    std::vector<std::uint64_t> keys(keys_.size() * 2);
    std::vector<std::uint32_t> values(keys.size(), kEmpty);
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (values_[i] == kEmpty) continue;
      std::size_t at = slot(keys_[i], keys.size());
      while (values[at] != kEmpty) at = (at + 1) & (keys.size() - 1);
      keys[at] = keys_[i], values[at] = values_[i];
    }
    keys_.swap(keys), values_.swap(values);
  }
  std::vector<std::uint64_t> keys_;
  std::vector<std::uint32_t> values_;
  std::uint32_t count_ = 0;
};

struct Gram {
  std::uint32_t id, count;
};

struct Text {
  std::vector<std::uint32_t> words;
  std::array<std::vector<Gram>, kOrders> grams;  // sorted by number
};

class Numbering {
 public:
  Text read(std::string_view text) {
    Text out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      if (end > at) {
        const auto next = static_cast<std::uint32_t>(words_.size());
        out.words.push_back(words_.emplace(text.substr(at, end - at), next).first->second);
      }
      at = end + 1;
    }
    std::vector<std::uint32_t> before = out.words, ids;
    for (int n = 0; n < kOrders; ++n) {
      if (n) {
        ids.clear();
        for (std::size_t i = 0; i + static_cast<std::size_t>(n) < out.words.size(); ++i) {
          ids.push_back(pairs_[n - 1].number(before[i], out.words[i + static_cast<std::size_t>(n)]));
        }
        before = ids;
      }
      ids = before;
      std::sort(ids.begin(), ids.end());
      auto& grams = out.grams[static_cast<std::size_t>(n)];
      for (std::uint32_t id : ids) {
        if (grams.empty() || grams.back().id != id) grams.push_back({id, 0});
        ++grams.back().count;
      }
    }
    return out;
  }
  std::size_t size(int n) const { return n == 0 ? words_.size() : pairs_[n - 1].size(); }

 private:
  std::unordered_map<std::string_view, std::uint32_t> words_;
  std::array<Pairs, kOrders - 1> pairs_;
};

std::size_t common_subsequence(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  std::vector<std::uint32_t> row(b.size() + 1, 0);
  for (std::uint32_t word : a) {
    std::uint32_t diagonal = 0;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::uint32_t above = row[j + 1];
      row[j + 1] = word == b[j] ? diagonal + 1 : std::max(above, row[j]);
      diagonal = above;
    }
  }
  return row[b.size()];
}

template <typename F>
void each_common(const std::vector<Gram>& a, const std::vector<Gram>& b, F f) {
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].id == b[j].id) {
      f(i++, j++);
    } else {
      a[i].id < b[j].id ? ++i : ++j;
    }
  }
}

double f_measure(double matched, double guessed, double wanted) {
  if (matched == 0) return 0;  // else there is something on both sides
  const double precision = matched / guessed, recall = matched / wanted;
  return 2 * precision * recall / (precision + recall);
}

class Scorer {
 public:
  Scorer(const Corpus& corpus) : corpus_(corpus) {
    candidates_.reserve(corpus.candidates.size());
    references_.reserve(corpus.references.size());
    for (std::string_view text : corpus.references) references_.push_back(numbering_.read(text));
    for (std::string_view text : corpus.candidates) candidates_.push_back(numbering_.read(text));
    for (int n = 0; n < kOrders; ++n) {
      auto& documents = documents_[static_cast<std::size_t>(n)];
      documents.assign(numbering_.size(n), 0);
      std::vector<std::size_t> last(numbering_.size(n), corpus.candidates.size());
      for (std::size_t image = 0; image < corpus.candidates.size(); ++image) {
        for (std::size_t r = corpus.starts[image]; r < corpus.starts[image + 1]; ++r) {
          for (const Gram& g : references_[r].grams[static_cast<std::size_t>(n)]) {
            if (last[g.id] != image) last[g.id] = image, ++documents[g.id];
          }
        }
      }
      auto& rarity = rarity_[static_cast<std::size_t>(n)];
      const double all = std::log(static_cast<double>(corpus.candidates.size()));
      rarity.resize(documents.size());
      for (std::size_t i = 0; i < documents.size(); ++i) {
        rarity[i] = all - std::log(std::max(1.0, static_cast<double>(documents[i])));
      }
    }
  }

  void score(std::size_t image, double* out) const {
    const Text& c = candidates_[image];
    const std::size_t from = corpus_.starts[image], to = corpus_.starts[image + 1];
    bleu(c, from, to, out);
    rouge(c, from, to, out);
    if (to > from) cider(c, from, to, out);
  }

 private:
  void bleu(const Text& c, std::size_t from, std::size_t to, double* out) const {
    for (std::size_t n = 0; n < kOrders; ++n) {
      std::vector<std::uint32_t> most(c.grams[n].size(), 0);
      for (std::size_t r = from; r < to; ++r) {
        each_common(c.grams[n], references_[r].grams[n], [&](std::size_t i, std::size_t j) {
          most[i] = std::max(most[i], references_[r].grams[n][j].count);
        });
      }
      double matched = 0;
      for (std::size_t i = 0; i < most.size(); ++i) matched += std::min(most[i], c.grams[n][i].count);
      out[kMatched1 + n] = matched;
      out[kGuessed1 + n] = c.words.size() > n ? static_cast<double>(c.words.size() - n) : 0;
    }
    const auto length = static_cast<double>(c.words.size());
    double closest = 0;
    for (std::size_t r = from; r < to; ++r) {
      const auto l = static_cast<double>(references_[r].words.size());
      const double now = std::abs(l - length), best = std::abs(closest - length);
      if (r == from || now < best || (now == best && l < closest)) closest = l;
    }
    out[kLength] = length;
    out[kClosest] = closest;
  }

  void rouge(const Text& c, std::size_t from, std::size_t to, double* out) const {
    double precision = 0, recall = 0;
    const auto length = static_cast<double>(c.words.size());
    for (std::size_t r = from; r < to; ++r) {
      const Text& reference = references_[r];
      const auto wanted = static_cast<double>(reference.words.size());
      const auto common = static_cast<double>(common_subsequence(c.words, reference.words));
      if (length > 0) precision = std::max(precision, common / length);
      if (wanted > 0) recall = std::max(recall, common / wanted);
      out[kRougeLcs] = std::max(out[kRougeLcs], f_measure(common, length, wanted));
      for (std::size_t n = 0; n < 2; ++n) {
        double matched = 0;
        each_common(c.grams[n], reference.grams[n], [&](std::size_t i, std::size_t j) {
          matched += std::min(c.grams[n][i].count, reference.grams[n][j].count);
        });
        auto grams = [&](const Text& t) { return t.words.size() > n ? static_cast<double>(t.words.size() - n) : 0; };
        out[kRouge1 + n] = std::max(out[kRouge1 + n], f_measure(matched, grams(c), grams(reference)));
      }
    }
    constexpr double beta = 1.2;
    if (precision != 0) {  // and so is recall
      out[kRougeL] = (1 + beta * beta) * precision * recall / (recall + beta * beta * precision);
    }
  }

  void cider(const Text& c, std::size_t from, std::size_t to, double* out) const {
    std::array<std::vector<double>, kOrders> mine;
    std::array<double, kOrders> norm{};
    for (std::size_t n = 0; n < kOrders; ++n) norm[n] = weigh(c, n, mine[n]);
    constexpr double sigma = 6.0;
    double with_d = 0, plain = 0;
    std::vector<double> theirs;
    auto bigrams = [](const Text& t) { return t.words.size() > 1 ? static_cast<double>(t.words.size() - 1) : 0; };
    for (std::size_t r = from; r < to; ++r) {
      const Text& reference = references_[r];
      const double delta = bigrams(c) - bigrams(reference);
      const double penalty = std::exp(-(delta * delta) / (2 * sigma * sigma));
      for (std::size_t n = 0; n < kOrders; ++n) {
        const double other = weigh(reference, n, theirs);
        double clipped = 0, product = 0;
        each_common(c.grams[n], reference.grams[n], [&](std::size_t i, std::size_t j) {
          clipped += std::min(mine[n][i], theirs[j]) * theirs[j];
          product += mine[n][i] * theirs[j];
        });
        if (norm[n] != 0 && other != 0) {
          clipped /= norm[n] * other;
          product /= norm[n] * other;
        }
        with_d += clipped * penalty;
        plain += product;
      }
    }
    const double pairs = kOrders * static_cast<double>(to - from);
    out[kCiderD] = 10 * with_d / pairs;
    out[kCider] = 10 * plain / pairs;
  }

  double weigh(const Text& t, std::size_t n, std::vector<double>& weights) const {
    weights.clear();
    double squares = 0;
    for (const Gram& g : t.grams[n]) {
      weights.push_back(g.count * rarity_[n][g.id]);
      squares += weights.back() * weights.back();
    }
    return std::sqrt(squares);
  }

  const Corpus& corpus_;
  Numbering numbering_;
  std::vector<Text> candidates_, references_;
  std::array<std::vector<std::uint32_t>, kOrders> documents_;
  std::array<std::vector<double>, kOrders> rarity_;
};

}  // namespace

void ngram_overlap(const Corpus& corpus, std::size_t threads, double* out) {
  const Scorer scorer(corpus);
  constexpr std::size_t kBlock = 32;
  const std::size_t images = corpus.candidates.size();
  parallel_for((images + kBlock - 1) / kBlock, threads, [&](std::size_t block) {
    for (std::size_t i = block * kBlock; i < std::min(images, (block + 1) * kBlock); ++i) {
      scorer.score(i, out + i * static_cast<std::size_t>(kOverlaps));
    }
  });
}

}  // namespace steelyard::language
