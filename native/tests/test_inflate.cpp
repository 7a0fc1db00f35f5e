// Unpacking and PNG rows. Packed bytes were written by zlib 1.2.13; what they hold is known by how they were made.
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "maps/checksums.hpp"
#include "maps/inflate.hpp"
#include "maps/png.hpp"
#include "maps/png_file.hpp"

namespace {

using namespace steelyard;
using Bytes = std::vector<std::uint8_t>;

Bytes from_hex(const std::string& text) {
  Bytes bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

// All that the data hold, or "refused". The data stand in memory of their own size, so that a sanitizer sees a read
// behind them.
std::string unpacked(const Bytes& data, Frame frame) {
  const Bytes own(data);
  Inflater inflater(own.data(), own.size(), frame);
  std::string all;
  for (std::size_t size = 1; size;) {
    const std::uint8_t* piece = inflater.take_some(size);
    if (size) all.append(reinterpret_cast<const char*>(piece), size);
  }
  return inflater.finish() ? all : "refused";
}

const Bytes kFixed = from_hex("78da4b4c84010014e103cb");               // codes of the standard: ten times a
const Bytes kTriples = from_hex("78da4b4c4a4e444500417c06e5");         // six times abc
const Bytes kStored = from_hex("7801010600f9ff73746f726564093c0292");  // a stored block: "stored"
const Bytes kZipped = from_hex("1f8b0800000000000203cb48cdc9c957c84090008088f9e511000000");  // "hello hello hello"
const Bytes kDynamic = from_hex(  // 400 bytes with codes of their own, which sum to 388
    "78da3d500902c33008e2f8ff9f07c4ae6ba74644080480a49990444866f414b040f7d53a39406172b27ef9d72a240490c930a572dbcc781aa3"
    "2897b45ed1810ac34b1eb047f925884d923d54c56863ddc3e97aea1a2b610bb8264fb55e8971bba62214b7ca73f83dde12548ea6e7916caa7e"
    "c6a5ff5ede448de368ced269325f716aa4e70ae7fb406745bbf6dd2577253f488f0185");

TEST(checksums_have_their_known_values) {
  const auto* digits = reinterpret_cast<const std::uint8_t*>("123456789");
  EQUAL(crc32(0, digits, 9), 0xCBF43926u);
  EQUAL(crc32(crc32(0, digits, 4), digits + 4, 5), 0xCBF43926u);
  const auto* word = reinterpret_cast<const std::uint8_t*>("Wikipedia");
  EQUAL(adler32(1, word, 9), 0x11E60398u);
  const Bytes full(100000, 255);  // n bytes of 255: low is 1 + 255 n, high n + 255 n (n + 1) / 2, both modulo 65521
  const std::uint64_t n = full.size(), low = (1 + 255 * n) % 65521, high = (n + 255 * n * (n + 1) / 2) % 65521;
  EQUAL(adler32(1, full.data(), full.size()), static_cast<std::uint32_t>(high << 16 | low));
  EQUAL(adler32(adler32(1, full.data(), 777), full.data() + 777, full.size() - 777),
        static_cast<std::uint32_t>(high << 16 | low));
}

TEST(blocks_of_every_kind_are_unpacked) {
  EQUAL(unpacked(kFixed, Frame::zlib), "aaaaaaaaaa");
  EQUAL(unpacked(kTriples, Frame::zlib), "abcabcabcabcabcabc");
  EQUAL(unpacked(kStored, Frame::zlib), "stored");
  EQUAL(unpacked(kZipped, Frame::gzip), "hello hello hello");
  const std::string dynamic = unpacked(kDynamic, Frame::zlib);
  int sum = 0;
  for (char c : dynamic) sum += c;
  EQUAL(dynamic.size(), 400u);
  EQUAL(sum, 388);
  Bytes twice = kZipped;  // a gzip file may hold several, one after the other
  twice.insert(twice.end(), kZipped.begin(), kZipped.end());
  EQUAL(unpacked(twice, Frame::gzip), "hello hello hellohello hello hello");
}

TEST(data_that_end_early_are_refused) {
  for (const Bytes& whole : {kFixed, kTriples, kStored, kDynamic}) {
    for (std::size_t end = 0; end < whole.size(); ++end) {
      EQUAL(unpacked(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(end)), Frame::zlib), "refused");
    }
  }
  for (std::size_t end = 0; end < kZipped.size(); ++end) {
    EQUAL(unpacked(Bytes(kZipped.begin(), kZipped.begin() + static_cast<std::ptrdiff_t>(end)), Frame::gzip), "refused");
  }
}

// kZipped with another head: flags, and what they announce.
Bytes zipped(std::uint8_t flags, const std::string& more) {
  Bytes file(kZipped.begin(), kZipped.begin() + 10);
  file[3] = flags;
  file.insert(file.end(), more.begin(), more.end());
  if (flags & 2) {  // the low half of the head's own checksum
    const std::uint32_t check = crc32(0, file.data(), file.size());
    file.push_back(static_cast<std::uint8_t>(check)), file.push_back(static_cast<std::uint8_t>(check >> 8));
  }
  file.insert(file.end(), kZipped.begin() + 10, kZipped.end());
  return file;
}

TEST(heads_of_gzip_files) {
  using namespace std::string_literals;
  const std::string hello = "hello hello hello";
  EQUAL(unpacked(zipped(4, "\3\0abc"s), Frame::gzip), hello);  // further fields
  EQUAL(unpacked(zipped(8, "name\0"s), Frame::gzip), hello);
  EQUAL(unpacked(zipped(16, "remark\0"s), Frame::gzip), hello);
  EQUAL(unpacked(zipped(2, ""), Frame::gzip), hello);
  EQUAL(unpacked(zipped(31,
                        "\1\0a"
                        "name\0remark\0"s),
                 Frame::gzip),
        hello);
  const Bytes whole = zipped(30,
                             "\1\0a"
                             "name\0remark\0"s);
  const std::size_t head = 10 + 3 + 5 + 7 + 2;
  for (std::size_t end = 0; end < head; ++end) {
    EQUAL(unpacked(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(end)), Frame::gzip), "refused");
  }
  for (const std::size_t at : {std::size_t{0}, std::size_t{1}, std::size_t{2}, head - 2, head - 1}) {
    Bytes bad = whole;
    bad[at] ^= 1;
    EQUAL(unpacked(bad, Frame::gzip), "refused");
  }
  EQUAL(unpacked(zipped(32, ""), Frame::gzip), "refused");              // a flag that means nothing
  for (const Bytes& more : {Bytes{31}, Bytes{31, 0}, Bytes{0, 139}}) {  // not the start of another file
    Bytes file = kZipped;
    file.insert(file.end(), more.begin(), more.end());
    EQUAL(unpacked(file, Frame::gzip), hello);
  }
  Bytes twice = kZipped;  // a further file that is cut
  twice.insert(twice.end(), kZipped.begin(), kZipped.begin() + 9);
  EQUAL(unpacked(twice, Frame::gzip), "refused");
}

TEST(damaged_data_are_refused) {
  for (const char* text : {
           "78da07",                              // a kind of block that does not exist
           "78db4b4c84010014e103cb",              // a header whose check is wrong
           "78204b4c84010014e103cb",              // a dictionary that is not there
           "78da4b4c84010014e103cc",              // another checksum
           "7801010600f8ff73746f726564093c0292",  // a length that its complement denies
           "78da03fe0f0000",                      // a distance of 24577 or more in front of the first byte
           "78da05e0",                            // lengths of codes that no code has
           "88d64b4c84010014e103cb",              // a window larger than 32 kB
           "78daf50000",                          // 287 codes of values
           "78da051e00",                          // 31 codes of distances
       }) {
    EQUAL(unpacked(from_hex(text), Frame::zlib), "refused");
  }
  for (std::size_t at = 0; at < kDynamic.size(); ++at) {  // one wrong byte: by the checksum at the latest
    Bytes bad = kDynamic;
    bad[at] ^= 0x1;
    EQUAL(unpacked(bad, Frame::zlib), "refused");
  }
}

TEST(pieces_of_any_size_are_the_same_bytes) {
  Bytes stored = {0x78, 0x01};  // three stored blocks of 65535 bytes: more than the window
  Bytes raw;
  for (int block = 0; block < 3; ++block) {
    for (std::uint8_t byte :
         {std::uint8_t{block == 2}, std::uint8_t{255}, std::uint8_t{255}, std::uint8_t{0}, std::uint8_t{0}}) {
      stored.push_back(byte);
    }
    for (int i = 0; i < 65535; ++i) {
      raw.push_back(static_cast<std::uint8_t>(i * 7 + block));
      stored.push_back(raw.back());
    }
  }
  const std::uint32_t check = adler32(1, raw.data(), raw.size());
  for (int shift = 24; shift >= 0; shift -= 8) stored.push_back(static_cast<std::uint8_t>(check >> shift));
  for (std::size_t step : {std::size_t{1}, std::size_t{1000}, std::size_t{65535}, raw.size()}) {
    Inflater inflater(stored.data(), stored.size(), Frame::zlib);
    for (std::size_t at = 0; at + step <= raw.size(); at += step) {
      const std::uint8_t* piece = inflater.take(step);
      if (!piece || std::memcmp(piece, raw.data() + at, step)) return EQUAL(at, raw.size());
    }
    const std::size_t rest = raw.size() % step;
    if (rest) CHECK(inflater.take(rest));
    CHECK(inflater.finish());
    CHECK(!inflater.take(1));
  }
}

// Lines by the standard's formulas: a filter's number, then bytes less what the filter expects.
TEST(rows_are_unfiltered) {
  const std::vector<Bytes> rows = {{5, 5, 5, 9}, {5, 5, 9, 9}, {5, 5, 9, 9}, {7, 7, 9, 9}, {7, 5, 9, 9}};
  const std::vector<Bytes> lines = {{1, 5, 0, 0, 4},
                                    {2, 0, 0, 4, 0},
                                    {4, 0, 0, 0, 0},
                                    {0, 7, 7, 9, 9},
                                    {3, 4, 254, 2, 0}};  // less (0+7)/2, (7+7)/2, (5+9)/2, (9+9)/2
  PngRows png(4, 8, 1);
  for (std::size_t y = 0; y < rows.size(); ++y) {
    Bytes line = lines[y];
    line.resize(line.size() + PngRows::kBehind, 77);
    CHECK(png.next(line.data()) == PngFault::none);
    Bytes row;
    for (const PixelRun& run : png.runs()) row.resize(run.end, static_cast<std::uint8_t>(run.value));
    CHECK(row == rows[y]);
  }
  Bytes wrong(5 + PngRows::kBehind, 9);
  CHECK(png.next(wrong.data()) == PngFault::filter);
}

// A file of chunks, each with its own checksum.
Bytes png_of(const std::vector<std::pair<const char*, Bytes>>& chunks) {
  Bytes file = from_hex("89504e470d0a1a0a");
  for (const auto& [name, body] : chunks) {
    for (int shift = 24; shift >= 0; shift -= 8) file.push_back(static_cast<std::uint8_t>(body.size() >> shift));
    Bytes named(name, name + 4);
    named.insert(named.end(), body.begin(), body.end());
    const std::uint32_t check = crc32(0, named.data(), named.size());
    file.insert(file.end(), named.begin(), named.end());
    for (int shift = 24; shift >= 0; shift -= 8) file.push_back(static_cast<std::uint8_t>(check >> shift));
  }
  return file;
}

TEST(kinds_of_pictures) {
  const auto fault = [](const Bytes& file) { return read_png_header(file.data(), file.size()).fault; };
  const auto kind = [&](Bytes last) {  // bits, type of colours, packing, filter, interlacing
    Bytes head = {0, 0, 0, 9, 0, 0, 0, 1};
    head.insert(head.end(), last.begin(), last.end());
    return fault(png_of({{"IHDR", head}, {"IDAT", kFixed}, {"IEND", {}}}));
  };
  for (const Bytes& good : std::vector<Bytes>{
           {1, 0, 0, 0, 0}, {4, 3, 0, 0, 1}, {8, 2, 0, 0, 0}, {16, 0, 0, 0, 0}, {16, 6, 0, 0, 0}, {8, 4, 0, 0, 0}}) {
    EQUAL(kind(good), "");
  }
  EQUAL(kind({8, 7, 0, 0, 0}), "has 8 bits and colours of type 7");
  EQUAL(kind({8, 1, 0, 0, 0}), "has 8 bits and colours of type 1");
  EQUAL(kind({8, 0, 1, 0, 0}), "has 8 bits and colours of type 0");
  EQUAL(kind({8, 0, 0, 1, 0}), "has 8 bits and colours of type 0");
  EQUAL(kind({8, 0, 0, 0, 2}), "has 8 bits and colours of type 0");
  EQUAL(kind({4, 2, 0, 0, 0}), "has 4 bits and colours of type 2");
  EQUAL(kind({16, 3, 0, 0, 0}), "has 16 bits and colours of type 3");
  EQUAL(kind({3, 0, 0, 0, 0}), "has 3 bits and colours of type 0");
  const Bytes good = {0, 0, 0, 9, 0, 0, 0, 1, 8, 0, 0, 0, 0};
  const std::string early = " before the picture does";
  EQUAL(fault(png_of({{"IHDR", {1, 2}}, {"IDAT", kFixed}, {"IEND", {}}})), "the file ends at byte 57" + early);
  EQUAL(fault(png_of({{"IHDR", good}, {"IEND", {}}})), "the file ends at byte 45" + early);
  EQUAL(fault(png_of({{"IHDR", good}, {"tEXt", Bytes(2000)}, {"IEND", {}}})), "the file ends at byte 2,057" + early);
  EQUAL(fault(Bytes(11)), "the file ends at byte 11" + early);
  Bytes bad = png_of({{"IHDR", good}, {"\1\2\3\4", {5}}});
  bad.back() ^= 1;
  EQUAL(fault(bad), "the checksum of a chunk at byte 33 is wrong");
}

TEST(chunks_are_looked_at) {
  const Bytes file = png_of({{"IHDR", {0, 0, 0, 9, 0, 0, 0, 1, 8, 0, 0, 0, 0}},
                             {"IDAT", Bytes(kFixed.begin(), kFixed.begin() + 4)},
                             {"IDAT", Bytes(kFixed.begin() + 4, kFixed.end())},
                             {"IEND", {}}});
  const PngHeader header = read_png_header(file.data(), file.size());
  EQUAL(header.fault, "");
  EQUAL(header.width, 9u);
  PngReader reader(header, file.data());  // ten times a: a filter that does not exist
  CHECK(reader.next() == PngFault::filter);
  CHECK(reader.next() == PngFault::data);
  for (std::size_t end = 8; end < file.size(); ++end) CHECK(!read_png_header(file.data(), end).fault.empty());
  Bytes bad = file;
  bad[45] ^= 1;
  EQUAL(read_png_header(bad.data(), bad.size()).fault, "the checksum of IDAT at byte 33 is wrong");
}

}  // namespace
