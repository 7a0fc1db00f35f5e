#include "rankings/ranking_join.hpp"

#include <algorithm>
#include <limits>

#include "support/checks.hpp"
#include "support/pool.hpp"

namespace steelyard {
namespace {

constexpr std::size_t kQueriesPerJoin = 16;
constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

struct Views {
  const std::string_view* view;
  const std::uint64_t* key;
  std::string_view operator[](std::size_t i) const { return view[i]; }
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

}  // namespace

void check_starts(View<std::int64_t> starts, std::size_t rows) {
  check_offsets(starts, rows, "the starts must begin with 0, rise, and end with the number of rows");
}

Side make_side(View<std::uint8_t> text, View<std::uint64_t> place, View<std::uint64_t> key, View<double> value,
               View<std::int64_t> starts) {
  const std::size_t n = place.size();
  require(key.size() == n && value.size() == n, "the columns of a side must have the same length");
  require(n < (std::size_t{1} << 32), "there are too many rows");
  check_starts(starts, n);
  require(inside(place.data(), n, text.size()), "an id lies outside the text");
  check_finite(value.data(), n, "a relevance or a score is not finite");
  return {{reinterpret_cast<const char*>(text.data()), place.data(), key.data()},
          value.data(),
          starts.data(),
          starts.size() - 1,
          n};
}

std::vector<std::int64_t> turn_around(View<std::int64_t> run_of, std::size_t truth_queries, std::size_t run_queries) {
  require(run_of.size() == truth_queries, "one run query (or -1) is expected for each query of the truth");
  std::vector<std::int64_t> truth_of(run_queries, -1);
  for (std::size_t q = 0; q < truth_queries; ++q) {
    const std::int64_t r = run_of[q];
    require(r >= -1 && r < static_cast<std::int64_t>(run_queries), "a query of the run does not exist");
    if (r < 0) continue;
    require(truth_of[static_cast<std::size_t>(r)] < 0, "a query of the run stands for two of the truth");
    truth_of[static_cast<std::size_t>(r)] = static_cast<std::int64_t>(q);
  }
  return truth_of;
}

void find_repeats(const Side& side, long threads, std::int64_t* out) {
  const std::size_t tasks = (side.queries + kQueriesPerJoin - 1) / kQueriesPerJoin;
  std::vector<std::int64_t> found(2 * tasks, kNone);
  parallel_for(tasks, thread_count(threads), [&](std::size_t task) {
    Repeats repeats;
    const std::size_t last = std::min(side.queries, (task + 1) * kQueriesPerJoin);
    for (std::size_t q = task * kQueriesPerJoin; q < last; ++q) {
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
}

// One pass over the rows of a run query does it all: marks for repeated ids, the sum of row hashes, and the look for
// judged documents.
void join_rankings(const Side& truth, const Side& run, const std::vector<std::int64_t>& truth_of,
                   const std::int64_t* order, long threads, const Joined& joined, std::uint64_t* sums,
                   std::int64_t* twice) {
  const std::size_t tasks = (run.queries + kQueriesPerJoin - 1) / kQueriesPerJoin;
  std::vector<std::int64_t> found(2 * tasks, kNone);
  parallel_for(tasks, thread_count(threads), [&](std::size_t task) {
    JudgedTable table;
    Ranker ranker;
    Repeats repeats;
    std::vector<Judged> judged;
    const std::size_t last = std::min(run.queries, (task + 1) * kQueriesPerJoin);
    for (std::size_t r = task * kQueriesPerJoin; r < last; ++r) {
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
    parallel_for((truth.queries + kQueriesPerJoin - 1) / kQueriesPerJoin, thread_count(threads), [&](std::size_t task) {
      const std::size_t last = std::min(truth.queries, (task + 1) * kQueriesPerJoin);
      for (std::size_t q = task * kQueriesPerJoin; q < last; ++q) put_in_order(truth, q, joined.ranks.id, joined.rows);
    });
  }
}

void QueryJoin::resize(std::size_t rows) {
  ids.resize(rows);
  keys_.resize(rows);
  scores.resize(rows);
}

std::uint64_t QueryJoin::sum(std::size_t rows) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    keys_[i] = text_key(ids[i].data(), ids[i].size());
    sum += row_hash(keys_[i], scores[i]);
  }
  return sum;
}

bool QueryJoin::repeats(std::size_t rows) {
  std::size_t second = 0, first = 0;
  repeats_.begin(rows);
  for (std::size_t i = 0; i < rows; ++i) repeats_.mark(keys_[i]);
  return repeats_.find(Views{ids.data(), keys_.data()}, 0, rows, second, first);
}

void QueryJoin::join(std::size_t q, std::size_t rows) {
  const auto t = static_cast<std::size_t>(truth_.start[q]);
  table_.fill(truth_.ids, t, static_cast<std::size_t>(truth_.start[q + 1]));
  judged_.clear();
  for (std::size_t i = 0; i < rows; ++i) {
    if (!table_.may_hold(keys_[i])) continue;
    const std::size_t row = table_.find(keys_[i], ids[i]);
    if (row) judged_.push_back({t + row - 1, i});
  }
  const Views views{ids.data(), keys_.data()};
  joined_.ties[q] = ranker_.rank(views, scores.data(), nullptr, 0, rows, judged_, joined_.ranks) ? 1.0 : 0.0;
}

void QueryJoin::finish() {
  for (std::size_t q = 0; q < truth_.queries; ++q) put_in_order(truth_, q, joined_.ranks.id, joined_.rows);
}

void row_sums(View<std::uint64_t> key, View<double> value, View<std::int64_t> starts, long threads,
              std::uint64_t* out) {
  const std::size_t queries = starts.size() - 1;
  const std::uint64_t* k = key.data();
  const double* v = value.data();
  const std::int64_t* start = starts.data();
  parallel_for((queries + kQueriesPerJoin - 1) / kQueriesPerJoin, thread_count(threads), [&](std::size_t task) {
    const std::size_t last = std::min(queries, (task + 1) * kQueriesPerJoin);
    for (std::size_t q = task * kQueriesPerJoin; q < last; ++q) {
      std::uint64_t sum = 0;
      for (std::int64_t i = start[q]; i < start[q + 1]; ++i) sum += row_hash(k[i], v[i]);
      out[q] = sum;
    }
  });
}

}  // namespace steelyard
