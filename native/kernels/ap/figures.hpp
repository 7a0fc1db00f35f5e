// What a walk can be asked for, and the jobs that are compiled once for each set of instructions; see wide/wide.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "boxes/bits.hpp"

namespace steelyard {

constexpr double kTiny = 2.220446049250313e-16;  // numpy.spacing(1), as the reference adds it

// A class as a walk sees it; see events.hpp.
constexpr std::uint32_t kEvent = 1u << 31;

struct Events {
  const std::uint32_t* stream;      // one entry per detection: its unit; the top bit marks an event
  const std::uint8_t* last_of_tie;  // by entry: the next one has another score
  std::size_t entries;
  const Bits *hit, *ignored;   // by event
  const std::int32_t* unit;    // by event
  const std::uint8_t* closes;  // by event: the last one of its run of equal scores
  const double* score;         // by event
  std::size_t count;
  const std::int32_t* truth_unit;
  std::size_t truths;
};

// Of a class of detections. The three envelopes: on the grid as COCO has it, on the grid, its area.
enum class BoxFigure : int { coco, grid, area, step, miss, best_f1, recall, curves };
constexpr bool by_tie(BoxFigure figure) { return figure == BoxFigure::step || figure == BoxFigure::best_f1; }
constexpr bool on_grid(BoxFigure figure) { return figure <= BoxFigure::grid; }

// Of the rows of a class of labels.
enum class RowFigure : int { ap = 0, auc = 1, best_f1 = 2, best_rank = 3, tpr = 4 };

constexpr std::size_t kRealLanes = 20;    // more than compilers unroll whole, which would keep them from vector code
constexpr std::size_t kCountedRows = 32;  // of counts that come side by side
constexpr std::size_t kCountedLanes = 2 * kCountedRows;
constexpr std::size_t kRowLanes = 8;
constexpr std::size_t kMostPoints = 127;  // of a grid that is counted on: their sum must stay below 2^31

// Events of a class as walks under counts take them. The events of threshold t go from begin[t] to begin[t + 1].
struct MarkedEvents {
  const std::uint32_t* event;
  const std::size_t* begin;
};
// Hits with nothing but what is ignored between them are a run, which goes on for kLongestRun hits at most. The runs of
// threshold t go from begin[t] to begin[t + 1]. Most thresholds share theirs: run r ends with the event last[r] and has
// the hits of row[r], which are those from start[row] on, size[row] of them.
struct Runs {
  const std::uint32_t *row, *last, *start, *size;
  const std::uint32_t* also;  // by row: another one with the same last event, from 1 on, or 0
  const std::size_t* begin;
  std::size_t rows;
};
constexpr std::size_t kLongestRun = 16;  // as many bytes fit into 16 bits
struct Marks {
  const std::uint32_t* place;  // by event: its entry
  const std::uint32_t* ends;   // by event: a row of runs that it is the last of, from 1 on, or 0
  MarkedEvents hits, ignored;
  MarkedEvents first,
      others;  // hits at the first t + 1 thresholds and at no other; hits at threshold t of other events
  Runs runs;
};

// One class under kRealLanes rows of real weights (reference.hpp), or kCountedLanes rows of counts (fast.hpp).
struct ClassJob {
  Events events;
  BoxFigure figure;
  std::size_t thresholds;
  const double* grid;
  std::size_t points;
  const double* reached;       // by point of the grid: 1.0 where a recall of r / last reaches it
  const std::uint8_t* missed;  // the opposite, as bytes
  const std::uint8_t*
      inexact;            // by a number of truths modulo the last point: some recall lies on a point that it misses
  const double* weights;  // [units][kRealLanes], or
  const std::uint8_t* counts;    // [units][kCountedLanes]
  const std::uint32_t* lacking;  // by unit: 0 where every row takes it once, or a row of `left`, from 1 on; null where
                                 // many are lacking, or some are taken more than once
  const std::uint8_t* left;      // [..][kCountedLanes]: 1 where a unit is not taken
  std::size_t heaviest;          // the largest of the counts, at least 1
  Marks marks;                   // where there are counts
  const double* images;          // [lanes], the sum of the weights
  std::uint8_t* uncounted;       // [lanes], set to 1 where counts are too large, and nothing is added
  void* scratch;                 // real_scratch or count_scratch bytes, on a multiple of 64
  double *value, *recall;        // [thresholds][lanes], added to
  double* classes;               // [lanes], added to: 1 where the class has truth
};
// Three rows of reals by event, each on a multiple of 64 bytes.
constexpr std::size_t real_scratch(std::size_t events) {
  return (events + 1) * 3 * ((kRealLanes * sizeof(double) + 63) / 64 * 64);
}
// A row of bytes by event and two of floats by row of runs; or, by 32 events and two more, two rows of 32 bits and a
// place.
constexpr std::size_t count_scratch(std::size_t events, std::size_t runs) {
  return (events + 18 + runs * 2 * sizeof(float)) * kCountedLanes;
}

// Rows of one class under kRowLanes rows of weights.
struct RowJob {
  std::size_t size;
  const std::int64_t* owner;  // null where every row is of unit 0
  const std::uint8_t *positive, *last;
  const double* value;    // null where all are 1
  const double* weights;  // [units][kRowLanes]
  RowFigure figure;
  double limit;
  double* out;  // [kRowLanes]
};

// Rows of one class under kDrawnLanes rows of counts. A stop is a row that is of the class, or tied with another.
constexpr std::size_t kDrawnLanes = 32;
struct DrawnJob {
  std::size_t size;
  const std::int32_t* unit;
  const std::uint8_t *positive, *last;
  const std::uint32_t* stop;
  std::size_t stops;
  const std::uint8_t* counts;  // [units][kDrawnLanes]
  RowFigure figure;            // ap or auc
  double* out;                 // [kDrawnLanes]
};

}  // namespace steelyard
