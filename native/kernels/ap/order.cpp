// A radix sort by the upper 33 of the score's order-preserving bits, three passes of 11; the few scores that agree in
// those are sorted among themselves.
#include "ap/order.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

namespace steelyard {
namespace {

constexpr std::size_t kDigitBits = 11, kDigits = std::size_t{1} << kDigitBits, kPasses = 3;
constexpr std::size_t kLowBits = 64 - kPasses * kDigitBits;

// Bits that rise as the score falls. Both zeros are one.
inline std::uint64_t falling_bits(double score) {
  const auto bits = std::bit_cast<std::uint64_t>(score == 0.0 ? 0.0 : score);
  const std::uint64_t rising = bits >> 63 ? ~bits : bits | (std::uint64_t{1} << 63);
  return ~rising;
}

struct Keyed {
  std::uint64_t key;
  std::uint32_t row;
  std::uint32_t positive;
};

// Radix passes over the upper bits, then each run of events that agree in them is put in order by all bits.
void sort_keyed(std::vector<Keyed>& a) {
  const std::size_t n = a.size();
  std::vector<Keyed> b(n);
  std::vector<std::array<std::uint32_t, kDigits>> counts(kPasses);
  for (auto& count : counts) count.fill(0);
  for (const Keyed& item : a) {
    for (std::size_t pass = 0; pass < kPasses; ++pass) {
      ++counts[pass][(item.key >> (kLowBits + pass * kDigitBits)) % kDigits];
    }
  }
  for (std::size_t pass = 0; pass < kPasses; ++pass) {
    auto& count = counts[pass];
    if (std::any_of(count.begin(), count.end(), [&](std::uint32_t c) { return c == n; })) continue;
    std::uint32_t start = 0;
    for (auto& c : count) start += std::exchange(c, start);
    for (const Keyed& item : a) b[count[(item.key >> (kLowBits + pass * kDigitBits)) % kDigits]++] = item;
    a.swap(b);
  }
  for (std::size_t i = 0; i < n;) {
    std::size_t end = i + 1;
    bool ordered = true;
    for (; end < n && a[end].key >> kLowBits == a[i].key >> kLowBits; ++end) ordered &= a[end - 1].key <= a[end].key;
    if (!ordered) {
      auto less = [](const Keyed& x, const Keyed& y) { return x.key != y.key ? x.key < y.key : x.row < y.row; };
      std::sort(a.begin() + static_cast<std::ptrdiff_t>(i), a.begin() + static_cast<std::ptrdiff_t>(end), less);
    }
    i = end;
  }
}

}  // namespace

bool rank_order(View<double> scores, View<std::uint8_t> positive, std::uint32_t* order, std::uint8_t* last,
                std::uint8_t* marked) {
  const std::size_t n = scores.size();
  bool numbers = true;
  std::vector<Keyed> a(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double score = scores[i];
    numbers &= !std::isnan(score);
    a[i] = {falling_bits(score), static_cast<std::uint32_t>(i), positive[i]};
  }
  if (numbers) sort_keyed(a);
  for (std::size_t i = 0; i < n; ++i) {
    order[i] = a[i].row;
    marked[i] = a[i].positive != 0;
    last[i] = i + 1 == n || a[i].key != a[i + 1].key;
  }
  return numbers;
}

}  // namespace steelyard
