// The rows of a PNG as runs of equal pixels. Pure C++; no Python here.
//
// Nearly all filtered bytes of a label map are zero. Zero bytes below a run of equal pixels give a run again, so that
// only the places are looked at where a byte is not zero or the row above changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "maps/pairs.hpp"

namespace steelyard {

// Pixels of one value, up to `end` (not included), after those of the run before.
struct PixelRun {
  std::uint32_t end, value;
};

enum class PngFault { none, filter, alpha };

// Takes lines (the filter's number and the filtered bytes) one after the other and holds the last row. Grey and palette
// of 1 to 16 bits (one channel), or three or four channels of 8 bits: red + 256 green + 65536 blue. A transparent pixel
// is a fault.
class PngRows {
 public:
  PngRows(std::size_t width, std::size_t depth, std::size_t channels);

  std::size_t line_bytes() const { return 1 + row_bytes_; }
  // One more line; the row is then in `runs`.
  PngFault next(const std::uint8_t* line);
  // The last row, neighbours of different values.
  const std::vector<PixelRun>& runs() const { return converted_ ? pixels_ : row_; }

 private:
  PngFault convert();

  std::size_t width_, depth_, channels_, row_bytes_, step_;  // step: from a byte to the same channel of the next pixel
  bool converted_;                                           // whether pixels are made of filtered units
  std::vector<PixelRun> row_, above_, pixels_;
};

// Adds to `counter` how often two values stand at the same place of two rows.
void count_runs(const std::vector<PixelRun>& a, const std::vector<PixelRun>& b, PairCounter& counter);

}  // namespace steelyard
