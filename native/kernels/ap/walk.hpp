// The one walk down a ranking, from the highest score to the lowest.
//
// Every average precision, AUC, best F1 and curve of Steelyard is this walk with a reading. A source says of each event
// whether it is a hit, a miss or ignored, what it weighs in each row of weights, and where a run of equal scores ends. A
// reading is fed `hit(weights, i)`, `miss(weights)` and, if it asks for ties, `tie(i)`; it keeps the sums that it needs.
// The same walk goes over a class in memory, over parts that come from disk, over one unit and over a thousand draws.
#pragma once

#include "ap/event_view.hpp"
#include "ap/lanes.hpp"

namespace steelyard::STEELYARD_TARGET {
namespace {

enum class Outcome { hit, miss, ignored };

template <typename Source, typename Reading>
void walk(const Source& source, Reading& reading) {
  const std::size_t size = source.size();
  for (std::size_t i = 0; i < size; ++i) {
    const Outcome outcome = source.outcome(i);
    if (outcome == Outcome::hit) reading.hit(source.weights(i), i);
    else if (outcome == Outcome::miss) reading.miss(source.weights(i));
    if constexpr (Reading::kByTie) {
      if (source.closes(i)) reading.tie(i);
    }
  }
}

// The events of a class at one threshold. Detections on nothing are not among them: they are added up once for all
// thresholds (plain_before, plain_to_tie), and a reading looks their sums up.
template <typename W, std::size_t L>
class ClassEvents {
 public:
  ClassEvents(const Events& in, std::size_t threshold, const W* table)
      : hit_(in.hit), ignored_(in.ignored), unit_(in.unit), closes_(in.closes), count_(in.count), threshold_(threshold),
        table_(table) {}

  std::size_t size() const { return count_; }
  Outcome outcome(std::size_t i) const {
    if ((hit_[i] >> threshold_) & 1) return Outcome::hit;
    return (ignored_[i] >> threshold_) & 1 ? Outcome::ignored : Outcome::miss;
  }
  const W* weights(std::size_t i) const { return table_ + static_cast<std::size_t>(unit_[i]) * L; }
  bool closes(std::size_t i) const { return closes_[i]; }

 private:
  const Bits *hit_, *ignored_;
  const std::int32_t* unit_;
  const std::uint8_t* closes_;
  std::size_t count_, threshold_;
  const W* table_;  // [units][L]
};

// Detections on nothing before each event.
template <typename T, typename W, std::size_t L>
void plain_before(const Events& in, const W* table, Lanes<T, L>& sum, Lanes<T, L>* at) {
  const std::uint32_t *entry = in.stream, *const end = entry + in.entries;
  Lanes<T, L> plain = sum;
  for (; entry != end; ++entry) {
    if (*entry & kEvent) *at++ = plain;
    else add(plain, table + static_cast<std::size_t>(*entry) * L);
  }
  sum = plain;
}

// Detections on nothing up to where the equal scores of an event end; only of events that are the last of theirs.
template <typename T, typename W, std::size_t L>
void plain_to_tie(const Events& in, const W* table, Lanes<T, L>& plain, Lanes<T, L>* at) {
  std::size_t e = 0;
  bool any = false;
  for (std::size_t i = 0; i < in.entries; ++i) {
    const std::uint32_t entry = in.stream[i];
    if (entry & kEvent) any = true, ++e;
    else add(plain, table + static_cast<std::size_t>(entry) * L);
    if (any && in.last_of_tie[i]) at[e - 1] = plain, any = false;
  }
}

}  // namespace
}  // namespace steelyard::STEELYARD_TARGET
