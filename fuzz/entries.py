"""Which target reaches each entry of the native core; tests/project/test_fuzz.py runs them and misses none."""

from __future__ import annotations

REACHED_BY: dict[str, tuple[str, ...]] = {
    "anomalies.scores": ("count_scores", "pack_scores", "sum_scores", "unpack_scores"),
    "anomalies.regions": ("mask_regions",),
    "anomalies.lzw": ("unpack_lzw",),
    "boxes.files": ("coco_parse", "coco_read"),
    "boxes.kernels": ("BoxFigure", "Ranked", "boxes_match"),
    "boxes.cells": (
        "boxes_iou", "cell_box_ious", "complete_results", "match_cells", "order_cells", "reference_curves",
        "result_columns", "score_cells",
    ),
    "streams.parts": ("BoxStream", "LabelStream"),
    "masks.kernels": (
        "cell_mask_ious", "mask_area", "mask_boundary", "mask_box", "mask_boxes", "mask_column", "mask_contours",
        "mask_copy", "mask_decode", "mask_encode", "mask_fingerprint", "mask_iou", "mask_merge", "mask_pack",
        "mask_polygons", "mask_sizes", "mask_united", "masks_match",
    ),
    "keypoints.kernels": ("keypoints_match", "oks", "oks_exponents", "oks_means"),
    "quads.kernels": (
        "probiou_match", "quad_shapes", "quads_iou", "quads_match", "rectangles_iou", "rectangles_probiou",
    ),
    "draws.totals": (
        "flip_totals", "poisson_counts", "poisson_scatter", "poisson_totals", "poisson_weights", "set_threads", "simd",
        "thread_count", "unit_keys", "unit_keys_of_integers",
    ),
    "frames.streams": ("arrow_stream",),
    "labels.counts": (
        "confusion", "extent", "factor_rows", "factor_texts", "fingerprint", "fingerprint_words", "first_repeated",
        "places",
    ),
    "labels.ranked": (
        "rank_order",
        "ranked",
        "ranked_ap",
        "ranked_ap_by_unit",
        "ranked_draws",
        "ranked_each",
        "ranked_left_out",
    ),
    "labels.rates": ("count_at", "rates", "rates_each", "rates_read_at_hits"),
    "ellipses.kernels": (
        "ellipse_match", "ellipse_match_by_score", "ellipse_matrix", "ellipse_overlap", "ellipse_pairwise",
    ),
    "ellipses.assign": ("assign",),
    "rankings.joins": ("join_nested", "join_rankings", "pack_nested", "ranking_repeats", "ranking_sums"),
    "rankings.scores": (
        "ranking_bpref", "ranking_err", "ranking_gain", "ranking_hits", "ranking_r_hits", "ranking_rbp",
    ),
    "rankings.above": ("count_above",),
    "rankings.texts": ("pack_integers", "pack_objects", "pack_offsets", "pack_runs", "text_runs"),
    "rankings.trec": ("read_trec",),
    "tables.kernels": (
        "table_cells", "table_distances", "table_grids", "table_path", "table_scan", "table_shared_cells",
    ),
    "documents.runs": ("match_runs",),
    "images.kernels": ("image_errors", "image_halve", "image_information", "image_similarity"),
    "captions.entries": (
        "caption_trees", "caption_tuples", "meteor_counts", "ngram_overlap", "ptb_tokens", "scene_scores",
        "snowball_stem", "usual_boxes", "tree_tuples",
    ),
    "maps.cells": ("map_bands", "map_boxes", "map_cells", "map_pack", "map_recode", "map_unpack"),
    "maps.files": ("PngFile", "png_cells"),
    "maps.inflate": ("gunzip",),
    "fields.files": ("png_flow", "png_grey", "png_kind", "png_samples"),
    "fields.errors": ("field_errors", "fill_rows"),
    "fields.depth": ("depth_edges", "depth_fit", "depth_pack", "depth_sums"),
    "fields.normals": ("angle_sums", "normal_angles"),
    "maps.surfaces": (
        "connected_parts", "dilate_mask", "element_sizes", "squared_distances", "surface_distances",
    ),
    "tracking.kernels": (
        "assign_scipy", "tracking_codes", "tracking_matches", "tracking_overlaps", "tracking_scores",
    ),
    "tracking.frames": (
        "frame_clear", "frame_hota", "frame_identity", "frame_ious", "frame_pairs", "frame_select", "frame_sums",
    ),
    "tracking.rows": ("number_rows",),
    "losses.focal": ("focal_of_planes", "focal_of_rows"),
    "answers.edits": ("edit_counts", "edit_distances", "edit_steps"),
    "solid.kernels": ("kitti_areas", "kitti_areas_by_unit", "kitti_curve", "kitti_match", "solid_overlaps"),
    "solid.centres": ("centre_curves", "centre_match", "centre_scores", "centre_scores_by_unit"),
    "solid.files": ("parse_nuscenes", "read_kitti", "read_nuscenes"),
    "captions.model": ("Lemmas", "ParserModel", "WordNet"),
}  # fmt: skip
