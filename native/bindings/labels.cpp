// Counting labels, codes of labels that are text, and fingerprints of columns.
#include "labels/labels.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <nanobind/stl/optional.h>

#include "arrays.hpp"
#include "labels/distinct.hpp"
#include "support/fingerprint.hpp"

namespace steelyard::labels_binding {
namespace {

Tuple<std::int64_t, std::int64_t> extent_of_values(In1<std::int64_t> values) {
  require(values.shape(0) > 0, "there are no values");
  std::pair<std::int64_t, std::int64_t> ends;
  {
    nb::gil_scoped_release release;
    ends = extent(view(values));
  }
  return nb::make_tuple(ends.first, ends.second);
}

Result<std::optional<Out<std::int64_t>>> confusion_of(In1<std::int64_t> truth, In1<std::int64_t> prediction,
                                                      std::int64_t low, std::size_t size) {
  require(prediction.shape(0) == truth.shape(0), "truth and prediction must be as many");
  require(size > 0 && size <= 8192 && size * size <= kMostCells, "too many classes to count in a table");
  std::int64_t* out;
  auto result = make_array<std::int64_t>({size, size}, out);
  bool inside = true;
  {
    nb::gil_scoped_release release;
    inside = confusion(view(truth), view(prediction), low, size, out);
  }
  return inside ? nb::cast(result) : nb::none();
}

Out<std::int64_t> places_of(const Distinct& distinct) {
  std::int64_t* place;
  auto places = make_array<std::int64_t>({distinct.first.size()}, place);
  std::copy(distinct.first.begin(), distinct.first.end(), place);
  return places;
}

Tuple<Out<std::int64_t>, Out<std::int64_t>> factor_rows(In2<std::uint32_t> rows) {
  require(rows.shape(0) < (std::size_t{1} << 31), "too many rows");
  std::int64_t* code;
  auto codes = make_array<std::int64_t>({rows.shape(0)}, code);
  Distinct distinct;
  {
    nb::gil_scoped_release release;
    code_rows(view(rows), distinct, code);
  }
  return nb::make_tuple(codes, places_of(distinct));
}

// The same of a list of Python strings; None where it holds anything else (or half a surrogate pair).
Result<std::optional<Tuple<Out<std::int64_t>, Out<std::int64_t>>>> factor_texts(nb::list texts) {
  const std::size_t n = texts.size();
  require(n < (std::size_t{1} << 31), "too many rows");
  std::int64_t* code;
  auto codes = make_array<std::int64_t>({n}, code);
  Distinct distinct;
  std::vector<std::string_view> known_texts;
  std::string_view text;
  auto same = [&](std::size_t known, std::size_t) { return known_texts[known] == text; };
  for (std::size_t i = 0; i < n; ++i) {
    PyObject* item = PyList_GetItem(texts.ptr(), static_cast<Py_ssize_t>(i));  // borrowed; the list keeps it
    if (!item || !PyUnicode_Check(item)) return nb::none();
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(item, &size);
    if (!data) {
      PyErr_Clear();
      return nb::none();
    }
    text = {data, static_cast<std::size_t>(size)};
    code[i] = distinct.code(text_hash(text), i, same);
    if (distinct.first.size() > known_texts.size()) known_texts.push_back(text);
  }
  return nb::make_tuple(codes, places_of(distinct));
}

nb::bytes fingerprint_bytes(In1<std::uint8_t> bytes) {
  std::array<std::uint8_t, 32> out;
  {
    nb::gil_scoped_release release;
    out = fingerprint(view(bytes));
  }
  return nb::bytes(out.data(), out.size());
}

nb::bytes fingerprint_column(nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::device::cpu> words) {
  std::array<std::uint8_t, 32> out;
  {
    nb::gil_scoped_release release;
    out = fingerprint_words(words.data(), words.shape(0), static_cast<std::ptrdiff_t>(words.stride(0)));
  }
  return nb::bytes(out.data(), out.size());
}

}  // namespace

void bind(nb::module_& m) {
  m.def("fingerprint", &fingerprint_bytes, nb::arg("bytes").noconvert(), "A 256-bit fingerprint of bytes.");
  m.def("fingerprint_words", &fingerprint_column, nb::arg("words").noconvert(),
        "The fingerprint of eight-byte values, as that of their little-endian bytes.");
  m.def("extent", &extent_of_values, nb::arg("values").noconvert(), "The lowest and the highest value.");
  m.def("confusion", &confusion_of, nb::arg("truth").noconvert(), nb::arg("prediction").noconvert(), nb::arg("low"),
        nb::arg("size"), "Counts of (truth, prediction) for values from `low` on; None where one lies outside.");
  m.def("factor_rows", &factor_rows, nb::arg("rows").noconvert(),
        "Codes of fixed-width rows of characters, and the place where each distinct row stands first.");
  m.def("factor_texts", &factor_texts, nb::arg("texts"),
        "The same of a list of strings; None where it holds anything else.");
}

}  // namespace steelyard::labels_binding
