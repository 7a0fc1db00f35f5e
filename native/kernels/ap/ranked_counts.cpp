// Ranked rows of a class under rows of counted weights: bootstrap draws of units.
//
// A draw takes a unit 0, 1, 2, ... times, so that all that is added up are whole numbers, 32 draws side by side. The
// results are those of `ranked` to the bit: its sums are whole numbers too, and average precision adds the same terms
// in the same order.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ap/ranked.hpp"
#include "support/checks.hpp"
#include "support/pool.hpp"

namespace steelyard {
namespace {

constexpr std::size_t kLanes = kRankedLanes, kAhead = 24;

struct alignas(64) Short {
  std::uint16_t v[kLanes];
};
struct alignas(64) Narrow {
  std::uint32_t v[kLanes];
};
struct alignas(64) Wide {
  std::uint64_t v[kLanes];
};
struct alignas(64) Real {
  double v[kLanes];
};

// The rows of one ranking with their counts in 32 draws.
class DrawnRows {
 public:
  DrawnRows(const CountedRows& rows, const std::uint8_t* table) : rows_(rows), table_(table), size_(rows.positive.size()) {}

  std::size_t size() const { return size_; }
  bool positive(std::size_t i) const { return rows_.positive[i] != 0; }
  bool last(std::size_t i) const { return rows_.last[i] != 0; }

  // The counts of an event. Those of a later one are fetched: units stand in no order, and memory is far away.
  const std::uint8_t* weights(std::size_t i) const {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(at(std::min(i + kAhead, size_ - 1)));
#endif
    return at(i);
  }

 private:
  const std::uint8_t* at(std::size_t i) const { return table_ + static_cast<std::size_t>(rows_.unit[i]) * kLanes; }

  const CountedRows& rows_;
  const std::uint8_t* table_;
  std::size_t size_;
};

void add(Narrow& to, const std::uint8_t* weights) {
  for (std::size_t l = 0; l < kLanes; ++l) to.v[l] += weights[l];
}

void add(Narrow& to, const Narrow& more) {
  for (std::size_t l = 0; l < kLanes; ++l) to.v[l] += more.v[l];
}

// Adds the counts of false alarms that come one after the other, none of them tied; gives the event behind them.
std::size_t pass_others(const DrawnRows& events, std::size_t i, Narrow& fp) {
  while (i < events.size() && !events.positive(i) && events.last(i)) {
    Short part{};
    const std::size_t stop = std::min(i + 256, events.size());  // 256 bytes fit into 16 bits
    for (; i < stop && !events.positive(i) && events.last(i); ++i) {
      const std::uint8_t* weights = events.weights(i);
      for (std::size_t l = 0; l < kLanes; ++l) part.v[l] = static_cast<std::uint16_t>(part.v[l] + weights[l]);
    }
    for (std::size_t l = 0; l < kLanes; ++l) fp.v[l] += part.v[l];
  }
  return i;
}

// Adds the counts of a run of ties; gives the event behind it.
std::size_t pass_run(const DrawnRows& events, std::size_t i, Narrow& hits, Narrow& others) {
  for (bool ends = false; !ends; ++i) {
    add(events.positive(i) ? hits : others, events.weights(i));
    ends = events.last(i);
  }
  return i;
}

// The false alarms above each hit, and half of those that are tied with it, are what is missing from the area.
void auc(const DrawnRows& events, double* out) {
  Narrow tp{}, fp{};
  Wide missing{};  // twice the area above the curve
  for (std::size_t i = pass_others(events, 0, fp); i < events.size(); i = pass_others(events, i, fp)) {
    if (events.last(i)) {
      const std::uint8_t* weights = events.weights(i++);
      for (std::size_t l = 0; l < kLanes; ++l) missing.v[l] += std::uint64_t{2} * weights[l] * fp.v[l];
      add(tp, weights);
      continue;
    }
    Narrow hits{}, others{};
    i = pass_run(events, i, hits, others);
    for (std::size_t l = 0; l < kLanes; ++l) {
      missing.v[l] += std::uint64_t{hits.v[l]} * (2 * std::uint64_t{fp.v[l]} + others.v[l]);
    }
    add(tp, hits);
    add(fp, others);
  }
  for (std::size_t l = 0; l < kLanes; ++l) {
    const std::uint64_t all = std::uint64_t{tp.v[l]} * fp.v[l];
    out[l] = all ? static_cast<double>(2 * all - missing.v[l]) * 0.5 / static_cast<double>(all) : std::nan("");
  }
}

void ap(const DrawnRows& events, double* out) {
  Narrow tp{}, fp{};
  Real area{};
  for (std::size_t i = pass_others(events, 0, fp); i < events.size(); i = pass_others(events, i, fp)) {
    Narrow hits{}, others{};
    i = pass_run(events, i, hits, others);
    add(tp, hits);
    add(fp, others);
    for (std::size_t l = 0; l < kLanes; ++l) {
      const std::uint32_t all = std::max<std::uint32_t>(tp.v[l] + fp.v[l], 1);
      area.v[l] += static_cast<double>(hits.v[l]) * (static_cast<double>(tp.v[l]) / static_cast<double>(all));
    }
  }
  for (std::size_t l = 0; l < kLanes; ++l) {
    out[l] = tp.v[l] ? area.v[l] / static_cast<double>(tp.v[l]) : std::nan("");
  }
}

}  // namespace

void check_counted_rows(const CountedRows& rows, std::size_t units) {
  const std::size_t n = rows.positive.size();
  require(rows.last.size() == n && rows.unit.size() == n, "events must be as many in every column");
  require(n <= 0xFFFFFFFFu / 255, "too many events to count");
  require(n == 0 || rows.last[n - 1] != 0, "the last run of equal scores does not end");
  for (std::int32_t unit : rows.unit) {
    require(unit >= 0 && static_cast<std::size_t>(unit) < units, "a unit is out of range");
  }
}

void ranked_draws(const CountedRows& rows, const std::uint8_t* counts, std::size_t units, std::size_t draws, RowFigure figure,
                  long threads, double* out) {
  const std::size_t groups = (draws + kLanes - 1) / kLanes;
  parallel_for(groups, thread_count(threads), [&](std::size_t group) {
    const std::uint8_t* table = counts + group * units * kLanes;
    const DrawnRows events(rows, table);
    double values[kLanes];
    if (figure == RowFigure::auc) auc(events, values);
    else ap(events, values);
    const std::size_t first = group * kLanes;
    std::copy_n(values, std::min(kLanes, draws - first), out + first);
  });
}

}  // namespace steelyard
