// Rankings of labels under rows of counted weights: bootstrap draws of units.
//
// All rankings are walked under 32 draws before the next 32 are looked at: their counts of all units stay near.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "ap/ranked.hpp"
#include "support/checks.hpp"
#include "support/pool.hpp"
#include "wide/wide.hpp"

namespace steelyard {
namespace {

// The places of a ranking that a walk stops at: hits, and all of a run of equal scores.
std::vector<std::uint32_t> stops_of(const std::uint8_t* positive, const std::uint8_t* last, std::size_t size) {
  std::vector<std::uint32_t> stops;
  bool tied = false;  // with the row before
  for (std::size_t i = 0; i < size; ++i) {
    if (positive[i] || !last[i] || tied) stops.push_back(static_cast<std::uint32_t>(i));
    tied = !last[i];
  }
  return stops;
}

}  // namespace

void check_counted_rows(const CountedRows& rows, std::size_t units) {
  const std::size_t n = rows.positive.size();
  require(rows.last.size() == n && rows.unit.size() == n, "events must be as many in every column");
  check_offsets(rows.begin, n, "rankings must follow each other and cover all events");
  for (std::size_t k = 0; k < rows.rankings(); ++k) {
    const auto first = static_cast<std::size_t>(rows.begin[k]), end = static_cast<std::size_t>(rows.begin[k + 1]);
    require(end - first <= 0xFFFFFFFFu / 255, "too many events to count");
    require(first == end || rows.last[end - 1] != 0, "the last run of equal scores does not end");
  }
  for (std::int32_t unit : rows.unit) {
    require(unit >= 0 && static_cast<std::size_t>(unit) < units, "a unit is out of range");
  }
}

void ranked_draws(const CountedRows& rows, const std::uint8_t* counts, std::size_t units, std::size_t draws, RowFigure figure,
                  long threads, double* out) {
  const std::size_t rankings = rows.rankings();
  std::vector<std::vector<std::uint32_t>> stops(rankings);
  for (std::size_t k = 0; k < rankings; ++k) {
    const auto first = static_cast<std::size_t>(rows.begin[k]), end = static_cast<std::size_t>(rows.begin[k + 1]);
    stops[k] = stops_of(rows.positive.data() + first, rows.last.data() + first, end - first);
  }
  const auto walk = wide_kernels().walk_drawn;
  parallel_for((draws + kDrawnLanes - 1) / kDrawnLanes, thread_count(threads), [&](std::size_t group) {
    const std::size_t drawn = std::min(kDrawnLanes, draws - group * kDrawnLanes);
    double values[kDrawnLanes];
    for (std::size_t k = 0; k < rankings; ++k) {
      const auto first = static_cast<std::size_t>(rows.begin[k]), end = static_cast<std::size_t>(rows.begin[k + 1]);
      walk({end - first, rows.unit.data() + first, rows.positive.data() + first, rows.last.data() + first, stops[k].data(),
            stops[k].size(), counts + group * units * kDrawnLanes, figure, values});
      for (std::size_t d = 0; d < drawn; ++d) out[(group * kDrawnLanes + d) * rankings + k] = values[d];
    }
  });
}

}  // namespace steelyard
