// KITTI's label files straight into columns: one file per frame, a line per object.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace steelyard::solid {

constexpr std::size_t kTruthFields = 15, kResultFields = 16;  // the type and numbers; a result has a score at the end

// Numbers are columns behind the type: truncated, occluded, alpha, left, top, right, bottom, height, width, length, x,
// y, z, rotation_y, score.
struct KittiRows {
  std::array<std::vector<double>, kResultFields - 1> numbers;
  std::vector<std::int32_t> type, line;
  std::vector<std::int64_t> begin;  // of each file
  std::vector<std::string> types;

  // The first thing that is wrong: its file (-1: nothing is), line, field, and what stands there.
  std::int64_t wrong_file = -1;
  std::int32_t wrong_line = 0, wrong_field = -1, wrong_count = 0;
  std::string wrong_text;
};

// `results`: lines have a score. A file that cannot be opened is wrong at line 0. Files do not depend on each other, so
// the rows are the same for any number of threads.
KittiRows read_kitti(const std::vector<std::string>& paths, bool results, long threads);

}  // namespace steelyard::solid
