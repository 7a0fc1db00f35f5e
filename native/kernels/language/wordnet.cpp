// WordNet's synsets and the lemmatiser: two tables that are read once and only asked afterwards.
//
// Both follow what the original SPICE uses, quirks included: stems are found by trying endings in a fixed order until
// one gives a word that WordNet has (as METEOR does), and lemmas by the longest ending that the table knows.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "language/language.hpp"

namespace steelyard::language {
namespace {

class WordNetReader {
 public:
  explicit WordNetReader(std::string_view data) : data_(data) {}
  std::uint8_t byte() {
    if (at_ >= data_.size()) throw std::invalid_argument("the WordNet table is cut short");
    return static_cast<std::uint8_t>(data_[at_++]);
  }
  std::uint32_t number() {
    std::uint32_t value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
      const std::uint8_t b = byte();
      value |= static_cast<std::uint32_t>(b & 127) << shift;
      if (b < 128) return value;
    }
    throw std::invalid_argument("the WordNet table holds a number that is too long");
  }
  std::uint32_t fixed() {
    std::uint32_t value = 0;
    for (int shift = 0; shift < 32; shift += 8) value |= static_cast<std::uint32_t>(byte()) << shift;
    return value;
  }
  std::string_view bytes(std::size_t count) {
    if (data_.size() - at_ < count) throw std::invalid_argument("the WordNet table is cut short");
    at_ += count;
    return data_.substr(at_ - count, count);
  }
  void word(std::string& before) {
    const std::size_t shared = byte(), more = byte();
    if (shared > before.size()) throw std::invalid_argument("the WordNet table is damaged");
    before.resize(shared);
    before += bytes(more);
  }

 private:
  std::string_view data_;
  std::size_t at_ = 0;
};

std::uint32_t word_hash(std::string_view word) {
  std::uint32_t h = 2166136261u;
  for (const char c : word) h = (h ^ static_cast<std::uint8_t>(c)) * 16777619u;
  return h ^ (h >> 15);
}

// Endings by hash: one more letter in front.
std::uint64_t grown(std::uint64_t hash, char c) {
  hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x9E3779B97F4A7C15ull;
  return hash ^ (hash >> 29);
}
constexpr std::uint64_t kNoLetters = 0x243F6A8885A308D3ull;

constexpr std::array<std::pair<std::string_view, std::string_view>, 20> kEndings{{
    {"s", ""},    {"ses", "s"}, {"xes", "x"}, {"zes", "z"}, {"ches", "ch"}, {"shes", "sh"}, {"men", "man"},
    {"ies", "y"}, {"s", ""},    {"ies", "y"}, {"es", "e"},  {"es", ""},     {"ed", "e"},    {"ed", ""},
    {"ing", "e"}, {"ing", ""},  {"er", ""},   {"est", ""},  {"er", "e"},    {"est", "e"},
}};

}  // namespace

WordNet::WordNet(std::string_view table) {
  WordNetReader in(table);
  if (in.bytes(8) != "SYWN0001") throw std::invalid_argument("this is not a WordNet table");
  const std::uint32_t lemmas = in.fixed(), exceptions = in.fixed();
  if (lemmas > table.size() || exceptions > table.size()) throw std::invalid_argument("the WordNet table is damaged");
  slots_.resize(std::bit_ceil(std::size_t{lemmas} * 2 + 2));
  text_.reserve(table.size());
  ids_.reserve(table.size() / 8);
  std::string word;
  for (std::uint32_t i = 0; i < lemmas; ++i) {
    in.word(word);
    const std::uint32_t count = in.number();
    if (count > 0xFFFF || word.size() > 255) throw std::invalid_argument("the WordNet table is damaged");
    const Entry entry{word_hash(word),
                      static_cast<std::uint32_t>(text_.size()),
                      static_cast<std::uint32_t>(ids_.size()),
                      static_cast<std::uint16_t>(count),
                      static_cast<std::uint8_t>(word.size()),
                      true};
    text_ += word;
    for (std::uint32_t k = 0; k < count; ++k) ids_.push_back(in.number());
    if (count > 1) std::sort(ids_.end() - static_cast<std::ptrdiff_t>(count), ids_.end());
    std::size_t at = entry.hash & (slots_.size() - 1);
    while (slots_[at].used) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = entry;
  }
  word.clear();
  for (std::uint32_t i = 0; i < exceptions; ++i) {
    in.word(word);
    std::vector<std::string> bases(in.byte());
    for (auto& base : bases) base = in.bytes(in.byte());
    bases_.emplace(word, std::move(bases));
  }
}

std::span<const std::uint32_t> WordNet::synsets(std::string_view word) const {
  const std::uint32_t hash = word_hash(word);
  for (std::size_t at = hash & (slots_.size() - 1); slots_[at].used; at = (at + 1) & (slots_.size() - 1)) {
    const Entry& e = slots_[at];
    if (e.hash == hash && std::string_view(text_).substr(e.start, e.size) == word)
      return std::span(ids_).subspan(e.ids, e.count);
  }
  return {};
}

std::string WordNet::stem(std::string_view word) const {
  std::string_view body = word, end = "";
  if (word.ends_with("ful")) {
    body = word.substr(0, word.rfind('f'));
    end = "ful";
  }
  if (word.ends_with("ss") || word.size() <= 2) return std::string(word);
  for (const auto& [cut, add] : kEndings) {
    if (!body.ends_with(cut)) continue;
    std::string tried(body.substr(0, body.size() - cut.size()));
    tried += add;
    if (!synsets(tried).empty()) return tried.append(end);
  }
  return "";
}

std::vector<std::uint32_t> WordNet::similar(std::string_view word) const {
  std::vector<std::uint32_t> ids;
  auto add = [&](std::string_view form) {
    const auto found = synsets(form);
    ids.insert(ids.end(), found.begin(), found.end());
  };
  add(word);
  if (const auto bases = bases_.find(word); bases != bases_.end()) {
    for (const auto& base : bases->second) add(base);
  } else {
    add(stem(word));
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

void Lemmas::Endings::add(Change change) {
  change.hash = kNoLetters;
  for (std::size_t k = change.ending.size(); k-- > 0;) change.hash = grown(change.hash, change.ending[k]);
  if (2 * ++count > slots.size()) {
    std::vector<Change> old(2 * slots.size());
    old.swap(slots);
    count = 1;
    for (const Change& c : old) {
      if (!c.ending.empty()) add(c);
    }
  }
  std::size_t at = change.hash & (slots.size() - 1);
  while (!slots[at].ending.empty() && slots[at].ending != change.ending) at = (at + 1) & (slots.size() - 1);
  slots[at] = change;
}

// The longest ending of "^word" that is in the table.
const Lemmas::Change* Lemmas::Endings::longest(std::string_view word) const {
  const Change* best = nullptr;
  std::uint64_t hash = kNoLetters;
  for (std::size_t length = 1; length <= word.size() + 1; ++length) {
    const bool all = length > word.size();
    hash = grown(hash, all ? '^' : word[word.size() - length]);
    for (std::size_t at = hash & (slots.size() - 1); !slots[at].ending.empty(); at = (at + 1) & (slots.size() - 1)) {
      const Change& c = slots[at];
      if (c.hash != hash || c.ending.size() != length) continue;
      const bool same = all ? c.ending[0] == '^' && c.ending.substr(1) == word : word.ends_with(c.ending);
      if (same) best = &c;
    }
  }
  return best;
}

Lemmas::Lemmas(std::string_view table) : text_(table) {
  table = text_;
  while (!table.empty()) {
    const std::size_t end = std::min(table.find('\n'), table.size());
    std::string_view line = table.substr(0, end);
    table.remove_prefix(std::min(end + 1, table.size()));
    std::string_view field[4];
    for (auto& f : field) {
      const std::size_t tab = std::min(line.find('\t'), line.size());
      f = line.substr(0, tab);
      line.remove_prefix(std::min(tab + 1, line.size()));
    }
    if (field[0] != "n" && field[0] != "v") throw std::invalid_argument("the table of lemmas is damaged");
    unsigned cut = 0;
    for (char c : field[2]) {
      if (c < '0' || c > '9' || cut > 20) throw std::invalid_argument("the table of lemmas is damaged");
      cut = cut * 10 + static_cast<unsigned>(c - '0');
    }
    if (field[1].empty() && (cut > 0 || !field[3].empty()))
      throw std::invalid_argument("the table of lemmas is damaged");
    if (field[1].empty()) continue;  // what no ending fits stays as it is
    (field[0] == "n" ? nouns_ : verbs_).add({0, field[1], field[3], static_cast<std::uint8_t>(cut)});
  }
}

std::string Lemmas::lemma(std::string_view word, std::string_view tag) const {
  const char kind = tag.empty() ? ' ' : tag[0];
  if (tag == "NNS" || tag == "NNPS" || kind == 'V') {
    if (kind == 'V' && (word == "'s" || word == "s" || word == "'re" || word == "'m")) return "be";
    const Change* found = (kind == 'N' ? nouns_ : verbs_).longest(word);
    if (!found) return std::string(word);
    return std::string(word.substr(0, word.size() - std::min<std::size_t>(word.size(), found->cut))).append(found->add);
  }
  using Pair = std::pair<std::string_view, std::string_view>;
  auto look_up = [&](std::initializer_list<Pair> pairs) {
    for (const auto& [form, base] : pairs) {
      if (form == word) return std::string(base);
    }
    return std::string(word);
  };
  if (tag == "PRP") return look_up({{"them", "they"}, {"him", "he"}, {"her", "she"}, {"us", "we"}, {"me", "i"}});
  if (tag == "PRP$") {
    return look_up({{"his", "he"}, {"their", "they"}, {"her", "she"}, {"our", "we"}, {"your", "you"}, {"my", "i"}});
  }
  if (tag == "DT") return look_up({{"an", "a"}});
  if (tag == "MD") return look_up({{"'d", "would"}, {"'ll", "will"}, {"ca", "can"}, {"wo", "will"}});
  if (tag == "RB") return look_up({{"n't", "not"}});
  return std::string(word);
}

Rel relation_of(std::string_view name) {
  static const TextMap<Rel> names{{"root", Rel::root},
                                  {"acl", Rel::acl},
                                  {"acl:relcl", Rel::acl_relcl},
                                  {"advcl", Rel::advcl},
                                  {"advmod", Rel::advmod},
                                  {"amod", Rel::amod},
                                  {"auxpass", Rel::auxpass},
                                  {"case", Rel::case_},
                                  {"cc", Rel::cc},
                                  {"ccomp", Rel::ccomp},
                                  {"compound", Rel::compound},
                                  {"compound:prt", Rel::compound_prt},
                                  {"conj", Rel::conj},
                                  {"cop", Rel::cop},
                                  {"det", Rel::det},
                                  {"det:qmod", Rel::det_qmod},
                                  {"dobj", Rel::dobj},
                                  {"iobj", Rel::iobj},
                                  {"mark", Rel::mark},
                                  {"mwe", Rel::mwe},
                                  {"nmod", Rel::nmod},
                                  {"nmod:poss", Rel::nmod_poss},
                                  {"nmod:agent", Rel::nmod_agent},
                                  {"nmod:npmod", Rel::nmod_npmod},
                                  {"nmod:tmod", Rel::nmod_tmod},
                                  {"nsubj", Rel::nsubj},
                                  {"nsubjpass", Rel::nsubjpass},
                                  {"nummod", Rel::nummod},
                                  {"csubj", Rel::csubj},
                                  {"csubjpass", Rel::csubjpass},
                                  {"dep", Rel::dep},
                                  {"parataxis", Rel::parataxis},
                                  {"xcomp", Rel::xcomp}};
  const auto found = names.find(name);
  return found == names.end() ? Rel::other : found->second;
}

}  // namespace steelyard::language
