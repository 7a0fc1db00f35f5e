// The parser at run time: the packed weights in tables that a feature's key leads to.
//
// The file keeps keys in order as differences and only the cells that are not zero; here they become open-addressed
// tables of 8-byte slots. Keys of all features of a decision are made first and their slots prefetched, so that the
// lookups, which would each wait for memory, wait together. Arcs, which are most of the work, have a table of their own: a
// feature's bucket is half a cache line that is searched without a branch.
#include "parser_model.hpp"

#include <bit>
#include <cstdlib>
#include <stdexcept>

namespace steelyard::language {
namespace {

inline void prefetch(const void* address) {
#if defined(__GNUC__) || defined(__clang__)
  __builtin_prefetch(address);
#else
  (void)address;
#endif
}

constexpr std::size_t kLeastBuckets = 1 << 16;  // so that bucket and upper half of a key say all of it

constexpr std::array<std::int32_t, 256> kWeights = [] {
  std::array<std::int32_t, 256> made{};
  for (int b = 0; b < 256; ++b) made[static_cast<std::size_t>(b)] = weight_of(static_cast<std::int8_t>(b));
  return made;
}();

class Reader {
 public:
  explicit Reader(std::string_view data) : data_(data) {}
  std::uint8_t byte() {
    if (at_ >= data_.size()) throw std::invalid_argument("the parser's model is cut short");
    return static_cast<std::uint8_t>(data_[at_++]);
  }
  std::uint32_t number() {
    std::uint32_t value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
      const std::uint8_t b = byte();
      value |= static_cast<std::uint32_t>(b & 127) << shift;
      if (b < 128) return value;
    }
    throw std::invalid_argument("the parser's model is damaged");
  }
  std::string_view bytes(std::size_t count) {
    if (data_.size() - at_ < count) throw std::invalid_argument("the parser's model is cut short");
    at_ += count;
    return data_.substr(at_ - count, count);
  }

 private:
  std::string_view data_;
  std::size_t at_ = 0;
};

}  // namespace

ParserModel::ParserModel(std::string_view packed) {
  Reader in(packed);
  if (in.bytes(8) != "SYPM0001") throw std::invalid_argument("this is no parser model");
  for (auto* names : {&tags_, &relations_}) {
    const std::uint32_t count = in.number();
    if (count < 2 || count > kMost) throw std::invalid_argument("the parser's model is damaged");
    for (std::uint32_t i = 0; i < count; ++i) names->emplace_back(in.bytes(in.number()));
  }
  const int tags = static_cast<int>(tags_.size());
  classes_[kFirstTag] = classes_[kSecondTag] = tags;
  classes_[kArc] = kMoves;
  classes_[kRelation_] = static_cast<int>(relations_.size());
  is_noun_.assign(tags_.size() + 1, 0);
  is_verb_ = is_noun_;
  for (std::size_t i = 0; i < tags_.size(); ++i) {
    is_noun_[i + 1] = tags_[i].starts_with("NN");
    is_verb_[i + 1] = tags_[i].starts_with("VB") || tags_[i] == "MD";
  }
  for (const auto& name : relations_) rel_.push_back(relation_of(name));
  const std::uint32_t sure = in.number();
  if (sure > packed.size()) throw std::invalid_argument("the parser's model is damaged");
  std::uint32_t word = 0;
  for (std::uint32_t i = 0; i < sure; ++i) {
    word += in.number();
    const std::uint8_t tag = in.byte();
    if (tag >= tags) throw std::invalid_argument("the parser's model is damaged");
    certain_.emplace(word, static_cast<std::uint8_t>(tag + 1));
  }
  for (int kind = 0; kind < kKinds; ++kind) {
    const std::uint32_t count = in.number();
    if (count > packed.size()) throw std::invalid_argument("the parser's model is damaged");
    if (kind == kArc) {
      buckets_.resize(std::max<std::size_t>(kLeastBuckets, std::bit_ceil(static_cast<std::size_t>(count) / 4 + 1)));
      std::uint32_t key = 0;
      for (std::uint32_t i = 0; i < count; ++i) {
        key += in.number();
        const std::uint32_t shift = in.byte(), left = in.byte();
        add_arc(key, static_cast<std::uint16_t>(shift | left << 8));
      }
      continue;
    }
    auto& slots = slots_[kind];
    slots.resize(std::bit_ceil(static_cast<std::size_t>(count) * 3 / 2 + 2));
    const std::size_t mask = slots.size() - 1;
    std::uint32_t key = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      key += in.number();
      std::size_t at = key & mask;
      while (slots[at].at) at = (at + 1) & mask;
      const std::uint8_t used = in.byte();
      if (used == 0 || used > kMost) throw std::invalid_argument("the parser's model is damaged");
      slots[at] = {key, static_cast<std::uint32_t>(cells_[kind].size()) + 1};
      cells_[kind].push_back({used, 0});
      for (int k = 0; k < used; ++k) {
        const std::uint8_t of = in.byte(), weight = in.byte();
        if (of >= classes_[kind]) throw std::invalid_argument("the parser's model is damaged");
        cells_[kind].push_back({of, static_cast<std::int16_t>(kWeights[weight])});
      }
    }
  }
}

// The few rows that find their bucket full take the place of the one with the smallest weights, or none.
void ParserModel::add_arc(std::uint32_t key, std::uint16_t weights) {
  Bucket& bucket = buckets_[key & (buckets_.size() - 1)];
  auto size = [](std::uint16_t both) { return std::abs(kWeights[both & 255]) + std::abs(kWeights[both >> 8]); };
  int least = 0;
  for (int j = 1; j < 8; ++j) {
    if (size(bucket.weights[j]) < size(bucket.weights[least])) least = j;
  }
  if (size(weights) <= size(bucket.weights[least])) return;
  bucket.check[least] = static_cast<std::uint16_t>(key >> 16);
  bucket.weights[least] = weights;
}

void ParserModel::score_arcs(const Features& f, Score* out) const {
  const std::size_t mask = buckets_.size() - 1;
  const auto count = static_cast<std::size_t>(f.count);
  for (std::size_t k = 0; k < count; ++k) prefetch(&buckets_[f.key[k] & mask]);
  Score shift = 0, left = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const Bucket& bucket = buckets_[f.key[k] & mask];
    const auto check = static_cast<std::uint16_t>(f.key[k] >> 16);
    std::uint16_t found = 0;
    for (int j = 0; j < 8; ++j) {
      found = static_cast<std::uint16_t>(found | (bucket.check[j] == check ? bucket.weights[j] : 0));
    }
    shift += kWeights[found & 255];
    left += kWeights[found >> 8];
  }
  out[kShift] += shift;
  out[kLeft] += left;
}

void ParserModel::rows(int kind, const Features& f, Score* out) const {
  if (kind == kArc) return score_arcs(f, out);
  const auto& slots = slots_[kind];
  const std::size_t mask = slots.size() - 1;
  const auto count = static_cast<std::size_t>(f.count);
  for (std::size_t k = 0; k < count; ++k) prefetch(&slots[f.key[k] & mask]);
  const Cell* cells = cells_[kind].data();
  std::array<const Cell*, 96> found;
  std::size_t rows = 0;
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t at = f.key[k] & mask; slots[at].at; at = (at + 1) & mask) {
      if (slots[at].key != f.key[k]) continue;
      found[rows] = cells + (slots[at].at - 1);
      prefetch(found[rows++]);
      break;
    }
  }
  for (std::size_t k = 0; k < rows; ++k) {
    const Cell* row = found[k];
    for (int c = row->of; c > 0; --c) {
      ++row;
      out[row->of] += row->weight;
    }
  }
}

void ParserModel::parse_piece(const std::vector<std::string_view>& words, std::size_t from, std::size_t to,
                              std::vector<Word>& out) const {
  Sentence s;
  s.facts.reserve(to - from);
  s.certain.reserve(to - from);
  for (std::size_t i = from; i < to; ++i) {
    s.facts.push_back(facts_of(words[i]));
    const auto found = certain_.find(s.facts.back().word);
    s.certain.push_back(found == certain_.end() ? 0 : found->second);
  }
  tag_first(*this, s);
  look_ahead(s, is_noun_, is_verb_);
  State t;
  parse_greedily(*this, s, t);
  for (std::size_t i = 0; i < to - from; ++i) {
    const bool root = t.head[i] == kNone;
    const std::int32_t head = root ? 0 : static_cast<std::int32_t>(from) + t.head[i] + 1;
    const std::size_t relation = root ? 0 : static_cast<std::size_t>(t.relation[i] - 1);
    out.push_back({words[from + i], tags_[static_cast<std::size_t>(t.tag[i] - 1)], root ? Rel::root : rel_[relation], head,
                   root ? "root" : std::string_view(relations_[relation])});
  }
}

std::vector<Word> ParserModel::parse(std::string_view text) const {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  std::vector<Word> out;
  out.reserve(words.size());
  for (std::size_t from = 0; from < words.size(); from += kLongest) {
    parse_piece(words, from, std::min(words.size(), from + kLongest), out);
  }
  return out;
}

}  // namespace steelyard::language
