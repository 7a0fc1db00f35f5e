// Reads packed scores: counts and sums them at any scores. See packed.hpp for the bytes.
#include "anomalies/scores.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "anomalies/packed.hpp"
#include "support/checks.hpp"

namespace steelyard::anomalies {
namespace {

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
    first_ =
        static_cast<std::size_t>(std::lower_bound(thresholds_.begin(), thresholds_.end(), low) - thresholds_.begin());
    last_ =
        static_cast<std::size_t>(std::upper_bound(thresholds_.begin(), thresholds_.end(), high) - thresholds_.begin());
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

// Adds the sorted scores of a set to a row of counts, at the places of `GroupCounter`.
template <typename Count>
void count_sorted(View<std::uint8_t> packed, View<double> thresholds, Count* counts) {
  std::size_t k = 0;
  each_score(packed, [&](double score, std::uint64_t count, std::uint64_t) {
    while (k < thresholds.size() && thresholds[k] < score) ++k;
    counts[2 * k + (k < thresholds.size() && thresholds[k] == score)] += static_cast<Count>(count);
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

// Whole numbers are counted before they are weighted: how sets were packed does not show in the sums.
template <typename Count>
void count_rows(const std::vector<View<std::uint8_t>>& sets, const Rows& rows, View<double> thresholds) {
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
      const std::size_t row = rows.of[i] - first;
      if (is_grouped(sets[i])) {
        chosen.emplace_back(sets[i]);
        own.push_back(row);
      } else {
        count_sorted(sets[i], thresholds, counts.data() + row * counter.places());
      }
    }
    counter.count(chosen, own, counts.data());
    for (std::size_t row = first; row < last; ++row) {
      add_sums(counts.data() + (row - first) * counter.places(), thresholds, rows.weights[row], rows.results[row]);
    }
  }
}

}  // namespace

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
  Rows rows;
  rows.weights.assign(weights.begin(), weights.end());
  if (!each) {  // sets with one weight are counted together: their sums are whole numbers in any order
    std::sort(rows.weights.begin(), rows.weights.end());
    rows.weights.erase(std::unique(rows.weights.begin(), rows.weights.end()), rows.weights.end());
  }
  for (std::size_t i = 0; i < rows.weights.size(); ++i) rows.results.push_back(each ? result + 2 * many * i : result);
  std::uint64_t scores = 0;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    scores += scores_in(sets[i]);
    const auto place = std::lower_bound(rows.weights.begin(), rows.weights.end(), weights[i]) - rows.weights.begin();
    rows.of.push_back(each ? i : static_cast<std::size_t>(place));
  }
  if (scores <= std::numeric_limits<std::uint32_t>::max()) {
    count_rows<std::uint32_t>(sets, rows, thresholds);
  } else {
    count_rows<std::uint64_t>(sets, rows, thresholds);
  }
}

}  // namespace steelyard::anomalies
