// The focal loss of logits in single precision; see losses/focal.hpp.
#include <array>
#include <limits>
#include <optional>

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>

#include "arrays.hpp"
#include "losses/focal.hpp"
#include "support/pool.hpp"

namespace steelyard::focal_binding {
namespace {

using Slope = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

FocalSettings settings_of(float alpha_class, float alpha_background, double gamma) {
  require(alpha_class >= 0 && alpha_background >= 0, "a factor of the loss is negative or not a number");
  if (gamma == 0) return {alpha_class, alpha_background, FocalPower::none};
  if (gamma == 1) return {alpha_class, alpha_background, FocalPower::one};
  if (gamma == 1.5) return {alpha_class, alpha_background, FocalPower::one_and_half};
  require(gamma == 2, "gamma is none of 0, 1, 1.5 and 2");
  return {alpha_class, alpha_background, FocalPower::two};
}

float* slope_of(const In1<float>& logits, const std::optional<Slope>& slope) {
  if (!slope) return nullptr;
  require(slope->shape(0) == logits.shape(0), "logits and slope differ in size");
  return slope->data();
}

void check_classes(std::size_t classes) {
  require(classes <= std::numeric_limits<std::int32_t>::max(), "there are too many classes");
}

// Whether the last of the places reached by steps along axes is one of an array of that size.
template <std::size_t kAxes>
void check_reach(const std::array<std::size_t, kAxes>& sizes, const std::array<std::size_t, kAxes>& steps,
                 std::size_t size) {
  std::size_t last = 0;
  for (std::size_t i = 0; i < kAxes; ++i) {
    if (sizes[i] == 0) return;
    const std::size_t most = std::numeric_limits<std::size_t>::max() / 2 / kAxes;
    require(steps[i] == 0 || sizes[i] - 1 <= most / steps[i], "a step leads out of the array");
    last += (sizes[i] - 1) * steps[i];
  }
  require(last < size, "a step leads out of the array");
}

double of_planes(In1<float> logits, In1<std::int64_t> labels, std::array<std::size_t, 3> size,
                 std::array<std::size_t, 2> logit_steps, std::array<std::size_t, 3> label_steps, std::size_t classes,
                 std::size_t class_step, float alpha_class, float alpha_background, double gamma,
                 std::optional<Slope> slope, long threads) {
  const FocalSettings settings = settings_of(alpha_class, alpha_background, gamma);
  check_classes(classes);
  float* out = slope_of(logits, slope);
  check_reach<4>({size[0], size[1], size[2], classes}, {logit_steps[0], logit_steps[1], 1, class_step},
                 logits.shape(0));
  check_reach<3>(size, label_steps, labels.shape(0));
  const FocalPlanes planes{size, logit_steps, class_step, label_steps, classes};
  nb::gil_scoped_release unlocked;
  return focal_of_planes(logits.data(), labels.data(), planes, settings, out, thread_count(threads));
}

double of_rows(In1<float> logits, In1<std::int64_t> labels, std::size_t classes, float alpha_class,
               float alpha_background, double gamma, std::optional<Slope> slope, long threads) {
  const FocalSettings settings = settings_of(alpha_class, alpha_background, gamma);
  check_classes(classes);
  float* out = slope_of(logits, slope);
  const std::size_t rows = labels.shape(0), size = logits.shape(0);
  require(classes == 0 ? size == 0 : size % classes == 0 && size / classes == rows,
          "each label has a logit for every class");
  nb::gil_scoped_release unlocked;
  return focal_of_rows(logits.data(), labels.data(), rows, classes, settings, out, thread_count(threads));
}

}  // namespace

void bind(nb::module_& m) {
  m.def("focal_of_planes", &of_planes, nb::arg("logits").noconvert(), nb::arg("labels").noconvert(), nb::arg("size"),
        nb::arg("logit_steps"), nb::arg("label_steps"), nb::arg("classes"), nb::arg("class_step"),
        nb::arg("alpha_class"), nb::arg("alpha_background"), nb::arg("gamma"), nb::arg("slope").noconvert().none(),
        nb::arg("threads"),
        "The sum of the focal loss of logits that lie in planes of a class each, along two axes of lines of anchors; "
        "and its "
        "derivative, into `slope`. A label is a class, -2 where an anchor does not count, or another number.");
  m.def("focal_of_rows", &of_rows, nb::arg("logits").noconvert(), nb::arg("labels").noconvert(), nb::arg("classes"),
        nb::arg("alpha_class"), nb::arg("alpha_background"), nb::arg("gamma"), nb::arg("slope").noconvert().none(),
        nb::arg("threads"), "The same of logits that lie anchor by anchor.");
}

}  // namespace steelyard::focal_binding
