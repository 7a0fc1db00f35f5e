// Bindings of label maps and surfaces: checks, arrays and the interpreter's lock; the work is done elsewhere.
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include "arrays.hpp"
#include "maps/maps.hpp"
#include "maps/surfaces.hpp"
#include "support/pool.hpp"

namespace steelyard::maps_binding {
namespace {

constexpr std::size_t kMostPixels = std::size_t{1} << 31;

// A map of any of the three types, with two or three axes.
using AnyMap = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using AnyResult = Result<nb::ndarray<nb::numpy, nb::c_contig>>;  // of whole numbers as wide as they need

std::size_t pixels_of(const AnyMap& map) {
  require(map.ndim() == 2 || map.ndim() == 3, "a map has two axes or three");
  require(map.size() > 0, "a map has no pixel");
  require(map.size() <= kMostPixels, "a map has more than 2^31 pixels");
  return map.size();
}

// Calls body(pointer) with the map's own type.
template <typename Body>
auto by_type(const AnyMap& map, Body body) {
  if (map.dtype() == nb::dtype<std::uint8_t>()) return body(static_cast<const std::uint8_t*>(map.data()));
  if (map.dtype() == nb::dtype<std::uint16_t>()) return body(static_cast<const std::uint16_t*>(map.data()));
  require(map.dtype() == nb::dtype<std::uint32_t>(), "a map holds whole numbers of 1, 2 or 4 bytes without a sign");
  return body(static_cast<const std::uint32_t*>(map.data()));
}

bool same_shape(const AnyMap& a, const AnyMap& b) {
  if (a.ndim() != b.ndim()) return false;
  for (std::size_t i = 0; i < a.ndim(); ++i) {
    if (a.shape(i) != b.shape(i)) return false;
  }
  return true;
}

template <typename T>
Out<T> like(const AnyMap& map, T*& data) {
  if (map.ndim() == 2) return make_raw<T>({map.shape(0), map.shape(1)}, data);
  return make_raw<T>({map.shape(0), map.shape(1), map.shape(2)}, data);
}

Shape3 shape_of(const AnyMap& map) {
  if (map.ndim() == 2) return {1, map.shape(0), map.shape(1)};
  return {map.shape(0), map.shape(1), map.shape(2)};
}

auto cells(AnyMap a, AnyMap b) {
  const std::size_t n = pixels_of(a);
  pixels_of(b);
  require(same_shape(a, b), "the maps are of different sizes");
  const MapCells found = by_type(a, [&](const auto* first) {
    return by_type(b, [&](const auto* second) {
      nb::gil_scoped_release release;
      return map_cells(first, second, n);
    });
  });
  return std::make_tuple(array_of(found.a), array_of(found.b), array_of(found.count));
}

AnyResult bands(AnyMap map, std::size_t distance, std::int64_t inside, std::int64_t kept) {
  pixels_of(map);
  require(map.ndim() == 2, "bands are of maps with two axes");
  require(distance >= 1 && distance < (std::size_t{1} << 30), "the distance is at least 1");
  return by_type(map, [&](const auto* values) -> nb::object {
    using T = std::remove_cv_t<std::remove_pointer_t<decltype(values)>>;
    constexpr std::int64_t most = std::numeric_limits<T>::max();
    require(inside >= 0 && inside <= most && kept >= -1 && kept <= most, "a value is out of the map's range");
    T* out;
    auto result = like<T>(map, out);
    {
      nb::gil_scoped_release release;
      map_bands<T>(values, map.shape(0), map.shape(1), distance, static_cast<T>(inside), kept >= 0,
                   static_cast<T>(kept < 0 ? 0 : kept), out);
    }
    return nb::cast(result);
  });
}

Out<std::uint16_t> recode(AnyMap map, In1<std::uint32_t> values, In1<std::uint16_t> codes, std::uint16_t other) {
  const std::size_t n = pixels_of(map);
  require(values.shape(0) == codes.shape(0), "values and codes are of different lengths");
  for (std::size_t i = 1; i < values.shape(0); ++i) {
    require(values.data()[i - 1] < values.data()[i], "the values do not rise");
  }
  std::uint16_t* out;
  auto result = like<std::uint16_t>(map, out);
  by_type(map, [&](const auto* from) {
    nb::gil_scoped_release release;
    map_recode(from, n, values.data(), codes.data(), values.shape(0), other, out);
  });
  return result;
}

nb::bytes pack(AnyMap map) {
  pixels_of(map);
  std::vector<std::uint8_t> out = {static_cast<std::uint8_t>(map.itemsize()), static_cast<std::uint8_t>(map.ndim())};
  for (std::size_t i = 0; i < map.ndim(); ++i) {
    for (unsigned shift = 0; shift < 32; shift += 8) out.push_back(static_cast<std::uint8_t>(map.shape(i) >> shift));
  }
  by_type(map, [&](const auto* values) {
    nb::gil_scoped_release release;
    map_pack(values, map.size(), out);
  });
  return nb::bytes(out.data(), out.size());
}

AnyResult unpack(nb::bytes packed) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(packed.c_str());
  const std::size_t size = packed.size();
  require(size >= 2 && (bytes[1] == 2 || bytes[1] == 3) && size >= 2u + 4u * bytes[1], "no packed map");
  std::size_t shape[3] = {1, 1, 1}, n = 1;
  for (std::size_t axis = 0; axis < bytes[1]; ++axis) {
    std::size_t length = 0;
    for (unsigned i = 0; i < 4; ++i) length |= std::size_t{bytes[2 + 4 * axis + i]} << (8 * i);
    require(length > 0 && length <= kMostPixels / n, "the size of a packed map is out of range");
    shape[axis] = length;
    n *= length;
  }
  const std::size_t head = 2 + 4 * std::size_t{bytes[1]};
  // A run says at least one pixel and at most all: its bytes bound nothing, so that memory is taken once they are
  // whole.
  auto made = [&]<typename T>(T) -> nb::object {
    T* out;
    auto result =
        bytes[1] == 2 ? make_raw<T>({shape[0], shape[1]}, out) : make_raw<T>({shape[0], shape[1], shape[2]}, out);
    require(map_unpack<T>(bytes + head, size - head, n, out), "the runs of a packed map do not fill it");
    return nb::cast(result);
  };
  if (bytes[0] == 1) return made(std::uint8_t{});
  if (bytes[0] == 2) return made(std::uint16_t{});
  require(bytes[0] == 4, "no packed map");
  return made(std::uint32_t{});
}

Spacing3 spacing_of(const In1<double>& spacing, std::size_t axes) {
  require(spacing.shape(0) == axes, "spacing has one number for each axis");
  for (std::size_t i = 0; i < axes; ++i) {
    require(std::isfinite(spacing.data()[i]) && spacing.data()[i] > 0, "spacing is above zero");
  }
  if (axes == 2) return {1.0, spacing.data()[0], spacing.data()[1]};
  return {spacing.data()[0], spacing.data()[1], spacing.data()[2]};
}

const std::uint8_t* mask_of(const AnyMap& mask) {
  pixels_of(mask);
  require(mask.dtype() == nb::dtype<std::uint8_t>(), "a mask holds bytes");
  return static_cast<const std::uint8_t*>(mask.data());
}

auto surfaces(AnyMap a, AnyMap b, In1<double> spacing, const std::string& method) {
  const std::uint8_t *first = mask_of(a), *second = mask_of(b);
  require(same_shape(a, b), "the masks are of different sizes");
  require(method == "voxels" || method == "elements", "a surface is of voxels or of elements");
  const Spacing3 sizes = spacing_of(spacing, a.ndim());
  SurfaceDistances from_a, from_b;
  {
    nb::gil_scoped_release release;
    surface_distances(first, second, shape_of(a), sizes, a.ndim() == 2,
                      method == "voxels" ? SurfaceOf::voxels : SurfaceOf::elements, from_a, from_b);
  }
  return std::make_tuple(array_of(from_a.distance), array_of(from_a.weight), array_of(from_a.count),
                         array_of(from_b.distance), array_of(from_b.weight), array_of(from_b.count));
}

Out<double> distances(AnyMap mask, In1<double> spacing) {
  const std::uint8_t* set = mask_of(mask);
  const Spacing3 sizes = spacing_of(spacing, mask.ndim());
  double* out;
  auto result = like<double>(mask, out);
  {
    nb::gil_scoped_release release;
    squared_distances(set, shape_of(mask), sizes, out);
  }
  return result;
}

auto parts(AnyMap mask) {
  const std::uint8_t* set = mask_of(mask);
  std::int32_t* out;
  auto result = like<std::int32_t>(mask, out);
  std::int32_t count;
  {
    nb::gil_scoped_release release;
    count = connected_parts(set, shape_of(mask), out);
  }
  return std::make_tuple(result, count);
}

Out<std::uint8_t> dilated(AnyMap mask, std::size_t times) {
  const std::uint8_t* set = mask_of(mask);
  require(times <= 1000, "a mask is dilated at most a thousand times");
  std::uint8_t* out;
  auto result = like<std::uint8_t>(mask, out);
  {
    nb::gil_scoped_release release;
    dilate_mask(set, shape_of(mask), times, out);
  }
  return result;
}

auto boxes(AnyMap map) {
  pixels_of(map);
  const ValueBoxes found = by_type(map, [&](const auto* values) {
    nb::gil_scoped_release release;
    return value_boxes(values, shape_of(map));
  });
  std::int64_t* data;
  auto ends = make_raw<std::int64_t>({found.value.size(), 6}, data);
  std::copy(found.box.begin(), found.box.end(), data);
  return std::make_tuple(array_of(found.value), ends, array_of(found.count));
}

}  // namespace

void bind(nb::module_& m) {
  m.def("thread_count", [] { return thread_count(0); }, "How many threads a kernel uses.");
  m.def("map_cells", &cells, nb::arg("a").noconvert(), nb::arg("b").noconvert(),
        "How often two values stand at the same place: values of a, of b, and counts, by a and then b.");
  m.def("map_bands", &bands, nb::arg("map").noconvert(), nb::arg("distance"), nb::arg("inside"), nb::arg("kept") = -1,
        "The map with `inside` wherever so many erosions leave a pixel; pixels of `kept` stay.");
  m.def("map_recode", &recode, nb::arg("map").noconvert(), nb::arg("values").noconvert(), nb::arg("codes").noconvert(),
        nb::arg("other"), "Codes in the place of values; `other` for those that are not listed.");
  m.def("map_pack", &pack, nb::arg("map").noconvert(), "A map as runs, in bytes.");
  m.def("map_unpack", &unpack, nb::arg("packed"), "The map that `map_pack` packed.");
  m.def("map_boxes", &boxes, nb::arg("map").noconvert(),
        "The values of a map, the first and last place of each along every axis, and how many there are.");
  m.def("surface_distances", &surfaces, nb::arg("a").noconvert(), nb::arg("b").noconvert(),
        nb::arg("spacing").noconvert(), nb::arg("method"),
        "Distances from the surface of a to that of b and back: distance, weight and count, twice.");
  m.def("squared_distances", &distances, nb::arg("mask").noconvert(), nb::arg("spacing").noconvert(),
        "The squared distance of each place to the nearest one that is set.");
  m.def("connected_parts", &parts, nb::arg("mask").noconvert(), "Numbers of connected parts, and how many there are.");
  m.def("dilate_mask", &dilated, nb::arg("mask").noconvert(), nb::arg("times"), "The mask grown so many times.");
  m.def(
      "element_sizes",
      [](In1<double> spacing) {
        const std::size_t axes = spacing.shape(0);
        require(axes == 2 || axes == 3, "there are two axes or three");
        return array_of(element_sizes(spacing_of(spacing, axes), axes == 2));
      },
      nb::arg("spacing").noconvert(), "Lengths or areas of a surface's elements, by the code of their neighbourhood.");
}

}  // namespace steelyard::maps_binding
