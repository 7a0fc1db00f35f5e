// The module steelyard._native: two lines for each file of bindings.
#include <nanobind/nanobind.h>

#include "wide/wide.hpp"

namespace steelyard {
namespace anomalies_binding {
void bind(nanobind::module_& m);
}
namespace arrow_binding {
void bind(nanobind::module_& m);
}
namespace box_figures_binding {
void bind(nanobind::module_& m);
}
namespace boxes_binding {
void bind(nanobind::module_& m);
}
namespace coco_binding {
void bind(nanobind::module_& m);
}
namespace coco_eval_binding {
void bind(nanobind::module_& m);
}
namespace count_above_binding {
void bind(nanobind::module_& m);
}
namespace depth_binding {
void bind(nanobind::module_& m);
}
namespace documents_binding {
void bind(nanobind::module_& m);
}
namespace draws_binding {
void bind(nanobind::module_& m);
}
namespace edits_binding {
void bind(nanobind::module_& m);
}
namespace ellipses_binding {
void bind(nanobind::module_& m);
}
namespace fields_binding {
void bind(nanobind::module_& m);
}
namespace focal_binding {
void bind(nanobind::module_& m);
}
namespace frames_binding {
void bind(nanobind::module_& m);
}
namespace images_binding {
void bind(nanobind::module_& m);
}
namespace keypoints_binding {
void bind(nanobind::module_& m);
}
namespace labels_binding {
void bind(nanobind::module_& m);
}
namespace language_binding {
void bind(nanobind::module_& m);
}
namespace mask_operations_binding {
void bind(nanobind::module_& m);
}
namespace maps_binding {
void bind(nanobind::module_& m);
}
namespace masks_binding {
void bind(nanobind::module_& m);
}
namespace packed_binding {
void bind(nanobind::module_& m);
}
namespace places_binding {
void bind(nanobind::module_& m);
}
namespace quads_binding {
void bind(nanobind::module_& m);
}
namespace ranked_binding {
void bind(nanobind::module_& m);
}
namespace ranked_ap_binding {
void bind(nanobind::module_& m);
}
namespace ranking_join_binding {
void bind(nanobind::module_& m);
}
namespace ranking_scores_binding {
void bind(nanobind::module_& m);
}
namespace rates_binding {
void bind(nanobind::module_& m);
}
namespace solid_binding {
void bind(nanobind::module_& m);
}
namespace solid_files_binding {
void bind(nanobind::module_& m);
}
namespace streams_binding {
void bind(nanobind::module_& m);
}
namespace tables_binding {
void bind(nanobind::module_& m);
}
namespace texts_binding {
void bind(nanobind::module_& m);
}
namespace tracking_binding {
void bind(nanobind::module_& m);
}
namespace trec_binding {
void bind(nanobind::module_& m);
}
}  // namespace steelyard

NB_MODULE(_native, m) {
  m.doc() = "The compiled core of Steelyard: flat arrays in, flat arrays out.";
  m.def(
      "simd", [] { return nanobind::str(steelyard::wide_kernels().name); },
      "The set of instructions that was chosen: baseline or avx2. STEELYARD_SIMD=baseline chooses the first.");
  steelyard::wide_kernels();  // chosen now: a wrong STEELYARD_SIMD is an error at import
  steelyard::anomalies_binding::bind(m);
  steelyard::arrow_binding::bind(m);
  steelyard::box_figures_binding::bind(m);
  steelyard::boxes_binding::bind(m);
  steelyard::coco_binding::bind(m);
  steelyard::coco_eval_binding::bind(m);
  steelyard::count_above_binding::bind(m);
  steelyard::depth_binding::bind(m);
  steelyard::documents_binding::bind(m);
  steelyard::draws_binding::bind(m);
  steelyard::edits_binding::bind(m);
  steelyard::ellipses_binding::bind(m);
  steelyard::fields_binding::bind(m);
  steelyard::focal_binding::bind(m);
  steelyard::frames_binding::bind(m);
  steelyard::images_binding::bind(m);
  steelyard::keypoints_binding::bind(m);
  steelyard::labels_binding::bind(m);
  steelyard::language_binding::bind(m);
  steelyard::mask_operations_binding::bind(m);
  steelyard::maps_binding::bind(m);
  steelyard::masks_binding::bind(m);
  steelyard::packed_binding::bind(m);
  steelyard::places_binding::bind(m);
  steelyard::quads_binding::bind(m);
  steelyard::ranked_binding::bind(m);
  steelyard::ranked_ap_binding::bind(m);
  steelyard::ranking_join_binding::bind(m);
  steelyard::ranking_scores_binding::bind(m);
  steelyard::rates_binding::bind(m);
  steelyard::solid_binding::bind(m);
  steelyard::solid_files_binding::bind(m);
  steelyard::streams_binding::bind(m);
  steelyard::tables_binding::bind(m);
  steelyard::texts_binding::bind(m);
  steelyard::tracking_binding::bind(m);
  steelyard::trec_binding::bind(m);
}
