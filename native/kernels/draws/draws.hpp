// Totals of unit columns under random unit weights: the bootstrap and the paired randomisation test.
//
// A weight is a function of (seed, unit's key, draw): see support/random.hpp. `first` is a multiple of kDrawBlock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "draws/poisson.hpp"
#include "support/views.hpp"

namespace steelyard {

constexpr std::size_t kDrawBlock = 32;  // even: two draws share one random word

// Which weights: Poisson(1), or Poisson(n) where the tables say so; or fair coin flips.
struct Poisson {
  PoissonTables tables;  // empty where every unit is a row of its own
};
struct Flips {};

struct Draws {
  View<std::uint64_t> keys;
  std::uint64_t seed, first;
  std::size_t count;
  long threads;
};
void check_draws(const Draws& draws);

// Column totals, [count][columns], zeroed.
void draw_totals(const Poisson& poisson, const Draws& draws, Matrix<double> columns, double* out);
void draw_totals(const Flips& flips, const Draws& draws, Matrix<double> columns, double* out);

// Columns that are mostly zero: each entry adds its value (1 where there are none) to one of `size` columns of its
// unit.
struct Entries {
  View<std::int64_t> owner;
  View<std::int32_t> code;
  View<double> value;
  std::size_t size;
};
void check_entries(const Draws& draws, const Entries& entries);
void draw_scatter(const Poisson& poisson, const Draws& draws, const Entries& entries, double* out);

// The weights themselves, [count][units].
void draw_weights(const Poisson& poisson, const Draws& draws, double* out);

// The weights as bytes: [blocks of kDrawBlock draws][units][draws], so that a unit's weights lie side by side.
void draw_counts(const Poisson& poisson, const Draws& draws, std::uint8_t* out);

// Keys of integer ids: those of their decimal texts, so that 7 and "7" are one unit.
void integer_keys(View<std::int64_t> ids, std::uint64_t* out);
// Keys of ids that lie in one text; throws where an end goes backwards or beyond it.
void text_keys(std::string_view text, View<std::int64_t> ends, std::uint64_t* out);
void check_copies(View<std::int64_t> copies, std::size_t units);

}  // namespace steelyard
