// Totals of unit columns under random unit weights: the bootstrap and the paired randomisation test.
//
// The matrix draws x units is never held. A task is a block of draws; it walks the units in blocks that stay in cache,
// makes the weights of that block and multiplies them with the columns at once. Each total is added up in the order
// of the units, whatever the number of threads, so the result is a function of the arguments alone.
#include <algorithm>
#include <array>
#include <vector>

#include "arrays.hpp"
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

void flip_block(const std::uint64_t* streams, std::size_t units, std::size_t first, WeightBlock& out) {
  for (std::size_t u = 0; u < units; ++u) {
    const std::uint64_t bits = mix64(streams[u] + kGolden * (first / 64 + 1)) >> (first % 64);
    for (std::size_t d = 0; d < kDrawBlock; ++d) out[d][u] = static_cast<double>((bits >> d) & 1u);
  }
}

template <typename MakeBlock>
Out<double> totals(In1<std::uint64_t> keys, In2<double> columns, std::uint64_t seed, std::uint64_t first,
                   std::size_t count, Purpose purpose, long threads, MakeBlock make_block) {
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
        streams[u] = stream_of(key[start + u], seed, static_cast<std::uint64_t>(purpose));
        std::copy_n(x + (start + u) * k, k, rows.begin() + u * padded);
      }
      make_block(streams.data(), units, first + block * kDrawBlock, *weights);
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

template <typename MakeBlock>
Out<double> dense(In1<std::uint64_t> keys, std::uint64_t seed, std::uint64_t first, std::size_t count,
                  Purpose purpose, MakeBlock make_block) {
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
      streams[u] = stream_of(key[start + u], seed, static_cast<std::uint64_t>(purpose));
    }
    for (std::size_t d0 = 0; d0 < count; d0 += kDrawBlock) {
      make_block(streams.data(), units, first + d0, *weights);
      const std::size_t draws = std::min(kDrawBlock, count - d0);
      for (std::size_t d = 0; d < draws; ++d) {
        std::copy_n((*weights)[d].begin(), units, out + (d0 + d) * n + start);
      }
    }
  }
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

}  // namespace

void bind_draws(nb::module_& m) {
  m.def("unit_keys", &unit_keys, nb::arg("text"), nb::arg("ends").noconvert(),
        "64-bit keys of unit ids, given as one UTF-8 text and where each id ends in it.");
  m.def(
      "poisson_totals",
      [](In1<std::uint64_t> keys, In2<double> columns, std::uint64_t seed, std::uint64_t first, std::size_t count,
         long threads) {
        return totals(keys, columns, seed, first, count, Purpose::bootstrap, threads, poisson_block);
      },
      nb::arg("keys").noconvert(), nb::arg("columns").noconvert(), nb::arg("seed"), nb::arg("first"),
      nb::arg("count"), nb::arg("threads") = 0,
      "Column totals, one row a draw, under Poisson(1) weights of the units.");
  m.def(
      "flip_totals",
      [](In1<std::uint64_t> keys, In2<double> columns, std::uint64_t seed, std::uint64_t first, std::size_t count,
         long threads) {
        return totals(keys, columns, seed, first, count, Purpose::flip, threads, flip_block);
      },
      nb::arg("keys").noconvert(), nb::arg("columns").noconvert(), nb::arg("seed"), nb::arg("first"),
      nb::arg("count"), nb::arg("threads") = 0, "Column totals, one row a draw, under fair coin flips of the units.");
  m.def(
      "poisson_weights",
      [](In1<std::uint64_t> keys, std::uint64_t seed, std::uint64_t first, std::size_t count) {
        return dense(keys, seed, first, count, Purpose::bootstrap, poisson_block);
      },
      nb::arg("keys").noconvert(), nb::arg("seed"), nb::arg("first"), nb::arg("count"),
      "The weights that poisson_totals multiplies with, draws x units.");
  m.def(
      "flip_weights",
      [](In1<std::uint64_t> keys, std::uint64_t seed, std::uint64_t first, std::size_t count) {
        return dense(keys, seed, first, count, Purpose::flip, flip_block);
      },
      nb::arg("keys").noconvert(), nb::arg("seed"), nb::arg("first"), nb::arg("count"),
      "The flips that flip_totals multiplies with, draws x units.");
}

}  // namespace steelyard
