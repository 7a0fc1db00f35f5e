// Python's strings and numbers, read without running Python code, so that nothing can change under our feet.
#pragma once

#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include <nanobind/nanobind.h>

#include "support/memory.hpp"
#include "rankings/texts.hpp"

namespace steelyard {

// A string's UTF-8 without blanks around it; false if it is not a string, has no UTF-8 form, is empty or too long.
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

// The entries of a dict. Its keys and values lie all over memory: their addresses are gathered first, so that what is
// to be read soon can be fetched ahead.
class DictEntries {
 public:
  // Gathers `n` entries at most, and gives how many there are.
  std::size_t gather(PyObject* dict, std::size_t n) {
    entries_.resize(2 * (n + kAhead), nullptr);
    Py_ssize_t at = 0;
    std::size_t count = 0;
    while (count < n && PyDict_Next(dict, &at, &entries_[2 * count], &entries_[2 * count + 1])) ++count;
    return count;
  }
  PyObject* key(std::size_t i) const { return entries_[2 * i]; }
  PyObject* value(std::size_t i) const { return entries_[2 * i + 1]; }
  // To be called before the i-th is read.
  void fetch(std::size_t i) const {
    fetch_ahead(entries_[2 * (i + kAhead)]);
    fetch_ahead(entries_[2 * (i + kAhead) + 1]);
  }

 private:
  static constexpr std::size_t kAhead = 12;  // entries

  std::vector<PyObject*> entries_;
};

}  // namespace steelyard
