// Ranked events under rows of weights: average precision, ROC AUC, the best F1, the hit rate at a false alarm rate.
//
// Sorting is done once; each row of weights (a bootstrap draw, a slice) is then one walk down the ranking with
// weighted cumulative sums. Events of equal score are one step: sums are read where a run of ties ends. An event
// without weight changes no sum, so a draw is exactly the ranking of the units that were drawn.
//
// The sort is a radix sort by 11 bits of the score's order-preserving bits: stable, linear, and passes in which all
// events agree (scores that were single precision) are skipped.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "pool.hpp"

namespace steelyard {
namespace {

constexpr std::size_t kDigitBits = 11, kDigits = std::size_t{1} << kDigitBits, kPasses = 6;

// Bits that rise as the score falls. Both zeros are one.
inline std::uint64_t falling_bits(double score) {
  const auto bits = std::bit_cast<std::uint64_t>(score == 0.0 ? 0.0 : score);
  const std::uint64_t rising = bits >> 63 ? ~bits : bits | (std::uint64_t{1} << 63);
  return ~rising;
}

struct Keyed {
  std::uint64_t key;
  std::uint32_t row;
};

// Places of the scores from the highest to the lowest, equal ones in their order; and where a run of ties ends.
nb::tuple rank_order(In1<double> scores) {
  const std::size_t n = scores.shape(0);
  require(n < (std::size_t{1} << 32), "too many scores");
  std::uint32_t* order;
  std::uint8_t* last;
  auto order_array = make_array<std::uint32_t>({n}, order);
  auto last_array = make_array<std::uint8_t>({n}, last);
  bool finite = true;
  {
    nb::gil_scoped_release release;
    std::vector<Keyed> a(n), b(n);
    std::vector<std::array<std::uint32_t, kDigits>> counts(kPasses);
    for (auto& count : counts) count.fill(0);
    for (std::size_t i = 0; i < n; ++i) {
      const double score = scores.data()[i];
      finite &= !std::isnan(score);
      const std::uint64_t key = falling_bits(score);
      a[i] = {key, static_cast<std::uint32_t>(i)};
      for (std::size_t pass = 0; pass < kPasses; ++pass) ++counts[pass][(key >> (pass * kDigitBits)) % kDigits];
    }
    for (std::size_t pass = 0; finite && pass < kPasses; ++pass) {
      auto& count = counts[pass];
      if (std::any_of(count.begin(), count.end(), [&](std::uint32_t c) { return c == n; })) continue;
      std::uint32_t start = 0;
      for (auto& c : count) start += std::exchange(c, start);
      for (const Keyed& item : a) b[count[(item.key >> (pass * kDigitBits)) % kDigits]++] = item;
      a.swap(b);
    }
    for (std::size_t i = 0; i < n; ++i) {
      order[i] = a[i].row;
      last[i] = i + 1 == n || a[i].key != a[i + 1].key;
    }
  }
  require(finite, "a score is not a number");
  return nb::make_tuple(order_array, last_array);
}

enum class Kind { ap, auc, best_f1, best_rank, tpr };

struct Events {
  std::size_t size;
  const std::int64_t* owner;
  const std::uint8_t* positive;
  const std::uint8_t* last;
  const double* value;  // null where all are 1
};

// One walk down the ranking under one row of weights. `limit` is the highest false alarm rate.
double walk(const Events& events, const double* weights, Kind kind, double limit) {
  double positives = 0.0, negatives = 0.0;  // known beforehand only where a step needs them
  if (kind != Kind::ap && kind != Kind::auc) {
    for (std::size_t i = 0; i < events.size; ++i) {
      const double w = events.value ? weights[events.owner[i]] * events.value[i] : weights[events.owner[i]];
      (events.positive[i] ? positives : negatives) += w;
    }
  }

  double tp = 0.0, fp = 0.0, before_tp = 0.0, before_fp = 0.0, area = 0.0, best = 0.0;
  std::size_t best_at = 0;
  bool found = false;
  for (std::size_t i = 0; i < events.size; ++i) {
    const double w = events.value ? weights[events.owner[i]] * events.value[i] : weights[events.owner[i]];
    (events.positive[i] ? tp : fp) += w;
    if (!events.last[i]) continue;
    switch (kind) {
      case Kind::ap:
        if (tp > before_tp) area += (tp - before_tp) * (tp / (tp + fp));
        break;
      case Kind::auc:
        area += (fp - before_fp) * (tp + before_tp) * 0.5;
        break;
      case Kind::best_f1:
      case Kind::best_rank: {
        const double f1 = 2.0 * tp / (tp + fp + positives);
        if (tp + fp > before_tp + before_fp && (!found || f1 > best)) {
          best = f1;
          best_at = i;
          found = true;
        }
        break;
      }
      case Kind::tpr:
        if (fp / negatives <= limit) best = tp / positives;
        break;
    }
    before_tp = tp;
    before_fp = fp;
  }
  if (!(tp > 0.0) || ((kind == Kind::auc || kind == Kind::tpr) && !(fp > 0.0))) return std::nan("");
  switch (kind) {
    case Kind::ap:
      return area / tp;
    case Kind::auc:
      return area / (tp * fp);
    case Kind::best_rank:
      return static_cast<double>(best_at);
    default:
      return best;
  }
}

Out<double> ranked(In2<double> weights, In1<std::int64_t> owner, In1<std::uint8_t> positive, In1<std::uint8_t> last,
                   In1<double> value, int kind, double limit, long threads) {
  const std::size_t rows = weights.shape(0), units = weights.shape(1), n = owner.shape(0);
  require(positive.shape(0) == n && last.shape(0) == n, "events must be as many in every column");
  require(value.shape(0) == n || value.shape(0) == 0, "each event needs a value, or none has one");
  require(kind >= 0 && kind <= static_cast<int>(Kind::tpr), "there is no such kind");
  for (std::size_t i = 0; i < n; ++i) {
    require(owner.data()[i] >= 0 && static_cast<std::size_t>(owner.data()[i]) < units, "an owner is out of range");
  }
  double* out;
  auto result = make_array<double>({rows}, out);
  const Events events{n, owner.data(), positive.data(), last.data(), value.shape(0) ? value.data() : nullptr};
  nb::gil_scoped_release release;
  parallel_for(rows, thread_count(threads), [&](std::size_t row) {
    out[row] = walk(events, weights.data() + row * units, static_cast<Kind>(kind), limit);
  });
  return result;
}

// The same for each unit alone, its events standing together: those of unit u from starts[u] to starts[u + 1].
Out<double> ranked_each(In1<std::int64_t> starts, In1<std::uint8_t> positive, In1<std::uint8_t> last,
                        In1<double> value, int kind, double limit) {
  require(starts.shape(0) >= 1, "there must be one start more than units");
  const std::size_t units = starts.shape(0) - 1, n = positive.shape(0);
  require(last.shape(0) == n, "events must be as many in every column");
  require(value.shape(0) == n || value.shape(0) == 0, "each event needs a value, or none has one");
  require(kind >= 0 && kind <= static_cast<int>(Kind::tpr), "there is no such kind");
  const std::int64_t* start = starts.data();
  for (std::size_t u = 0; u < units; ++u) {
    require(start[u] >= 0 && start[u] <= start[u + 1] && static_cast<std::size_t>(start[u + 1]) <= n,
            "starts must rise and stay inside the events");
  }
  double* out;
  auto result = make_array<double>({units}, out);
  nb::gil_scoped_release release;
  std::vector<std::int64_t> owner;
  const double one = 1.0;
  for (std::size_t u = 0; u < units; ++u) {
    const std::size_t first = static_cast<std::size_t>(start[u]), size = static_cast<std::size_t>(start[u + 1]) - first;
    if (owner.size() < size) owner.resize(size, 0);
    const Events events{size, owner.data(), positive.data() + first, last.data() + first,
                        value.shape(0) ? value.data() + first : nullptr};
    out[u] = walk(events, &one, static_cast<Kind>(kind), limit);
  }
  return result;
}

}  // namespace

void bind_ranked(nb::module_& m) {
  m.def("rank_order", &rank_order, nb::arg("scores").noconvert(),
        "Places of the scores from the highest to the lowest, and 1 where a run of equal scores ends.");
  m.def("ranked", &ranked, nb::arg("weights").noconvert(), nb::arg("owner").noconvert(),
        nb::arg("positive").noconvert(), nb::arg("last").noconvert(), nb::arg("value").noconvert(), nb::arg("kind"),
        nb::arg("limit") = 0.0, nb::arg("threads") = 0,
        "One value for each row of weights; kind: 0 AP, 1 ROC AUC, 2 best F1, 3 its rank, 4 TPR at an FPR.");
  m.def("ranked_each", &ranked_each, nb::arg("starts").noconvert(), nb::arg("positive").noconvert(),
        nb::arg("last").noconvert(), nb::arg("value").noconvert(), nb::arg("kind"), nb::arg("limit") = 0.0,
        "The same for each unit alone, whose events stand together.");
}

}  // namespace steelyard
