// Edit distances for Python: rows of symbols, as code points or numbers of words, with the end of each row.
#include "arrays.hpp"
#include "language/edit_distance.hpp"
#include "support/pool.hpp"

namespace steelyard::edits_binding {
namespace {

constexpr std::size_t kLongest = std::size_t{1} << 20;

using Points = In1<std::uint32_t>;
using Ends = In1<std::int64_t>;

language::Symbols rows_of(const Points& symbols, const Ends& ends) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < ends.shape(0); ++i) {
    const std::int64_t end = ends.data()[i];
    require(end >= last && end <= static_cast<std::int64_t>(symbols.shape(0)), "the ends of the rows must rise");
    require(static_cast<std::size_t>(end - last) <= kLongest, "a row has more than 1,048,576 symbols");
    last = end;
  }
  require(static_cast<std::size_t>(last) == symbols.shape(0), "the last row must end with the symbols");
  return {view(symbols), view(ends)};
}

struct Sides {
  language::Symbols reference, hypothesis;

  Sides(const Points& a, const Ends& a_ends, const Points& b, const Ends& b_ends)
      : reference(rows_of(a, a_ends)), hypothesis(rows_of(b, b_ends)) {
    require(reference.end.size() == hypothesis.end.size(), "references and hypotheses must be as many");
  }
};

Out<std::int64_t> distances(Points a, Ends a_ends, Points b, Ends b_ends, long threads) {
  const Sides sides(a, a_ends, b, b_ends);
  std::int64_t* out;
  auto result = make_raw<std::int64_t>({sides.reference.end.size()}, out);
  nb::gil_scoped_release release;
  language::edit_distances(sides.reference, sides.hypothesis, thread_count(threads), out);
  return result;
}

Out<std::int64_t> counts(Points a, Ends a_ends, Points b, Ends b_ends, long threads) {
  const Sides sides(a, a_ends, b, b_ends);
  std::int64_t* out;
  auto result = make_raw<std::int64_t>({sides.reference.end.size(), std::size_t{language::kEdits}}, out);
  nb::gil_scoped_release release;
  language::edit_counts(sides.reference, sides.hypothesis, thread_count(threads), out);
  return result;
}

Out<std::int64_t> steps(Points a, Ends a_ends, Points b, Ends b_ends) {
  const Sides sides(a, a_ends, b, b_ends);
  Buffer<std::int64_t> out;
  {
    nb::gil_scoped_release release;
    language::edit_steps(sides.reference, sides.hypothesis, out);
  }
  return release(out);
}

}  // namespace

void bind(nb::module_& m) {
  m.def("edit_distances", &distances, nb::arg("reference").noconvert(), nb::arg("reference_ends").noconvert(),
        nb::arg("hypothesis").noconvert(), nb::arg("hypothesis_ends").noconvert(), nb::arg("threads") = 0,
        "The least number of edits that make each row of symbols the other.");
  m.def("edit_counts", &counts, nb::arg("reference").noconvert(), nb::arg("reference_ends").noconvert(),
        nb::arg("hypothesis").noconvert(), nb::arg("hypothesis_ends").noconvert(), nb::arg("threads") = 0,
        "Symbols that are kept, substituted, deleted and inserted by one alignment with the least edits, by row.");
  m.def("edit_steps", &steps, nb::arg("reference").noconvert(), nb::arg("reference_ends").noconvert(),
        nb::arg("hypothesis").noconvert(), nb::arg("hypothesis_ends").noconvert(),
        "The edits of that alignment, back to front: row, edit (1 substituted, 2 deleted, 3 inserted), both places or "
        "-1.");
}

}  // namespace steelyard::edits_binding
