// Poisson(n) for units that are counted, not listed: n alike units together weigh what n Poisson(1) weights add up to.
//
// Counts repeat (most cells of a confusion matrix hold a few rows), so there is one alias table for each distinct n,
// and a draw costs half a hash and one lookup whatever n is. A table is made by multiplication and division alone, from
// the mode outward, so that it is the same on every machine (no exp, no lgamma). Probabilities below 2^-45 of the
// mode's are cut; the 32-bit quantisation moves no probability by more than the table's width x 2^-32.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "support/random.hpp"

namespace steelyard {

constexpr std::int64_t kMostCopies = std::int64_t{1} << 36;

class PoissonTables {
 public:
  PoissonTables(const std::int64_t* copies, std::size_t units) {
    std::unordered_map<std::int64_t, std::uint32_t> known;
    table_of_.reserve(units);
    for (std::size_t u = 0; u < units; ++u) {
      auto [place, is_new] = known.try_emplace(copies[u], static_cast<std::uint32_t>(tables_.size()));
      if (is_new) tables_.push_back(make(copies[u]));
      table_of_.push_back(place->second);
    }
  }

  bool empty() const { return table_of_.empty(); }

  // Weights of `count` draws (an even number) from `first` (even) on, for one unit.
  //
  // 32 bits per draw: times the table's width, the upper half is the slot and the lower half the place inside it.
  void draw(std::size_t unit, std::uint64_t stream, std::size_t first, double* out, std::size_t count) const {
    const Table& table = tables_[table_of_[unit]];
    const auto width = static_cast<std::uint32_t>(table.slots.size());
    const Slot* slots = table.slots.data();
    std::uint64_t counter = stream + kGolden * (first / 2 + 1);
    for (std::size_t d = 0; d < count; d += 2, counter += kGolden) {
      const std::uint64_t bits = mix64(counter);
      const std::uint64_t a = std::uint64_t{static_cast<std::uint32_t>(bits)} * width;
      const std::uint64_t b = std::uint64_t{static_cast<std::uint32_t>(bits >> 32)} * width;
      const Slot x = slots[a >> 32], y = slots[b >> 32];
      out[d] = static_cast<std::uint32_t>(a) < x.threshold ? x.own : x.other;
      out[d + 1] = static_cast<std::uint32_t>(b) < y.threshold ? y.own : y.other;
    }
  }

 private:
  struct Slot {
    double own, other;  // two weights, and how much of the slot is the first one's
    std::uint32_t threshold;
  };
  struct Table {
    std::vector<Slot> slots;
  };

  static Table make(std::int64_t n) {
    Table table;
    const double mean = static_cast<double>(n), cut = 0x1p-45;
    std::vector<double> below, above;  // outward from the mode
    double p = 1.0;
    for (double k = mean; k >= 1.0; k -= 1.0) {
      p *= k / mean;
      if (p < cut) break;
      below.push_back(p);
    }
    p = 1.0;
    for (double k = mean + 1.0;; k += 1.0) {
      p *= mean / k;
      if (p < cut) break;
      above.push_back(p);
    }
    const double low = mean - static_cast<double>(below.size());
    std::vector<double> share(below.rbegin(), below.rend());
    share.push_back(1.0);
    share.insert(share.end(), above.begin(), above.end());

    // Vose's alias method.
    const std::size_t width = share.size();
    double sum = 0.0;
    for (double s : share) sum += s;
    std::vector<std::uint32_t> small, large;
    for (std::size_t i = 0; i < width; ++i) {
      share[i] *= static_cast<double>(width) / sum;
      (share[i] < 1.0 ? small : large).push_back(static_cast<std::uint32_t>(i));
    }
    table.slots.resize(width);
    auto settle = [&](std::uint32_t i, std::uint32_t other) {
      const double scaled = share[i] * 4294967296.0;
      const std::uint32_t threshold = scaled >= 4294967295.0 ? 4294967295u : static_cast<std::uint32_t>(scaled);
      table.slots[i] = {low + i, low + other, threshold};
    };
    while (!small.empty() && !large.empty()) {
      const std::uint32_t s = small.back(), l = large.back();
      small.pop_back();
      settle(s, l);
      share[l] -= 1.0 - share[s];
      if (share[l] < 1.0) {
        large.pop_back();
        small.push_back(l);
      }
    }
    for (std::uint32_t i : small) settle(i, i);
    for (std::uint32_t i : large) settle(i, i);
    return table;
  }

  std::vector<Table> tables_;
  std::vector<std::uint32_t> table_of_;
};

}  // namespace steelyard
