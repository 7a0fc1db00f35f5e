// Depth and normals: pixels of a pair of maps become sums.
#include "fields/depth.hpp"

#include <optional>

#include <nanobind/stl/optional.h>

#include "arrays.hpp"
#include "fields/normals.hpp"

namespace steelyard::depth_binding {
namespace {

template <typename T>
using In3 = nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Mask = std::optional<In2<std::uint8_t>>;

template <typename A>
void check_mask(const Mask& mask, const A& truth) {
  require(!mask || (mask->shape(0) == truth.shape(0) && mask->shape(1) == truth.shape(1)), "the mask has another size");
}

template <typename T>
Tuple<Out<double>, Out<double>, std::size_t, std::size_t> pack(In2<T> truth, In2<T> prediction, Mask mask,
                                                               std::size_t top, std::size_t bottom, std::size_t left,
                                                               std::size_t right, double low, double high,
                                                               bool closed) {
  const std::size_t height = truth.shape(0), width = truth.shape(1);
  require(prediction.shape(0) == height && prediction.shape(1) == width, "both maps must have one size");
  require(top <= bottom && bottom <= height && left <= right && right <= width, "the box must lie in the map");
  check_mask(mask, truth);
  const std::size_t room = (bottom - top) * (right - left) + 1;
  Buffer<double> g, x;
  g.resize(room), x.resize(room);
  std::size_t n, bad, first;
  {
    nb::gil_scoped_release release;
    n = pack_depth<T>(truth.data(), prediction.data(), mask ? mask->data() : nullptr,
                      {height, width, top, bottom, left, right, low, high, closed}, g.data(), x.data(), bad, first);
  }
  g.resize(n), x.resize(n);
  return nb::make_tuple(release(g), release(x), bad, first);
}

Out<double> fit(In1<double> x, In1<double> y, bool inverse, bool positive) {
  require(x.shape(0) == y.shape(0), "both sides must have as many values");
  double* out;
  auto result = make_array<double>({6}, out);
  nb::gil_scoped_release release;
  fit_depth(view(x), view(y), inverse, positive, out);
  return result;
}

Tuple<Out<double>, Out<double>, Out<double>> sum(In1<double> g, In1<double> x, bool invert, bool disparity,
                                                 double scale, double shift, double floor, double low, double high,
                                                 In1<double> thresholds) {
  require(x.shape(0) == g.shape(0), "both sides must have as many values");
  double *sums, *moments, *below;
  auto first = make_array<double>({kDepthSums}, sums);
  auto second = make_array<double>({2}, moments);
  auto third = make_array<double>({thresholds.shape(0)}, below);
  {
    nb::gil_scoped_release release;
    sum_depth(view(g), view(x), {invert, disparity, scale, shift, floor, low, high}, view(thresholds), sums, moments,
              below);
  }
  return nb::make_tuple(first, second, third);
}

template <typename T>
Out<std::int64_t> edges(In2<T> truth, In2<T> prediction, Mask valid, In1<double> ratios) {
  require(truth.shape(0) == prediction.shape(0) && truth.shape(1) == prediction.shape(1),
          "both maps must have one size");
  check_mask(valid, truth);
  std::int64_t* out;
  auto result = make_array<std::int64_t>({4, 3, ratios.shape(0) + 1}, out);
  nb::gil_scoped_release release;
  count_depth_edges<T>(truth.data(), prediction.data(), valid ? valid->data() : nullptr, truth.shape(0), truth.shape(1),
                       view(ratios), out);
  return result;
}

template <typename T>
Tuple<Out<double>, std::size_t, std::size_t, std::size_t> angles(In3<T> truth, In3<T> prediction, Mask mask) {
  require(truth.shape(2) == 3 && prediction.shape(2) == 3, "normals have three components");
  require(truth.shape(0) == prediction.shape(0) && truth.shape(1) == prediction.shape(1),
          "both maps must have one size");
  check_mask(mask, truth);
  const std::size_t pixels = truth.shape(0) * truth.shape(1);
  Buffer<double> out;
  out.resize(pixels + 1);
  std::size_t n, zero, bad, first;
  {
    nb::gil_scoped_release release;
    n = measure_angles<T>(truth.data(), prediction.data(), mask ? mask->data() : nullptr, pixels, out.data(), zero, bad,
                          first);
  }
  out.resize(n);
  return nb::make_tuple(release(out), zero, bad, first);
}

Tuple<Out<double>, Out<double>, Out<std::int64_t>> angle_sums(In1<double> angles, In1<double> limits) {
  double *sums, *below;
  std::int64_t* bins;
  auto first = make_array<double>({2}, sums);
  auto second = make_array<double>({limits.shape(0)}, below);
  auto third = make_array<std::int64_t>({kAngleBins}, bins);
  {
    nb::gil_scoped_release release;
    sum_angles(view(angles), view(limits), sums, below, bins);
  }
  return nb::make_tuple(first, second, third);
}

}  // namespace

void bind(nb::module_& m) {
  m.def("depth_pack", &pack<float>, nb::arg("truth").noconvert(), nb::arg("prediction").noconvert(),
        nb::arg("mask").none(), nb::arg("top"), nb::arg("bottom"), nb::arg("left"), nb::arg("right"), nb::arg("low"),
        nb::arg("high"), nb::arg("closed"),
        "True and predicted depths of valid pixels, how many predictions are not finite, and the first such place.");
  m.def("depth_pack", &pack<double>, nb::arg("truth").noconvert(), nb::arg("prediction").noconvert(),
        nb::arg("mask").none(), nb::arg("top"), nb::arg("bottom"), nb::arg("left"), nb::arg("right"), nb::arg("low"),
        nb::arg("high"), nb::arg("closed"),
        "True and predicted depths of valid pixels, how many predictions are not finite, and the first such place.");
  m.def("depth_fit", &fit, nb::arg("x").noconvert(), nb::arg("y").noconvert(), nb::arg("inverse"), nb::arg("positive"),
        "Count, means and centred products of x and y, or 1 / y.");
  m.def("depth_sums", &sum, nb::arg("g").noconvert(), nb::arg("x").noconvert(), nb::arg("invert"), nb::arg("disparity"),
        nb::arg("scale"), nb::arg("shift"), nb::arg("floor"), nb::arg("low"), nb::arg("high"),
        nb::arg("thresholds").noconvert(),
        "Sums of errors of changed predictions, moments of their logarithms, and counts below thresholds.");
  m.def("depth_edges", &edges<float>, nb::arg("truth").noconvert(), nb::arg("prediction").noconvert(),
        nb::arg("valid").none(), nb::arg("ratios").noconvert(),
        "Edges by direction, of prediction, truth and both, by how many of the ratios they exceed.");
  m.def("depth_edges", &edges<double>, nb::arg("truth").noconvert(), nb::arg("prediction").noconvert(),
        nb::arg("valid").none(), nb::arg("ratios").noconvert(),
        "Edges by direction, of prediction, truth and both, by how many of the ratios they exceed.");
  m.def("normal_angles", &angles<float>, nb::arg("truth").noconvert(), nb::arg("prediction").noconvert(),
        nb::arg("mask").none(),
        "Angles of valid pixels in degrees, predictions of length 0, those not finite, and the first such place.");
  m.def("normal_angles", &angles<double>, nb::arg("truth").noconvert(), nb::arg("prediction").noconvert(),
        nb::arg("mask").none(),
        "Angles of valid pixels in degrees, predictions of length 0, those not finite, and the first such place.");
  m.def("angle_sums", &angle_sums, nb::arg("angles").noconvert(), nb::arg("limits").noconvert(),
        "Sum of angles and of their squares, counts below limits, and counts by bin.");
}

}  // namespace steelyard::depth_binding
