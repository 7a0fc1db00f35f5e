// The parser at run time: see parser.hpp for what it computes.
//
// The two passes of a layer are matrix times vector, word after word, for several sentences in step; everything else is
// done for all words at once. parser_model.cpp reads the model, parser_math.hpp has what is computed between the
// products.
#include "language/parser.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "language/parser_math.hpp"
#include "language/trees.hpp"
#include "wide/wide.hpp"

namespace steelyard::language {
namespace {

// One step of gated recurrent units: their new state, from what they take from the word (`in`: reset, keep, fresh, one
// after the other) and from their past (`sum`, kMagic too large, which `in` and `bias` make up for). Loops over values
// that do not touch each other, which compilers make vectors of.
STEELYARD_INLINE void step_loop(std::size_t units, const float* STEELYARD_RESTRICT in,
                                const float* STEELYARD_RESTRICT sum, const float* STEELYARD_RESTRICT scale,
                                const float* STEELYARD_RESTRICT bias, float* STEELYARD_RESTRICT state,
                                std::int8_t* STEELYARD_RESTRICT bytes) {
  // Short loops, so that many rounds of each are under way at once.
  std::array<float, 2 * kMostUnits> gate;  // reset, then keep
  for (std::size_t u = 0; u < 2 * units; ++u) gate[u] = near_sigmoid(std::fma(sum[u], scale[u], in[u]));
  for (std::size_t u = 0; u < units; ++u) {
    const float past = std::fma(sum[2 * units + u], scale[2 * units + u], bias[u]);
    const float fresh = near_tanh(std::fma(gate[u], past, in[2 * units + u]));
    state[u] = std::fma(gate[units + u], state[u] - fresh, fresh);
  }
  for (std::size_t u = 0; u < units; ++u) bytes[u] = static_cast<std::int8_t>(nearest(127.0f * state[u]));
}
// The sums are fused by name on every machine; where an instruction does it, that is used. The bits are the same.
#if defined(__x86_64__) && defined(__GNUC__)
#define STEELYARD_FUSED __attribute__((target("avx2,fma")))
STEELYARD_FUSED void fused_step(std::size_t units, const float* in, const float* sum, const float* scale,
                                const float* bias, float* state, std::int8_t* bytes) {
  step_loop(units, in, sum, scale, bias, state, bytes);
}
#endif
void step(std::size_t units, const float* in, const float* sum, const float* scale, const float* bias, float* state,
          std::int8_t* bytes) {
#if defined(STEELYARD_FUSED)
  static const bool fused = !baseline_only() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (fused) return fused_step(units, in, sum, scale, bias, state, bytes);
#endif
  step_loop(units, in, sum, scale, bias, state, bytes);
}

// So many vectors are multiplied at once that what comes of it is still near when it is read again.
constexpr std::size_t kWordsAtOnce = 8;
template <typename F>
void at_once(std::size_t n, F part) {
  for (std::size_t from = 0; from < n; from += kWordsAtOnce) part(from, std::min(kWordsAtOnce, n - from));
}

}  // namespace

struct ParserModel::Scratch {
  std::vector<std::int8_t> first, second, bytes;
  std::vector<float> gates, unit, state, sums;
  struct Piece {
    std::size_t start, words;
  };
  std::vector<Piece> order;
  std::vector<const float*> rows;
  std::vector<std::int32_t> arcs, heads;
  std::vector<std::int16_t> sides, relation;
  std::vector<std::uint32_t> best;
};

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

// Both passes of a layer over each piece, given what its gates take from each word; `out` has both directions of each
// word. The pieces, longest first, go in step with each other: a weight is loaded once for all that have a word left,
// and what one has to wait for another can compute.
void ParserModel::read_layer(const Layer& layer, const Pieces& pieces, std::int8_t* out, Scratch& s) const {
  const std::size_t units = layer.units, count = pieces.ends.size();
  s.order.clear();
  for (std::size_t p = 0, start = 0; p < count; start = pieces.ends[p++])
    s.order.push_back({start, pieces.ends[p] - start});
  std::stable_sort(s.order.begin(), s.order.end(), [](const auto& a, const auto& b) { return a.words > b.words; });
  s.state.resize(std::max(s.state.size(), count * units));
  s.bytes.resize(std::max(s.bytes.size(), count * units));
  s.sums.resize(std::max(s.sums.size(), count * 3 * units));
  for (std::size_t d = 0; d < 2; ++d) {
    const float* scale = layer.recurrent_scale[d].data();
    const float* bias = layer.reset_bias[d].data();
    std::fill_n(s.state.begin(), count * units, 0.0f);
    std::fill_n(s.bytes.begin(), count * units, std::int8_t{0});
    std::size_t left = count;
    for (std::size_t k = 0; left; ++k) {
      layer.recurrent[d].multiply(s.bytes.data(), left, s.sums.data());
      for (std::size_t p = 0; p < left; ++p) {
        const std::size_t i = s.order[p].start + (d ? s.order[p].words - 1 - k : k);
        std::int8_t* bytes = s.bytes.data() + p * units;
        step(units, s.rows[i] + d * 3 * units, s.sums.data() + p * 3 * units, scale, bias, s.state.data() + p * units,
             bytes);
        std::copy_n(bytes, units, out + i * 2 * units + d * units);
      }
      while (left && s.order[left - 1].words == k + 1) --left;
    }
  }
}

// kPart values, none below 0, as bytes; what their largest stands for is given back.
float ParserModel::to_bytes(const std::int16_t* STEELYARD_RESTRICT from, std::int8_t* STEELYARD_RESTRICT to) {
  std::int16_t most = 1;
  for (std::size_t k = 0; k < kPart; ++k) most = std::max(most, from[k]);
  const float factor = 127.0f / static_cast<float>(most);
  for (std::size_t k = 0; k < kPart; ++k) to[k] = static_cast<std::int8_t>(nearest(real(from[k]) * factor));
  return static_cast<float>(most);
}

// The best class of each of n vectors of kPart values, none below 0; never the class `without`.
void ParserModel::Choice::best(const std::int16_t* x, std::size_t stride, std::size_t n, std::size_t without,
                               Scratch& s) const {
  s.bytes.resize(std::max(s.bytes.size(), n * kPart));
  s.sums.resize(std::max(s.sums.size(), n * weights.rows()));
  s.unit.resize(n);
  s.best.resize(n);
  const std::size_t classes = scale.size();
  for (std::size_t i = 0; i < n; ++i) {
    s.unit[i] = to_bytes(x + i * stride, s.bytes.data() + i * kPart);
  }
  weights.multiply(s.bytes.data(), n, s.sums.data());
  for (std::size_t i = 0; i < n; ++i) {
    const float* sum = s.sums.data() + i * weights.rows();
    // Scores in 512ths, and behind them the class, lower ones first: the largest number is the best.
    std::array<std::int32_t, 256> key;
    const float unit = s.unit[i];
    for (std::size_t c = 0; c < classes; ++c) {
      const float score = (sum[c] - kMagic) * (scale[c] * unit) + bias[c];
      key[c] = nearest(256.0f * twice_within(score, 4096.0f)) * 256 + static_cast<std::int32_t>(255 - c);
    }
    if (without < classes) key[without] = std::numeric_limits<std::int32_t>::min() + 255;
    std::int32_t most = key[0];
    for (std::size_t c = 1; c < classes; ++c) most = std::max(most, key[c]);
    s.best[i] = static_cast<std::uint32_t>(255 - (most & 255));
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
  s.sums.resize(std::max({s.sums.size(), kWordsAtOnce * gates, kWordsAtOnce * kSides}));
  at_once(n, [&](std::size_t from, std::size_t count) {
    layer_[1].input.multiply(s.first.data() + from * 2 * layer_[0].units, count, s.sums.data());
    for (std::size_t i = 0; i < count; ++i) {
      float* row = s.gates.data() + (from + i) * gates;
      rescale(gates, s.sums.data() + i * gates, layer_[1].input_scale.data(), layer_[1].input_bias.data(), row);
      s.rows[from + i] = row;
    }
  });
  s.second.resize(std::max(s.second.size(), n * 2 * layer_[1].units));
  read_layer(layer_[1], pieces, s.second.data(), s);

  // Of each word: as dependent, as head, the relation's two sides, the tag. As head and for the tag, what is below 0 is
  // 0.
  s.sides.resize(std::max(s.sides.size(), n * kSides));
  at_once(n, [&](std::size_t from, std::size_t count) {
    sides_.multiply(s.second.data() + from * 2 * layer_[1].units, count, s.sums.data());
    for (std::size_t i = 0; i < count; ++i) {
      std::int16_t* side = s.sides.data() + (from + i) * kSides;
      to_fixed_point(kSides, s.sums.data() + i * kSides, side_scale_.data(), side_bias_.data(), side);
      for (std::size_t k = kPart; k < 2 * kPart; ++k) side[k] = std::max<std::int16_t>(side[k], 0);
      for (std::size_t k = 4 * kPart; k < 5 * kPart; ++k) side[k] = std::max<std::int16_t>(side[k], 0);
    }
  });
  s.relation.resize(std::max(s.relation.size(), n * kPart));
  std::size_t start = 0;
  for (const std::size_t end : pieces.ends) {
    settle_heads(start, end, words, s);
    for (std::size_t i = start; i < end; ++i) {
      const std::size_t head = start + static_cast<std::size_t>(std::max(words[i].head, 1) - 1);
      const std::int16_t* own = s.sides.data() + i * kSides + 2 * kPart;
      const std::int16_t* of = s.sides.data() + head * kSides + 3 * kPart;
      for (std::size_t k = 0; k < kPart; ++k)
        s.relation[i * kPart + k] = static_cast<std::int16_t>(std::max(0, own[k] + of[k]));
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
