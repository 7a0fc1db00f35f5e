// Where ids stand among distinct ids.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/random.hpp"

namespace steelyard {

// Positions of ids among distinct ids. Ids of files are mostly a dense range, and a table serves; else a hash does.
class Places {
 public:
  Places(const std::int64_t* ids, std::size_t n) {
    if (n == 0) return;
    const auto [low, high] = std::minmax_element(ids, ids + n);
    low_ = *low;
    const std::uint64_t span = static_cast<std::uint64_t>(*high) - static_cast<std::uint64_t>(*low);
    if (span < 16 * n + 1024) {
      table_.assign(span + 1, -1);
      for (std::size_t i = 0; i < n; ++i) insert(table_[static_cast<std::size_t>(ids[i] - low_)], i);
      return;
    }
    std::size_t size = 16;
    while (size < 2 * n) size *= 2;
    mask_ = size - 1;
    keys_.resize(size);
    table_.assign(size, -1);
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t at = mix64(static_cast<std::uint64_t>(ids[i])) & mask_;
      while (table_[at] >= 0 && keys_[at] != ids[i]) at = (at + 1) & mask_;
      keys_[at] = ids[i];
      insert(table_[at], i);
    }
  }
  std::int32_t find(std::int64_t id) const {
    if (!mask_) {
      const std::uint64_t at = static_cast<std::uint64_t>(id) - static_cast<std::uint64_t>(low_);
      return at < table_.size() ? table_[at] : -1;
    }
    std::size_t at = mix64(static_cast<std::uint64_t>(id)) & mask_;
    while (table_[at] >= 0 && keys_[at] != id) at = (at + 1) & mask_;
    return table_[at];
  }
  std::int64_t repeated() const { return repeated_; }

 private:
  void insert(std::int32_t& slot, std::size_t i) {
    if (slot < 0) slot = static_cast<std::int32_t>(i);
    else if (repeated_ < 0) repeated_ = static_cast<std::int64_t>(i);
  }
  std::int64_t low_ = 0, repeated_ = -1;
  std::size_t mask_ = 0;
  std::vector<std::int64_t> keys_;
  std::vector<std::int32_t> table_;
};

}  // namespace steelyard
