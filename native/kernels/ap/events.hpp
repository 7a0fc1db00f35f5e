// Matched detections as the walks take them: ranked by class, a bit for each threshold.
//
// Most detections touch no truth at all: they only add to the false positives of every threshold. So a class becomes a
// stream of events (detections that are a hit or ignored at some threshold) and plain false positives between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ap/figures.hpp"
#include "boxes/bits.hpp"
#include "support/views.hpp"

namespace steelyard {

struct Ranked {
  View<std::int64_t> begin, end;  // of each class
  View<std::int32_t> image;       // empty: every detection is of unit 0
  View<double> score;
  View<std::uint16_t> rank;
  View<Bits> hit, ignored;
  View<std::int64_t> truth_begin;
  View<std::int32_t> truth_image;
  View<std::uint8_t> counts;  // of a truth: 1 where it is not ignored
  std::size_t thresholds, most;

  std::size_t classes() const { return begin.size(); }
};
// Checks every column and index; throws where one is wrong.
void check_ranked(const Ranked& in, std::size_t units);
// The grid of recalls must be even, from 0 to 1.
void check_grid(View<double> grid);

// Events with their memory. What is ignored at every threshold is gone; ties and scores are there where they are asked
// for.
struct EventStream {
  std::vector<std::uint32_t> stream;
  std::vector<std::uint8_t> last_of_tie, closes;
  std::vector<Bits> hit, ignored;
  std::vector<double> score;
  std::vector<std::int32_t> unit, truth_unit;

  Events events() const {
    return {stream.data(), last_of_tie.data(), stream.size(), hit.data(),        ignored.data(),   unit.data(),
            closes.data(), score.data(),       hit.size(),    truth_unit.data(), truth_unit.size()};
  }
};
EventStream make_events(const Ranked& in, std::size_t k, bool by_score);

}  // namespace steelyard
