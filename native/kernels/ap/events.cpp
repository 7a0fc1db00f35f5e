#include "ap/events.hpp"

#include <cmath>

#include "support/checks.hpp"

namespace steelyard {

void check_ranked(const Ranked& in, std::size_t units) {
  const auto& [begin, end, image, score, rank, hit, ignored, truth_begin, truth_image, counts, thresholds, most] = in;
  const std::size_t classes = begin.size(), n = image.size(), truths = truth_image.size();
  require(end.size() == classes && truth_begin.size() == classes + 1, "one range for each class");
  require(score.size() == n && rank.size() == n && hit.size() == n && ignored.size() == n,
          "columns of the detections differ in length");
  require(counts.size() == truths, "columns of the truth differ in length");
  require(thresholds >= 1 && thresholds <= kMostThresholds, "from 1 to 32 IoU thresholds");
  for (std::size_t k = 0; k < classes; ++k) {
    const std::int64_t a = begin[k], b = end[k];
    require(0 <= a && a <= b && static_cast<std::size_t>(b) <= n, "the range of a class is out of bounds");
    for (std::int64_t i = a; i < b; ++i) {
      require(image[i] >= 0 && static_cast<std::size_t>(image[i]) < units, "an image is out of range");
      // Written so that nan fails.
      require(score[i] <= (i == a ? kMostFinite : score[i - 1]), "the scores of a class must fall");
    }
    const std::int64_t c = truth_begin[k], d = truth_begin[k + 1];
    require(0 <= c && c <= d && static_cast<std::size_t>(d) <= truths, "the range of a class is out of bounds");
  }
  for (std::size_t i = 0; i < truths; ++i) {
    require(truth_image[i] >= 0 && static_cast<std::size_t>(truth_image[i]) < units, "an image is out of range");
  }
}

void check_grid(View<double> grid) {
  require(grid.size() >= 2, "the grid needs two points");
  const double last = static_cast<double>(grid.size() - 1);
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const double at = static_cast<double>(i);
    // Other tools have the same points in single precision.
    require(std::fabs(grid[i] - at / last) <= 1e-7, "the grid must be even, from 0 to 1");
  }
}

EventStream make_events(const Ranked& in, std::size_t k, bool by_score) {
  EventStream out;
  const auto most = static_cast<std::size_t>(in.end[k] - in.begin[k]);
  out.stream.resize(most);
  std::uint32_t* entry = out.stream.data();
  if (by_score) out.last_of_tie.reserve(most);
  const Bits full = all_bits(in.thresholds);
  bool tied = false;  // an event of the last score
  double last = 0.0;  // the last score
  for (std::int64_t i = in.begin[k]; i < in.end[k]; ++i) {
    const Bits h = in.hit[i] & full, ig = in.ignored[i] & full;
    const bool kept = (in.rank[i] < in.most) & ((h != 0) | (ig != full)), event = kept & ((h | ig) != 0);
    const std::int32_t unit = in.image.empty() ? 0 : in.image[i];
    if (by_score && kept) {
      if (entry != out.stream.data() && last == in.score[i]) out.last_of_tie.back() = 0;
      else tied = false;
      out.last_of_tie.push_back(1);
      last = in.score[i];
    }
    // Which ones are kept follows no pattern, so this avoids a branch.
    *entry = static_cast<std::uint32_t>(unit) | (event ? kEvent : 0);
    entry += kept;
    if (!event) continue;
    out.hit.push_back(h);
    out.ignored.push_back(ig);
    out.unit.push_back(unit);
    if (by_score) {
      if (tied) out.closes.back() = 0;
      out.closes.push_back(1);
      out.score.push_back(in.score[i]);
      tied = true;
    }
  }
  out.stream.resize(static_cast<std::size_t>(entry - out.stream.data()));
  if (in.counts.empty()) return out;
  for (std::int64_t i = in.truth_begin[k]; i < in.truth_begin[k + 1]; ++i) {
    if (in.counts[i]) out.truth_unit.push_back(in.truth_image[i]);
  }
  return out;
}

}  // namespace steelyard
