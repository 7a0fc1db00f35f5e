// What all thresholds of a class share under rows of counts: how much of the ranking each run of hits closes, what it weighs,
// and the weights of each event. See backward_readings.hpp.
#pragma once

#include <cstring>

#include "ap/counted_readings.hpp"
#include "ap/figures.hpp"
#include "ap/lanes.hpp"

namespace steelyard::STEELYARD_TARGET {
namespace {

constexpr float kUnit = 1 / kOne;

using Floats = Lanes<float, C>;
using Bytes = Lanes<std::uint8_t, C>;

// A sum of rows of L bytes, in bytes for as long as it fits.
template <std::size_t L, typename Sum = std::int32_t>
class Tally {
 public:
  explicit Tally(std::size_t heaviest) : room_(255 / heaviest) {}

  // Adds row(i) for each i from `first` to `last`. Four at a time: the sum is then not waited for at each of them.
  template <typename Row>
  void add_rows(std::size_t first, std::size_t last, Row row) {
    while (first < last) {
      if (rows_ == room_) flush();
      const std::size_t free = room_ - rows_, end = last - first > free ? first + free : last;
      rows_ += end - first;
      for (; first + 4 <= end; first += 4) four(row(first), row(first + 1), row(first + 2), row(first + 3), part_.v);
      for (; first < end; ++first) one(row(first), part_.v);
    }
  }
  const Lanes<Sum, L>& total() {
    flush();
    return sum_;
  }
  // A base and the sum.
  void onto(const Sum* base, Sum* to) const { put_onto(base, sum_.v, part_.v, to); }
  // A base and what is left of `all`.
  void rest_onto(const Sum* base, Sum all, Sum* to) const { put_rest_onto(base, sum_.v, part_.v, all, to); }
  // The sum, at least 1, in multiples of 2^-24.
  void into(float* to) const { put(sum_.v, part_.v, to); }
  // The same of what is left of `all`.
  void rest_into(std::int32_t all, float* to) const { put_rest(sum_.v, part_.v, all, to); }

 private:
  using Row = const std::uint8_t* STEELYARD_RESTRICT;

  STEELYARD_NOINLINE static void four(Row a, Row b, Row c, Row d, std::uint8_t* STEELYARD_RESTRICT to) {
    for (std::size_t l = 0; l < L; ++l) to[l] = static_cast<std::uint8_t>(to[l] + ((a[l] + b[l]) + (c[l] + d[l])));
  }
  STEELYARD_NOINLINE static void one(Row row, std::uint8_t* STEELYARD_RESTRICT to) {
    for (std::size_t l = 0; l < L; ++l) to[l] = static_cast<std::uint8_t>(to[l] + row[l]);
  }
  STEELYARD_NOINLINE static void put(const std::int32_t* STEELYARD_RESTRICT sum, Row part, float* STEELYARD_RESTRICT to) {
    for (std::size_t l = 0; l < L; ++l) to[l] = static_cast<float>(larger(sum[l] + part[l], 1)) * kUnit;
  }
  STEELYARD_NOINLINE static void put_rest(const std::int32_t* STEELYARD_RESTRICT sum, Row part, std::int32_t all,
                                          float* STEELYARD_RESTRICT to) {
    for (std::size_t l = 0; l < L; ++l) to[l] = static_cast<float>(larger(all - (sum[l] + part[l]), 1)) * kUnit;
  }
  STEELYARD_NOINLINE static void put_onto(const Sum* STEELYARD_RESTRICT base, const Sum* STEELYARD_RESTRICT sum, Row part,
                                          Sum* STEELYARD_RESTRICT to) {
    for (std::size_t l = 0; l < L; ++l) to[l] = base[l] + sum[l] + part[l];
  }
  STEELYARD_NOINLINE static void put_rest_onto(const Sum* STEELYARD_RESTRICT base, const Sum* STEELYARD_RESTRICT sum, Row part,
                                               Sum all, Sum* STEELYARD_RESTRICT to) {
    for (std::size_t l = 0; l < L; ++l) to[l] = base[l] + (all - (sum[l] + part[l]));
  }
  void flush() {
    if (rows_ == 0) return;
    collect(part_.v, sum_.v);
    rows_ = 0;
  }
  STEELYARD_NOINLINE static void collect(std::uint8_t* STEELYARD_RESTRICT part, Sum* STEELYARD_RESTRICT to) {
    for (std::size_t l = 0; l < L; ++l) to[l] += part[l];
    for (std::size_t l = 0; l < L; ++l) part[l] = 0;
  }

  Lanes<std::uint8_t, L> part_{};
  Lanes<Sum, L> sum_{};
  std::size_t room_, rows_ = 0;
};

std::int32_t largest(const Lanes<std::int32_t, C>& of) {
  std::int32_t most = 0;
  for (std::size_t l = 0; l < C; ++l) most = larger(most, of[l]);
  return most;
}

// What a run adds: the weight of all detections down to its end, at least 1, in multiples of 2^-24; and that of its hits.
struct RunSums {
  Floats down_to, weight;
};

// What entries lack. Which ones do follows no pattern, so they are listed without a branch.
template <typename Sum>
void add_lacking(const ClassJob& job, std::size_t from, std::size_t to, Tally<C, Sum>& tally) {
  constexpr std::size_t kSome = 256;
  std::uint32_t rows[kSome];
  while (from < to) {
    const std::size_t end = to - from > kSome ? from + kSome : to;
    std::size_t count = 0;
    for (; from < end; ++from) {
      const std::uint32_t row = job.lacking[job.events.stream[from] & ~kEvent];
      rows[count] = row;
      count += row != 0;
    }
    tally.add_rows(0, count, [&](std::size_t i) { return job.left + std::size_t{rows[i] - 1} * C; });
  }
}

// What the thresholds of a class share: by row of the runs their sums, by event its weights.
struct EventRows {
  RunSums* run;
  Bytes* weight;

  void take(const ClassJob& job) const {
    const Events& in = job.events;
    for (std::size_t e = 0; e < in.count; ++e) {
      std::memcpy(weight[e].v, job.counts + static_cast<std::size_t>(in.unit[e]) * C, C);
    }
  }
  void add_runs(const ClassJob& job) const {
    const Runs& runs = job.marks.runs;
    for (std::size_t r = 0; r < runs.rows; ++r) {
      const std::uint32_t* hits = job.marks.hits.event + runs.start[r];
      if (runs.size[r] == 1) {
        put_float(weight[*hits].v, run[r].weight.v);
        continue;
      }
      Lanes<std::uint16_t, C> all;
      two(weight[hits[0]].v, weight[hits[1]].v, all.v);
      for (std::size_t i = 2; i < runs.size[r]; ++i) more(weight[hits[i]].v, all.v);
      put_float(all.v, run[r].weight.v);
    }
  }
  // Adds up what is above the end of each run. Whether floats hold the sums.
  bool add_up(const ClassJob& job) const {
    const Events& in = job.events;
    if (!job.lacking) {
      Tally<C> tally(job.heaviest);
      auto row = [&](std::size_t i) { return job.counts + static_cast<std::size_t>(in.stream[i] & ~kEvent) * C; };
      each_end(job, [&](std::size_t from, std::size_t to) { tally.add_rows(from, to, row); },
               [&](float* down_to, std::size_t) { tally.into(down_to); });
      return largest(tally.total()) < kMostExact;  // nothing is asked of what is below
    }
    if (in.entries >= kMostExact) return false;
    Tally<C> tally(1);
    each_end(job, [&](std::size_t from, std::size_t to) { add_lacking(job, from, to, tally); },
             [&](float* down_to, std::size_t entries) { tally.rest_into(static_cast<std::int32_t>(entries), down_to); });
    return true;
  }

 private:
  static constexpr std::int32_t kMostExact = 1 << 24;

  template <typename W>
  STEELYARD_NOINLINE static void put_float(const W* STEELYARD_RESTRICT weight, float* STEELYARD_RESTRICT to) {
    for (std::size_t l = 0; l < C; ++l) to[l] = static_cast<float>(std::int32_t{weight[l]});
  }
  STEELYARD_NOINLINE static void two(const std::uint8_t* STEELYARD_RESTRICT a, const std::uint8_t* STEELYARD_RESTRICT b,
                                     std::uint16_t* STEELYARD_RESTRICT to) {
    for (std::size_t l = 0; l < C; ++l) to[l] = static_cast<std::uint16_t>(a[l] + b[l]);
  }
  STEELYARD_NOINLINE static void more(const std::uint8_t* STEELYARD_RESTRICT a, std::uint16_t* STEELYARD_RESTRICT to) {
    for (std::size_t l = 0; l < C; ++l) to[l] = static_cast<std::uint16_t>(to[l] + a[l]);
  }

  // Calls take(from, to) for the entries down to each end of a run, and then put(lanes, entries down to it).
  template <typename Take, typename Put>
  void each_end(const ClassJob& job, Take take, Put put) const {
    const Runs& runs = job.marks.runs;
    std::size_t next = 0;
    for (std::size_t e = 0; e < job.events.count; ++e) {
      const std::uint32_t first = job.marks.ends[e];
      if (!first) continue;
      const std::size_t end = std::size_t{job.marks.place[e]} + 1;
      take(next, end);
      next = end;
      put(run[first - 1].down_to.v, end);
      for (std::uint32_t r = runs.also[first - 1]; r; r = runs.also[r - 1]) run[r - 1].down_to = run[first - 1].down_to;
    }
  }
};

}  // namespace
}  // namespace steelyard::STEELYARD_TARGET
