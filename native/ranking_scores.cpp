// Scores of single queries from where their judged documents stand.
//
// Events lie query by query: (rank, relevance) of each judged document, rank 0 where it was not retrieved. A measure
// walks a query's retrieved documents in the order of rank and looks at nothing else, so its cost is that of the
// judged documents, not of the run. nan is a query that the measure is undefined for.
//
// An ideal ranking is added up in the same order as a real one: a perfect ranking scores 1, not 1 - 1e-16.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "arrays.hpp"
#include "checks.hpp"
#include "pool.hpp"

namespace steelyard {
namespace {

constexpr std::size_t kQueriesATask = 64;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Event {
  std::int64_t rank;
  double relevance;
};

struct Query {
  std::vector<Event> found;       // retrieved, by rank
  std::vector<double> relevance;  // of all judged documents
};

using Ranks = In1<std::int64_t>;
using Relevances = In1<double>;

// `setting` is the number that the measure is given.
template <typename Score>
Out<double> each_query(const Ranks& rank, const Relevances& relevance, const Ranks& starts, double setting,
                       std::size_t width, Score score) {
  const std::size_t n = rank.shape(0);
  require(relevance.shape(0) == n, "one relevance is expected for each rank");
  check_offsets(starts, n, "the starts must rise and cover the events");
  check_numbers(relevance.data(), n, "a relevance is not a number");
  check_numbers(&setting, 1, "a setting is not a number");
  const std::size_t queries = starts.shape(0) - 1;
  const std::int64_t* start = starts.data();
  double* out;
  auto result = make_array<double>({queries, width}, out);
  const std::int64_t* r = rank.data();
  const double* v = relevance.data();
  nb::gil_scoped_release release;
  parallel_for((queries + kQueriesATask - 1) / kQueriesATask, thread_count(0), [&](std::size_t task) {
    Query query;
    const std::size_t last = std::min(queries, (task + 1) * kQueriesATask);
    for (std::size_t q = task * kQueriesATask; q < last; ++q) {
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
  return result;
}

double count_relevant(const Query& query, double level) {
  return static_cast<double>(
      std::count_if(query.relevance.begin(), query.relevance.end(), [&](double x) { return x >= level; }));
}

// Columns: number relevant, hits in the first k, sum of the precisions at the hits, rank of the first hit (0: none).
Out<double> ranking_hits(Ranks rank, Relevances relevance, Ranks starts, std::int64_t k, double level) {
  return each_query(rank, relevance, starts, level, 4, [=](Query& query, double* out) {
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

// Hits among the first R, where R is the query's own number of relevant documents. Columns: R, hits.
Out<double> ranking_r_hits(Ranks rank, Relevances relevance, Ranks starts, double level) {
  return each_query(rank, relevance, starts, level, 2, [=](Query& query, double* out) {
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

// Columns: the gain of the first k, and the most that they could gain.
// Below `level` nothing is gained, nor at 0 or less.
Out<double> ranking_gain(Ranks rank, Relevances relevance, Ranks starts, std::int64_t k, double level,
                         bool exponential) {
  auto counts = [=](double x) { return x > 0 && x >= level; };
  auto gain = [=](double x) { return exponential ? std::exp2(x) - 1.0 : x; };
  return each_query(rank, relevance, starts, level, 2, [=](Query& query, double* out) {
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

// Rank-biased precision: a reader goes on to the next document with probability p.
Out<double> ranking_rbp(Ranks rank, Relevances relevance, Ranks starts, double p, double level, bool graded) {
  require(p >= 0 && p <= 1, "the probability of going on is from 0 to 1");
  return each_query(rank, relevance, starts, level, 1, [=](Query& query, double* out) {
    double sum = 0;
    for (const Event& e : query.found) {
      if (e.relevance < level) continue;
      sum += (graded ? e.relevance : 1.0) * std::pow(p, static_cast<double>(e.rank - 1));
    }
    out[0] = count_relevant(query, level) > 0 ? (1.0 - p) * sum : kNan;
  });
}

// Expected reciprocal rank: a reader stops at a document with probability (2^relevance - 1) / 2^most.
Out<double> ranking_err(Ranks rank, Relevances relevance, Ranks starts, std::int64_t k, double most) {
  const double scale = std::exp2(most);
  return each_query(rank, relevance, starts, most, 1, [=](Query& query, double* out) {
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

// Binary preference: judged documents alone count; a negative relevance is no judgement.
Out<double> ranking_bpref(Ranks rank, Relevances relevance, Ranks starts, double level) {
  return each_query(rank, relevance, starts, level, 1, [=](Query& query, double* out) {
    const double relevant = count_relevant(query, level);
    const auto judged = std::count_if(query.relevance.begin(), query.relevance.end(),
                                      [&](double x) { return x >= 0 && x < level; });
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

}  // namespace

void bind_ranking_scores(nb::module_& m) {
  m.def("ranking_hits", &ranking_hits, nb::arg("rank").noconvert(), nb::arg("relevance").noconvert(),
        nb::arg("starts").noconvert(), nb::arg("k"), nb::arg("level"),
        "Number relevant, hits, sum of precisions at hits, rank of the first hit; one row a query.");
  m.def("ranking_r_hits", &ranking_r_hits, nb::arg("rank").noconvert(), nb::arg("relevance").noconvert(),
        nb::arg("starts").noconvert(), nb::arg("level"), "Number relevant R, hits among the first R.");
  m.def("ranking_gain", &ranking_gain, nb::arg("rank").noconvert(), nb::arg("relevance").noconvert(),
        nb::arg("starts").noconvert(), nb::arg("k"), nb::arg("level"), nb::arg("exponential"),
        "Discounted gain, and the ideal one.");
  m.def("ranking_rbp", &ranking_rbp, nb::arg("rank").noconvert(), nb::arg("relevance").noconvert(),
        nb::arg("starts").noconvert(), nb::arg("p"), nb::arg("level"), nb::arg("graded"), "Rank-biased precision.");
  m.def("ranking_err", &ranking_err, nb::arg("rank").noconvert(), nb::arg("relevance").noconvert(),
        nb::arg("starts").noconvert(), nb::arg("k"), nb::arg("most"), "Expected reciprocal rank.");
  m.def("ranking_bpref", &ranking_bpref, nb::arg("rank").noconvert(), nb::arg("relevance").noconvert(),
        nb::arg("starts").noconvert(), nb::arg("level"), "Binary preference.");
}

}  // namespace steelyard
