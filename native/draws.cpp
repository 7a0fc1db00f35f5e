// Totals of unit columns under random unit weights: the bootstrap and the paired randomisation test.
//
// The matrix draws x units is never held. A task is a block of draws; it walks the units in blocks that stay in cache,
// makes the weights of that block and multiplies them with the columns at once. Each total is added up in the order
// of the units, whatever the number of threads, so the result is a function of the arguments alone.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

#include <nanobind/stl/optional.h>

#include "arrays.hpp"
#include "poisson.hpp"
#include "pool.hpp"
#include "random.hpp"

namespace steelyard {
namespace {

constexpr std::size_t kDrawBlock = 32;   // even: two draws share one random word
constexpr std::size_t kUnitBlock = 256;
constexpr std::size_t kColumnBlock = 8;  // totals kept in registers

enum class Purpose : std::uint64_t { bootstrap = 1, flip = 2 };

// Weights of kDrawBlock draws from `first` (a multiple of kDrawBlock) for the units of one block, [draw][unit].
using WeightBlock = std::array<std::array<double, kUnitBlock>, kDrawBlock>;

// Makes the weights of units `start` .. `start + units` for kDrawBlock draws.
struct PoissonMaker {
  static constexpr Purpose purpose = Purpose::bootstrap;
  PoissonTables tables;  // empty where every unit is a row of its own
  void operator()(const std::uint64_t* streams, std::size_t start, std::size_t units, std::size_t first,
                  WeightBlock& out) const;
  // The same as [unit][draw].
  void by_unit(const std::uint64_t* streams, std::size_t start, std::size_t units, std::size_t first,
               double* out) const;
};

struct FlipMaker {
  static constexpr Purpose purpose = Purpose::flip;
  void operator()(const std::uint64_t* streams, std::size_t start, std::size_t units, std::size_t first,
                  WeightBlock& out) const;
  // The same as [unit][draw].
  void by_unit(const std::uint64_t* streams, std::size_t start, std::size_t units, std::size_t first,
               double* out) const;
};

void poisson_block(const std::uint64_t* streams, std::size_t units, std::size_t first, WeightBlock& out) {
  static constexpr auto thresholds = poisson_thresholds();
  std::array<std::uint32_t, kUnitBlock> even, odd;
  for (std::size_t d = 0; d < kDrawBlock; d += 2) {
    const std::uint64_t counter = kGolden * ((first + d) / 2 + 1);
    for (std::size_t u = 0; u < units; ++u) {
      const std::uint64_t bits = mix64(streams[u] + counter);
      even[u] = static_cast<std::uint32_t>(bits);
      odd[u] = static_cast<std::uint32_t>(bits >> 32);
    }
    auto count = [&](const std::array<std::uint32_t, kUnitBlock>& bits, std::array<double, kUnitBlock>& row) {
      for (std::size_t u = 0; u < units; ++u) {
        std::uint32_t n = 0;
        for (std::uint32_t t : thresholds) n += bits[u] >= t;
        row[u] = static_cast<double>(n);
      }
    };
    count(even, out[d]);
    count(odd, out[d + 1]);
  }
}

void PoissonMaker::operator()(const std::uint64_t* streams, std::size_t start, std::size_t units, std::size_t first,
                              WeightBlock& out) const {
  if (tables.empty()) return poisson_block(streams, units, first, out);
  std::array<double, kDrawBlock> drawn;
  for (std::size_t u = 0; u < units; ++u) {
    tables.draw(start + u, streams[u], first, drawn.data(), kDrawBlock);
    for (std::size_t d = 0; d < kDrawBlock; ++d) out[d][u] = drawn[d];
  }
}

void FlipMaker::operator()(const std::uint64_t* streams, std::size_t, std::size_t units, std::size_t first,
                           WeightBlock& out) const {
  for (std::size_t u = 0; u < units; ++u) {
    const std::uint64_t bits = mix64(streams[u] + kGolden * (first / 64 + 1)) >> (first % 64);
    for (std::size_t d = 0; d < kDrawBlock; ++d) out[d][u] = static_cast<double>((bits >> d) & 1u);
  }
}

void turn(const WeightBlock& block, std::size_t units, double* out) {
  for (std::size_t d = 0; d < kDrawBlock; ++d) {
    for (std::size_t u = 0; u < units; ++u) out[u * kDrawBlock + d] = block[d][u];
  }
}

void PoissonMaker::by_unit(const std::uint64_t* streams, std::size_t start, std::size_t units, std::size_t first,
                           double* out) const {
  if (tables.empty()) {
    auto block = std::make_unique<WeightBlock>();
    poisson_block(streams, units, first, *block);
    return turn(*block, units, out);
  }
  for (std::size_t u = 0; u < units; ++u) {
    tables.draw(start + u, streams[u], first, out + u * kDrawBlock, kDrawBlock);
  }
}

void FlipMaker::by_unit(const std::uint64_t* streams, std::size_t start, std::size_t units, std::size_t first,
                        double* out) const {
  auto block = std::make_unique<WeightBlock>();
  (*this)(streams, start, units, first, *block);
  turn(*block, units, out);
}

template <typename Maker>
Out<double> totals(In1<std::uint64_t> keys, In2<double> columns, std::uint64_t seed, std::uint64_t first,
                   std::size_t count, long threads, const Maker& make_block) {
  const std::size_t n = keys.shape(0), k = columns.shape(1);
  require(columns.shape(0) == n, "columns must have one row for each key");
  require(first % kDrawBlock == 0, "the first draw must be a multiple of 32");
  require(count <= (std::size_t{1} << 32), "too many draws");
  double* out;
  auto result = make_array<double>({count, k}, out);
  if (count == 0 || k == 0 || n == 0) return result;

  const std::uint64_t* key = keys.data();
  const double* x = columns.data();
  const std::size_t blocks = (count + kDrawBlock - 1) / kDrawBlock;
  const std::size_t padded = (k + kColumnBlock - 1) / kColumnBlock * kColumnBlock;
  nb::gil_scoped_release release;
  parallel_for(blocks, thread_count(threads), [&](std::size_t block) {
    auto weights = std::make_unique<WeightBlock>();
    std::array<std::uint64_t, kUnitBlock> streams;
    std::vector<double> rows(kUnitBlock * padded, 0.0), sums(kDrawBlock * padded, 0.0);
    for (std::size_t start = 0; start < n; start += kUnitBlock) {
      const std::size_t units = std::min(kUnitBlock, n - start);
      for (std::size_t u = 0; u < units; ++u) {
        streams[u] = stream_of(key[start + u], seed, static_cast<std::uint64_t>(Maker::purpose));
        std::copy_n(x + (start + u) * k, k, rows.begin() + u * padded);
      }
      make_block(streams.data(), start, units, first + block * kDrawBlock, *weights);
      for (std::size_t d = 0; d < kDrawBlock; ++d) {
        const double* w = (*weights)[d].data();
        for (std::size_t c = 0; c < padded; c += kColumnBlock) {
          double acc[kColumnBlock];
          double* sum = sums.data() + d * padded + c;
          std::copy_n(sum, kColumnBlock, acc);
          const double* row = rows.data() + c;
          for (std::size_t u = 0; u < units; ++u, row += padded) {
            for (std::size_t j = 0; j < kColumnBlock; ++j) acc[j] += w[u] * row[j];
          }
          std::copy_n(acc, kColumnBlock, sum);
        }
      }
    }
    const std::size_t draws = std::min(kDrawBlock, count - block * kDrawBlock);
    for (std::size_t d = 0; d < draws; ++d) {
      std::copy_n(sums.begin() + d * padded, k, out + (block * kDrawBlock + d) * k);
    }
  });
  return result;
}

// Totals of columns that are mostly zero: each entry adds its value to one of `size` columns of its unit.
//
// A task is a block of draws. It keeps the totals as [column][draw], so that one entry adds a run of kDrawBlock
// weights; a unit's weights are made once for all of its entries.
template <typename Maker>
Out<double> scatter(In1<std::uint64_t> keys, In1<std::int64_t> owner, In1<std::int32_t> code, In1<double> value,
                    std::size_t size, std::uint64_t seed, std::uint64_t first, std::size_t count, long threads,
                    const Maker& make_block) {
  const std::size_t n = keys.shape(0), m = owner.shape(0);
  require(code.shape(0) == m, "each entry needs an owner and a code");
  require(value.shape(0) == m || value.shape(0) == 0, "each entry needs a value, or none has one");
  require(first % kDrawBlock == 0, "the first draw must be a multiple of 32");
  require(count <= (std::size_t{1} << 32), "too many draws");
  require(size <= (std::size_t{1} << 31), "too many columns");
  const std::int64_t* unit = owner.data();
  const std::int32_t* column = code.data();
  for (std::size_t e = 0; e < m; ++e) {
    require(unit[e] >= 0 && static_cast<std::size_t>(unit[e]) < n, "an owner is out of range");
    require(e == 0 || unit[e - 1] <= unit[e], "entries must stand in the order of their owners");
    require(column[e] >= 0 && static_cast<std::size_t>(column[e]) < size, "a code is out of range");
  }
  double* out;
  auto result = make_array<double>({count, size}, out);
  if (count == 0 || size == 0 || m == 0) return result;

  const std::uint64_t* key = keys.data();
  const double* x = value.shape(0) ? value.data() : nullptr;
  const std::size_t blocks = (count + kDrawBlock - 1) / kDrawBlock;
  nb::gil_scoped_release release;
  parallel_for(blocks, thread_count(threads), [&](std::size_t block) {
    std::array<std::uint64_t, kUnitBlock> streams;
    std::vector<double> turned(kUnitBlock * kDrawBlock), sums(size * kDrawBlock, 0.0);
    std::size_t e = 0;
    for (std::size_t start = 0; start < n && e < m; start += kUnitBlock) {
      const std::size_t units = std::min(kUnitBlock, n - start);
      for (std::size_t u = 0; u < units; ++u) {
        streams[u] = stream_of(key[start + u], seed, static_cast<std::uint64_t>(Maker::purpose));
      }
      make_block.by_unit(streams.data(), start, units, first + block * kDrawBlock, turned.data());
      for (; e < m && static_cast<std::size_t>(unit[e]) < start + units; ++e) {
        const double* w = turned.data() + (static_cast<std::size_t>(unit[e]) - start) * kDrawBlock;
        double* sum = sums.data() + static_cast<std::size_t>(column[e]) * kDrawBlock;
        if (x) {
          const double factor = x[e];
          for (std::size_t d = 0; d < kDrawBlock; ++d) sum[d] += w[d] * factor;
        } else {
          for (std::size_t d = 0; d < kDrawBlock; ++d) sum[d] += w[d];
        }
      }
    }
    const std::size_t draws = std::min(kDrawBlock, count - block * kDrawBlock);
    for (std::size_t d = 0; d < draws; ++d) {
      double* row = out + (block * kDrawBlock + d) * size;
      for (std::size_t c = 0; c < size; ++c) row[c] = sums[c * kDrawBlock + d];
    }
  });
  return result;
}

template <typename Maker>
Out<double> dense(In1<std::uint64_t> keys, std::uint64_t seed, std::uint64_t first, std::size_t count,
                  const Maker& make_block) {
  const std::size_t n = keys.shape(0);
  require(first % kDrawBlock == 0, "the first draw must be a multiple of 32");
  require(count <= (std::size_t{1} << 32), "too many draws");
  double* out;
  auto result = make_array<double>({count, n}, out);
  const std::uint64_t* key = keys.data();
  nb::gil_scoped_release release;
  auto weights = std::make_unique<WeightBlock>();
  std::array<std::uint64_t, kUnitBlock> streams;
  for (std::size_t start = 0; start < n; start += kUnitBlock) {
    const std::size_t units = std::min(kUnitBlock, n - start);
    for (std::size_t u = 0; u < units; ++u) {
      streams[u] = stream_of(key[start + u], seed, static_cast<std::uint64_t>(Maker::purpose));
    }
    for (std::size_t d0 = 0; d0 < count; d0 += kDrawBlock) {
      make_block(streams.data(), start, units, first + d0, *weights);
      const std::size_t draws = std::min(kDrawBlock, count - d0);
      for (std::size_t d = 0; d < draws; ++d) {
        std::copy_n((*weights)[d].begin(), units, out + (d0 + d) * n + start);
      }
    }
  }
  return result;
}

// The weights as bytes: (blocks of kDrawBlock draws, units, draws), so that a unit's weights lie side by side.
template <typename Maker>
Out<std::uint8_t> counts(In1<std::uint64_t> keys, std::uint64_t seed, std::uint64_t first, std::size_t count,
                         long threads, const Maker& make_block) {
  const std::size_t n = keys.shape(0), blocks = (count + kDrawBlock - 1) / kDrawBlock;
  require(first % kDrawBlock == 0, "the first draw must be a multiple of 32");
  require(count <= (std::size_t{1} << 32) && blocks * kDrawBlock * n <= (std::size_t{1} << 40), "too many draws");
  std::uint8_t* out;
  auto result = make_raw<std::uint8_t>({blocks, n, kDrawBlock}, out);
  const std::uint64_t* key = keys.data();
  nb::gil_scoped_release release;
  parallel_for(blocks, thread_count(threads), [&](std::size_t block) {
    auto weights = std::make_unique<WeightBlock>();
    std::array<std::uint64_t, kUnitBlock> streams;
    for (std::size_t start = 0; start < n; start += kUnitBlock) {
      const std::size_t units = std::min(kUnitBlock, n - start);
      for (std::size_t u = 0; u < units; ++u) {
        streams[u] = stream_of(key[start + u], seed, static_cast<std::uint64_t>(Maker::purpose));
      }
      make_block(streams.data(), start, units, first + block * kDrawBlock, *weights);
      std::uint8_t* to = out + (block * n + start) * kDrawBlock;
      for (std::size_t u = 0; u < units; ++u) {
        for (std::size_t d = 0; d < kDrawBlock; ++d) {
          to[u * kDrawBlock + d] = static_cast<std::uint8_t>((*weights)[d][u]);
        }
      }
    }
  });
  return result;
}

Out<std::uint64_t> unit_keys(nb::bytes text, In1<std::int64_t> ends) {
  const std::size_t n = ends.shape(0);
  const char* data = static_cast<const char*>(text.data());
  const std::int64_t size = static_cast<std::int64_t>(text.size());
  std::uint64_t* out;
  auto result = make_array<std::uint64_t>({n}, out);
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t end = ends.data()[i];
    require(begin <= end && end <= size, "the ends of the ids must rise and stay inside the text");
    out[i] = hash_bytes(data + begin, static_cast<std::size_t>(end - begin));
    begin = end;
  }
  return result;
}

// Keys of integer ids: those of their decimal texts, so that 7 and "7" are one unit.
Out<std::uint64_t> unit_keys_of_integers(In1<std::int64_t> ids) {
  const std::size_t n = ids.shape(0);
  std::uint64_t* out;
  auto result = make_array<std::uint64_t>({n}, out);
  nb::gil_scoped_release release;
  for (std::size_t i = 0; i < n; ++i) {
    char text[24];
    const auto end = std::to_chars(text, text + sizeof text, ids.data()[i]).ptr;
    out[i] = hash_bytes(text, static_cast<std::size_t>(end - text));
  }
  return result;
}

using Copies = std::optional<In1<std::int64_t>>;

PoissonMaker poisson_maker(In1<std::uint64_t> keys, const Copies& copies) {
  if (!copies) return PoissonMaker{PoissonTables(nullptr, 0)};
  require(copies->shape(0) == keys.shape(0), "each unit needs its copies");
  for (std::size_t u = 0; u < copies->shape(0); ++u) {
    require(copies->data()[u] >= 1 && copies->data()[u] <= kMostCopies, "a unit's copies are out of range");
  }
  return PoissonMaker{PoissonTables(copies->data(), copies->shape(0))};
}

}  // namespace

void bind_draws(nb::module_& m) {
  m.def("set_threads", &set_threads, nb::arg("count"),
        "Threads for calls that do not ask for a number, 0 for the machine's; gives what was set before.");
  m.def("unit_keys", &unit_keys, nb::arg("text"), nb::arg("ends").noconvert(),
        "64-bit keys of unit ids, given as one UTF-8 text and where each id ends in it.");
  m.def("unit_keys_of_integers", &unit_keys_of_integers, nb::arg("ids").noconvert(),
        "64-bit keys of integer ids: those of their decimal texts.");
  m.def(
      "poisson_totals",
      [](In1<std::uint64_t> keys, In2<double> columns, std::uint64_t seed, std::uint64_t first, std::size_t count,
         long threads, const Copies& copies) {
        return totals(keys, columns, seed, first, count, threads, poisson_maker(keys, copies));
      },
      nb::arg("keys").noconvert(), nb::arg("columns").noconvert(), nb::arg("seed"), nb::arg("first"),
      nb::arg("count"), nb::arg("threads") = 0, nb::arg("copies").noconvert() = nb::none(),
      "Column totals, one row a draw, under Poisson(1) weights of the units; Poisson(n) for n copies.");
  m.def(
      "flip_totals",
      [](In1<std::uint64_t> keys, In2<double> columns, std::uint64_t seed, std::uint64_t first, std::size_t count,
         long threads) { return totals(keys, columns, seed, first, count, threads, FlipMaker{}); },
      nb::arg("keys").noconvert(), nb::arg("columns").noconvert(), nb::arg("seed"), nb::arg("first"),
      nb::arg("count"), nb::arg("threads") = 0, "Column totals, one row a draw, under fair coin flips of the units.");
  m.def(
      "poisson_scatter",
      [](In1<std::uint64_t> keys, In1<std::int64_t> owner, In1<std::int32_t> code, In1<double> value,
         std::size_t size, std::uint64_t seed, std::uint64_t first, std::size_t count, long threads,
         const Copies& copies) {
        return scatter(keys, owner, code, value, size, seed, first, count, threads, poisson_maker(keys, copies));
      },
      nb::arg("keys").noconvert(), nb::arg("owner").noconvert(), nb::arg("code").noconvert(),
      nb::arg("value").noconvert(), nb::arg("size"), nb::arg("seed"), nb::arg("first"), nb::arg("count"),
      nb::arg("threads") = 0, nb::arg("copies").noconvert() = nb::none(),
      "Totals of entries by their code, one row a draw, under the weights of poisson_totals.");
  m.def(
      "flip_scatter",
      [](In1<std::uint64_t> keys, In1<std::int64_t> owner, In1<std::int32_t> code, In1<double> value,
         std::size_t size, std::uint64_t seed, std::uint64_t first, std::size_t count, long threads) {
        return scatter(keys, owner, code, value, size, seed, first, count, threads, FlipMaker{});
      },
      nb::arg("keys").noconvert(), nb::arg("owner").noconvert(), nb::arg("code").noconvert(),
      nb::arg("value").noconvert(), nb::arg("size"), nb::arg("seed"), nb::arg("first"), nb::arg("count"),
      nb::arg("threads") = 0, "Totals of entries by their code, one row a draw, under fair coin flips of the units.");
  m.def(
      "poisson_weights",
      [](In1<std::uint64_t> keys, std::uint64_t seed, std::uint64_t first, std::size_t count,
         const Copies& copies) { return dense(keys, seed, first, count, poisson_maker(keys, copies)); },
      nb::arg("keys").noconvert(), nb::arg("seed"), nb::arg("first"), nb::arg("count"),
      nb::arg("copies").noconvert() = nb::none(), "The weights that poisson_totals multiplies with, draws x units.");
  m.def(
      "poisson_counts",
      [](In1<std::uint64_t> keys, std::uint64_t seed, std::uint64_t first, std::size_t count, long threads) {
        return counts(keys, seed, first, count, threads, poisson_maker(keys, std::nullopt));
      },
      nb::arg("keys").noconvert(), nb::arg("seed"), nb::arg("first"), nb::arg("count"), nb::arg("threads") = 0,
      "The weights of poisson_weights as bytes, (groups, units, 32 draws).");
  m.def(
      "flip_counts",
      [](In1<std::uint64_t> keys, std::uint64_t seed, std::uint64_t first, std::size_t count, long threads) {
        return counts(keys, seed, first, count, threads, FlipMaker{});
      },
      nb::arg("keys").noconvert(), nb::arg("seed"), nb::arg("first"), nb::arg("count"), nb::arg("threads") = 0,
      "The flips of flip_weights as bytes, (groups, units, 32 draws).");
  m.def(
      "flip_weights",
      [](In1<std::uint64_t> keys, std::uint64_t seed, std::uint64_t first, std::size_t count) {
        return dense(keys, seed, first, count, FlipMaker{});
      },
      nb::arg("keys").noconvert(), nb::arg("seed"), nb::arg("first"), nb::arg("count"),
      "The flips that flip_totals multiplies with, draws x units.");
}

}  // namespace steelyard
