#include "language/replies.hpp"

#include <cstddef>

#include "support/number_text.hpp"

namespace steelyard::language {
namespace {

constexpr std::size_t kLongestReply = std::size_t{1} << 16;
constexpr std::string_view kBoxKeys[] = {"bbox_2d", "box_2d", "bbox", "box", "point_2d", "point"};

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// A place in a text whose last character ends a list, an object or a fence, so that no number runs over its end.
class Scan {
 public:
  explicit Scan(std::string_view text) : p_(text.data()), end_(p_ + text.size()) {}

  bool ended() const { return p_ == end_; }
  bool next(char c) {
    if (p_ == end_ || *p_ != c) return false;
    ++p_;
    return true;
  }
  bool word(char c) {  // with blanks around it
    blanks();
    if (!next(c)) return false;
    blanks();
    return true;
  }
  void blanks() {
    while (p_ != end_ && is_space(*p_)) ++p_;
  }
  // A text without escapes; what could open a thought or a fence is left to the full rules.
  bool text(std::string_view& out) {
    if (!next('"')) return false;
    const char* first = p_;
    while (p_ != end_ && *p_ != '"') {
      if (*p_ == '\\' || *p_ == '<' || *p_ == '`' || static_cast<unsigned char>(*p_) < 0x20) return false;
      ++p_;
    }
    out = {first, static_cast<std::size_t>(p_ - first)};
    return next('"');
  }
  // A number of JSON with up to 15 digits and without an exponent.
  bool number(double& out) {
    const char* first = p_ + (p_ != end_ && *p_ == '-');
    if (first == end_ || !is_digit(*first) || (*first == '0' && first + 1 != end_ && is_digit(first[1]))) return false;
    const char* last = plain_number(p_, out);
    if (!last || last[-1] == '.') return false;
    p_ = last;
    return true;
  }
  bool four(std::array<double, 4>& out) {
    if (!next('[')) return false;
    for (std::size_t i = 0; i < 4; ++i) {
      if (i && !next(',')) return false;
      blanks();
      if (!number(out[i])) return false;
      blanks();
    }
    return next(']');
  }
  // An object with a box, and perhaps a label after it.
  bool keyed(std::array<double, 4>& out) {
    std::string_view key;
    if (!word('{') || !text(key) || !is_key(key) || !word(':') || !four(out)) return false;
    if (word(',') && (!text(key) || key != "label" || !word(':') || !text(key))) return false;
    blanks();
    return next('}');
  }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_key(std::string_view key) {
    for (const std::string_view known : kBoxKeys) {
      if (key == known) return true;
    }
    return false;
  }

  const char* p_;
  const char* end_;
};

}  // namespace

std::optional<std::array<double, 4>> usual_box(std::string_view text) {
  if (text.size() > kLongestReply) return {};
  text = trimmed(text);
  if (text.starts_with("```")) {
    if (text.size() < 6 || !text.ends_with("```")) return {};
    text = text.substr(3, text.size() - 6);
    if (text.starts_with("json")) text.remove_prefix(4);
    text = trimmed(text);
  }
  if (text.empty() || (text.back() != ']' && text.back() != '}')) return {};
  std::array<double, 4> box;
  if (Scan plain(text); plain.four(box) && plain.ended()) return box;
  Scan scan(text);
  const bool listed = scan.next('[');
  scan.blanks();
  if (!scan.keyed(box) || (listed && !scan.word(']')) || !scan.ended()) return {};
  return box;
}

}  // namespace steelyard::language
