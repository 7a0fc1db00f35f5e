// The parser of COCO JSON: records of a piece of a file into columns, by a schema.
//
// It reads from a proven or guessed place up to the first gap between records behind a limit. Records of a file are
// written alike, so the bytes between two values are compared with those of the record before, and parsed only where
// they differ.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "coco/coco_schema.hpp"
#include "coco/json.hpp"
#include "coco/source.hpp"

namespace steelyard::coco {

class Parser {
 public:
  Parser(const Source& source, bool truth, What what, bool compact = false)
      : source_(source), truth_(truth), what_(what), compact_(compact) {}

  // Parses from `from` (in the given state) up to the first gap between records at or behind `until`.
  // With `guess` it first looks for a place to start.
  void run(Part& part, State state, std::size_t from, std::size_t until, bool guess) {
    load(from, until - std::min(from, until) + kChunk / 16);
    std::size_t start = 0;
    if (guess && !find_gap(start)) return;
    make_room(part, until - std::min(from, until));
    part.shapes.compact = compact_;
    part.before = state;
    part.begin = from + start;
    for (;;) {
      Cursor cursor(buffer_.data(), loaded_, base_ + loaded_ >= source_.size());
      cursor.go(start);
      try {
        if (advance(cursor, part, state, start, until)) break;
      } catch (const NeedMore&) {
        // The record that does not fit starts at `start`; it is read again from there, with twice the room.
        const std::size_t room = std::max(kChunk / 8, 2 * (loaded_ - start));
        load(base_ + start, room);
        start = 0;
      } catch (Fault& fault) {
        fault.at += base_;
        throw;
      }
    }
    part.after = state;
    part.end = base_ + start;
    part.ran = true;
  }

 private:
  void load(std::size_t from, std::size_t count) {
    count = from < source_.size() ? std::min(count, source_.size() - from) : 0;
    buffer_.resize(count + 16);
    loaded_ = source_.read(from, count, buffer_.data());
    if (loaded_ < count) throw std::invalid_argument("became shorter while it was read");
    std::memset(buffer_.data() + loaded_, 0, 16);
    base_ = from;
  }

  // Room for as many records as the bytes may hold, so that columns do not grow by copying. What is not used is never
  // touched, and costs nothing.
  void make_room(Part& part, std::size_t bytes) const {
    const std::size_t rows = std::min(bytes, kChunk) / (truth_ ? 128 : 64);
    part.image.numbers.reserve(rows);
    part.label.numbers.reserve(rows);
    part.box.reserve(4 * rows);
    if (truth_) {
      part.id.reserve(rows);
      part.area.reserve(rows);
      part.crowd.reserve(rows);
    } else {
      part.score.reserve(rows);
    }
    if (!compact_) return;
    // Blocks of this size come from the system and go back to it. Where threads grow many of them in steps instead,
    // the allocator keeps what they leave behind, which is more than the columns.
    constexpr std::size_t kRoom = 4 * kChunk;
    if (what_ == What::keypoints || (what_ == What::boxes && truth_))
      part.shapes.keypoints.reserve(kRoom / sizeof(double));
    if (what_ == What::masks) part.shapes.texts.reserve(kRoom);
    if (what_ == What::masks && truth_) part.shapes.points.reserve(kRoom / sizeof(double));
  }

  // The '{' of a `} , {`, the first in the buffer.
  bool find_gap(std::size_t& start) const {
    const char* text = buffer_.data();
    auto blank = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
    for (std::size_t i = 0; i < loaded_; ++i) {
      if (text[i] != '}') continue;
      std::size_t j = i + 1;
      while (j < loaded_ && blank(text[j])) ++j;
      if (j >= loaded_ || text[j] != ',') continue;
      ++j;
      while (j < loaded_ && blank(text[j])) ++j;
      if (j < loaded_ && text[j] == '{') {
        start = j;
        return true;
      }
    }
    return false;
  }

  // One step of the outer grammar at a time; `start` always is a place to begin again from, in `state`.
  bool advance(Cursor& c, Part& part, State& state, std::size_t& start, std::size_t until) {
    for (;;) {
      c.space();
      start = c.at();
      switch (state.phase) {
        case Phase::start:
          if (c.ended()) throw Fault{0, "the file is empty", true, -1, {}, -1};
          if (truth_) {
            if (c.peek() != '{') c.wrong_type("an object with images, annotations and categories is expected");
            c.step();
            state.phase = Phase::first_key;
          } else {
            if (c.peek() != '[') c.wrong_type("an array of results is expected");
            c.step();
            state.phase = Phase::first_element;
          }
          break;
        case Phase::first_key:
          if (c.take('}')) {
            state.phase = Phase::done;
            break;
          }
          [[fallthrough]];
        case Phase::key: key(c, state); break;
        case Phase::after_value:
          if (c.take(',')) state.phase = Phase::key;
          else if (c.take('}')) state.phase = Phase::done;
          else c.stop("',' or '}' is expected");
          break;
        case Phase::first_element:
          if (c.take(']')) {
            state.phase = truth_ ? Phase::after_value : Phase::done;
            break;
          }
          record(c, part, state);
          break;
        case Phase::element:
          if (base_ + start >= until) return true;
          record(c, part, state);
          break;
        case Phase::after_element:
          if (c.take(',')) state.phase = Phase::element;
          else if (c.take(']')) state.phase = truth_ ? Phase::after_value : Phase::done;
          else c.stop("',' or ']' is expected");
          break;
        case Phase::done:
          if (!c.ended()) c.stop("nothing may follow the end of the JSON");
          if (base_ + c.at() < source_.size()) throw NeedMore{};
          return true;
      }
    }
  }

  void key(Cursor& c, State& state) {
    if (c.peek() != '"') c.stop("a key in quotes is expected");
    const std::string_view name = c.text(&scratch_);
    int section = -1;
    for (int s : {kImages, kAnnotations, kCategories}) {
      if (name == kNames[s]) section = s;
    }
    c.expect(':', "':' is expected");
    c.space();
    if (section < 0) {
      c.skip();
      state.phase = Phase::after_value;
      return;
    }
    if (state.opened & (1u << section)) c.refuse(c.at(), std::string("'") + kNames[section] + "' appears twice");
    if (c.peek() != '[') {
      try {
        c.wrong_type("an array is expected");
      } catch (Fault& fault) {
        fault.key = kNames[section];
        throw;
      }
    }
    c.step();
    state.section = section;
    state.opened |= 1u << section;
    state.phase = Phase::first_element;
  }

  void record(Cursor& c, Part& part, State& state) {
    key_ = kOther;
    try {
      if (c.peek() != '{') c.wrong_type("an object is expected");
      fields(c, part, state.section);
    } catch (Fault& fault) {
      fault.record = static_cast<long long>(part.counts[state.section]);
      fault.section = state.section;
      if (fault.key.empty()) fault.key = text_of(key_);
      throw;
    }
    ++part.counts[state.section];
    state.phase = Phase::after_element;
  }

  void fields(Cursor& c, Part& part, int section) {
    static constexpr unsigned wanted[] = {kId | kWidth | kHeight | kFederated | kUnsure,
                                          kId | kImage | kCategory | kBox | kArea | kCrowd, kId | kName | kOften,
                                          kImage | kCategory | kBox | kScore};
    static constexpr unsigned required[] = {kId, kImage | kCategory | kBox, kId, kImage | kCategory | kBox | kScore};
    // Beside that: of masks, keypoints and rotated boxes their own, with the size of images for the first.
    static constexpr unsigned also[4][kSections] = {{0, 0, 0, 0},
                                                    {kHeight | kWidth, kMask, 0, kMask},
                                                    {0, kPoints | kVisible, 0, kPoints},
                                                    {0, kRotated, 0, kRotated}};
    const unsigned mine = also[static_cast<int>(what_)][section], shape = mine & (kMask | kPoints | kRotated);
    // A compact truth with boxes is read with the keypoints that it may have: it needs not be read again for them.
    const unsigned beside = compact_ && what_ == What::boxes && section == kAnnotations ? kPoints | kVisible : 0u;
    const unsigned asked = (wanted[section] | mine | beside) & ~(shape & (kMask | kRotated) ? unsigned{kBox} : 0u);
    const unsigned needed = (required[section] | shape) & ~(shape ? unsigned{kBox} : 0u);
    const Shapes::Mark mark = part.shapes.mark();
    try {
      fields_of(c, part, section, asked, needed, mine);
    } catch (...) {
      part.shapes.back_to(mark);  // what is met again is read again
      throw;
    }
  }

  void fields_of(Cursor& c, Part& part, int section, unsigned asked, unsigned needed, unsigned mine) {
    const unsigned shape = mine & (kMask | kPoints | kRotated);
    const std::size_t start = c.at();
    unsigned seen = 0;
    double box[4] = {0, 0, 0, 0}, score = 0, area = 0, size[2] = {kUnknown, kUnknown};
    bool crowd = false;
    std::int64_t id = -1, height = -1, width = -1, visible = -1;
    const std::size_t points = part.shapes.keypoints.size();
    const bool places = compact_ && section == kResults;
    // Records of a file are written alike: what stood between two values in the last one most likely stands there
    // again.
    std::vector<Between>& guesses = guesses_[section];
    for (std::size_t place = 0;; ++place) {
      key_ = kOther;
      if (place < guesses.size() && c.take_same(guesses[place].bytes)) {
        key_ = guesses[place].key;
        c.space();
      } else {
        const std::size_t from = c.at();
        if (place == 0) {
          c.step();
          if (c.take('}')) break;
        } else if (!c.take(',')) {
          c.expect('}', "',' or '}' is expected");
          break;
        }
        c.space();
        if (c.peek() != '"') c.stop("a key in quotes is expected");
        const Key key = key_of(c.text(&scratch_));
        c.expect(':', "':' is expected");
        c.space();
        if (key & asked) key_ = key;
        if (place < kMostKeys) {
          guesses.resize(place);
          guesses.push_back({c.since(from), key_});
        }
      }
      if (key_ == kOther) {
        c.skip();
        continue;
      }
      const Key key = key_;
      if (seen & key) c.refuse(c.at(), "the key appears twice");
      seen |= key;
      switch (key) {
        case kId:
          if (section == kAnnotations) {
            if (c.peek() == '"' || c.peek() == 'n') {  // an id of another kind is not needed
              c.skip();
              seen &= ~unsigned{kId};
            } else {
              id = integer(c);
            }
          } else {
            read_id(c, own_id_);
          }
          break;
        case kImage: read_id(c, image_); break;
        case kCategory: read_id(c, label_); break;
        case kBox: read_box(c, box); break;
        case kScore: score = c.number().value; break;
        case kArea:
          area = c.number().value;
          if (area < 0 || area > kLargest * kLargest) c.refuse(c.at(), "an area must be from 0 to 1e24");
          break;
        case kCrowd: crowd = read_flag(c); break;
        case kName: name_ = c.text(&scratch_); break;
        case kWidth:
        case kHeight:
          if (mine & kHeight) {  // masks are drawn into it
            (key == kHeight ? height : width) = read_side(c);
            size[key == kHeight] = static_cast<double>(key == kHeight ? height : width);
          } else if (c.number_here()) {  // scores do not need it: what is not a number is passed over
            size[key == kHeight] = c.number().value;
          } else {
            c.skip();
          }
          break;
        case kFederated:
          part.federated = true;
          if (!read_list(c, vain_)) seen &= ~unsigned{kFederated};
          break;
        case kUnsure:
          if (!read_list(c, unsure_)) seen &= ~unsigned{kUnsure};
          break;
        case kOften:
          if (c.peek() == '"') {
            often_ = c.text(&scratch_);
          } else {
            c.skip();
            seen &= ~unsigned{kOften};
          }
          break;
        case kMask: part.shapes.read_mask(c, base_); break;
        case kPoints: places ? part.shapes.read_places(c) : part.shapes.read_keypoints(c); break;
        case kRotated: part.shapes.read_rotated(c); break;
        case kVisible: visible = integer(c); break;
        default: break;
      }
    }
    key_ = kOther;
    const unsigned lacking = needed & ~seen;
    if (lacking) {
      key_ = lacking & kImage      ? kImage
             : lacking & kCategory ? kCategory
             : lacking & kBox      ? kBox
             : lacking & kMask     ? kMask
             : lacking & kPoints   ? kPoints
             : lacking & kRotated  ? kRotated
             : lacking & kScore    ? kScore
                                   : kId;
      c.refuse(start, "the key is missing");
    }
    switch (section) {
      case kImages:
        add(part.images, own_id_, c, start);
        part.size.insert(part.size.end(), size, size + 2);
        if (mine) part.shapes.sizes.insert(part.shapes.sizes.end(), {height, width});
        add_list(part.vain, part.vain_counts, vain_, seen & kFederated);
        add_list(part.unsure, part.unsure_counts, unsure_, seen & kUnsure);
        break;
      case kCategories:
        add(part.categories, own_id_, c, start);
        if (!(seen & kName)) name_.clear();
        part.names += name_;
        part.name_ends.push_back(static_cast<std::int64_t>(part.names.size()));
        if (seen & kOften) part.often += often_;
        part.often_ends.push_back(static_cast<std::int64_t>(part.often.size()));
        break;
      default:
        key_ = kImage;
        add(part.image, image_, c, start);
        key_ = kCategory;
        add(part.label, label_, c, start);
        if (shape & kPoints) {
          if (!(seen & kBox) || section == kResults)
            part.shapes.box_of_points(points, section == kResults, places ? 2 : 3, box);
        }
        if (!(shape & kMask)) part.box.insert(part.box.end(), box, box + 4);
        if (section == kAnnotations) {
          part.id.push_back(seen & kId ? id : -1);
          part.lacks_area |= !(seen & kArea);
          part.area.push_back(seen & kArea ? area : shape ? -1 : box[2] * box[3]);
          part.crowd.push_back(crowd);
          if ((shape & kPoints) || (seen & kPoints)) part.shapes.visible.push_back(seen & kVisible ? visible : -1);
        } else {
          part.score.push_back(score);
        }
    }
  }

  void read_id(Cursor& c, IdValue& out) {
    out.is_text = c.peek() == '"';
    if (out.is_text) out.text = c.text(&scratch_);
    else if (c.number_here() || c.ended()) out.number = integer(c);
    else c.wrong_type("an id (a whole number or a text) is expected");
  }

  static void add_list(std::vector<std::int64_t>& ids, std::vector<std::int64_t>& counts,
                       const std::vector<std::int64_t>& listed, bool given) {
    if (given) ids.insert(ids.end(), listed.begin(), listed.end());
    counts.push_back(given ? static_cast<std::int64_t>(listed.size()) : -1);
  }

  void add(Ids& ids, const IdValue& id, Cursor& c, std::size_t start) {
    if (id.is_text ? !ids.numbers.empty() : !ids.ends.empty()) {
      c.refuse(start, "some ids are numbers and some are texts");
    }
    if (id.is_text) {
      ids.texts += id.text;
      ids.ends.push_back(static_cast<std::int64_t>(ids.texts.size()));
    } else {
      ids.numbers.push_back(id.number);
    }
  }

  const Source& source_;
  bool truth_;
  What what_;
  bool compact_;
  std::vector<char> buffer_;
  std::size_t base_ = 0, loaded_ = 0;
  std::string scratch_, name_, often_;
  std::vector<std::int64_t> vain_, unsure_;
  Key key_ = kOther;  // whose value is being read
  std::vector<Between> guesses_[kSections];
  IdValue own_id_, image_, label_;
};

}  // namespace steelyard::coco
