// Columns of ids as positions in a list of distinct ones.
#include "arrays.hpp"
#include "support/places.hpp"

namespace steelyard::places_binding {

void bind(nb::module_& m) {
  m.def(
      "places",
      [](In1<std::int64_t> ids, In1<std::int64_t> column) {
        require(ids.shape(0) < (std::size_t{1} << 31), "too many ids");
        std::int32_t* out;
        auto result = make_raw<std::int32_t>({column.shape(0)}, out);
        nb::gil_scoped_release release;
        const Places places(ids.data(), ids.shape(0));
        for (std::size_t i = 0; i < column.shape(0); ++i) out[i] = places.find(column.data()[i]);
        return result;
      },
      nb::arg("ids").noconvert(), nb::arg("column").noconvert(),
      "Where each value of a column stands among distinct ids; -1 where it does not.");
  m.def(
      "first_repeated",
      [](In1<std::int64_t> ids) {
        require(ids.shape(0) < (std::size_t{1} << 31), "too many ids");
        nb::gil_scoped_release release;
        return Places(ids.data(), ids.shape(0)).repeated();
      },
      nb::arg("ids").noconvert(), "The first row whose id stands in an earlier row; -1 where there is none.");
}

}  // namespace steelyard::places_binding
