// Samples of a PNG: see png_pixels.hpp.
#include "maps/png_pixels.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace steelyard {
namespace {

std::uint8_t paeth_of(int a, int b, int c) {
  const int da = std::abs(b - c), db = std::abs(a - c), dc = std::abs(a + b - 2 * c);
  return static_cast<std::uint8_t>(da <= db && da <= dc ? a : db <= dc ? b : c);
}

// One row; `above` is the row before it, zeros for the first.
bool undo_filter(const std::uint8_t* line, const std::uint8_t* above, std::size_t n, std::size_t step,
                 std::uint8_t* out) {
  const std::uint8_t filter = line[0], *p = line + 1;
  const std::size_t head = std::min(step, n);
  switch (filter) {
    case 0: std::copy(p, p + n, out); return true;
    case 1:
      std::copy(p, p + head, out);
      for (std::size_t i = head; i < n; ++i) out[i] = static_cast<std::uint8_t>(p[i] + out[i - step]);
      return true;
    case 2:
      for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<std::uint8_t>(p[i] + above[i]);
      return true;
    case 3:
      for (std::size_t i = 0; i < head; ++i) out[i] = static_cast<std::uint8_t>(p[i] + above[i] / 2);
      for (std::size_t i = head; i < n; ++i) out[i] = static_cast<std::uint8_t>(p[i] + (out[i - step] + above[i]) / 2);
      return true;
    case 4:
      for (std::size_t i = 0; i < head; ++i) out[i] = static_cast<std::uint8_t>(p[i] + above[i]);
      for (std::size_t i = head; i < n; ++i) {
        out[i] = static_cast<std::uint8_t>(p[i] + paeth_of(out[i - step], above[i], above[i - step]));
      }
      return true;
    default: return false;
  }
}

}  // namespace

std::size_t png_row_bytes(const PngHeader& header) { return (header.width * header.depth * header.channels + 7) / 8; }

PngFault read_png_rows(const PngHeader& header, const std::uint8_t* data, std::uint8_t* out) {
  std::vector<std::uint8_t> packed;
  packed.reserve(header.packed);
  for (std::size_t i = 0; i < header.at.size(); ++i) {
    packed.insert(packed.end(), data + header.at[i], data + header.at[i] + header.length[i]);
  }
  Inflater inflater(packed.data(), packed.size(), Frame::zlib);
  const std::size_t n = png_row_bytes(header), step = std::max<std::size_t>(1, header.depth * header.channels / 8);
  const std::vector<std::uint8_t> zeros(n, 0);
  const std::uint8_t* above = zeros.data();
  for (std::size_t y = 0; y < header.height; ++y, above = out, out += n) {
    const std::uint8_t* line = inflater.take(1 + n);
    if (!line) return PngFault::data;
    if (!undo_filter(line, above, n, step, out)) return PngFault::filter;
  }
  return inflater.finish() ? PngFault::none : PngFault::data;
}

}  // namespace steelyard
