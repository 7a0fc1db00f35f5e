// Scores of single queries from where their judged documents stand.
//
// Events lie query by query: (rank, relevance) of each judged document, rank 0 where it was not retrieved. A measure
// walks a query's retrieved documents in the order of rank and looks at nothing else, so its cost is that of the
// judged documents, not of the run. nan is a query that the measure is undefined for.
//
// An ideal ranking is added up in the same order as a real one: a perfect ranking scores 1, not 1 - 1e-16.
#include "rankings/ranking_scores.hpp"

#include <algorithm>
#include <functional>
#include <cmath>
#include <limits>
#include <vector>

#include "support/pool.hpp"

namespace steelyard {
namespace {

constexpr std::size_t kQueriesPerTask = 64;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Event {
  std::int64_t rank;
  double relevance;
};

struct Query {
  std::vector<Event> found;       // retrieved, by rank
  std::vector<double> relevance;  // of all judged documents
};

template <typename Score>
void each_query(const JudgedRanks& in, std::size_t width, double* out, Score score) {
  const std::size_t queries = in.queries();
  const std::int64_t *start = in.starts.data(), *r = in.rank.data();
  const double* v = in.relevance.data();
  parallel_for((queries + kQueriesPerTask - 1) / kQueriesPerTask, thread_count(0), [&](std::size_t task) {
    Query query;
    const std::size_t last = std::min(queries, (task + 1) * kQueriesPerTask);
    for (std::size_t q = task * kQueriesPerTask; q < last; ++q) {
      query.found.clear();
      query.relevance.assign(v + start[q], v + start[q + 1]);
      bool sorted = true;
      for (std::int64_t i = start[q]; i < start[q + 1]; ++i) {
        if (r[i] <= 0) continue;
        sorted &= query.found.empty() || query.found.back().rank <= r[i];
        query.found.push_back({r[i], v[i]});
      }
      if (!sorted) {
        std::sort(query.found.begin(), query.found.end(),
                  [](const Event& a, const Event& b) { return a.rank < b.rank; });
      }
      score(query, out + q * width);
    }
  });
}

double count_relevant(const Query& query, double level) {
  return static_cast<double>(
      std::count_if(query.relevance.begin(), query.relevance.end(), [&](double x) { return x >= level; }));
}

}  // namespace

void ranking_hits(const JudgedRanks& in, std::int64_t k, double level, double* out) {
  each_query(in, 4, out, [=](Query& query, double* out) {
    double hits = 0, sum = 0, first = 0;
    for (const Event& e : query.found) {
      if (e.rank > k) break;
      if (e.relevance < level) continue;
      if (hits == 0) first = static_cast<double>(e.rank);
      ++hits;
      sum += hits / static_cast<double>(e.rank);
    }
    out[0] = count_relevant(query, level);
    out[1] = hits;
    out[2] = sum;
    out[3] = first;
  });
}

void ranking_r_hits(const JudgedRanks& in, double level, double* out) {
  each_query(in, 2, out, [=](Query& query, double* out) {
    const double relevant = count_relevant(query, level);
    double hits = 0;
    for (const Event& e : query.found) {
      if (static_cast<double>(e.rank) > relevant) break;
      hits += e.relevance >= level;
    }
    out[0] = relevant;
    out[1] = hits;
  });
}

void ranking_gain(const JudgedRanks& in, std::int64_t k, double level, bool exponential, double* out) {
  auto counts = [=](double x) { return x > 0 && x >= level; };
  auto gain = [=](double x) { return exponential ? std::exp2(x) - 1.0 : x; };
  each_query(in, 2, out, [=](Query& query, double* out) {
    double sum = 0, ideal = 0;
    for (const Event& e : query.found) {
      if (e.rank > k) break;
      if (counts(e.relevance)) sum += gain(e.relevance) / std::log2(static_cast<double>(e.rank) + 1.0);
    }
    std::sort(query.relevance.begin(), query.relevance.end(), std::greater<>());
    for (std::size_t i = 0; i < query.relevance.size() && static_cast<std::int64_t>(i) < k; ++i) {
      if (!counts(query.relevance[i])) break;
      ideal += gain(query.relevance[i]) / std::log2(static_cast<double>(i) + 2.0);
    }
    out[0] = sum;
    out[1] = ideal;
  });
}

void ranking_rbp(const JudgedRanks& in, double p, double level, bool graded, double* out) {
  each_query(in, 1, out, [=](Query& query, double* out) {
    double sum = 0;
    for (const Event& e : query.found) {
      if (e.relevance < level) continue;
      sum += (graded ? e.relevance : 1.0) * std::pow(p, static_cast<double>(e.rank - 1));
    }
    out[0] = count_relevant(query, level) > 0 ? (1.0 - p) * sum : kNan;
  });
}

void ranking_err(const JudgedRanks& in, std::int64_t k, double most, double* out) {
  const double scale = std::exp2(most);
  each_query(in, 1, out, [=](Query& query, double* out) {
    double sum = 0, reads_on = 1;
    for (const Event& e : query.found) {
      if (e.rank > k) break;
      if (e.relevance <= 0) continue;
      const double stops = (std::exp2(e.relevance) - 1.0) / scale;
      sum += reads_on * stops / static_cast<double>(e.rank);
      reads_on *= 1.0 - stops;
    }
    const bool any = std::any_of(query.relevance.begin(), query.relevance.end(), [](double x) { return x > 0; });
    out[0] = any ? sum : kNan;
  });
}

void ranking_bpref(const JudgedRanks& in, double level, double* out) {
  each_query(in, 1, out, [=](Query& query, double* out) {
    const double relevant = count_relevant(query, level);
    const auto judged =
        std::count_if(query.relevance.begin(), query.relevance.end(), [&](double x) { return x >= 0 && x < level; });
    const double against = std::min(relevant, static_cast<double>(judged));
    double sum = 0, before = 0;
    for (const Event& e : query.found) {
      if (e.relevance >= level) {
        sum += before > 0 ? 1.0 - std::min(before, relevant) / against : 1.0;
      } else if (e.relevance >= 0) {
        ++before;
      }
    }
    out[0] = relevant > 0 ? sum / relevant : kNan;
  });
}

}  // namespace steelyard
