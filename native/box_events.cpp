// See box_events.hpp.
#include "box_events.hpp"

#include <cmath>

#include "checks.hpp"

namespace steelyard {

Ranked check_ranked(In1<std::int64_t> begin, In1<std::int64_t> end, In1<std::int32_t> image, In1<double> score,
                    In1<std::uint16_t> rank, In1<Bits> hit, In1<Bits> ignored, In1<std::int64_t> truth_begin,
                    In1<std::int32_t> truth_image, In1<std::uint8_t> counts, std::size_t units, std::size_t thresholds,
                    std::size_t most) {
  const std::size_t classes = begin.shape(0), n = image.shape(0), truths = truth_image.shape(0);
  require(end.shape(0) == classes && truth_begin.shape(0) == classes + 1, "one range for each class");
  require(score.shape(0) == n && rank.shape(0) == n && hit.shape(0) == n && ignored.shape(0) == n,
          "columns of the detections differ in length");
  require(counts.shape(0) == truths, "columns of the truth differ in length");
  require(thresholds >= 1 && thresholds <= kMostThresholds, "from 1 to 32 IoU thresholds");
  for (std::size_t k = 0; k < classes; ++k) {
    const std::int64_t a = begin.data()[k], b = end.data()[k];
    require(0 <= a && a <= b && static_cast<std::size_t>(b) <= n, "the range of a class is out of bounds");
    for (std::int64_t i = a; i < b; ++i) {
      require(image.data()[i] >= 0 && static_cast<std::size_t>(image.data()[i]) < units, "an image is out of range");
      // Written so that nan fails.
      require(score.data()[i] <= (i == a ? kMostFinite : score.data()[i - 1]), "the scores of a class must fall");
    }
    const std::int64_t c = truth_begin.data()[k], d = truth_begin.data()[k + 1];
    require(0 <= c && c <= d && static_cast<std::size_t>(d) <= truths, "the range of a class is out of bounds");
  }
  for (std::size_t i = 0; i < truths; ++i) {
    require(truth_image.data()[i] >= 0 && static_cast<std::size_t>(truth_image.data()[i]) < units,
            "an image is out of range");
  }
  return {classes, n, truths, units, begin.data(), end.data(), truth_begin.data(), image.data(), truth_image.data(),
          score.data(), rank.data(), hit.data(), ignored.data(), counts.data(), thresholds, most};
}

void check_grid(In1<double> grid) {
  require(grid.shape(0) >= 2, "the grid needs two points");
  const double last = static_cast<double>(grid.shape(0) - 1);
  for (std::size_t i = 0; i < grid.shape(0); ++i) {
    const double at = static_cast<double>(i);
    // Other tools have the same points in single precision.
    require(std::fabs(grid.data()[i] - at / last) <= 1e-7, "the grid must be even, from 0 to 1");
  }
}

Boiled boil(const Ranked& in, std::size_t k, bool by_score) {
  Boiled out;
  const Bits full = all_bits(in.thresholds);
  for (std::int64_t i = in.begin[k]; i < in.end[k]; ++i) {
    if (in.rank[i] >= in.most) continue;
    const Bits h = in.hit[i] & full, ig = in.ignored[i] & full;
    if (h == 0 && ig == full) continue;
    const bool event = (h | ig) != 0;
    out.stream.push_back(static_cast<std::uint32_t>(in.image[i]) | (event ? kEvent : 0));
    if (by_score) {
      if (!out.score.empty() && out.score.back() == in.score[i]) out.last_of_tie.back() = 0;
      out.last_of_tie.push_back(1);
      out.score.push_back(in.score[i]);
    }
    if (event) {
      out.hit.push_back(h);
      out.ignored.push_back(ig);
      out.event_image.push_back(in.image[i]);
    }
  }
  for (std::int64_t i = in.truth_begin[k]; i < in.truth_begin[k + 1]; ++i) {
    if (in.counts[i]) out.truth_image.push_back(in.truth_image[i]);
  }
  return out;
}

}  // namespace steelyard
