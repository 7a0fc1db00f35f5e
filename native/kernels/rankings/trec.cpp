// Reads TREC files: runs (query Q0 document rank score tag) and judgements (query iteration document relevance).
//
// The file is cut at line ends into chunks that are read in parallel and joined in order, so the result does not depend
// on the number of threads. Nothing is copied: a document is a place in the file's own bytes, and its key is made while
// those bytes are in cache. A line that is wrong is given back as its place and what is wrong with it; the caller knows
// the file's name and counts the lines.
#include "rankings/trec.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "support/pool.hpp"
#include "rankings/texts.hpp"

namespace steelyard {
namespace {

constexpr std::size_t kTrecChunk = std::size_t{1} << 22;

bool slow_number(const char* p, const char* end, double& out) {
#if defined(__cpp_lib_to_chars) && __cpp_lib_to_chars >= 201611L
  const auto [stop, error] = std::from_chars(p, end, out);
  if (error == std::errc::result_out_of_range) {
    const std::string copy(p, end);
    out = std::strtod(copy.c_str(), nullptr);  // 0 or infinity
    return stop == end;
  }
  return error == std::errc() && stop == end;
#else
  const std::string copy(p, end);
  char* stop;
  out = std::strtod(copy.c_str(), &stop);
  return stop == copy.c_str() + copy.size();
#endif
}

// A decimal number, exact: up to 19 digits and a power of ten that a double holds are one multiplication or division
// of exact numbers; anything else goes the library's way.
bool parse_number(const char* p, const char* end, double& out) {
  static constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (p < end && *p == '+') ++p;  // from_chars knows no plus sign
  const char* first = p;
  const bool negative = p < end && *p == '-';
  if (negative) ++p;
  std::uint64_t digits = 0;
  int count = 0, shift = 0;
  const char* begin = p;
  for (; p < end && *p >= '0' && *p <= '9'; ++p, ++count) digits = digits * 10 + static_cast<unsigned>(*p - '0');
  bool any = p > begin;
  if (p < end && *p == '.') {
    const char* point = ++p;
    for (; p < end && *p >= '0' && *p <= '9'; ++p, ++count) digits = digits * 10 + static_cast<unsigned>(*p - '0');
    shift = static_cast<int>(point - p);
    any |= p > point;
  }
  if (!any && !(p < end && (*p == 'i' || *p == 'I' || *p == 'n' || *p == 'N'))) return false;
  if (p < end && any && (*p == 'e' || *p == 'E')) {
    const char* q = p + 1;
    const bool minus = q < end && *q == '-';
    if (q < end && (*q == '-' || *q == '+')) ++q;
    int power = 0;
    const char* power_begin = q;
    for (; q < end && *q >= '0' && *q <= '9' && power < 10000; ++q) power = power * 10 + (*q - '0');
    if (q == power_begin) return false;
    if (q == end) {
      shift += minus ? -power : power;
      p = q;
    }
  }
  if (p != end || count > 18 || digits > (std::uint64_t{1} << 53) || shift < -22 || shift > 22) {
    return slow_number(first, end, out);
  }
  const double value = static_cast<double>(digits);
  out = shift < 0 ? value / kPowers[-shift] : value * kPowers[shift];
  if (negative) out = -out;
  return true;
}

struct Chunk {
  std::vector<std::int64_t> segment_row;
  std::vector<std::uint64_t> place, key, segment_place;
  std::vector<double> value;
  Wrong wrong = Wrong::nothing;
  std::size_t wrong_at = 0, wrong_fields = 0;
};

// Reads the lines that begin in [from, to).
void read_lines(const char* text, std::size_t bytes, std::size_t from, std::size_t to, std::size_t value_field,
                std::size_t fields, Chunk& out) {
  const std::size_t guess = (to - from) / 24 + 16;
  out.place.reserve(guess);
  out.key.reserve(guess);
  out.value.reserve(guess);
  std::string_view query_before;
  const char* const end = text + bytes;
  const char* p = text + from;
  const char* const stop = text + to;
  while (p < stop) {
    const char* const line = p;
    std::string_view field[6];
    std::size_t found = 0;
    for (;;) {
      while (p < end && *p != '\n' && is_blank(*p)) ++p;
      if (p == end || *p == '\n') break;
      const char* word = p;
      while (p < end && !is_blank(*p)) ++p;
      if (found < fields) field[found] = {word, static_cast<std::size_t>(p - word)};
      ++found;
    }
    if (p < end) ++p;
    if (found == 0) continue;
    if (found != fields) {
      out.wrong = Wrong::fields;
      out.wrong_at = static_cast<std::size_t>(line - text);
      out.wrong_fields = found;
      return;
    }
    double value;
    const std::string_view number = field[value_field];
    const bool good = parse_number(number.data(), number.data() + number.size(), value);
    if (!good || !std::isfinite(value)) {
      out.wrong = good ? Wrong::not_finite : Wrong::number;
      out.wrong_at = static_cast<std::size_t>(line - text);
      out.wrong_fields = value_field;
      return;
    }
    if (field[0].size() > kLongestId || field[2].size() > kLongestId) {
      out.wrong = Wrong::too_long;
      out.wrong_at = static_cast<std::size_t>(line - text);
      return;
    }
    auto place = [&](std::string_view id) { return make_place(static_cast<std::size_t>(id.data() - text), id.size()); };
    if (out.segment_row.empty() || field[0] != query_before) {
      query_before = field[0];
      out.segment_row.push_back(static_cast<std::int64_t>(out.value.size()));
      out.segment_place.push_back(place(field[0]));
    }
    out.place.push_back(place(field[2]));
    out.key.push_back(text_key(field[2].data(), field[2].size()));
    out.value.push_back(value);
  }
}

// The place behind the first line end at or after `place`, which lies in the text.
std::size_t next_line(const char* text, std::size_t bytes, std::size_t place) {
  const void* found = std::memchr(text + place, '\n', bytes - place);
  return found ? static_cast<std::size_t>(static_cast<const char*>(found) - text) + 1 : bytes;
}

}  // namespace

void read_trec(View<std::uint8_t> file, std::size_t fields, std::size_t value_field, long threads, TrecLines& out) {
  const char* text = reinterpret_cast<const char*>(file.data());
  const std::size_t bytes = file.size();
  const std::size_t start = bytes >= 3 && std::memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
  const std::size_t count = (bytes + kTrecChunk - 1) / kTrecChunk;
  std::vector<Chunk> chunks(count);
  std::vector<std::size_t> row_of(count + 1, 0), segment_of(count + 1, 0);
  parallel_for(count, thread_count(threads), [&](std::size_t c) {
    const std::size_t from = c == 0 ? start : next_line(text, bytes, c * kTrecChunk - 1);
    const std::size_t to = c + 1 == count ? bytes : next_line(text, bytes, (c + 1) * kTrecChunk - 1);
    if (from < to) read_lines(text, bytes, from, to, value_field, fields, chunks[c]);
  });
  for (std::size_t c = 0; c < count && out.wrong == Wrong::nothing; ++c) {
    out.wrong = chunks[c].wrong;
    out.wrong_at = chunks[c].wrong_at;
    out.wrong_fields = chunks[c].wrong_fields;
  }
  // A query that goes on over a cut is one segment.
  std::vector<char> continues(count, 0);
  const Chunk* before = nullptr;
  for (std::size_t c = 0; c < count; ++c) {
    const Chunk& chunk = chunks[c];
    if (before && !chunk.segment_row.empty()) {
      continues[c] = text_at(text, before->segment_place.back()) == text_at(text, chunk.segment_place.front());
    }
    if (!chunk.segment_row.empty()) before = &chunk;
    row_of[c + 1] = row_of[c] + chunk.value.size();
    segment_of[c + 1] = segment_of[c] + chunk.segment_row.size() - (continues[c] ? 1 : 0);
  }
  const std::size_t rows = row_of[count], segments = segment_of[count];
  out.place.resize(rows);
  out.key.resize(rows);
  out.value.resize(rows);
  out.segment_row.resize(segments);
  out.segment_place.resize(segments);
  parallel_for(count, thread_count(threads), [&](std::size_t c) {
    const Chunk chunk = std::move(chunks[c]);  // its memory goes as soon as it is copied
    std::copy(chunk.place.begin(), chunk.place.end(), out.place.data() + row_of[c]);
    std::copy(chunk.key.begin(), chunk.key.end(), out.key.data() + row_of[c]);
    std::copy(chunk.value.begin(), chunk.value.end(), out.value.data() + row_of[c]);
    std::size_t to = segment_of[c];
    for (std::size_t s = continues[c] ? 1 : 0; s < chunk.segment_row.size(); ++s, ++to) {
      out.segment_row[to] = chunk.segment_row[s] + static_cast<std::int64_t>(row_of[c]);
      out.segment_place[to] = chunk.segment_place[s];
    }
  });
}

}  // namespace steelyard
