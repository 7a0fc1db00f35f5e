// Totals of unit columns under random unit weights: the bootstrap and the paired randomisation test.
//
// The matrix draws x units is never held. A task is a block of draws; it walks the units in blocks that stay in cache,
// makes the weights of that block and multiplies them with the columns at once. Each total is added up in the order
// of the units, whatever the number of threads, so the result is a function of the arguments alone.
#include "draws/draws.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <vector>

#include "support/checks.hpp"
#include "support/pool.hpp"
#include "support/random.hpp"
#include "wide/wide.hpp"

namespace steelyard {
namespace {

constexpr std::size_t kUnitBlock = kWeightUnits;
static_assert(kDrawBlock == kWeightDraws);
constexpr std::size_t kColumnBlock = 8;  // totals kept in registers

enum class Purpose : std::uint64_t { bootstrap = 1, flip = 2 };

// Weights of kDrawBlock draws from `first` (a multiple of kDrawBlock) for the units of one block, [draw][unit].
using WeightBlock = std::array<std::array<double, kUnitBlock>, kDrawBlock>;

// Makes the weights of units `start` .. `start + units` for kDrawBlock draws.
struct PoissonMaker {
  static constexpr Purpose purpose = Purpose::bootstrap;
  const PoissonTables& tables;
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
};

void poisson_block(const std::uint64_t* streams, std::size_t units, std::size_t first, WeightBlock& out) {
  wide_kernels().poisson_weights(streams, units, first, out[0].data());
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

template <typename Maker>
void totals(const Draws& draws, Matrix<double> columns, const Maker& make_block, double* out) {
  const std::uint64_t seed = draws.seed, first = draws.first;
  const std::size_t count = draws.count;
  const std::size_t n = draws.keys.size(), k = columns.columns;
  if (count == 0 || k == 0 || n == 0) return;

  const std::uint64_t* key = draws.keys.data();
  const double* x = columns.data();
  const std::size_t blocks = (count + kDrawBlock - 1) / kDrawBlock;
  const std::size_t padded = (k + kColumnBlock - 1) / kColumnBlock * kColumnBlock;
  parallel_for(blocks, thread_count(draws.threads), [&](std::size_t block) {
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
      for (std::size_t d = 0; d < kDrawBlock; d += 2) {  // two draws at a time: neither sum is waited for
        const double *w = (*weights)[d].data(), *v = (*weights)[d + 1].data();
        for (std::size_t c = 0; c < padded; c += kColumnBlock) {
          double one[kColumnBlock], other[kColumnBlock];
          double* sum = sums.data() + d * padded + c;
          std::copy_n(sum, kColumnBlock, one);
          std::copy_n(sum + padded, kColumnBlock, other);
          const double* row = rows.data() + c;
          for (std::size_t u = 0; u < units; ++u, row += padded) {
            for (std::size_t j = 0; j < kColumnBlock; ++j) one[j] += w[u] * row[j];
            for (std::size_t j = 0; j < kColumnBlock; ++j) other[j] += v[u] * row[j];
          }
          std::copy_n(one, kColumnBlock, sum);
          std::copy_n(other, kColumnBlock, sum + padded);
        }
      }
    }
    const std::size_t drawn = std::min(kDrawBlock, count - block * kDrawBlock);
    for (std::size_t d = 0; d < drawn; ++d) {
      std::copy_n(sums.begin() + d * padded, k, out + (block * kDrawBlock + d) * k);
    }
  });
}

// Totals of columns that are mostly zero: each entry adds its value to one of `size` columns of its unit.
//
// A task is a block of draws. It keeps the totals as [column][draw], so that one entry adds a run of kDrawBlock
// weights; a unit's weights are made once for all of its entries.
void scatter(const Draws& draws, const Entries& entries, const PoissonMaker& make_block, double* out) {
  const std::uint64_t seed = draws.seed, first = draws.first;
  const std::size_t count = draws.count;
  const std::size_t size = entries.size, n = draws.keys.size(), m = entries.owner.size();
  const std::int64_t* unit = entries.owner.data();
  const std::int32_t* column = entries.code.data();
  if (count == 0 || size == 0 || m == 0) return;

  const std::uint64_t* key = draws.keys.data();
  const double* x = !entries.value.empty() ? entries.value.data() : nullptr;
  const std::size_t blocks = (count + kDrawBlock - 1) / kDrawBlock;
  parallel_for(blocks, thread_count(draws.threads), [&](std::size_t block) {
    std::array<std::uint64_t, kUnitBlock> streams;
    std::vector<double> turned(kUnitBlock * kDrawBlock), sums(size * kDrawBlock, 0.0);
    std::size_t e = 0;
    for (std::size_t start = 0; start < n && e < m; start += kUnitBlock) {
      const std::size_t units = std::min(kUnitBlock, n - start);
      for (std::size_t u = 0; u < units; ++u) {
        streams[u] = stream_of(key[start + u], seed, static_cast<std::uint64_t>(PoissonMaker::purpose));
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
    const std::size_t drawn = std::min(kDrawBlock, count - block * kDrawBlock);
    for (std::size_t d = 0; d < drawn; ++d) {
      double* row = out + (block * kDrawBlock + d) * size;
      for (std::size_t c = 0; c < size; ++c) row[c] = sums[c * kDrawBlock + d];
    }
  });
}

void dense(const Draws& draws, const PoissonMaker& make_block, double* out) {
  const std::uint64_t seed = draws.seed, first = draws.first;
  const std::size_t count = draws.count;
  const std::size_t n = draws.keys.size();
  const std::uint64_t* key = draws.keys.data();
  auto weights = std::make_unique<WeightBlock>();
  std::array<std::uint64_t, kUnitBlock> streams;
  for (std::size_t start = 0; start < n; start += kUnitBlock) {
    const std::size_t units = std::min(kUnitBlock, n - start);
    for (std::size_t u = 0; u < units; ++u) {
      streams[u] = stream_of(key[start + u], seed, static_cast<std::uint64_t>(PoissonMaker::purpose));
    }
    for (std::size_t d0 = 0; d0 < count; d0 += kDrawBlock) {
      make_block(streams.data(), start, units, first + d0, *weights);
      const std::size_t drawn = std::min(kDrawBlock, count - d0);
      for (std::size_t d = 0; d < drawn; ++d) {
        std::copy_n((*weights)[d].begin(), units, out + (d0 + d) * n + start);
      }
    }
  }
}

// The weights as bytes: (blocks of kDrawBlock draws, units, draws), so that a unit's weights lie side by side.
void counts(const Draws& draws, std::uint8_t* out) {
  const std::uint64_t seed = draws.seed, first = draws.first;
  const std::size_t count = draws.count;
  const std::size_t n = draws.keys.size(), blocks = (count + kDrawBlock - 1) / kDrawBlock;
  const std::uint64_t* key = draws.keys.data();
  const auto poisson = wide_kernels().poisson_counts;  // of single units: bytes hold no copies
  parallel_for(blocks, thread_count(draws.threads), [&](std::size_t block) {
    std::array<std::uint64_t, kUnitBlock> streams;
    for (std::size_t start = 0; start < n; start += kUnitBlock) {
      const std::size_t units = std::min(kUnitBlock, n - start);
      for (std::size_t u = 0; u < units; ++u) {
        streams[u] = stream_of(key[start + u], seed, static_cast<std::uint64_t>(PoissonMaker::purpose));
      }
      std::uint8_t* to = out + (block * n + start) * kDrawBlock;
      poisson(streams.data(), units, first + block * kDrawBlock, to);
    }
  });
}

}  // namespace

void check_draws(const Draws& draws) {
  require(draws.first % kDrawBlock == 0, "the first draw must be a multiple of 32");
  require(draws.count <= (std::size_t{1} << 32), "too many draws");
}

void check_entries(const Draws& draws, const Entries& entries) {
  const std::size_t n = draws.keys.size(), m = entries.owner.size();
  require(entries.code.size() == m, "each entry needs an owner and a code");
  require(entries.value.size() == m || entries.value.empty(), "each entry needs a value, or none has one");
  require(entries.size <= (std::size_t{1} << 31), "too many columns");
  const std::int64_t* unit = entries.owner.data();
  const std::int32_t* column = entries.code.data();
  for (std::size_t e = 0; e < m; ++e) {
    require(unit[e] >= 0 && static_cast<std::size_t>(unit[e]) < n, "an owner is out of range");
    require(e == 0 || unit[e - 1] <= unit[e], "entries must stand in the order of their owners");
    require(column[e] >= 0 && static_cast<std::size_t>(column[e]) < entries.size, "a code is out of range");
  }
}

void draw_totals(const Poisson& poisson, const Draws& draws, Matrix<double> columns, double* out) {
  totals(draws, columns, PoissonMaker{poisson.tables}, out);
}
void draw_totals(const Flips&, const Draws& draws, Matrix<double> columns, double* out) {
  totals(draws, columns, FlipMaker{}, out);
}
void draw_scatter(const Poisson& poisson, const Draws& draws, const Entries& entries, double* out) {
  scatter(draws, entries, PoissonMaker{poisson.tables}, out);
}
void draw_weights(const Poisson& poisson, const Draws& draws, double* out) {
  dense(draws, PoissonMaker{poisson.tables}, out);
}
void draw_counts(const Poisson& poisson, const Draws& draws, std::uint8_t* out) {
  require(poisson.tables.empty(), "weights as bytes are of single units");
  counts(draws, out);
}

void text_keys(std::string_view text, View<std::int64_t> ends, std::uint64_t* out) {
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::int64_t end = ends[i];
    require(begin <= end && end <= static_cast<std::int64_t>(text.size()),
            "the ends of the ids must rise and stay inside the text");
    out[i] = hash_bytes(text.data() + begin, static_cast<std::size_t>(end - begin));
    begin = end;
  }
}

void integer_keys(View<std::int64_t> ids, std::uint64_t* out) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    char text[24];
    const auto end = std::to_chars(text, text + sizeof text, ids[i]).ptr;
    out[i] = hash_bytes(text, static_cast<std::size_t>(end - text));
  }
}

void check_copies(View<std::int64_t> copies, std::size_t units) {
  require(copies.size() == units, "each unit needs its copies");
  for (std::int64_t n : copies) require(n >= 1 && n <= kMostCopies, "a unit's copies are out of range");
}

}  // namespace steelyard
