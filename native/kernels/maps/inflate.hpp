// Deflated data (RFC 1951) in the frame of zlib (RFC 1950) or gzip (RFC 1952), unpacked a piece at a time. Pure C++.
//
// Every read is checked: data that end early, codes that do not exist, distances that reach back too far and checksums
// that are wrong are refused, and never more memory is taken than the pieces asked for need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "maps/codes.hpp"

namespace steelyard {

enum class Frame { zlib, gzip };

// Unpacks from memory that outlives it.
class Inflater {
 public:
  Inflater(const std::uint8_t* data, std::size_t size, Frame frame);

  // The next `size` bytes, which stay until the next call; null where fewer come or the data are damaged. Further bytes
  // of memory (kBehind) may be read behind them, which mean nothing.
  static constexpr std::size_t kBehind = 64;
  const std::uint8_t* take(std::size_t size);
  // What is unpacked and not yet taken, at least a byte of it; `size` is 0 at the end of the data or of what is whole.
  const std::uint8_t* take_some(std::size_t& size);
  // Whether all was taken, and nothing was wrong with it.
  bool finish();

 private:
  enum class Step { block, stored, coded, trailer, done, fault };

  Step open_zlib();
  Step open_gzip();
  bool has(unsigned count);  // reads more bits where there are fewer
  std::uint32_t bits(unsigned count);
  void run();
  void make_room();
  Step begin_block();
  bool read_codes();
  void take_fixed_codes();
  Step run_stored();
  Step run_coded();
  Step end_data();

  const std::uint8_t *in_, *end_;
  Frame frame_;
  bool last_ = false;       // whether the block is the last one
  bool fixed_ = false;      // whether the tables are those of the standard
  std::uint64_t bits_ = 0;  // what was read and is not used, from the lowest bit on
  unsigned count_ = 0;      // how many bits that are
  std::size_t stored_ = 0;  // bytes of a stored block that are left
  CodeTable<10> values_;
  CodeTable<8> distances_;
  std::vector<std::uint8_t> buffer_;  // what was taken last, what is unpacked, and room
  std::size_t first_ = 0;             // the places in the buffer of what distances may reach,
  std::size_t taken_ = 0, made_ = 0;  // of what is not yet taken, and of the room
  std::size_t limit_ = 0;             // where a step ends; it may go on behind it a little
  std::uint32_t check_ = 0;
  std::uint64_t total_ = 0;
  Step step_;
};

}  // namespace steelyard
