// Codes of texts in the order of their first appearance.
//
// A small hash table holds the first row of each distinct text, so equal rows are found without making or hashing
// strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "support/random.hpp"
#include "support/views.hpp"

namespace steelyard {

// Distinct texts by an open hash table of their places; `same(a, i)` says whether row i repeats the a-th distinct one.
class Distinct {
 public:
  std::vector<std::int64_t> first;  // where each distinct text stands first

  template <typename Same>
  std::int64_t code(std::uint64_t hash, std::size_t row, Same same) {
    std::size_t slot = hash & (table_.size() - 1);
    for (; table_[slot] >= 0; slot = (slot + 1) & (table_.size() - 1)) {
      const auto known = static_cast<std::size_t>(table_[slot]);
      if (hashes_[known] == hash && same(known, row)) return table_[slot];
    }
    const auto fresh = static_cast<std::int32_t>(first.size());
    table_[slot] = fresh;
    first.push_back(static_cast<std::int64_t>(row));
    hashes_.push_back(hash);
    if (2 * first.size() > table_.size()) grow();
    return fresh;
  }

 private:
  void grow() {
    std::vector<std::int32_t> larger(4 * table_.size(), -1);
    for (std::size_t k = 0; k < hashes_.size(); ++k) {
      std::size_t place = hashes_[k] & (larger.size() - 1);
      while (larger[place] >= 0) place = (place + 1) & (larger.size() - 1);
      larger[place] = static_cast<std::int32_t>(k);
    }
    table_.swap(larger);
  }

  std::vector<std::int32_t> table_ = std::vector<std::int32_t>(1024, -1);
  std::vector<std::uint64_t> hashes_;
};

inline std::uint64_t stir(std::uint64_t h, std::uint64_t word) {
  h = (h ^ word) * 0x9FB21C651E98DF25ull;
  return h ^ (h >> 29);
}

// Hash of a text, eight bytes at a time.
inline std::uint64_t text_hash(std::string_view text) {
  std::uint64_t h = kGolden ^ static_cast<std::uint64_t>(text.size());
  std::size_t j = 0;
  for (; j + 8 <= text.size(); j += 8) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + j, 8);
    h = stir(h, word);
  }
  std::uint64_t rest = 0;
  std::memcpy(&rest, text.data() + j, text.size() - j);
  return mix64(stir(h, rest));
}

// Codes of fixed-width rows of characters, which zeros pad.
void code_rows(Matrix<std::uint32_t> rows, Distinct& distinct, std::int64_t* code);

}  // namespace steelyard
