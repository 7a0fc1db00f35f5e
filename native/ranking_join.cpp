// Joins the judgements of a truth with the rows of a run, query by query: see ranking_query.hpp for how.
//
// Two ways in: a run as flat columns, read in parallel; and a run as Python's own {query: {document: score}}, walked
// where it lies. The second never copies the ids: ten million of them would take longer to copy than to rank.
#include <algorithm>
#include <limits>
#include <string_view>
#include <vector>

#include "arrays.hpp"
#include "checks.hpp"
#include "memory.hpp"
#include "pool.hpp"
#include "python_ids.hpp"
#include "ranking_query.hpp"
#include "texts.hpp"

namespace steelyard {
namespace {

constexpr std::size_t kQueriesATask = 16;
constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

using Bytes = In1<std::uint8_t>;
using Int64s = In1<std::int64_t>;
using Words = In1<std::uint64_t>;
using Doubles = In1<double>;

struct Side {
  Texts ids;
  const double* value;
  const std::int64_t* start;
  std::size_t queries, rows;
};

constexpr const char* kWrongStarts = "the starts must begin with 0, rise, and end with the number of rows";

Side make_side(const Bytes& text, const Words& place, const Words& key, const Doubles& value, const Int64s& starts) {
  const std::size_t n = place.shape(0);
  require(key.shape(0) == n && value.shape(0) == n, "the columns of a side must have the same length");
  require(n < (std::size_t{1} << 32), "there are too many rows");
  check_offsets(starts, n, kWrongStarts);
  require(inside(place.data(), n, text.shape(0)), "an id lies outside the text");
  check_finite(value.data(), n, "a relevance or a score is not finite");
  return {{reinterpret_cast<const char*>(text.data()), place.data(), key.data()},
          value.data(), starts.data(), starts.shape(0) - 1, n};
}

// For each query of the run the query of the truth, or -1.
std::vector<std::int64_t> turn_around(const Int64s& run_of, std::size_t truth_queries, std::size_t run_queries) {
  require(run_of.shape(0) == truth_queries, "one run query (or -1) is expected for each query of the truth");
  std::vector<std::int64_t> truth_of(run_queries, -1);
  for (std::size_t q = 0; q < truth_queries; ++q) {
    const std::int64_t r = run_of.data()[q];
    require(r >= -1 && r < static_cast<std::int64_t>(run_queries), "a query of the run does not exist");
    if (r < 0) continue;
    require(truth_of[static_cast<std::size_t>(r)] < 0, "a query of the run stands for two of the truth");
    truth_of[static_cast<std::size_t>(r)] = static_cast<std::int64_t>(q);
  }
  return truth_of;
}

// What a join gives, zeroed.
struct Joined {
  Ranks ranks{};  // these first: the arrays below set them
  std::int64_t* rows = nullptr;
  double* ties = nullptr;
  Out<std::int64_t> id, input, single, sequence;
  Out<double> tied;

  explicit Joined(const Side& truth)
      : id(make_array<std::int64_t>({truth.rows}, ranks.id)),
        input(make_array<std::int64_t>({truth.rows}, ranks.input)),
        single(make_array<std::int64_t>({truth.rows}, ranks.single)),
        sequence(make_array<std::int64_t>({truth.rows}, rows)),
        tied(make_array<double>({truth.queries}, ties)) {}
};

// The rows of one query of the truth in the order of rank, those not retrieved at the end.
void put_in_order(const Side& truth, std::size_t q, const std::int64_t* rank, std::int64_t* rows) {
  std::int64_t* const begin = rows + truth.start[q];
  std::int64_t* at = begin;
  for (std::int64_t row = truth.start[q]; row < truth.start[q + 1]; ++row) {
    if (rank[row]) *at++ = row;
  }
  std::sort(begin, at, [&](std::int64_t a, std::int64_t b) { return rank[a] < rank[b]; });
  for (std::int64_t row = truth.start[q]; row < truth.start[q + 1]; ++row) {
    if (!rank[row]) *at++ = row;
  }
}

// The first repeated id that a task found: (row, earlier row), or -1 twice.
void first_found(const std::vector<std::int64_t>& found, std::int64_t* out) {
  out[0] = out[1] = -1;
  for (std::size_t i = 0; i < found.size() && out[0] < 0; i += 2) {
    if (found[i] == kNone) continue;
    out[0] = found[i];
    out[1] = found[i + 1];
  }
}

// The first repeated id of a side.
Out<std::int64_t> find_repeats(const Side& side, long threads) {
  std::int64_t* out;
  auto result = make_array<std::int64_t>({2}, out);
  nb::gil_scoped_release release;
  const std::size_t tasks = (side.queries + kQueriesATask - 1) / kQueriesATask;
  std::vector<std::int64_t> found(2 * tasks, kNone);
  parallel_for(tasks, thread_count(threads), [&](std::size_t task) {
    Repeats repeats;
    const std::size_t last = std::min(side.queries, (task + 1) * kQueriesATask);
    for (std::size_t q = task * kQueriesATask; q < last; ++q) {
      std::size_t second = 0, first = 0;
      const auto from = static_cast<std::size_t>(side.start[q]), to = static_cast<std::size_t>(side.start[q + 1]);
      repeats.begin(to - from);
      for (std::size_t i = from; i < to; ++i) repeats.mark(side.ids.key[i]);
      if (!repeats.find(side.ids, from, to, second, first)) continue;
      found[2 * task] = static_cast<std::int64_t>(second);
      found[2 * task + 1] = static_cast<std::int64_t>(first);
      return;
    }
  });
  first_found(found, out);
  return result;
}

Out<std::int64_t> ranking_repeats(Bytes text, Words place, Words key, Doubles value, Int64s starts, long threads) {
  return find_repeats(make_side(text, place, key, value, starts), threads);
}

// One pass over the rows of a run query does it all: marks for repeated ids, the sum of row hashes, and the look for
// judged documents.
nb::tuple join_rankings(Bytes truth_text, Words truth_place, Words truth_key, Doubles relevance, Int64s truth_starts,
                        Bytes run_text, Words run_place, Words run_key, Doubles score, Int64s run_starts,
                        Int64s run_of, Int64s run_order, long threads) {
  const Side truth = make_side(truth_text, truth_place, truth_key, relevance, truth_starts);
  const Side run = make_side(run_text, run_place, run_key, score, run_starts);
  require(run_order.shape(0) == 0 || run_order.shape(0) == run.rows, "one place in the source is expected a row");
  const std::int64_t* order = run_order.shape(0) ? run_order.data() : nullptr;
  const std::vector<std::int64_t> truth_of = turn_around(run_of, truth.queries, run.queries);
  Joined joined(truth);
  std::uint64_t* sums;
  std::int64_t* twice;
  auto all_sums = make_array<std::uint64_t>({run.queries}, sums);
  auto repeated = make_array<std::int64_t>({2}, twice);
  {
    nb::gil_scoped_release release;
    const std::size_t tasks = (run.queries + kQueriesATask - 1) / kQueriesATask;
    std::vector<std::int64_t> found(2 * tasks, kNone);
    parallel_for(tasks, thread_count(threads), [&](std::size_t task) {
      JudgedTable table;
      Ranker ranker;
      Repeats repeats;
      std::vector<Judged> judged;
      const std::size_t last = std::min(run.queries, (task + 1) * kQueriesATask);
      for (std::size_t r = task * kQueriesATask; r < last; ++r) {
        const auto from = static_cast<std::size_t>(run.start[r]), to = static_cast<std::size_t>(run.start[r + 1]);
        const bool known = truth_of[r] >= 0;
        const auto q = static_cast<std::size_t>(known ? truth_of[r] : 0);
        const auto t = static_cast<std::size_t>(known ? truth.start[q] : 0);
        table.fill(truth.ids, t, static_cast<std::size_t>(known ? truth.start[q + 1] : 0));
        judged.clear();
        repeats.begin(to - from);
        std::uint64_t sum = 0;
        for (std::size_t i = from; i < to; ++i) {
          const std::uint64_t key = run.ids.key[i];
          sum += row_hash(key, run.value[i]);
          repeats.mark(key);
          if (!table.may_hold(key)) continue;
          const std::size_t row = table.find(key, run.ids[i]);
          if (row) judged.push_back({t + row - 1, i - from});
        }
        sums[r] = sum;
        std::size_t second = 0, first = 0;
        if (repeats.find(run.ids, from, to, second, first)) {
          found[2 * task] = static_cast<std::int64_t>(second);
          found[2 * task + 1] = static_cast<std::int64_t>(first);
          return;
        }
        if (known) {
          joined.ties[q] = ranker.rank(run.ids, run.value, order, from, to - from, judged, joined.ranks) ? 1.0 : 0.0;
        }
      }
    });
    first_found(found, twice);
    if (twice[0] < 0) {
      parallel_for((truth.queries + kQueriesATask - 1) / kQueriesATask, thread_count(threads), [&](std::size_t task) {
        const std::size_t last = std::min(truth.queries, (task + 1) * kQueriesATask);
        for (std::size_t q = task * kQueriesATask; q < last; ++q) put_in_order(truth, q, joined.ranks.id, joined.rows);
      });
    }
  }
  return nb::make_tuple(joined.id, joined.input, joined.single, joined.sequence, joined.tied, all_sums, repeated);
}

struct Views {
  const std::string_view* view;
  const std::uint64_t* key;
  std::string_view operator[](std::size_t i) const { return view[i]; }
};

// As join_rankings, with the run as {query: {document: score}}; adds each run query's number of rows and sum of row
// hashes. None where a value needs a closer look: what is no string or number, or ids that repeat without the blanks
// around them.
nb::object join_nested(Bytes truth_text, Words truth_place, Words truth_key, Doubles relevance, Int64s truth_starts,
                       nb::dict run, Int64s run_of) {
  const Side truth = make_side(truth_text, truth_place, truth_key, relevance, truth_starts);
  const std::size_t queries = nb::len(run);
  const std::vector<std::int64_t> truth_of = turn_around(run_of, truth.queries, queries);
  Joined joined(truth);
  Buffer<std::int64_t> counts;
  Buffer<std::uint64_t> sums;
  JudgedTable table;
  Ranker ranker;
  Repeats repeats;
  std::vector<Judged> judged;
  std::vector<std::string_view> views;
  std::vector<std::uint64_t> keys;
  std::vector<double> scores;
  DictEntries entries;
  PyObject *query, *documents;
  Py_ssize_t outer = 0;
  for (std::size_t r = 0; r < queries && PyDict_Next(run.ptr(), &outer, &query, &documents); ++r) {
    if (Py_TYPE(documents) != &PyDict_Type) return nb::none();
    const auto n = static_cast<std::size_t>(PyDict_Size(documents));
    views.resize(n);
    keys.resize(n);
    scores.resize(n);
    const std::size_t rows = entries.gather(documents, n);
    std::uint64_t sum = 0;
    bool trimmed = false;
    for (std::size_t i = 0; i < rows; ++i) {
      entries.fetch(i);
      if (!read_number(entries.value(i), scores[i]) || !read_id(entries.key(i), views[i], trimmed)) return nb::none();
      keys[i] = text_key(views[i].data(), views[i].size());
      sum += row_hash(keys[i], scores[i]);
    }
    counts.push(static_cast<std::int64_t>(rows));
    sums.push(sum);
    const Views ids{views.data(), keys.data()};
    std::size_t second = 0, first = 0;
    if (trimmed) {
      repeats.begin(rows);
      for (std::size_t i = 0; i < rows; ++i) repeats.mark(keys[i]);
      if (repeats.find(ids, 0, rows, second, first)) return nb::none();
    }
    if (truth_of[r] < 0) continue;
    const auto q = static_cast<std::size_t>(truth_of[r]);
    const auto t = static_cast<std::size_t>(truth.start[q]);
    table.fill(truth.ids, t, static_cast<std::size_t>(truth.start[q + 1]));
    judged.clear();
    for (std::size_t i = 0; i < rows; ++i) {
      if (!table.may_hold(keys[i])) continue;
      const std::size_t row = table.find(keys[i], views[i]);
      if (row) judged.push_back({t + row - 1, i});
    }
    joined.ties[q] = ranker.rank(ids, scores.data(), nullptr, 0, rows, judged, joined.ranks) ? 1.0 : 0.0;
  }
  for (std::size_t q = 0; q < truth.queries; ++q) put_in_order(truth, q, joined.ranks.id, joined.rows);
  return nb::make_tuple(joined.id, joined.input, joined.single, joined.sequence, joined.tied, counts.release(),
                        sums.release());
}

// A sum of row hashes for each query: the same for the same rows in any order. What a digest is made of.
Out<std::uint64_t> ranking_sums(Words key, Doubles value, Int64s starts, long threads) {
  const std::size_t n = key.shape(0);
  require(value.shape(0) == n, "one value is expected for each key");
  check_offsets(starts, n, kWrongStarts);
  const std::size_t queries = starts.shape(0) - 1;
  std::uint64_t* out;
  auto result = make_array<std::uint64_t>({queries}, out);
  const std::uint64_t* k = key.data();
  const double* v = value.data();
  const std::int64_t* start = starts.data();
  nb::gil_scoped_release release;
  parallel_for((queries + kQueriesATask - 1) / kQueriesATask, thread_count(threads), [&](std::size_t task) {
    const std::size_t last = std::min(queries, (task + 1) * kQueriesATask);
    for (std::size_t q = task * kQueriesATask; q < last; ++q) {
      std::uint64_t sum = 0;
      for (std::int64_t i = start[q]; i < start[q + 1]; ++i) sum += row_hash(k[i], v[i]);
      out[q] = sum;
    }
  });
  return result;
}

}  // namespace

void bind_ranking_join(nb::module_& m) {
  m.def("ranking_repeats", &ranking_repeats, nb::arg("text").noconvert(), nb::arg("place").noconvert(),
        nb::arg("key").noconvert(), nb::arg("value").noconvert(), nb::arg("starts").noconvert(),
        nb::arg("threads") = 0, "The first id that stands twice in a query: (row, earlier row), or -1 twice.");
  m.def("join_rankings", &join_rankings, nb::arg("truth_text").noconvert(), nb::arg("truth_place").noconvert(),
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

}  // namespace steelyard
