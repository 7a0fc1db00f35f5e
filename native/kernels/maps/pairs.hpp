// Counts of pairs of values, for kernels that meet them one at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "maps/maps.hpp"

namespace steelyard {

// Counts by a pair of values. Open addressing; grows where more than half is full.
class PairCounter {
 public:
  PairCounter() : slots_(1024, Slot{0, 0}) {}

  void add(std::uint64_t key, std::int64_t count) {
    Slot& slot = find(key);
    if (slot.count == 0) {
      if (2 * ++used_ > slots_.size()) {
        --used_;
        grow();
        return add(key, count);
      }
      slot.key = key;
    }
    slot.count += count;
  }

  void into(MapCells& cells) const {
    std::vector<Slot> full;
    for (const Slot& slot : slots_) {
      if (slot.count) full.push_back(slot);
    }
    std::sort(full.begin(), full.end(), [](const Slot& x, const Slot& y) { return x.key < y.key; });
    for (const Slot& slot : full) {
      cells.a.push_back(static_cast<std::uint32_t>(slot.key >> 32));
      cells.b.push_back(static_cast<std::uint32_t>(slot.key));
      cells.count.push_back(slot.count);
    }
  }

 private:
  struct Slot {
    std::uint64_t key;
    std::int64_t count;
  };

  Slot& find(std::uint64_t key) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ull) >> 32) & mask;
    while (slots_[at].count && slots_[at].key != key) at = (at + 1) & mask;
    return slots_[at];
  }

  void grow() {
    std::vector<Slot> old(2 * slots_.size(), Slot{0, 0});
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.count) find(slot.key) = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace steelyard
