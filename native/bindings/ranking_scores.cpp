// Measures of rankings, query by query.
#include "rankings/ranking_scores.hpp"

#include "arrays.hpp"

namespace steelyard::ranking_scores_binding {
namespace {

using Ranks = In1<std::int64_t>;
using Relevances = In1<double>;

// `setting` is the number that the measure is given; `width` its columns.
template <typename Measure>
Out<double> by_query(const Ranks& rank, const Relevances& relevance, const Ranks& starts, double setting,
                     std::size_t width, Measure measure) {
  const JudgedRanks in{view(rank), view(relevance), view(starts)};
  const std::size_t n = rank.shape(0);
  require(relevance.shape(0) == n, "one relevance is expected for each rank");
  check_offsets(in.starts, n, "the starts must rise and cover the events");
  check_numbers(relevance.data(), n, "a relevance is not a number");
  check_numbers(&setting, 1, "a setting is not a number");
  double* out;
  auto result = make_array<double>({in.queries(), width}, out);
  nb::gil_scoped_release release;
  measure(in, out);
  return result;
}

Out<double> hits_by_query(Ranks rank, Relevances relevance, Ranks starts, std::int64_t k, double level) {
  return by_query(rank, relevance, starts, level, 4,
                  [=](const JudgedRanks& in, double* out) { ranking_hits(in, k, level, out); });
}

Out<double> r_hits_by_query(Ranks rank, Relevances relevance, Ranks starts, double level) {
  return by_query(rank, relevance, starts, level, 2,
                  [=](const JudgedRanks& in, double* out) { ranking_r_hits(in, level, out); });
}

Out<double> gain_by_query(Ranks rank, Relevances relevance, Ranks starts, std::int64_t k, double level,
                          bool exponential) {
  return by_query(rank, relevance, starts, level, 2,
                  [=](const JudgedRanks& in, double* out) { ranking_gain(in, k, level, exponential, out); });
}

Out<double> rbp_by_query(Ranks rank, Relevances relevance, Ranks starts, double p, double level, bool graded) {
  require(p >= 0 && p <= 1, "the probability of going on is from 0 to 1");
  return by_query(rank, relevance, starts, level, 1,
                  [=](const JudgedRanks& in, double* out) { ranking_rbp(in, p, level, graded, out); });
}

Out<double> err_by_query(Ranks rank, Relevances relevance, Ranks starts, std::int64_t k, double most) {
  return by_query(rank, relevance, starts, most, 1,
                  [=](const JudgedRanks& in, double* out) { ranking_err(in, k, most, out); });
}

Out<double> bpref_by_query(Ranks rank, Relevances relevance, Ranks starts, double level) {
  return by_query(rank, relevance, starts, level, 1,
                  [=](const JudgedRanks& in, double* out) { ranking_bpref(in, level, out); });
}

}  // namespace

void bind(nb::module_& m) {
  m.def("ranking_hits", &hits_by_query, nb::arg("rank").noconvert(), nb::arg("relevance").noconvert(),
        nb::arg("starts").noconvert(), nb::arg("k"), nb::arg("level"),
        "Number relevant, hits, sum of precisions at hits, rank of the first hit; one row per query.");
  m.def("ranking_r_hits", &r_hits_by_query, nb::arg("rank").noconvert(), nb::arg("relevance").noconvert(),
        nb::arg("starts").noconvert(), nb::arg("level"), "Number relevant R, hits among the first R.");
  m.def("ranking_gain", &gain_by_query, nb::arg("rank").noconvert(), nb::arg("relevance").noconvert(),
        nb::arg("starts").noconvert(), nb::arg("k"), nb::arg("level"), nb::arg("exponential"),
        "Discounted gain, and the ideal one.");
  m.def("ranking_rbp", &rbp_by_query, nb::arg("rank").noconvert(), nb::arg("relevance").noconvert(),
        nb::arg("starts").noconvert(), nb::arg("p"), nb::arg("level"), nb::arg("graded"), "Rank-biased precision.");
  m.def("ranking_err", &err_by_query, nb::arg("rank").noconvert(), nb::arg("relevance").noconvert(),
        nb::arg("starts").noconvert(), nb::arg("k"), nb::arg("most"), "Expected reciprocal rank.");
  m.def("ranking_bpref", &bpref_by_query, nb::arg("rank").noconvert(), nb::arg("relevance").noconvert(),
        nb::arg("starts").noconvert(), nb::arg("level"), "Binary preference.");
}

}  // namespace steelyard::ranking_scores_binding
