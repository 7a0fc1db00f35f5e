// The parser at run time: see parser.hpp for what it computes.
//
// What the first layer takes from a word does not depend on its neighbours, so that it is worked out once for the commonest
// words when the model is read. The two passes of a layer are matrix times vector, word after word; everything else is done
// for all words of a sentence at once.
#include "parser.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "trees.hpp"

#if defined(__GNUC__)
#define STEELYARD_RESTRICT __restrict
#define STEELYARD_INLINE inline __attribute__((always_inline))
#elif defined(_MSC_VER)
#define STEELYARD_RESTRICT __restrict
#define STEELYARD_INLINE __forceinline
#else
#define STEELYARD_RESTRICT
#define STEELYARD_INLINE inline
#endif

namespace steelyard::language {
namespace {

constexpr std::size_t kMostUnits = 128;

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
  // Real numbers within a bound, so that what is computed from them stays within the range of whole numbers.
  float real(float most) {
    const float value = std::bit_cast<float>(number());
    if (!(value >= -most && value <= most)) damaged();
    return value;
  }
  std::vector<float> reals(std::size_t count, float most) {
    std::vector<float> read(count);
    for (float& value : read) value = real(most);
    return read;
  }
  std::vector<float> biases(std::size_t count) { return reals(count, kMostValue); }
  // What the sums of `columns` products of bytes are multiplied by.
  std::vector<float> scales(std::size_t count, std::size_t columns) {
    return reals(count, kMostValue / (127.0f * 127.0f * static_cast<float>(columns)));
  }
  std::vector<std::int8_t> signed_bytes(std::size_t count) {
    const std::string_view read = bytes(count);
    return {read.begin(), read.end()};
  }
  ByteMatrix matrix(std::size_t rows, std::size_t columns) { return {signed_bytes(rows * columns), rows, columns}; }
  bool at_end() const { return data_.empty(); }
  static constexpr float kMostValue = 1e4f;

 private:
  std::string_view data_;
};

// The CRC-32 of a text, by which affixes have their places.
class Crc {
 public:
  explicit Crc(std::string_view text) { and_then(text); }
  Crc& and_then(std::string_view text) {
    for (const char c : text) crc_ = kTable[(crc_ ^ static_cast<std::uint8_t>(c)) & 255] ^ (crc_ >> 8);
    return *this;
  }
  std::uint32_t value() const { return ~crc_; }

 private:
  static constexpr std::array<std::uint32_t, 256> kTable = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      made[i] = i;
      for (int k = 0; k < 8; ++k) made[i] = (made[i] >> 1) ^ (made[i] & 1 ? 0xEDB88320u : 0u);
    }
    return made;
  }();
  std::uint32_t crc_ = ~0u;
};

std::size_t hash_of(std::string_view word) {
  std::uint64_t h = 1469598103934665603ull;
  for (const char c : word) h = (h ^ static_cast<std::uint8_t>(c)) * 1099511628211ull;
  return static_cast<std::size_t>(h ^ (h >> 29));
}

// Twice x, or twice the nearest of -most and most: without a comparison, so that compilers make vectors of it.
STEELYARD_INLINE float twice_within(float x, float most) { return std::fabs(x + most) - std::fabs(x - most); }

// Within 0.003 of tanh and within 0.0015 of the logistic function, by polynomials: what the net rounds to is coarser. Fused
// steps are asked for by name: they are the same everywhere.
STEELYARD_INLINE float near_tanh(float x) {
  const float t = twice_within(x, 2.75f), s = std::fabs(t);
  float p = 8.599696799e-04f;
  p = std::fma(p, s, -1.649824634e-03f);
  p = std::fma(p, s, -8.281335415e-02f);
  p = std::fma(p, s, 5.439010992e-01f);
  return t * p;
}
STEELYARD_INLINE float near_sigmoid(float x) {
  const float t = twice_within(x, 5.5f), s = std::fabs(t);
  float p = 2.687405250e-05f;
  p = std::fma(p, s, -1.031140396e-04f);
  p = std::fma(p, s, -1.035166927e-02f);
  p = std::fma(p, s, 1.359752748e-01f);
  return std::fma(t, p, 0.5f);
}

// To the nearest whole number, ties to even, for |x| < 2^22.
STEELYARD_INLINE float nearest(float x) {
  constexpr float kMagic = 12582912.0f;
  return (x + kMagic) - kMagic;
}
inline std::int16_t fixed_point(float x) {  // in 128ths, within 32
  return static_cast<std::int16_t>(static_cast<std::int32_t>(nearest(64.0f * twice_within(x, 31.9f))));
}

// One step of gated recurrent units: their new state, from what they take from the word (`in`: reset, keep, fresh, one after
// the other) and from their past (`sum`). A loop over values that do not touch each other, which compilers make vectors of.
STEELYARD_INLINE void step_loop(std::size_t units, const float* STEELYARD_RESTRICT in, const std::int32_t* STEELYARD_RESTRICT sum,
                                const float* STEELYARD_RESTRICT scale, const float* STEELYARD_RESTRICT bias,
                                float* STEELYARD_RESTRICT state, std::int8_t* STEELYARD_RESTRICT bytes) {
  // Short loops, so that many rounds of each are under way at once.
  std::array<float, 2 * kMostUnits> gate;  // reset, then keep
  for (std::size_t u = 0; u < 2 * units; ++u) gate[u] = near_sigmoid(std::fma(static_cast<float>(sum[u]), scale[u], in[u]));
  for (std::size_t u = 0; u < units; ++u) {
    const float past = std::fma(static_cast<float>(sum[2 * units + u]), scale[2 * units + u], bias[u]);
    const float fresh = near_tanh(std::fma(gate[u], past, in[2 * units + u]));
    state[u] = std::fma(gate[units + u], state[u] - fresh, fresh);
  }
  for (std::size_t u = 0; u < units; ++u) bytes[u] = static_cast<std::int8_t>(static_cast<std::int32_t>(nearest(127.0f * state[u])));
}
#if defined(__x86_64__) && defined(__GNUC__)
#define STEELYARD_FUSED __attribute__((target("avx2,fma")))
STEELYARD_FUSED void fused_step(std::size_t units, const float* in, const std::int32_t* sum, const float* scale, const float* bias,
                                float* state, std::int8_t* bytes) {
  step_loop(units, in, sum, scale, bias, state, bytes);
}
#endif
void step(std::size_t units, const float* in, const std::int32_t* sum, const float* scale, const float* bias, float* state,
          std::int8_t* bytes) {
#if defined(STEELYARD_FUSED)
  static const bool fused = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (fused) return fused_step(units, in, sum, scale, bias, state, bytes);
#endif
  step_loop(units, in, sum, scale, bias, state, bytes);
}

// Sums of products as real numbers.
void rescale(std::size_t count, const std::int32_t* STEELYARD_RESTRICT sum, const float* STEELYARD_RESTRICT scale,
             const float* STEELYARD_RESTRICT bias, float* STEELYARD_RESTRICT out) {
  for (std::size_t k = 0; k < count; ++k) out[k] = static_cast<float>(sum[k]) * scale[k] + bias[k];
}

void to_fixed_point(std::size_t count, const std::int32_t* STEELYARD_RESTRICT sum, const float* STEELYARD_RESTRICT scale,
                    const float* STEELYARD_RESTRICT bias, std::int16_t* STEELYARD_RESTRICT out) {
  for (std::size_t k = 0; k < count; ++k) out[k] = fixed_point(static_cast<float>(sum[k]) * scale[k] + bias[k]);
}

// Beginnings of two to four letters and endings of one to four, with marks, and the kinds of letters: as in
// tools/parser_corpus.py, where the places come from.
template <typename F>
void each_affix(std::string_view word, F place) {
  auto starts_letter = [&](std::size_t i) { return (static_cast<std::uint8_t>(word[i]) & 0xC0) != 0x80; };
  for (std::size_t letters = 2; letters <= 4; ++letters) {
    std::size_t end = 0, seen = 0;
    while (end < word.size()) {
      if (starts_letter(end) && seen++ == letters) break;
      ++end;
    }
    place(Crc("^").and_then(word.substr(0, end)).value());
  }
  for (std::size_t letters = 1; letters <= 4; ++letters) {
    std::size_t start = word.size();
    for (std::size_t seen = 0; start > 0 && seen < letters;) seen += starts_letter(--start);
    place(Crc(word.substr(start)).and_then("$").value());
  }
  bool kind[4] = {};
  for (const char c : word) kind[c == '-' ? 0 : c >= 'a' && c <= 'z' ? 1 : c >= '0' && c <= '9' ? 2 : 3] = true;
  Crc shape("shape ");
  for (std::size_t k = 0; k < 4; ++k) {
    if (kind[k]) shape.and_then(std::string_view("-adx").substr(k, 1));
  }
  place(shape.value());
}

}  // namespace

struct ParserModel::Scratch {
  std::vector<std::int8_t> first, second, bytes;
  std::vector<float> gates, unit;
  std::vector<const float*> rows;
  std::vector<std::int32_t> sums, arcs, heads;
  std::vector<std::int16_t> sides, relation;
  std::vector<std::uint32_t> best;
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
  affix_scale_ = in.real(1);
  affixes_ = in.signed_bytes(kAffixes * kWord);
  unknown_ = in.biases(kWord);
  std::size_t width = kWord;
  for (Layer& layer : layer_) {
    layer.units = in.size(kMostUnits);
    if (layer.units < 16 || layer.units % 16) damaged();
    const std::size_t gates = 3 * layer.units;
    layer.input = in.matrix(2 * gates, width);
    layer.input_scale = in.scales(2 * gates, width);
    layer.input_bias = in.biases(2 * gates);
    for (std::size_t d = 0; d < 2; ++d) {
      layer.recurrent[d] = in.matrix(gates, layer.units);
      layer.recurrent_scale[d] = in.scales(gates, layer.units);
      layer.reset_bias[d] = in.biases(layer.units);
    }
    width = 2 * layer.units;
  }
  sides_ = in.matrix(kSides, width);
  side_scale_ = in.scales(kSides, width);
  side_bias_ = in.biases(kSides);
  for (auto* fixed : {&root_, &root_relation_}) {
    for (auto& value : *fixed) value = fixed_point(in.real(Reader::kMostValue));
  }
  for (auto [choice, classes] : {std::pair(&tag_, tags_.size()), std::pair(&relation_, relations_.size())}) {
    std::vector<std::int8_t> weights = in.signed_bytes(classes * kPart);
    const std::size_t rows = (classes + ByteMatrix::kRows - 1) / ByteMatrix::kRows * ByteMatrix::kRows;
    weights.resize(rows * kPart);
    choice->weights = {weights, rows, kPart};
    choice->scale = in.scales(classes, kPart);
    for (float& scale : choice->scale) scale /= 127.0f;
    choice->bias = in.biases(classes);
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

// What the first layer's gates take from each word.
void ParserModel::first_gates(const std::vector<Word>& words, Scratch& s) const {
  const std::size_t gates = 6 * layer_[0].units;
  s.gates.resize(std::max(s.gates.size(), words.size() * std::max(gates, 6 * layer_[1].units)));
  s.sums.resize(std::max(s.sums.size(), gates));
  s.rows.resize(words.size());
  std::array<std::int8_t, kWord> made;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::int32_t number;
    const std::int8_t* vector = vector_of(words[i].text, made.data(), number);
    if (number >= 0 && static_cast<std::size_t>(number) < kAtHand) {
      s.rows[i] = at_hand_.data() + static_cast<std::size_t>(number) * gates;
      continue;
    }
    layer_[0].input.multiply(vector, 1, s.sums.data());
    float* row = s.gates.data() + i * gates;
    rescale(gates, s.sums.data(), layer_[0].input_scale.data(), layer_[0].input_bias.data(), row);
    s.rows[i] = row;
  }
}

// Both passes of a layer over each piece, given what its gates take from each word; `out` has both directions of each word.
void ParserModel::read_layer(const Layer& layer, const Pieces& pieces, std::int8_t* out, Scratch& s) const {
  const std::size_t units = layer.units;
  std::array<float, kMostUnits> state;
  std::array<std::int8_t, kMostUnits> bytes;
  s.sums.resize(std::max(s.sums.size(), 3 * units));
  for (std::size_t d = 0; d < 2; ++d) {
    const float* scale = layer.recurrent_scale[d].data();
    const float* bias = layer.reset_bias[d].data();
    std::size_t start = 0;
    for (const std::size_t end : pieces.ends) {
      state.fill(0);
      bytes.fill(0);
      for (std::size_t k = start; k < end; ++k) {
        const std::size_t i = d ? end - 1 - (k - start) : k;
        layer.recurrent[d].multiply(bytes.data(), 1, s.sums.data());
        step(units, s.rows[i] + d * 3 * units, s.sums.data(), scale, bias, state.data(), bytes.data());
        std::copy_n(bytes.data(), units, out + i * 2 * units + d * units);
      }
      start = end;
    }
  }
}

// The best class of each of n vectors of kPart values, none below 0; never the class `without`.
void ParserModel::Choice::best(const std::int16_t* x, std::size_t stride, std::size_t n, std::size_t without, Scratch& s) const {
  s.bytes.resize(std::max(s.bytes.size(), n * kPart));
  s.sums.resize(std::max(s.sums.size(), n * weights.rows()));
  s.unit.resize(n);
  s.best.resize(n);
  const std::size_t classes = scale.size();
  for (std::size_t i = 0; i < n; ++i) {  // as bytes, by the largest of the values
    const std::int16_t* from = x + i * stride;
    std::int16_t most = 1;
    for (std::size_t k = 0; k < kPart; ++k) most = std::max(most, from[k]);
    const float factor = 127.0f / static_cast<float>(most);
    s.unit[i] = static_cast<float>(most);
    for (std::size_t k = 0; k < kPart; ++k) {
      s.bytes[i * kPart + k] = static_cast<std::int8_t>(static_cast<std::int32_t>(nearest(static_cast<float>(from[k]) * factor)));
    }
  }
  weights.multiply(s.bytes.data(), n, s.sums.data());
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t* sum = s.sums.data() + i * weights.rows();
    std::array<float, 256> score;
    for (std::size_t c = 0; c < classes; ++c) score[c] = static_cast<float>(sum[c]) * (scale[c] * s.unit[i]) + bias[c];
    if (without < classes) score[without] = -1e30f;
    s.best[i] = static_cast<std::uint32_t>(std::max_element(score.data(), score.data() + classes) - score.data());
  }
}

// The heads of a piece's words, from the best tree of their arcs.
void ParserModel::settle_heads(std::size_t start, std::size_t end, std::vector<Word>& words, Scratch& s) const {
  const std::size_t n = end - start;
  s.arcs.resize(std::max(s.arcs.size(), n * (n + 1)));
  for (std::size_t i = 0; i < n; ++i) {
    const std::int16_t* dependent = s.sides.data() + (start + i) * kSides;
    std::int32_t* arc = s.arcs.data() + i * (n + 1);
    for (std::size_t h = 0; h <= n; ++h) {
      const std::int16_t* head = h ? s.sides.data() + (start + h - 1) * kSides + kPart : root_.data();
      std::int32_t sum = 0;
      for (std::size_t k = 0; k < kPart; ++k) sum += std::int32_t{dependent[k]} * head[k];
      arc[h] = sum;
    }
    arc[i + 1] = -(1 << 30) - (1 << 29);  // no word is its own head
  }
  best_tree(s.arcs.data(), n, s.heads);
  for (std::size_t i = 0; i < n; ++i) words[start + i].head = s.heads[i];
}

void ParserModel::parse_pieces(Pieces& pieces) const {
  static thread_local Scratch scratch;
  Scratch& s = scratch;
  std::vector<Word>& words = pieces.words;
  const std::size_t n = words.size();

  first_gates(words, s);
  s.first.resize(std::max(s.first.size(), n * 2 * layer_[0].units));
  read_layer(layer_[0], pieces, s.first.data(), s);

  const std::size_t gates = 6 * layer_[1].units;
  s.sums.resize(std::max({s.sums.size(), n * gates, n * kSides}));
  layer_[1].input.multiply(s.first.data(), n, s.sums.data());
  for (std::size_t i = 0; i < n; ++i) {
    float* row = s.gates.data() + i * gates;
    rescale(gates, s.sums.data() + i * gates, layer_[1].input_scale.data(), layer_[1].input_bias.data(), row);
    s.rows[i] = row;
  }
  s.second.resize(std::max(s.second.size(), n * 2 * layer_[1].units));
  read_layer(layer_[1], pieces, s.second.data(), s);

  // Of each word: as dependent, as head, the relation's two sides, the tag. As head and for the tag, what is below 0 is 0.
  sides_.multiply(s.second.data(), n, s.sums.data());
  s.sides.resize(std::max(s.sides.size(), n * kSides));
  for (std::size_t i = 0; i < n; ++i) {
    std::int16_t* side = s.sides.data() + i * kSides;
    to_fixed_point(kSides, s.sums.data() + i * kSides, side_scale_.data(), side_bias_.data(), side);
    for (std::size_t k = kPart; k < 2 * kPart; ++k) side[k] = std::max<std::int16_t>(side[k], 0);
    for (std::size_t k = 4 * kPart; k < 5 * kPart; ++k) side[k] = std::max<std::int16_t>(side[k], 0);
  }
  s.relation.resize(std::max(s.relation.size(), n * kPart));
  std::size_t start = 0;
  for (const std::size_t end : pieces.ends) {
    settle_heads(start, end, words, s);
    for (std::size_t i = start; i < end; ++i) {
      const std::size_t head = start + static_cast<std::size_t>(std::max(words[i].head, 1) - 1);
      const std::int16_t* own = s.sides.data() + i * kSides + 2 * kPart;
      const std::int16_t* of = s.sides.data() + head * kSides + 3 * kPart;
      for (std::size_t k = 0; k < kPart; ++k) s.relation[i * kPart + k] = static_cast<std::int16_t>(std::max(0, own[k] + of[k]));
    }
    start = end;
  }
  relation_.best(s.relation.data(), kPart, n, root_relation_name_, s);
  for (std::size_t i = 0; i < n; ++i) {
    const bool root = words[i].head == 0;
    words[i].relation = root ? Rel::root : rel_[s.best[i]];
    words[i].relation_name = root ? std::string_view("root") : relations_[s.best[i]];
  }
  tag_.best(s.sides.data() + 4 * kPart, kSides, n, tags_.size(), s);
  for (std::size_t i = 0; i < n; ++i) words[i].tag = tags_[s.best[i]];
}

}  // namespace steelyard::language
