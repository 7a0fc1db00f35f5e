// Ranked events under rows of weights: average precision, ROC AUC, the best F1, the hit rate at a false alarm rate.
//
// Sorting is done once; each row of weights (a bootstrap draw, a slice) is then one walk down the ranking with
// weighted cumulative sums. Events of equal score are one step: sums are read where a run of ties ends. An event
// without weight changes no sum, so a draw is exactly the ranking of the units that were drawn.
//
// The sort is a radix sort by the upper 33 of the score's order-preserving bits, three passes of 11; the few events that
// agree in those are sorted among themselves.
#include "ap/ranked.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "support/checks.hpp"
#include "support/pool.hpp"

namespace steelyard {
namespace {

constexpr std::size_t kDigitBits = 11, kDigits = std::size_t{1} << kDigitBits, kPasses = 3;
constexpr std::size_t kLowBits = 64 - kPasses * kDigitBits;

// Bits that rise as the score falls. Both zeros are one.
inline std::uint64_t falling_bits(double score) {
  const auto bits = std::bit_cast<std::uint64_t>(score == 0.0 ? 0.0 : score);
  const std::uint64_t rising = bits >> 63 ? ~bits : bits | (std::uint64_t{1} << 63);
  return ~rising;
}

struct Keyed {
  std::uint64_t key;
  std::uint32_t row;
  std::uint32_t positive;
};

// Radix passes over the upper bits, then each run of events that agree in them is put in order by all bits.
void sort_keyed(std::vector<Keyed>& a) {
  const std::size_t n = a.size();
  std::vector<Keyed> b(n);
  std::vector<std::array<std::uint32_t, kDigits>> counts(kPasses);
  for (auto& count : counts) count.fill(0);
  for (const Keyed& item : a) {
    for (std::size_t pass = 0; pass < kPasses; ++pass) {
      ++counts[pass][(item.key >> (kLowBits + pass * kDigitBits)) % kDigits];
    }
  }
  for (std::size_t pass = 0; pass < kPasses; ++pass) {
    auto& count = counts[pass];
    if (std::any_of(count.begin(), count.end(), [&](std::uint32_t c) { return c == n; })) continue;
    std::uint32_t start = 0;
    for (auto& c : count) start += std::exchange(c, start);
    for (const Keyed& item : a) b[count[(item.key >> (kLowBits + pass * kDigitBits)) % kDigits]++] = item;
    a.swap(b);
  }
  for (std::size_t i = 0; i < n;) {
    std::size_t end = i + 1;
    bool ordered = true;
    for (; end < n && a[end].key >> kLowBits == a[i].key >> kLowBits; ++end) ordered &= a[end - 1].key <= a[end].key;
    if (!ordered) {
      auto less = [](const Keyed& x, const Keyed& y) { return x.key != y.key ? x.key < y.key : x.row < y.row; };
      std::sort(a.begin() + static_cast<std::ptrdiff_t>(i), a.begin() + static_cast<std::ptrdiff_t>(end), less);
    }
    i = end;
  }
}

struct Events {
  std::size_t size;
  const std::int64_t* owner;  // null where every unit weighs 1
  const std::uint8_t* positive;
  const std::uint8_t* last;
  const double* value;  // null where all are 1

  double weight(std::size_t i, const double* weights) const {
    const double w = owner ? weights[owner[i]] : 1.0;
    return value ? w * value[i] : w;
  }
};

// One walk down the ranking under one row of weights. `limit` is the highest false alarm rate.
double walk(const Events& events, const double* weights, RowFigure kind, double limit) {
  double positives = 0.0, negatives = 0.0;  // known beforehand only where a step needs them
  if (kind != RowFigure::ap && kind != RowFigure::auc) {
    for (std::size_t i = 0; i < events.size; ++i) {
      const double w = events.weight(i, weights);
      (events.positive[i] ? positives : negatives) += w;
    }
  }

  double tp = 0.0, fp = 0.0, before_tp = 0.0, before_fp = 0.0, area = 0.0, best = 0.0;
  std::size_t best_at = 0;
  bool found = false;
  for (std::size_t i = 0; i < events.size; ++i) {
    const double w = events.weight(i, weights);
    (events.positive[i] ? tp : fp) += w;
    if (!events.last[i]) continue;
    switch (kind) {
      case RowFigure::ap:
        if (tp > before_tp) area += (tp - before_tp) * (tp / (tp + fp));
        break;
      case RowFigure::auc:
        area += (fp - before_fp) * (tp + before_tp) * 0.5;
        break;
      case RowFigure::best_f1:
      case RowFigure::best_rank: {
        const double f1 = 2.0 * tp / (tp + fp + positives);
        if (tp + fp > before_tp + before_fp && (!found || f1 > best)) {
          best = f1;
          best_at = i;
          found = true;
        }
        break;
      }
      case RowFigure::tpr:
        if (fp / negatives <= limit) best = tp / positives;
        break;
    }
    before_tp = tp;
    before_fp = fp;
  }
  if (!(tp > 0.0) || ((kind == RowFigure::auc || kind == RowFigure::tpr) && !(fp > 0.0))) return std::nan("");
  switch (kind) {
    case RowFigure::ap:
      return area / tp;
    case RowFigure::auc:
      return area / (tp * fp);
    case RowFigure::best_rank:
      return static_cast<double>(best_at);
    default:
      return best;
  }
}

}  // namespace

bool rank_order(View<double> scores, View<std::uint8_t> positive, std::uint32_t* order, std::uint8_t* last, std::uint8_t* marked) {
  const std::size_t n = scores.size();
  bool numbers = true;
  std::vector<Keyed> a(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double score = scores[i];
    numbers &= !std::isnan(score);
    a[i] = {falling_bits(score), static_cast<std::uint32_t>(i), positive[i]};
  }
  if (numbers) sort_keyed(a);
  for (std::size_t i = 0; i < n; ++i) {
    order[i] = a[i].row;
    marked[i] = a[i].positive != 0;
    last[i] = i + 1 == n || a[i].key != a[i + 1].key;
  }
  return numbers;
}

RowFigure check_row_figure(int figure) {
  require(figure >= 0 && figure <= static_cast<int>(RowFigure::tpr), "there is no such kind");
  return static_cast<RowFigure>(figure);
}

void check_ranked_rows(const RankedRows& rows, std::size_t units) {
  const std::size_t n = rows.positive.size();
  require(rows.last.size() == n && (rows.owner.empty() || rows.owner.size() == n), "events must be as many in every column");
  require(rows.value.size() == n || rows.value.empty(), "each event needs a value, or none has one");
  check_weights(rows.value);
  for (std::int64_t owner : rows.owner) {
    require(owner >= 0 && static_cast<std::size_t>(owner) < units, "an owner is out of range");
  }
}

void ranked(const RankedRows& rows, Matrix<double> weights, RowFigure figure, double limit, long threads, double* out) {
  const Events events{rows.positive.size(), rows.owner.empty() ? nullptr : rows.owner.data(), rows.positive.data(),
                      rows.last.data(), rows.value.empty() ? nullptr : rows.value.data()};
  parallel_for(weights.rows, thread_count(threads), [&](std::size_t row) {
    out[row] = walk(events, weights.row(row), figure, limit);
  });
}

void ranked_each(const RankedRows& rows, View<std::int64_t> starts, RowFigure figure, double limit, double* out) {
  for (std::size_t u = 0; u + 1 < starts.size(); ++u) {
    const auto first = static_cast<std::size_t>(starts[u]), size = static_cast<std::size_t>(starts[u + 1]) - first;
    const Events events{size, nullptr, rows.positive.data() + first, rows.last.data() + first,
                        rows.value.empty() ? nullptr : rows.value.data() + first};
    out[u] = walk(events, nullptr, figure, limit);
  }
}

}  // namespace steelyard
