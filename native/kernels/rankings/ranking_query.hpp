// One query of a run against its judgements: which judged documents were retrieved, and at which rank.
//
// A metric asks only where the judged documents stand, so the run is never sorted. The judged documents go into a small
// hash table that stays in cache and every retrieved document is looked up in it. Ranks are counted: scores go into
// equal bins, those in a bin with a judged document are placed between the judged scores exactly, and running totals
// are the ranks. A run that comes in falling order, as most files do, needs not even that.
//
// Equal scores are the trap. Three ranks are kept, for the three rules in use:
//   id      by document id, the larger first (trec_eval's rule, on the scores as they are)
//   input   in the order of the input
//   single  as `id`, with scores rounded to single precision first (trec_eval itself holds them so)
//
// `Ids` is anything with ids[i] (a string_view) and ids.key[i].
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

#include "rankings/texts.hpp"

namespace steelyard {

// The judged documents of one query. Slots hold row + 1 of the truth, counted from `from`; 0 is free.
class JudgedTable {
 public:
  void fill(const Texts& ids, std::size_t from, std::size_t to) {
    std::size_t slots = 16;
    shift_ = 60;
    while (slots < 4 * (to - from)) slots *= 2, --shift_;
    mask_ = slots - 1;
    slot_.assign(slots, {0, 0});
    bits_ = 6;
    while ((std::size_t{1} << bits_) < 64 * (to - from) && bits_ < 24) ++bits_;
    filter_.assign(std::size_t{1} << (bits_ - 6), 0);
    for (std::size_t i = from; i < to; ++i) {
      const std::uint64_t bit = filter_bit(ids.key[i]);
      filter_[bit >> 6] |= std::uint64_t{1} << (bit & 63);
      std::size_t s = static_cast<std::size_t>(ids.key[i] >> shift_);
      while (slot_[s].row) s = (s + 1) & mask_;
      slot_[s] = {ids.key[i], i - from + 1};
    }
    ids_ = &ids;
    from_ = from;
  }

  // Row + 1 of the truth, counted from `from`; or 0.
  std::size_t find(std::uint64_t key, std::string_view id) const {
    std::size_t s = static_cast<std::size_t>(key >> shift_);
    while (slot_[s].row) {
      if (slot_[s].key == key && (*ids_)[from_ + slot_[s].row - 1] == id) return slot_[s].row;
      s = (s + 1) & mask_;
    }
    return 0;
  }
  // Whether the id may be there: one bit, right in all but one of 64 of those that are not.
  bool may_hold(std::uint64_t key) const {
    const std::uint64_t bit = filter_bit(key);
    return (filter_[bit >> 6] >> (bit & 63)) & 1;
  }

 private:
  struct Slot {
    std::uint64_t key;
    std::size_t row;
  };
  std::uint64_t filter_bit(std::uint64_t key) const { return key >> (64 - bits_); }

  std::vector<Slot> slot_;
  std::vector<std::uint64_t> filter_;
  std::size_t mask_ = 0, from_ = 0;
  int shift_ = 60, bits_ = 6;
  const Texts* ids_ = nullptr;
};

// Finds an id that appears twice in a query. Keys are marked in two small bit maps, where the second says which may
// repeat; only those few are sorted and compared.
class Repeats {
 public:
  void begin(std::size_t n) {
    std::size_t words = 4;
    shift_ = 56;
    while (words * 64 < 16 * n) words *= 2, --shift_;
    once_.assign(words, 0);
    again_.assign(words, 0);
    any_ = 0;
  }
  void mark(std::uint64_t key) {
    const std::uint64_t bit = key >> shift_, mask = std::uint64_t{1} << (bit & 63);
    std::uint64_t& word = once_[bit >> 6];
    again_[bit >> 6] |= word & mask;
    any_ |= word & mask;
    word |= mask;
  }
  // The first of the marked rows [from, to) that repeats an id, and the row it repeats.
  template <typename Ids>
  bool find(const Ids& ids, std::size_t from, std::size_t to, std::size_t& second, std::size_t& first) {
    if (!any_) return false;
    const std::uint64_t* key = ids.key + from;
    rows_.resize(to - from + 1);
    std::size_t count = 0;
    for (std::size_t i = 0; i < to - from; ++i) {
      const std::uint64_t bit = key[i] >> shift_;
      rows_[count] = i;
      count += (again_[bit >> 6] >> (bit & 63)) & 1;
    }
    rows_.resize(count);
    std::sort(rows_.begin(), rows_.end(),
              [&](std::size_t a, std::size_t b) { return key[a] != key[b] ? key[a] < key[b] : a < b; });
    bool any = false;
    for (std::size_t r = 1; r < rows_.size(); ++r) {
      for (std::size_t e = r; e-- > 0 && key[rows_[e]] == key[rows_[r]];) {
        if (ids[from + rows_[e]] != ids[from + rows_[r]]) continue;
        if (!any || from + rows_[r] < second) {
          second = from + rows_[r];
          first = from + rows_[e];
        }
        any = true;
        break;
      }
    }
    return any;
  }

 private:
  std::vector<std::uint64_t> once_, again_;
  std::vector<std::size_t> rows_;
  std::uint64_t any_ = 0;
  int shift_ = 56;
};

struct Judged {
  std::size_t truth;  // row of the truth
  std::size_t run;    // row of the run, within the query
};

struct Ranks {
  std::int64_t *id, *input, *single;  // by row of the truth
};

class Ranker {
 public:
  // Ranks of the judged documents of one query, rows [from, from + n). `order` (or null) is where a row stood in the
  // input. Gives whether equal scores had to be distinguished.
  template <typename Ids>
  bool rank(const Ids& ids, const double* score, const std::int64_t* order, std::size_t from, std::size_t n,
            std::vector<Judged>& judged, const Ranks& out) {
    const double* s = score + from;
    bool falling = true;
    for (std::size_t i = 1; i < n && falling; ++i) falling = static_cast<float>(s[i]) < static_cast<float>(s[i - 1]);
    bool tied = false, close = false;
    if (falling) {
      for (const Judged& j : judged) out.id[j.truth] = static_cast<std::int64_t>(j.run + 1);
    } else {
      count(ids, s, order, from, n, judged, out.id, out.input, tied, close);
    }
    if (tied || close) {
      single_.resize(n);
      for (std::size_t i = 0; i < n; ++i) single_[i] = static_cast<float>(s[i]);
      bool ignored = false;
      count(ids, single_.data(), order, from, n, judged, out.single, nullptr, ignored, ignored);
    } else {
      for (const Judged& j : judged) out.input[j.truth] = out.single[j.truth] = out.id[j.truth];
    }
    return tied;
  }

 private:
  // Counts the ranks under the given scores. `close` says whether single precision would see ties that are none.
  template <typename Ids>
  void count(const Ids& ids, const double* s, const std::int64_t* order, std::size_t from, std::size_t n,
             std::vector<Judged>& judged, std::int64_t* by_id, std::int64_t* by_input, bool& tied, bool& close) {
    std::sort(judged.begin(), judged.end(), [&](const Judged& a, const Judged& b) {
      return s[a.run] != s[b.run] ? s[a.run] > s[b.run] : a.run < b.run;
    });
    levels_.clear();  // the distinct scores of judged documents, falling
    for (const Judged& j : judged) {
      if (levels_.empty() || levels_.back() != s[j.run]) levels_.push_back(s[j.run]);
    }
    const std::size_t k = levels_.size();
    above_.assign(k + 1, 0);
    equal_.clear();
    if (k == 0) return;
    std::size_t width = 1;
    int bits = 0;
    while (width < k + 1) width *= 2, ++bits;
    levels_.resize(width, std::numeric_limits<double>::quiet_NaN());  // below every score, -inf in single precision too
    near_.assign(levels_.begin(), levels_.end());                     // as single precision sees them
    const double* level = levels_.data();
    const float* near = near_.data();
    bool touching = false;
    auto place = [&](std::size_t i) {
      std::size_t low = 0;  // the number of levels that are not below this score
      for (int b = bits - 1; b >= 0; --b) {
        low += static_cast<std::size_t>(level[low + (std::size_t{1} << b) - 1] >= s[i]) << b;
      }
      ++above_[low];
      const float f = static_cast<float>(s[i]);
      if (low > 0 && near[low - 1] == f) {
        if (level[low - 1] == s[i]) {
          equal_.push_back(static_cast<std::uint32_t>(i));
        } else {
          touching = true;
        }
      }
      touching |= near[low] == f;
    };
    // The range of judged scores is cut into bins, with one more at each end for what lies outside. Bins keep order (a
    // higher bin is a higher score), so all but those beside a judged score are counted as they are. Every score is
    // placed where there are few, or the range is too narrow or too wide to be cut.
    const double most = level[0], least = level[k - 1], range = most - least;
    const double scale = static_cast<double>(kBins) / range;
    const double largest = std::max(std::abs(most), std::abs(least));
    if (n < kBins || !(range > largest * 1e-6 && range < 1e37 && scale < 1e37)) {
      for (std::size_t i = 0; i < n; ++i) place(i);
    } else {
      auto bin_of = [&](double x) {
        const double bin = (x - least) * scale + 1.0;
        return static_cast<std::uint32_t>(std::min(std::max(bin, 0.0), static_cast<double>(kBins + 2)));
      };
      // What single precision takes for equal to a judged score may lie in other bins: those count as beside it too.
      beside_.assign(kBins + 3, 0);
      const double blur = largest / 4194304.0;
      for (std::size_t t = 0; t < k; ++t) {
        const std::uint32_t last = bin_of(level[t] + blur);
        for (std::uint32_t bin = bin_of(level[t] - blur); bin <= last; ++bin) beside_[bin] = 1;
      }
      count_.assign(kBins + 3, 0);
      exact_.resize(n + 1);
      std::size_t exact = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t bin = bin_of(s[i]);
        ++count_[bin];
        exact_[exact] = static_cast<std::uint32_t>(i);
        exact += beside_[bin];
      }
      for (std::size_t e = 0; e < exact; ++e) place(exact_[e]);
      std::size_t low = 0;  // the levels that are not below this bin
      for (std::uint32_t bin = kBins + 3; bin-- > 0;) {
        if (beside_[bin]) {
          while (low < k && bin_of(level[low]) >= bin) ++low;
        } else {
          above_[low] += count_[bin];
        }
      }
    }
    close |= touching;
    for (std::size_t t = 1; t <= k; ++t) above_[t] += above_[t - 1];
    const std::size_t m = judged.size();
    if (equal_.size() == m && k == m) {
      for (std::size_t t = 0; t < m; ++t) {
        by_id[judged[t].truth] = static_cast<std::int64_t>(above_[t] + 1);
        if (by_input) by_input[judged[t].truth] = by_id[judged[t].truth];
      }
      return;
    }
    tied = true;
    place_.resize(n);
    auto by_rule = [&](std::int64_t* out, auto before) {
      std::sort(equal_.begin(), equal_.end(),
                [&](std::uint32_t a, std::uint32_t b) { return s[a] != s[b] ? s[a] > s[b] : before(a, b); });
      for (std::size_t e = 0, group = 0; e < equal_.size(); ++e) {
        if (s[equal_[e]] != s[equal_[group]]) group = e;
        place_[equal_[e]] = e - group;
      }
      std::size_t t = 0;
      for (const Judged& j : judged) {
        while (levels_[t] != s[j.run]) ++t;
        out[j.truth] = static_cast<std::int64_t>(above_[t] + 1 + place_[j.run]);
      }
    };
    by_rule(by_id, [&](std::uint32_t a, std::uint32_t b) { return ids[from + a] > ids[from + b]; });
    if (!by_input) return;
    by_rule(by_input,
            [&](std::uint32_t a, std::uint32_t b) { return order ? order[from + a] < order[from + b] : a < b; });
  }

  static constexpr std::uint32_t kBins = 256;

  std::vector<double> levels_, single_;
  std::vector<float> near_;
  std::vector<std::size_t> above_, place_;
  std::vector<std::uint32_t> equal_, exact_, count_;
  std::vector<std::uint8_t> beside_;
};

// The hash of a row, of which a query's sum is the same in any order of its rows.
inline std::uint64_t row_hash(std::uint64_t key, double value) {
  const double number = value + 0.0;  // no minus zero
  std::uint64_t bits;
  std::memcpy(&bits, &number, 8);
  const std::uint64_t x = (key ^ (bits * kGolden)) * 0xBF58476D1CE4E5B9ull;
  return x ^ (x >> 32);
}

}  // namespace steelyard
