// See masks.hpp.
#include "masks.hpp"

#include <cmath>
#include <string>
#include <string_view>

#include "support/count_text.hpp"

namespace steelyard {

double number_of(nb::handle value, const char* what) {
  const double number = PyFloat_AsDouble(value.ptr());
  if (number == -1.0 && PyErr_Occurred()) {
    PyErr_Clear();
    throw std::invalid_argument(std::string(what) + " is not a number");
  }
  return number;
}

void numbers_of(nb::handle values, const char* what, std::vector<double>& out) {
  PyObject* list = values.ptr();
  if (PyList_Check(list)) {
    // The list may change under a number's own __float__: its length is asked for again at each step.
    for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
      const nb::object item = nb::borrow(PyList_GetItem(list, i));
      out.push_back(number_of(item, what));
    }
    return;
  }
  if (!PyTuple_Check(list)) throw std::invalid_argument(std::string(what) + " is not a list of numbers");
  for (Py_ssize_t i = 0, n = PyTuple_Size(list); i < n; ++i) out.push_back(number_of(PyTuple_GetItem(list, i), what));
}

namespace {

nb::object entry(nb::handle dict, const char* key) {
  PyObject* found = PyDict_GetItemString(dict.ptr(), key);
  if (!found) throw std::invalid_argument(std::string("a mask lacks '") + key + "'");
  return nb::borrow(found);
}

std::string_view text_of(nb::handle value) {
  Py_ssize_t size = 0;
  if (PyUnicode_Check(value.ptr())) {
    const char* data = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
    if (!data) {
      PyErr_Clear();
      throw std::invalid_argument("the counts hold a character that is none of theirs");
    }
    return {data, static_cast<std::size_t>(size)};
  }
  char* data = nullptr;
  if (PyBytes_AsStringAndSize(value.ptr(), &data, &size) != 0) {
    PyErr_Clear();
    throw std::invalid_argument("the counts are neither a text nor a list");
  }
  return {data, static_cast<std::size_t>(size)};
}

}  // namespace

RunsView packed_of(nb::handle value, bool counted) {
  char* data = nullptr;
  Py_ssize_t size = 0;
  require(PyBytes_Check(value.ptr()) && PyBytes_AsStringAndSize(value.ptr(), &data, &size) == 0,
          "a mask is not packed");
  require(size >= static_cast<Py_ssize_t>(4 * kPackedHead) && size % 4 == 0 &&
              reinterpret_cast<std::uintptr_t>(data) % 4 == 0,
          "a packed mask is broken");
  const auto* words = reinterpret_cast<const std::uint32_t*>(data);
  const std::size_t n = static_cast<std::size_t>(size) / 4 - kPackedHead;
  check_size(words[0], words[1]);
  const Extent extent = packed_extent(words);
  require(extent.left <= extent.right && extent.right <= words[1] && extent.top <= extent.low &&
              extent.low <= words[0] && extent.area <= words[0] * words[1],
          "the extent of a packed mask is not inside it");
  if (counted) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += words[kPackedHead + i];
    require(sum == std::uint64_t{words[0]} * words[1], "the counts of a packed mask do not add up to its size");
  }
  return RunsView(words[0], words[1], words + kPackedHead, n);
}

Rle mask_of(nb::handle value) {
  if (PyBytes_Check(value.ptr())) {
    const RunsView mask = packed_of(value);
    return {mask.height, mask.width, std::vector<std::uint32_t>(mask.counts, mask.counts + mask.size)};
  }
  if (!PyDict_Check(value.ptr())) throw std::invalid_argument("a mask must be a dict with 'size' and 'counts'");
  const nb::object size = entry(value, "size"), counts = entry(value, "counts");
  std::vector<double> sides;
  numbers_of(size, "a mask's size", sides);
  if (sides.size() != 2)
    throw std::invalid_argument("a mask's size has " + count_text(sides.size(), "number") + ", not 2");
  for (double side : sides) {
    if (!(side == std::floor(side)) || std::fabs(side) > 9e15)
      throw std::invalid_argument("a mask's size is not whole");
  }
  const long long height = static_cast<long long>(sides[0]), width = static_cast<long long>(sides[1]);
  if (!PyList_Check(counts.ptr()) && !PyTuple_Check(counts.ptr())) return rle_from_text(text_of(counts), height, width);
  check_size(height, width);
  std::vector<double> numbers;
  numbers_of(counts, "a count", numbers);
  Rle rle{static_cast<std::uint32_t>(height), static_cast<std::uint32_t>(width), {}};
  rle.counts.reserve(numbers.size());
  for (double number : numbers) {
    if (!(number >= 0 && number <= 4294967295.0) || number != std::floor(number)) {
      throw std::invalid_argument("a count is not a whole number from 0 to 2^32");
    }
    rle.counts.push_back(static_cast<std::uint32_t>(number));
  }
  check_counts(rle);
  return rle;
}

std::string_view mask_text(nb::handle value) {
  PyObject* counts = PyDict_Check(value.ptr()) ? PyDict_GetItemString(value.ptr(), "counts") : nullptr;
  if (counts == nullptr || !(PyUnicode_Check(counts) || PyBytes_Check(counts))) return {};
  return text_of(counts);
}

nb::bytes packed(const Rle& rle) {
  std::vector<std::uint32_t> words(kPackedHead);
  pack_head(words.data(), rle, extent_of(rle));
  words.insert(words.end(), rle.counts.begin(), rle.counts.end());
  return nb::bytes(reinterpret_cast<const char*>(words.data()), words.size() * 4);
}

nb::dict as_coco(const Rle& rle) {
  const std::string text = rle_to_text(rle);
  nb::list size;
  size.append(rle.height);
  size.append(rle.width);
  nb::dict out;
  out["size"] = size;
  out["counts"] = nb::bytes(text.data(), text.size());
  return out;
}

std::vector<Rle> masks_of(nb::list list) {
  std::vector<Rle> masks;
  masks.reserve(nb::len(list));
  for (nb::handle item : list) masks.push_back(mask_of(item));
  return masks;
}

}  // namespace steelyard
