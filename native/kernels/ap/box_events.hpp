// Matched detections as the kernels of curves take them: ranked by class, a bit for each threshold.
//
// Most detections touch no truth at all: they only add to the false positives of every threshold. So a class is boiled
// down to events (detections that are a hit or ignored at some threshold) and plain false positives between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ap/constants.hpp"
#include "boxes/boxes.hpp"

namespace steelyard {

struct Ranked {
  std::size_t classes, detections, truths, units;
  const std::int64_t *begin, *end, *truth_begin;
  const std::int32_t *image, *truth_image;
  const double* score;
  const std::uint16_t* rank;
  const Bits *hit, *ignored;
  const std::uint8_t* counts;  // of a truth: 1 where it is not ignored
  std::size_t thresholds, most;
};

// The columns that Ranked is made of, as they come from outside.
struct RankedColumns {
  View<std::int64_t> begin, end;
  View<std::int32_t> image;
  View<double> score;
  View<std::uint16_t> rank;
  View<Bits> hit, ignored;
  View<std::int64_t> truth_begin;
  View<std::int32_t> truth_image;
  View<std::uint8_t> counts;
};
// Checks every column and index; throws where one is wrong.
Ranked check_ranked(const RankedColumns& in, std::size_t units, std::size_t thresholds, std::size_t most);
// The grid of recalls must be even, from 0 to 1.
void check_grid(View<double> grid);

// A class boiled down: what is ignored throughout is gone, and only events carry bits.
struct Boiled {
  std::vector<std::uint32_t> stream;      // one entry a detection: its image; the top bit marks an event
  std::vector<std::uint8_t> last_of_tie;  // by entry: the next one has another score
  std::vector<double> score;              // by entry
  std::vector<Bits> hit, ignored;         // by event
  std::vector<std::int32_t> event_image, truth_image;
};
constexpr std::uint32_t kEvent = 1u << 31;

// `by_score`: with scores, and where equal ones end.
Boiled boil(const Ranked& in, std::size_t k, bool by_score);

}  // namespace steelyard
