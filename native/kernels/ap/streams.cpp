// Classes of detections and of labels in parts: see streams.hpp.
#include "ap/streams.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ap/box_figures.hpp"
#include "ap/forward_readings.hpp"
#include "ap/ranked.hpp"
#include "ap/reference.hpp"
#include "support/checks.hpp"

namespace steelyard {
namespace {

using namespace baseline;

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
constexpr double kWeighsOne = 1.0;

// Scores that come in parts: each part must fall, and begin below the last score of the one before.
struct FallingScores {
  double last = 0.0;
  bool begun = false;

  void check(View<double> score) {
    for (std::size_t i = 0; i < score.size(); ++i) {
      require(!std::isnan(score[i]), "a score is not a number");
      require(i == 0 || score[i] <= score[i - 1], "scores must fall");
    }
    if (score.empty()) return;
    require(!begun || score[0] < last, "a part must begin below the last score of the one before");
    last = score.back();
    begun = true;
  }
};

bool is_count(double value) { return value >= 0 && value < 1e15 && std::floor(value) == value; }

constexpr Reals<1> kZero{};

struct PartRows {
  View<double> score;
  View<std::uint8_t> positive;

  std::size_t size() const { return score.size(); }
  Outcome outcome(std::size_t i) const { return positive[i] ? Outcome::hit : Outcome::miss; }
  bool closes(std::size_t i) const { return i + 1 == score.size() || score[i] != score[i + 1]; }
  const double* weights(std::size_t) const { return &kWeighsOne; }
};

}  // namespace

struct BoxStream::Parts {
  std::size_t thresholds, most;
  std::vector<double> grid, reached;
  BoxFigure figure;
  double positives, images, first = 0.0;
  bool seen = false;
  FallingScores falling;
  Reals<1> plain{};
  // By threshold, of the figure that is asked for.
  std::vector<ForwardGrid> grids;
  std::vector<ForwardArea> areas;
  std::vector<Steps<1>> steps;
  std::vector<BestF1<1>> bests;
  std::vector<double> best_scores;
  std::vector<MissRate<1>> misses;
  std::vector<Recall<1>> recalls;
  std::vector<Curves> curves;

  Parts(std::size_t count, std::size_t most_of_image, BoxFigure asked, View<double> recall_grid, double truths,
        double units)
      : thresholds(count),
        most(most_of_image),
        grid(recall_grid.begin(), recall_grid.end()),
        figure(asked),
        positives(truths),
        images(units) {
    require(count >= 1 && count <= kMostThresholds, "from 1 to 32 IoU thresholds");
    check_box_figure(figure, grid);
    require(is_count(truths) && is_count(units), "a count must be a whole number");
    reached = reached_points(grid);
    if (!(positives > 0)) return;
    const GridPoints points{static_cast<double>(grid.size() - 1), reached.data()};
    for (std::size_t t = 0; t < count; ++t) {
      switch (figure) {
        case BoxFigure::coco:
        case BoxFigure::grid: grids.emplace_back(figure == BoxFigure::coco ? kTiny : 0.0, positives, points); break;
        case BoxFigure::area: areas.emplace_back(); break;
        case BoxFigure::step: steps.push_back({{}}); break;
        case BoxFigure::best_f1: bests.emplace_back(Plain<1>{}, &positives); break;
        case BoxFigure::miss: misses.push_back({{}, grid.data(), grid.size(), &positives, &images}); break;
        case BoxFigure::recall: recalls.emplace_back(); break;
        case BoxFigure::curves: curves.emplace_back(grid.data(), grid.size(), positives); break;
      }
    }
    best_scores.assign(count, kNothing);
  }

  template <typename Readings>
  void walk_all(const Events& events, const Plain<1>& sums, Readings& readings) {
    for (std::size_t t = 0; t < readings.size(); ++t) {
      if constexpr (requires { readings[t].plain; }) readings[t].plain = sums;
      if constexpr (requires { readings[t].score; }) readings[t].score = events.score;
      // Every detection is of unit 0, which weighs 1.
      walk(ClassEvents<double, 1>{events, t, &kWeighsOne}, readings[t]);
    }
  }

  void feed(const Ranked& part) {
    const EventStream stream = make_events(part, 0, true);
    const Events events = stream.events();
    std::vector<Reals<1>> sums(events.count + 1);
    if (by_tie(figure)) plain_to_tie(events, &kWeighsOne, plain, sums.data());
    else plain_before(events, &kWeighsOne, plain, sums.data());
    const Plain<1> at{sums.data()};
    walk_all(events, at, grids);
    walk_all(events, at, areas);
    walk_all(events, at, steps);
    walk_all(events, at, bests);
    walk_all(events, at, misses);
    walk_all(events, at, recalls);
    walk_all(events, at, curves);
    for (std::size_t t = 0; t < bests.size(); ++t) {
      if (bests[t].at[0] != BestF1<1>::kNone) best_scores[t] = events.score[bests[t].at[0]];
      bests[t].at[0] = BestF1<1>::kNone;  // the next part counts its events from 0
    }
  }

  void figure_of(std::size_t t, double& value, double& recall) const {
    auto share = [&](const Reals<1>& tp) { return tp[0] / positives; };
    switch (figure) {
      case BoxFigure::coco:
      case BoxFigure::grid: value = grids[t].figure(), recall = share(grids[t].tp); break;
      case BoxFigure::area: value = areas[t].figure() / positives, recall = share(areas[t].tp); break;
      case BoxFigure::step: value = steps[t].figure[0] / positives, recall = share(steps[t].tp); break;
      case BoxFigure::best_f1: value = bests[t].figure[0], recall = best_scores[t]; break;
      case BoxFigure::miss: {
        MissRate<1> ended = misses[t];
        ended.finish();
        value = ended.figure[0], recall = share(ended.tp);
        break;
      }
      default: value = 0.0, recall = share(recalls[t].tp);
    }
  }
};

BoxStream::BoxStream(std::size_t thresholds, std::size_t most, BoxFigure figure, View<double> grid, double positives,
                     double images)
    : parts_(std::make_unique<Parts>(thresholds, most, figure, grid, positives, images)) {}
BoxStream::~BoxStream() = default;

void BoxStream::feed(View<double> score, View<std::uint16_t> rank, View<Bits> hit, View<Bits> ignored) {
  const std::size_t n = score.size();
  require(rank.size() == n && hit.size() == n && ignored.size() == n, "columns differ in length");
  parts_->falling.check(score);
  if (!(parts_->positives > 0)) return;
  for (std::size_t i = 0; i < n && !parts_->seen; ++i) {
    if (rank[i] < parts_->most) parts_->seen = true, parts_->first = score[i];
  }
  const std::int64_t begin = 0, end = static_cast<std::int64_t>(n);
  parts_->feed({{&begin, 1}, {&end, 1}, {}, score, rank, hit, ignored, {}, {}, {}, parts_->thresholds, parts_->most});
}

std::size_t BoxStream::thresholds() const { return parts_->thresholds; }
std::size_t BoxStream::points() const { return parts_->grid.size(); }
bool BoxStream::curves() const { return parts_->figure == BoxFigure::curves; }

void BoxStream::curves(double* precision, double* recall, double* scores) const {
  const std::size_t R = points();
  for (std::size_t t = 0; t < thresholds(); ++t) {
    if (parts_->positives > 0) {
      parts_->curves[t].read(parts_->first, precision + t * R, recall + t, scores + t * R);
      continue;
    }
    recall[t] = kNothing;
    std::fill_n(precision + t * R, R, kNothing);
    std::fill_n(scores + t * R, R, kNothing);
  }
}

void BoxStream::figures(double* value, double* recall) const {
  for (std::size_t t = 0; t < thresholds(); ++t) {
    value[t] = recall[t] = kNothing;
    if (parts_->positives > 0) parts_->figure_of(t, value[t], recall[t]);
  }
}

struct LabelStream::Rows {
  RowFigure figure;
  double positives, negatives;
  FallingScores falling;
  Steps<1> steps{{&kZero, 0}};
  RocArea<1> roc;
  BestF1<1> best;
  double best_score = 0.0;
  HitRate<1> rate;

  Rows(int asked, double limit, double truths, double others)
      : figure(check_row_figure(asked)),
        positives(truths),
        negatives(others),
        best({&kZero, 0}, &positives),
        rate{&positives, &negatives, limit} {
    require(is_count(truths) && is_count(others), "a count must be a whole number");
    require(!std::isnan(limit), "the limit is not a number");
  }

  void feed(const PartRows& part) {
    if (figure == RowFigure::ap) return walk(part, steps);
    if (figure == RowFigure::auc) return walk(part, roc);
    if (figure == RowFigure::tpr) return walk(part, rate);
    walk(part, best);
    if (best.at[0] != BestF1<1>::kNone) best_score = part.score[best.at[0]];
    best.at[0] = BestF1<1>::kNone;  // the next part counts its rows from 0
  }

  double result() const {
    const double nothing = std::numeric_limits<double>::quiet_NaN();
    if (figure == RowFigure::ap) return steps.tp[0] > 0.0 ? steps.figure[0] / steps.tp[0] : nothing;
    if (figure == RowFigure::auc) {
      RocArea<1> ended = roc;
      ended.finish();
      return ended.tp[0] > 0.0 && ended.fp[0] > 0.0 ? ended.figure[0] / (ended.tp[0] * ended.fp[0]) : nothing;
    }
    if (figure == RowFigure::tpr) return rate.tp[0] > 0.0 && rate.fp[0] > 0.0 ? rate.figure[0] : nothing;
    if (!(best.tp[0] > 0.0)) return nothing;
    return figure == RowFigure::best_rank ? best_score : best.figure[0];
  }
};

LabelStream::LabelStream(int figure, double limit, double positives, double negatives)
    : rows_(std::make_unique<Rows>(figure, limit, positives, negatives)) {}
LabelStream::~LabelStream() = default;

void LabelStream::feed(View<double> score, View<std::uint8_t> positive) {
  require(positive.size() == score.size(), "columns differ in length");
  rows_->falling.check(score);
  rows_->feed({score, positive});
}

double LabelStream::result() const { return rows_->result(); }

}  // namespace steelyard
