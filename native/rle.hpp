// Masks as run lengths, column by column, as COCO stores them: what the kernels of masks share.
//
// A mask is a list of counts that take turns between 0 and 1, beginning with 0, and add up to height times width. All
// that is computed here stays on the runs, never on pixels; only `decode` makes pixels, and only `boundary` makes bits, of
// the mask's own box. What comes from outside is checked when it becomes an Rle: the counts must add up exactly, so that
// nothing behind has to look again. A fault is a std::invalid_argument that says what is wrong.
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
std::string rle_to_text(const Rle& rle);

// Runs of a mask of bytes, column by column: a run ends where the value changes.
Rle rle_from_pixels(const std::uint8_t* pixels, std::uint32_t height, std::uint32_t width);
void rle_to_pixels(const Rle& rle, std::uint8_t* zeroed);

// The mask of a polygon x, y, x, y, ...: bit for bit what pycocotools draws.
//
// The reference walks the whole outline in steps of a fifth of a pixel and keeps the points where it crosses the middle
// of a column. Each of those points depends on its edge alone, so here an edge is asked only for the columns that it
// crosses inside the image. Where the outline is crossed twice at one place, the crossings cancel.
class Polygons {
 public:
  void add(const double* xy, std::size_t numbers);  // one ring
  Rle take(std::uint32_t height, std::uint32_t width);  // the rings added since, each alone and then united

 private:
  Rle one(const double* xy, std::size_t points, std::uint32_t height, std::uint32_t width);
  std::vector<double> xy_;
  std::vector<std::size_t> ends_;
  std::vector<int> x_, y_;
  std::vector<std::uint32_t> column_, row_, start_, sorted_, toggles_;
};

Rle rle_from_box(const double* box, std::uint32_t height, std::uint32_t width);

std::uint32_t rle_area(const Rle& rle);
std::array<double, 4> rle_box(const Rle& rle);  // x, y, width, height; zeros where nothing is set
Rle rle_merge(const std::vector<Rle>& masks, bool intersect);

std::vector<Span> spans_of(const std::uint32_t* counts, std::size_t n);
Rle rle_from_spans(const std::vector<Span>& spans, std::uint32_t height, std::uint32_t width);
std::uint32_t common_pixels(const Span* a, std::size_t na, const Span* b, std::size_t nb);

// What of a mask lies within `reach` pixels (of the larger of both distances) of where it ends or of the image's edge.
Rle rle_boundary(const Rle& rle, std::uint32_t reach);

// IoU of two masks by their pixels; with a crowd, the share of the detection that lies inside.
inline double pixel_iou(std::uint32_t common, std::uint32_t detection, std::uint32_t truth, bool crowd) {
  if (common == 0) return 0;
  const std::uint64_t whole = crowd ? detection : std::uint64_t{detection} + truth - common;
  return static_cast<double>(common) / static_cast<double>(whole);
}

}  // namespace steelyard
