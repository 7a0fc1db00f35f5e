// Unpacking: see inflate.hpp.
#include "maps/inflate.hpp"

#include <algorithm>
#include <cstring>

#include "maps/checksums.hpp"
#include "maps/words.hpp"

namespace steelyard {
namespace {

constexpr std::size_t kWindow = 1u << 15;  // how far a distance reaches
constexpr std::size_t kRoom = 1u << 16;    // what is unpacked before the window is moved
constexpr std::size_t kPiece = 1u << 14;   // what is unpacked at once: it stays in the cache until it is taken
constexpr std::size_t kSlack = 2 + 258 + Inflater::kBehind;  // what a step may write behind the room that it asks for

inline std::uint32_t little(const std::uint8_t* p) {
  return p[0] | std::uint32_t{p[1]} << 8 | std::uint32_t{p[2]} << 16 | std::uint32_t{p[3]} << 24;
}

// Copies bytes from `distance` before `out`. Up to 32 bytes behind the end are written over.
inline void copy_back(std::uint8_t* out, std::size_t length, std::size_t distance) {
  const std::uint8_t* from = out - distance;
  std::uint8_t* const end = out + length;
  if (distance >= 16) {
    do {
      std::memcpy(out, from, 16);
      out += 16;
      from += 16;
    } while (out < end);
    return;
  }
  if (distance == 1) {
    std::memset(out, *from, length);
    return;
  }
  std::uint8_t pattern[16];
  for (std::size_t i = 0; i < 16; ++i) pattern[i] = i < distance ? from[i] : pattern[i - distance];
  const std::size_t step = 16 - 16 % distance;
  do {
    std::memcpy(out, pattern, 16);
    out += step;
  } while (out < end);
}

}  // namespace

Inflater::Inflater(const std::uint8_t* data, std::size_t size, Frame frame)
    : in_(data), end_(data + size), frame_(frame), step_(frame == Frame::zlib ? open_zlib() : open_gzip()) {}

Inflater::Step Inflater::open_zlib() {
  if (end_ - in_ < 2) return Step::fault;
  const unsigned method = in_[0], flags = in_[1];
  if ((method & 15) != 8 || method >> 4 > 7 || (method * 256 + flags) % 31 || flags & 32) return Step::fault;
  in_ += 2;
  check_ = 1;
  return Step::block;
}

Inflater::Step Inflater::open_gzip() {
  const std::uint8_t* const start = in_;
  if (end_ - in_ < 10 || in_[0] != 31 || in_[1] != 139 || in_[2] != 8 || in_[3] & 0xE0) return Step::fault;
  const unsigned flags = in_[3];
  in_ += 10;
  if (flags & 4) {  // further fields
    if (end_ - in_ < 2) return Step::fault;
    const std::ptrdiff_t length = in_[0] + 256 * in_[1];
    if (end_ - in_ < 2 + length) return Step::fault;
    in_ += 2 + length;
  }
  for (unsigned text : {8u, 16u}) {  // the file's name and a remark, which end in zero
    if (!(flags & text)) continue;
    in_ = std::find(in_, end_, std::uint8_t{0});
    if (in_ == end_) return Step::fault;
    ++in_;
  }
  if (flags & 2) {
    if (end_ - in_ < 2) return Step::fault;
    if ((crc32(0, start, static_cast<std::size_t>(in_ - start)) & 0xFFFF) != in_[0] + 256u * in_[1]) return Step::fault;
    in_ += 2;
  }
  check_ = 0;
  total_ = 0;
  first_ = made_;
  return Step::block;
}

bool Inflater::has(unsigned count) {
  while (count_ < count && in_ < end_) {
    bits_ |= std::uint64_t{*in_++} << count_;
    count_ += 8;
  }
  return count_ >= count;
}

// The next bits, of which `has` has said that they are there.
std::uint32_t Inflater::bits(unsigned count) {
  const auto value = static_cast<std::uint32_t>(bits_ & ((std::uint64_t{1} << count) - 1));
  bits_ >>= count;
  count_ -= count;
  return value;
}

const std::uint8_t* Inflater::take(std::size_t size) {
  while (made_ - taken_ < size) {
    if (step_ == Step::done || step_ == Step::fault) return nullptr;
    run();
  }
  const std::uint8_t* result = buffer_.data() + taken_;
  taken_ += size;
  return result;
}

const std::uint8_t* Inflater::take_some(std::size_t& size) {
  while (made_ == taken_ && step_ != Step::done && step_ != Step::fault) run();
  size = made_ - taken_;
  return take(size);
}

bool Inflater::finish() {
  while (made_ == taken_ && step_ != Step::done && step_ != Step::fault) run();
  return made_ == taken_ && step_ == Step::done;
}

// Unpacks until the room is full or the data end.
void Inflater::run() {
  make_room();
  const std::size_t before = made_;
  limit_ = std::min(buffer_.size() - kSlack, made_ + kPiece);
  while (made_ < limit_ && step_ != Step::trailer && step_ != Step::done && step_ != Step::fault) {
    if (step_ == Step::block) step_ = begin_block();
    if (step_ == Step::stored) step_ = run_stored();
    if (step_ == Step::coded) step_ = run_coded();
  }
  const std::uint8_t* made = buffer_.data() + before;
  check_ = frame_ == Frame::zlib ? adler32(check_, made, made_ - before) : crc32(check_, made, made_ - before);
  total_ += made_ - before;
  if (step_ == Step::trailer) step_ = end_data();
}

// Room for a piece: by letting go of what neither a distance nor a caller needs any more, or by more memory.
void Inflater::make_room() {
  if (buffer_.empty()) buffer_.resize(kWindow + kRoom + kSlack);
  if (buffer_.size() - made_ > kSlack) return;
  const std::size_t kept = std::max(made_ - taken_, std::min(made_, kWindow)), gone = made_ - kept;
  std::memmove(buffer_.data(), buffer_.data() + gone, kept);
  first_ -= std::min(first_, gone);
  taken_ -= gone;
  made_ = kept;
  if (buffer_.size() - made_ < kRoom) buffer_.resize(2 * buffer_.size());
}

Inflater::Step Inflater::begin_block() {
  if (last_) return Step::trailer;
  if (!has(3)) return Step::fault;
  last_ = bits(1);
  const std::uint32_t kind = bits(2);
  if (kind == 1) take_fixed_codes();
  if (kind == 1) return Step::coded;
  if (kind == 2) return read_codes() ? Step::coded : Step::fault;
  if (kind == 3) return Step::fault;
  bits(count_ & 7);
  if (!has(32)) return Step::fault;
  stored_ = bits(16);
  return bits(16) == (~stored_ & 0xFFFF) ? Step::stored : Step::fault;
}

void Inflater::take_fixed_codes() {
  if (fixed_) return;
  std::uint8_t lengths[288];
  for (std::size_t i = 0; i < 288; ++i) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
  values_.make(lengths, 288, decltype(values_)::Use::values);
  std::fill_n(lengths, 32, std::uint8_t{5});
  distances_.make(lengths, 32, decltype(distances_)::Use::distances);
  fixed_ = true;
}

bool Inflater::read_codes() {
  static constexpr std::uint8_t kOrder[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
  fixed_ = false;
  if (!has(14)) return false;
  const std::size_t values = bits(5) + 257, distances = bits(5) + 1, listed = bits(4) + 4;
  if (values > 286 || distances > 30) return false;
  std::uint8_t lengths[286 + 30] = {};
  for (std::size_t i = 0; i < listed; ++i) {
    if (!has(3)) return false;
    lengths[kOrder[i]] = static_cast<std::uint8_t>(bits(3));
  }
  CodeTable<7> codes;
  if (!codes.make(lengths, 19, CodeTable<7>::Use::lengths)) return false;
  std::fill_n(lengths, 19, std::uint8_t{0});
  for (std::size_t i = 0; i < values + distances;) {
    has(7 + 7);  // a code and its further bits; fewer may be left
    const std::uint32_t entry = codes.find(bits_), length = entry & 255, code = entry >> 16;
    if (!length || length > count_) return false;
    bits(length);
    if (code < 16) {
      lengths[i++] = static_cast<std::uint8_t>(code);
      continue;
    }
    const unsigned further = code == 16 ? 2 : code == 17 ? 3 : 7;
    if (further > count_ || (code == 16 && i == 0)) return false;
    const std::size_t times = bits(further) + (code == 18 ? 11 : 3);
    if (times > values + distances - i) return false;
    std::fill_n(lengths + i, times, code == 16 ? lengths[i - 1] : std::uint8_t{0});
    i += times;
  }
  return lengths[256] && values_.make(lengths, values, decltype(values_)::Use::values) &&
         distances_.make(lengths + values, distances, decltype(distances_)::Use::distances);
}

Inflater::Step Inflater::run_stored() {
  while (stored_ && count_) {
    if (made_ >= limit_) return Step::stored;
    buffer_[made_++] = static_cast<std::uint8_t>(bits(8));
    --stored_;
  }
  if (!stored_) return Step::block;
  bits_ = 0;  // bits behind those that count are read again
  const std::size_t part = std::min(stored_, limit_ - made_);
  if (static_cast<std::size_t>(end_ - in_) < part) return Step::fault;
  if (part) std::memcpy(buffer_.data() + made_, in_, part);
  in_ += part;
  made_ += part;
  stored_ -= part;
  return stored_ ? Step::stored : Step::block;
}

Inflater::Step Inflater::run_coded() {
  using Values = decltype(values_);
  std::uint8_t* const start = buffer_.data() + first_;
  std::uint8_t *out = buffer_.data() + made_, *const limit = buffer_.data() + limit_;
  const std::uint8_t* in = in_;
  std::uint64_t word = bits_;
  unsigned count = count_;
  Step step = Step::coded;
  // 49 bits or more; fewer at the end of the data, where each use is checked against their number.
  auto refill = [&] {
    if (end_ - in >= 8) {
      word |= eight_bytes(in) << count;
      in += (63 - count) >> 3;
      count |= 56;
      return;
    }
    for (; count < 56 && in < end_; count += 8) word |= std::uint64_t{*in++} << count;
  };
  auto drop = [&](unsigned used) {
    word >>= used;
    count -= used;
  };
  while (out < limit) {
    refill();
    std::uint32_t entry = values_.find(word);
    if (entry & Values::kLiteral) {  // two of them need no more than 30 bits
      if ((entry & 255) > count) {
        step = Step::fault;
        break;
      }
      drop(entry & 255);
      *out++ = static_cast<std::uint8_t>(entry >> 16);
      entry = values_.find(word);
      if (entry & Values::kLiteral && (entry & 255) <= count) {
        drop(entry & 255);
        *out++ = static_cast<std::uint8_t>(entry >> 16);
        entry = values_.find(word);
      }
      if (entry & Values::kLiteral) continue;
      refill();
    }
    const unsigned length_bits = entry & 255, length_extra = (entry >> 8) & 15;
    if (!length_bits || length_bits + length_extra > count) {
      step = Step::fault;
      break;
    }
    drop(length_bits);
    if (entry & Values::kEnd) {
      step = Step::block;
      break;
    }
    const std::size_t length = (entry >> 16) + (word & ((1u << length_extra) - 1));
    drop(length_extra);
    entry = distances_.find(word);
    const unsigned distance_bits = entry & 255, distance_extra = (entry >> 8) & 15;
    if (!distance_bits || distance_bits + distance_extra > count) {
      step = Step::fault;
      break;
    }
    drop(distance_bits);
    const std::size_t distance = (entry >> 16) + (word & ((1u << distance_extra) - 1));
    drop(distance_extra);
    if (distance > static_cast<std::size_t>(out - start)) {
      step = Step::fault;
      break;
    }
    copy_back(out, length, distance);
    out += length;
  }
  made_ = static_cast<std::size_t>(out - buffer_.data());
  in_ = in;
  bits_ = word;
  count_ = count;
  return step;
}

// The checksum behind the data; a gzip file may go on with further data of the same kind.
Inflater::Step Inflater::end_data() {
  bits(count_ & 7);
  const unsigned size = frame_ == Frame::zlib ? 4 : 8;
  std::uint8_t trailer[8];
  for (unsigned i = 0; i < size; ++i) {
    if (!has(8)) return Step::fault;
    trailer[i] = static_cast<std::uint8_t>(bits(8));
  }
  if (frame_ == Frame::zlib) {
    std::reverse(trailer, trailer + 4);
    return little(trailer) == check_ ? Step::done : Step::fault;
  }
  if (little(trailer) != check_ || little(trailer + 4) != (total_ & 0xFFFFFFFF)) return Step::fault;
  in_ -= count_ / 8;  // whole bytes that were read ahead
  bits_ = 0;
  count_ = 0;
  last_ = false;
  return end_ - in_ >= 2 && in_[0] == 31 && in_[1] == 139 ? open_gzip() : Step::done;
}

}  // namespace steelyard
