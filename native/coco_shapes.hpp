// What stands under "segmentation" and "keypoints" in COCO JSON, read along with the rest of a record.
//
// Compressed masks become counts at once, in the thread that reads them. Polygons wait: they can be drawn only when the
// size of their image is known, and images may stand behind annotations. Drawing is then shared between the threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "json.hpp"
#include "rle.hpp"

namespace steelyard {

enum class What : int { boxes = 0, masks = 1, keypoints = 2 };

// The masks or keypoints of one chunk's records. Numbers of all records lie one behind the other.
struct Shapes {
  // Masks: counts of those that came as counts, points of those that came as polygons.
  std::vector<std::uint32_t> counts;
  std::vector<double> points;
  std::vector<std::size_t> ring_ends;  // in points
  struct One {
    std::size_t at;                    // byte in the file, for messages
    std::size_t counts_end, rings_end;
    std::uint32_t height, width;       // of counts
    bool drawn;                        // polygons
  };
  std::vector<One> masks;
  // Keypoints: x, y, v in turn.
  std::vector<double> keypoints;
  std::size_t keypoint_numbers = 0;    // of each record; 0: none met yet
  std::vector<std::int64_t> visible;   // num_keypoints, -1 where it is not given
  // Images: height and width, -1 where they are not given.
  std::vector<std::int64_t> sizes;
  // After `draw`: height, width and counts of each mask, and where each ends.
  std::vector<std::uint32_t> packed;
  std::vector<std::size_t> packed_ends;
  std::vector<double> boxes, areas;

  void read_mask(Cursor& c, std::size_t base);
  void read_keypoints(Cursor& c);

  // The box around the points from `first` on: of all of them, or else of the visible ones.
  void box_of_points(std::size_t first, bool all, double* box) const;

  // Makes every mask: `size_of(row, height, width)` says whether the size of the row's image is known, and gives it.
  template <typename SizeOf>
  void draw(SizeOf size_of);

  // A record that turns out not to be whole is read again: nothing of it may stay.
  struct Mark {
    std::size_t counts, points, rings, masks, keypoints, sizes, visible;
  };
  Mark mark() const {
    return {counts.size(), points.size(), ring_ends.size(), masks.size(), keypoints.size(), sizes.size(), visible.size()};
  }
  void back_to(const Mark& m) {
    counts.resize(m.counts);
    points.resize(m.points);
    ring_ends.resize(m.rings);
    masks.resize(m.masks);
    keypoints.resize(m.keypoints);
    sizes.resize(m.sizes);
    visible.resize(m.visible);
  }

 private:
  void read_polygons(Cursor& c, std::size_t start);
  void read_counts(Cursor& c, std::size_t start, One& one);
  std::string scratch_;
  std::vector<std::uint32_t> list_;
};

inline void Shapes::read_mask(Cursor& c, std::size_t base) {
  const std::size_t start = c.at();
  One one{base + start, 0, 0, 0, 0, false};
  if (c.peek() == '[') {
    read_polygons(c, start);
    one.drawn = true;
  } else if (c.peek() == '{') {
    read_counts(c, start, one);
  } else {
    c.wrong_type("polygons (an array) or a mask (an object with size and counts) is expected");
  }
  one.counts_end = counts.size();
  one.rings_end = ring_ends.size();
  masks.push_back(one);
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
      if (numbers % 2) c.refuse(ring, "a polygon of " + std::to_string(numbers) + " numbers: x and y come in pairs");
      if (numbers < 6) c.refuse(ring, "a polygon of " + std::to_string(numbers / 2) + " points: it needs three");
      ring_ends.push_back(points.size());
      ++rings;
    } while (c.take(','));
    c.expect(']', "',' or ']' is expected");
  }
  if (rings == 0) c.refuse(start, "there is no polygon");
}

inline void Shapes::read_counts(Cursor& c, std::size_t start, One& one) {
  c.step();
  bool have_size = false, have_counts = false, as_text = false;
  long long size[2] = {0, 0};
  std::string text;
  list_.clear();
  if (!c.take('}')) {
    do {
      c.space();
      if (c.peek() != '"') c.stop("a key in quotes is expected");
      const std::string_view name = c.text(&scratch_);
      const bool is_size = name == "size", is_counts = name == "counts";
      c.expect(':', "':' is expected");
      c.space();
      if (is_size) {
        if (have_size) c.refuse(c.at(), "the mask's size stands twice");
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
        if (n != 2) c.refuse(start, "the mask's size has " + std::to_string(n) + " numbers, not 2");
      } else if (is_counts) {
        if (have_counts) c.refuse(c.at(), "the mask's counts stand twice");
        have_counts = true;
        if (c.peek() == '"') {
          text = c.text(&scratch_);
          as_text = true;
        } else if (c.peek() == '[') {
          c.step();
          if (!c.take(']')) {
            do {
              const Cursor::Number number = c.number();
              if (!number.integral || number.whole < 0 || number.whole > 0xFFFFFFFFll) {
                c.refuse(start, "a count of the mask is not a whole number from 0 to 2^32");
              }
              list_.push_back(static_cast<std::uint32_t>(number.whole));
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
    Rle rle;
    if (as_text) {
      rle = rle_from_text(text, size[0], size[1]);
    } else {
      check_size(size[0], size[1]);
      rle = {static_cast<std::uint32_t>(size[0]), static_cast<std::uint32_t>(size[1]), list_};
      check_counts(rle);
    }
    one.height = rle.height;
    one.width = rle.width;
    counts.insert(counts.end(), rle.counts.begin(), rle.counts.end());
  } catch (const std::invalid_argument& error) {
    c.refuse(start, error.what());
  }
}

template <typename SizeOf>
void Shapes::draw(SizeOf size_of) {
  Polygons polygons;
  Rle rle;
  packed.reserve(counts.size() + 32 * masks.size());
  std::size_t counts_begin = 0, ring = 0;
  for (std::size_t row = 0; row < masks.size(); ++row) {
    const One& one = masks[row];
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
        rle = polygons.take(static_cast<std::uint32_t>(height), static_cast<std::uint32_t>(width));
      } catch (const std::invalid_argument& error) {
        refuse(error.what());
      }
    } else {
      if (known && (one.height != height || one.width != width)) {
        refuse("the mask is " + std::to_string(one.height) + " x " + std::to_string(one.width) + " and its image " +
               std::to_string(height) + " x " + std::to_string(width));
      }
      rle.height = one.height;
      rle.width = one.width;
      rle.counts.assign(counts.begin() + static_cast<std::ptrdiff_t>(counts_begin),
                        counts.begin() + static_cast<std::ptrdiff_t>(one.counts_end));
    }
    counts_begin = one.counts_end;
    packed.push_back(rle.height);
    packed.push_back(rle.width);
    packed.insert(packed.end(), rle.counts.begin(), rle.counts.end());
    packed_ends.push_back(packed.size());
    const std::array<double, 4> box = rle_box(rle);
    boxes.insert(boxes.end(), box.begin(), box.end());
    areas.push_back(rle_area(rle));
  }
  std::vector<double>().swap(points);
  std::vector<std::uint32_t>().swap(counts);
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
    c.refuse(start, std::to_string(numbers) + " numbers where x, y and v for each keypoint are expected");
  }
  if (keypoint_numbers && numbers != keypoint_numbers) {
    c.refuse(start, std::to_string(numbers / 3) + " keypoints where others have " + std::to_string(keypoint_numbers / 3));
  }
  keypoint_numbers = numbers;
}

inline void Shapes::box_of_points(std::size_t first, bool all, double* box) const {
  double low[2] = {0, 0}, high[2] = {0, 0};
  bool any = false;
  for (std::size_t i = first; i + 2 < keypoints.size(); i += 3) {
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
