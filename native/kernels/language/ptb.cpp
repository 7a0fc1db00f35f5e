// Penn Treebank tokenisation as COCO's captions are scored with: lower case, contractions apart, punctuation dropped.
//
// One pass over the bytes of UTF-8 text; every rule looks at most a word ahead, so that a caption of any length takes
// linear time. Bytes that are not valid UTF-8 separate tokens. Capitals beyond ASCII are left to the caller. The quirks
// are the original pipeline's: brackets come out as -lrb- and are not dropped (the list of dropped marks is in
// capitals), nor are repeated marks ("!!"); money and fractions are spelt in ASCII; characters beyond the first 65,536
// (emoji) are left out.
#include "language/ptb.hpp"

#include <array>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

namespace steelyard::language {
namespace {

using Texts = std::unordered_set<std::string_view>;

const Texts kDropped{"''", "'", "``", "`", ".", "?", "!", ",", ":", "-", "--", "...", ";"};
const Texts kAbbreviations{
    "mr",  "mrs",  "ms",   "dr",   "st",   "ave",  "av",   "blvd", "rd",  "ln",     "ct",   "jr",   "sr",    "prof",
    "col", "capt", "lt",   "sgt",  "sen",  "gov",  "rev",  "hon",  "inc", "co",     "corp", "ltd",  "bros",  "etc",
    "vs",  "jan",  "feb",  "apr",  "jul",  "aug",  "sep",  "sept", "oct", "nov",    "dec",  "mt",   "ft",    "no",
    "nos", "dept", "univ", "assn", "pres", "fig",  "esp",  "eq",   "vol", "messrs", "mmes", "ph",   "cf",    "ext",
    "sq",  "adm",  "brig", "cmdr", "maj",  "ph.d", "wm",   "fri",  "tue", "tues",   "thu",  "thur", "thurs", "calif",
    "fla", "kan",  "mich", "minn", "neb",  "okla", "tenn", "tex",  "wis"};
const Texts kSplitInTwo{"cannot", "gonna", "gotta", "lemme", "gimme", "wanna"};
const Texts kWhole{"o'clock", "s'mores", "c'mon", "li'l", "nor'easter", "cont'd", "c'est", "e'er", "cap'n"};
const std::unordered_map<std::string_view, std::string_view> kSpelt{
    {"\u00A3", "#"},   {"\u20AC", "$"},   {"\u20A0", "$"},   {"\u00A4", "$"},   {"\u00A2", "cents"},
    {"\u00BD", "1/2"}, {"\u00BC", "1/4"}, {"\u00BE", "3/4"}, {"\u2153", "1/3"}, {"\u2154", "2/3"}};

enum class Sort : std::uint8_t {
  space,
  letter,
  digit,
  mark,
  quote_open,
  quote_close,
  single_open,
  apostrophe,
  dash,
  dots
};

struct Char {
  Sort sort;
  std::uint8_t length;  // bytes
};

// The sort of the character at a place. Letters are everything beyond ASCII that is not a known mark or space.
Char look(std::string_view text, std::size_t at) {
  if (at >= text.size()) return {Sort::space, 1};
  const auto b = [&](std::size_t k) {
    return at + k < text.size() ? static_cast<std::uint8_t>(text[at + k]) : std::uint8_t{0};
  };
  const std::uint8_t c = b(0);
  if (c < 0x80) {
    if (c <= ' ' || c == 0x7F) return {Sort::space, 1};
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_') return {Sort::letter, 1};
    if (c >= '0' && c <= '9') return {Sort::digit, 1};
    if (c == '\'') return {Sort::apostrophe, 1};
    return {Sort::mark, 1};
  }
  const int more = c >= 0xF0 && c <= 0xF4 ? 3 : c >= 0xE0 && c < 0xF0 ? 2 : c >= 0xC2 && c < 0xE0 ? 1 : 0;
  if (more == 0) return {Sort::space, 1};
  std::uint32_t code = c & (0x3Fu >> more);
  for (int k = 1; k <= more; ++k) {
    if ((b(static_cast<std::size_t>(k)) & 0xC0) != 0x80) return {Sort::space, 1};
    code = code << 6 | (b(static_cast<std::size_t>(k)) & 0x3Fu);
  }
  const auto length = static_cast<std::uint8_t>(more + 1);
  switch (code) {
    case 0xA0:
    case 0x85:
    case 0x2028:
    case 0x2029:
    case 0x202F:
    case 0x3000:
    case 0xFEFF:
    case 0xFFFD:
    case 0x200D: return {Sort::space, length};
    case 0x2018:
    case 0x201B: return {Sort::single_open, length};
    case 0x2019: return {Sort::apostrophe, length};
    case 0x201C:
    case 0xAB: return {Sort::quote_open, length};
    case 0x201D:
    case 0xBB: return {Sort::quote_close, length};
    case 0x2013:
    case 0x2014:
    case 0x2015:
    case 0x96:
    case 0x97: return {Sort::dash, length};
    case 0x2026: return {Sort::dots, length};
    default: break;
  }
  if ((code >= 0x2000 && code <= 0x200B) || (code >= 0x80 && code < 0xA0) || code >= 0x10000) {
    return {Sort::space, length};
  }
  if ((code >= 0xA1 && code <= 0xBF && code != 0xAA && code != 0xB5 && code != 0xBA) || code == 0xD7 || code == 0xF7 ||
      (code >= 0x2010 && code <= 0x2BFF) || (code >= 0x3001 && code <= 0x3020)) {
    return {Sort::mark, length};
  }
  return {Sort::letter, length};
}

class Tokeniser {
 public:
  Tokeniser(std::string_view text, bool keep) : text_(text), keep_(keep) {}

  std::string run() {
    while (at_ < text_.size()) step();
    return std::move(out_);
  }

 private:
  Sort sort(std::size_t at) const { return look(text_, at).sort; }
  bool word_char(std::size_t at) const {
    const Sort s = sort(at);
    return at < text_.size() && (s == Sort::letter || s == Sort::digit);
  }
  char byte(std::size_t at) const { return at < text_.size() ? text_[at] : ' '; }
  static char low(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
  static bool upper(char c) { return c >= 'A' && c <= 'Z'; }
  bool digit(std::size_t at) const { return byte(at) >= '0' && byte(at) <= '9'; }

  std::string lowered(std::size_t from, std::size_t to) const {
    std::string out(text_.substr(from, to - from));
    for (char& c : out) c = low(c);
    return out;
  }

  void emit(std::string_view token) {
    if (token.empty() || (!keep_ && kDropped.contains(token))) return;
    if (!out_.empty()) out_ += ' ';
    out_ += token;
  }

  void step() {
    const Char c = look(text_, at_);
    switch (c.sort) {
      case Sort::space: at_ += c.length; return;
      case Sort::quote_open:
        emit("``");
        at_ += c.length;
        return;
      case Sort::quote_close:
        emit("''");
        at_ += c.length;
        return;
      case Sort::single_open:
        emit("`");
        at_ += c.length;
        return;
      case Sort::dash:
        emit("--");
        at_ += c.length;
        return;
      case Sort::dots:
        emit("...");
        at_ += c.length;
        return;
      case Sort::apostrophe: apostrophe(c.length); return;
      case Sort::letter:
      case Sort::digit: word(); return;
      case Sort::mark: mark(c.length); return;
    }
  }

  // The length of 's, 'm, 'd, 'll, 're, 've at an apostrophe, where no further letter follows; 0 where there is none.
  std::size_t clitic(std::size_t at, std::size_t mark) const {
    for (std::string_view end : {"s", "m", "d", "ll", "re", "ve"}) {
      bool same = true;
      for (std::size_t k = 0; k < end.size(); ++k) same = same && low(byte(at + mark + k)) == end[k];
      if (same && !word_char(at + mark + end.size())) return mark + end.size();
    }
    return 0;
  }

  void apostrophe(std::size_t length) {
    if (const std::size_t size = clitic(at_, length)) {
      emit(lowered_clitic(at_, length, size));
      at_ += size;
      return;
    }
    const std::size_t next = at_ + length;
    if (low(byte(next)) == 'n' && !word_char(next + 1)) {  // rock 'n' roll
      const bool closed = sort(next + 1) == Sort::apostrophe;
      emit(closed ? "'n'" : "'n");
      at_ = next + 1 + (closed ? look(text_, next + 1).length : 0);
      return;
    }
    if (byte(next) >= '2' && byte(next) <= '9' && byte(next + 1) == '0' && low(byte(next + 2)) == 's') {
      emit("'" + lowered(next, next + 3));
      at_ = next + 3;
      return;
    }
    for (std::string_view whole : {"em", "till", "til", "cause", "tis", "twas"}) {
      bool same = true;
      for (std::size_t k = 0; k < whole.size(); ++k) same = same && low(byte(next + k)) == whole[k];
      if (!same) continue;
      if (whole == "tis" || whole == "twas") whole = "t";
      emit("'" + std::string(whole));
      at_ = next + whole.size();
      return;
    }
    emit("'");
    at_ = next;
  }

  std::string lowered_clitic(std::size_t at, std::size_t mark, std::size_t size) const {
    return "'" + lowered(at + mark, at + size);
  }

  // Where the run of letters and digits from a place ends.
  std::size_t run_end(std::size_t at) const {
    while (word_char(at)) at += look(text_, at).length;
    return at;
  }

  // Where the number from a place ends (5, 1,000.50, .5, 6:40), which is the place itself where none begins.
  std::size_t number_end(std::size_t at) const {
    while (digit(at)) ++at;
    while ((byte(at) == '.' || byte(at) == ',' || byte(at) == ':') && digit(at + 1)) {
      for (++at; digit(at);) ++at;
    }
    return at;
  }

  bool is_address(std::size_t from) const {
    auto begins = [&](std::string_view start) {
      for (std::size_t k = 0; k < start.size(); ++k) {
        if (low(byte(from + k)) != start[k]) return false;
      }
      return true;
    };
    return begins("http://") || begins("https://") || begins("www.");
  }

  void word() {
    const std::size_t from = at_;
    if (is_address(from)) {
      std::size_t end = from;
      while (end < text_.size() && sort(end) != Sort::space) end += look(text_, end).length;
      while (std::string_view(".,;:!?)'\"").find(text_[end - 1]) != std::string_view::npos) --end;
      emit(lowered(from, end));
      at_ = end;
      return;
    }
    std::size_t end = run_end(from);
    bool dotted = false, slashed = false;
    for (;;) {
      bool more = false;
      const char c = byte(end);
      const std::size_t next = end + 1;
      const bool before_digit = digit(end - 1);
      if (!word_char(next)) break;
      if (c == '-' || c == '.' || c == '/') {
        more = true;
        dotted = dotted || c == '.';
        slashed = slashed || c == '/';
      } else if (c == ',' || c == ':') {
        more = before_digit && digit(next);
      } else if (c == '&') {
        more = upper(byte(end - 1)) && upper(byte(next));
      } else if (c == '@') {
        more = true;
        dotted = true;
      }
      if (!more) break;
      if (c == ':' && before_digit) {  // 6:40PM: the time ends with its digits
        end = next;
        while (digit(end)) ++end;
      } else {
        end = run_end(next);
      }
    }
    // An apostrophe inside or behind.
    const Char mark = look(text_, end);
    if (end < text_.size() && mark.sort == Sort::apostrophe && !slashed) {
      if (apostrophe_word(from, end, mark.length)) return;
    }
    if (byte(end) == '.' && ends_with_period(from, end, dotted)) {
      emit(lowered(from, end) + ".");
      // The period of an abbreviation also ends the sentence; as a mark it would be dropped.
      at_ = end + 1;
      if (keep_ && rest_is_blank(at_)) emit(".");
      return;
    }
    const std::string token = lowered(from, end);
    at_ = end;
    if (kSplitInTwo.contains(token)) {
      emit(token.substr(0, 3));
      emit(token.substr(3));
      return;
    }
    emit(token);
  }

  bool rest_is_blank(std::size_t at) const {
    while (at < text_.size() && sort(at) == Sort::space) at += look(text_, at).length;
    return at >= text_.size();
  }

  // Whether the period behind a word belongs to it.
  bool ends_with_period(std::size_t from, std::size_t end, bool dotted) const {
    const char after = byte(end + 1);
    if (after == ',' || after == ';') return true;
    const std::string word = lowered(from, end);
    if (dotted) {  // t.v., p.o.v.: single letters
      bool single = true;
      for (std::size_t k = 0; k < word.size(); ++k)
        single = single && (k % 2 == 1 ? word[k] == '.' : word[k] >= 'a' && word[k] <= 'z');
      return single || kAbbreviations.contains(word);
    }
    if (word.size() == 1 && word[0] >= 'a' && word[0] <= 'z') return !rest_is_blank(end + 1);
    if (kAbbreviations.contains(word)) {
      if (word == "no" || word == "nos" || word == "eq") {  // "No. 5", but "the answer is no."
        std::size_t k = end + 1;
        while (byte(k) == ' ' && k < text_.size()) ++k;
        return digit(k);
      }
      return true;
    }
    return false;
  }

  // A word with an apostrophe behind its first part; false where the first part stands for itself.
  bool apostrophe_word(std::size_t from, std::size_t end, std::size_t mark) {
    const std::size_t next = end + mark;
    const std::string first = lowered(from, end);
    if (low(byte(next)) == 't' && !word_char(next + 1) && first.back() == 'n') {  // don't
      emit(first.substr(0, first.size() - 1));
      emit("n't");
      at_ = next + 1;
      return true;
    }
    if (clitic(end, mark)) return false;
    if (!word_char(next)) {
      if (first == "dunkin" || first == "somethin" || first == "ol" || first == "l" || first == "d" || first == "j") {
        emit(first + "'");
        at_ = next;
        return true;
      }
      return false;
    }
    const std::size_t tail = run_end(next);
    const bool letters = sort(next) == Sort::letter && sort(next + look(text_, next).length) == Sort::letter;
    const bool single =
        first.size() == 1 && letters && (first == "n" || (upper(byte(from)) && first != "i" && first != "y"));
    const bool name = (first == "d" || first == "l" || first == "o") && tail - next >= 2;  // d'art, l'eau, o'malley
    const std::string second = lowered(next, tail);
    const bool between_vowels =
        first.size() > 1 && std::string_view("aeiouy").find(first.back()) != std::string_view::npos &&
        (std::string_view("aeiou").find(byte(next)) != std::string_view::npos || upper(byte(next)));
    const std::string all = first + "'" + second;
    if (single || name || between_vowels || kWhole.contains(all)) {
      emit(first + std::string(text_.substr(end, mark)) + second);
      at_ = tail;
      return true;
    }
    if (first == "l" || first == "d" || first == "j" || (first == "y" && sort(next) == Sort::letter)) {  // y'all
      emit(first + "'");
      at_ = next;
      return true;
    }
    return false;
  }

  void mark(std::size_t length) {
    const char c = byte(at_);
    const std::size_t from = at_;
    auto same_run = [&](std::string_view set) {
      std::size_t end = at_;
      while (end < text_.size() && set.find(text_[end]) != std::string_view::npos) ++end;
      return end;
    };
    const std::size_t first = from + (c == '-' || c == '+' ? 1 : 0);
    if (const std::size_t end = number_end(first); end > first) {  // -5, .5
      emit(text_.substr(from, end - from));
      at_ = end;
      return;
    }
    switch (c) {
      case '"':
        emit("''");
        ++at_;
        return;
      case '`':
        at_ = same_run("`");
        emit(at_ - from > 1 ? "``" : "`");
        return;
      case '(':
        emit("-lrb-");
        ++at_;
        return;
      case ')':
        emit("-rrb-");
        ++at_;
        return;
      case '[':
        emit("-lsb-");
        ++at_;
        return;
      case ']':
        emit("-rsb-");
        ++at_;
        return;
      case '{':
        emit("-lcb-");
        ++at_;
        return;
      case '}':
        emit("-rcb-");
        ++at_;
        return;
      case '!':
      case '?':
        at_ = same_run("!?");
        emit(text_.substr(from, at_ - from));
        return;
      case '-':
        at_ = same_run("-");
        emit(at_ - from > 1 ? "--" : "-");
        return;
      case '.':
        at_ = same_run(".");
        emit(at_ - from > 2 ? "..." : ".");
        if (at_ - from == 2) emit(".");
        return;
      case '&':
        for (const auto& [name, is] : {std::pair<std::string_view, std::string_view>{"&amp;", "&"},
                                       {"&lt;", "<"},
                                       {"&gt;", ">"},
                                       {"&quot;", "''"}}) {
          if (text_.substr(at_, name.size()) == name) {
            emit(is);
            at_ += name.size();
            return;
          }
        }
        emit("&");
        ++at_;
        return;
      case '#':
      case '@': {  // a tag or a name: "#tbt", "@home"
        std::size_t end = at_ = same_run(std::string_view(&c, 1));
        auto part = [&](std::size_t k) {
          return word_char(k) && (c == '#' ? byte(k) != '_' : static_cast<std::uint8_t>(byte(k)) < 0x80);
        };
        if (at_ - from == 1 && !digit(at_))
          while (part(end)) end += look(text_, end).length;
        emit(lowered(from, end));
        at_ = end;
        return;
      }
      case '>':
      case '<':
      case '*':
      case '=':
        at_ = same_run(std::string_view(&c, 1));
        emit(text_.substr(from, at_ - from));
        return;
      default: break;
    }
    at_ += length;
    const auto spelt = kSpelt.find(text_.substr(from, length));
    emit(spelt == kSpelt.end() ? text_.substr(from, length) : spelt->second);
  }

  std::string_view text_;
  bool keep_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string ptb_tokens(std::string_view text, bool keep_marks) { return Tokeniser(text, keep_marks).run(); }

}  // namespace steelyard::language
