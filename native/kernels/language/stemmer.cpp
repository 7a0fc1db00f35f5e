// The Snowball stemmer for English ("Porter 2"), written from its published description.
#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "language/meteor.hpp"

namespace steelyard::language {
namespace {

bool vowel(char c) { return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u' || c == 'y'; }

class Stem {
 public:
  explicit Stem(std::string_view word) : w_(word) {}

  std::string run() {
    if (w_.size() <= 2) return w_;
    if (w_[0] == '\'') w_.erase(0, 1);
    for (const auto& [form, stem] : kIrregular) {
      if (w_ == form) return std::string(stem);
    }
    for (std::size_t i = 0; i < w_.size(); ++i) {
      if (w_[i] == 'y' && (i == 0 || vowel(w_[i - 1]))) w_[i] = 'Y';
    }
    regions();
    for (std::string_view end : {"'s'", "'s", "'"}) {
      if (cut(end)) break;
    }
    step1a();
    for (std::string_view whole :
         {"inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed"}) {
      if (w_ == whole) return w_;
    }
    step1b();
    step1c();
    step2();
    step3();
    step4();
    step5();
    std::replace(w_.begin(), w_.end(), 'Y', 'y');
    return w_;
  }

 private:
  using Rule = std::pair<std::string_view, std::string_view>;
  static constexpr Rule kIrregular[] = {
      {"skis", "ski"},      {"skies", "sky"},    {"dying", "die"},  {"lying", "lie"},   {"tying", "tie"},
      {"idly", "idl"},      {"gently", "gentl"}, {"ugly", "ugli"},  {"early", "earli"}, {"only", "onli"},
      {"singly", "singl"},  {"sky", "sky"},      {"news", "news"},  {"howe", "howe"},   {"atlas", "atlas"},
      {"cosmos", "cosmos"}, {"bias", "bias"},    {"andes", "andes"}};

  bool ends(std::string_view end) const { return std::string_view(w_).ends_with(end); }
  bool cut(std::string_view end) {
    if (!ends(end)) return false;
    w_.resize(w_.size() - end.size());
    return true;
  }
  // Whether an ending of that length, which the word has, lies in the region that starts at `from`.
  bool inside(std::size_t length, std::size_t from) const { return w_.size() - length >= from; }

  static std::size_t region(std::string_view w, std::size_t from) {
    for (std::size_t i = from + 1; i < w.size(); ++i) {
      if (!vowel(w[i]) && vowel(w[i - 1])) return i + 1;
    }
    return w.size();
  }
  void regions() {
    r1_ = w_.starts_with("gener") ? 5 : w_.starts_with("commun") ? 6 : w_.starts_with("arsen") ? 5 : region(w_, 0);
    r2_ = region(w_, r1_);
  }
  bool has_vowel(std::size_t end) const { return std::any_of(w_.begin(), w_.begin() + static_cast<long>(end), vowel); }
  static bool doubled(std::string_view w) {
    if (w.size() < 2 || w[w.size() - 1] != w[w.size() - 2]) return false;
    return std::string_view("bdfgmnprt").find(w.back()) != std::string_view::npos;
  }
  // A short syllable at the end.
  static bool short_end(std::string_view w) {
    const std::size_t n = w.size();
    if (n == 2) return vowel(w[0]) && !vowel(w[1]);
    if (n < 3) return false;
    return !vowel(w[n - 3]) && vowel(w[n - 2]) && !vowel(w[n - 1]) && w[n - 1] != 'w' && w[n - 1] != 'x' &&
           w[n - 1] != 'Y';
  }
  bool is_short() const { return r1_ >= w_.size() && short_end(w_); }

  void step1a() {
    if (cut("sses")) {
      w_ += "ss";
    } else if (ends("ied") || ends("ies")) {
      w_.resize(w_.size() - 3);
      w_ += w_.size() > 1 ? "i" : "ie";
    } else if (!ends("us") && !ends("ss") && ends("s")) {
      if (w_.size() > 2 && has_vowel(w_.size() - 2)) w_.pop_back();
    }
  }
  void step1b() {
    for (std::string_view end : {"eedly", "eed"}) {
      if (!ends(end)) continue;
      if (inside(end.size(), r1_)) {
        w_.resize(w_.size() - end.size());
        w_ += "ee";
      }
      return;
    }
    for (std::string_view end : {"ingly", "edly", "ing", "ed"}) {
      if (!ends(end)) continue;
      if (!has_vowel(w_.size() - end.size())) return;
      w_.resize(w_.size() - end.size());
      if (ends("at") || ends("bl") || ends("iz")) {
        w_ += "e";
      } else if (doubled(w_)) {
        w_.pop_back();
      } else if (is_short()) {
        w_ += "e";
      }
      return;
    }
  }
  void step1c() {
    if (w_.size() > 2 && (w_.back() == 'y' || w_.back() == 'Y') && !vowel(w_[w_.size() - 2])) w_.back() = 'i';
  }
  // Replaces the longest ending of the list, where it lies in the region.
  void replace(std::initializer_list<Rule> rules, std::size_t from) {
    const Rule* best = nullptr;
    for (const Rule& rule : rules) {
      if (ends(rule.first) && (!best || rule.first.size() > best->first.size())) best = &rule;
    }
    if (!best || !inside(best->first.size(), from)) return;
    const std::size_t size = w_.size() - best->first.size();  // at least 2, as every region begins there or later
    if (best->first == "ogi" && w_[size - 1] != 'l') return;
    if (best->first == "li" && std::string_view("cdeghkmnrt").find(w_[size - 1]) == std::string_view::npos) return;
    if (best->first == "ion" && w_[size - 1] != 's' && w_[size - 1] != 't') return;
    if (best->first == "ative" && !inside(5, r2_)) return;
    w_.resize(size);
    w_ += best->second;
  }
  void step2() {
    replace({{"tional", "tion"}, {"enci", "ence"},   {"anci", "ance"},   {"abli", "able"},   {"entli", "ent"},
             {"izer", "ize"},    {"ization", "ize"}, {"ational", "ate"}, {"ation", "ate"},   {"ator", "ate"},
             {"alism", "al"},    {"aliti", "al"},    {"alli", "al"},     {"fulness", "ful"}, {"ousli", "ous"},
             {"ousness", "ous"}, {"iveness", "ive"}, {"iviti", "ive"},   {"biliti", "ble"},  {"bli", "ble"},
             {"ogi", "og"},      {"fulli", "ful"},   {"lessli", "less"}, {"li", ""}},
            r1_);
  }
  void step3() {
    replace({{"tional", "tion"},
             {"ational", "ate"},
             {"alize", "al"},
             {"icate", "ic"},
             {"iciti", "ic"},
             {"ical", "ic"},
             {"ful", ""},
             {"ness", ""},
             {"ative", ""}},
            r1_);
  }
  void step4() {
    replace({{"al", ""},
             {"ance", ""},
             {"ence", ""},
             {"er", ""},
             {"ic", ""},
             {"able", ""},
             {"ible", ""},
             {"ant", ""},
             {"ement", ""},
             {"ment", ""},
             {"ent", ""},
             {"ism", ""},
             {"ate", ""},
             {"iti", ""},
             {"ous", ""},
             {"ive", ""},
             {"ize", ""},
             {"ion", ""}},
            r2_);
  }
  void step5() {
    if (ends("e")) {
      const std::string_view before(w_.data(), w_.size() - 1);
      if (inside(1, r2_) || (inside(1, r1_) && !short_end(before))) w_.pop_back();
    } else if (ends("ll") && inside(1, r2_)) {
      w_.pop_back();
    }
  }

  std::string w_;
  std::size_t r1_ = 0, r2_ = 0;
};

}  // namespace

std::string snowball_stem(std::string_view word) { return Stem(word).run(); }

}  // namespace steelyard::language
