// Random weights of units, and totals under them.
#include "draws/draws.hpp"

#include <optional>

#include <nanobind/stl/optional.h>

#include "arrays.hpp"
#include "support/pool.hpp"

namespace steelyard::draws_binding {
namespace {

template <typename Resampling>
Out<double> totals(const Resampling& resampling, const Draws& draws, In2<double> columns) {
  require(columns.shape(0) == draws.keys.size(), "columns must have one row for each key");
  check_draws(draws);
  double* out;
  auto result = make_array<double>({draws.count, columns.shape(1)}, out);
  nb::gil_scoped_release release;
  draw_totals(resampling, draws, view(columns), out);
  return result;
}

Out<double> scatter(const Poisson& poisson, const Draws& draws, const Entries& entries) {
  check_draws(draws);
  check_entries(draws, entries);
  double* out;
  auto result = make_array<double>({draws.count, entries.size}, out);
  nb::gil_scoped_release release;
  draw_scatter(poisson, draws, entries, out);
  return result;
}

Out<double> weights(const Poisson& poisson, const Draws& draws) {
  check_draws(draws);
  double* out;
  auto result = make_array<double>({draws.count, draws.keys.size()}, out);
  nb::gil_scoped_release release;
  draw_weights(poisson, draws, out);
  return result;
}

Out<std::uint8_t> counts(const Poisson& poisson, const Draws& draws) {
  check_draws(draws);
  const std::size_t blocks = (draws.count + kDrawBlock - 1) / kDrawBlock;
  require(blocks * kDrawBlock * draws.keys.size() <= (std::size_t{1} << 40), "too many draws");
  std::uint8_t* out;
  auto result = make_raw<std::uint8_t>({blocks, draws.keys.size(), kDrawBlock}, out);
  nb::gil_scoped_release release;
  draw_counts(poisson, draws, out);
  return result;
}

Out<std::uint64_t> unit_keys(nb::bytes text, In1<std::int64_t> ends) {
  std::uint64_t* out;
  auto result = make_array<std::uint64_t>({ends.shape(0)}, out);
  text_keys({static_cast<const char*>(text.data()), text.size()}, view(ends), out);
  return result;
}

Out<std::uint64_t> unit_keys_of_integers(In1<std::int64_t> ids) {
  std::uint64_t* out;
  auto result = make_array<std::uint64_t>({ids.shape(0)}, out);
  nb::gil_scoped_release release;
  integer_keys(view(ids), out);
  return result;
}

using Copies = std::optional<In1<std::int64_t>>;

Poisson weighed(const In1<std::uint64_t>& keys, const Copies& copies) {
  if (!copies) return {PoissonTables(nullptr, 0)};
  check_copies(view(*copies), keys.shape(0));
  return {PoissonTables(copies->data(), copies->shape(0))};
}

}  // namespace

void bind(nb::module_& m) {
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
        return totals(weighed(keys, copies), {view(keys), seed, first, count, threads}, columns);
      },
      nb::arg("keys").noconvert(), nb::arg("columns").noconvert(), nb::arg("seed"), nb::arg("first"), nb::arg("count"),
      nb::arg("threads") = 0, nb::arg("copies").noconvert() = nb::none(),
      "Column totals, one row per draw, under Poisson(1) weights of the units; Poisson(n) for n copies.");
  m.def(
      "flip_totals",
      [](In1<std::uint64_t> keys, In2<double> columns, std::uint64_t seed, std::uint64_t first, std::size_t count,
         long threads) { return totals(Flips{}, {view(keys), seed, first, count, threads}, columns); },
      nb::arg("keys").noconvert(), nb::arg("columns").noconvert(), nb::arg("seed"), nb::arg("first"), nb::arg("count"),
      nb::arg("threads") = 0, "Column totals, one row per draw, under fair coin flips of the units.");
  m.def(
      "poisson_scatter",
      [](In1<std::uint64_t> keys, In1<std::int64_t> owner, In1<std::int32_t> code, In1<double> value, std::size_t size,
         std::uint64_t seed, std::uint64_t first, std::size_t count, long threads, const Copies& copies) {
        return scatter(weighed(keys, copies), {view(keys), seed, first, count, threads},
                       {view(owner), view(code), view(value), size});
      },
      nb::arg("keys").noconvert(), nb::arg("owner").noconvert(), nb::arg("code").noconvert(),
      nb::arg("value").noconvert(), nb::arg("size"), nb::arg("seed"), nb::arg("first"), nb::arg("count"),
      nb::arg("threads") = 0, nb::arg("copies").noconvert() = nb::none(),
      "Totals of entries by their code, one row per draw, under the weights of poisson_totals.");
  m.def(
      "poisson_weights",
      [](In1<std::uint64_t> keys, std::uint64_t seed, std::uint64_t first, std::size_t count, const Copies& copies) {
        return weights(weighed(keys, copies), {view(keys), seed, first, count, 0});
      },
      nb::arg("keys").noconvert(), nb::arg("seed"), nb::arg("first"), nb::arg("count"),
      nb::arg("copies").noconvert() = nb::none(), "The weights that poisson_totals multiplies with, draws x units.");
  m.def(
      "poisson_counts",
      [](In1<std::uint64_t> keys, std::uint64_t seed, std::uint64_t first, std::size_t count, long threads) {
        return counts(weighed(keys, std::nullopt), {view(keys), seed, first, count, threads});
      },
      nb::arg("keys").noconvert(), nb::arg("seed"), nb::arg("first"), nb::arg("count"), nb::arg("threads") = 0,
      "The weights of poisson_weights as bytes, (groups, units, 32 draws).");
}

}  // namespace steelyard::draws_binding
