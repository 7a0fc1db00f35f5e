// Average precision and its relatives of rankings that are small enough for paper and pencil.
#include <algorithm>
#include <cmath>
#include <vector>

#include "ap/box_figures.hpp"
#include "ap/order.hpp"
#include "ap/ranked.hpp"
#include "ap/ranked_ap.hpp"
#include "ap/streams.hpp"
#include "check.hpp"

namespace {

using namespace steelyard;

// One class of five detections in images 0 to 4 and two truths, in images 0 and 2: hit, miss, hit, miss, miss.
struct Five {
  std::vector<std::int64_t> begin{0}, end{5}, truth_begin{0, 2};
  std::vector<std::int32_t> image{0, 1, 2, 3, 4}, truth_image{0, 2};
  std::vector<double> score{.9, .8, .7, .6, .5};
  std::vector<std::uint16_t> rank{0, 0, 0, 0, 0};
  std::vector<Bits> hit{1, 0, 1, 0, 0}, ignored{0, 0, 0, 0, 0};
  std::vector<std::uint8_t> counts{1, 1};

  Ranked ranked() const {
    const Ranked in{begin, end, image, score, rank, hit, ignored, truth_begin, truth_image, counts, 1, 100};
    check_ranked(in, 5);
    return in;
  }
};

std::vector<double> hundred_one() {
  std::vector<double> grid;
  for (int i = 0; i <= 100; ++i) grid.push_back(i / 100.0);
  return grid;
}

double figure(const Five& five, const std::vector<double>& weights, BoxFigure asked,
              std::vector<double> grid = hundred_one()) {
  double value, recall;
  box_figures(five.ranked(), {weights.data(), 1, 5}, asked, grid, 1, &value, &recall);
  return value;
}

double drawn(const Five& five, const std::vector<std::uint8_t>& weights, BoxFigure asked) {
  std::vector<std::uint8_t> table(5 * kCountedRows, 0);
  for (std::size_t u = 0; u < 5; ++u) table[u * kCountedRows] = weights[u];
  std::vector<double> value(kCountedRows), recall(kCountedRows);
  box_draws(five.ranked(), table.data(), 5, 1, asked, hundred_one(), 1, value.data(), recall.data());
  return value[0];
}

const std::vector<double> kOnes(5, 1.0);

// Precision is 1 at the first hit (recall 1/2) and 2/3 at the second (recall 1).
TEST(boxes_by_hand) {
  const Five five;
  EQUAL(figure(five, kOnes, BoxFigure::area), 0.5 * 1 + 0.5 * (2.0 / 3));
  EQUAL(figure(five, kOnes, BoxFigure::step), (1.0 + 2.0 / 3) / 2);
  // 51 of the 101 points, 0 to 0.5, are reached by the first hit, and 50 by the second.
  CHECK(std::fabs(figure(five, kOnes, BoxFigure::grid) - (51 + 50 * (2.0 / 3)) / 101) < 1e-15);
  CHECK(std::fabs(figure(five, kOnes, BoxFigure::coco) - (51 + 50 * (2.0 / 3)) / 101) < 1e-15);
  // F1 at the first hit 2 * 1 / (1 + 2), at the second 2 * 2 / (3 + 2).
  EQUAL(figure(five, kOnes, BoxFigure::best_f1), 4.0 / 5);
  // Below 1/5 false positives per image half is found; at 1/5 and above all is, and 1e-10 stands for a miss rate of 0.
  EQUAL(figure(five, kOnes, BoxFigure::miss, {0.1, 0.5}), std::exp((std::log(0.5) + std::log(1e-10)) / 2));
}

// A weight of 2 is the image twice: 2 hits of 3 truths, a miss, a hit: precision 1 up to 2/3, then 3/4.
TEST(whole_weights_repeat) {
  const Five five;
  const std::vector<double> twice{2, 1, 1, 1, 1};
  CHECK(std::fabs(figure(five, twice, BoxFigure::step) - (2 * 1.0 + 0.75) / 3) < 1e-15);
  // Without image 0, one truth is left: a miss, then the hit.
  EQUAL(figure(five, {0, 1, 1, 1, 1}, BoxFigure::step), 0.5);
  EQUAL(figure(five, {0, 1, 1, 1, 1}, BoxFigure::area), 0.5);
}

TEST(counts_are_as_real_weights) {
  const Five five;
  for (const BoxFigure asked : {BoxFigure::coco, BoxFigure::grid, BoxFigure::step, BoxFigure::best_f1}) {
    for (const std::vector<std::uint8_t>& row :
         {std::vector<std::uint8_t>{1, 1, 1, 1, 1}, {2, 1, 1, 0, 3}, {0, 4, 1, 1, 1}}) {
      const std::vector<double> real(row.begin(), row.end());
      const double apart = std::fabs(drawn(five, row, asked) - figure(five, real, asked));
      CHECK(apart < 1.2e-7);
    }
  }
}

TEST(no_truth_is_undefined) {
  const Five five;
  CHECK(std::isnan(figure(five, {0, 1, 0, 1, 1}, BoxFigure::area)));
  CHECK(std::isnan(drawn(five, {0, 1, 0, 1, 1}, BoxFigure::coco)));
}

// Equal scores are one step: with the last four tied, precision is 1, then 2/5.
TEST(ties_are_one_step) {
  Five five;
  five.score = {.9, .5, .5, .5, .5};
  EQUAL(figure(five, kOnes, BoxFigure::step), (1.0 + 2.0 / 5) / 2);
  EQUAL(drawn(five, {1, 1, 1, 1, 1}, BoxFigure::step), (1.0 + 2.0 / 5) / 2);
  EQUAL(figure(five, kOnes, BoxFigure::best_f1), 2.0 / 3);  // 2 * 1 / (1 + 2); at the end 4 / 7
}

// What is ignored counts neither way; a rank beyond the limit is not there.
TEST(ignored_and_beyond_the_limit) {
  Five five;
  five.ignored = {0, 1, 0, 0, 0};
  EQUAL(figure(five, kOnes, BoxFigure::step), 1.0);
  five.ignored = {0, 0, 0, 0, 0};
  five.rank = {0, 100, 0, 0, 0};
  EQUAL(figure(five, kOnes, BoxFigure::step), 1.0);
}

TEST(curves_by_hand) {
  const Five five;
  const std::vector<double> grid{0.0, 0.5, 1.0};
  std::vector<double> p(3), s(3), r(1);
  box_curves(five.ranked(), kOnes, grid, 1, p.data(), s.data(), r.data());
  CHECK(std::fabs(p[0] - 1) < 1e-15 && std::fabs(p[1] - 1) < 1e-15 && std::fabs(p[2] - 2.0 / 3) < 1e-15);
  EQUAL(s[1], 0.9);
  EQUAL(s[2], 0.7);
  EQUAL(r[0], 1.0);
}

TEST(parts_give_what_the_whole_gives) {
  const Five five;
  for (const BoxFigure asked : {BoxFigure::coco, BoxFigure::grid, BoxFigure::area, BoxFigure::step, BoxFigure::best_f1,
                                BoxFigure::recall, BoxFigure::miss}) {
    const std::vector<double> grid = asked == BoxFigure::miss ? std::vector<double>{0.1, 0.5} : hundred_one();
    BoxStream stream(1, 100, asked, grid, 2, 5);
    for (std::size_t i = 0; i < 5; i += 2) {
      const std::size_t n = std::min<std::size_t>(2, 5 - i);
      stream.feed(View<double>(five.score).subspan(i, n), View<std::uint16_t>(five.rank).subspan(i, n),
                  View<Bits>(five.hit).subspan(i, n), View<Bits>(five.ignored).subspan(i, n));
    }
    double value, recall;
    stream.figures(&value, &recall);
    EQUAL(value, figure(five, kOnes, asked, grid));
  }
  BoxStream stream(1, 100, BoxFigure::coco, hundred_one(), 2, 5);
  stream.feed(View<double>(five.score).first(1), View<std::uint16_t>(five.rank).first(1), View<Bits>(five.hit).first(1),
              View<Bits>(five.ignored).first(1));
  THROWS(stream.feed(View<double>(five.score).first(1), View<std::uint16_t>(five.rank).first(1),
                     View<Bits>(five.hit).first(1), View<Bits>(five.ignored).first(1)));
}

// Rows of labels: positive, negative, positive, negative, by falling score.
TEST(rows_by_hand) {
  const std::vector<std::uint8_t> positive{1, 0, 1, 0}, last{1, 1, 1, 1};
  const std::vector<std::int64_t> owner{0, 1, 2, 3};
  const RankedRows rows{owner, positive, last, {}};
  // More rows than lanes, so that the last block is not full.
  std::vector<double> weights(9 * 4, 1.0), out(9);
  const Matrix<double> all{weights.data(), 9, 4};
  auto each = [&](RowFigure asked, double limit, double wanted) {
    ranked(rows, all, asked, limit, 1, out.data());
    for (double value : out) EQUAL(value, wanted);
  };
  each(RowFigure::ap, 0, (1.0 + 2.0 / 3) / 2);
  each(RowFigure::auc, 0, 3.0 / 4);  // of four pairs one stands the wrong way round
  each(RowFigure::best_f1, 0, 4.0 / 5);
  each(RowFigure::best_rank, 0, 2.0);
  each(RowFigure::tpr, 0.0, 0.5);
  each(RowFigure::tpr, 0.5, 1.0);
  // All tied: precision 1/2, and half of the square.
  const std::vector<std::uint8_t> tied{0, 0, 0, 1};
  ranked({owner, positive, tied, {}}, all, RowFigure::ap, 0, 1, out.data());
  EQUAL(out[0], 0.5);
  ranked({owner, positive, tied, {}}, all, RowFigure::auc, 0, 1, out.data());
  EQUAL(out[0], 0.5);
  // The middle two tied: the pair of equals counts half.
  const std::vector<std::uint8_t> middle{1, 0, 1, 1};
  ranked({owner, positive, middle, {}}, all, RowFigure::auc, 0, 1, out.data());
  EQUAL(out[0], 3.5 / 4);
}

TEST(units_of_rows_alone) {
  const std::vector<std::uint8_t> positive{1, 0, 0, 1, 1}, last{1, 1, 1, 1, 1};
  const std::vector<std::int64_t> starts{0, 2, 4, 5};
  std::vector<double> out(3);
  ranked_each({{}, positive, last, {}}, starts, RowFigure::ap, 0, out.data());
  EQUAL(out[0], 1.0);
  EQUAL(out[1], 0.5);
  EQUAL(out[2], 1.0);
  ranked_each({{}, positive, last, {}}, starts, RowFigure::auc, 0, out.data());
  EQUAL(out[0], 1.0);
  EQUAL(out[1], 0.0);
  CHECK(std::isnan(out[2]));  // no negative
}

TEST(rules_of_owned_events) {
  const std::vector<double> truths{1, 0, 1, 0, 0}, ones(5, 1.0);
  const std::vector<std::int64_t> owner{0, 1, 2, 3, 4};
  const std::vector<std::uint8_t> hit{1, 0, 1, 0, 0}, closes{1, 1, 1, 1, 1};
  const OwnedEvents events{truths, owner, hit, closes};
  auto value = [&](ApRule rule) {
    double out;
    ranked_ap(events, {ones.data(), 1, 5}, rule, 1, &out);
    return out;
  };
  EQUAL(value(ApRule::step), (1.0 + 2.0 / 3) / 2);
  EQUAL(value(ApRule::envelope), 0.5 + 0.5 * (2.0 / 3));
  CHECK(std::fabs(value(ApRule::eleven_points) - (6 + 5 * (2.0 / 3)) / 11) < 1e-15);
  CHECK(std::fabs(value(ApRule::hundred_one_points) - (51 + 50 * (2.0 / 3)) / 101) < 1e-15);
}

TEST(order_of_scores) {
  const std::vector<double> scores{0.5, 2.0, -1.0, 0.5, 0.0, -0.0};
  const std::vector<std::uint8_t> positive{1, 0, 1, 0, 1, 0};
  std::vector<std::uint32_t> order(6);
  std::vector<std::uint8_t> last(6), marked(6);
  CHECK(rank_order(scores, positive, order.data(), last.data(), marked.data()));
  CHECK((order == std::vector<std::uint32_t>{1, 0, 3, 4, 5, 2}));
  CHECK((last == std::vector<std::uint8_t>{1, 0, 1, 0, 1, 1}));
  CHECK((marked == std::vector<std::uint8_t>{0, 1, 0, 1, 0, 1}));
  const std::vector<double> broken{NAN};
  CHECK(!rank_order(broken, View<std::uint8_t>(positive).first(1), order.data(), last.data(), marked.data()));
}

}  // namespace
