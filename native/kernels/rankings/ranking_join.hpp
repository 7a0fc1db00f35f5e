// Joins the judgements of a truth with the rows of a run, query by query: see ranking_query.hpp for how.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "rankings/ranking_query.hpp"
#include "rankings/texts.hpp"
#include "support/views.hpp"

namespace steelyard {

// Rows of one side: ids and values, query by query.
struct Side {
  Texts ids;
  const double* value;
  const std::int64_t* start;
  std::size_t queries, rows;
};
Side make_side(View<std::uint8_t> text, View<std::uint64_t> place, View<std::uint64_t> key, View<double> value,
               View<std::int64_t> starts);
void check_starts(View<std::int64_t> starts, std::size_t rows);

// For each query of the run the query of the truth, or -1; `run_of` says it the other way round.
std::vector<std::int64_t> turn_around(View<std::int64_t> run_of, std::size_t truth_queries, std::size_t run_queries);

// The first id that appears twice in a query of a side: (row, earlier row), or -1 twice.
void find_repeats(const Side& side, long threads, std::int64_t* out);

// What a join gives, zeroed, in memory of the caller.
struct Joined {
  Ranks ranks{};                 // [truth rows]
  std::int64_t* rows = nullptr;  // [truth rows] in the order of rank
  double* ties = nullptr;        // [truth queries]
};
// `order` is null or the place of each row of the run in its source. `sums` [run queries], `twice` the run's first
// repeated id.
void join_rankings(const Side& truth, const Side& run, const std::vector<std::int64_t>& truth_of,
                   const std::int64_t* order, long threads, const Joined& joined, std::uint64_t* sums,
                   std::int64_t* twice);

// The same query by query, for a run whose ids lie all over memory.
class QueryJoin {
 public:
  std::vector<std::string_view> ids;
  std::vector<double> scores;

  QueryJoin(const Side& truth, const Joined& joined) : truth_(truth), joined_(joined) {}

  void resize(std::size_t rows);
  // The sum of row hashes; to be called first.
  std::uint64_t sum(std::size_t rows);
  bool repeats(std::size_t rows);
  // Ranks the rows as those of query q of the truth.
  void join(std::size_t q, std::size_t rows);
  // The rows of every query of the truth in the order of rank.
  void finish();

 private:
  const Side& truth_;
  const Joined& joined_;
  std::vector<std::uint64_t> keys_;
  JudgedTable table_;
  Ranker ranker_;
  Repeats repeats_;
  std::vector<Judged> judged_;
};

// A sum of row hashes for each query: the same for the same rows in any order. What a digest is made of.
void row_sums(View<std::uint64_t> key, View<double> value, View<std::int64_t> starts, long threads, std::uint64_t* out);

}  // namespace steelyard
