// Reading the parser's model, and words' vectors. What the first layer takes from a word does not depend on its
// neighbours, so that it is worked out once for the commonest words when the model is read.
#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "language/parser.hpp"
#include "language/parser_math.hpp"

namespace steelyard::language {
namespace {

[[noreturn]] void damaged() { throw std::invalid_argument("the parser's model is damaged"); }

class ModelReader {
 public:
  explicit ModelReader(std::string_view data) : data_(data) {}
  std::string_view bytes(std::size_t count) {
    if (data_.size() < count) throw std::invalid_argument("the parser's model is cut short");
    const std::string_view read = data_.substr(0, count);
    data_.remove_prefix(count);
    return read;
  }
  std::uint32_t number() {
    std::uint32_t value = 0;
    for (int k = 0; const char c : bytes(4))
      value |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(c)) << (8 * k++);
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

std::size_t slot_hash(std::string_view word) {
  std::uint64_t h = 1469598103934665603ull;
  for (const char c : word) h = (h ^ static_cast<std::uint8_t>(c)) * 1099511628211ull;
  return static_cast<std::size_t>(h ^ (h >> 29));
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

ParserModel::ParserModel(std::string_view packed) {
  ModelReader in(packed);
  if (in.bytes(8) != "SYPN0001") throw std::invalid_argument("this is not a parser model");
  for (auto* names : {&tags_, &relations_}) {
    const std::size_t count = in.size(255);
    if (count < 2) damaged();
    for (std::size_t i = 0; i < count; ++i) names->emplace_back(in.bytes(in.size(64)));
  }
  for (const auto& name : relations_) rel_.push_back(relation_of(name));
  root_relation_name_ =
      static_cast<std::size_t>(std::find(relations_.begin(), relations_.end(), "root") - relations_.begin());
  const std::size_t words = in.size(packed.size());
  text_ = in.bytes(in.size(packed.size()));
  slots_.resize(std::bit_ceil(2 * words + 2));
  for (std::size_t start = 0; ends_.size() < words;) {
    const std::size_t end = std::min(text_.find('\n', start), text_.size());
    if (end <= start) damaged();
    ends_.push_back(static_cast<std::uint32_t>(end));
    std::size_t at = slot_hash(std::string_view(text_).substr(start, end - start)) & (slots_.size() - 1);
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
      // What is multiplied with the recurrent scales is kMagic too large.
      for (std::size_t g = 0; g < gates; ++g) {
        float& bias = g < 2 * layer.units ? layer.input_bias[d * gates + g] : layer.reset_bias[d][g - 2 * layer.units];
        bias = std::fma(-kMagic, layer.recurrent_scale[d][g], bias);
      }
    }
    width = 2 * layer.units;
  }
  sides_ = in.matrix(kSides, width);
  side_scale_ = in.scales(kSides, width);
  side_bias_ = in.biases(kSides);
  for (auto* fixed : {&root_, &root_relation_}) {
    for (auto& value : *fixed) value = fixed_point(in.real(ModelReader::kMostValue));
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
  std::vector<float> sums(common * gates);
  at_hand_.resize(sums.size());
  layer_[0].input.multiply(vectors_.data(), common, sums.data());
  for (std::size_t i = 0; i < sums.size(); i += gates) {
    rescale(gates, sums.data() + i, layer_[0].input_scale.data(), layer_[0].input_bias.data(), at_hand_.data() + i);
  }
}

// The vector of a word, and its number or -1; that of an unknown word is put together in `made`.
const std::int8_t* ParserModel::vector_of(std::string_view word, std::int8_t* made, std::int32_t& number) const {
  for (std::size_t at = slot_hash(word) & (slots_.size() - 1); slots_[at]; at = (at + 1) & (slots_.size() - 1)) {
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
    made[c] =
        static_cast<std::int8_t>(nearest(127.0f * near_tanh(unknown_[c] + affix_scale_ * static_cast<float>(sum[c]))));
  }
  return made;
}

}  // namespace steelyard::language
