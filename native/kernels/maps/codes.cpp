// Tables of codes: see codes.hpp.
#include "maps/codes.hpp"

#include <algorithm>
#include <array>

namespace steelyard {
namespace {

constexpr unsigned kLongest = 15;  // bits of a code

struct Range {
  std::uint16_t base;
  std::uint8_t extra;
};
constexpr Range kLengths[29] = {{3, 0},   {4, 0},   {5, 0},   {6, 0},   {7, 0},  {8, 0},  {9, 0},  {10, 0},
                                {11, 1},  {13, 1},  {15, 1},  {17, 1},  {19, 2}, {23, 2}, {27, 2}, {31, 2},
                                {35, 3},  {43, 3},  {51, 3},  {59, 3},  {67, 4}, {83, 4}, {99, 4}, {115, 4},
                                {131, 5}, {163, 5}, {195, 5}, {227, 5}, {258, 0}};
constexpr Range kDistances[30] = {{1, 0},     {2, 0},     {3, 0},     {4, 0},      {5, 1},      {7, 1},
                                  {9, 2},     {13, 2},    {17, 3},    {25, 3},     {33, 4},     {49, 4},
                                  {65, 5},    {97, 5},    {129, 6},   {193, 6},    {257, 7},    {385, 7},
                                  {513, 8},   {769, 8},   {1025, 9},  {1537, 9},   {2049, 10},  {3073, 10},
                                  {4097, 11}, {6145, 11}, {8193, 12}, {12289, 12}, {16385, 13}, {24577, 13}};

inline std::uint32_t reversed(std::uint32_t code, unsigned length) {
  std::uint32_t result = 0;
  for (unsigned i = 0; i < length; ++i) result |= ((code >> i) & 1) << (length - 1 - i);
  return result;
}

}  // namespace

template <unsigned kBits>
bool CodeTable<kBits>::make(const std::uint8_t* lengths, std::size_t count, Use use) {
  std::array<std::uint32_t, kLongest + 2> many{}, next{};
  for (std::size_t i = 0; i < count; ++i) ++many[lengths[i]];
  many[0] = 0;
  std::int64_t left = 1;
  unsigned longest = 0;
  for (unsigned length = 1; length <= kLongest; ++length) {
    left = 2 * left - many[length];
    if (left < 0) return false;
    if (many[length]) longest = length;
    next[length + 1] = (next[length] + many[length]) << 1;
  }
  if (left > 0 && (use == Use::lengths || longest > 1)) return false;  // one code of one bit may stand alone
  constexpr std::uint32_t size = 1u << kBits, mask = size - 1;
  entries_.assign(size, 0);
  std::array<std::uint16_t, 288> codes;
  std::array<std::uint8_t, size> deepest{};
  for (std::size_t i = 0; i < count; ++i) {
    if (!lengths[i]) continue;
    codes[i] = static_cast<std::uint16_t>(reversed(next[lengths[i]]++, lengths[i]));
    std::uint8_t& deep = deepest[codes[i] & mask];
    if (lengths[i] > kBits) deep = std::max(deep, lengths[i]);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned length = lengths[i];
    if (!length) continue;
    std::uint32_t entry = length | static_cast<std::uint32_t>(i) << 16;
    if (use == Use::values && i < 256) entry |= kLiteral;
    if (use == Use::values && i == 256) entry |= kEnd;
    if (use == Use::values && i > 256) {
      entry = i < 286 ? length | kLengths[i - 257].extra << 8 | std::uint32_t{kLengths[i - 257].base} << 16 : 0;
    }
    if (use == Use::distances) {
      entry = i < 30 ? length | kDistances[i].extra << 8 | std::uint32_t{kDistances[i].base} << 16 : 0;
    }
    if (length <= kBits) {
      for (std::uint32_t at = codes[i]; at < size; at += 1u << length) entries_[at] = entry;
      continue;
    }
    const std::uint32_t first = codes[i] & mask, deeper = deepest[first] - kBits;
    if (!entries_[first]) {
      entries_[first] = kFurther | deeper << 8 | static_cast<std::uint32_t>(entries_.size()) << 16;
      entries_.resize(entries_.size() + (std::size_t{1} << deeper), 0);
    }
    const std::size_t base = entries_[first] >> 16;
    for (std::uint32_t at = codes[i] >> kBits; at < 1u << deeper; at += 1u << (length - kBits)) {
      entries_[base + at] = entry;
    }
  }
  return true;
}

template class CodeTable<7>;
template class CodeTable<8>;
template class CodeTable<10>;

}  // namespace steelyard
