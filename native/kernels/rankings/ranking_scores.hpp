// Scores of single queries from where their judged documents stand; one row per query.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/views.hpp"

namespace steelyard {

// (rank, relevance) of judged documents, query by query: query q has those from starts[q] to starts[q + 1].
struct JudgedRanks {
  View<std::int64_t> rank;  // 0 where it was not retrieved
  View<double> relevance;
  View<std::int64_t> starts;

  std::size_t queries() const { return starts.size() - 1; }
};

// Columns: number relevant, hits in the first k, sum of the precisions at the hits, rank of the first hit (0: none).
void ranking_hits(const JudgedRanks& in, std::int64_t k, double level, double* out);
// Hits among the first R, where R is the query's own number of relevant documents. Columns: R, hits.
void ranking_r_hits(const JudgedRanks& in, double level, double* out);
// Columns: the gain of the first k, and the most that they could gain.
// Below `level` nothing is gained, nor at 0 or less.
void ranking_gain(const JudgedRanks& in, std::int64_t k, double level, bool exponential, double* out);
// Rank-biased precision: a reader goes on to the next document with probability p.
void ranking_rbp(const JudgedRanks& in, double p, double level, bool graded, double* out);
// Expected reciprocal rank: a reader stops at a document with probability (2^relevance - 1) / 2^most.
void ranking_err(const JudgedRanks& in, std::int64_t k, double most, double* out);
// Binary preference: judged documents alone count; a negative relevance counts as unjudged.
void ranking_bpref(const JudgedRanks& in, double level, double* out);

}  // namespace steelyard
