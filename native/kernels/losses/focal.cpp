#include "losses/focal.hpp"

#include <algorithm>
#include <vector>

#include "support/pool.hpp"
#include "wide/wide.hpp"

namespace steelyard {
namespace {

constexpr std::size_t kTask = 1 << 16;  // logits of a task, about
constexpr std::int32_t kBackground = -1, kNone = -3;

// A label in 32 bits; one that is not a class stays none.
std::int32_t narrow(std::int64_t label, std::size_t classes) {
  if (label == kNotCounted) return kNotCounted;
  return label >= 0 && static_cast<std::uint64_t>(label) < classes ? static_cast<std::int32_t>(label) : kBackground;
}

// Logits whose class is their anchor's, gathered from where they lie.
class Hits {
 public:
  void clear() { at_.clear(), z_.clear(); }
  void add(const float* x, std::size_t at) { at_.push_back(at), z_.push_back(-x[at]); }

  double take(const FocalSettings& settings, float* slope) {
    if (at_.empty()) return 0;
    labels_.assign(at_.size(), kBackground);
    slope_.resize(at_.size());
    const double sum = wide_kernels().focal_stretch(
        {z_.data(), labels_.data(), at_.size(), kNone, settings.alpha_class, settings.power, slope_.data()});
    for (std::size_t i = 0; slope && i < at_.size(); ++i) slope[at_[i]] = -slope_[i];
    return sum;
  }

 private:
  std::vector<std::size_t> at_;
  std::vector<float> z_, slope_;
  std::vector<std::int32_t> labels_;
};

double in_order(const std::vector<double>& sums) {
  double total = 0;
  for (double sum : sums) total += sum;
  return total;
}

}  // namespace

double focal_of_planes(const float* x, const std::int64_t* labels, const FocalPlanes& planes,
                       const FocalSettings& settings, float* slope, std::size_t threads) {
  const std::size_t lines = planes.size[0] * planes.size[1], inner = planes.size[2];
  std::vector<double> sums(lines);
  parallel_for(lines, threads, [&](std::size_t line) {
    const std::size_t i = line / planes.size[1], j = line % planes.size[1];
    const std::size_t start = i * planes.logits[0] + j * planes.logits[1];
    const std::int64_t* of = labels + i * planes.labels[0] + j * planes.labels[1];
    thread_local std::vector<std::int32_t> narrowed;
    thread_local Hits hits;
    narrowed.resize(inner);
    hits.clear();
    for (std::size_t k = 0; k < inner; ++k) {
      narrowed[k] = narrow(of[k * planes.labels[2]], planes.classes);
      if (narrowed[k] >= 0) hits.add(x, start + static_cast<std::size_t>(narrowed[k]) * planes.by_class + k);
    }
    double sum = 0;
    for (std::size_t c = 0; c < planes.classes; ++c) {
      const std::size_t at = start + c * planes.by_class;
      sum += wide_kernels().focal_stretch({x + at, narrowed.data(), inner, static_cast<std::int32_t>(c),
                                           settings.alpha_background, settings.power, slope ? slope + at : nullptr});
    }
    sums[line] = sum + hits.take(settings, slope);
  });
  return in_order(sums);
}

double focal_of_rows(const float* x, const std::int64_t* labels, std::size_t rows, std::size_t classes,
                     const FocalSettings& settings, float* slope, std::size_t threads) {
  const std::size_t each = std::max<std::size_t>(1, kTask / std::max<std::size_t>(1, classes));
  const std::size_t tasks = (rows + each - 1) / each;
  std::vector<double> sums(tasks);
  parallel_for(tasks, threads, [&](std::size_t task) {
    const std::size_t first = task * each, last = std::min(rows, first + each);
    thread_local std::vector<std::int32_t> counted;
    thread_local Hits hits;
    counted.assign((last - first) * classes, kBackground);
    hits.clear();
    for (std::size_t row = first; row < last; ++row) {
      const std::int32_t label = narrow(labels[row], classes);
      std::int32_t* of = counted.data() + (row - first) * classes;
      if (label == kNotCounted) std::fill(of, of + classes, kNotCounted);
      if (label < 0) continue;
      of[label] = kNotCounted;
      hits.add(x, row * classes + static_cast<std::size_t>(label));
    }
    const std::size_t at = first * classes;
    const double sum =
        wide_kernels().focal_stretch({x + at, counted.data(), counted.size(), kNone, settings.alpha_background,
                                      settings.power, slope ? slope + at : nullptr});
    sums[task] = sum + hits.take(settings, slope);
  });
  return in_order(sums);
}

}  // namespace steelyard
