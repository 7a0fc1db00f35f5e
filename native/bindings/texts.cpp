// From Python's strings and numbers to flat columns of ids.
//
// Ten million strings taken one by one in Python cost seconds, here a tenth of one. These kernels hold the GIL, keep no
// reference, and turn away (by row number) what is not a string, so that the caller can say where it stands. RunsView
// of equal texts, as a column of queries has them, are stored once.
#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include <nanobind/stl/variant.h>

#include "arrays.hpp"
#include "support/memory.hpp"
#include "python_ids.hpp"
#include "rankings/id_columns.hpp"

namespace steelyard::texts_binding {
namespace {

struct Column {
  Buffer<std::uint8_t> text;
  Buffer<std::uint64_t> place, key;

  void reserve(std::size_t rows) {
    place.reserve(rows);
    key.reserve(rows);
    text.reserve(10 * rows);
  }
  void add(std::string_view id) {
    place.push(make_place(text.size(), id.size()));
    key.push(text_key(id.data(), id.size()));
    text.append(reinterpret_cast<const std::uint8_t*>(id.data()), id.size());
  }
  const char* chars() const { return reinterpret_cast<const char*>(text.data()); }
  nb::tuple arrays() { return nb::make_tuple(release(text), release(place), release(key)); }
};

// A numpy array of objects through the buffer protocol; closed on every way out.
class ObjectArray {
 public:
  explicit ObjectArray(nb::handle array) {
    if (PyObject_GetBuffer(array.ptr(), &view_, PyBUF_FORMAT | PyBUF_ND | PyBUF_C_CONTIGUOUS) != 0) {
      throw nb::python_error();
    }
    if (view_.ndim != 1 || !view_.format || std::string(view_.format) != "O") {
      PyBuffer_Release(&view_);
      throw std::invalid_argument("an array of objects with one dimension is expected");
    }
  }
  ObjectArray(const ObjectArray&) = delete;
  ObjectArray& operator=(const ObjectArray&) = delete;
  ~ObjectArray() { PyBuffer_Release(&view_); }
  std::size_t size() const { return static_cast<std::size_t>(view_.shape[0]); }
  PyObject* operator[](std::size_t i) const { return static_cast<PyObject**>(view_.buf)[i]; }

 private:
  Py_buffer view_;
};

// (text, place, key), or the number of the first row that has no id.
Result<std::variant<std::int64_t, Tuple<Out<std::uint8_t>, Out<std::uint64_t>, Out<std::uint64_t>>>> pack_objects(
    nb::handle array) {
  ObjectArray objects(array);
  Column column;
  column.reserve(objects.size());
  for (std::size_t i = 0; i < objects.size(); ++i) {
    std::string_view id;
    if (!read_id(objects[i], id)) return nb::int_(i);
    column.add(id);
  }
  return column.arrays();
}

// As pack_objects, with runs of equal ids stored once, and the row where each run begins.
Result<std::variant<std::int64_t,
                    Tuple<Tuple<Out<std::uint8_t>, Out<std::uint64_t>, Out<std::uint64_t>>, Out<std::int64_t>>>>
pack_runs(nb::handle array) {
  ObjectArray objects(array);
  Column column;
  Buffer<std::int64_t> rows;
  const PyObject* before = nullptr;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (before && objects[i] == before) continue;
    std::string_view id;
    if (!read_id(objects[i], id)) return nb::int_(i);
    before = objects[i];
    const std::size_t n = column.place.size();
    if (n > 0 && text_at(column.chars(), column.place[n - 1]) == id) continue;
    column.add(id);
    rows.push(static_cast<std::int64_t>(i));
  }
  return nb::make_tuple(column.arrays(), release(rows));
}

Tuple<Out<std::uint8_t>, Out<std::uint64_t>, Out<std::uint64_t>> pack_integers(In1<std::int64_t> values) {
  Column column;
  column.reserve(values.shape(0));
  char digits[24];
  for (std::size_t i = 0; i < values.shape(0); ++i) {
    const char* end = std::to_chars(digits, digits + sizeof digits, values.data()[i]).ptr;
    column.add({digits, static_cast<std::size_t>(end - digits)});
  }
  return column.arrays();
}

// {query: {document: number}} as (ids, numbers, starts), or (query, document) of what is neither id nor number.
Result<
    std::variant<Tuple<nb::object, nb::object>, Tuple<Tuple<Out<std::uint8_t>, Out<std::uint64_t>, Out<std::uint64_t>>,
                                                      Out<double>, Out<std::int64_t>>>>
pack_nested(nb::dict nested) {
  Column column;
  Buffer<double> values;
  Buffer<std::int64_t> starts;
  DictEntries entries;
  PyObject *query, *documents;
  Py_ssize_t outer = 0;
  std::size_t rows = 0;
  while (PyDict_Next(nested.ptr(), &outer, &query, &documents)) {
    if (Py_TYPE(documents) != &PyDict_Type) return nb::make_tuple(nb::borrow<nb::object>(query), nb::none());
    rows += static_cast<std::size_t>(PyDict_Size(documents));
  }
  column.reserve(rows);
  values.reserve(rows);
  outer = 0;
  while (PyDict_Next(nested.ptr(), &outer, &query, &documents)) {
    starts.push(static_cast<std::int64_t>(values.size()));
    const std::size_t n = entries.gather(documents, static_cast<std::size_t>(PyDict_Size(documents)));
    for (std::size_t i = 0; i < n; ++i) {
      entries.fetch(i);
      std::string_view id;
      double number;
      if (!read_number(entries.value(i), number) || !read_id(entries.key(i), id)) {
        return nb::make_tuple(nb::borrow<nb::object>(query), nb::borrow<nb::object>(entries.key(i)));
      }
      column.add(id);
      values.push(number);
    }
  }
  starts.push(static_cast<std::int64_t>(values.size()));
  return nb::make_tuple(column.arrays(), release(values), release(starts));
}

Result<std::variant<std::int64_t, Tuple<Out<std::uint64_t>, Out<std::uint64_t>>>> pack_offsets(
    In1<std::uint8_t> text, In1<std::int64_t> offsets) {
  require(offsets.shape(0) >= 1, "the offsets must be one more than the ids");
  const std::size_t n = offsets.shape(0) - 1;
  Buffer<std::uint64_t> place(n), key(n);
  std::size_t good = 0;
  {
    nb::gil_scoped_release release;
    good = find_ids(view(text), view(offsets), place.data(), key.data());
  }
  if (good < n) return nb::int_(good);
  return nb::make_tuple(release(place), release(key));
}

Out<std::int64_t> runs_of(In1<std::uint8_t> text, In1<std::uint64_t> place, In1<std::uint64_t> key) {
  Buffer<std::int64_t> rows;
  text_runs(make_texts(view(text), view(place), view(key)), place.shape(0), rows);
  return release(rows);
}

}  // namespace

void bind(nb::module_& m) {
  m.def("pack_objects", &pack_objects, nb::arg("array"),
        "Ids of an object array of strings: (text, place, key), or the first row that holds none.");
  m.def("pack_runs", &pack_runs, nb::arg("array"),
        "As pack_objects, with runs of equal ids stored once, and the row where each run begins.");
  m.def("pack_integers", &pack_integers, nb::arg("values").noconvert(), "Integers as ids, in decimal digits.");
  m.def("pack_nested", &pack_nested, nb::arg("nested"),
        "Ids, numbers and starts of {query: {document: number}}; or (query, document) of what is wrong.");
  m.def("pack_offsets", &pack_offsets, nb::arg("text").noconvert(), nb::arg("offsets").noconvert(),
        "Places and keys of ids that lie one after the other in a text; or the first row that holds none.");
  m.def("text_runs", &runs_of, nb::arg("text").noconvert(), nb::arg("place").noconvert(), nb::arg("key").noconvert(),
        "Rows where the id differs from the one before.");
}

}  // namespace steelyard::texts_binding
