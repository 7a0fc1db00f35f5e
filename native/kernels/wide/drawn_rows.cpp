// The rows of a class of labels under rows of counted weights, as a walk sees them, and what it reads there.
//
// A draw takes a unit 0, 1, 2, ... times, so that all that is added up are whole numbers, 32 draws side by side. The
// results are those of reference.hpp to the bit: its sums are whole numbers too, and average precision adds the same
// terms in the same order.
//
// Most rows are not of the class and tied with none. They are not events of the walk: a reading adds them up where it
// stops, in a loop without a branch.
#include <cmath>

#include "ap/figures.hpp"
#include "ap/reference.hpp"
#include "wide/target.hpp"

namespace steelyard::STEELYARD_TARGET {
namespace {

constexpr std::size_t D = kDrawnLanes;
constexpr std::size_t kAhead = 24;      // units stand in no order, and memory is far away: what comes is fetched
constexpr std::size_t kPartRows = 256;  // as many bytes fit into 16 bits

using Drawn = Lanes<std::uint32_t, D>;

void ahead([[maybe_unused]] const void* address) {
#if defined(__GNUC__) || defined(__clang__)
  __builtin_prefetch(address);
#endif
}

// The counts of a row. Those of a later one are fetched.
const std::uint8_t* counts_of(const DrawnJob& job, std::size_t row) {
  const std::size_t later = row + kAhead < job.size ? row + kAhead : job.size - 1;
  ahead(job.counts + static_cast<std::size_t>(job.unit[later]) * D);
  return job.counts + static_cast<std::size_t>(job.unit[row]) * D;
}

struct DrawnRows {
  const DrawnJob& in;

  std::size_t size() const { return in.stops; }
  Outcome outcome(std::size_t i) const { return in.positive[in.stop[i]] ? Outcome::hit : Outcome::miss; }
  bool closes(std::size_t i) const { return in.last[in.stop[i]]; }
  const std::uint8_t* weights(std::size_t i) const { return counts_of(in, in.stop[i]); }
};

// Adds up the rows between stops.
class Between {
 public:
  explicit Between(const DrawnJob& job) : job_(job) {}

  // Those before the run of equal scores that stop i is the last of.
  void to_run(Drawn& sum, std::size_t i) {
    to_row(sum, job_.stop[next_]);
    row_ = std::size_t{job_.stop[i]} + 1;
    next_ = i + 1;
  }
  // Those behind the last stop.
  void to_end(Drawn& sum) { to_row(sum, job_.size); }

 private:
  void to_row(Drawn& sum, std::size_t stop) {
    while (row_ < stop) {
      Lanes<std::uint16_t, D> part{};
      const std::size_t end = stop - row_ > kPartRows ? row_ + kPartRows : stop;
      for (; row_ < end; ++row_) {
        const std::uint8_t* STEELYARD_RESTRICT counts = counts_of(job_, row_);
        for (std::size_t l = 0; l < D; ++l) part[l] = static_cast<std::uint16_t>(part[l] + counts[l]);
      }
      for (std::size_t l = 0; l < D; ++l) sum[l] += part[l];
    }
  }

  const DrawnJob& job_;
  std::size_t row_ = 0, next_ = 0;  // the first row, and the first stop, that are not behind
};

// The hits of a run of equal scores. Most often it is one, whose counts are taken as they lie.
class RunHits {
 public:
  bool any() const { return one_ != nullptr; }
  void clear() {
    one_ = nullptr;
    several_ = false;
  }
  void add_one(const std::uint8_t* counts) {
    if (!one_) {
      one_ = counts;
      return;
    }
    if (!several_) sum_ = {}, add(sum_, one_);
    several_ = true;
    add(sum_, counts);
  }
  // Calls `step` with their counts.
  template <typename Step>
  void give(Step step) const {
    if (several_) step(sum_.v);
    else if (one_) step(one_);
  }

 private:
  const std::uint8_t* one_ = nullptr;
  bool several_ = false;
  Drawn sum_;
};

// Sum of precision times the step in what is found.
struct DrawnSteps {
  static constexpr bool kByTie = true;
  Between between;
  RunHits hits{};
  Drawn tp{}, fp{};
  Lanes<double, D> area{};

  void hit(const std::uint8_t* counts, std::size_t) { hits.add_one(counts); }
  void miss(const std::uint8_t* counts) { add(fp, counts); }
  void tie(std::size_t i) {
    between.to_run(fp, i);
    hits.give([this](const auto* counts) { step(counts, fp.v, tp.v, area.v); });
    hits.clear();
  }
  void figure(double* out) const {
    for (std::size_t l = 0; l < D; ++l)
      out[l] = tp[l] ? area[l] / static_cast<double>(tp[l]) : static_cast<double>(NAN);
  }

 private:
  template <typename Count>
  static void step(const Count* STEELYARD_RESTRICT hits, const std::uint32_t* STEELYARD_RESTRICT fp,
                   std::uint32_t* STEELYARD_RESTRICT tp, double* STEELYARD_RESTRICT area) {
    for (std::size_t l = 0; l < D; ++l) {
      tp[l] += hits[l];
      const std::uint32_t all = larger<std::uint32_t>(tp[l] + fp[l], 1);
      area[l] += static_cast<double>(hits[l]) * (static_cast<double>(tp[l]) / static_cast<double>(all));
    }
  }
};

// The false alarms above each hit, and half of those that are tied with it, are what is missing from the area under the
// ROC curve.
struct DrawnArea {
  static constexpr bool kByTie = true;
  Between between;
  RunHits hits{};
  Drawn tp{}, fp{}, tied{};
  bool any_tied = false;
  Lanes<std::uint64_t, D> missing{}, halves{};  // the area above the curve

  void hit(const std::uint8_t* counts, std::size_t) { hits.add_one(counts); }
  void miss(const std::uint8_t* counts) {
    add(tied, counts);
    any_tied = true;
  }
  void tie(std::size_t i) {
    between.to_run(fp, i);
    hits.give([this](const auto* counts) { step(counts, fp.v, tp.v, missing.v); });
    if (any_tied) settle();
    hits.clear();
    any_tied = false;
  }
  void figure(double* out) {
    between.to_end(fp);
    for (std::size_t l = 0; l < D; ++l) {
      const std::uint64_t all = std::uint64_t{tp[l]} * fp[l];
      out[l] = all ? static_cast<double>(2 * (all - missing[l]) - halves[l]) * 0.5 / static_cast<double>(all)
                   : static_cast<double>(NAN);
    }
  }

 private:
  template <typename Count>
  static void step(const Count* STEELYARD_RESTRICT hits, const std::uint32_t* STEELYARD_RESTRICT fp,
                   std::uint32_t* STEELYARD_RESTRICT tp, std::uint64_t* STEELYARD_RESTRICT missing) {
    for (std::size_t l = 0; l < D; ++l) {
      tp[l] += hits[l];
      missing[l] += std::uint64_t{hits[l]} * fp[l];
    }
  }
  void settle() {
    hits.give([this](const auto* counts) {
      for (std::size_t l = 0; l < D; ++l) halves[l] += std::uint64_t{counts[l]} * tied[l];
    });
    for (std::size_t l = 0; l < D; ++l) fp[l] += tied[l];
    tied = {};
  }
};

void read_drawn(const DrawnJob& job) {
  const DrawnRows rows{job};
  if (job.figure == RowFigure::auc) {
    DrawnArea reading{Between(job)};
    walk(rows, reading);
    reading.figure(job.out);
  } else {
    DrawnSteps reading{Between(job)};
    walk(rows, reading);
    reading.figure(job.out);
  }
}

}  // namespace

void walk_drawn(const DrawnJob& job) { read_drawn(job); }

}  // namespace steelyard::STEELYARD_TARGET
