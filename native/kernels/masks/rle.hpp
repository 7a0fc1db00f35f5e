// Masks as run lengths, column by column, as COCO stores them: what the kernels of masks share.
//
// A mask is a list of counts that take turns between 0 and 1, beginning with 0, and add up to height times width. All
// that is computed here stays on the runs, never on pixels; only `decode` makes pixels, and only `boundary` makes bits,
// of the mask's own box. What comes from outside is checked when it becomes an Rle: the counts must add up exactly, so
// that nothing behind has to look again. A fault is a std::invalid_argument that says what is wrong.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace steelyard {

struct Rle {
  std::uint32_t height = 0, width = 0;
  std::vector<std::uint32_t> counts;

  std::uint32_t pixels() const { return height * width; }
};

// The counts of a mask that lie somewhere else.
struct RunsView {
  std::uint32_t height = 0, width = 0;
  const std::uint32_t* counts = nullptr;
  std::size_t size = 0;

  RunsView() = default;
  RunsView(std::uint32_t h, std::uint32_t w, const std::uint32_t* c, std::size_t n)
      : height(h), width(w), counts(c), size(n) {}
  RunsView(const Rle& rle) : height(rle.height), width(rle.width), counts(rle.counts.data()), size(rle.counts.size()) {}
};

// How many pixels are set, and the smallest box around them: right and low are beyond it, all 0 where nothing is set.
struct Extent {
  std::uint32_t area = 0, left = 0, top = 0, right = 0, low = 0;
};
Extent extent_of(const RunsView& mask);

// Packed, a mask is 32-bit words: height, width, its extent, then the counts.
constexpr std::size_t kPackedHead = 7;
inline void pack_head(std::uint32_t* words, const RunsView& mask, const Extent& e) {
  const std::uint32_t head[kPackedHead] = {mask.height, mask.width, e.area, e.left, e.top, e.right, e.low};
  for (std::size_t i = 0; i < kPackedHead; ++i) words[i] = head[i];
}
inline Extent packed_extent(const std::uint32_t* words) { return {words[2], words[3], words[4], words[5], words[6]}; }

// A run of ones: [begin, end) in the order of the columns.
struct Span {
  std::uint32_t begin, end;
};

// The size of a mask: whole numbers whose product counts in 32 bits.
void check_size(long long height, long long width);
// The counts must add up to the size.
void check_counts(const Rle& rle);

// COCO's compressed text: six bits a character, five of the number, differences to the run before last.
Rle rle_from_text(std::string_view text, long long height, long long width);
// Appends the counts of a text; their sum is given, and not checked.
std::uint64_t counts_from_text(std::string_view text, std::vector<std::uint32_t>& counts);
std::string rle_to_text(const Rle& rle);
void add_text(const RunsView& mask, std::string& text);

// RunsView of a mask of bytes, column by column: a run ends where the value changes.
Rle rle_from_pixels(const std::uint8_t* pixels, std::uint32_t height, std::uint32_t width);
void rle_to_pixels(const Rle& rle, std::uint8_t* zeroed);

// The mask of a polygon x, y, x, y, ...: bit for bit what pycocotools draws.
//
// The reference walks the whole outline in steps of a fifth of a pixel and keeps the points where it crosses the middle
// of a column. Each of those points depends on its edge alone, so here an edge is asked only for the columns that it
// crosses inside the image. Where the outline is crossed twice at one place, the crossings cancel.
class Polygons {
 public:
  void add(const double* xy, std::size_t numbers);      // one ring
  Rle take(std::uint32_t height, std::uint32_t width);  // the rings added since, each alone and then united

 private:
  Rle one(const double* xy, std::size_t points, std::uint32_t height, std::uint32_t width);
  void cross(std::size_t edge, int from, int to, int first, std::uint32_t height);
  std::vector<double> xy_;
  std::vector<std::size_t> ends_;
  std::vector<int> x_, y_;
  std::vector<std::uint32_t> start_, rows_, toggles_;
};

Rle rle_from_box(const double* box, std::uint32_t height, std::uint32_t width);

std::array<double, 4> box_of(const Extent& extent);  // x, y, width, height
Rle rle_merge(const std::vector<Rle>& masks, bool intersect);

std::vector<Span> spans_of(const std::uint32_t* counts, std::size_t n);
Rle rle_from_spans(const std::vector<Span>& spans, std::uint32_t height, std::uint32_t width);
std::uint32_t common_pixels(const RunsView& a, const RunsView& b);

// What of a mask lies within `reach` pixels (of the larger of both distances) of where it ends or of the image's edge.
Rle rle_boundary(const Rle& rle, std::uint32_t reach);

// IoU of two masks by their pixels; with a crowd, the share of the detection that lies inside.
inline double pixel_iou(std::uint32_t common, std::uint32_t detection, std::uint32_t truth, bool crowd) {
  if (common == 0) return 0;
  const std::uint64_t whole = crowd ? detection : std::uint64_t{detection} + truth - common;
  return static_cast<double>(common) / static_cast<double>(whole);
}

}  // namespace steelyard
