// Columns of the edit distance as words of bits, 64 symbols at a time: see edit_distance.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/views.hpp"

namespace steelyard::language {

constexpr std::size_t kBits = 64, kDirect = 256;

struct BitColumn {
  std::uint64_t up = ~std::uint64_t{0}, down = 0;
};

// One step of a word: `rise` and `fall` come from the word before it, and go to the next.
inline BitColumn step(BitColumn v, std::uint64_t match, std::uint64_t& rise, std::uint64_t& fall, unsigned last) {
  const std::uint64_t x = match | fall;
  const std::uint64_t same = (((x & v.up) + v.up) ^ v.up) | x | v.down;
  std::uint64_t right = v.down | ~(same | v.up), left = same & v.up;
  const std::uint64_t rise_in = rise, fall_in = fall;
  rise = (right >> last) & 1;
  fall = (left >> last) & 1;
  right = (right << 1) | rise_in;
  left = (left << 1) | fall_in;
  return {left | ~(same | right), right & same};
}

// Where each symbol stands in a reference: a row of words for each distinct symbol, row 0 for those that it does not
// have.
class Places {
 public:
  void fill(View<std::uint32_t> reference) {
    clear();
    words_ = (reference.size() + kBits - 1) / kBits;
    bits_.assign(words_, 0);
    for (std::size_t i = 0; i < reference.size(); ++i) {
      std::uint32_t& row = slot(reference[i]);
      if (!row) {
        row = ++rows_;
        if (reference[i] < kDirect) used_.push_back(reference[i]);
        bits_.resize(bits_.size() + words_, 0);
      }
      bits_[row * words_ + i / kBits] |= std::uint64_t{1} << (i % kBits);
    }
  }
  std::size_t words() const { return words_; }
  const std::uint64_t* of(std::uint32_t symbol) const {
    if (symbol < kDirect) return bits_.data() + direct_[symbol] * words_;
    if (others_.empty()) return bits_.data();
    for (std::size_t i = home(symbol);; i = (i + 1) & (others_.size() - 1)) {
      if (!others_[i].row) return bits_.data();
      if (others_[i].symbol == symbol) return bits_.data() + others_[i].row * words_;
    }
  }

 private:
  struct Other {
    std::uint32_t symbol = 0, row = 0;
  };

  std::size_t home(std::uint32_t symbol) const {
    return static_cast<std::size_t>((symbol * std::uint64_t{0x9E3779B97F4A7C15}) >> 32) & (others_.size() - 1);
  }
  std::uint32_t& slot(std::uint32_t symbol) {
    if (symbol < kDirect) return direct_[symbol];
    if (2 * (filled_ + 1) > others_.size()) grow();
    std::size_t i = home(symbol);
    while (others_[i].row && others_[i].symbol != symbol) i = (i + 1) & (others_.size() - 1);
    filled_ += !others_[i].row;
    others_[i].symbol = symbol;
    return others_[i].row;
  }
  void grow() {
    std::vector<Other> before(std::max<std::size_t>(64, 2 * others_.size()));
    before.swap(others_);
    for (const Other& other : before) {
      if (!other.row) continue;
      std::size_t i = home(other.symbol);
      while (others_[i].row) i = (i + 1) & (others_.size() - 1);
      others_[i] = other;
    }
  }
  void clear() {
    for (std::uint32_t symbol : used_) direct_[symbol] = 0;
    used_.clear();
    if (filled_) others_.clear();
    filled_ = rows_ = 0;
  }

  std::uint32_t direct_[kDirect] = {};
  std::vector<std::uint32_t> used_;
  std::vector<Other> others_;
  std::vector<std::uint64_t> bits_;
  std::size_t words_ = 0, filled_ = 0;
  std::uint32_t rows_ = 0;
};

}  // namespace steelyard::language
