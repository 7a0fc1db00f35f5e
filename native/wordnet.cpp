// WordNet's synsets and the lemmatiser: two tables that are read once and only asked afterwards.
//
// Both follow what the original SPICE uses, quirks included: stems are found by trying endings in a fixed order until
// one gives a word that WordNet has (as METEOR does), and lemmas by the longest ending that the table knows.
#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "language.hpp"

namespace steelyard::language {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view data) : data_(data) {}
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

constexpr std::array<std::pair<std::string_view, std::string_view>, 20> kEndings{{
    {"s", ""}, {"ses", "s"}, {"xes", "x"}, {"zes", "z"}, {"ches", "ch"}, {"shes", "sh"}, {"men", "man"},
    {"ies", "y"}, {"s", ""}, {"ies", "y"}, {"es", "e"}, {"es", ""}, {"ed", "e"}, {"ed", ""},
    {"ing", "e"}, {"ing", ""}, {"er", ""}, {"est", ""}, {"er", "e"}, {"est", "e"},
}};

}  // namespace

WordNet::WordNet(std::string_view table) {
  Reader in(table);
  if (in.bytes(8) != "SYWN0001") throw std::invalid_argument("this is no WordNet table");
  const std::uint32_t lemmas = in.fixed(), exceptions = in.fixed();
  if (lemmas > table.size() || exceptions > table.size()) throw std::invalid_argument("the WordNet table is damaged");
  synsets_.reserve(lemmas);
  std::string word;
  for (std::uint32_t i = 0; i < lemmas; ++i) {
    in.word(word);
    const std::uint32_t count = in.number();
    if (count > table.size()) throw std::invalid_argument("the WordNet table is damaged");
    std::vector<std::uint32_t> ids(count);
    for (auto& id : ids) id = in.number();
    std::sort(ids.begin(), ids.end());
    synsets_.emplace(word, std::move(ids));
  }
  word.clear();
  for (std::uint32_t i = 0; i < exceptions; ++i) {
    in.word(word);
    std::vector<std::string> bases(in.byte());
    for (auto& base : bases) base = in.bytes(in.byte());
    bases_.emplace(word, std::move(bases));
  }
}

const std::vector<std::uint32_t>* WordNet::synsets(std::string_view word) const {
  const auto found = synsets_.find(word);
  return found == synsets_.end() ? nullptr : &found->second;
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
    if (tried != body && synsets_.contains(tried)) return tried.append(end);
  }
  return "";
}

std::vector<std::uint32_t> WordNet::similar(std::string_view word) const {
  std::vector<std::uint32_t> ids;
  auto add = [&](std::string_view form) {
    if (const auto* found = synsets(form)) ids.insert(ids.end(), found->begin(), found->end());
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

Lemmas::Lemmas(std::string_view table) {
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
    longest_ = std::max(longest_, field[1].size());
    (field[0] == "n" ? nouns_ : verbs_)
        .insert_or_assign(std::string(field[1]), Change{static_cast<std::uint8_t>(cut), std::string(field[3])});
  }
}

std::string Lemmas::lemma(std::string_view word, std::string_view tag) const {
  const char kind = tag.empty() ? ' ' : tag[0];
  if (tag == "NNS" || tag == "NNPS" || kind == 'V') {
    if (kind == 'V' && (word == "'s" || word == "s" || word == "'re" || word == "'m")) return "be";
    const auto& table = kind == 'N' ? nouns_ : verbs_;
    const std::string marked = "^" + std::string(word);
    for (std::size_t at = marked.size() > longest_ ? marked.size() - longest_ : 0; at <= marked.size(); ++at) {
      const auto found = table.find(std::string_view(marked).substr(at));
      if (found == table.end()) continue;
      const std::size_t kept = word.size() - std::min<std::size_t>(word.size(), found->second.cut);
      return std::string(word.substr(0, kept)) + found->second.add;
    }
    return std::string(word);
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
  static const TextMap<Rel> names{
      {"root", Rel::root}, {"acl", Rel::acl}, {"acl:relcl", Rel::acl_relcl}, {"advcl", Rel::advcl}, {"advmod", Rel::advmod}, {"amod", Rel::amod},
      {"auxpass", Rel::auxpass}, {"case", Rel::case_}, {"cc", Rel::cc}, {"ccomp", Rel::ccomp}, {"compound", Rel::compound},
      {"compound:prt", Rel::compound_prt}, {"conj", Rel::conj}, {"cop", Rel::cop}, {"det", Rel::det},
      {"det:qmod", Rel::det_qmod}, {"dobj", Rel::dobj}, {"iobj", Rel::iobj}, {"mark", Rel::mark}, {"mwe", Rel::mwe},
      {"nmod", Rel::nmod}, {"nmod:poss", Rel::nmod_poss}, {"nmod:agent", Rel::nmod_agent},
      {"nmod:npmod", Rel::nmod_npmod}, {"nmod:tmod", Rel::nmod_tmod}, {"nsubj", Rel::nsubj},
      {"nsubjpass", Rel::nsubjpass}, {"nummod", Rel::nummod}, {"csubj", Rel::csubj}, {"csubjpass", Rel::csubjpass}};
  const auto found = names.find(name);
  return found == names.end() ? Rel::other : found->second;
}

}  // namespace steelyard::language
