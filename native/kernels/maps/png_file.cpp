// A PNG file: see png_file.hpp.
#include "maps/png_file.hpp"

#include <algorithm>
#include <cstring>

#include "maps/checksums.hpp"

namespace steelyard {
namespace {

std::uint32_t big(const std::uint8_t* p) {
  return std::uint32_t{p[0]} << 24 | std::uint32_t{p[1]} << 16 | std::uint32_t{p[2]} << 8 | p[3];
}

// A whole number with commas between thousands.
std::string grouped(std::size_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

bool is_letter(std::uint8_t c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

// Fills in what the header's 13 bytes say; false where no such picture exists.
bool read_kind(const std::uint8_t* p, PngHeader& header) {
  header.width = big(p);
  header.height = big(p + 4);
  header.depth = p[8];
  const unsigned depth = p[8], colour = p[9], interlaced = p[12];
  constexpr std::size_t kChannels[7] = {1, 0, 3, 1, 2, 0, 4};
  if (colour > 6 || !kChannels[colour] || p[10] || p[11] || interlaced > 1) return false;
  const bool few = depth == 1 || depth == 2 || depth == 4, wide = depth == 16;
  if (!(depth == 8 || (few && (colour == 0 || colour == 3)) || (wide && colour != 3))) return false;
  header.channels = kChannels[colour];
  header.palette = colour == 3;
  header.interlaced = interlaced;
  header.plain = !(interlaced || colour == 4 || (wide && colour != 0));
  return true;
}

}  // namespace

std::vector<std::uint8_t> join_png_parts(const PngHeader& header, const std::uint8_t* data) {
  std::vector<std::uint8_t> all;
  if (header.at.size() < 2) return all;
  all.reserve(header.packed);
  for (std::size_t i = 0; i < header.at.size(); ++i) {
    all.insert(all.end(), data + header.at[i], data + header.at[i] + header.length[i]);
  }
  return all;
}

PngHeader read_png_header(const std::uint8_t* data, std::size_t size) {
  PngHeader header;
  const std::uint8_t* kind = nullptr;
  bool ended = false;
  std::size_t at = 8;  // behind the signature
  while (!ended && size >= 12 && at <= size - 12) {
    const std::size_t length = big(data + at);
    const std::uint8_t* name = data + at + 4;
    if (length > size - 12 - at) break;
    if (crc32(0, name, 4 + length) != big(name + 4 + length)) {
      const bool word = std::all_of(name, name + 4, is_letter);
      const std::string shown = word ? std::string(name, name + 4) : "a chunk";
      header.fault = "the checksum of " + shown + " at byte " + grouped(at) + " is wrong";
      return header;
    }
    if (!std::memcmp(name, "IHDR", 4) && length == 13) kind = name + 4;
    if (!std::memcmp(name, "IDAT", 4)) {
      header.at.push_back(at + 8);
      header.length.push_back(length);
      header.packed += length;
    }
    ended = !std::memcmp(name, "IEND", 4);
    at += 12 + length;
  }
  if (!ended || !kind || header.at.empty()) {
    header.fault = "the file ends at byte " + grouped(size) + " before the picture does";
  } else if (!read_kind(kind, header)) {
    header.fault = "has " + std::to_string(kind[8]) + " bits and colours of type " + std::to_string(kind[9]);
  }
  return header;
}

PngReader::PngReader(const PngHeader& header, const std::uint8_t* data)
    : joined_(join_png_parts(header, data)),
      inflater_(joined_.empty() ? data + header.at[0] : joined_.data(), header.packed, Frame::zlib),
      rows_(header.width, header.depth, header.channels) {}

PngFault PngReader::next() {
  const std::uint8_t* line = inflater_.take(rows_.line_bytes());
  return line ? rows_.next(line) : PngFault::data;
}

}  // namespace steelyard
