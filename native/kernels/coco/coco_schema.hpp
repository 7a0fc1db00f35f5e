// What COCO files hold: sections, keys, single values, and the columns of a piece of a file.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "coco/coco_shapes.hpp"
#include "coco/json.hpp"
#include "support/count_text.hpp"

namespace steelyard::coco {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr double kLargest = 1e12;  // of a coordinate or a size: products of two stay far from overflow

// Ids are integers, or texts; one column never mixes them.
struct Ids {
  std::vector<std::int64_t> numbers;
  std::string texts;
  std::vector<std::int64_t> ends;

  std::size_t size() const { return numbers.size() + ends.size(); }
};

enum Section : int { kImages, kAnnotations, kCategories, kResults, kSections };
inline constexpr const char* kNames[] = {"images", "annotations", "categories", "results"};

enum class Phase { start, key, first_key, after_value, element, first_element, after_element, done };

struct State {
  Phase phase = Phase::start;
  int section = kResults;
  unsigned opened = 0;  // sections that were met, as bits
};

// The records of one chunk.
struct Part {
  Ids images, categories, image, label;
  std::string names;
  std::vector<std::int64_t> name_ends;
  std::vector<std::int64_t> id;
  std::vector<double> box, score, area, size;
  std::vector<std::uint8_t> crowd;
  Shapes shapes;
  std::size_t counts[kSections] = {0, 0, 0, 0};
  std::size_t begin = 0, end = 0;
  State before, after;
  bool ran = false;
  bool federated = false;
  bool lacks_area = false;  // an annotation has none, and has that of its box or mask
  // LVIS: classes that were looked for in vain, and classes that are not annotated to the end, image by image; how many
  // there are of each, -1 where an image has no list of numbers. How often a class is seen: all words, and their ends.
  std::vector<std::int64_t> vain, vain_counts, unsure, unsure_counts;
  std::string often;
  std::vector<std::int64_t> often_ends;
};

enum Key : unsigned {
  kId = 1,
  kImage = 2,
  kCategory = 4,
  kBox = 8,
  kScore = 16,
  kArea = 32,
  kCrowd = 64,
  kName = 128,
  kOther = 256,
  kWidth = 512,
  kHeight = 1024,
  kFederated = 2048,
  kMask = 4096,
  kPoints = 8192,
  kVisible = 16384,
  kRotated = 32768,
  kUnsure = 65536,
  kOften = 131072
};

inline Key key_of(std::string_view k) {
  switch (k.size()) {
    case 2: return k == "id" ? kId : kOther;
    case 3: return k == "obb" ? kRotated : kOther;
    case 4: return k == "bbox" ? kBox : k == "area" ? kArea : k == "name" ? kName : kOther;
    case 5: return k == "score" ? kScore : k == "width" ? kWidth : kOther;
    case 6: return k == "height" ? kHeight : kOther;
    case 7: return k == "iscrowd" ? kCrowd : kOther;
    case 8: return k == "image_id" ? kImage : kOther;
    case 9: return k == "keypoints" ? kPoints : k == "frequency" ? kOften : kOther;
    case 11: return k == "category_id" ? kCategory : kOther;
    case 16: return k == "neg_category_ids" ? kFederated : kOther;
    case 12: return k == "segmentation" ? kMask : kOther;
    case 27: return k == "not_exhaustive_category_ids" ? kUnsure : kOther;
    case 13: return k == "num_keypoints" ? kVisible : kOther;
    default: return kOther;
  }
}

inline const char* text_of(Key key) {
  switch (key) {
    case kId: return "id";
    case kImage: return "image_id";
    case kCategory: return "category_id";
    case kBox: return "bbox";
    case kScore: return "score";
    case kArea: return "area";
    case kCrowd: return "iscrowd";
    case kName: return "name";
    case kWidth: return "width";
    case kHeight: return "height";
    case kFederated: return "neg_category_ids";
    case kMask: return "segmentation";
    case kPoints: return "keypoints";
    case kRotated: return "obb";
    case kVisible: return "num_keypoints";
    case kUnsure: return "not_exhaustive_category_ids";
    case kOften: return "frequency";
    default: return "";
  }
}

// What stands between two values of a record: the end of one field, and the next one's key.
struct Between {
  Literal bytes;
  Key key;
};

constexpr std::size_t kMostKeys = 32;

struct IdValue {
  std::int64_t number = 0;
  std::string text;
  bool is_text = false;
};

inline void read_box(Cursor& c, double* box) {
  const std::size_t start = c.at();
  if (c.peek() != '[') c.wrong_type("an array of four numbers is expected");
  c.step();
  int count = 0;
  if (!c.take(']')) {
    do {
      const double value = c.number().value;
      if (count < 4) box[count] = value;
      ++count;
    } while (c.take(','));
    c.expect(']', "',' or ']' is expected");
  }
  if (count != 4) {
    c.refuse(start, count_text(count, "number") + " where four (x, y, width, height) are expected");
  }
  if (box[2] < 0 || box[3] < 0) c.refuse(start, "a negative width or height");
  for (int i = 0; i < 4; ++i) {
    if (box[i] > kLargest || box[i] < -kLargest) c.refuse(start, "a coordinate or size beyond 1e12");
  }
}

inline std::int64_t integer(Cursor& c) {
  const std::size_t start = c.at();
  const Cursor::Number n = c.number();
  if (n.integral) return n.whole;
  // A whole number in another spelling (7.0) is the same number.
  if (n.value != std::floor(n.value) || std::fabs(n.value) >= 9007199254740992.0) {
    c.refuse(start, "an id must be a whole number or a text");
  }
  return static_cast<std::int64_t>(n.value);
}

// A list of whole numbers; false where it is something else, which is passed over.
inline bool read_list(Cursor& c, std::vector<std::int64_t>& out) {
  out.clear();
  c.space();
  if (c.peek() != '[') {
    c.skip();
    return false;
  }
  c.step();
  if (c.take(']')) return true;
  bool good = true;
  do {
    c.space();
    if (c.number_here()) {
      const Cursor::Number n = c.number();
      good &= n.integral;
      out.push_back(n.whole);
    } else {
      good = false;
      c.skip();
    }
  } while (c.take(','));
  c.expect(']', "',' or ']' is expected");
  return good;
}

inline std::int64_t read_side(Cursor& c) {
  const std::size_t start = c.at();
  if (c.peek() == 'n') {  // null: not known
    c.skip();
    return -1;
  }
  const std::int64_t side = integer(c);
  if (side < 0 || side > 0xFFFFFFFFll) c.refuse(start, "a height or width must be a whole number from 0 to 2^32");
  return side;
}

inline bool read_flag(Cursor& c) {
  if (c.peek() == 't' || c.peek() == 'f') return c.truth_value();
  const std::size_t start = c.at();
  const double value = c.number().value;
  if (value != 0 && value != 1) c.refuse(start, "0 or 1 is expected");
  return value == 1;
}

}  // namespace steelyard::coco
