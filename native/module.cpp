// The module steelyard._native: one line for each kernel.
#include <nanobind/nanobind.h>

namespace steelyard {
void bind_boxes(nanobind::module_& m);
void bind_coco(nanobind::module_& m);
void bind_draws(nanobind::module_& m);
void bind_curves(nanobind::module_& m);
}

NB_MODULE(_native, m) {
  m.doc() = "The compiled core of Steelyard: flat arrays in, flat arrays out.";
  steelyard::bind_boxes(m);
  steelyard::bind_coco(m);
  steelyard::bind_draws(m);
  steelyard::bind_curves(m);
}
