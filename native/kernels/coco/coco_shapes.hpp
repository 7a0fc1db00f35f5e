// What stands under "segmentation" and "keypoints" in COCO JSON, read along with the rest of a record.
//
// Compressed masks become counts at once, in the thread that reads them. Polygons wait: they can be drawn only when the
// size of their image is known, and images may stand behind annotations. Drawing is then shared between the threads.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "coco/json.hpp"
#include "masks/rle.hpp"
#include "support/count_text.hpp"

namespace steelyard {

enum class What : int { boxes = 0, masks = 1, keypoints = 2, rotated = 3 };

// The masks or keypoints of one chunk's records. Numbers of all records lie one behind the other.
struct Shapes {
  // Packed masks, one behind the other; and points of those that came as polygons.
  std::vector<std::uint32_t> packed;
  std::vector<double> points;
  std::vector<std::size_t> ring_ends;  // in points
  struct One {
    std::size_t at;          // byte in the file, for messages
    std::size_t begin, end;  // in packed, once it is made
    std::size_t rings_end;
    bool drawn;  // of polygons
  };
  std::vector<One> masks;
  // Compact, instead of the above: heads, and counts as texts. See mask_column.hpp.
  bool compact = false;
  std::vector<std::uint32_t> heads;
  std::string texts;
  struct Ends {
    std::size_t text, rings;
  };
  std::vector<Ends> ends;  // of each mask; where the rings do not end further on, it came as counts
  // Keypoints: x, y, v in turn.
  std::vector<double> keypoints;
  std::size_t keypoint_numbers = 0;   // of each record; 0: none met yet
  std::vector<std::int64_t> visible;  // num_keypoints, -1 where it is not given
  // Images: height and width, -1 where they are not given.
  std::vector<std::int64_t> sizes;
  // After `draw`.
  std::vector<double> boxes, areas;

  void read_mask(Cursor& c, std::size_t base);
  void read_keypoints(Cursor& c);
  // A rotated box, in the place of keypoints: centre x and y, width, height, angle.
  void read_rotated(Cursor& c);

  // Of each keypoint x and y, without the flag.
  void read_places(Cursor& c);

  // The box around the points from `first` on: of all of them, or else of the visible ones.
  void box_of_points(std::size_t first, bool all, std::size_t each, double* box) const;

  // Makes every mask: `size_of(row, height, width)` says whether the size of the row's image is known, and gives it.
  template <typename SizeOf>
  void draw(SizeOf size_of);
  template <typename SizeOf>
  void draw_compact(SizeOf size_of);

  // A record that turns out not to be whole is read again: nothing of it may stay.
  struct Mark {
    std::size_t packed, points, rings, masks, keypoints, sizes, visible, heads, texts, ends;
  };
  Mark mark() const {
    return {packed.size(), points.size(),  ring_ends.size(), masks.size(), keypoints.size(),
            sizes.size(),  visible.size(), heads.size(),     texts.size(), ends.size()};
  }
  void back_to(const Mark& m) {
    packed.resize(m.packed);
    points.resize(m.points);
    ring_ends.resize(m.rings);
    masks.resize(m.masks);
    keypoints.resize(m.keypoints);
    sizes.resize(m.sizes);
    visible.resize(m.visible);
    heads.resize(m.heads);
    texts.resize(m.texts);
    ends.resize(m.ends, {0, 0});
  }

 private:
  void keep_compact(bool drawn, std::size_t text);
  void read_polygons(Cursor& c, std::size_t start);
  void read_counts(Cursor& c, std::size_t start);
  std::string scratch_;
};

inline void Shapes::read_mask(Cursor& c, std::size_t base) {
  const std::size_t start = c.at(), text = texts.size();
  if (compact) packed.clear();
  One one{base + start, packed.size(), 0, 0, false};
  if (c.peek() == '[') {
    read_polygons(c, start);
    one.drawn = true;
  } else if (c.peek() == '{') {
    read_counts(c, start);
  } else {
    c.wrong_type("polygons (an array) or a mask (an object with size and counts) is expected");
  }
  if (compact) {
    keep_compact(one.drawn, text);
    return;
  }
  one.end = packed.size();
  one.rings_end = ring_ends.size();
  masks.push_back(one);
}

// The mask that was read last: of polygons, or counts that lie alone in `packed`, and in `texts` if they came as text.
inline void Shapes::keep_compact(bool drawn, std::size_t text) {
  if (drawn) {
    heads.insert(heads.end(), kPackedHead, 0u);
  } else {
    const RunsView mask(packed[0], packed[1], packed.data() + kPackedHead, packed.size() - kPackedHead);
    heads.resize(heads.size() + kPackedHead);
    pack_head(heads.data() + heads.size() - kPackedHead, mask, extent_of(mask));
    if (texts.size() == text) add_text(mask, texts);
  }
  ends.push_back({texts.size(), ring_ends.size()});
}

inline void Shapes::read_polygons(Cursor& c, std::size_t start) {
  c.step();
  std::size_t rings = 0;
  if (!c.take(']')) {
    do {
      c.space();
      if (c.peek() != '[') c.wrong_type("a polygon (an array of numbers) is expected");
      const std::size_t ring = c.at(), first = points.size();
      c.step();
      if (!c.take(']')) {
        do {
          const double value = c.number().value;
          if (value > 2e8 || value < -2e8) c.refuse(ring, "a polygon's coordinate is beyond 2e8");
          points.push_back(value);
        } while (c.take(','));
        c.expect(']', "',' or ']' is expected");
      }
      const std::size_t numbers = points.size() - first;
      if (numbers % 2) c.refuse(ring, "a polygon of " + count_text(numbers, "number") + ": x and y come in pairs");
      if (numbers < 6) c.refuse(ring, "a polygon of " + count_text(numbers / 2, "point") + ": it needs three");
      ring_ends.push_back(points.size());
      ++rings;
    } while (c.take(','));
    c.expect(']', "',' or ']' is expected");
  }
  if (rings == 0) c.refuse(start, "there is no polygon");
}

inline void Shapes::read_counts(Cursor& c, std::size_t start) {
  c.step();
  bool have_size = false, have_counts = false;
  long long size[2] = {0, 0};
  std::uint64_t sum = 0;
  const std::size_t head = packed.size();
  packed.insert(packed.end(), kPackedHead, 0u);
  if (!c.take('}')) {
    do {
      c.space();
      if (c.peek() != '"') c.stop("a key in quotes is expected");
      const std::string_view name = c.text(&scratch_);
      const bool is_size = name == "size", is_counts = name == "counts";
      c.expect(':', "':' is expected");
      c.space();
      if (is_size) {
        if (have_size) c.refuse(c.at(), "the mask's size appears twice");
        have_size = true;
        if (c.peek() != '[') c.wrong_type("the mask's size, an array of height and width, is expected");
        c.step();
        int n = 0;
        do {
          const Cursor::Number number = c.number();
          if (!number.integral) c.refuse(start, "the mask's size is not whole");
          if (n < 2) size[n] = number.whole;
          ++n;
        } while (c.take(','));
        c.expect(']', "',' or ']' is expected");
        if (n != 2) c.refuse(start, "the mask's size has " + count_text(n, "number") + ", not 2");
      } else if (is_counts) {
        if (have_counts) c.refuse(c.at(), "the mask's counts appear twice");
        have_counts = true;
        if (c.peek() == '"') {
          const std::string_view text = c.text(&scratch_);
          if (compact) texts += text;
          try {
            sum = counts_from_text(text, packed);
          } catch (const std::invalid_argument& error) {
            c.refuse(start, error.what());
          }
        } else if (c.peek() == '[') {
          c.step();
          if (!c.take(']')) {
            do {
              const Cursor::Number number = c.number();
              if (!number.integral || number.whole < 0 || number.whole > 0xFFFFFFFFll) {
                c.refuse(start, "a count of the mask is not a whole number from 0 to 2^32");
              }
              packed.push_back(static_cast<std::uint32_t>(number.whole));
              sum += static_cast<std::uint64_t>(number.whole);
            } while (c.take(','));
            c.expect(']', "',' or ']' is expected");
          }
        } else {
          c.wrong_type("the mask's counts, a text or an array, are expected");
        }
      } else {
        c.skip();
      }
    } while (c.take(','));
    c.expect('}', "',' or '}' is expected");
  }
  if (!have_size || !have_counts) c.refuse(start, std::string("the mask lacks '") + (have_size ? "counts'" : "size'"));
  try {
    check_size(size[0], size[1]);
  } catch (const std::invalid_argument& error) {
    c.refuse(start, error.what());
  }
  packed[head] = static_cast<std::uint32_t>(size[0]);
  packed[head + 1] = static_cast<std::uint32_t>(size[1]);
  const std::uint64_t pixels = static_cast<std::uint64_t>(size[0]) * static_cast<std::uint64_t>(size[1]);
  if (sum != pixels) {
    c.refuse(start, "the counts add up to " + count_text(sum, "pixel") + ", the size " + std::to_string(size[0]) +
                        " x " + std::to_string(size[1]) + " has " + std::to_string(pixels));
  }
}

template <typename SizeOf>
void Shapes::draw(SizeOf size_of) {
  Polygons polygons;
  std::size_t ring = 0;
  boxes.reserve(4 * masks.size());
  areas.reserve(masks.size());
  for (std::size_t row = 0; row < masks.size(); ++row) {
    One& one = masks[row];
    auto refuse = [&](std::string what) {
      throw Fault{one.at, std::move(what), false, static_cast<long long>(row), "segmentation", -1};
    };
    std::int64_t height = -1, width = -1;
    const bool known = size_of(row, height, width) && height >= 0 && width >= 0;
    if (one.drawn) {
      if (!known) refuse("a polygon needs the height and width of its image, which the truth does not give");
      try {
        check_size(height, width);
        for (; ring < one.rings_end; ++ring) {
          const std::size_t first = ring ? ring_ends[ring - 1] : 0;
          polygons.add(points.data() + first, ring_ends[ring] - first);
        }
        const Rle rle = polygons.take(static_cast<std::uint32_t>(height), static_cast<std::uint32_t>(width));
        one.begin = packed.size();
        packed.insert(packed.end(), kPackedHead, 0u);
        packed[one.begin] = rle.height;
        packed[one.begin + 1] = rle.width;
        packed.insert(packed.end(), rle.counts.begin(), rle.counts.end());
        one.end = packed.size();
      } catch (const std::invalid_argument& error) {
        refuse(error.what());
      }
    } else if (known && (packed[one.begin] != height || packed[one.begin + 1] != width)) {
      refuse("the mask is " + std::to_string(packed[one.begin]) + " x " + std::to_string(packed[one.begin + 1]) +
             " and its image " + std::to_string(height) + " x " + std::to_string(width));
    }
    std::uint32_t* words = packed.data() + one.begin;
    const RunsView mask(words[0], words[1], words + kPackedHead, one.end - one.begin - kPackedHead);
    const Extent extent = extent_of(mask);
    pack_head(words, mask, extent);
    const std::array<double, 4> box = box_of(extent);
    boxes.insert(boxes.end(), box.begin(), box.end());
    areas.push_back(extent.area);
  }
  std::vector<double>().swap(points);
}

// Nothing is said of where a fault lies: who reads compact masks reads the file again in another way.
template <typename SizeOf>
void Shapes::draw_compact(SizeOf size_of) {
  if (ring_ends.empty()) return;
  Polygons polygons;
  std::string all;  // in the order of the masks
  all.reserve(texts.capacity());
  std::size_t ring = 0, text = 0;
  for (std::size_t row = 0; row < ends.size(); ++row) {
    const Ends before = ends[row];
    if (before.rings == ring) {
      all.append(texts, text, before.text - text);
    } else {
      std::int64_t height = -1, width = -1;
      if (!size_of(row, height, width) || height < 0 || width < 0) throw Fault{};
      try {
        check_size(height, width);
        for (; ring < before.rings; ++ring) {
          const std::size_t first = ring ? ring_ends[ring - 1] : 0;
          polygons.add(points.data() + first, ring_ends[ring] - first);
        }
        const Rle rle = polygons.take(static_cast<std::uint32_t>(height), static_cast<std::uint32_t>(width));
        pack_head(heads.data() + row * kPackedHead, rle, extent_of(rle));
        add_text(rle, all);
      } catch (const std::invalid_argument&) {
        throw Fault{};
      }
    }
    text = before.text;
    ends[row].text = all.size();
  }
  texts = std::move(all);
  std::vector<double>().swap(points);
  std::vector<std::size_t>().swap(ring_ends);
}

inline void Shapes::read_keypoints(Cursor& c) {
  const std::size_t start = c.at(), before = keypoints.size();
  if (c.peek() != '[') c.wrong_type("an array of x, y and v for each keypoint is expected");
  c.step();
  if (!c.take(']')) {
    do {
      const double value = c.number().value;
      if (value > 1e12 || value < -1e12) c.refuse(start, "a keypoint beyond 1e12");
      keypoints.push_back(value);
    } while (c.take(','));
    c.expect(']', "',' or ']' is expected");
  }
  const std::size_t numbers = keypoints.size() - before;
  if (numbers == 0 || numbers % 3) {
    c.refuse(start, count_text(numbers, "number") + " where x, y and v for each keypoint are expected");
  }
  if (keypoint_numbers && numbers != keypoint_numbers) {
    c.refuse(start, count_text(numbers / 3, "keypoint") + " where others have " + std::to_string(keypoint_numbers / 3));
  }
  keypoint_numbers = numbers;
}

inline void Shapes::read_rotated(Cursor& c) {
  const std::size_t start = c.at(), before = keypoints.size();
  if (c.peek() != '[') c.wrong_type("an array of centre x, centre y, width, height and angle is expected");
  c.step();
  if (!c.take(']')) {
    do {
      const double value = c.number().value;
      if (value > 1e12 || value < -1e12) c.refuse(start, "a number beyond 1e12");
      keypoints.push_back(value);
    } while (c.take(','));
    c.expect(']', "',' or ']' is expected");
  }
  const std::size_t numbers = keypoints.size() - before;
  if (numbers != 5)
    c.refuse(start, count_text(numbers, "number") + " where 5 are expected: centre, width, height, angle");
  if (keypoints[before + 2] < 0 || keypoints[before + 3] < 0) c.refuse(start, "a negative width or height");
  keypoint_numbers = numbers;
}

inline void Shapes::read_places(Cursor& c) {
  const std::size_t start = c.at();
  if (c.peek() != '[') c.wrong_type("an array of x, y and v for each keypoint is expected");
  c.step();
  std::size_t numbers = 0;
  if (!c.take(']')) {
    do {
      if (++numbers % 3 == 0) {
        c.space();
        if (!c.number_here()) c.wrong_type("a number is expected");
        c.skip();
        continue;
      }
      const double value = c.number().value;
      if (value > 1e12 || value < -1e12) c.refuse(start, "a keypoint beyond 1e12");
      keypoints.push_back(value);
    } while (c.take(','));
    c.expect(']', "',' or ']' is expected");
  }
  if (numbers == 0 || numbers % 3 || (keypoint_numbers && numbers != keypoint_numbers))
    c.refuse(start, "another number of keypoints than in the others");
  keypoint_numbers = numbers;
}

inline void Shapes::box_of_points(std::size_t first, bool all, std::size_t each, double* box) const {
  double low[2] = {0, 0}, high[2] = {0, 0};
  bool any = false;
  for (std::size_t i = first; i + each <= keypoints.size(); i += each) {
    if (!all && !(keypoints[i + 2] > 0)) continue;
    for (std::size_t j = 0; j < 2; ++j) {
      low[j] = any ? std::min(low[j], keypoints[i + j]) : keypoints[i + j];
      high[j] = any ? std::max(high[j], keypoints[i + j]) : keypoints[i + j];
    }
    any = true;
  }
  for (std::size_t j = 0; j < 2; ++j) {
    box[j] = low[j];
    box[2 + j] = high[j] - low[j];
  }
}

}  // namespace steelyard
