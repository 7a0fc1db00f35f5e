// Huffman's codes of deflated data (RFC 1951) as tables. Pure C++.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace steelyard {

// One code of Huffman's: a table by the next bits, and further tables for what is longer.
template <unsigned kBits>
class CodeTable {
 public:
  enum class Use { lengths, values, distances };

  // From the lengths of the codes, 0 for none. False where no code has such lengths.
  bool make(const std::uint8_t* lengths, std::size_t count, Use use);

  // The entry of the next bits; of at least 15 of them, or of zeros behind the data's end.
  std::uint32_t find(std::uint64_t bits) const {
    const std::uint32_t entry = entries_[bits & ((1u << kBits) - 1)];
    if (!(entry & kFurther)) return entry;
    return entries_[(entry >> 16) + ((bits >> kBits) & ((1u << ((entry >> 8) & 15)) - 1))];
  }

  // An entry: bits of the code in the lowest byte (0: there is no such code), extra bits in the next four, marks, and a
  // value in the upper half.
  static constexpr std::uint32_t kFurther = 1u << 12, kLiteral = 1u << 13, kEnd = 1u << 14;

 private:
  std::vector<std::uint32_t> entries_;
};

}  // namespace steelyard
