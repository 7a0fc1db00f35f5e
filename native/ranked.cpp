// Ranked events under rows of weights: average precision, ROC AUC, the best F1, the hit rate at a false alarm rate.
//
// Sorting is done once; each row of weights (a bootstrap draw, a slice) is then one walk down the ranking with
// weighted cumulative sums. Events of equal score are one step: sums are read where a run of ties ends. An event
// without weight changes no sum, so a draw is exactly the ranking of the units that were drawn.
//
// The sort is a radix sort by the upper 33 of the score's order-preserving bits, three passes of 11; the few events that
// agree in those are sorted among themselves.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "checks.hpp"
#include "pool.hpp"

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

// Places of the scores from the highest to the lowest, equal ones in their order; where a run of ties ends; and what
// `positive` says of each.
nb::tuple rank_order(In1<double> scores, In1<std::uint8_t> positive) {
  const std::size_t n = scores.shape(0);
  require(n < (std::size_t{1} << 32), "too many scores");
  require(positive.shape(0) == n, "each score needs to be of the class or not");
  std::uint32_t* order;
  std::uint8_t *last, *marked;
  auto order_array = make_array<std::uint32_t>({n}, order);
  auto last_array = make_array<std::uint8_t>({n}, last);
  auto marked_array = make_array<std::uint8_t>({n}, marked);
  bool numbers = true;
  {
    nb::gil_scoped_release release;
    std::vector<Keyed> a(n);
    for (std::size_t i = 0; i < n; ++i) {
      const double score = scores.data()[i];
      numbers &= !std::isnan(score);
      a[i] = {falling_bits(score), static_cast<std::uint32_t>(i), positive.data()[i]};
    }
    if (numbers) sort_keyed(a);
    for (std::size_t i = 0; i < n; ++i) {
      order[i] = a[i].row;
      marked[i] = a[i].positive != 0;
      last[i] = i + 1 == n || a[i].key != a[i + 1].key;
    }
  }
  require(numbers, "a score is not a number");
  return nb::make_tuple(order_array, last_array, marked_array);
}

enum class Kind { ap, auc, best_f1, best_rank, tpr };

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
double walk(const Events& events, const double* weights, Kind kind, double limit) {
  double positives = 0.0, negatives = 0.0;  // known beforehand only where a step needs them
  if (kind != Kind::ap && kind != Kind::auc) {
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

void check_values(In1<double> value, double limit) {
  check_weights(value);
  require(!std::isnan(limit), "the limit is not a number");
}

Out<double> ranked(In2<double> weights, In1<std::int64_t> owner, In1<std::uint8_t> positive, In1<std::uint8_t> last,
                   In1<double> value, int kind, double limit, long threads) {
  const std::size_t rows = weights.shape(0), units = weights.shape(1), n = positive.shape(0);
  const bool even = owner.shape(0) == 0;
  require(last.shape(0) == n && (even || owner.shape(0) == n), "events must be as many in every column");
  require(value.shape(0) == n || value.shape(0) == 0, "each event needs a value, or none has one");
  require(kind >= 0 && kind <= static_cast<int>(Kind::tpr), "there is no such kind");
  check_values(value, limit);
  check_weights(weights);
  for (std::size_t i = 0; !even && i < n; ++i) {
    require(owner.data()[i] >= 0 && static_cast<std::size_t>(owner.data()[i]) < units, "an owner is out of range");
  }
  double* out;
  auto result = make_array<double>({rows}, out);
  const Events events{n, even ? nullptr : owner.data(), positive.data(), last.data(), value.shape(0) ? value.data() : nullptr};
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
  check_values(value, limit);
  const std::int64_t* start = starts.data();
  for (std::size_t u = 0; u < units; ++u) {
    require(start[u] >= 0 && start[u] <= start[u + 1] && static_cast<std::size_t>(start[u + 1]) <= n,
            "starts must rise and stay inside the events");
  }
  double* out;
  auto result = make_array<double>({units}, out);
  nb::gil_scoped_release release;
  for (std::size_t u = 0; u < units; ++u) {
    const std::size_t first = static_cast<std::size_t>(start[u]), size = static_cast<std::size_t>(start[u + 1]) - first;
    const Events events{size, nullptr, positive.data() + first, last.data() + first,
                        value.shape(0) ? value.data() + first : nullptr};
    out[u] = walk(events, nullptr, static_cast<Kind>(kind), limit);
  }
  return result;
}

}  // namespace

void bind_ranked(nb::module_& m) {
  m.def("rank_order", &rank_order, nb::arg("scores").noconvert(), nb::arg("positive").noconvert(),
        "Places of the scores from the highest to the lowest, 1 where a run of equal scores ends, and what each is.");
  m.def("ranked", &ranked, nb::arg("weights").noconvert(), nb::arg("owner").noconvert(),
        nb::arg("positive").noconvert(), nb::arg("last").noconvert(), nb::arg("value").noconvert(), nb::arg("kind"),
        nb::arg("limit") = 0.0, nb::arg("threads") = 0,
        "One value for each row of weights (without owners, of even weights); kind: 0 AP, 1 ROC AUC, 2 best F1, 3 its rank, 4 TPR at an FPR.");
  m.def("ranked_each", &ranked_each, nb::arg("starts").noconvert(), nb::arg("positive").noconvert(),
        nb::arg("last").noconvert(), nb::arg("value").noconvert(), nb::arg("kind"), nb::arg("limit") = 0.0,
        "The same for each unit alone, whose events stand together.");
}

}  // namespace steelyard
