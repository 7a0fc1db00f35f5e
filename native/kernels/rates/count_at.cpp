// Thresholds go to buckets of equal width, so that a score is compared with the few thresholds of its own bucket. The
// bucket never falls as the score rises, whatever rounding does: scores of other buckets need no comparison.
#include "rates/count_at.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/checks.hpp"

namespace steelyard {
namespace {

constexpr std::size_t kMostBuckets = std::size_t{1} << 20;
constexpr std::uint32_t kScanned = 8;  // thresholds of a bucket that are looked at one by one

class Buckets {
 public:
  explicit Buckets(View<double> thresholds) : thresholds_(thresholds) {
    const std::size_t n = thresholds.size();
    std::size_t first = 0, end = n;  // those that are finite
    while (first < end && std::isinf(thresholds[first])) ++first;
    while (end > first && std::isinf(thresholds[end - 1])) --end;
    std::size_t buckets = 64;
    while (buckets < n && buckets < kMostBuckets) buckets *= 2;
    most_ = static_cast<double>(buckets - 1);
    if (first < end) {
      low_ = thresholds[first];
      scale_ = static_cast<double>(buckets) / (thresholds[end - 1] - low_);
    }
    start_.assign(buckets + 1, static_cast<std::uint32_t>(n));
    for (std::size_t k = n; k-- > 0;) start_[bucket(thresholds[k])] = static_cast<std::uint32_t>(k);
    for (std::size_t b = buckets; b-- > 0;) start_[b] = std::min(start_[b], start_[b + 1]);
  }

  // The place of a score in a row of counts.
  std::size_t place(double score) const {
    const std::size_t b = bucket(score);
    std::uint32_t k = start_[b];
    const std::uint32_t end = start_[b + 1];
    if (end - k > kScanned) {
      const double* data = thresholds_.data();
      k = static_cast<std::uint32_t>(std::lower_bound(data + k, data + end, score) - data);
    } else {
      while (k < end && thresholds_[k] < score) ++k;
    }
    return 2 * std::size_t{k} + (k < end && thresholds_[k] == score);
  }

 private:
  std::size_t bucket(double score) const {
    const double x = (score - low_) * scale_;
    if (!(x > 0.0)) return 0;
    return static_cast<std::size_t>(std::min(x, most_));
  }

  View<double> thresholds_;
  double low_ = 0.0, scale_ = 0.0, most_ = 0.0;
  std::vector<std::uint32_t> start_;  // the first threshold of each bucket
};

}  // namespace

void check_owned_scores(View<double> thresholds, const OwnedScores& scores, std::size_t rows) {
  const std::size_t n = scores.score.size();
  require(thresholds.size() < 0xFFFFFFFFu, "too many thresholds");
  check_numbers(thresholds.data(), thresholds.size(), "a threshold is not a number");
  for (std::size_t k = 1; k < thresholds.size(); ++k) {
    require(thresholds[k - 1] < thresholds[k], "thresholds must rise");
  }
  check_numbers(scores.score.data(), n, "a score is not a number");
  require(scores.first.size() == (scores.first.empty() ? 0 : n), "each score needs an owner, or none has one");
  require(scores.second.empty() || scores.second.size() == scores.first.size(), "a second owner needs a first");
  require(!scores.first.empty() || n == 0 || rows >= 1, "there is no row of counts");
  for (View<std::int32_t> owners : {scores.first, scores.second}) {
    for (std::int32_t owner : owners) {
      require(owner < 0 || static_cast<std::size_t>(owner) < rows, "an owner is out of range");
    }
  }
}

void count_at(View<double> thresholds, const OwnedScores& scores, std::int64_t* counts) {
  const Buckets buckets(thresholds);
  const std::size_t width = 2 * thresholds.size() + 1;
  const auto add = [&](std::size_t place) {
    require(counts[place] < std::numeric_limits<std::int64_t>::max(), "a count is too large");
    ++counts[place];
  };
  if (scores.first.empty()) {
    for (double score : scores.score) add(buckets.place(score));
    return;
  }
  const bool two = !scores.second.empty();
  for (std::size_t i = 0; i < scores.score.size(); ++i) {
    const std::int32_t first = scores.first[i], second = two ? scores.second[i] : first;
    if (first < 0 && second < 0) continue;
    const std::size_t place = buckets.place(scores.score[i]);
    if (first >= 0) add(static_cast<std::size_t>(first) * width + place);
    if (second >= 0 && second != first) add(static_cast<std::size_t>(second) * width + place);
  }
}

}  // namespace steelyard
