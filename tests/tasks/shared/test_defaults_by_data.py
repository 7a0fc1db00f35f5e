"""The metrics that a report shows when none is named, by what the data hold and the preset, task by task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from steelyard.core import catalogue
from steelyard.core.metadata import Axis, Metadata

IMAGES = ("image_auroc", "image_ap", "image_f1_max")
PIXELS = ("pixel_auroc", "pixel_ap", "pixel_f1_max", "aupro@0.3", "aupro@0.05")
VECTORS = ("fid", "fid_corrected", "kid", "precision", "recall", "density", "coverage")
DEPTH = ("abs_rel", "rmse", "rmse_log", "silog", "delta@1", "delta@2", "delta@3")
KITTI = ("silog(factor=1)", "abs_rel", "sq_rel(by=squared)", "mae", "rmse", "imae", "irmse")
DELTAS = ("delta@1", "delta@2", "delta@3")
ANYTHING = (*DELTAS, "abs_rel", "sq_rel", "rmse", "rmse_log", "log10", "silog(weight=0.5, factor=1)")
ONE = ("acc@0.5", "acc@0.5:0.95", "mean_iou", "centre", "answered")
SETS = ("exact_set", "set_f1", "n_acc", "t_acc", "answered")
MASKS = ("oiou", "miou", "p@0.5", "p@0.7", "p@0.9")
PAGES = ("text_edit", "missing", "surplus")
OMNI = (
    "text_edit(norm=omnidocbench, surplus=free)",
    "text_edit(norm=omnidocbench, average=whole, surplus=free)",
    "text_edit(norm=omnidocbench, average=block, surplus=free)",
)
OMNI_TABLES = (
    "table_teds(surplus=free, rules=omnidocbench)",
    "table_teds(surplus=free, average=table, rules=omnidocbench)",
    "table_teds_struct(surplus=free, rules=omnidocbench)",
)
TEDS = ("teds", "teds_struct", "grits_top", "grits_con")
MICROSOFT = ("grits_top(rules=microsoft)", "grits_con(rules=microsoft, text=difflib)")
SPLIT = ("split_mass", "split_composition", "split_interaction")
FLOW = ("epe", "fl", "bad@1", "wauc")
DISPARITY = ("epe", "d1", "bad@1", "bad@2", "density")


def held(*names: str, targets: tuple[str, ...] = (), **flags: Any) -> Metadata:
    axes: Mapping[str, Axis] = {"target": Axis(targets)}
    return Metadata(axes, flags, frozenset(names))


CASES: dict[str, list[tuple[Metadata, tuple[str, ...]]]] = {
    "anomalies": [
        (held(), IMAGES),
        (held("maps"), IMAGES),
        (held("masks"), IMAGES),
        (held("masks", "loco"), IMAGES),
        (held("maps", "masks"), IMAGES + PIXELS),
        (held("maps", "masks", "loco"), (*IMAGES, *PIXELS, "auspro@0.05")),
    ],
    "depth": [
        (held(preset="none", align="none"), DEPTH),
        (held(preset="none", align="median"), (*DEPTH, "scale_spread")),
        (held(preset="kitti_depth", align="none"), KITTI),
        (held(preset="dav2", align="none"), ANYTHING),
        (held(preset="midas", align="least_squares"), ("abs_rel", "delta_above@1", "rmse", "scale_spread")),
    ],
    "distributions": [
        (held(), ("inception_score",)),
        (held("probabilities"), ("inception_score",)),
        (held("statistics"), ("inception_score",)),
        (held("features"), VECTORS),
        (held("features", "probabilities"), (*VECTORS, "inception_score")),
        (held("features", "statistics"), ("fid",)),
        (held("features", "statistics", "probabilities"), ("fid",)),
    ],
    "documents": [
        (held(), PAGES),
        (held("order"), (*PAGES, "order_edit")),
        (held("tables"), (*PAGES, "table_teds", "table_teds_struct")),
        (held("formulas"), PAGES),
        (held("order", "tables", "cdm"), (*PAGES, "order_edit", "table_teds", "table_teds_struct", "overall")),
        (held("omnidocbench"), OMNI),
        (held("omnidocbench", "order"), (*OMNI, "order_edit(norm=omnidocbench, order=first_table_lost)")),
        (held("omnidocbench", "tables"), OMNI + OMNI_TABLES),
        (held("omnidocbench", "formulas", "cdm"), (*OMNI, "formula_edit(norm=omnidocbench, surplus=free)", "overall")),
    ],
    "grounding": [
        (held(), SETS),
        (held("one"), ONE),
        (held("points", "one"), ("pointing", "answered")),
        (held("points"), ("pointing", "answered")),
        (held("masks", "one"), MASKS),
        (held("masks", "points"), MASKS),
        (held("concepts", "masks", "one"), ("cgf1", "pmf1", "il_mcc", "item_f1")),
    ],
    "images": [(held(), ("psnr", "ssim")), (held("large"), ("psnr", "ssim", "ms_ssim"))],
    "nutrients": [
        (held(), ()),
        (held("ingredients"), ("ingredient_f1", "ingredient_jaccard")),
        (held(targets=("energy",)), ("mae", "pmae", "bias")),
        (held(targets=("fat", "protein")), ("mae", "pmae", "bias", "pmae(target=mean)")),
        (held(targets=("energy", "fat")), ("mae", "pmae", "bias", "pmae(target=mean)")),
        (held(targets=("fat", "mass")), ("mae", "pmae", "bias", "pmae(target=mean)")),
        (
            held("ingredients", targets=("mass", "energy")),
            ("mae", "pmae", "bias", "pmae(target=mean)", *SPLIT, "ingredient_f1", "ingredient_jaccard"),
        ),
    ],
    "tables": [
        (held(), (*TEDS, "shape")),
        (held(preset="none"), (*TEDS, "shape")),
        (held("boxes"), (*TEDS, "grits_loc", "shape")),
        (held("boxes", preset="none"), (*TEDS, "grits_loc", "shape")),
        (held(preset="pubtabnet"), ("teds(rules=pubtabnet)", "teds_struct(rules=pubtabnet)")),
        (held("boxes", preset="pubtabnet"), ("teds(rules=pubtabnet)", "teds_struct(rules=pubtabnet)")),
        (held(preset="omnidocbench"), ("teds(rules=omnidocbench)", "teds_struct(rules=omnidocbench)")),
        (held("boxes", preset="omnidocbench"), ("teds(rules=omnidocbench)", "teds_struct(rules=omnidocbench)")),
        (held(preset="microsoft"), MICROSOFT),
        (held("boxes", preset="microsoft"), (*MICROSOFT, "grits_loc")),
    ],
    "flow": [
        (held(preset=None), FLOW),
        (held(preset="things"), FLOW),
        (held(preset="kitti2015"), ("fl", "epe", "density")),
        (held(preset="viper"), ("wauc", "epe")),
    ],
    "disparity": [
        (held(preset=None), DISPARITY),
        (held(preset="sintel"), DISPARITY),
        (held(preset="kitti2012"), ("bad@3", "epe", "density")),
        (held(preset="spring"), ("bad@1", "epe", "d1")),
    ],
}


@pytest.mark.parametrize(
    ("task", "place"), [(task, place) for task, cases in CASES.items() for place in range(len(cases))]
)
def test_defaults_by_what_the_data_hold(task: str, place: int) -> None:
    known = catalogue.find_task(task)
    data, expected = CASES[task][place]
    assert known.defaults_for is not None
    assert known.defaults_for(data) == expected
    for spec in expected:
        catalogue.parse(spec, task).check_settings()


def test_every_task_that_chooses_is_tested() -> None:
    """Those of `answers`, `labels` and `boxes3d` have tests of their own."""
    choosing = {name for name, task in catalogue.built_in().items() if task.defaults_for is not None}
    assert choosing == {*CASES, "answers", "labels", "boxes3d"}
