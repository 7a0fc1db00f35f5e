// COCO JSON straight into columns: the truth (images, annotations, categories) and detection results.
#pragma once

#include <string>
#include <vector>

#include "coco/coco_parser.hpp"
#include "coco/source.hpp"

namespace steelyard::coco {

// Images and their sizes, as (height, width) in turn: ids are numbers or texts.
struct ImageSizes {
  std::vector<std::int64_t> numbers;
  std::vector<std::string> texts;
  std::vector<std::int64_t> sizes;
};

// The parts of a file in order; masks are drawn, and all checks are made. Throws a Fault that says what is wrong.
// Compact: masks stay text, and keypoints of results are x and y.
std::vector<Part> read_parts(const Source& source, bool truth, long threads, What what, const ImageSizes& sizes,
                             bool compact = false);

}  // namespace steelyard::coco
