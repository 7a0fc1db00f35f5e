// Counts of scores at thresholds without sorting the scores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/views.hpp"

namespace steelyard::anomalies {

// How many scores lie at or above, and above, rising thresholds. Scores come in any number of parts and any order.
class Tally {
 public:
  explicit Tally(View<double> thresholds);

  // Counts finite scores.
  void add(View<float> scores);
  void add(View<double> scores);

  std::size_t size() const { return place_.size(); }
  // Writes the counts of all scores so far, and starts again at none.
  void pour(double* at_or_above, double* above);

 private:
  template <typename Score>
  void count(View<Score> scores, const std::vector<Score>& steps);
  template <typename Score>
  void count_near(View<Score> scores, const std::vector<Score>& steps);
  void flush();

  std::vector<double> steps_;          // distinct thresholds, and infinity behind them
  std::vector<float> narrow_;          // the same in single precision, where that is exact
  std::vector<std::uint32_t> place_;   // the place of each threshold among the distinct ones
  std::vector<std::uint32_t> starts_;  // for ranges of scores: the first step that is not below them
  float low_ = 0, scale_ = 0;          // of scores, to their range
  std::vector<std::uint32_t> small_;   // by place: scores between the step before and this one, and scores at it
  std::vector<std::uint64_t> counts_;  // the same, of parts that were counted before
  std::uint64_t pending_ = 0;          // scores in `small_`
};

}  // namespace steelyard::anomalies
