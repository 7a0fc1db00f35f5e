// COCO JSON straight into columns: the truth (images, annotations, categories) and detection results.
//
// The file is read in chunks of about a megabyte that stay in cache, each parsed on its own, so memory holds the
// columns and one chunk a thread, never the file. A chunk other than the first starts on a guess: the first text that
// looks like the gap between two records. The guess is proven when the chunk before it, whose own start is proven, ends
// exactly there in the section that was guessed; else the chunk is parsed again from the proven place. So any number of
// threads gives the same columns and the same error.
#include <algorithm>
#include <cstdio>
#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

#ifndef _WIN32
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#include <nanobind/stl/string.h>

#include "arrays.hpp"
#include "coco_shapes.hpp"
#include "json.hpp"
#include "pool.hpp"
#include "random.hpp"

namespace steelyard {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr double kLargest = 1e12;  // of a coordinate or a size: products of two stay far from overflow

// Bytes of a file, or of memory.
class Source {
 public:
  Source(const std::string& path) {
#ifndef _WIN32
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info;
    if (fd_ < 0 || ::fstat(fd_, &info) != 0) throw std::invalid_argument("cannot be opened");
    if (S_ISREG(info.st_mode)) {
      size_ = static_cast<std::size_t>(info.st_size);
      return;
    }
    // A pipe has no size: it is read to its end.
    std::vector<char> block(kChunk);
    for (;;) {
      const ssize_t got = ::read(fd_, block.data(), block.size());
      if (got < 0) throw std::invalid_argument("cannot be read");
      if (got == 0) break;
      owned_.append(block.data(), static_cast<std::size_t>(got));
    }
#else
    std::FILE* file = std::fopen(path.c_str(), "rb");
    if (!file) throw std::invalid_argument("cannot be opened");
    std::vector<char> block(kChunk);
    for (std::size_t got; (got = std::fread(block.data(), 1, block.size(), file)) > 0;) owned_.append(block.data(), got);
    std::fclose(file);
#endif
    memory_ = owned_.data();
    size_ = owned_.size();
  }
  Source(const char* memory, std::size_t size) : memory_(memory), size_(size) {}
  ~Source() {
#ifndef _WIN32
    if (fd_ >= 0) ::close(fd_);
#endif
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  std::size_t size() const { return size_; }

  // Reads [from, from + count) as far as there is any; gives the number of bytes.
  std::size_t read(std::size_t from, std::size_t count, char* out) const {
    count = from < size_ ? std::min(count, size_ - from) : 0;
    if (memory_) {
      std::memcpy(out, memory_ + from, count);
      return count;
    }
#ifndef _WIN32
    std::size_t done = 0;
    while (done < count) {
      const ssize_t got = ::pread(fd_, out + done, count - done, static_cast<off_t>(from + done));
      if (got < 0) throw std::invalid_argument("cannot be read");
      if (got == 0) break;  // it became shorter meanwhile
      done += static_cast<std::size_t>(got);
    }
    return done;
#else
    return 0;
#endif
  }

 private:
  int fd_ = -1;
  std::string owned_;
  const char* memory_ = nullptr;
  std::size_t size_ = 0;
};

// Ids are integers, or texts; one column never mixes them.
struct Ids {
  std::vector<std::int64_t> numbers;
  std::string texts;
  std::vector<std::int64_t> ends;

  std::size_t size() const { return numbers.size() + ends.size(); }
};

enum Section : int { kImages, kAnnotations, kCategories, kResults, kSections };
const char* const kNames[] = {"images", "annotations", "categories", "results"};

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
};

enum Key : unsigned {
  kId = 1, kImage = 2, kCategory = 4, kBox = 8, kScore = 16, kArea = 32, kCrowd = 64, kName = 128, kOther = 256,
  kWidth = 512, kHeight = 1024, kFederated = 2048, kMask = 4096, kPoints = 8192, kVisible = 16384
};

Key key_of(std::string_view k) {
  switch (k.size()) {
    case 2: return k == "id" ? kId : kOther;
    case 4: return k == "bbox" ? kBox : k == "area" ? kArea : k == "name" ? kName : kOther;
    case 5: return k == "score" ? kScore : k == "width" ? kWidth : kOther;
    case 6: return k == "height" ? kHeight : kOther;
    case 7: return k == "iscrowd" ? kCrowd : kOther;
    case 8: return k == "image_id" ? kImage : kOther;
    case 9: return k == "keypoints" ? kPoints : kOther;
    case 11: return k == "category_id" ? kCategory : kOther;
    case 16: return k == "neg_category_ids" ? kFederated : kOther;
    case 12: return k == "segmentation" ? kMask : kOther;
    case 13: return k == "num_keypoints" ? kVisible : kOther;
    default: return kOther;
  }
}

const char* text_of(Key key) {
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
    case kVisible: return "num_keypoints";
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

class Parser {
 public:
  Parser(const Source& source, bool truth, What what) : source_(source), truth_(truth), what_(what) {}

  // Parses from `from` (in the given state) up to the first gap between records at or behind `until`.
  // With `guess` it first looks for a place to start.
  void run(Part& part, State state, std::size_t from, std::size_t until, bool guess) {
    load(from, until - std::min(from, until) + kChunk / 16);
    std::size_t start = 0;
    if (guess && !find_gap(start)) return;
    make_room(part, until - std::min(from, until));
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
        case Phase::key:
          key(c, state);
          break;
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
    if (state.opened & (1u << section)) c.refuse(c.at(), std::string("'") + kNames[section] + "' stands twice");
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
    static constexpr unsigned wanted[] = {kId | kWidth | kHeight | kFederated, kId | kImage | kCategory | kBox | kArea | kCrowd,
                                          kId | kName,
                                          kImage | kCategory | kBox | kScore};
    static constexpr unsigned required[] = {kId, kImage | kCategory | kBox, kId, kImage | kCategory | kBox | kScore};
    // Beside that: of masks and keypoints their own, with the size of images for the first.
    static constexpr unsigned also[3][kSections] = {
        {0, 0, 0, 0}, {kHeight | kWidth, kMask, 0, kMask}, {0, kPoints | kVisible, 0, kPoints}};
    const unsigned mine = also[static_cast<int>(what_)][section], shape = mine & (kMask | kPoints);
    const unsigned asked = (wanted[section] | mine) & ~(shape & kMask ? unsigned{kBox} : 0u);
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
    const unsigned shape = mine & (kMask | kPoints);
    const std::size_t start = c.at();
    unsigned seen = 0;
    double box[4] = {0, 0, 0, 0}, score = 0, area = 0, size[2] = {kUnknown, kUnknown};
    bool crowd = false;
    std::int64_t id = -1, height = -1, width = -1, visible = -1;
    const std::size_t points = part.shapes.keypoints.size();
    // Records of a file are written alike: what stood between two values in the last one most likely stands there again.
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
      if (seen & key) c.refuse(c.at(), "the key stands twice");
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
        case kFederated:  // LVIS: which classes were looked for in vain; that it says so is enough here
          part.federated = true;
          c.skip();
          break;
        case kMask: part.shapes.read_mask(c, base_); break;
        case kPoints: part.shapes.read_keypoints(c); break;
        case kVisible: visible = integer(c); break;
        default: break;
      }
    }
    key_ = kOther;
    const unsigned lacking = needed & ~seen;
    if (lacking) {
      key_ = lacking & kImage ? kImage : lacking & kCategory ? kCategory : lacking & kBox ? kBox
             : lacking & kMask ? kMask : lacking & kPoints ? kPoints : lacking & kScore ? kScore : kId;
      c.refuse(start, "the key is missing");
    }
    switch (section) {
      case kImages:
        add(part.images, own_id_, c, start);
        part.size.insert(part.size.end(), size, size + 2);
        if (mine) part.shapes.sizes.insert(part.shapes.sizes.end(), {height, width});
        break;
      case kCategories:
        add(part.categories, own_id_, c, start);
        if (!(seen & kName)) name_.clear();
        part.names += name_;
        part.name_ends.push_back(static_cast<std::int64_t>(part.names.size()));
        break;
      default:
        key_ = kImage;
        add(part.image, image_, c, start);
        key_ = kCategory;
        add(part.label, label_, c, start);
        if (shape & kPoints) {
          if (!(seen & kBox) || section == kResults) part.shapes.box_of_points(points, section == kResults, box);
        }
        if (!(shape & kMask)) part.box.insert(part.box.end(), box, box + 4);
        if (section == kAnnotations) {
          part.id.push_back(seen & kId ? id : -1);
          part.area.push_back(seen & kArea ? area : shape ? -1 : box[2] * box[3]);
          part.crowd.push_back(crowd);
          if (shape & kPoints) part.shapes.visible.push_back(seen & kVisible ? visible : -1);
        } else {
          part.score.push_back(score);
        }
    }
  }

  void read_box(Cursor& c, double* box) {
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
      c.refuse(start, std::to_string(count) + " numbers where four (x, y, width, height) are expected");
    }
    if (box[2] < 0 || box[3] < 0) c.refuse(start, "a negative width or height");
    for (int i = 0; i < 4; ++i) {
      if (box[i] > kLargest || box[i] < -kLargest) c.refuse(start, "a coordinate or size beyond 1e12");
    }
  }

  std::int64_t read_side(Cursor& c) {
    const std::size_t start = c.at();
    if (c.peek() == 'n') {  // null: not known
      c.skip();
      return -1;
    }
    const std::int64_t side = integer(c);
    if (side < 0 || side > 0xFFFFFFFFll) c.refuse(start, "a height or width must be a whole number from 0 to 2^32");
    return side;
  }

  bool read_flag(Cursor& c) {
    if (c.peek() == 't' || c.peek() == 'f') return c.truth_value();
    const std::size_t start = c.at();
    const double value = c.number().value;
    if (value != 0 && value != 1) c.refuse(start, "0 or 1 is expected");
    return value == 1;
  }

  std::int64_t integer(Cursor& c) {
    const std::size_t start = c.at();
    const Cursor::Number n = c.number();
    if (n.integral) return n.whole;
    // A whole number in another spelling (7.0) is the same number.
    if (n.value != std::floor(n.value) || std::fabs(n.value) >= 9007199254740992.0) {
      c.refuse(start, "an id must be a whole number or a text");
    }
    return static_cast<std::int64_t>(n.value);
  }

  void read_id(Cursor& c, IdValue& out) {
    out.is_text = c.peek() == '"';
    if (out.is_text) out.text = c.text(&scratch_);
    else if (c.number_here() || c.ended()) out.number = integer(c);
    else c.wrong_type("an id (a whole number or a text) is expected");
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
  std::vector<char> buffer_;
  std::size_t base_ = 0, loaded_ = 0;
  std::string scratch_, name_;
  Key key_ = kOther;  // whose value is being read
  std::vector<Between> guesses_[kSections];
  IdValue own_id_, image_, label_;
};

// Positions of ids among distinct ids. Ids of files are mostly a dense range, and a table serves; else a hash does.
class Places {
 public:
  Places(const std::int64_t* ids, std::size_t n) {
    if (n == 0) return;
    const auto [low, high] = std::minmax_element(ids, ids + n);
    low_ = *low;
    const std::uint64_t span = static_cast<std::uint64_t>(*high) - static_cast<std::uint64_t>(*low);
    if (span < 16 * n + 1024) {
      table_.assign(span + 1, -1);
      for (std::size_t i = 0; i < n; ++i) insert(table_[static_cast<std::size_t>(ids[i] - low_)], i);
      return;
    }
    std::size_t size = 16;
    while (size < 2 * n) size *= 2;
    mask_ = size - 1;
    keys_.resize(size);
    table_.assign(size, -1);
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t at = mix64(static_cast<std::uint64_t>(ids[i])) & mask_;
      while (table_[at] >= 0 && keys_[at] != ids[i]) at = (at + 1) & mask_;
      keys_[at] = ids[i];
      insert(table_[at], i);
    }
  }
  std::int32_t find(std::int64_t id) const {
    if (!mask_) {
      const std::uint64_t at = static_cast<std::uint64_t>(id) - static_cast<std::uint64_t>(low_);
      return at < table_.size() ? table_[at] : -1;
    }
    std::size_t at = mix64(static_cast<std::uint64_t>(id)) & mask_;
    while (table_[at] >= 0 && keys_[at] != id) at = (at + 1) & mask_;
    return table_[at];
  }
  std::int64_t repeated() const { return repeated_; }

 private:
  void insert(std::int32_t& slot, std::size_t i) {
    if (slot < 0) slot = static_cast<std::int32_t>(i);
    else if (repeated_ < 0) repeated_ = static_cast<std::int64_t>(i);
  }
  std::int64_t low_ = 0, repeated_ = -1;
  std::size_t mask_ = 0;
  std::vector<std::int64_t> keys_;
  std::vector<std::int32_t> table_;
};

bool mixed(const Ids& a, const Ids& b) {
  return (!a.numbers.empty() && !b.ends.empty()) || (!a.ends.empty() && !b.numbers.empty());
}

std::vector<Part> parse(const Source& source, bool truth, What what, long asked) {
  const std::size_t size = source.size();
  const std::size_t chunks = std::max<std::size_t>(1, (size + kChunk - 1) / kChunk);
  const std::size_t threads = thread_count(asked);
  std::vector<Part> parts(chunks);
  auto until = [&](std::size_t i) { return i + 1 == chunks ? size + 1 : (i + 1) * kChunk; };
  if (threads > 1 && chunks > 1) {
    State guess;
    guess.phase = Phase::element;
    guess.section = truth ? kAnnotations : kResults;
    parallel_for(chunks, threads, [&](std::size_t i) {
      Parser parser(source, truth, what);
      try {
        if (i == 0) parser.run(parts[i], State{}, 0, until(i), false);
        else parser.run(parts[i], guess, i * kChunk, until(i), true);
      } catch (const Fault&) {
        parts[i] = Part{};  // it is met again where the start is proven, or the guess was wrong
      }
    });
  }
  Parser parser(source, truth, what);
  State state;
  std::size_t place = 0;
  std::size_t counts[kSections] = {0, 0, 0, 0};
  Ids kinds[4];  // the first of each id column: tells numbers from texts
  auto consistent = [&](const Part& part) {
    return !mixed(kinds[0], part.images) && !mixed(kinds[1], part.categories) && !mixed(kinds[2], part.image) &&
           !mixed(kinds[3], part.label);
  };
  for (std::size_t i = 0; i < chunks; ++i) {
    Part& part = parts[i];
    if (place >= until(i) && i + 1 < chunks) {  // a record reached over the whole chunk
      part = Part{};
      continue;
    }
    const bool proven = part.ran && part.begin == place && part.before.phase == state.phase &&
                        part.before.section == state.section && !(part.after.opened & state.opened) && i > 0;
    if (!(proven || (i == 0 && part.ran))) {
      part = Part{};
      try {
        parser.run(part, state, place, until(i), false);
      } catch (Fault& fault) {
        if (fault.record >= 0) fault.record += static_cast<long long>(counts[fault.section]);
        throw;
      }
    }
    if (!consistent(part)) throw Fault{part.begin, "some ids are numbers and some are texts", false, -1, {}, -1};
    const Ids* ids[] = {&part.images, &part.categories, &part.image, &part.label};
    for (int j = 0; j < 4; ++j) {
      if (kinds[j].size() == 0) {
        if (!ids[j]->numbers.empty()) kinds[j].numbers.push_back(0);
        if (!ids[j]->ends.empty()) kinds[j].ends.push_back(0);
      }
    }
    for (int s = 0; s < kSections; ++s) counts[s] += part.counts[s];
    const unsigned opened = state.opened;
    state = part.after;
    state.opened |= opened;
    place = part.end;
  }
  if (truth) {
    for (int s : {kImages, kAnnotations, kCategories}) {
      if (!(state.opened & (1u << s))) {
        throw Fault{size, std::string("'") + kNames[s] + "' is missing", false, -1, {}, -1};
      }
    }
  }
  return parts;
}

// Joins one column of all parts into an array; each part's memory is given back as it is copied.
template <typename T, typename Get>
Out<T> joined(std::vector<Part>& parts, Get get, std::size_t width = 0) {
  std::size_t total = 0;
  for (Part& part : parts) total += get(part).size();
  T* out;
  auto result = width ? make_raw<T>({total / width, width}, out) : make_raw<T>({total}, out);
  for (Part& part : parts) {
    auto& column = get(part);
    out = std::copy(column.begin(), column.end(), out);
    std::decay_t<decltype(column)>().swap(column);
  }
  return result;
}

// Numbers as an array; texts as their bytes and where each ends.
template <typename Get>
nb::object joined_ids(std::vector<Part>& parts, Get get) {
  bool text = false;
  for (Part& part : parts) text |= !get(part).ends.empty();
  if (!text) return nb::cast(joined<std::int64_t>(parts, [&](Part& p) -> auto& { return get(p).numbers; }));
  std::string all;
  for (Part& part : parts) {
    for (std::int64_t& end : get(part).ends) end += static_cast<std::int64_t>(all.size());
    all += get(part).texts;
  }
  auto ends = joined<std::int64_t>(parts, [&](Part& p) -> auto& { return get(p).ends; });
  return nb::make_tuple(nb::bytes(all.data(), all.size()), ends);
}

// Images and their sizes, as (height, width) in turn: ids are numbers or texts.
struct ImageSizes {
  std::vector<std::int64_t> numbers;
  std::vector<std::string> texts;
  std::vector<std::int64_t> sizes;
};

// Draws the masks of all parts; the sizes are those given, and those of the file's own images.
void draw_masks(std::vector<Part>& parts, ImageSizes known, long asked) {
  for (const Part& part : parts) {
    known.numbers.insert(known.numbers.end(), part.images.numbers.begin(), part.images.numbers.end());
    std::size_t from = 0;
    for (std::int64_t end : part.images.ends) {
      known.texts.push_back(part.images.texts.substr(from, static_cast<std::size_t>(end) - from));
      from = static_cast<std::size_t>(end);
    }
    known.sizes.insert(known.sizes.end(), part.shapes.sizes.begin(), part.shapes.sizes.end());
  }
  require(known.sizes.size() == 2 * (known.numbers.size() + known.texts.size()), "one size for each image");
  require(known.numbers.size() < (std::size_t{1} << 31), "too many ids");
  const Places places(known.numbers.data(), known.numbers.size());
  std::unordered_map<std::string_view, std::size_t> named;
  for (std::size_t i = 0; i < known.texts.size(); ++i) named.emplace(known.texts[i], i);
  std::vector<std::optional<Fault>> faults(parts.size());
  parallel_for(parts.size(), thread_count(asked), [&](std::size_t p) {
    Part& part = parts[p];
    try {
      part.shapes.draw([&](std::size_t row, std::int64_t& height, std::int64_t& width) {
        std::size_t at;
        if (!part.image.ends.empty()) {
          const std::size_t from = row ? static_cast<std::size_t>(part.image.ends[row - 1]) : 0;
          const std::size_t size = static_cast<std::size_t>(part.image.ends[row]) - from;
          const auto found = named.find(std::string_view(part.image.texts).substr(from, size));
          if (found == named.end()) return false;
          at = found->second;
        } else {
          const std::int32_t found = places.find(part.image.numbers[row]);
          if (found < 0) return false;
          at = static_cast<std::size_t>(found);
        }
        height = known.sizes[2 * at];
        width = known.sizes[2 * at + 1];
        return true;
      });
    } catch (Fault& fault) {
      faults[p] = std::move(fault);
    }
  });
  long long before = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (faults[p]) {
      faults[p]->record += before;
      faults[p]->section = parts[p].counts[kResults] ? kResults : kAnnotations;
      throw std::move(*faults[p]);
    }
    before += static_cast<long long>(parts[p].shapes.masks.size());
  }
}

// Records of one chunk may agree and those of another not.
void check_keypoints(const std::vector<Part>& parts) {
  std::size_t numbers = 0;
  for (const Part& part : parts) {
    const std::size_t n = part.shapes.keypoint_numbers;
    if (numbers && n && n != numbers) {
      throw Fault{part.begin, std::to_string(n / 3) + " keypoints where others have " + std::to_string(numbers / 3), false, -1,
                  "keypoints", -1};
    }
    if (n) numbers = n;
  }
}

// Masks as packed bytes, one object each; their boxes, and the areas where the file gives none.
void put_masks(nb::dict& out, std::vector<Part>& parts, bool truth) {
  nb::list masks;
  for (Part& part : parts) {
    for (std::size_t row = 0; row < part.shapes.masks.size(); ++row) {
      const Shapes::One& one = part.shapes.masks[row];
      masks.append(nb::bytes(reinterpret_cast<const char*>(part.shapes.packed.data() + one.begin), 4 * (one.end - one.begin)));
      if (truth && part.area[row] < 0) part.area[row] = part.shapes.areas[row];
    }
    std::vector<std::uint32_t>().swap(part.shapes.packed);
  }
  out["mask"] = masks;
  out["box"] = joined<double>(parts, [](Part& p) -> auto& { return p.shapes.boxes; }, 4);
  if (!truth) out["area"] = joined<double>(parts, [](Part& p) -> auto& { return p.shapes.areas; });
}

void put_keypoints(nb::dict& out, std::vector<Part>& parts, bool truth) {
  std::size_t width = 0;
  for (Part& part : parts) {
    width = std::max(width, part.shapes.keypoint_numbers);
    for (std::size_t row = 0; row < part.area.size(); ++row) {
      if (part.area[row] < 0) part.area[row] = part.box[4 * row + 2] * part.box[4 * row + 3];
    }
  }
  out["keypoints"] = joined<double>(parts, [](Part& p) -> auto& { return p.shapes.keypoints; }, width ? width : 3);
  if (truth) out["visible"] = joined<std::int64_t>(parts, [](Part& p) -> auto& { return p.shapes.visible; });
}

nb::object read(const Source& source, bool truth, long threads, What what, const ImageSizes& sizes) {
  std::vector<Part> parts;
  Fault fault;
  bool failed = false;
  {
    nb::gil_scoped_release release;
    try {
      parts = parse(source, truth, what, threads);
      if (what == What::masks) draw_masks(parts, sizes, threads);
      if (what == What::keypoints) check_keypoints(parts);
    } catch (Fault& met) {
      fault = std::move(met);
      failed = true;
    }
  }
  if (failed) {
    return nb::make_tuple(fault.at, fault.what, fault.syntax, fault.section < 0 ? "" : kNames[fault.section],
                          fault.record, nb::str(fault.key.data(), fault.key.size()));
  }
  nb::dict out;
  out["image"] = joined_ids(parts, [](Part& p) -> Ids& { return p.image; });
  out["label"] = joined_ids(parts, [](Part& p) -> Ids& { return p.label; });
  if (what == What::masks) put_masks(out, parts, truth);
  if (what == What::keypoints) put_keypoints(out, parts, truth);
  if (what != What::masks) out["box"] = joined<double>(parts, [](Part& p) -> auto& { return p.box; }, 4);
  if (!truth) {
    out["score"] = joined<double>(parts, [](Part& p) -> auto& { return p.score; });
    return out;
  }
  out["images"] = joined_ids(parts, [](Part& p) -> Ids& { return p.images; });
  out["sizes"] = joined<double>(parts, [](Part& p) -> auto& { return p.size; }, 2);
  out["id"] = joined<std::int64_t>(parts, [](Part& p) -> auto& { return p.id; });
  out["area"] = joined<double>(parts, [](Part& p) -> auto& { return p.area; });
  out["crowd"] = joined<std::uint8_t>(parts, [](Part& p) -> auto& { return p.crowd; });
  if (what == What::masks) out["sizes"] = joined<std::int64_t>(parts, [](Part& p) -> auto& { return p.shapes.sizes; }, 2);
  out["categories"] = joined_ids(parts, [](Part& p) -> Ids& { return p.categories; });
  nb::list names;
  for (Part& part : parts) {
    std::int64_t from = 0;
    for (std::int64_t end : part.name_ends) {
      names.append(nb::str(part.names.data() + from, static_cast<std::size_t>(end - from)));
      from = end;
    }
  }
  out["names"] = names;
  bool federated = false;
  for (const Part& part : parts) federated |= part.federated;
  out["federated"] = federated;
  return out;
}

What what_of(int what) {
  require(what >= 0 && what <= 2, "boxes, masks or keypoints");
  return static_cast<What>(what);
}

ImageSizes sizes_of(nb::object ids, nb::object sizes) {
  ImageSizes out;
  if (sizes.is_none()) return out;
  const auto given = nb::cast<In2<std::int64_t>>(sizes, false);
  require(given.shape(1) == 2, "a size is height and width");
  out.sizes.assign(given.data(), given.data() + given.size());
  if (nb::isinstance<nb::list>(ids)) {
    for (nb::handle id : nb::borrow<nb::list>(ids)) out.texts.push_back(nb::cast<std::string>(id));
  } else {
    const auto numbers = nb::cast<In1<std::int64_t>>(ids, false);
    out.numbers.assign(numbers.data(), numbers.data() + numbers.shape(0));
  }
  require(2 * (out.numbers.size() + out.texts.size()) == out.sizes.size(), "one size for each image");
  return out;
}

}  // namespace

void bind_coco(nb::module_& m) {
  m.def(
      "coco_read",
      [](const std::string& path, bool truth, long threads, int what, nb::object ids, nb::object sizes) {
        return read(Source(path), truth, threads, what_of(what), sizes_of(ids, sizes));
      },
      nb::arg("path"), nb::arg("truth"), nb::arg("threads") = 0, nb::arg("what") = 0, nb::arg("ids") = nb::none(),
      nb::arg("sizes") = nb::none(),
      "Columns of a COCO file as a dict, or a tuple (byte, what, syntax, section, record, key) that says what is wrong. "
      "`what`: 0 boxes, 1 masks, 2 keypoints; `ids` and `sizes` of images serve results with polygons.");
  m.def(
      "coco_parse",
      [](nb::bytes text, bool truth, long threads, int what, nb::object ids, nb::object sizes) {
        return read(Source(static_cast<const char*>(text.data()), text.size()), truth, threads, what_of(what),
                    sizes_of(ids, sizes));
      },
      nb::arg("text"), nb::arg("truth"), nb::arg("threads") = 0, nb::arg("what") = 0, nb::arg("ids") = nb::none(),
      nb::arg("sizes") = nb::none(), "The same from bytes in memory.");
  m.def(
      "places",
      [](In1<std::int64_t> ids, In1<std::int64_t> column) {
        require(ids.shape(0) < (std::size_t{1} << 31), "too many ids");
        std::int32_t* out;
        auto result = make_raw<std::int32_t>({column.shape(0)}, out);
        nb::gil_scoped_release release;
        const Places places(ids.data(), ids.shape(0));
        for (std::size_t i = 0; i < column.shape(0); ++i) out[i] = places.find(column.data()[i]);
        return result;
      },
      nb::arg("ids").noconvert(), nb::arg("column").noconvert(),
      "Where each value of a column stands among distinct ids; -1 where it does not.");
  m.def(
      "first_repeated",
      [](In1<std::int64_t> ids) {
        require(ids.shape(0) < (std::size_t{1} << 31), "too many ids");
        nb::gil_scoped_release release;
        return Places(ids.data(), ids.shape(0)).repeated();
      },
      nb::arg("ids").noconvert(), "The first row whose id stands in an earlier row; -1 where there is none.");
}

}  // namespace steelyard
