#include "anomalies/lzw.hpp"

#include <algorithm>
#include <array>

#include "support/checks.hpp"

namespace steelyard::anomalies {

std::vector<std::uint8_t> unpack_lzw(View<std::uint8_t> packed, std::size_t count) {
  constexpr std::uint32_t kClear = 256, kEnd = 257, kMost = 4096, kNone = kMost;
  // A text is where it stands in what was unpacked before: its first byte and its length.
  std::array<std::size_t, kMost> start{}, length{};
  std::vector<std::uint8_t> out;
  // A code of nine bits or more stands for at most 4096 bytes: what is declared beyond that cannot come.
  out.reserve(std::min(count, packed.size() * kMost + kMost));
  std::uint32_t next = 258, width = 9, before = kNone;
  std::uint64_t held = 0;
  unsigned bits = 0;
  std::size_t before_start = 0, before_length = 0;
  for (std::size_t at = 0; at < packed.size() && out.size() < count;) {
    while (bits < width && at < packed.size()) {
      held = (held << 8 | packed[at++]) & 0xffffffffu;
      bits += 8;
    }
    if (bits < width) break;
    bits -= width;
    const auto code = static_cast<std::uint32_t>(held >> bits & ((1u << width) - 1));
    if (code == kEnd) break;
    if (code == kClear) {
      next = 258;
      width = 9;
      before = kNone;
      continue;
    }
    const std::size_t here = out.size();
    if (before == kNone) {
      require(code < 256, "the packed bytes are damaged");
      out.push_back(static_cast<std::uint8_t>(code));
    } else if (code < 256) {
      out.push_back(static_cast<std::uint8_t>(code));
    } else if (code < next) {
      for (std::size_t i = 0; i < length[code]; ++i) out.push_back(out[start[code] + i]);
    } else {
      require(code == next && next < kMost, "the packed bytes are damaged");
      for (std::size_t i = 0; i < before_length; ++i) out.push_back(out[before_start + i]);
      out.push_back(out[before_start]);
    }
    if (before != kNone && next < kMost) {
      start[next] = before_start;  // followed by the first byte of this text, which stands right behind it
      length[next] = before_length + 1;
      ++next;
      width = next + 1 >= 2048 ? 12 : next + 1 >= 1024 ? 11 : next + 1 >= 512 ? 10 : 9;
    }
    before = code;
    before_start = here;
    before_length = out.size() - here;
  }
  if (out.size() > count) out.resize(count);
  return out;
}

}  // namespace steelyard::anomalies
