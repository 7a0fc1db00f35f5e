// Counting labels: the confusion matrix of two integer columns, and codes of labels that are text.
//
// Ten million labels are two sequential reads and a table of small counters that stays in cache; nothing as long as
// the columns is written. Text comes as numpy's fixed-width rows of characters, or as Python strings: a small hash
// table holds the first row of each distinct text, so equal rows are found without making or hashing Python strings.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "arrays.hpp"
#include "random.hpp"

namespace steelyard {
namespace {

// Lowest and highest value.
nb::tuple extent(In1<std::int64_t> values) {
  const std::size_t n = values.shape(0);
  require(n > 0, "there are no values");
  std::int64_t low = values.data()[0], high = low;
  {
    nb::gil_scoped_release release;
    const std::int64_t* x = values.data();
    for (std::size_t i = 0; i < n; ++i) {
      low = std::min(low, x[i]);
      high = std::max(high, x[i]);
    }
  }
  return nb::make_tuple(low, high);
}

constexpr std::size_t kMostCells = std::size_t{1} << 26;

// Counts of (truth, prediction), values from `low` to `low + size - 1`; None where a value lies outside.
//
// The counters that the loop touches are bytes, so that a thousand classes' cells fit into the second cache; one that
// runs over carries 256 into the result.
nb::object confusion(In1<std::int64_t> truth, In1<std::int64_t> prediction, std::int64_t low, std::size_t size) {
  const std::size_t n = truth.shape(0);
  require(prediction.shape(0) == n, "truth and prediction must be as many");
  require(size > 0 && size <= 8192 && size * size <= kMostCells, "too many classes to count in a table");
  std::int64_t* out;
  auto result = make_array<std::int64_t>({size, size}, out);
  bool inside = true;
  {
    nb::gil_scoped_release release;
    std::vector<std::uint8_t> cells(size * size, 0);
    const std::int64_t *t = truth.data(), *p = prediction.data();
    const auto from = static_cast<std::uint64_t>(low);
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t a = static_cast<std::uint64_t>(t[i]) - from, b = static_cast<std::uint64_t>(p[i]) - from;
      if (a >= size || b >= size) {
        inside = false;
        break;
      }
      const std::size_t cell = a * size + b;
      if (++cells[cell] == 0) out[cell] += 256;
    }
    for (std::size_t c = 0; c < cells.size(); ++c) out[c] += cells[c];
  }
  return inside ? nb::cast(result) : nb::none();
}

// Distinct texts by an open hash table of their places; `same(a, i)` says whether row i repeats the a-th distinct one.
class Distinct {
 public:
  std::vector<std::int64_t> first;  // where each distinct text stands first

  template <typename Same>
  std::int64_t code(std::uint64_t hash, std::size_t row, Same same) {
    std::size_t slot = hash & (table_.size() - 1);
    for (; table_[slot] >= 0; slot = (slot + 1) & (table_.size() - 1)) {
      const auto known = static_cast<std::size_t>(table_[slot]);
      if (hashes_[known] == hash && same(known, row)) return table_[slot];
    }
    const auto fresh = static_cast<std::int32_t>(first.size());
    table_[slot] = fresh;
    first.push_back(static_cast<std::int64_t>(row));
    hashes_.push_back(hash);
    if (2 * first.size() > table_.size()) grow();
    return fresh;
  }

 private:
  void grow() {
    std::vector<std::int32_t> larger(4 * table_.size(), -1);
    for (std::size_t k = 0; k < hashes_.size(); ++k) {
      std::size_t place = hashes_[k] & (larger.size() - 1);
      while (larger[place] >= 0) place = (place + 1) & (larger.size() - 1);
      larger[place] = static_cast<std::int32_t>(k);
    }
    table_.swap(larger);
  }

  std::vector<std::int32_t> table_ = std::vector<std::int32_t>(1024, -1);
  std::vector<std::uint64_t> hashes_;
};

Out<std::int64_t> places_of(const Distinct& distinct) {
  std::int64_t* place;
  auto places = make_array<std::int64_t>({distinct.first.size()}, place);
  std::copy(distinct.first.begin(), distinct.first.end(), place);
  return places;
}

inline std::uint64_t stir(std::uint64_t h, std::uint64_t word) {
  h = (h ^ word) * 0x9FB21C651E98DF25ull;
  return h ^ (h >> 29);
}

// Codes of fixed-width rows in the order of their first appearance, and the place of each distinct row.
nb::tuple factor_rows(In2<std::uint32_t> rows) {
  const std::size_t n = rows.shape(0), width = rows.shape(1);
  require(n < (std::size_t{1} << 31), "too many rows");
  std::int64_t* code;
  auto codes = make_array<std::int64_t>({n}, code);
  Distinct distinct;
  {
    nb::gil_scoped_release release;
    const std::uint32_t* x = rows.data();
    auto same = [&](std::size_t known, std::size_t row) {
      const std::size_t size = width * sizeof(std::uint32_t);
      return std::memcmp(x + static_cast<std::size_t>(distinct.first[known]) * width, x + row * width, size) == 0;
    };
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t* row = x + i * width;
      std::uint64_t h = kGolden;
      for (std::size_t j = 0; j < width && row[j]; j += 2) {  // two characters at a time; zeros pad the rest
        h = stir(h, row[j] | (j + 1 < width ? std::uint64_t{row[j + 1]} << 32 : 0));
      }
      code[i] = distinct.code(mix64(h), i, same);
    }
  }
  return nb::make_tuple(codes, places_of(distinct));
}

// The same of a list of Python strings; None where it holds anything else (or half a surrogate pair).
nb::object factor_texts(nb::list texts) {
  const std::size_t n = texts.size();
  require(n < (std::size_t{1} << 31), "too many rows");
  std::int64_t* code;
  auto codes = make_array<std::int64_t>({n}, code);
  Distinct distinct;
  struct Text {
    const char* data;
    Py_ssize_t size;
  };
  std::vector<Text> known_texts;
  Text text{};
  auto same = [&](std::size_t known, std::size_t) {
    return known_texts[known].size == text.size &&
           std::memcmp(known_texts[known].data, text.data, static_cast<std::size_t>(text.size)) == 0;
  };
  for (std::size_t i = 0; i < n; ++i) {
    PyObject* item = PyList_GetItem(texts.ptr(), static_cast<Py_ssize_t>(i));  // borrowed; the list keeps it
    if (!item || !PyUnicode_Check(item)) return nb::none();
    text.data = PyUnicode_AsUTF8AndSize(item, &text.size);
    if (!text.data) {
      PyErr_Clear();
      return nb::none();
    }
    std::uint64_t h = kGolden ^ static_cast<std::uint64_t>(text.size);
    const auto size = static_cast<std::size_t>(text.size);
    std::size_t j = 0;
    for (; j + 8 <= size; j += 8) {
      std::uint64_t word;
      std::memcpy(&word, text.data + j, 8);
      h = stir(h, word);
    }
    std::uint64_t rest = 0;
    std::memcpy(&rest, text.data + j, size - j);
    code[i] = distinct.code(mix64(stir(h, rest)), i, same);
    if (distinct.first.size() > known_texts.size()) known_texts.push_back(text);
  }
  return nb::make_tuple(codes, places_of(distinct));
}

// A 256-bit fingerprint of bytes: four lanes of multiply and rotate over interleaved words, then mixed together. Sees
// every change that is not made on purpose to escape it, at the speed of memory.
class Fingerprint {
 public:
  void eat(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
    turn(0, a);
    turn(1, b);
    turn(2, c);
    turn(3, d);
  }
  // To be called once, with the number of bytes in all.
  nb::bytes end(std::size_t n) {
    for (std::size_t round = 0; round < 2; ++round) {
      for (std::size_t l = 0; l < 4; ++l) lane_[l] = mix64(lane_[l] + lane_[(l + 1) % 4] * kGolden + n);
    }
    std::uint8_t out[32];
    for (std::size_t i = 0; i < 32; ++i) out[i] = static_cast<std::uint8_t>(lane_[i / 8] >> (8 * (i % 8)));
    return nb::bytes(out, sizeof out);
  }

 private:
  void turn(std::size_t l, std::uint64_t word) {
    lane_[l] = std::rotl((lane_[l] ^ word) * 0x9FB21C651E98DF25ull, 29);
  }
  std::uint64_t lane_[4] = {kGolden, 2 * kGolden, 3 * kGolden, 4 * kGolden};
};

nb::bytes fingerprint(In1<std::uint8_t> bytes) {
  const std::size_t n = bytes.shape(0);
  Fingerprint print;
  {
    nb::gil_scoped_release release;
    auto word = [](const std::uint8_t* x) {  // little-endian on every machine
      std::uint64_t w = 0;
      for (std::size_t b = 0; b < 8; ++b) w |= std::uint64_t{x[b]} << (8 * b);
      return w;
    };
    auto eat = [&](const std::uint8_t* x) { print.eat(word(x), word(x + 8), word(x + 16), word(x + 24)); };
    const std::uint8_t* x = bytes.data();
    std::size_t i = 0;
    for (; i + 32 <= n; i += 32) eat(x + i);
    std::uint8_t rest[32] = {};
    std::copy(x + i, x + n, rest);
    eat(rest);
  }
  return print.end(n);
}

// The same of a column of eight-byte values, wherever they lie.
nb::bytes fingerprint_words(nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::device::cpu> words) {
  const std::size_t n = words.shape(0);
  const auto step = static_cast<std::ptrdiff_t>(words.stride(0));
  Fingerprint print;
  {
    nb::gil_scoped_release release;
    const std::uint64_t* x = words.data();
    auto at = [&](std::size_t i) { return i < n ? x[static_cast<std::ptrdiff_t>(i) * step] : 0; };
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4) print.eat(at(i), at(i + 1), at(i + 2), at(i + 3));
    print.eat(at(i), at(i + 1), at(i + 2), at(i + 3));
  }
  return print.end(8 * n);
}

}  // namespace

void bind_labels(nb::module_& m) {
  m.def("fingerprint", &fingerprint, nb::arg("bytes").noconvert(), "A 256-bit fingerprint of bytes.");
  m.def("fingerprint_words", &fingerprint_words, nb::arg("words").noconvert(),
        "The fingerprint of eight-byte values, as that of their little-endian bytes.");
  m.def("extent", &extent, nb::arg("values").noconvert(), "The lowest and the highest value.");
  m.def("confusion", &confusion, nb::arg("truth").noconvert(), nb::arg("prediction").noconvert(), nb::arg("low"),
        nb::arg("size"), "Counts of (truth, prediction) for values from `low` on; None where one lies outside.");
  m.def("factor_rows", &factor_rows, nb::arg("rows").noconvert(),
        "Codes of fixed-width rows of characters, and the place where each distinct row stands first.");
  m.def("factor_texts", &factor_texts, nb::arg("texts"),
        "The same of a list of strings; None where it holds anything else.");
}

}  // namespace steelyard
