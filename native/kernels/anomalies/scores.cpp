// Packed scores begin with a byte for their form. All numbers that follow have seven bits per byte.
//
//   4, 8   Sorted scores with keys of so many bytes: the number of scores, the number of distinct ones, the lowest key,
//          and for each distinct score the step from the one before and its count.
//   5      Scores of single precision in groups by the upper two bytes of their keys, not sorted within: the number of
//          scores, the number of groups, and for each group the step of its upper bytes from the group before, the
//          number of its scores, the number of bytes that follow, and its lower bytes. These are two bytes per score in
//          groups below kDense; else 256 counts by the higher byte, and for each of these the lower bytes of its scores,
//          or where these are kDense or more, 256 counts again.
//
// A key is a whole number that rises with the score: the bits of its magnitude, negated below zero, so that +0 and -0
// have one key. Both forms take about a byte per pixel for a map of a million floats. Groups are made and counted in a
// third of the time of sorted scores.
#include "anomalies/scores.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "support/checks.hpp"
#include "support/memory.hpp"

namespace steelyard::anomalies {
namespace {

constexpr const char* kDamaged = "the packed scores are damaged";
constexpr const char* kNotFinite = "a score is not finite";

constexpr std::size_t kMostBytes = 10;  // of a number
constexpr std::uint8_t kGrouped = 5;
constexpr std::size_t kLower = std::size_t{1} << 16;  // values of the lower, or upper, two bytes of a key
constexpr std::size_t kDense = 512;                   // scores of a group from which on they are held by their bytes
constexpr std::size_t kFew = 1 << 12;                 // scores that are faster to sort, or to look up one by one

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
  View<std::uint8_t> bytes(std::uint64_t count) {
    require(count <= left(), kDamaged);
    const std::uint8_t* from = at_;
    at_ += count;
    return {from, static_cast<std::size_t>(count)};
  }
  // 256 counts, which add up to `sum`.
  void counts(std::array<std::uint64_t, 256>& counts, std::uint64_t sum) {
    for (std::uint64_t& count : counts) {
      count = number();
      require(count <= sum, kDamaged);
      sum -= count;
    }
    require(sum == 0, kDamaged);
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

// Sorts keys and what belongs to each, digit by digit; equal keys stay in order.
void sort_pairs(std::vector<std::uint64_t>& keys, std::vector<std::uint32_t>& places) {
  constexpr unsigned kBits = 11;
  constexpr std::size_t kPlaces = std::size_t{1} << kBits;
  std::uint64_t differ = 0;
  for (const std::uint64_t key : keys) differ |= key ^ keys[0];
  std::vector<std::uint64_t> other_keys(keys.size());
  std::vector<std::uint32_t> other_places(keys.size());
  std::vector<std::size_t> count(kPlaces);
  for (unsigned shift = 0; shift < 64; shift += kBits) {
    if (!((differ >> shift) & (kPlaces - 1))) continue;
    std::fill(count.begin(), count.end(), 0);
    for (const std::uint64_t key : keys) ++count[(key >> shift) & (kPlaces - 1)];
    std::size_t sum = 0;
    for (std::size_t& place : count) {
      const std::size_t here = place;
      place = sum;
      sum += here;
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::size_t to = count[(keys[i] >> shift) & (kPlaces - 1)]++;
      other_keys[to] = keys[i];
      other_places[to] = places[i];
    }
    keys.swap(other_keys);
    places.swap(other_places);
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

constexpr std::uint32_t kLowest = 0x00800000u;  // the key of minus infinity

// Whether scores with these upper bytes are finite, but for the lowest key.
bool is_finite(std::uint32_t upper) { return upper >= kLowest >> 16 && upper < 0xff80u; }

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

// Calls body(lower bytes, count) for the scores of a group, in any order; but not where take(higher of these bytes,
// count) takes all scores with it at once, which it is asked in large groups.
template <typename Take, typename Body>
void each_lower(View<std::uint8_t> bytes, std::size_t count, Take take, Body body) {
  if (count < kDense) {
    require(bytes.size() == 2 * count, kDamaged);
    for (std::size_t i = 0; i < count; ++i) {
      body(static_cast<std::uint32_t>(bytes[2 * i]) | static_cast<std::uint32_t>(bytes[2 * i + 1]) << 8, 1);
    }
    return;
  }
  Reader reader(bytes);
  std::array<std::uint64_t, 256> counts;
  reader.counts(counts, count);
  for (std::uint32_t h = 0; h < 256; ++h) {
    if (counts[h] < kDense) {
      const View<std::uint8_t> lows = reader.bytes(counts[h]);
      if (lows.empty() || take(h, counts[h])) continue;
      for (const std::uint8_t low : lows) body(h << 8 | low, 1);
    } else {
      std::array<std::uint64_t, 256> single;
      reader.counts(single, counts[h]);
      for (std::uint32_t low = 0; low < 256; ++low) {
        if (single[low]) body(h << 8 | low, single[low]);
      }
    }
  }
  require(reader.left() == 0, kDamaged);
}

constexpr auto kNone = [](std::uint32_t, std::uint64_t) { return false; };

// The groups of a set, one after the other.
class Groups {
 public:
  explicit Groups(View<std::uint8_t> packed) : reader_(packed) {
    require(reader_.byte() == kGrouped, kDamaged);
    scores_ = reader_.number();
    left_ = reader_.number();
    require(left_ <= kLower, kDamaged);
    next();
  }
  bool there() const { return there_; }
  std::uint32_t upper() const { return upper_; }
  std::size_t count() const { return static_cast<std::size_t>(count_); }
  View<std::uint8_t> bytes() const { return bytes_; }
  void next() {
    there_ = left_ > 0;
    if (!there_) {
      require(scores_ == 0 && reader_.left() == 0, kDamaged);
      return;
    }
    const std::uint64_t step = reader_.number();
    require((first_ || step > 0) && step < kLower, kDamaged);
    first_ = false;
    upper_ += static_cast<std::uint32_t>(step);
    require(is_finite(upper_), kDamaged);
    count_ = reader_.number();
    require(count_ > 0 && count_ <= scores_, kDamaged);
    scores_ -= count_;
    bytes_ = reader_.bytes(reader_.number());
    --left_;
  }

 private:
  Reader reader_;
  std::uint64_t scores_ = 0, left_ = 0, count_ = 0;
  std::uint32_t upper_ = 0;
  bool there_ = false, first_ = true;
  View<std::uint8_t> bytes_;
};

// Counts the scores of grouped sets between and at the thresholds, which rise: the place of a score is twice the number
// of thresholds below it, plus 1 where it equals one.
template <typename Count>
class GroupCounter {
 public:
  explicit GroupCounter(View<double> thresholds) : thresholds_(thresholds), places_(2 * thresholds.size() + 1) {}

  std::size_t places() const { return places_; }

  // Adds the scores of each set to its row of `counts`.
  void count(std::vector<Groups>& sets, const std::vector<std::size_t>& rows, Count* counts) {
    for (;;) {
      std::uint32_t upper = kLower;
      for (const Groups& set : sets) {
        if (set.there()) upper = std::min(upper, set.upper());
      }
      if (upper == kLower) return;
      std::size_t many = 0;
      for (const Groups& set : sets) many += set.there() && set.upper() == upper ? set.count() : 0;
      open(upper, many);
      for (std::size_t i = 0; i < sets.size(); ++i) {
        if (!sets[i].there() || sets[i].upper() != upper) continue;
        add(sets[i], counts + rows[i] * places_);
        sets[i].next();
      }
    }
  }

 private:
  // Finds the thresholds that lie in a group, and where there are many scores the place of each of its keys.
  void open(std::uint32_t upper, std::size_t many) {
    key_ = upper << 16;
    const double low = score_of(key_, false), high = score_of(key_ | 0xffffu, false);
    first_ = static_cast<std::size_t>(std::lower_bound(thresholds_.begin(), thresholds_.end(), low) -
                                      thresholds_.begin());
    last_ = static_cast<std::size_t>(std::upper_bound(thresholds_.begin(), thresholds_.end(), high) -
                                     thresholds_.begin());
    listed_ = many >= kFew && first_ < last_;
    if (!listed_) return;
    table_.resize(kLower);
    std::size_t at = 0;
    auto place = static_cast<std::uint32_t>(0);  // from that of the first threshold on
    for (std::size_t k = first_; k < last_; ++k) {
      auto score = static_cast<float>(thresholds_[k]);
      if (static_cast<double>(score) < thresholds_[k]) score = std::nextafter(score, std::numeric_limits<float>::max());
      const std::size_t low16 = key_of(score) & 0xffffu;
      if (low16 >= at) {
        std::fill(table_.begin() + static_cast<std::ptrdiff_t>(at), table_.begin() + static_cast<std::ptrdiff_t>(low16),
                  place);
        at = low16;
        if (static_cast<double>(score) == thresholds_[k]) table_[at++] = place + 1;
      }
      place += 2;
    }
    std::fill(table_.begin() + static_cast<std::ptrdiff_t>(at), table_.end(), place);
  }

  void add(const Groups& set, Count* counts) const {
    counts += 2 * first_;
    if (first_ == last_) {
      *counts += static_cast<Count>(set.count());
    } else if (listed_) {
      const std::uint32_t* table = table_.data();
      auto take = [&](std::uint32_t higher, std::uint64_t n) {
        const std::uint32_t first = table[higher << 8];
        if (first != table[higher << 8 | 255]) return false;
        counts[first] += static_cast<Count>(n);
        return true;
      };
      each_lower(set.bytes(), set.count(), take,
                 [&](std::uint32_t lower, std::uint64_t n) { counts[table[lower]] += static_cast<Count>(n); });
    } else {
      const double* begin = thresholds_.data() + first_;
      const double* end = thresholds_.data() + last_;
      each_lower(set.bytes(), set.count(), kNone, [&](std::uint32_t lower, std::uint64_t n) {
        const double score = score_of(key_ | lower, false);
        const double* found = std::lower_bound(begin, end, score);
        counts[2 * (found - begin) + (found != end && *found == score)] += static_cast<Count>(n);
      });
    }
  }

  View<double> thresholds_;
  std::size_t places_;
  std::uint32_t key_ = 0;
  std::size_t first_ = 0, last_ = 0;
  bool listed_ = false;
  std::vector<std::uint32_t> table_;
};

// Adds to a row of numbers at or above, and above, the thresholds what was counted, times a weight.
template <typename Count>
void add_sums(const Count* counts, View<double> thresholds, double weight, double* row) {
  const std::size_t many = thresholds.size();
  std::uint64_t sum = 0;
  for (std::size_t k = many; k > 0;) {
    const std::size_t last = k--;
    while (k > 0 && thresholds[k - 1] == thresholds[k]) --k;  // thresholds may repeat
    sum += counts[2 * last];
    const std::uint64_t above = sum;
    sum += counts[2 * k + 1];
    for (std::size_t j = k; j < last; ++j) {
      row[j] += weight * static_cast<double>(sum);
      row[many + j] += weight * static_cast<double>(above);
    }
  }
}

// Rows of counts that are weighted and added to a row of results.
struct Rows {
  std::vector<std::size_t> of;  // each set
  std::vector<double> weights;
  std::vector<double*> results;
};

template <typename Count>
void count_grouped(const std::vector<View<std::uint8_t>>& sets, const Rows& rows, View<double> thresholds) {
  constexpr std::size_t kHeld = std::size_t{1} << 22;  // counts at once
  GroupCounter<Count> counter(thresholds);
  const std::size_t step = std::max<std::size_t>(1, kHeld / counter.places());
  for (std::size_t first = 0; first < rows.weights.size(); first += step) {
    const std::size_t last = std::min(rows.weights.size(), first + step);
    std::vector<Count> counts((last - first) * counter.places(), 0);
    std::vector<Groups> chosen;
    std::vector<std::size_t> own;
    for (std::size_t i = 0; i < sets.size(); ++i) {
      if (rows.of[i] < first || rows.of[i] >= last) continue;
      chosen.emplace_back(sets[i]);
      own.push_back(rows.of[i] - first);
    }
    counter.count(chosen, own, counts.data());
    for (std::size_t row = first; row < last; ++row) {
      add_sums(counts.data() + (row - first) * counter.places(), thresholds, rows.weights[row], rows.results[row]);
    }
  }
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

void count_sorted(View<std::uint8_t> packed, View<double> thresholds, double weight, double* at_or_above,
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

std::uint64_t scores_in(View<std::uint8_t> packed) {
  Reader reader(packed);
  reader.byte();
  return reader.number();
}

std::size_t distinct_in(View<std::uint8_t> packed) {  // sorted scores
  Reader reader(packed);
  reader.byte();
  reader.number();
  return static_cast<std::size_t>(std::min<std::uint64_t>(reader.number(), packed.size()));
}

bool is_grouped(View<std::uint8_t> packed) { return !packed.empty() && packed[0] == kGrouped; }

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

Counted unpack_scores(View<std::uint8_t> packed) {
  Counted found;
  if (is_grouped(packed)) {
    std::vector<std::uint64_t> counts(kLower, 0);
    std::vector<std::uint32_t> lowers;
    for (Groups set(packed); set.there(); set.next()) {
      lowers.clear();
      each_lower(set.bytes(), set.count(), kNone, [&](std::uint32_t lower, std::uint64_t n) {
        if (!counts[lower]) lowers.push_back(lower);
        counts[lower] += n;
      });
      sort_keys(lowers);
      for (const std::uint32_t lower : lowers) {
        found.score.push_back(score_of(set.upper() << 16 | lower, false));
        found.count.push_back(static_cast<std::int64_t>(counts[lower]));
        counts[lower] = 0;
      }
    }
    return found;
  }
  each_score(packed, [&](double score, std::uint64_t count, std::uint64_t) {
    found.score.push_back(score);
    found.count.push_back(static_cast<std::int64_t>(count));
  });
  return found;
}

Summed sum_scores(const std::vector<View<std::uint8_t>>& sets, View<Factor> factors) {
  std::vector<std::uint64_t> keys;
  std::vector<std::uint32_t> places;
  std::vector<double> shares, counts;
  std::size_t room = 0;
  for (const View<std::uint8_t> set : sets) room += distinct_in(set);
  keys.reserve(room);
  shares.reserve(room);
  counts.reserve(room);
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const Factor& factor = factors[i];
    const auto area = static_cast<double>(factor.saturation);
    std::uint64_t below = 0;
    each_score(sets[i], [&](double score, std::uint64_t count, std::uint64_t scores) {
      double share = static_cast<double>(count) / static_cast<double>(scores);
      if (factor.saturation > 0) {
        share = std::min(static_cast<double>(scores - below) / area, 1.0) -
                std::min(static_cast<double>(scores - below - count) / area, 1.0);
      }
      below += count;
      keys.push_back(key_of(score));
      shares.push_back(share * factor.overlap);
      counts.push_back(static_cast<double>(count) * factor.positive);
    });
  }
  require(keys.size() <= 0xffffffffu, "there are too many scores");
  places.resize(keys.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<std::uint32_t>(i);
  sort_pairs(keys, places);
  std::size_t many = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) many += i == 0 || keys[i] != keys[i - 1];
  Summed found;
  found.score.reserve(many);
  found.overlap.reserve(many);
  found.positive.reserve(many);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i == 0 || keys[i] != keys[i - 1]) {
      found.score.push_back(score_of(keys[i], true));
      found.overlap.push_back(0.0);
      found.positive.push_back(0.0);
    }
    found.overlap.back() += shares[places[i]];
    found.positive.back() += counts[places[i]];
  }
  return found;
}

void count_scores(const std::vector<View<std::uint8_t>>& sets, View<double> thresholds, View<double> weights, bool each,
                  double* result) {
  const std::size_t many = thresholds.size();
  std::vector<View<std::uint8_t>> grouped;
  std::vector<double> own;
  Rows rows;
  std::uint64_t scores = 0;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    double* row = each ? result + 2 * many * i : result;
    if (is_grouped(sets[i])) {
      scores += scores_in(sets[i]);
      grouped.push_back(sets[i]);
      own.push_back(weights[i]);
      if (each) rows.results.push_back(row);
    } else {
      count_sorted(sets[i], thresholds, weights[i], row, row + many);
    }
  }
  rows.weights = own;
  if (!each) {  // sets with one weight are counted together: their sums are whole numbers in any order
    std::sort(rows.weights.begin(), rows.weights.end());
    rows.weights.erase(std::unique(rows.weights.begin(), rows.weights.end()), rows.weights.end());
    rows.results.assign(rows.weights.size(), result);
  }
  for (std::size_t i = 0; i < own.size(); ++i) {
    rows.of.push_back(each ? i
                           : static_cast<std::size_t>(
                                 std::lower_bound(rows.weights.begin(), rows.weights.end(), own[i]) -
                                 rows.weights.begin()));
  }
  if (scores <= std::numeric_limits<std::uint32_t>::max()) {
    count_grouped<std::uint32_t>(grouped, rows, thresholds);
  } else {
    count_grouped<std::uint64_t>(grouped, rows, thresholds);
  }
}

}  // namespace steelyard::anomalies
