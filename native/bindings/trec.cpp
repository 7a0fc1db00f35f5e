// TREC files.
#include "rankings/trec.hpp"

#include "arrays.hpp"

namespace steelyard::trec_binding {
namespace {

Tuple<Out<std::uint64_t>, Out<std::uint64_t>, Out<double>, Out<std::int64_t>, Out<std::uint64_t>,
      Tuple<int, std::size_t, std::size_t>>
read(In1<std::uint8_t> file, std::size_t fields, std::size_t value_field, long threads) {
  require((fields == 4 && value_field == 3) || (fields == 6 && value_field == 4), "no TREC file has such lines");
  TrecLines lines;
  {
    nb::gil_scoped_release unlocked;
    read_trec(view(file), fields, value_field, threads, lines);
  }
  return nb::make_tuple(release(lines.place), release(lines.key), release(lines.value), release(lines.segment_row),
                        release(lines.segment_place),
                        nb::make_tuple(static_cast<int>(lines.wrong), lines.wrong_at, lines.wrong_fields));
}

}  // namespace

void bind(nb::module_& m) {
  m.def("read_trec", &read, nb::arg("file").noconvert(), nb::arg("fields"), nb::arg("value_field"),
        nb::arg("threads") = 0,
        "Lines of a TREC file: documents (place, key), values, runs of equal queries (row, place), and "
        "(what is wrong, where, fields).");
}

}  // namespace steelyard::trec_binding
