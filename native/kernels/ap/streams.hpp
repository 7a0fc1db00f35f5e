// A ranking that comes in parts, from the highest score to the lowest: what a walk over all of it would give.
//
// A class with more events than memory holds is merged from sorted files a part at a time. Nothing of a part is kept:
// all that a curve needs of the past fits into a few numbers (forward_readings.hpp). Units weigh 1 here, so every sum
// is a whole number, and the results are those of a walk over the whole class to the bit.
//
// Equal scores are one step of some curves, so they must come in one part; `feed` checks that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "ap/figures.hpp"
#include "support/views.hpp"

namespace steelyard {

class BoxStream {
 public:
  BoxStream(std::size_t thresholds, std::size_t most, BoxFigure figure, View<double> grid, double positives,
            double images);
  ~BoxStream();
  void feed(View<double> score, View<std::uint16_t> rank, View<Bits> hit, View<Bits> ignored);

  std::size_t thresholds() const;
  std::size_t points() const;
  bool curves() const;
  // Precision and scores [thresholds][grid], recall [thresholds].
  void curves(double* precision, double* recall, double* scores) const;
  // The figure and the recall by threshold.
  void figures(double* value, double* recall) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Rows of a class of labels by their score; best_rank gives the score and not the rank.
class LabelStream {
 public:
  LabelStream(int figure, double limit, double positives, double negatives);
  ~LabelStream();
  void feed(View<double> score, View<std::uint8_t> positive);
  double result() const;

 private:
  struct Rows;
  std::unique_ptr<Rows> rows_;
};

}  // namespace steelyard
