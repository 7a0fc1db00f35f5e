// Fingerprints of columns: see fingerprint.hpp.
#include "support/fingerprint.hpp"

#include <cstring>

namespace steelyard {

std::array<std::uint8_t, 32> fingerprint(std::span<const std::uint8_t> bytes) {
  Fingerprint print;
  auto word = [](const std::uint8_t* x) {
    std::uint64_t w = 0;
    if constexpr (std::endian::native == std::endian::little) {
      std::memcpy(&w, x, sizeof w);
    } else {
      for (std::size_t b = 0; b < 8; ++b) w |= std::uint64_t{x[b]} << (8 * b);
    }
    return w;
  };
  auto add = [&](const std::uint8_t* x) { print.add(word(x), word(x + 8), word(x + 16), word(x + 24)); };
  const std::uint8_t* x = bytes.data();
  std::size_t i = 0;
  for (; i + 32 <= bytes.size(); i += 32) add(x + i);
  std::uint8_t rest[32] = {};
  for (std::size_t j = 0; i + j < bytes.size(); ++j) rest[j] = x[i + j];
  add(rest);
  return print.end(bytes.size());
}

std::array<std::uint8_t, 32> fingerprint_words(const std::uint64_t* x, std::size_t n, std::ptrdiff_t step) {
  Fingerprint print;
  auto at = [&](std::size_t i) { return i < n ? x[static_cast<std::ptrdiff_t>(i) * step] : 0; };
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) print.add(at(i), at(i + 1), at(i + 2), at(i + 3));
  print.add(at(i), at(i + 1), at(i + 2), at(i + 3));
  return print.end(8 * n);
}

}  // namespace steelyard
