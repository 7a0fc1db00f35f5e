// Packed scores: a byte for the width of keys (4 or 8), the number of scores, the number of distinct ones, the lowest
// key, and for each distinct score the step from the one before and its count, all as numbers of seven bits per byte.
//
// A key is a whole number that rises with the score: the bits of its magnitude, negated below zero, so that +0 and -0
// have one key. Steps between sorted scores are small: a map of a million floats takes about a byte per pixel.
#include "anomalies/scores.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "support/checks.hpp"

namespace steelyard::anomalies {
namespace {

constexpr const char* kDamaged = "the packed scores are damaged";
constexpr const char* kNotFinite = "a score is not finite";

constexpr std::size_t kMostBytes = 10;  // of a number

std::uint8_t* put(std::uint8_t* at, std::uint64_t value) {
  while (value >= 128) {
    *at++ = static_cast<std::uint8_t>(value | 128);
    value >>= 7;
  }
  *at++ = static_cast<std::uint8_t>(value);
  return at;
}

class Reader {
 public:
  explicit Reader(View<std::uint8_t> bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  std::uint64_t number() {
    if (at_ != end_ && *at_ < 128) return *at_++;
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      require(at_ != end_, kDamaged);
      const std::uint64_t byte = *at_++;
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
    throw std::invalid_argument(kDamaged);
  }
  std::uint8_t byte() {
    require(at_ != end_, kDamaged);
    return *at_++;
  }
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

// Keys without a sign, so that zero lies in the middle.
std::uint32_t key_of(float score) {
  const auto bits = std::bit_cast<std::uint32_t>(score);
  const std::uint32_t size = bits & 0x7fffffffu;
  return bits >> 31 ? 0x80000000u - size : 0x80000000u + size;
}
std::uint64_t key_of(double score) {
  const auto bits = std::bit_cast<std::uint64_t>(score);
  const std::uint64_t size = bits & 0x7fffffffffffffffu;
  return bits >> 63 ? 0x8000000000000000u - size : 0x8000000000000000u + size;
}
double score_of(std::uint64_t key, bool wide) {
  if (wide) {
    const bool negative = key < 0x8000000000000000u;
    const std::uint64_t size = negative ? 0x8000000000000000u - key : key - 0x8000000000000000u;
    const double score = std::bit_cast<double>(size);
    return negative ? -score : score;
  }
  const bool negative = key < 0x80000000u;
  const auto size = static_cast<std::uint32_t>(negative ? 0x80000000u - key : key - 0x80000000u);
  const double score = std::bit_cast<float>(size);
  return negative ? -score : score;
}

// Sorts keys digit by digit; a digit that all keys share costs nothing.
template <typename Key>
void sort_keys(std::vector<Key>& keys) {
  constexpr unsigned kBits = 11, kDigits = (8 * sizeof(Key) + kBits - 1) / kBits;
  constexpr std::size_t kPlaces = std::size_t{1} << kBits;
  if (keys.size() < 256) {
    for (std::size_t i = 1; i < keys.size(); ++i) {
      const Key key = keys[i];
      std::size_t j = i;
      for (; j > 0 && keys[j - 1] > key; --j) keys[j] = keys[j - 1];
      keys[j] = key;
    }
    return;
  }
  std::vector<std::array<std::size_t, kPlaces>> counts(kDigits);
  for (auto& digit : counts) digit.fill(0);
  for (const Key key : keys) {
    for (unsigned d = 0; d < kDigits; ++d) ++counts[d][(key >> (d * kBits)) & (kPlaces - 1)];
  }
  std::vector<Key> other(keys.size());
  for (unsigned d = 0; d < kDigits; ++d) {
    auto& count = counts[d];
    if (count[(keys[0] >> (d * kBits)) & (kPlaces - 1)] == keys.size()) continue;
    std::size_t sum = 0;
    for (std::size_t& place : count) {
      const std::size_t here = place;
      place = sum;
      sum += here;
    }
    for (const Key key : keys) other[count[(key >> (d * kBits)) & (kPlaces - 1)]++] = key;
    keys.swap(other);
  }
}

class Packer {
 public:
  Packer(bool wide, std::uint64_t scores, std::uint64_t distinct, std::uint64_t first)
      : wide_(wide), before_(first), out_(64 + distinct + distinct / 2) {
    std::uint8_t* at = out_.data();
    *at++ = wide ? 8 : 4;
    used_ = static_cast<std::size_t>(put(put(put(at, scores), distinct), first) - out_.data());
  }
  void add(std::uint64_t key, std::uint64_t count) {
    const std::uint64_t step = key - before_;
    before_ = key;
    if (out_.size() - used_ < 2 * kMostBytes) out_.resize(out_.size() + out_.size() / 2);
    std::uint8_t* at = out_.data() + used_;
    if (wide_) {
      at = put(put(at, step), count - 1);
    } else {
      at = put(at, step << 1 | (count > 1));
      if (count > 1) at = put(at, count - 2);
    }
    used_ = static_cast<std::size_t>(at - out_.data());
  }
  Bytes take() {
    out_.resize(used_);
    return std::move(out_);
  }

 private:
  bool wide_;
  std::uint64_t before_;
  Bytes out_;
  std::size_t used_ = 0;
};

template <typename Key>
Bytes pack_sorted(const std::vector<Key>& keys) {
  std::uint64_t distinct = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) distinct += i == 0 || keys[i] != keys[i - 1];
  Packer packer(sizeof(Key) == 8, keys.size(), distinct, keys.empty() ? 0 : keys[0]);
  for (std::size_t i = 0; i < keys.size();) {
    std::size_t j = i + 1;
    while (j < keys.size() && keys[j] == keys[i]) ++j;
    packer.add(keys[i], j - i);
    i = j;
  }
  return packer.take();
}

template <typename Score>
auto keys_of(View<Score> scores, View<std::uint8_t> skip) {
  std::vector<decltype(key_of(Score{}))> keys(scores.size());
  bool finite = true;
  std::size_t count = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const bool taken = skip.empty() || !skip[i];
    keys[count] = key_of(scores[i]);
    finite &= !taken || std::isfinite(scores[i]);
    count += taken;
  }
  require(finite, kNotFinite);
  keys.resize(count);
  return keys;
}

template <typename Score>
Bytes pack_floats(View<Score> scores, View<std::uint8_t> skip) {
  auto keys = keys_of(scores, skip);
  sort_keys(keys);
  return pack_sorted(keys);
}

// Scores of few values: counted, not sorted. `values` are those of the places in rising order.
Bytes pack_counts(const std::vector<std::uint64_t>& counts, const std::vector<std::uint32_t>& rising,
                  const std::vector<float>& value) {
  std::uint64_t scores = 0, distinct = 0, first = 0;
  float last = std::numeric_limits<float>::quiet_NaN();
  for (const std::uint32_t place : rising) {
    if (!counts[place]) continue;
    if (!distinct) first = key_of(value[place]);
    distinct += !(value[place] == last);
    last = value[place];
    scores += counts[place];
  }
  Packer packer(false, scores, distinct, first);
  for (std::size_t i = 0; i < rising.size();) {
    std::uint64_t count = counts[rising[i]];
    const float here = value[rising[i]];
    for (++i; i < rising.size() && value[rising[i]] == here; ++i) count += counts[rising[i]];
    if (count) packer.add(key_of(here), count);
  }
  return packer.take();
}

template <typename Score>
std::vector<std::uint64_t> count_values(View<Score> scores, View<std::uint8_t> skip) {
  std::vector<std::uint64_t> counts(std::size_t{1} << (8 * sizeof(Score)), 0);
  if (skip.empty()) {
    for (const Score score : scores) ++counts[score];
  } else {
    for (std::size_t i = 0; i < scores.size(); ++i) counts[scores[i]] += !skip[i];
  }
  return counts;
}

template <typename Score>
Bytes pack_whole(View<Score> scores, View<std::uint8_t> skip) {
  const auto counts = count_values(scores, skip);
  std::vector<std::uint32_t> rising(counts.size());
  std::vector<float> value(counts.size());
  for (std::uint32_t i = 0; i < counts.size(); ++i) {
    rising[i] = i;
    value[i] = static_cast<float>(i);
  }
  return pack_counts(counts, rising, value);
}

float half_value(std::uint32_t bits) {
  const std::uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
  const float size = exponent ? std::ldexp(static_cast<float>(1024 + fraction), static_cast<int>(exponent) - 25)
                              : std::ldexp(static_cast<float>(fraction), -24);
  return bits >> 15 ? -size : size;
}

// Calls body(key, count) for each distinct score.
template <typename Body>
void each_score(View<std::uint8_t> packed, Body body) {
  Reader reader(packed);
  const std::uint8_t width = reader.byte();
  require(width == 4 || width == 8, kDamaged);
  const std::uint64_t scores = reader.number(), distinct = reader.number();
  std::uint64_t key = reader.number(), seen = 0;
  require(distinct <= reader.left() && distinct <= scores, kDamaged);
  for (std::uint64_t i = 0; i < distinct; ++i) {
    std::uint64_t step = reader.number(), count = 1;
    if (width == 8) {
      count = reader.number();
      require(count < scores, kDamaged);
      ++count;
    } else {
      if (step & 1) {
        count = reader.number();
        require(count < scores, kDamaged);
        count += 2;
      }
      step >>= 1;
    }
    require(i == 0 ? step == 0 : step > 0, kDamaged);
    require(step <= (width == 8 ? std::numeric_limits<std::uint64_t>::max() : 0xffffffffu) - key, kDamaged);
    key += step;
    require(count <= scores - seen, kDamaged);
    seen += count;
    body(score_of(key, width == 8), count, scores);
  }
  require(seen == scores && reader.left() == 0, kDamaged);
}

}  // namespace

Bytes pack_scores(View<float> scores, View<std::uint8_t> skip) { return pack_floats(scores, skip); }
Bytes pack_scores(View<double> scores, View<std::uint8_t> skip) { return pack_floats(scores, skip); }
Bytes pack_scores(View<std::uint8_t> scores, View<std::uint8_t> skip) { return pack_whole(scores, skip); }
Bytes pack_scores(View<std::uint16_t> scores, View<std::uint8_t> skip) { return pack_whole(scores, skip); }

Bytes pack_halves(View<std::uint16_t> bits, View<std::uint8_t> skip) {
  const auto counts = count_values(bits, skip);
  std::vector<std::uint32_t> rising;
  std::vector<float> value(counts.size());
  rising.reserve(counts.size());
  for (std::uint32_t i = 0; i < counts.size(); ++i) {
    if ((i >> 10 & 31) == 31) {
      require(!counts[i], kNotFinite);
    } else {
      value[i] = half_value(i);
    }
  }
  for (std::uint32_t i = 0xfbff; i >= 0x8000; --i) rising.push_back(i);
  for (std::uint32_t i = 0; i <= 0x7bff; ++i) rising.push_back(i);
  return pack_counts(counts, rising, value);
}

Counted unpack_scores(View<std::uint8_t> packed) {
  Counted found;
  each_score(packed, [&](double score, std::uint64_t count, std::uint64_t) {
    found.score.push_back(score);
    found.count.push_back(static_cast<std::int64_t>(count));
  });
  return found;
}

void count_scores(View<std::uint8_t> packed, View<double> thresholds, double weight, double* at_or_above,
                  double* above) {
  std::size_t k = 0;
  std::uint64_t below = 0;
  each_score(packed, [&](double score, std::uint64_t count, std::uint64_t scores) {
    for (; k < thresholds.size() && thresholds[k] < score; ++k) {
      at_or_above[k] += weight * static_cast<double>(scores - below);
      above[k] += weight * static_cast<double>(scores - below);
    }
    // Thresholds may repeat.
    for (; k < thresholds.size() && thresholds[k] == score; ++k) {
      at_or_above[k] += weight * static_cast<double>(scores - below);
      above[k] += weight * static_cast<double>(scores - below - count);
    }
    below += count;
  });
}

}  // namespace steelyard::anomalies
