// The rows of a PNG as runs of equal pixels. Pure C++; no Python here.
//
// Nearly all filtered bytes of a label map are zero. Zero bytes below a run of equal pixels give a run again, so that
// only the places are looked at where a byte is not zero or the row above changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "maps/pairs.hpp"

namespace steelyard {

// Pixels of one value, up to `end` (not included), after those of the run before.
struct PixelRun {
  std::uint32_t end, value;
};

// Runs of a row, from its first pixel on. Memory stays from row to row.
class RunList {
 public:
  std::span<const PixelRun> all() const { return {runs_.data(), count_}; }
  // The first run.
  void begin(std::size_t end, std::uint32_t value) {
    if (runs_.empty()) runs_.resize(64);
    runs_[0] = {static_cast<std::uint32_t>(end), value};
    count_ = 1;
  }
  // Pixels up to `end`, behind the last run.
  void put(std::size_t end, std::uint32_t value) {
    if (runs_[count_ - 1].value == value) return extend(end);
    if (count_ == runs_.size()) runs_.resize(2 * count_);
    runs_[count_++] = {static_cast<std::uint32_t>(end), value};
  }
  // Pixels up to `end` that are as the last one.
  void extend(std::size_t end) { runs_[count_ - 1].end = static_cast<std::uint32_t>(end); }
  std::size_t end() const { return runs_[count_ - 1].end; }

 private:
  std::vector<PixelRun> runs_;
  std::size_t count_ = 0;
};

enum class PngFault { none, data, filter, alpha };

// Takes lines (the filter's number and the filtered bytes) one after the other and holds the last row. Grey and palette
// of 1 to 16 bits (one channel), or three or four channels of 8 bits: red + 256 green + 65536 blue. A transparent pixel
// is a fault.
class PngRows {
 public:
  PngRows(std::size_t width, std::size_t depth, std::size_t channels);

  std::size_t line_bytes() const { return 1 + row_bytes_; }
  // One more line; the row is then in `runs`. Behind the line there are kBehind further bytes of memory, of any value.
  static constexpr std::size_t kBehind = 32;
  PngFault next(const std::uint8_t* line);
  // The last row, neighbours of different values.
  std::span<const PixelRun> runs() const { return converted_ ? pixels_.all() : row_.all(); }

 private:
  PngFault convert();

  std::size_t width_, depth_, channels_, row_bytes_, step_;  // step: from a byte to the same channel of the next pixel
  bool converted_;                                           // whether pixels are made of filtered units
  RunList row_, above_, pixels_;
};

// Adds to `counter` how often two values stand at the same place of two rows.
void count_runs(std::span<const PixelRun> a, std::span<const PixelRun> b, PairCounter& counter);

}  // namespace steelyard
