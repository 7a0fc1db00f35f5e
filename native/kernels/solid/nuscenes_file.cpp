// nuScenes' JSON: see nuscenes_file.hpp.
#include "solid/nuscenes_file.hpp"

#include <array>
#include <limits>
#include <string_view>
#include <unordered_map>

#include "coco/json.hpp"
#include "support/count_text.hpp"

namespace steelyard::solid {
namespace {

constexpr double kNotGiven = std::numeric_limits<double>::quiet_NaN();

enum Key : unsigned {
  kSample,
  kTranslation,
  kSize,
  kRotation,
  kVelocity,
  kEgo,
  kName,
  kScore,
  kAttribute,
  kPoints,
  kKeys
};
constexpr std::string_view kKeyNames[kKeys] = {"sample_token",   "translation",     "size",           "rotation",
                                               "velocity",       "ego_translation", "detection_name", "detection_score",
                                               "attribute_name", "num_pts"};

class NuscenesReader {
 public:
  NuscenesReader(const char* text, std::size_t size, bool results) : in_(text, size, true), results_(results) {}

  NuScenesRows file() {
    in_.expect('{', "an object is expected: \"meta\" and \"results\"");
    bool found = false;
    members([&](std::string_view key) {
      if (key == "results") {
        if (found) wrong("'results' appears twice", "");
        found = true;
        samples();
      } else if (key == "ego") {
        by_sample([&](std::string_view sample) {
          out_.ego_samples.emplace_back(sample);
          sample_ = sample;
          numbers(out_.ego, 3, false, "ego");
        });
      } else if (key == "scene") {
        by_sample([&](std::string_view sample) {
          out_.scene_samples.emplace_back(sample);
          out_.scenes.emplace_back(in_.text(&scratch_));
        });
      } else {
        in_.skip();
      }
    });
    in_.space();
    if (!in_.ended()) in_.stop("something stands behind the end");
    sample_.clear();
    if (!found) wrong("'results' is missing", "results");
    out_.begin.push_back(rows());
    return std::move(out_);
  }

  // Where a fault of the text is: the cursor does not know the sample.
  const std::string& sample() const { return sample_; }
  std::int64_t place() const { return box_; }

 private:
  std::int64_t rows() const { return static_cast<std::int64_t>(out_.score.size()); }

  // Calls `each` with every key of an object whose '{' is behind.
  template <typename Each>
  void members(Each each) {
    if (in_.take('}')) return;
    do {
      in_.space();
      if (in_.peek() != '"') in_.stop("a key in quotes is expected");
      key_ = in_.text(&scratch_);
      in_.expect(':', "':' is expected");
      const std::string key = key_;
      each(std::string_view(key));
    } while (in_.take(','));
    in_.expect('}', "',' or '}' is expected");
  }

  template <typename Each>
  void by_sample(Each each) {
    in_.space();
    if (in_.peek() != '{') in_.wrong_type("an object by sample is expected");
    in_.step();
    members(each);
  }

  void samples() {
    by_sample([&](std::string_view sample) {
      sample_ = sample;
      box_ = -1;
      if (!seen_.emplace(sample_, 0).second) wrong("the sample appears twice", "");
      out_.samples.push_back(sample_);
      out_.begin.push_back(rows());
      in_.space();
      if (in_.peek() != '[') in_.wrong_type("a list of boxes is expected");
      in_.step();
      if (in_.take(']')) return;
      do {
        ++box_;
        in_.expect('{', "a box is an object");
        box();
      } while (in_.take(','));
      in_.expect(']', "',' or ']' is expected");
      box_ = -1;
    });
  }

  // Keys in any order, mostly in that of the box before.
  void box_members(unsigned& found) {
    std::size_t guess = 0;
    if (in_.take('}')) return;
    do {
      in_.space();
      if (in_.peek() != '"') in_.stop("a key in quotes is expected");
      const std::string_view key = in_.text(&scratch_);
      const bool same = guess < kKeys && kKeyNames[order_[guess]] == key;
      const unsigned which = same ? order_[guess] : which_key(key);
      if (which < kKeys && guess < kKeys) order_[guess] = which;
      in_.expect(':', "':' is expected");
      if (which == kKeys) {
        in_.skip();
        continue;
      }
      ++guess;
      if (found & (1u << which)) wrong("the key appears twice", kKeyNames[which]);
      found |= 1u << which;
      value(static_cast<Key>(which));
    } while (in_.take(','));
    in_.expect('}', "',' or '}' is expected");
  }

  void box() {
    unsigned found = 0;
    box_members(found);
    for (const Key key : {kTranslation, kSize, kRotation, kVelocity, kName}) {
      if (!(found & (1u << key))) wrong("the key is missing", kKeyNames[key]);
    }
    if (!(found & (1u << kScore))) {
      if (results_) wrong("the key is missing", kKeyNames[kScore]);
      out_.score.push_back(kNotGiven);
    }
    if (!(found & (1u << kAttribute))) code_of(out_.attribute, codes_[1], "");
    if (!(found & (1u << kPoints))) out_.points.push_back(kNotGiven);
    if (!(found & (1u << kEgo))) out_.ego_offset.insert(out_.ego_offset.end(), 3, kNotGiven);
  }

  void value(Key key) {
    switch (key) {
      case kSample:
        if (in_.text(&scratch_) != sample_)
          wrong("another sample than the one that the box stands under", kKeyNames[key]);
        break;
      case kTranslation: numbers(out_.translation, 3, false, kKeyNames[key]); break;
      case kSize: numbers(out_.size, 3, false, kKeyNames[key]); break;
      case kRotation: numbers(out_.rotation, 4, false, kKeyNames[key]); break;
      case kVelocity: numbers(out_.velocity, 2, true, kKeyNames[key]); break;
      case kEgo: numbers(out_.ego_offset, 3, true, kKeyNames[key]); break;
      case kName: code_of(out_.name, codes_[0], in_.text(&scratch_)); break;
      case kAttribute: code_of(out_.attribute, codes_[1], in_.text(&scratch_)); break;
      case kScore: out_.score.push_back(number(false, kKeyNames[key])); break;
      case kPoints: out_.points.push_back(number(true, kKeyNames[key])); break;
      default: break;
    }
  }

  // A number; where `open`, NaN and null are allowed, which say that it is not known.
  double number(bool open, std::string_view key) {
    in_.space();
    if (in_.peek() == 'N') {
      for (const char* c = "NaN"; *c; ++c, in_.step()) {
        if (in_.peek() != *c) in_.stop("an unknown word");
      }
      if (!open) wrong("NaN is not a number", key);
      return kNotGiven;
    }
    if (in_.peek() == 'n' && open) {
      in_.skip();
      return kNotGiven;
    }
    if (!in_.number_here()) wrong(std::string(in_.kind()) + " where a number is expected", key);
    return in_.number().value;
  }

  void numbers(std::vector<double>& out, std::size_t count, bool open, std::string_view key) {
    in_.space();
    const std::string expected = " where a list of " + std::to_string(count) + " numbers is expected";
    if (in_.peek() == 'n' && open) {
      in_.skip();
      out.insert(out.end(), count, kNotGiven);
      return;
    }
    if (in_.peek() != '[') wrong(in_.kind() + expected, key);
    in_.step();
    std::size_t many = 0;
    if (!in_.take(']')) {
      do {
        const double value = number(open, key);
        if (++many <= count) out.push_back(value);
      } while (in_.take(','));
      in_.expect(']', "',' or ']' is expected");
    }
    if (many != count) wrong(count_text(many, "number") + expected, key);
  }

  void code_of(Names& names, std::unordered_map<std::string, std::int32_t>& codes, std::string_view text) {
    if (!names.code.empty() && names.list[static_cast<std::size_t>(names.code.back())] == text) {
      names.code.push_back(names.code.back());
      return;
    }
    const auto [at, fresh] = codes.emplace(std::string(text), static_cast<std::int32_t>(names.list.size()));
    if (fresh) names.list.emplace_back(text);
    names.code.push_back(at->second);
  }

  static unsigned which_key(std::string_view key) {
    unsigned which = 0;
    while (which < kKeys && kKeyNames[which] != key) ++which;
    return which;
  }

  [[noreturn]] void wrong(std::string what, std::string_view key) const {
    throw NuScenesFault{in_.at(), false, std::move(what), sample_, std::string(key), box_};
  }

  Cursor in_;
  bool results_;
  NuScenesRows out_;
  std::string scratch_, key_, sample_;
  std::int64_t box_ = -1;
  std::array<unsigned, kKeys> order_{};
  std::unordered_map<std::string, char> seen_;
  std::unordered_map<std::string, std::int32_t> codes_[2];
};

}  // namespace

NuScenesRows read_nuscenes(const char* text, std::size_t size, bool results) {
  NuscenesReader reader(text, size, results);
  try {
    return reader.file();
  } catch (const Fault& fault) {
    throw NuScenesFault{fault.at, fault.syntax, fault.what, reader.sample(), fault.key, reader.place()};
  }
}

}  // namespace steelyard::solid
