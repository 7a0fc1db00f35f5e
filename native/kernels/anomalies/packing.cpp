// Packs scores: sorted, counted or in groups. See packed.hpp for the bytes.
#include "anomalies/packed.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "anomalies/scores.hpp"
#include "support/checks.hpp"
#include "support/memory.hpp"

namespace steelyard::anomalies {
namespace {

std::uint8_t* put(std::uint8_t* at, std::uint64_t value) {
  while (value >= 128) {
    *at++ = static_cast<std::uint8_t>(value | 128);
    value >>= 7;
  }
  *at++ = static_cast<std::uint8_t>(value);
  return at;
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

// Writes groups, whose lower bytes may come in any order.
class Grouper {
 public:
  Grouper(std::size_t scores, std::size_t groups) : out_(64 + scores + scores / 4 + 64 * groups) {
    out_[0] = kGrouped;
    at_ = put(put(out_.data() + 1, scores), groups);
  }
  void add(std::uint32_t upper, const std::uint16_t* lower, std::size_t count) {
    const std::size_t most = 256 * kMostBytes + count + count / kDense * 256 * kMostBytes;
    if (body_.size() < most) body_.resize(2 * most);
    const std::size_t size = count < kDense ? put_pairs(lower, count) : put_dense(lower, count);
    const auto used = static_cast<std::size_t>(at_ - out_.data());
    if (out_.size() - used < 3 * kMostBytes + size) {
      out_.resize(2 * out_.size() + size);
      at_ = out_.data() + used;
    }
    at_ = put(put(put(at_, upper - before_), count), size);
    before_ = upper;
    at_ = std::copy_n(body_.data(), size, at_);
  }
  Bytes take() {
    out_.resize(static_cast<std::size_t>(at_ - out_.data()));
    return std::move(out_);
  }

 private:
  // Both write to `body_` and return how many bytes.
  std::size_t put_pairs(const std::uint16_t* lower, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      body_[2 * i] = static_cast<std::uint8_t>(lower[i]);
      body_[2 * i + 1] = static_cast<std::uint8_t>(lower[i] >> 8);
    }
    return 2 * count;
  }
  std::size_t put_dense(const std::uint16_t* lower, std::size_t count) {
    std::array<std::uint32_t, 256> counts{}, place;
    for (std::size_t i = 0; i < count; ++i) ++counts[lower[i] >> 8];
    std::uint32_t sum = 0;
    for (std::size_t h = 0; h < 256; ++h) {
      place[h] = sum;
      sum += counts[h];
    }
    if (last_.size() < count) last_.resize(2 * count);
    for (std::size_t i = 0; i < count; ++i) last_[place[lower[i] >> 8]++] = static_cast<std::uint8_t>(lower[i]);
    std::uint8_t* at = body_.data();
    for (const std::uint32_t c : counts) at = put(at, c);
    const std::uint8_t* from = last_.data();
    for (const std::uint32_t c : counts) {
      if (c < kDense) {
        at = std::copy(from, from + c, at);
      } else {
        std::array<std::uint32_t, 256> single{};
        for (std::size_t i = 0; i < c; ++i) ++single[from[i]];
        for (const std::uint32_t n : single) at = put(at, n);
      }
      from += c;
    }
    return static_cast<std::size_t>(at - body_.data());
  }

  Bytes out_, body_, last_;
  std::uint8_t* at_ = nullptr;
  std::uint32_t before_ = 0;
};

Bytes group_few(std::vector<std::uint32_t> keys) {
  sort_keys(keys);
  std::size_t groups = 0;
  std::vector<std::uint16_t> lower(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    lower[i] = static_cast<std::uint16_t>(keys[i]);
    groups += i == 0 || keys[i] >> 16 != keys[i - 1] >> 16;
  }
  Grouper grouper(keys.size(), groups);
  for (std::size_t i = 0; i < keys.size();) {
    std::size_t j = i + 1;
    while (j < keys.size() && keys[j] >> 16 == keys[i] >> 16) ++j;
    grouper.add(keys[i] >> 16, lower.data() + i, j - i);
    i = j;
  }
  return grouper.take();
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

Bytes group_scores(View<float> scores, View<std::uint8_t> skip) {
  if (scores.size() < kFew) return group_few(keys_of(scores, skip));
  require(scores.size() <= std::numeric_limits<std::uint32_t>::max(), "there are too many scores");
  // Two tables, since to add to one place twice in a row is slow.
  std::vector<std::uint32_t> place(kLower, 0), other(kLower, 0);
  const std::size_t even = scores.size() & ~std::size_t{1};
  const std::uint8_t* skipped = skip.empty() ? nullptr : skip.data();
  auto taken = [&](std::size_t i) { return static_cast<std::uint32_t>(!skipped || !skipped[i]); };
  for (std::size_t i = 0; i < even; i += 2) {
    place[key_of(scores[i]) >> 16] += taken(i);
    other[key_of(scores[i + 1]) >> 16] += taken(i + 1);
  }
  if (even < scores.size()) place[key_of(scores[even]) >> 16] += taken(even);
  std::vector<std::uint32_t> uppers;
  std::uint32_t count = 0;
  for (std::uint32_t upper = 0; upper < kLower; ++upper) {
    const std::uint32_t here = place[upper] + other[upper];
    if (!here) continue;
    require(is_finite(upper), kNotFinite);
    uppers.push_back(upper);
    place[upper] = count;
    count += here;
  }
  Buffer<std::uint16_t> lower(count);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (skipped && skipped[i]) continue;
    const std::uint32_t key = key_of(scores[i]);
    require(key != kLowest, kNotFinite);
    lower[place[key >> 16]++] = static_cast<std::uint16_t>(key);
  }
  Grouper grouper(count, uppers.size());
  std::size_t first = 0;
  for (const std::uint32_t upper : uppers) {
    grouper.add(upper, lower.data() + first, place[upper] - first);
    first = place[upper];
  }
  return grouper.take();
}

}  // namespace steelyard::anomalies
