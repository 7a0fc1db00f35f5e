// The join of judgements with a run.
//
// Two ways in: a run as flat columns, read in parallel; and a run as Python's own {query: {document: score}}, walked
// where it lies. The second never copies the ids: ten million of them would take longer to copy than to rank.
#include "rankings/ranking_join.hpp"

#include <nanobind/stl/optional.h>

#include "arrays.hpp"
#include "python_ids.hpp"

namespace steelyard::ranking_join_binding {
namespace {

using Bytes = In1<std::uint8_t>;
using Int64s = In1<std::int64_t>;
using Words = In1<std::uint64_t>;
using Doubles = In1<double>;

Side side_of(const Bytes& text, const Words& place, const Words& key, const Doubles& value, const Int64s& starts) {
  return make_side(view(text), view(place), view(key), view(value), view(starts));
}

struct JoinedArrays {
  Joined joined{};  // first: the arrays below set it
  Out<std::int64_t> id, input, single, sequence;
  Out<double> tied;

  explicit JoinedArrays(const Side& truth)
      : id(make_array<std::int64_t>({truth.rows}, joined.ranks.id)),
        input(make_array<std::int64_t>({truth.rows}, joined.ranks.input)),
        single(make_array<std::int64_t>({truth.rows}, joined.ranks.single)),
        sequence(make_array<std::int64_t>({truth.rows}, joined.rows)),
        tied(make_array<double>({truth.queries}, joined.ties)) {}
};

Out<std::int64_t> ranking_repeats(Bytes text, Words place, Words key, Doubles value, Int64s starts, long threads) {
  const Side side = side_of(text, place, key, value, starts);
  std::int64_t* out;
  auto result = make_array<std::int64_t>({2}, out);
  nb::gil_scoped_release release;
  find_repeats(side, threads, out);
  return result;
}

Tuple<Out<std::int64_t>, Out<std::int64_t>, Out<std::int64_t>, Out<std::int64_t>, Out<double>, Out<std::uint64_t>,
      Out<std::int64_t>>
join_columns(Bytes truth_text, Words truth_place, Words truth_key, Doubles relevance, Int64s truth_starts,
             Bytes run_text, Words run_place, Words run_key, Doubles score, Int64s run_starts, Int64s run_of,
             Int64s run_order, long threads) {
  const Side truth = side_of(truth_text, truth_place, truth_key, relevance, truth_starts);
  const Side run = side_of(run_text, run_place, run_key, score, run_starts);
  require(run_order.shape(0) == 0 || run_order.shape(0) == run.rows, "one place in the source is expected a row");
  const std::vector<std::int64_t> truth_of = turn_around(view(run_of), truth.queries, run.queries);
  JoinedArrays arrays(truth);
  std::uint64_t* sums;
  std::int64_t* twice;
  auto all_sums = make_array<std::uint64_t>({run.queries}, sums);
  auto repeated = make_array<std::int64_t>({2}, twice);
  {
    nb::gil_scoped_release release;
    join_rankings(truth, run, truth_of, run_order.shape(0) ? run_order.data() : nullptr, threads, arrays.joined, sums,
                  twice);
  }
  return nb::make_tuple(arrays.id, arrays.input, arrays.single, arrays.sequence, arrays.tied, all_sums, repeated);
}

// As join_rankings, with the run as {query: {document: score}}; adds each run query's number of rows and sum of row
// hashes. None if a value needs a closer look: neither a string nor a number, or ids that repeat without the blanks
// around them.
Result<std::optional<Tuple<Out<std::int64_t>, Out<std::int64_t>, Out<std::int64_t>, Out<std::int64_t>, Out<double>,
                           Out<std::int64_t>, Out<std::uint64_t>>>>
join_nested(Bytes truth_text, Words truth_place, Words truth_key, Doubles relevance, Int64s truth_starts, nb::dict run,
            Int64s run_of) {
  const Side truth = side_of(truth_text, truth_place, truth_key, relevance, truth_starts);
  const std::size_t queries = nb::len(run);
  const std::vector<std::int64_t> truth_of = turn_around(view(run_of), truth.queries, queries);
  JoinedArrays arrays(truth);
  QueryJoin query_join(truth, arrays.joined);
  Buffer<std::int64_t> counts;
  Buffer<std::uint64_t> sums;
  DictEntries entries;
  PyObject *query, *documents;
  Py_ssize_t outer = 0;
  for (std::size_t r = 0; r < queries && PyDict_Next(run.ptr(), &outer, &query, &documents); ++r) {
    if (Py_TYPE(documents) != &PyDict_Type) return nb::none();
    const auto n = static_cast<std::size_t>(PyDict_Size(documents));
    query_join.resize(n);
    const std::size_t rows = entries.gather(documents, n);
    bool trimmed = false;
    for (std::size_t i = 0; i < rows; ++i) {
      entries.fetch(i);
      if (!read_number(entries.value(i), query_join.scores[i]) ||
          !read_id(entries.key(i), query_join.ids[i], trimmed)) {
        return nb::none();
      }
    }
    counts.push(static_cast<std::int64_t>(rows));
    sums.push(query_join.sum(rows));
    if (trimmed && query_join.repeats(rows)) return nb::none();
    if (truth_of[r] >= 0) query_join.join(static_cast<std::size_t>(truth_of[r]), rows);
  }
  query_join.finish();
  return nb::make_tuple(arrays.id, arrays.input, arrays.single, arrays.sequence, arrays.tied, release(counts),
                        release(sums));
}

Out<std::uint64_t> ranking_sums(Words key, Doubles value, Int64s starts, long threads) {
  require(value.shape(0) == key.shape(0), "one value is expected for each key");
  check_starts(view(starts), key.shape(0));
  std::uint64_t* out;
  auto result = make_array<std::uint64_t>({starts.shape(0) - 1}, out);
  nb::gil_scoped_release release;
  row_sums(view(key), view(value), view(starts), threads, out);
  return result;
}

}  // namespace

void bind(nb::module_& m) {
  m.def("ranking_repeats", &ranking_repeats, nb::arg("text").noconvert(), nb::arg("place").noconvert(),
        nb::arg("key").noconvert(), nb::arg("value").noconvert(), nb::arg("starts").noconvert(), nb::arg("threads") = 0,
        "The first id that appears twice in a query: (row, earlier row), or -1 twice.");
  m.def("join_rankings", &join_columns, nb::arg("truth_text").noconvert(), nb::arg("truth_place").noconvert(),
        nb::arg("truth_key").noconvert(), nb::arg("relevance").noconvert(), nb::arg("truth_starts").noconvert(),
        nb::arg("run_text").noconvert(), nb::arg("run_place").noconvert(), nb::arg("run_key").noconvert(),
        nb::arg("score").noconvert(), nb::arg("run_starts").noconvert(), nb::arg("run_of").noconvert(),
        nb::arg("run_order").noconvert(), nb::arg("threads") = 0,
        "Ranks of the truth's rows (0: not retrieved) by the rules id, input and single, rows in the order of rank, "
        "which queries had ties, a sum of row hashes for each query of the run, and the run's first repeated id.");
  m.def("join_nested", &join_nested, nb::arg("truth_text").noconvert(), nb::arg("truth_place").noconvert(),
        nb::arg("truth_key").noconvert(), nb::arg("relevance").noconvert(), nb::arg("truth_starts").noconvert(),
        nb::arg("run"), nb::arg("run_of").noconvert(),
        "As join_rankings for {query: {document: score}}, with each run query's rows and sum of row hashes; or None.");
  m.def("ranking_sums", &ranking_sums, nb::arg("key").noconvert(), nb::arg("value").noconvert(),
        nb::arg("starts").noconvert(), nb::arg("threads") = 0, "A sum of row hashes for each query.");
}

}  // namespace steelyard::ranking_join_binding
