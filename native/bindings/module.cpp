// The module steelyard._native: two lines for each file of bindings.
#include <nanobind/nanobind.h>

#include "wide/wide.hpp"

namespace steelyard {
void bind_arrow(nanobind::module_& m);
void bind_box_figures(nanobind::module_& m);
void bind_boxes(nanobind::module_& m);
void bind_coco(nanobind::module_& m);
void bind_coco_eval(nanobind::module_& m);
void bind_count_above(nanobind::module_& m);
void bind_draws(nanobind::module_& m);
void bind_edits(nanobind::module_& m);
void bind_ellipses(nanobind::module_& m);
void bind_focal(nanobind::module_& m);
void bind_keypoints(nanobind::module_& m);
void bind_labels(nanobind::module_& m);
void bind_language(nanobind::module_& m);
void bind_mask_operations(nanobind::module_& m);
void bind_maps(nanobind::module_& m);
void bind_masks(nanobind::module_& m);
void bind_packed(nanobind::module_& m);
void bind_places(nanobind::module_& m);
void bind_quads(nanobind::module_& m);
void bind_ranked(nanobind::module_& m);
void bind_ranked_ap(nanobind::module_& m);
void bind_ranking_join(nanobind::module_& m);
void bind_ranking_scores(nanobind::module_& m);
void bind_solid(nanobind::module_& m);
void bind_solid_files(nanobind::module_& m);
void bind_streams(nanobind::module_& m);
void bind_texts(nanobind::module_& m);
void bind_tracking(nanobind::module_& m);
void bind_trec(nanobind::module_& m);
}  // namespace steelyard

NB_MODULE(_native, m) {
  m.doc() = "The compiled core of Steelyard: flat arrays in, flat arrays out.";
  m.def(
      "simd", [] { return nanobind::str(steelyard::wide_kernels().name); },
      "The set of instructions that was chosen: baseline or avx2. STEELYARD_SIMD=baseline chooses the first.");
  steelyard::wide_kernels();  // chosen now: a wrong STEELYARD_SIMD is an error at import
  steelyard::bind_arrow(m);
  steelyard::bind_box_figures(m);
  steelyard::bind_boxes(m);
  steelyard::bind_coco(m);
  steelyard::bind_coco_eval(m);
  steelyard::bind_count_above(m);
  steelyard::bind_draws(m);
  steelyard::bind_edits(m);
  steelyard::bind_ellipses(m);
  steelyard::bind_focal(m);
  steelyard::bind_keypoints(m);
  steelyard::bind_labels(m);
  steelyard::bind_language(m);
  steelyard::bind_mask_operations(m);
  steelyard::bind_maps(m);
  steelyard::bind_masks(m);
  steelyard::bind_packed(m);
  steelyard::bind_places(m);
  steelyard::bind_quads(m);
  steelyard::bind_ranked(m);
  steelyard::bind_ranked_ap(m);
  steelyard::bind_ranking_join(m);
  steelyard::bind_ranking_scores(m);
  steelyard::bind_solid(m);
  steelyard::bind_solid_files(m);
  steelyard::bind_streams(m);
  steelyard::bind_texts(m);
  steelyard::bind_tracking(m);
  steelyard::bind_trec(m);
}
