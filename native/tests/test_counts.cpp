// Random weights, labels, rankings and bytes.
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "check.hpp"
#include "draws/draws.hpp"
#include "labels/distinct.hpp"
#include "labels/labels.hpp"
#include "language/dots.hpp"
#include "rankings/id_columns.hpp"
#include "rankings/ranking_scores.hpp"
#include "rankings/trec.hpp"
#include "support/fingerprint.hpp"
#include "support/places.hpp"

namespace {

using namespace steelyard;

// A weight is the number of thresholds floor(2^32 P(X <= k)) that 32 bits of the counter's hash reach.
TEST(poisson_weights_by_definition) {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t i = 0; i < 300; ++i) keys.push_back(mix64(i + 1));
  const Draws draws{keys, 9, 32, 40, 1};
  std::vector<double> weights(40 * 300);
  draw_weights(Poisson{PoissonTables(nullptr, 0)}, draws, weights.data());
  std::vector<std::uint8_t> counts(2 * 300 * kDrawBlock);
  draw_counts(Poisson{PoissonTables(nullptr, 0)}, draws, counts.data());
  const std::vector<std::int64_t> copies(draws.keys.size(), 2);
  THROWS(draw_counts(Poisson{PoissonTables(copies.data(), copies.size())}, draws, counts.data()));
  const auto thresholds = poisson_thresholds();
  EQUAL(thresholds[0], 1580030168u);  // floor(2^32 / e)
  double sum = 0;
  for (std::size_t d = 0; d < 40; ++d) {
    for (std::size_t u = 0; u < 300; ++u) {
      const std::uint64_t word = mix64(stream_of(keys[u], 9, 1) + kGolden * ((32 + d) / 2 + 1));
      const auto bits = static_cast<std::uint32_t>(d % 2 ? word >> 32 : word);
      double n = 0;
      for (std::uint32_t threshold : thresholds) n += bits >= threshold;
      if (weights[d * 300 + u] != n) return EQUAL(weights[d * 300 + u], n);
      if (counts[(d / 32 * 300 + u) * 32 + d % 32] != n) return EQUAL(double{0}, n);
      sum += n;
    }
  }
  CHECK(std::fabs(sum / 12000 - 1) < 5 / std::sqrt(12000.0));  // the mean is 1, five deviations off at most
}

TEST(totals_are_weights_times_columns) {
  const std::vector<std::uint64_t> keys{11, 12, 13};
  const std::vector<double> columns{1, 10, 2, 20, 3, 30};
  const Draws draws{keys, 0, 0, 5, 1};
  std::vector<double> totals(10), weights(15);
  const std::vector<double> identity{1, 0, 0, 0, 1, 0, 0, 0, 1};
  draw_totals(Flips{}, draws, {columns.data(), 3, 2}, totals.data());
  draw_totals(Flips{}, draws, {identity.data(), 3, 3}, weights.data());
  for (std::size_t d = 0; d < 5; ++d) {
    EQUAL(totals[2 * d], weights[3 * d] + 2 * weights[3 * d + 1] + 3 * weights[3 * d + 2]);
    EQUAL(totals[2 * d + 1], 10 * totals[2 * d]);
  }
  THROWS(check_draws({keys, 0, 1, 5, 1}));
}

TEST(seven_and_its_text_are_one_unit) {
  const std::vector<std::int64_t> ids{7, -12}, ends{1, 4};
  std::uint64_t a[2], b[2];
  integer_keys(ids, a);
  text_keys("7-12", ends, b);
  EQUAL(a[0], b[0]);
  EQUAL(a[1], b[1]);
}

TEST(confusion_by_hand) {
  std::vector<std::int64_t> truth(300, 5), prediction(300, 6), out(9, 0);
  truth[0] = 7;
  CHECK(confusion(truth, prediction, 5, 3, out.data()));
  EQUAL(out[1], 299);  // beyond what a byte counts
  EQUAL(out[7], 1);
  CHECK(!confusion(truth, prediction, 6, 2, out.data()));
  const auto [low, high] = extent(truth);
  EQUAL(low, 5);
  EQUAL(high, 7);
}

TEST(codes_of_rows) {
  const std::vector<std::uint32_t> rows{'a', 0, 'b', 'c', 'a', 0};
  Distinct distinct;
  std::int64_t code[3];
  code_rows({rows.data(), 3, 2}, distinct, code);
  EQUAL(code[0], 0);
  EQUAL(code[1], 1);
  EQUAL(code[2], 0);
  EQUAL(distinct.first[1], 1);
}

TEST(places_of_ids) {
  const std::int64_t dense[] = {4, 6, 5}, sparse[] = {1, std::int64_t{1} << 60, -3, 1};
  EQUAL(Places(dense, 3).find(5), 2);
  EQUAL(Places(dense, 3).find(7), -1);
  EQUAL(Places(sparse, 4).find(-3), 2);
  EQUAL(Places(sparse, 4).repeated(), 3);
}

TEST(fingerprints_of_words_and_bytes_agree) {
  const std::uint64_t words[] = {1, 2, 3, 4, 5};
  std::uint8_t bytes[40];
  for (std::size_t i = 0; i < 40; ++i) bytes[i] = static_cast<std::uint8_t>(words[i / 8] >> (8 * (i % 8)));
  CHECK(fingerprint({bytes, 40}) == fingerprint_words(words, 5, 1));
  bytes[39] ^= 1;
  CHECK(fingerprint({bytes, 40}) != fingerprint_words(words, 5, 1));
}

// Relevant at ranks 1 and 4, one not retrieved: average precision (1 + 2/4) / 3.
TEST(hits_of_a_query) {
  const std::vector<std::int64_t> rank{1, 4, 0}, starts{0, 3};
  const std::vector<double> relevance{1, 1, 1};
  double out[4];
  ranking_hits({rank, relevance, starts}, 10, 1.0, out);
  EQUAL(out[0], 3.0);
  EQUAL(out[1], 2.0);
  EQUAL(out[2], 1.5);
  EQUAL(out[3], 1.0);
  ranking_gain({rank, relevance, starts}, 10, 1.0, false, out);
  EQUAL(out[0], 1.0 + 1.0 / std::log2(5.0));
  EQUAL(out[1], 1.0 + 1.0 / std::log2(3.0) + 1.0 / 2.0);
}

TEST(trec_lines) {
  const std::string text = "q1 Q0 d1 1 0.5 run\nq1 Q0 d2 2 0.25 run\nq2 Q0 d1 1 1e2 run\n";
  TrecLines lines;
  read_trec({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, 6, 4, 1, lines);
  EQUAL(lines.value.size(), std::size_t{3});
  EQUAL(lines.value[2], 100.0);
  EQUAL(lines.segment_row.size(), std::size_t{2});
  EQUAL(lines.segment_row[1], 2);
  CHECK(text_at(text.data(), lines.place[1]) == "d2");
  TrecLines broken;
  read_trec({reinterpret_cast<const std::uint8_t*>("a b c d\n"), 8}, 4, 3, 1, broken);
  CHECK(broken.wrong == Wrong::number);
}

// 80 x 32 bytes times 7 vectors, summed one by one.
TEST(byte_matrix_is_exact) {
  std::vector<std::int8_t> weights(80 * 32), x(7 * 32);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<std::int8_t>(mix64(i) % 255 - 127);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int8_t>(mix64(i + 1000) % 255 - 127);
  const language::ByteMatrix matrix(weights, 80, 32);
  std::vector<float> out(7 * 80);
  matrix.multiply(x.data(), 7, out.data());
  for (std::size_t v = 0; v < 7; ++v) {
    for (std::size_t r = 0; r < 80; ++r) {
      std::int32_t sum = 0;
      for (std::size_t c = 0; c < 32; ++c) sum += weights[r * 32 + c] * x[v * 32 + c];
      EQUAL(out[v * 80 + r] - language::kMagic, static_cast<float>(sum));
    }
  }
}

}  // namespace
