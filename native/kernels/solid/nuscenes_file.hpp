// nuScenes' JSON of boxes by sample straight into columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "coco/json_parts.hpp"

namespace steelyard::solid {

// Names that come again and again, as their places in a list.
struct Names {
  std::vector<std::string> list;
  std::vector<std::int32_t> code;
};

struct NuScenesRows {
  std::vector<std::string> samples;
  std::vector<std::int64_t> begin;  // of each sample's boxes, and the end
  std::vector<double> translation, size, rotation, velocity,
      ego_offset;  // 3, 3, 4, 2, 3 per row; not known: not a number
  std::vector<double> score, points;
  Names name, attribute;
  std::vector<std::string> ego_samples, scene_samples, scenes;
  std::vector<double> ego;  // 3 per sample
};

// What is wrong: where in the text, or in which box of which sample.
struct NuScenesFault {
  std::size_t at = 0;
  bool syntax = false;
  std::string what, sample, key;
  std::int64_t box = -1;
};

// `text[size]` must be NUL. `results`: boxes need a score. Throws a NuScenesFault.
NuScenesRows read_nuscenes(const char* text, std::size_t size, bool results);

}  // namespace steelyard::solid
