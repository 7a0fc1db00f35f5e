// Bindings of pictures: checks, arrays and the interpreter's lock; the work is done elsewhere.
#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include "arrays.hpp"
#include "images/information.hpp"
#include "images/similarity.hpp"

namespace steelyard::images_binding {
namespace {

constexpr std::size_t kMostPixels = std::size_t{1} << 28, kMostTaps = 64, kMostChannels = 1 << 12;

using Picture = nb::ndarray<nb::ro, nb::c_contig, nb::ndim<3>, nb::device::cpu>;

void check_picture(const Picture& p) {
  require(p.shape(0) > 0 && p.shape(1) > 0 && p.shape(2) > 0, "a picture has no pixel");
  require(p.shape(2) <= kMostChannels && p.shape(0) <= kMostPixels / p.shape(1), "a picture is too large");
  require(p.shape(0) * p.shape(1) <= (kMostPixels << 4) / p.shape(2), "a picture is too large");
}

void check_pair(const Picture& x, const Picture& y) {
  check_picture(x);
  check_picture(y);
  for (std::size_t i = 0; i < 3; ++i) require(x.shape(i) == y.shape(i), "the pictures are of different sizes");
  require(x.dtype() == y.dtype(), "the pictures are of different types");
}

// Calls body(pointer) with the picture's own type.
template <typename Body>
auto by_type(const Picture& p, bool floats, Body body) {
  if (p.dtype() == nb::dtype<std::uint8_t>()) return body(static_cast<const std::uint8_t*>(p.data()));
  if (p.dtype() == nb::dtype<std::uint16_t>()) return body(static_cast<const std::uint16_t*>(p.data()));
  if constexpr (std::is_invocable_v<Body, const double*>) {
    require(floats && p.dtype() == nb::dtype<double>(), "a picture holds uint8, uint16 or float64");
    return body(static_cast<const double*>(p.data()));
  } else {
    throw std::invalid_argument("a picture holds uint8 or uint16");
  }
}

std::vector<double> taps_of(const In1<double>& taps) {
  require(taps.shape(0) > 0 && taps.shape(0) <= kMostTaps, "a window has from 1 to 64 taps");
  check_finite(taps.data(), taps.shape(0), "a tap is not finite");
  for (std::size_t i = 0; i < taps.shape(0); ++i) {
    require(taps.data()[i] == taps.data()[taps.shape(0) - 1 - i], "a window is symmetric");
  }
  return {taps.data(), taps.data() + taps.shape(0)};
}

Edges edges_of(const std::string& name) {
  if (name == "inner") return Edges::inner;
  if (name == "mirror") return Edges::mirror;
  if (name == "replicate") return Edges::replicate;
  require(name == "zeros", "edges are inner, mirror, replicate or zeros");
  return Edges::zeros;
}

auto similarity(Picture x, Picture y, In1<double> taps, const std::string& edges, double c1, double c2,
                double correction, bool positive, bool universal, double eps, bool contrast, bool map) {
  check_pair(x, y);
  WindowJob job;
  job.height = x.shape(0);
  job.width = x.shape(1);
  job.channels = x.shape(2);
  job.taps = taps_of(taps);
  job.uniform = std::all_of(job.taps.begin(), job.taps.end(), [&](double tap) { return tap == job.taps[0]; });
  job.edges = edges_of(edges);
  job.index = universal ? Index::universal : Index::ssim;
  job.c1 = c1;
  job.c2 = c2;
  job.correction = correction;
  job.positive = positive;
  job.contrast = contrast;
  job.eps = eps;
  require(job.fits(), "the picture is smaller than the window");
  double *values, *places = nullptr;
  auto result = make_array<double>({job.channels, 2}, values);
  auto map_result = map ? make_array<double>({job.rows(), job.columns()}, places) : make_array<double>({0, 0}, places);
  if (!map) places = nullptr;
  by_type(x, true, [&]<typename T>(const T* first) {
    nb::gil_scoped_release release;
    window_similarity<T>(job, first, static_cast<const T*>(y.data()), values, places);
  });
  return std::make_tuple(result, map_result);
}

Out<double> halve(Picture p) {
  check_picture(p);
  require(p.shape(0) > 1 && p.shape(1) > 1, "a picture of one row or column cannot be halved");
  double* out;
  auto result = make_raw<double>({p.shape(0) / 2, p.shape(1) / 2, p.shape(2)}, out);
  by_type(p, true, [&]<typename T>(const T* from) {
    nb::gil_scoped_release release;
    halve_picture<T>(from, p.shape(0), p.shape(1), p.shape(2), out);
  });
  return result;
}

Out<double> information_of(Picture x, Picture y, double scale, double eps) {
  check_pair(x, y);
  require(std::min(x.shape(0), x.shape(1)) >= kInformationLeast, "a picture has fewer than 41 rows or columns");
  require(std::isfinite(scale) && eps > 0, "the scale or eps is out of range");
  double* out;
  const std::size_t channels = x.shape(2);
  auto result = make_array<double>({channels, 2}, out);
  by_type(x, true, [&]<typename T>(const T* first) {
    const T* second = static_cast<const T*>(y.data());
    nb::gil_scoped_release release;
    for (std::size_t c = 0; c < channels; ++c) {
      const Information found = information(first + c, second + c, x.shape(0), x.shape(1), channels, scale, eps);
      out[2 * c] = found.carried;
      out[2 * c + 1] = found.there;
    }
  });
  return result;
}

Out<std::int64_t> errors(Picture x, Picture y) {
  check_pair(x, y);
  std::int64_t* out;
  auto result = make_array<std::int64_t>({x.shape(2), 2}, out);
  const std::size_t pixels = x.shape(0) * x.shape(1);
  if (x.dtype() == nb::dtype<std::uint8_t>()) {
    nb::gil_scoped_release release;
    picture_errors(static_cast<const std::uint8_t*>(x.data()), static_cast<const std::uint8_t*>(y.data()), pixels,
                   x.shape(2), out);
  } else {
    require(x.dtype() == nb::dtype<std::uint16_t>(), "a picture holds uint8 or uint16");
    nb::gil_scoped_release release;
    picture_errors(static_cast<const std::uint16_t*>(x.data()), static_cast<const std::uint16_t*>(y.data()), pixels,
                   x.shape(2), out);
  }
  return result;
}

}  // namespace

void bind(nb::module_& m) {
  m.def("image_similarity", &similarity, nb::arg("x").noconvert(), nb::arg("y").noconvert(),
        nb::arg("taps").noconvert(), nb::arg("edges"), nb::arg("c1"), nb::arg("c2"), nb::arg("correction") = 1.0,
        nb::arg("positive") = false, nb::arg("universal") = false, nb::arg("eps") = 0.0, nb::arg("contrast") = false,
        nb::arg("map") = false,
        "Mean SSIM (or Wang's universal index) and contrast of each channel, and the map where it is asked for.");
  m.def("image_halve", &halve, nb::arg("picture").noconvert(), "Means of 2 by 2 pixels; an odd end is left out.");
  m.def("image_information", &information_of, nb::arg("x").noconvert(), nb::arg("y").noconvert(), nb::arg("scale"),
        nb::arg("eps"), "Visual information of each channel: what the distorted picture y has, and all that there is.");
  m.def("image_errors", &errors, nb::arg("x").noconvert(), nb::arg("y").noconvert(),
        "Sums of squared and of absolute differences of each channel.");
}

}  // namespace steelyard::images_binding
