#include "rankings/count_above.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace steelyard {
namespace {

constexpr std::size_t kFew = 24;         // thresholds that are compared one by one; more are looked up in their order
constexpr std::size_t kPiece = 1 << 20;  // scores that are counted in 32 bits, which compilers make vector code of

struct Above {
  std::int64_t surely = 0, perhaps = 0;
};

Above compare(const float* x, std::size_t n, float high, float low) {
  Above total;
  for (std::size_t begin = 0; begin < n; begin += kPiece) {
    const std::size_t end = std::min(n, begin + kPiece);
    std::int32_t surely = 0, perhaps = 0;
    for (std::size_t i = begin; i < end; ++i) {
      surely += x[i] > high;
      perhaps += x[i] > low;
    }
    total.surely += surely;
    total.perhaps += perhaps;
  }
  return total;
}

// How many scores lie above each of many thresholds: each score is looked up among them, in rising order.
class Lookup {
 public:
  void count(const float* x, std::size_t n, const float* thresholds, std::size_t many,
             std::vector<std::int64_t>& above) {
    order_.resize(many);
    for (std::size_t i = 0; i < many; ++i) order_[i] = i;
    std::sort(order_.begin(), order_.end(),
              [&](std::size_t a, std::size_t b) { return thresholds[a] < thresholds[b]; });
    sorted_.resize(many);
    for (std::size_t i = 0; i < many; ++i) sorted_[i] = thresholds[order_[i]];
    bins_.assign(many + 1, 0);
    for (std::size_t i = 0; i < n; ++i) {
      ++bins_[std::lower_bound(sorted_.begin(), sorted_.end(), x[i]) - sorted_.begin()];
    }
    above.resize(many);
    std::int64_t total = 0;
    for (std::size_t i = many; i-- > 0;) above[order_[i]] = total += bins_[i + 1];
  }

 private:
  std::vector<std::size_t> order_;
  std::vector<float> sorted_;
  std::vector<std::int64_t> bins_;
};

}  // namespace

void count_above(Matrix<float> scores, const Thresholds& t, std::int64_t* above, NearScores& near) {
  constexpr float kNone = std::numeric_limits<float>::infinity();
  Lookup lookup;
  std::vector<std::int64_t> surely, perhaps;
  for (std::size_t r = 0; r < scores.rows; ++r) {
    const float* x = scores.row(r);
    const std::size_t n = scores.columns, begin = t.starts[r], end = t.starts[r + 1];
    const bool many = end - begin > kFew;
    if (many) {
      lookup.count(x, n, t.high.data() + begin, end - begin, surely);
      lookup.count(x, n, t.low.data() + begin, end - begin, perhaps);
    }
    for (std::size_t k = begin; k < end; ++k) {
      const float high = t.high[k], low = t.low[k];
      above[k] = 0;
      if (low == kNone) continue;
      const Above counted = many ? Above{surely[k - begin], perhaps[k - begin]} : compare(x, n, high, low);
      above[k] = counted.surely;
      if (counted.surely == counted.perhaps) continue;
      for (std::size_t i = 0; i < n; ++i) {
        if (x[i] > low && !(x[i] > high)) {
          near.threshold.push(static_cast<std::int64_t>(k));
          near.column.push(static_cast<std::int64_t>(i));
        }
      }
    }
  }
}

}  // namespace steelyard
