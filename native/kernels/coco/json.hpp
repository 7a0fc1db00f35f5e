// A strict JSON cursor over a part of a file.
//
// It reads what a schema asks for and checks all that is skipped: grammar, escapes, UTF-8, depth. The text ends in a
// NUL, which is not JSON, so that no byte needs a bounds check: whoever meets it asks `stop()`. Where the text is only
// the part of a file that was read so far, running into its end throws NeedMore and the caller reads on; else every
// fault is a Fault with the place of the byte.
#pragma once

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "coco/json_parts.hpp"

namespace steelyard {

class Cursor {
 public:
  static constexpr int kDepth = 128;

  // `text[size]` must be NUL. `whole`: the text ends where the file ends.
  Cursor(const char* text, std::size_t size, bool whole) : begin_(text), p_(text), end_(text + size), whole_(whole) {}

  std::size_t at() const { return static_cast<std::size_t>(p_ - begin_); }
  void go(std::size_t at) { p_ = begin_ + at; }
  bool ended() const { return p_ >= end_; }
  char peek() const { return *p_; }
  void step() { ++p_; }

  [[noreturn]] void stop(const char* what) const {
    if (p_ >= end_) {
      if (!whole_) throw NeedMore{};
      throw Fault{at(), "the file ends in the middle", true, -1, {}, -1};
    }
    throw Fault{at(), what, true, -1, {}, -1};
  }
  [[noreturn]] void refuse(std::size_t at, std::string what) const {
    throw Fault{at, std::move(what), false, -1, {}, -1};
  }

  void space() {
    while (*p_ == ' ' || *p_ == '\n' || *p_ == '\r' || *p_ == '\t') ++p_;
  }
  bool take(char c) {
    space();
    if (*p_ != c) return false;
    ++p_;
    return true;
  }
  void expect(char c, const char* what) {
    if (!take(c)) stop(what);
  }

  // Steps over exactly these bytes, if they stand here.
  bool take_same(const Literal& literal) {
    if (end_ - p_ < static_cast<std::ptrdiff_t>(sizeof literal.bytes) || !literal.matches(p_)) return false;
    p_ += literal.size;
    return true;
  }
  // The bytes from a place up to here.
  Literal since(std::size_t from) const { return Literal(begin_ + from, at() - from); }

  // What stands here, in words; for messages about values of the wrong type.
  const char* kind() const {
    switch (*p_) {
      case '{': return "an object";
      case '[': return "an array";
      case '"': return "a text";
      case 't':
      case 'f': return "a truth value";
      case 'n': return "null";
      default: return "a number";
    }
  }
  bool number_here() const { return *p_ == '-' || static_cast<unsigned char>(*p_ - '0') <= 9; }

  // A number. Where it is `integral` (written as an integer of up to 18 digits), `whole` is it without rounding.
  struct Number {
    double value;
    std::int64_t whole;
    bool integral;
  };
  Number number() {
    space();
    if (!number_here()) wrong_type("a number is expected");
    const char* start = p_;
    const bool negative = *p_ == '-';
    if (negative) ++p_;
    std::uint64_t mantissa = 0;
    int digits = 0, exponent = 0;
    bool integral = true;
    if (*p_ == '0') {
      ++p_;
    } else if (digit()) {
      digits = some_digits(mantissa);
    } else {
      word_for_number(start);
    }
    if (*p_ == '.') {
      ++p_;
      integral = false;
      if (!digit()) stop("a digit is expected behind the decimal point");
      const int fraction = some_digits(mantissa);
      digits += fraction;
      exponent = -fraction;
    }
    bool scientific = false;
    if (*p_ == 'e' || *p_ == 'E') {
      ++p_;
      integral = false;
      scientific = true;
      if (*p_ == '+' || *p_ == '-') ++p_;
      if (!digit()) stop("a digit is expected in the exponent");
      do ++p_;
      while (digit());
    }
    if (p_ >= end_ && !whole_) throw NeedMore{};
    // Exact by one rounding (Clinger): both the digits and the power of ten are doubles without error.
    if (!scientific && digits <= 18 && mantissa < (1ull << 53)) {
      static constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                          1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};
      const double value = static_cast<double>(mantissa) / powers[-exponent];
      const std::int64_t whole = static_cast<std::int64_t>(mantissa);
      return {negative ? -value : value, negative ? -whole : whole, integral};
    }
    double value = 0;
    if (!integral && !scientific && digits <= 18 && divided(mantissa, -exponent, value))
      return {negative ? -value : value, 0, false};
    const auto [stopped, error] = std::from_chars(start, p_, value);
    if (error == std::errc::result_out_of_range) {
      // Too large, or so small that it is nothing: only the first is a fault.
      value = too_small(start, p_) ? 0.0 : HUGE_VAL;
    } else if (stopped != p_) {
      refuse(static_cast<std::size_t>(start - begin_), "a number that cannot be read");
    }
    if (!std::isfinite(value)) refuse(static_cast<std::size_t>(start - begin_), "the number is too large");
    const std::int64_t whole = static_cast<std::int64_t>(mantissa);
    if (integral && digits <= 18) return {value, negative ? -whole : whole, true};
    return {value, 0, false};
  }

  // A text. `out` null: only checked. Gives a view of the raw bytes where nothing is escaped.
  std::string_view text(std::string* scratch) {
    space();
    if (*p_ != '"') wrong_type("a text is expected");
    ++p_;
    const char* start = p_;
    for (;;) {
      plain_run();
      const unsigned char c = static_cast<unsigned char>(*p_);
      if (c == '"') {
        std::string_view view(start, static_cast<std::size_t>(p_ - start));
        ++p_;
        return view;
      }
      if (c == '\\') break;
      if (c >= 0x80) utf8();
      else if (c < 0x20) stop("a control character inside a text");
      else ++p_;
    }
    std::string local;
    std::string& out = scratch ? *scratch : local;
    out.assign(start, static_cast<std::size_t>(p_ - start));
    for (;;) {
      const char* from = p_;
      plain_run();
      out.append(from, p_);
      const unsigned char c = static_cast<unsigned char>(*p_);
      if (c == '"') {
        ++p_;
        return out;
      }
      if (c == '\\') {
        ++p_;
        escape(out);
      } else if (c >= 0x80) {
        const char* from = p_;
        utf8();
        out.append(from, p_);
      } else if (c < 0x20) {
        stop("a control character inside a text");
      } else {
        out.push_back(static_cast<char>(c));
        ++p_;
      }
    }
  }

  void skip(int depth = 0) {
    space();
    switch (*p_) {
      case '"': text(nullptr); return;
      case 't': word("true"); return;
      case 'f': word("false"); return;
      case 'n': word("null"); return;
      case '[': {
        if (depth >= kDepth) stop("nested too deeply");
        ++p_;
        if (take(']')) return;
        do {
          space();
          if (number_here()) skip_number();
          else skip(depth + 1);
        } while (take(','));
        expect(']', "',' or ']' is expected");
        return;
      }
      case '{': {
        if (depth >= kDepth) stop("nested too deeply");
        ++p_;
        if (take('}')) return;
        do {
          space();
          if (*p_ != '"') stop("a key in quotes is expected");
          text(nullptr);
          expect(':', "':' is expected");
          skip(depth + 1);
        } while (take(','));
        expect('}', "',' or '}' is expected");
        return;
      }
      default:
        if (!number_here()) wrong_type("a value is expected");
        skip_number();
    }
  }

  bool truth_value() {
    space();
    if (*p_ == 't') {
      word("true");
      return true;
    }
    word("false");
    return false;
  }

  // A value of the wrong type, or no value at all.
  [[noreturn]] void wrong_type(const char* expected) {
    if (ended()) stop("");
    const char* start = p_;
    if (*p_ == 'N' || *p_ == 'I') word_for_number(start);
    const char* here = kind();
    if (std::strchr("{[\"tfn-0123456789", *p_) == nullptr) stop(expected);
    refuse(at(), std::string(here) + " where " + expected);
  }

 private:
  bool digit() const { return static_cast<unsigned char>(*p_ - '0') <= 9; }

  // Steps over digits and appends them to a number, which wraps where there are too many; gives how many there were, at
  // most 1,000. There is one at least.
  int some_digits(std::uint64_t& number) {
    int count = 0;
    if constexpr (std::endian::native == std::endian::little) {
      while (end_ - p_ >= 8) {
        std::uint64_t v;
        const int n = leading_digits(p_, v);
        if (n == 0) return count;
        number = with_digits(number, v, n);
        p_ += n;
        count = std::min(count + n, 1000);
        if (n < 8) return count;
      }
    }
    for (; digit(); ++p_) {
      number = number * 10 + static_cast<unsigned>(*p_ - '0');
      count = std::min(count + 1, 1000);
    }
    return count;
  }

  void skip_digits() {
    if constexpr (std::endian::native == std::endian::little) {
      while (end_ - p_ >= 8) {
        std::uint64_t v;
        const int n = leading_digits(p_, v);
        p_ += n;
        if (n < 8) return;
      }
    }
    while (digit()) ++p_;
  }

  [[noreturn]] void word_for_number(const char* start) {
    if (p_ >= end_ && !whole_) throw NeedMore{};
    if (*p_ == 'N' || *p_ == 'I') {
      p_ = start;
      throw Fault{at(), "NaN and Infinity are not numbers in JSON", true, -1, {}, -1};
    }
    stop("a digit is expected");
  }

  void word(const char* expected) {
    for (const char* w = expected; *w; ++w, ++p_) {
      if (*p_ != *w) stop("an unknown word");
    }
  }

  void skip_number() {
    if (*p_ == '-') ++p_;
    if (*p_ == '0') ++p_;
    else if (digit()) skip_digits();
    else word_for_number(p_);
    if (*p_ == '.') {
      ++p_;
      if (!digit()) stop("a digit is expected behind the decimal point");
      skip_digits();
    }
    if (*p_ == 'e' || *p_ == 'E') {
      ++p_;
      if (*p_ == '+' || *p_ == '-') ++p_;
      if (!digit()) stop("a digit is expected in the exponent");
      do ++p_;
      while (digit());
    }
  }

  // Eight bytes at a time, while none of them is a quote, a backslash, a control character or beyond ASCII.
  void plain_run() {
    constexpr std::uint64_t ones = 0x0101010101010101ull, high = 0x8080808080808080ull;
    while (end_ - p_ >= 8) {
      std::uint64_t v;
      std::memcpy(&v, p_, 8);
      const std::uint64_t quote = v ^ (ones * '"'), slash = v ^ (ones * '\\');
      const std::uint64_t special = (v | (v - ones * 0x20) | (quote - ones) | (slash - ones)) & high;
      if (special) return;
      p_ += 8;
    }
  }

  void utf8() {
    const auto* s = reinterpret_cast<const unsigned char*>(p_);
    auto tail = [&](int i) { return (s[i] & 0xC0) == 0x80; };
    const unsigned char c = s[0];
    if (end_ - p_ < 4 && !whole_) throw NeedMore{};
    if (c >= 0xC2 && c <= 0xDF && tail(1)) {
      p_ += 2;
    } else if ((c & 0xF0) == 0xE0 && tail(1) && tail(2) && !(c == 0xE0 && s[1] < 0xA0) && !(c == 0xED && s[1] > 0x9F)) {
      p_ += 3;
    } else if (c >= 0xF0 && c <= 0xF4 && tail(1) && tail(2) && tail(3) && !(c == 0xF0 && s[1] < 0x90) &&
               !(c == 0xF4 && s[1] > 0x8F)) {
      p_ += 4;
    } else {
      stop("bytes that are not UTF-8");
    }
  }

  unsigned hex4() {
    unsigned v = 0;
    for (int i = 0; i < 4; ++i, ++p_) {
      const char c = *p_;
      unsigned d;
      if (c >= '0' && c <= '9') d = static_cast<unsigned>(c - '0');
      else if (c >= 'a' && c <= 'f') d = static_cast<unsigned>(c - 'a') + 10;
      else if (c >= 'A' && c <= 'F') d = static_cast<unsigned>(c - 'A') + 10;
      else stop("four hexadecimal digits are expected behind \\u");
      v = v * 16 + d;
    }
    return v;
  }

  void escape(std::string& out) {
    switch (*p_) {
      case '"': out.push_back('"'); break;
      case '\\': out.push_back('\\'); break;
      case '/': out.push_back('/'); break;
      case 'b': out.push_back('\b'); break;
      case 'f': out.push_back('\f'); break;
      case 'n': out.push_back('\n'); break;
      case 'r': out.push_back('\r'); break;
      case 't': out.push_back('\t'); break;
      case 'u': {
        ++p_;
        unsigned code = hex4();
        if (code >= 0xD800 && code <= 0xDBFF && *p_ == '\\' && p_[1] == 'u') {
          p_ += 2;
          const unsigned low = hex4();
          if (low < 0xDC00 || low > 0xDFFF) stop("half of a surrogate pair");
          code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        } else if (code >= 0xD800 && code <= 0xDFFF) {
          stop("half of a surrogate pair");
        }
        encode_utf8(code, out);
        return;
      }
      default: stop("an unknown escape");
    }
    ++p_;
  }

  const char* begin_;
  const char* p_;
  const char* end_;
  bool whole_;
};

}  // namespace steelyard
