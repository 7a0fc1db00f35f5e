// Python's strings and numbers, read without running Python code, so that nothing can change under our feet.
#pragma once

#include <cmath>
#include <limits>
#include <string_view>

#include <nanobind/nanobind.h>

#include "texts.hpp"

namespace steelyard {

// A string's UTF-8 without blanks around it; false where it is no string, has no UTF-8 form, is empty or too long.
// `trimmed` becomes true where there were blanks.
inline bool read_id(PyObject* object, std::string_view& out, bool& trimmed) {
  if (!object || (Py_TYPE(object) != &PyUnicode_Type && !PyUnicode_Check(object))) return false;
  Py_ssize_t size;
  const char* data = PyUnicode_AsUTF8AndSize(object, &size);
  if (!data) {
    PyErr_Clear();
    return false;
  }
  const Py_ssize_t whole = size;
  while (size > 0 && is_blank(data[0])) ++data, --size;
  while (size > 0 && is_blank(data[size - 1])) --size;
  trimmed |= size != whole;
  out = {data, static_cast<std::size_t>(size)};
  return size > 0 && out.size() <= kLongestId;
}

inline bool read_id(PyObject* object, std::string_view& out) {
  bool trimmed = false;
  return read_id(object, out, trimmed);
}

// A float or an integer; false where it is neither, or not finite.
inline bool read_number(PyObject* object, double& out) {
  if (Py_TYPE(object) == &PyFloat_Type || PyFloat_Check(object)) {
    out = PyFloat_AsDouble(object);
  } else if (PyLong_Check(object) && !PyBool_Check(object)) {
    out = PyLong_AsDouble(object);
    if (out == -1.0 && PyErr_Occurred()) {
      PyErr_Clear();
      return false;
    }
  } else {
    return false;
  }
  return std::isfinite(out);
}

}  // namespace steelyard
