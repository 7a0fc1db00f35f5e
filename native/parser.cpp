// The parser at run time: see parser.hpp for what it computes.
//
// What the first layer takes from a word does not depend on its neighbours, so that it is worked out once for the commonest
// words when the model is read. The two passes of a layer are matrix times vector, word after word; everything else is done
// for all words of a sentence at once.
#include "parser.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "trees.hpp"

namespace steelyard::language {
namespace {

[[noreturn]] void damaged() { throw std::invalid_argument("the parser's model is damaged"); }

class Reader {
 public:
  explicit Reader(std::string_view data) : data_(data) {}
  std::string_view bytes(std::size_t count) {
    if (data_.size() < count) throw std::invalid_argument("the parser's model is cut short");
    const std::string_view read = data_.substr(0, count);
    data_.remove_prefix(count);
    return read;
  }
  std::uint32_t number() {
    std::uint32_t value = 0;
    for (int k = 0; const char c : bytes(4)) value |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(c)) << (8 * k++);
    return value;
  }
  std::size_t size(std::size_t most) {
    const std::uint32_t read = number();
    if (read > most) damaged();
    return read;
  }
  float real() {
    const float value = std::bit_cast<float>(number());
    if (!(value > -1e6f && value < 1e6f)) damaged();
    return value;
  }
  std::vector<float> reals(std::size_t count) {
    std::vector<float> read(count);
    for (float& value : read) value = real();
    return read;
  }
  std::vector<std::int8_t> signed_bytes(std::size_t count) {
    const std::string_view read = bytes(count);
    return {read.begin(), read.end()};
  }
  ByteMatrix matrix(std::size_t rows, std::size_t columns) { return {signed_bytes(rows * columns), rows, columns}; }
  bool at_end() const { return data_.empty(); }

 private:
  std::string_view data_;
};

// The CRC-32 of a text, by which affixes have their places.
class Crc {
 public:
  static std::uint32_t of(std::string_view text) {
    std::uint32_t crc = ~0u;
    for (const char c : text) crc = kTable[(crc ^ static_cast<std::uint8_t>(c)) & 255] ^ (crc >> 8);
    return ~crc;
  }

 private:
  static constexpr std::array<std::uint32_t, 256> kTable = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      made[i] = i;
      for (int k = 0; k < 8; ++k) made[i] = (made[i] >> 1) ^ (made[i] & 1 ? 0xEDB88320u : 0u);
    }
    return made;
  }();
};

std::size_t hash_of(std::string_view word) {
  std::uint64_t h = 1469598103934665603ull;
  for (const char c : word) h = (h ^ static_cast<std::uint8_t>(c)) * 1099511628211ull;
  return static_cast<std::size_t>(h ^ (h >> 29));
}

// Within 0.002 of tanh, by a polynomial, since the net's own steps are coarser.
inline float near_tanh(float x) {
  const float t = x < -3.5f ? -3.5f : x > 3.5f ? 3.5f : x;
  const float s = t * t;
  float p = 1.5339719539e-06f;
  p = p * s - 7.0318099461e-05f;
  p = p * s + 1.3143226970e-03f;
  p = p * s - 1.3051181100e-02f;
  p = p * s + 7.6494149864e-02f;
  p = p * s - 2.9184621572e-01f;
  p = p * s + 9.9051737785e-01f;
  return t * p;
}
inline float near_sigmoid(float x) { return 0.5f + 0.5f * near_tanh(0.5f * x); }

// To the nearest whole number, ties to even, for |x| < 2^22.
inline float nearest(float x) {
  constexpr float kMagic = 12582912.0f;
  return (x + kMagic) - kMagic;
}
inline std::int16_t fixed_point(float x) {  // in 128ths, within 32
  const float v = nearest((x < -31.9f ? -31.9f : x > 31.9f ? 31.9f : x) * 128.0f);
  return static_cast<std::int16_t>(static_cast<std::int32_t>(v));
}

// Beginnings of two to four letters and endings of one to four, with marks, and the kinds of letters: as in
// tools/parser_corpus.py, where the places come from.
template <typename F>
void each_affix(std::string_view word, F place) {
  auto starts_letter = [&](std::size_t i) { return (static_cast<std::uint8_t>(word[i]) & 0xC0) != 0x80; };
  std::string part;
  for (std::size_t letters = 2; letters <= 4; ++letters) {
    std::size_t end = 0, seen = 0;
    while (end < word.size()) {
      if (starts_letter(end) && seen++ == letters) break;
      ++end;
    }
    part.assign("^").append(word.substr(0, end));
    place(Crc::of(part));
  }
  for (std::size_t letters = 1; letters <= 4; ++letters) {
    std::size_t start = word.size();
    for (std::size_t seen = 0; start > 0 && seen < letters;) seen += starts_letter(--start);
    part.assign(word.substr(start)).append("$");
    place(Crc::of(part));
  }
  bool kind[4] = {};
  for (const char c : word) kind[c == '-' ? 0 : c >= 'a' && c <= 'z' ? 1 : c >= '0' && c <= '9' ? 2 : 3] = true;
  part.assign("shape ");
  for (int k = 0; k < 4; ++k) {
    if (kind[k]) part += "-adx"[k];
  }
  place(Crc::of(part));
}

}  // namespace

struct ParserModel::Scratch {
  std::vector<std::int8_t> word, first, second;
  std::vector<float> gates;
  std::vector<const float*> rows;
  std::vector<std::int32_t> sums, arcs, heads;
  std::vector<std::int16_t> sides;
};

ParserModel::ParserModel(std::string_view packed) {
  Reader in(packed);
  if (in.bytes(8) != "SYPN0001") throw std::invalid_argument("this is no parser model");
  for (auto* names : {&tags_, &relations_}) {
    const std::size_t count = in.size(255);
    if (count < 2) damaged();
    for (std::size_t i = 0; i < count; ++i) names->emplace_back(in.bytes(in.size(64)));
  }
  for (const auto& name : relations_) rel_.push_back(relation_of(name));
  root_relation_name_ = static_cast<std::size_t>(std::find(relations_.begin(), relations_.end(), "root") - relations_.begin());
  const std::size_t words = in.size(packed.size());
  text_ = in.bytes(in.size(packed.size()));
  slots_.resize(std::bit_ceil(2 * words + 2));
  for (std::size_t start = 0; ends_.size() < words;) {
    const std::size_t end = std::min(text_.find('\n', start), text_.size());
    if (end <= start) damaged();
    ends_.push_back(static_cast<std::uint32_t>(end));
    std::size_t at = hash_of(std::string_view(text_).substr(start, end - start)) & (slots_.size() - 1);
    while (slots_[at]) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = static_cast<std::int32_t>(ends_.size());
    start = end + 1;
  }
  vectors_ = in.signed_bytes(words * kWord);
  affix_scale_ = in.real();
  affixes_ = in.signed_bytes(kAffixes * kWord);
  unknown_ = in.reals(kWord);
  std::size_t width = kWord;
  for (Layer& layer : layer_) {
    layer.units = in.size(kMostUnits);
    if (layer.units < 16 || layer.units % 16) damaged();
    const std::size_t gates = 3 * layer.units;
    layer.input = in.matrix(2 * gates, width);
    layer.input_scale = in.reals(2 * gates);
    layer.input_bias = in.reals(2 * gates);
    for (std::size_t d = 0; d < 2; ++d) {
      layer.recurrent[d] = in.matrix(gates, layer.units);
      layer.recurrent_scale[d] = in.reals(gates);
      layer.reset_bias[d] = in.reals(layer.units);
    }
    width = 2 * layer.units;
  }
  sides_ = in.matrix(5 * kPart, width);
  side_scale_ = in.reals(5 * kPart);
  side_bias_ = in.reals(5 * kPart);
  for (auto* fixed : {&root_, &root_relation_}) {
    for (auto& value : *fixed) value = fixed_point(in.real());
  }
  for (auto [choice, classes] : {std::pair(&tag_, tags_.size()), std::pair(&relation_, relations_.size())}) {
    choice->weights = in.signed_bytes(classes * kPart);
    choice->scale = in.reals(classes);
    choice->bias = in.reals(classes);
  }
  if (!in.at_end()) damaged();
  const std::size_t gates = 6 * layer_[0].units, common = std::min(words, kAtHand);
  std::vector<std::int32_t> sums(common * gates);
  layer_[0].input.multiply(vectors_.data(), common, sums.data());
  at_hand_.resize(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    at_hand_[i] = static_cast<float>(sums[i]) * layer_[0].input_scale[i % gates] + layer_[0].input_bias[i % gates];
  }
}

// The vector of a word, and its number or -1; that of an unknown word is put together in `made`.
const std::int8_t* ParserModel::vector_of(std::string_view word, std::int8_t* made, std::int32_t& number) const {
  for (std::size_t at = hash_of(word) & (slots_.size() - 1); slots_[at]; at = (at + 1) & (slots_.size() - 1)) {
    const auto k = static_cast<std::size_t>(slots_[at] - 1);
    const std::size_t start = k ? ends_[k - 1] + 1 : 0;
    if (std::string_view(text_).substr(start, ends_[k] - start) != word) continue;
    number = static_cast<std::int32_t>(k);
    return vectors_.data() + k * kWord;
  }
  number = -1;
  std::array<std::int32_t, kWord> sum{};
  each_affix(word, [&](std::uint32_t place) {
    const std::int8_t* row = affixes_.data() + (place % kAffixes) * kWord;
    for (std::size_t c = 0; c < kWord; ++c) sum[c] += row[c];
  });
  for (std::size_t c = 0; c < kWord; ++c) {
    made[c] = static_cast<std::int8_t>(nearest(127.0f * near_tanh(unknown_[c] + affix_scale_ * static_cast<float>(sum[c]))));
  }
  return made;
}

// Both passes of a layer over a sentence, given what its gates take from each word; `out` has both directions of each word.
void ParserModel::read_layer(const Layer& layer, const std::vector<const float*>& gates, std::int8_t* out, Scratch& s) const {
  const std::size_t n = gates.size(), units = layer.units;
  std::array<float, kMostUnits> state;
  std::array<std::int8_t, kMostUnits> bytes;
  s.sums.resize(std::max(s.sums.size(), 3 * units));
  for (std::size_t d = 0; d < 2; ++d) {
    state.fill(0);
    bytes.fill(0);
    const float* scale = layer.recurrent_scale[d].data();
    const float* bias = layer.reset_bias[d].data();
    const std::int32_t* sum = s.sums.data();
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t i = d ? n - 1 - k : k;
      layer.recurrent[d].multiply(bytes.data(), 1, s.sums.data());
      const float* in = gates[i] + d * 3 * units;
      for (std::size_t u = 0; u < units; ++u) {
        const float reset = near_sigmoid(in[u] + static_cast<float>(sum[u]) * scale[u]);
        const float keep = near_sigmoid(in[units + u] + static_cast<float>(sum[units + u]) * scale[units + u]);
        const float past = static_cast<float>(sum[2 * units + u]) * scale[2 * units + u] + bias[u];
        const float fresh = near_tanh(in[2 * units + u] + reset * past);
        state[u] = fresh + keep * (state[u] - fresh);
        bytes[u] = static_cast<std::int8_t>(static_cast<std::int32_t>(nearest(127.0f * state[u])));
      }
      std::copy_n(bytes.data(), units, out + i * 2 * units + d * units);
    }
  }
}

std::size_t ParserModel::Choice::best(const std::int16_t* x, std::size_t without) const {
  std::size_t best = 0;
  float most = -1e30f;
  for (std::size_t c = 0; c < scale.size(); ++c) {
    const std::int8_t* row = weights.data() + c * kPart;
    std::int32_t sum = 0;
    for (std::size_t k = 0; k < kPart; ++k) sum += std::int32_t{row[k]} * x[k];
    const float score = static_cast<float>(sum) * scale[c] + bias[c];
    if (score > most && c != without) most = score, best = c;
  }
  return best;
}

void ParserModel::parse_piece(const std::vector<std::string_view>& words, std::vector<Word>& out) const {
  static thread_local Scratch scratch;
  Scratch& s = scratch;
  const std::size_t n = words.size();

  const std::size_t gates1 = 6 * layer_[0].units, gates2 = 6 * layer_[1].units;
  s.gates.resize(std::max(s.gates.size(), n * std::max(gates1, gates2)));
  s.sums.resize(std::max({s.sums.size(), n * gates2, n * 5 * kPart, gates1}));
  s.word.resize(kWord);
  s.rows.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::int32_t number;
    const std::int8_t* vector = vector_of(words[i], s.word.data(), number);
    if (number >= 0 && static_cast<std::size_t>(number) < kAtHand) {
      s.rows[i] = at_hand_.data() + static_cast<std::size_t>(number) * gates1;
      continue;
    }
    layer_[0].input.multiply(vector, 1, s.sums.data());
    float* row = s.gates.data() + i * gates1;
    for (std::size_t g = 0; g < gates1; ++g) {
      row[g] = static_cast<float>(s.sums[g]) * layer_[0].input_scale[g] + layer_[0].input_bias[g];
    }
    s.rows[i] = row;
  }
  s.first.resize(std::max(s.first.size(), n * 2 * layer_[0].units));
  read_layer(layer_[0], s.rows, s.first.data(), s);

  layer_[1].input.multiply(s.first.data(), n, s.sums.data());
  for (std::size_t i = 0; i < n; ++i) {
    float* row = s.gates.data() + i * gates2;
    const std::int32_t* sum = s.sums.data() + i * gates2;
    for (std::size_t g = 0; g < gates2; ++g) row[g] = static_cast<float>(sum[g]) * layer_[1].input_scale[g] + layer_[1].input_bias[g];
    s.rows[i] = row;
  }
  s.second.resize(std::max(s.second.size(), n * 2 * layer_[1].units));
  read_layer(layer_[1], s.rows, s.second.data(), s);

  // Of each word: as dependent, as head, the relation's two sides, the tag. As head and for the tag, what is below 0 is 0.
  constexpr std::size_t kSides = 5 * kPart;
  sides_.multiply(s.second.data(), n, s.sums.data());
  s.sides.resize(std::max(s.sides.size(), n * kSides));
  for (std::size_t i = 0; i < n; ++i) {
    std::int16_t* side = s.sides.data() + i * kSides;
    for (std::size_t k = 0; k < kSides; ++k) {
      side[k] = fixed_point(static_cast<float>(s.sums[i * kSides + k]) * side_scale_[k] + side_bias_[k]);
    }
    for (std::size_t k = kPart; k < 2 * kPart; ++k) side[k] = std::max<std::int16_t>(side[k], 0);
    for (std::size_t k = 4 * kPart; k < 5 * kPart; ++k) side[k] = std::max<std::int16_t>(side[k], 0);
  }
  s.arcs.resize(std::max(s.arcs.size(), n * (n + 1)));
  for (std::size_t i = 0; i < n; ++i) {
    const std::int16_t* dependent = s.sides.data() + i * kSides;
    for (std::size_t h = 0; h <= n; ++h) {
      const std::int16_t* head = h ? s.sides.data() + (h - 1) * kSides + kPart : root_.data();
      std::int32_t sum = 0;
      for (std::size_t k = 0; k < kPart; ++k) sum += std::int32_t{dependent[k]} * head[k];
      s.arcs[i * (n + 1) + h] = sum;
    }
    s.arcs[i * (n + 1) + i + 1] = -(1 << 30) - (1 << 29);  // no word is its own head
  }
  best_tree(s.arcs.data(), n, s.heads);

  out.clear();
  std::array<std::int16_t, kPart> both;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int16_t* side = s.sides.data() + i * kSides;
    const std::int32_t head = s.heads[i];
    const std::string_view tag = tags_[tag_.best(side + 4 * kPart, tags_.size())];
    if (head == 0) {
      out.push_back({words[i], tag, Rel::root, 0, "root"});
      continue;
    }
    const std::int16_t* of = s.sides.data() + static_cast<std::size_t>(head - 1) * kSides + 3 * kPart;
    for (std::size_t k = 0; k < kPart; ++k) both[k] = static_cast<std::int16_t>(std::max(0, side[2 * kPart + k] + of[k]));
    const std::size_t relation = relation_.best(both.data(), root_relation_name_);
    out.push_back({words[i], tag, rel_[relation], head, relations_[relation]});
  }
}

}  // namespace steelyard::language
