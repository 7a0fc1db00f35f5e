// A class as a walk sees it; see events.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "boxes/bits.hpp"

namespace steelyard {

constexpr std::uint32_t kEvent = 1u << 31;

struct Events {
  const std::uint32_t* stream;      // one entry per detection: its unit; the top bit marks an event
  const std::uint8_t* last_of_tie;  // by entry: the next one has another score
  std::size_t entries;
  const Bits *hit, *ignored;    // by event
  const std::int32_t* unit;     // by event
  const std::uint8_t* closes;   // by event: the last one of its run of equal scores
  const double* score;          // by event
  std::size_t count;
  const std::int32_t* truth_unit;
  std::size_t truths;
};

}  // namespace steelyard
