// Tables for data frames of any library, as a stream of Arrow's C interface.
#include <nanobind/nanobind.h>

#include <cmath>
#include <memory>
#include <string>
#include <string_view>

#include "support/arrow.hpp"

namespace nb = nanobind;

namespace steelyard::arrow_binding {
namespace {

constexpr const char* kStream = "arrow_array_stream";

void free_stream(PyObject* capsule) noexcept {
  auto* stream = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule, kStream));
  if (!stream) {
    PyErr_Clear();
    return;
  }
  if (stream->release) stream->release(stream);  // nobody took it
  delete stream;
}

std::string_view text_of(nb::handle value) {
  if (!nb::isinstance<nb::str>(value)) throw nb::type_error("a text is expected");
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
  if (!text) throw nb::python_error();
  return {text, static_cast<std::size_t>(size)};
}

// Cells of one kind: 'u' texts, 'g' numbers (nan is null), 'l' counts; None is null.
ArrowColumn column_of(const std::string& name, char kind, nb::list cells) {
  ArrowColumn column(name, kind);
  for (nb::handle cell : cells) {
    if (cell.is_none()) {
      column.add_null();
    } else if (kind == 'u') {
      const std::string_view text = text_of(cell);
      column.add_text(text.data(), text.size());
    } else if (kind == 'g') {
      double value = 0;
      if (!nb::try_cast<double>(cell, value)) throw nb::type_error("a number is expected");
      if (std::isnan(value)) column.add_null();
      else column.add_number(value);
    } else {
      int64_t count = 0;
      if (!nb::try_cast<int64_t>(cell, count)) throw nb::type_error("a count of 64 bits is expected");
      column.add_count(count);
    }
  }
  return column;
}

nb::object stream_of(nb::list names, nb::list kinds, nb::list columns) {
  if (nb::len(names) != nb::len(columns) || nb::len(kinds) != nb::len(columns))
    throw nb::value_error("names, kinds and columns differ in number");
  std::vector<ArrowColumn> table;
  for (size_t i = 0; i < nb::len(columns); ++i) {
    const std::string_view kind = text_of(kinds[i]);
    if (kind != "u" && kind != "g" && kind != "l") throw nb::value_error("a kind is 'u', 'g' or 'l'");
    if (!nb::isinstance<nb::list>(columns[i])) throw nb::type_error("a column is a list");
    table.push_back(column_of(std::string(text_of(names[i])), kind[0], nb::cast<nb::list>(columns[i])));
  }
  ArrowArrayStream* stream = arrow_stream(std::move(table));
  PyObject* capsule = PyCapsule_New(stream, kStream, free_stream);
  if (!capsule) {
    stream->release(stream);
    delete stream;
    throw nb::python_error();
  }
  return nb::steal(capsule);
}

}  // namespace

void bind(nb::module_& m) {
  m.def("arrow_stream", &stream_of, nb::arg("names"), nb::arg("kinds"), nb::arg("columns"),
        "A table as a capsule 'arrow_array_stream'. kinds: 'u' texts, 'g' numbers, 'l' counts; None and nan are null.");
}

}  // namespace steelyard::arrow_binding
