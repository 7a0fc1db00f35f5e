// Ten million labels are two sequential reads and a table of small counters that stays in cache; nothing as long as
// the columns is written.
#include "labels/labels.hpp"

#include <algorithm>
#include <vector>

#include "labels/distinct.hpp"

namespace steelyard {

std::pair<std::int64_t, std::int64_t> extent(View<std::int64_t> values) {
  std::int64_t low = values[0], high = low;
  for (std::int64_t x : values) {
    low = std::min(low, x);
    high = std::max(high, x);
  }
  return {low, high};
}

// The counters that the loop touches are bytes, so that a thousand classes' cells fit into the second cache; one that
// runs over carries 256 into the result.
bool confusion(View<std::int64_t> truth, View<std::int64_t> prediction, std::int64_t low, std::size_t size,
               std::int64_t* out) {
  std::vector<std::uint8_t> cells(size * size, 0);
  const std::int64_t *t = truth.data(), *p = prediction.data();
  const auto from = static_cast<std::uint64_t>(low);
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const std::uint64_t a = static_cast<std::uint64_t>(t[i]) - from, b = static_cast<std::uint64_t>(p[i]) - from;
    if (a >= size || b >= size) return false;
    const std::size_t cell = a * size + b;
    if (++cells[cell] == 0) out[cell] += 256;
  }
  for (std::size_t c = 0; c < cells.size(); ++c) out[c] += cells[c];
  return true;
}

void code_rows(Matrix<std::uint32_t> rows, Distinct& distinct, std::int64_t* code) {
  auto same = [&](std::size_t known, std::size_t row) {
    const std::size_t size = rows.columns * sizeof(std::uint32_t);
    return std::memcmp(rows.row(static_cast<std::size_t>(distinct.first[known])), rows.row(row), size) == 0;
  };
  for (std::size_t i = 0; i < rows.rows; ++i) {
    const std::uint32_t* row = rows.row(i);
    std::uint64_t h = kGolden;
    for (std::size_t j = 0; j < rows.columns && row[j]; j += 2) {  // two characters at a time; zeros pad the rest
      h = stir(h, row[j] | (j + 1 < rows.columns ? std::uint64_t{row[j + 1]} << 32 : 0));
    }
    code[i] = distinct.code(mix64(h), i, same);
  }
}

}  // namespace steelyard
