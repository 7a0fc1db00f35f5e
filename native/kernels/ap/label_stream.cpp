// The rows of a class of labels in parts: see streams.hpp.
#include <cmath>
#include <limits>

#include "ap/falling.hpp"
#include "ap/ranked.hpp"
#include "ap/readings.hpp"
#include "ap/streams.hpp"
#include "ap/walk.hpp"

namespace steelyard {
namespace {

using namespace baseline;

constexpr double kWeighsOne = 1.0;
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
      : figure(check_row_figure(asked)), positives(truths), negatives(others), best({&kZero, 0}, &positives),
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
