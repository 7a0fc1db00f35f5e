// Bindings of dense fields: samples of a PNG, errors of disparity and flow, filled gaps.
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include "arrays.hpp"
#include "fields/errors.hpp"
#include "fields/samples.hpp"

namespace steelyard::fields_binding {
namespace {

constexpr std::size_t kMostValues = std::size_t{1} << 31;

using AnyField = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using AnySamples = Result<nb::ndarray<nb::numpy, nb::c_contig>>;

const std::uint8_t* bytes_of(const nb::bytes& data) { return reinterpret_cast<const std::uint8_t*>(data.c_str()); }

PngHeader header_of(const nb::bytes& data) {
  PngHeader header = read_png_header(bytes_of(data), data.size());
  require(has_dense_samples(header), "the file is not one that is read here");
  require(header.height > 0 && header.width > 0 && header.height <= kMostValues / header.width / header.channels,
          "the size is out of range");
  return header;
}

void require_whole(PngFault fault) {
  require(fault != PngFault::data, "the data are not those of the picture");
  require(fault != PngFault::filter, "a row has a filter that does not exist");
}

// Height, width, bits, channels, whether there is a palette, whether it is interlaced, and what is wrong.
auto kind(nb::bytes data) {
  const PngHeader header = read_png_header(bytes_of(data), data.size());
  return std::make_tuple(header.height, header.width, header.depth, header.channels, header.palette, header.interlaced,
                         header.fault);
}

template <typename T>
nb::object filled_samples(const PngHeader& header, const nb::bytes& data) {
  T* out;
  auto result = make_raw<T>({header.height, header.width, header.channels}, out);
  PngFault fault;
  {
    nb::gil_scoped_release release;
    fault = png_samples(header, bytes_of(data), out);
  }
  require_whole(fault);
  return nb::cast(result);
}

AnySamples samples(nb::bytes data) {
  const PngHeader header = header_of(data);
  return header.depth == 16 ? filled_samples<std::uint16_t>(header, data) : filled_samples<std::uint8_t>(header, data);
}

Out<float> grey(nb::bytes data, double scale, bool zero_is_missing) {
  const PngHeader header = header_of(data);
  require(header.depth == 16 && header.channels == 1, "the picture has not one channel of 16 bits");
  require(std::isfinite(scale) && scale > 0, "the scale is above zero");
  float* out;
  auto result = make_raw<float>({header.height, header.width}, out);
  PngFault fault;
  {
    nb::gil_scoped_release release;
    fault = png_grey(header, bytes_of(data), scale, zero_is_missing, out);
  }
  require_whole(fault);
  return result;
}

Out<float> flow(nb::bytes data) {
  const PngHeader header = header_of(data);
  require(header.depth == 16 && header.channels == 3, "the picture has not three channels of 16 bits");
  float* out;
  auto result = make_raw<float>({header.height, header.width, 2}, out);
  PngFault fault;
  {
    nb::gil_scoped_release release;
    fault = png_flow(header, bytes_of(data), out);
  }
  require_whole(fault);
  return result;
}

template <typename T>
void measure(const AnyField& truth, const AnyField& predicted, const std::uint32_t* bits, std::size_t channels,
             std::size_t several, const FieldRequest& request, double* sums, double* errors) {
  nb::gil_scoped_release release;
  field_errors(static_cast<const T*>(truth.data()), static_cast<const T*>(predicted.data()), bits,
               predicted.size() / channels, channels, several, request, sums, errors);
}

auto errors(AnyField truth, AnyField predicted, AnyField bits, std::size_t channels, In1<std::int32_t> regions,
            In2<double> speeds, In1<double> thresholds, bool wauc, bool angles, bool kitti, bool each) {
  require(channels == 1 || channels == 2, "a field has one channel or two");
  require(predicted.size() > 0 && predicted.size() <= kMostValues && truth.size() <= kMostValues,
          "the size is out of range");
  require(predicted.size() % channels == 0 && truth.size() % predicted.size() == 0 && truth.size() > 0,
          "the fields are of different sizes");
  const std::size_t n = predicted.size() / channels, several = truth.size() / predicted.size();
  require(several <= 16, "a pixel has at most 16 true values");
  require(!kitti || several == 1, "KITTI's rule is for one true value per pixel");
  require(!angles || (channels == 2 && several == 1), "angles are of flow with one true value per pixel");
  require(bits.size() == 0 || (bits.size() == n && bits.dtype() == nb::dtype<std::uint32_t>()),
          "the regions are not one number for each pixel");
  require(speeds.shape(0) == regions.shape(0) && speeds.shape(1) == 2, "a group has a region and two speeds");
  require(regions.shape(0) <= 1000 && thresholds.shape(0) <= 1000, "there are too many groups or thresholds");
  std::vector<FieldGroup> groups(regions.shape(0));
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::int32_t region = regions.data()[g];
    require(region < 32 && (region < 0 || bits.size()), "a region is not one of those that are marked");
    groups[g] = {region, speeds.data()[2 * g], speeds.data()[2 * g + 1]};
  }
  const bool wide = predicted.dtype() == nb::dtype<double>();
  require((wide || predicted.dtype() == nb::dtype<float>()) && truth.dtype() == predicted.dtype(),
          "fields hold floating-point numbers of one type");
  const FieldRequest request{groups, {thresholds.data(), thresholds.shape(0)}, wauc, angles, kitti};
  double *sums, *single;
  auto result = make_raw<double>({groups.size(), kFieldColumns + thresholds.shape(0)}, sums);
  auto pixels = make_raw<double>({each ? n : 0}, single);
  const auto* marked = bits.size() ? static_cast<const std::uint32_t*>(bits.data()) : nullptr;
  if (wide) {
    measure<double>(truth, predicted, marked, channels, several, request, sums, each ? single : nullptr);
  } else {
    measure<float>(truth, predicted, marked, channels, several, request, sums, each ? single : nullptr);
  }
  return std::make_tuple(result, pixels);
}

template <typename T>
nb::object filled(const AnyField& field, double rest) {
  const std::size_t channels = field.ndim() == 3 ? field.shape(2) : 1;
  T* out;
  auto result = field.ndim() == 3 ? make_raw<T>({field.shape(0), field.shape(1), channels}, out)
                                  : make_raw<T>({field.shape(0), field.shape(1)}, out);
  std::copy_n(static_cast<const T*>(field.data()), field.size(), out);
  nb::gil_scoped_release release;
  fill_rows<T>(out, field.shape(0), field.shape(1), channels, static_cast<T>(rest));
  nb::gil_scoped_acquire acquire;
  return nb::cast(result);
}

AnySamples fill(AnyField field, double rest) {
  require(field.ndim() == 2 || field.ndim() == 3, "a field has two axes or three");
  require(field.size() > 0 && field.size() <= kMostValues, "the size is out of range");
  if (field.dtype() == nb::dtype<double>()) return filled<double>(field, rest);
  require(field.dtype() == nb::dtype<float>(), "a field holds floating-point numbers");
  return filled<float>(field, rest);
}

}  // namespace

void bind(nb::module_& m) {
  m.def("png_kind", &kind, nb::arg("data"),
        "Height, width, bits and channels of a PNG, whether it has a palette or is interlaced, and what is wrong.");
  m.def("png_samples", &samples, nb::arg("data"), "All samples of a PNG: height × width × channels.");
  m.def("png_grey", &grey, nb::arg("data"), nb::arg("scale"), nb::arg("zero_is_missing"),
        "A grey PNG of 16 bits, divided by a scale; 0 may become nan.");
  m.def("png_flow", &flow, nb::arg("data"), "Flow of a PNG as KITTI writes it: height × width × 2, nan for none.");
  m.def("field_errors", &errors, nb::arg("truth").noconvert(), nb::arg("predicted").noconvert(),
        nb::arg("bits").noconvert(), nb::arg("channels"), nb::arg("regions").noconvert(), nb::arg("speeds").noconvert(),
        nb::arg("thresholds").noconvert(), nb::arg("wauc"), nb::arg("angles"), nb::arg("kitti"), nb::arg("each"),
        "Sums of the errors of a field by group, and the error of each pixel.");
  m.def("fill_rows", &fill, nb::arg("field").noconvert(), nb::arg("rest"),
        "The field with gaps filled as KITTI fills them; empty rows between others take `rest`.");
}

}  // namespace steelyard::fields_binding
