// A PNG file: its chunks, and its rows one after the other. Pure C++; no Python here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "maps/inflate.hpp"
#include "maps/png.hpp"

namespace steelyard {

// What the chunks of a file say. `fault` says what is wrong with them; then the rest means nothing.
struct PngHeader {
  std::string fault;
  std::size_t height = 0, width = 0, depth = 0, channels = 0;
  bool palette = false, interlaced = false;
  bool plain = false;                   // whether PngReader reads it: not interlaced, and of a kind that PngRows knows
  std::size_t packed = 0;               // bytes of deflated data,
  std::vector<std::size_t> at, length;  // and the places of their parts in the file
};

// Looks at every chunk up to the end and at their checksums.
PngHeader read_png_header(const std::uint8_t* data, std::size_t size);

// The deflated data in one piece; empty where the file has them in one.
std::vector<std::uint8_t> join_png_parts(const PngHeader& header, const std::uint8_t* data);

// Reads the rows of a plain file, which outlives it, as header and data.
class PngReader {
 public:
  PngReader(const PngHeader& header, const std::uint8_t* data);

  // One more row, which is then in `runs`.
  PngFault next();
  // Whether the data end behind the last row, as they should.
  PngFault finish() { return inflater_.finish() ? PngFault::none : PngFault::data; }
  std::span<const PixelRun> runs() const { return rows_.runs(); }

 private:
  std::vector<std::uint8_t> joined_;  // parts of deflated data, where there are several
  Inflater inflater_;
  PngRows rows_;
};

}  // namespace steelyard
