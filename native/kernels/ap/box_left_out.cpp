// Figures of boxes without each of many groups of images: the jackknife.
//
// In a class of which no group holds a large share, a group moves a figure by the sum of what its detections and truths
// move it. All groups are read in one walk then. With the envelope's precision p_j = tp_j / n_j at the hits j where it
// changes, and M_j hits on each of its steps, the area under it is (sum M_j p_j) / P. Leaving out a detection above j
// lowers n_j by 1 and, if it is a hit, tp_j: p_j changes by -(1 - p_j) / n_j or by p_j / n_j. A hit leaves its own
// step, too; truths that are left out lower P. The best F1 is read where it is best with all images.
//
// On a grid of 101 recalls a figure moves as the area does, without the jumps where a recall passes a point of the
// grid. Those jumps are not a property of the images: they make the jackknife's standard error too large.
//
// A class of which a group holds more than one part in kParts is walked under counts, and so are coarse grids.
#include <array>
#include <limits>
#include <vector>

#include "ap/box_figures.hpp"
#include "ap/count_table.hpp"
#include "support/pool.hpp"
#include "support/scratch.hpp"

namespace steelyard {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kParts = 8, kFineGrid = 100;

// A step of a curve: the entries down to its end, and by how much its hits move with what is above.
struct Step {
  std::size_t end, threshold;
  double precision, part;  // `part`: its hits by the detections down to its end
};

// The curve of one threshold under weights of 1.
struct Curve {
  double total = 0, found = 0;           // precision times hits, and hits
  double offset = 0;                     // by how much the figure on the grid is larger than the area
  double ranked = 0, best = -1, tp = 0;  // where F1 is best: detections down to there, half of F1, hits
  std::size_t end = 0;                   // entries down to there
};

class OneClass {
 public:
  OneClass(EventStream& stream, View<std::int32_t> group, std::size_t groups, std::size_t thresholds, BoxFigure figure,
           View<double> grid)
      : stream_(stream),
        in_(stream.events()),
        group_(group),
        groups_(groups),
        thresholds_(thresholds),
        figure_(figure),
        grid_(grid),
        truths_(groups),
        entries_(groups) {
    for (std::int32_t unit : stream.truth_unit) count(truths_, unit);
    for (std::size_t i = 0; i < in_.entries; ++i) {
      count(entries_, static_cast<std::int32_t>(in_.stream[i] & ~kEvent));
      if (in_.stream[i] & kEvent) place_.push_back(i);
    }
  }

  // The figure and the recall without each group, [groups][thresholds]; nan where no truth is left.
  void read(double* value, double* recall) const {
    if (in_.truths == 0) {
      std::fill_n(value, groups_ * thresholds_, kUndefined);
      std::fill_n(recall, groups_ * thresholds_, kUndefined);
    } else if (spread()) {
      by_steps(value, recall);
    } else {
      by_counts(value, recall);
    }
  }

 private:
  void count(std::vector<std::uint32_t>& by_group, std::int32_t unit) const {
    const std::int32_t g = group_[static_cast<std::size_t>(unit)];
    if (g >= 0) ++by_group[static_cast<std::size_t>(g)];
  }
  // Whether no group holds a large share.
  bool spread() const {
    if (on_grid(figure_) && grid_.size() < kFineGrid) return false;
    for (std::size_t g = 0; g < groups_; ++g) {
      if (truths_[g] * kParts > in_.truths || entries_[g] * kParts > in_.entries) return false;
    }
    return true;
  }

  void by_steps(double* value, double* recall) const {
    std::vector<Step> steps;
    std::vector<Curve> curves;
    for (std::size_t t = 0; t < thresholds_; ++t) curves.push_back(curve(t, steps));
    const std::size_t T = thresholds_;
    std::vector<double> moved(groups_ * T), hits(groups_ * T);
    if (figure_ == BoxFigure::recall) add_hits(hits.data());
    else if (figure_ == BoxFigure::best_f1) add_above(curves, moved.data(), hits.data());
    else add_moves(steps, moved.data(), hits.data());
    for (std::size_t g = 0; g < groups_; ++g) {
      const double left = static_cast<double>(in_.truths) - static_cast<double>(truths_[g]), share = 1 / left;
      const double *m = moved.data() + g * T, *h = hits.data() + g * T;
      double *v = value + g * T, *r = recall + g * T;
      if (figure_ == BoxFigure::best_f1) {
        for (std::size_t t = 0; t < T; ++t)
          v[t] = 2 * ((curves[t].tp - h[t]) / (curves[t].ranked - m[t] + left)), r[t] = kUndefined;
        continue;
      }
      for (std::size_t t = 0; t < T; ++t) {
        v[t] = (curves[t].total - m[t]) * share + curves[t].offset;
        r[t] = (curves[t].found - h[t]) * share;
      }
    }
  }

  // One threshold with all images. Its steps go to `steps`.
  Curve curve(std::size_t t, std::vector<Step>& steps) const {
    struct Hit {
      std::size_t end;
      double tp, ranked, hits;
    };
    std::vector<Hit> hits;
    Curve out;
    std::size_t ignored = 0;
    double tp = 0, last = 0;
    for (std::size_t e = 0; e < in_.count; ++e) {
      if ((in_.hit[e] >> t) & 1) ++tp;
      else ignored += (in_.ignored[e] >> t) & 1;
      if (tp == last || (by_tie(figure_) && !in_.closes[e])) continue;
      std::size_t end = place_[e];
      while (by_tie(figure_) && !in_.last_of_tie[end]) ++end;
      ++end;
      hits.push_back({end, tp, static_cast<double>(end - ignored), tp - last});
      last = tp;
    }
    out.found = tp;
    if (figure_ == BoxFigure::best_f1) {
      for (const Hit& hit : hits) {
        const double f1 = hit.tp / (hit.ranked + static_cast<double>(in_.truths));
        if (f1 > out.best) out.best = f1, out.tp = hit.tp, out.ranked = hit.ranked, out.end = hit.end;
      }
    }
    if (!on_grid(figure_) && figure_ != BoxFigure::step) return out;
    auto reached = [&](double found) {  // points of the grid
      const double at = found / static_cast<double>(in_.truths);
      return static_cast<double>(std::upper_bound(grid_.begin(), grid_.end(), at) - grid_.begin());
    };
    double best = -1, figure = 0;
    std::size_t first = steps.size();
    for (std::size_t i = hits.size(); i-- > 0;) {
      const Hit& hit = hits[i];
      const double precision = hit.tp / hit.ranked;
      if (figure_ == BoxFigure::step || precision > best) {
        best = precision;
        steps.push_back({hit.end, t, best, 0});
      }
      steps.back().part += hit.hits;
      out.total += hit.hits * best;
      if (on_grid(figure_)) figure += best * (reached(hit.tp) - (i > 0 ? reached(hit.tp - hit.hits) : 0));
    }
    if (on_grid(figure_))
      out.offset = figure / static_cast<double>(grid_.size()) - out.total / static_cast<double>(in_.truths);
    std::size_t i = hits.size();
    for (; first < steps.size(); ++first) {
      while (hits[i - 1].end != steps[first].end) --i;
      steps[first].part /= hits[i - 1].ranked;
    }
    return out;
  }

  // By group and threshold, how much lower the curve's total is without it, and its hits.
  void add_moves(std::vector<Step>& steps, double* moved, double* hits) const {
    std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.end > b.end; });
    std::array<double, kMostThresholds> hit_moves{}, moves{}, precision{};  // of the steps that are below
    std::size_t e = in_.count, entry = in_.entries, next = 0;
    const std::size_t T = thresholds_;
    while (entry-- > 0) {
      for (; next < steps.size() && steps[next].end > entry; ++next) {
        const Step& step = steps[next];
        hit_moves[step.threshold] += step.part;
        moves[step.threshold] += step.part * step.precision;
        precision[step.threshold] = step.precision;
      }
      const std::uint32_t at = in_.stream[entry];
      const std::int32_t g = group_[at & ~kEvent];
      if (at & kEvent) --e;
      if (next == 0 || g < 0) continue;
      double *m = moved + static_cast<std::size_t>(g) * T, *h = hits + static_cast<std::size_t>(g) * T;
      if (!(at & kEvent)) {
        for (std::size_t t = 0; t < T; ++t) m[t] -= moves[t];
        continue;
      }
      for (std::size_t t = 0; t < T; ++t) {
        if ((in_.hit[e] >> t) & 1) m[t] += precision[t] + hit_moves[t] - moves[t], ++h[t];
        else if (!((in_.ignored[e] >> t) & 1)) m[t] -= moves[t];
      }
    }
  }
  // The same for the best F1: detections and hits down to where it is best.
  void add_above(const std::vector<Curve>& curves, double* moved, double* hits) const {
    for (std::size_t t = 0; t < thresholds_; ++t) {
      std::size_t e = 0;
      for (std::size_t entry = 0; entry < curves[t].end; ++entry) {
        const std::uint32_t at = in_.stream[entry];
        const bool event = at & kEvent, hit = event && ((in_.hit[e] >> t) & 1);
        const bool ignored = event && !hit && ((in_.ignored[e] >> t) & 1);
        e += event;
        const std::int32_t g = group_[at & ~kEvent];
        if (g < 0 || ignored) continue;
        ++moved[static_cast<std::size_t>(g) * thresholds_ + t];
        hits[static_cast<std::size_t>(g) * thresholds_ + t] += hit;
      }
    }
  }
  void add_hits(double* hits) const {
    for (std::size_t e = 0; e < in_.count; ++e) {
      const std::int32_t g = group_[static_cast<std::size_t>(in_.unit[e])];
      if (g < 0) continue;
      for (std::size_t t = 0; t < thresholds_; ++t)
        hits[static_cast<std::size_t>(g) * thresholds_ + t] += (in_.hit[e] >> t) & 1;
    }
  }

  // Walks of the class under counts. Only groups that have something of it need one, and only units that do are
  // counted.
  void by_counts(double* value, double* recall) const {
    const std::size_t T = thresholds_, lanes = kCountedLanes;
    std::vector<std::size_t> rows(1, groups_);  // the first row leaves out nothing
    for (std::size_t g = 0; g < groups_; ++g) {
      if (truths_[g] + entries_[g] > 0) rows.push_back(g);
    }
    const std::vector<std::int32_t> units = take_own_units();
    const ClassMarks marks(stream_, T);
    const GridTables points(figure_, grid_);
    const Scratch scratch(count_scratch(in_.count, marks.runs()));
    for (std::size_t first = 0; first < rows.size(); first += lanes) {
      const std::size_t here = std::min(lanes, rows.size() - first);
      std::vector<std::uint8_t> table(units.size() * lanes, 1);
      std::vector<std::size_t> lane(groups_ + 1, lanes);
      for (std::size_t l = 0; l < here; ++l) lane[rows[first + l]] = l;
      for (std::size_t u = 0; u < units.size(); ++u) {
        const std::int32_t g = group_[static_cast<std::size_t>(units[u])];
        if (g >= 0 && lane[static_cast<std::size_t>(g)] < lanes)
          table[u * lanes + lane[static_cast<std::size_t>(g)]] = 0;
      }
      std::vector<double> values(T * lanes), recalls(T * lanes), classes(lanes);
      ClassJob job{in_,
                   figure_,
                   T,
                   grid_.data(),
                   grid_.size(),
                   nullptr,
                   nullptr,
                   nullptr,
                   nullptr,
                   nullptr,
                   nullptr,
                   nullptr,
                   1,
                   marks.marks(),
                   nullptr,
                   nullptr,
                   scratch.data(),
                   values.data(),
                   recalls.data(),
                   classes.data()};
      points.into(job);
      const CountTable counted(std::move(table));
      counted.into(job);
      count_rows(job, counted);
      auto put = [&](std::size_t l, std::size_t g) {
        for (std::size_t t = 0; t < T; ++t) {
          value[g * T + t] = classes[l] > 0 ? values[t * lanes + l] : kUndefined;
          recall[g * T + t] = classes[l] > 0 ? recalls[t * lanes + l] : kUndefined;
        }
      };
      if (first == 0) {
        for (std::size_t g = 0; g < groups_; ++g) put(0, g);
      }
      for (std::size_t l = first == 0; l < here; ++l) put(l, rows[first + l]);
    }
  }
  // The units of the class, rising; the events then name places in them.
  std::vector<std::int32_t> take_own_units() const {
    std::vector<std::int32_t> units(stream_.truth_unit);
    for (std::uint32_t entry : stream_.stream) units.push_back(static_cast<std::int32_t>(entry & ~kEvent));
    std::sort(units.begin(), units.end());
    units.erase(std::unique(units.begin(), units.end()), units.end());
    auto place = [&](std::int32_t unit) {
      return static_cast<std::int32_t>(std::lower_bound(units.begin(), units.end(), unit) - units.begin());
    };
    for (std::int32_t& unit : stream_.truth_unit) unit = place(unit);
    for (std::int32_t& unit : stream_.unit) unit = place(unit);
    for (std::uint32_t& entry : stream_.stream) {
      entry = static_cast<std::uint32_t>(place(static_cast<std::int32_t>(entry & ~kEvent))) | (entry & kEvent);
    }
    return units;
  }

  EventStream& stream_;
  Events in_;
  View<std::int32_t> group_;
  std::size_t groups_, thresholds_;
  BoxFigure figure_;
  View<double> grid_;
  std::vector<std::uint32_t> truths_, entries_;  // by group
  std::vector<std::size_t> place_;               // by event: its entry
};

}  // namespace

void box_left_out(const Ranked& in, View<std::int32_t> group, std::size_t groups, BoxFigure figure, View<double> grid,
                  long threads, double* value, double* recall) {
  constexpr std::size_t kTogether = 16;  // classes whose figures are held before they are added
  const std::size_t cells = groups * in.thresholds, workers = thread_count(threads);
  std::vector<double> values(kTogether * cells), recalls(kTogether * cells), classes(groups);
  std::fill_n(value, cells, 0.0);
  std::fill_n(recall, cells, 0.0);
  for (std::size_t start = 0; start < in.classes(); start += kTogether) {
    const std::size_t count = std::min(kTogether, in.classes() - start);
    parallel_for(count, workers, [&](std::size_t k) {
      EventStream stream = make_events(in, start + k, by_tie(figure));
      OneClass(stream, group, groups, in.thresholds, figure, grid)
          .read(values.data() + k * cells, recalls.data() + k * cells);
    });
    for (std::size_t k = 0; k < count; ++k) {
      for (std::size_t g = 0; g < groups; ++g) {
        const double *v = values.data() + k * cells + g * in.thresholds,
                     *r = recalls.data() + k * cells + g * in.thresholds;
        if (v[0] != v[0]) continue;
        ++classes[g];
        for (std::size_t t = 0; t < in.thresholds; ++t) {
          value[g * in.thresholds + t] += v[t];
          recall[g * in.thresholds + t] += r[t];
        }
      }
    }
  }
  for (std::size_t g = 0; g < groups; ++g) {
    for (std::size_t t = g * in.thresholds; t < (g + 1) * in.thresholds; ++t) {
      value[t] = classes[g] > 0 ? value[t] / classes[g] : kUndefined;
      recall[t] = classes[g] > 0 ? recall[t] / classes[g] : kUndefined;
    }
  }
}

}  // namespace steelyard
