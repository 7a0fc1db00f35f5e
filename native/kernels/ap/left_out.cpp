// One walk serves all groups: a reading keeps what each group would take away.
//
// The area under the ROC curve counts pairs, so a group takes away the pairs of its hits and of its misses, less those
// of both, which are counted twice. All of it in whole numbers.
//
// Average precision is a sum over runs r with hits of h (tp - k) / (all - m), where k and m are the hits and the rows
// of the group so far. Between two rows of a group, k and m rest. With m / all small, 1 / (all - m) is a short series
// in m / all, whose coefficients are sums over runs: prefix sums give those of any stretch. They start again where
// `all` has doubled, so that no digits are lost by subtraction. Where a group holds too large a share of the rows, its
// terms are added up one at a time; of such groups there are few.
#include "ap/left_out.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "ap/reference.hpp"
#include "support/checks.hpp"
#include "support/pool.hpp"

namespace steelyard {
namespace {

using baseline::Outcome;
using baseline::walk;

// The rows of a ranking. What an event "weighs" is its group.
class GroupRows {
 public:
  GroupRows(const CountedRows& rows, std::size_t ranking, View<std::int32_t> group)
      : rows_(rows),
        first_(static_cast<std::size_t>(rows.begin[ranking])),
        size_(static_cast<std::size_t>(rows.begin[ranking + 1]) - first_),
        group_(group) {}

  std::size_t size() const { return size_; }
  Outcome outcome(std::size_t i) const { return rows_.positive[first_ + i] ? Outcome::hit : Outcome::miss; }
  bool closes(std::size_t i) const { return rows_.last[first_ + i]; }
  std::int32_t weights(std::size_t i) const { return group_[static_cast<std::size_t>(rows_.unit[first_ + i])]; }

 private:
  const CountedRows& rows_;
  std::size_t first_, size_;
  View<std::int32_t> group_;
};

// What readings share: the rows of the open run of equal scores by group. Group -1 has a place behind the others.
class Run {
 public:
  explicit Run(std::size_t groups) : rest_(groups) {}
  void hit(std::int32_t group) { hits.push_back(place(group)); }
  void miss(std::int32_t group) { misses.push_back(place(group)); }
  void clear() {
    hits.clear();
    misses.clear();
  }

  std::vector<std::size_t> hits, misses;

 private:
  std::size_t place(std::int32_t group) const { return group < 0 ? rest_ : static_cast<std::size_t>(group); }

  std::size_t rest_;
};

class AreaWithout {
 public:
  static constexpr bool kByTie = true;
  AreaWithout(std::size_t groups, std::uint64_t positives) : run_(groups), groups_(groups + 1), positives_(positives) {}

  void hit(std::int32_t group, std::size_t) { run_.hit(group); }
  void miss(std::int32_t group) { run_.miss(group); }
  void tie(std::size_t) {
    const std::uint64_t hits = run_.hits.size(), misses = run_.misses.size();
    for (std::size_t g : run_.misses) {
      groups_[g].lost += 2 * (positives_ - tp_ - hits) + hits;
      ++groups_[g].tied;
    }
    for (std::size_t g : run_.hits) {
      Group& of = groups_[g];
      of.lost += 2 * (fp_ - of.misses) + misses - of.tied;  // less the pairs inside the group
      ++of.hits;
    }
    for (std::size_t g : run_.misses) {
      ++groups_[g].misses;
      groups_[g].tied = 0;
    }
    missing_ += hits * (2 * fp_ + misses);
    tp_ += hits;
    fp_ += misses;
    run_.clear();
  }
  double figure(std::size_t g) const {
    const Group& of = groups_[g];
    const std::uint64_t all = (tp_ - of.hits) * (fp_ - of.misses);
    return all ? static_cast<double>(2 * all - (missing_ - of.lost)) * 0.5 / static_cast<double>(all)
               : static_cast<double>(NAN);
  }

 private:
  struct Group {
    std::uint64_t lost = 0, hits = 0, misses = 0, tied = 0;
  };

  Run run_;
  std::vector<Group> groups_;
  std::uint64_t positives_, tp_ = 0, fp_ = 0, missing_ = 0;  // twice the area above the curve
};

class StepsWithout {
 public:
  static constexpr bool kByTie = true;
  explicit StepsWithout(std::size_t groups) : run_(groups), groups_(groups + 1) {}

  void hit(std::int32_t group, std::size_t) { run_.hit(group); }
  void miss(std::int32_t group) { run_.miss(group); }
  void tie(std::size_t) {
    const double hits = static_cast<double>(run_.hits.size());
    const double tp = tp_ + hits, all = all_ + hits + static_cast<double>(run_.misses.size());
    if (hits > 0 && all >= 2 * scale_) next_stretch(all);
    for (std::size_t g : run_.misses) {
      settle(groups_[g]);
      ++groups_[g].rows;
    }
    for (std::size_t g : run_.hits) {
      settle(groups_[g]);
      ++groups_[g].rows;
      ++groups_[g].hits;
      ++groups_[g].in_run;
    }
    if (hits > 0) {
      add_run(hits, tp, all);
      for (const auto* rows : {&run_.misses, &run_.hits}) {
        for (std::size_t g : *rows) own_run(groups_[g], hits, tp, all);
      }
    }
    tp_ = tp;
    all_ = all;
    run_.clear();
  }
  void finish() {
    for (Group& group : groups_) settle(group);
  }
  double figure(std::size_t g) const {
    const double found = tp_ - groups_[g].hits;
    return found > 0 ? groups_[g].area / found : static_cast<double>(NAN);
  }

 private:
  static constexpr std::size_t kTerms = 6;
  static constexpr double kMostShare = 1.0 / 256;  // to the power of kTerms: 4e-15

  struct Sums {
    double found[kTerms] = {}, steps[kTerms] = {};  // of h tp / all and h / all, times (scale / all)^j
  };
  struct Group {
    double area = 0, hits = 0, rows = 0, in_run = 0;
    std::size_t seen = 0;  // runs of the stretch that are in `area`
    Sums sums;             // those of the stretch at that place
  };
  struct StepRun {
    double hits, tp, all;
  };

  // Adds the runs since the group's last row to its area.
  void settle(Group& group) {
    if (group.seen == runs_.size()) return;
    if (group.rows > kMostShare * scale_) {
      for (; group.seen < runs_.size(); ++group.seen) {
        const StepRun& run = runs_[group.seen];
        group.area += run.hits * ((run.tp - group.hits) / (run.all - group.rows));
      }
    } else {
      const double share = group.rows / scale_;
      double sum = 0;
      for (std::size_t j = kTerms; j-- > 0;) {
        sum =
            sum * share + (sums_.found[j] - group.sums.found[j]) - group.hits * (sums_.steps[j] - group.sums.steps[j]);
      }
      group.area += sum;
      group.seen = runs_.size();
    }
    group.sums = sums_;
  }

  // The run that has just been added, for a group with rows in it.
  void own_run(Group& group, double hits, double tp, double all) {
    if (group.seen == runs_.size()) return;
    const double left = hits - group.in_run;
    if (left > 0) group.area += left * ((tp - group.hits) / (all - group.rows));
    group.in_run = 0;
    group.seen = runs_.size();
    group.sums = sums_;
  }

  void add_run(double hits, double tp, double all) {
    runs_.push_back({hits, tp, all});
    const double by = scale_ / all;
    double found = hits * (tp / all), steps = hits / all;
    for (std::size_t j = 0; j < kTerms; ++j, found *= by, steps *= by) {
      sums_.found[j] += found;
      sums_.steps[j] += steps;
    }
  }

  // From here on sums are of runs with `all` in the same octave.
  void next_stretch(double all) {
    for (Group& group : groups_) {
      settle(group);
      group.seen = 0;
      group.sums = {};
    }
    runs_.clear();
    sums_ = {};
    scale_ = static_cast<double>(std::bit_floor(static_cast<std::uint64_t>(all)));
  }

  Run run_;
  std::vector<Group> groups_;
  std::vector<StepRun> runs_;
  Sums sums_;
  double tp_ = 0, all_ = 0, scale_ = 0.5;
};

}  // namespace

void check_groups(View<std::int32_t> group, std::size_t groups) {
  require(groups <= 0x7FFFFFFFu, "too many groups");
  for (std::int32_t g : group) {
    require(g >= -1 && g < static_cast<std::int64_t>(groups), "a group is out of range");
  }
}

void ranked_left_out(const CountedRows& rows, View<std::int32_t> group, std::size_t groups, RowFigure figure,
                     long threads, double* out) {
  const std::size_t rankings = rows.rankings();
  parallel_for(rankings, thread_count(threads), [&](std::size_t k) {
    const GroupRows events(rows, k, group);
    auto put = [&](const auto& reading) {
      for (std::size_t g = 0; g < groups; ++g) out[g * rankings + k] = reading.figure(g);
    };
    if (figure == RowFigure::auc) {
      const auto* positive = rows.positive.data() + rows.begin[k];
      AreaWithout reading(
          groups, static_cast<std::uint64_t>(events.size() - std::count(positive, positive + events.size(), 0)));
      walk(events, reading);
      return put(reading);
    }
    StepsWithout reading(groups);
    walk(events, reading);
    reading.finish();
    put(reading);
  });
}

}  // namespace steelyard
