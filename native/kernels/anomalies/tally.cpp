// The thresholds between which a score lies are found by a table of ranges of equal width, and then a short search. The
// range of a score rises with the score in floating-point arithmetic too, so rounding puts nothing in a wrong place.
#include "anomalies/tally.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "support/checks.hpp"

namespace steelyard::anomalies {
namespace {

constexpr std::size_t kRangesPerStep = 4, kFewest = 1024, kMost = std::size_t{1} << 31;
constexpr std::size_t kGroups = 256, kFewSteps = 4096;
constexpr std::size_t kMostRanges = std::size_t{1} << 23;  // whole numbers that single precision holds
constexpr std::size_t kOutside = 1000;  // one of so many steps may lie outside the ranges, at either end

inline std::int32_t range_of(float score, float low, float scale, float last) {
  return static_cast<std::int32_t>(std::min(std::max(0.0f, (score - low) * scale), last));  // 0 for not a number
}

}  // namespace

Tally::Tally(View<double> thresholds) {
  require(thresholds.size() < kMost, "too many thresholds");
  bool exact = true;
  place_.reserve(thresholds.size());
  for (const double threshold : thresholds) {
    require(threshold == threshold, "a threshold is not a number");
    require(steps_.empty() || steps_.back() <= threshold, "the thresholds do not rise");
    if (steps_.empty() || steps_.back() < threshold) steps_.push_back(threshold);
    place_.push_back(static_cast<std::uint32_t>(steps_.size() - 1));
    constexpr double kLargest = std::numeric_limits<float>::max();
    exact = exact && threshold >= -kLargest && threshold <= kLargest &&
            static_cast<double>(static_cast<float>(threshold)) == threshold;
  }
  const std::size_t steps = steps_.size();
  counts_.assign(2 * steps + 2, 0);
  small_.assign(2 * steps + 2, 0);
  if (steps) {
    const std::size_t ranges = std::clamp(kRangesPerStep * steps, kFewest, kMostRanges);
    const auto low = static_cast<float>(steps_[steps / kOutside]);
    const auto high = static_cast<float>(steps_[steps - 1 - steps / kOutside]);
    const float scale = static_cast<float>(ranges) / (high - low);
    if (std::isfinite(high - low) && std::isfinite(scale)) {
      low_ = low;
      scale_ = scale;
    }
    const auto top = static_cast<float>(ranges - 1);
    starts_.resize(ranges + 1);
    std::size_t step = 0;
    for (std::size_t i = 0; i < ranges; ++i) {
      while (step < steps && range_of(static_cast<float>(steps_[step]), low_, scale_, top) < std::int32_t(i)) ++step;
      starts_[i] = static_cast<std::uint32_t>(step);
    }
    starts_[ranges] = static_cast<std::uint32_t>(steps);
  }
  steps_.push_back(std::numeric_limits<double>::infinity());
  if (exact) narrow_.assign(steps_.begin(), steps_.end());
}

void Tally::add(View<float> scores) {
  if (!narrow_.empty()) {
    count(scores, narrow_);
    return;
  }
  const std::vector<double> wide(scores.data(), scores.data() + scores.size());
  count(View<double>{wide.data(), wide.size()}, steps_);
}

void Tally::add(View<double> scores) { count(scores, steps_); }

template <typename Score>
void Tally::count(View<Score> scores, const std::vector<Score>& steps) {
  constexpr std::uint64_t kFull = std::numeric_limits<std::uint32_t>::max();
  if (scores.size() > kFull - pending_) flush();
  require(scores.size() <= kFull, "too many scores at once");
  pending_ += scores.size();
  const std::size_t last = steps.size() - 1;
  if (!last) {
    small_[0] += static_cast<std::uint32_t>(scores.size());
    return;
  }
  if (last < kFewSteps || scores.size() < kFewSteps) {
    count_near(scores, steps);
    return;
  }
  // Scores are put into groups first, so that what one group reads and writes stays in the cache.
  const std::size_t ranges = starts_.size() - 1;
  unsigned shift = 0;
  while (((ranges - 1) >> shift) >= kGroups) ++shift;
  const float low = low_, scale = scale_, top = static_cast<float>(ranges - 1);
  const Score lowest = steps[0];
  std::vector<std::uint16_t> groups(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const std::int32_t group = (range_of(static_cast<float>(scores[i]), low, scale, top) >> shift) + 1;
    groups[i] = static_cast<std::uint16_t>(scores[i] < lowest ? 0 : group);  // group 0 is only counted
  }
  std::array<std::size_t, kGroups + 2> begin{};
  for (const std::uint16_t group : groups) ++begin[group];
  std::size_t sum = 0;
  for (std::size_t& place : begin) {
    const std::size_t here = place;
    place = sum;
    sum += here;
  }
  small_[0] += static_cast<std::uint32_t>(begin[1]);
  const std::size_t first = begin[1];
  std::vector<Score> sorted(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) sorted[begin[groups[i]]++] = scores[i];
  count_near(View<Score>{sorted.data() + first, sorted.size() - first}, steps);
}

template <typename Score>
void Tally::count_near(View<Score> scores, const std::vector<Score>& steps) {
  const float low = low_, scale = scale_, top = static_cast<float>(starts_.size() - 2);
  const Score* step = steps.data();
  const std::uint32_t* starts = starts_.data();
  std::uint32_t* counts = small_.data();
  for (const Score score : scores) {
    const auto range = static_cast<std::size_t>(range_of(static_cast<float>(score), low, scale, top));
    std::size_t place = starts[range];
    const std::size_t end = starts[range + 1];
    if (end > place + 2) {
      place = static_cast<std::size_t>(std::lower_bound(step + place, step + end, score) - step);
    } else {  // without a branch; the step at `end` is above the score
      place += step[place] < score;
      place += step[place] < score;
    }
    ++counts[2 * place + (step[place] == score)];
  }
}

void Tally::flush() {
  for (std::size_t i = 0; i < small_.size(); ++i) counts_[i] += small_[i];
  std::fill(small_.begin(), small_.end(), 0);
  pending_ = 0;
}

void Tally::pour(double* at_or_above, double* above) {
  flush();
  const std::size_t steps = steps_.size() - 1;
  std::uint64_t higher = counts_[2 * steps];
  std::size_t k = place_.size();
  for (std::size_t step = steps; step-- > 0;) {
    const std::uint64_t reached = higher + counts_[2 * step + 1];
    for (; k > 0 && place_[k - 1] == step; --k) {
      at_or_above[k - 1] = static_cast<double>(reached);
      above[k - 1] = static_cast<double>(higher);
    }
    higher = reached + counts_[2 * step];
  }
  std::fill(counts_.begin(), counts_.end(), 0);
}

}  // namespace steelyard::anomalies
