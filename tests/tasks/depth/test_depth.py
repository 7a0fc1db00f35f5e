"""Depth: goldens of ZoeDepth, Marigold, Depth-Anything-V2, Depth Pro and KITTI's kit; rules by hand; what is refused."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from support.paths import ROOT
from support.refusal import refuses

import steelyard as sy
from steelyard import _native
from steelyard.core.options import Options
from steelyard.tasks.depth.pixels import boundary_score, crop_box, parse_crop
from steelyard.tasks.depth.task import TASK
from steelyard.tasks.fields.data import resize_field

GOLDENS = json.loads((ROOT / "tests" / "goldens" / "depth.json").read_text())
RAMP = np.arange(16, dtype=np.float32).reshape(4, 4) + 4
ZOE = {
    "a1": "delta@1",
    "a2": "delta@2",
    "a3": "delta@3",
    "abs_rel": "abs_rel",
    "rmse": "rmse",
    "log_10": "log10",
    "rmse_log": "rmse_log",
    "silog": "silog",
    "sq_rel": "sq_rel",
}
DAV2 = {
    "d1": "delta@1",
    "d2": "delta@2",
    "d3": "delta@3",
    "abs_rel": "abs_rel",
    "sq_rel": "sq_rel",
    "rmse": "rmse",
    "rmse_log": "rmse_log",
    "log10": "log10",
    "silog": "silog(weight=0.5, factor=1)",
}
MARIGOLD = {
    "abs_relative_difference": "abs_rel",
    "squared_relative_difference": "sq_rel",
    "rmse_linear": "rmse",
    "rmse_log": "rmse_log",
    "log10": "log10",
    "delta1_acc": "delta@1",
    "delta2_acc": "delta@2",
    "delta3_acc": "delta@3",
    "i_rmse": "irmse",
    "silog_rmse": "silog",
}
RATIOS = "boundary_f1 at 1.05, 1.15, 1.25 of inverse depth"
BOUNDS = {"min": 0.001, "max": 80}
# Golden, metrics by the reference's names, options.
RUNS: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "zoedepth garg 0.001 80": (ZOE, {**BOUNDS, "crop": "garg"}),
    "zoedepth eigen kitti 0.001 80": (ZOE, {**BOUNDS, "crop": "eigen"}),
    "dav2 0.001 80": (DAV2, {**BOUNDS, "preset": "dav2"}),
    "marigold none": (MARIGOLD, BOUNDS),
    "marigold least_square": (MARIGOLD, {**BOUNDS, "preset": "affine_invariant"}),
    "marigold least_square_disparity": (
        MARIGOLD,
        {**BOUNDS, "align": "affine", "align_in": "disparity", "align_fit": "positive", "prediction": "disparity"},
    ),
    "median": (ZOE, {**BOUNDS, "align": "median"}),
}


def grid(rows: Any) -> Any:
    return np.array([[float(v) for v in row] for row in rows], dtype=np.float32)


def scores(truth: Any, prediction: Any, specs: Any, options: dict[str, Any]) -> dict[str, float]:
    """Values by spec; truth and prediction are one map or several."""
    sides = [side if isinstance(side, list) else [side] for side in (truth, prediction)]
    images = [f"i{k}" for k in range(len(sides[0]))]
    report = sy.evaluate(
        "depth",
        {"image": images, "map": sides[0]},
        {"image": images, "map": sides[1]},
        list(specs),
        confidence=None,
        options=options,
    )
    return {str(spec): report[spec].value for spec in specs}


def compare(golden: dict[str, Any], truth: Any, prediction: Any, names: dict[str, str], options: Any) -> None:
    """The reference's numbers are single precision; SILog in percent is the least exact of them."""
    values = scores(truth, prediction, names.values(), options)
    for name, spec in names.items():
        factor = 0.001 if name == "i_rmse" else 1.0  # Marigold's is per metre
        expected = float(golden[name])
        assert factor * values[spec] == pytest.approx(expected, rel=2e-6, abs=2e-6 if name != "silog" else 2e-5), name


@pytest.mark.parametrize("image", range(3))
@pytest.mark.parametrize("run", RUNS)
def test_images_score_as_in_the_references(run: str, image: int) -> None:
    golden = GOLDENS["images"][image]
    truth, prediction = grid(golden["gt"]), grid(golden["pred"])
    if run.endswith("disparity"):
        prediction = (1 / prediction).astype(np.float32)
    compare(golden[run], truth, prediction, *RUNS[run])


def test_the_mean_over_images_is_zoedepths() -> None:
    sides = [[grid(image[side]) for image in GOLDENS["images"]] for side in ("gt", "pred")]
    compare(GOLDENS["zoedepth garg mean of images"], *sides, ZOE, {"preset": "kitti_eigen"})


def test_one_scale_and_shift_for_all_images() -> None:
    golden = GOLDENS["one scale and shift for all three images (marigold's solver on their pixels together)"]
    sides = [[grid(image[side]) for image in GOLDENS["images"]] for side in ("gt", "pred")]
    names = {"abs_relative_difference": "abs_rel", "delta1_acc": "delta@1", "rmse_linear": "rmse"}
    values = scores(*sides, names.values(), {**BOUNDS, "align": "affine", "align_per": "dataset"})
    for name, spec in names.items():
        assert values[spec] == pytest.approx(np.mean([image[name] for image in golden["by image"]]), rel=2e-6)


def test_nyu_crops_and_scores_as_zoedepth() -> None:
    r, c = np.mgrid[0:480, 0:640]
    truth = (1 + ((7 * r + 13 * c) % 89) / 10).astype(np.float32)
    prediction = (truth * (1 + ((3 * r + 5 * c) % 11 - 5) / 50)).astype(np.float32)
    golden = GOLDENS["nyu_480x640"]["zoedepth nyu eigen crop 0.001 10"]
    compare(golden, truth, prediction, ZOE, {"preset": "nyu"})


# Depth-Anything-V2 counts negative depths as right; `test_negative_depths_are_never_right` says what ours does.
OTHERWISE = {("prediction negative", "dav2"): ("d1", "d2", "d3")}
EDGE_RUNS = {
    "zoedepth": (ZOE, {**BOUNDS, "crop": "eigen", "holes": "worst"}),
    "dav2": (DAV2, {**BOUNDS, "preset": "dav2", "min_pixels": 0, "holes": "worst"}),
    "marigold none": (MARIGOLD, {**BOUNDS, "holes": "worst"}),
    "marigold least_square": (MARIGOLD, {**BOUNDS, "preset": "affine_invariant", "holes": "worst"}),
    "marigold least_square_disparity": (
        MARIGOLD,
        {**RUNS["marigold least_square_disparity"][1], "holes": "worst"},
    ),
}


@pytest.mark.parametrize("edge", GOLDENS["edges"])
def test_edges_score_as_in_the_references(edge: str) -> None:
    case = GOLDENS["edges"][edge]
    truth, prediction = grid(case["gt"]), grid(case["pred"])
    for name, golden in case.items():
        run = max((run for run in EDGE_RUNS if name.startswith(run)), key=len, default="")
        if not run or "raises" in golden or ("one pixel" in edge and "disparity" in run):  # nan spreads there
            continue
        names, options = EDGE_RUNS[run]
        otherwise = OTHERWISE.get((edge, run), ())
        wanted = {
            key: spec for key, spec in names.items() if golden[key] not in ("nan", "inf") and key not in otherwise
        }
        if not wanted:
            if not run.startswith("marigold least"):
                with refuses("E-empty-input"):
                    scores(truth, prediction, ["abs_rel"], options)
            continue
        values = scores(truth, prediction, wanted.values(), options)
        for key, spec in wanted.items():
            factor = 0.001 if key == "i_rmse" else 1.0
            # Of a constant factor their SILog is rounding noise of single precision, up to 0.0123; ours is 0.
            near = 0.0123 if "silog" in key and values[spec] < 1e-5 else 5e-6
            assert factor * values[spec] == pytest.approx(float(golden[key]), rel=5e-6, abs=near), (name, key)


def fitted(truth: Any, prediction: Any, options: dict[str, Any]) -> tuple[float, float]:
    """Scale and shift of an image."""
    from steelyard.tasks.depth.rules import rules_of

    declared = Options(TASK.options, options)
    rules = rules_of(declared)
    sides = rules.prepared(np.asarray(truth), np.asarray(prediction))
    row, _ = rules.measure(*sides, None, np.array([1.25]), "a map")
    return row.scale, row.shift


@pytest.mark.parametrize("image", range(3))
def test_scale_and_shift_are_marigolds(image: int) -> None:
    golden = GOLDENS["images"][image]
    truth, prediction = grid(golden["gt"]), grid(golden["pred"])
    for run, own in (
        ("marigold least_square", prediction),
        ("marigold least_square_disparity", (1 / prediction).astype(np.float32)),
    ):
        scale, shift = fitted(truth, own, RUNS[run][1])
        assert scale == pytest.approx(golden[run]["scale"], rel=2e-6)
        assert shift == pytest.approx(golden[run]["shift"], rel=2e-5)


@pytest.mark.parametrize("image", range(3))
def test_ratios_of_medians(image: int) -> None:
    golden = GOLDENS["images"][image]
    truth, prediction = grid(golden["gt"]), grid(golden["pred"])
    assert fitted(truth, prediction, {**BOUNDS, "align": "median"})[0] == pytest.approx(golden["median"]["ratio"])
    lower = fitted(truth, prediction, {**BOUNDS, "align": "median-lower"})[0]
    assert lower == pytest.approx(golden["median"]["ratio_of_lower_medians"])


@pytest.mark.parametrize(
    "edge", [name for name in GOLDENS["edges"] if "negative variance" not in name and "prediction" not in name]
)
def test_midas_fits_alike_where_its_pixels_are_finite(edge: str) -> None:
    case = GOLDENS["edges"][edge]
    golden = case["midas scale and shift in depth (ZoeDepth loss.py)"]
    if "nan" in golden or edge == "no valid pixel":  # nan in a masked pixel spreads there
        return
    scale, shift = fitted(grid(case["gt"]), grid(case["pred"]), {"min": 0, "align": "affine-midas"})
    assert (scale, shift) == pytest.approx(tuple(golden), abs=1e-5)


@pytest.mark.parametrize("case", GOLDENS["boundary"], ids=lambda case: case["name"])
def test_boundaries_are_depth_pros(case: dict[str, Any]) -> None:
    truth, prediction = grid(case["gt"]), grid(case["pred"])
    values = scores(truth, prediction, ["si_boundary_f1(flat=zero)"], {"min": 0})
    assert values["si_boundary_f1(flat=zero)"] == pytest.approx(case["depth_pro SI_boundary_F1"], abs=1e-12)


@pytest.mark.parametrize("case", GOLDENS["boundary"], ids=lambda case: case["name"])
def test_boundaries_at_single_ratios_are_depth_pros(case: dict[str, Any]) -> None:
    sides = [np.maximum(grid(case[side]).astype(np.float64), 1e-6) for side in ("gt", "pred")]
    for ratio, expected in zip((1.05, 1.15, 1.25), case[RATIOS], strict=True):
        counts = _native.depth_edges(*sides, None, np.array([ratio]))
        score = boundary_score(np.asarray(counts), pooled=False)
        assert (0.0 if math.isnan(score) else score) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("case", GOLDENS["boundary"][:3], ids=lambda case: case["name"])
def test_boundaries_are_depth_pros_whatever_the_scale(case: dict[str, Any]) -> None:
    """Ratios of depths do not change with a scale: a prediction of other units has the edges of Depth Pro's."""
    truth, prediction = grid(case["gt"]), grid(case["pred"])
    spec = "si_boundary_f1(flat=zero)"
    values = scores(truth, prediction, [spec], {"min": 0, "scale_by": 0.25})
    assert values[spec] == pytest.approx(case["depth_pro SI_boundary_F1"], abs=1e-12)


def test_a_perfect_map_has_a_boundary_f1_of_1_with_holes_and_without_edges_in_two_directions() -> None:
    cases = {case["name"]: case for case in GOLDENS["boundary"]}
    for name in ("perfect", "truth has holes (0)"):
        truth, prediction = (grid(cases[name][side]) for side in ("gt", "pred"))
        assert scores(truth, prediction, ["boundary_f1"], {})["boundary_f1"] == 1.0
    flat = np.full((4, 4), 4.0, np.float32)
    assert math.isnan(scores(flat, flat, ["boundary_f1"], {})["boundary_f1"])


KITTI = {
    "mae": "mae",
    "rmse": "rmse",
    "imae_per_km": "imae",
    "irmse_per_km": "irmse",
    "log_rmse": "rmse_log",
    "silog": "silog(factor=1)",
    "abs_rel": "abs_rel",
    "sq_rel_over_gt_squared": "sq_rel(by=squared)",
}


def test_the_development_kit_of_kitti() -> None:
    first, second, third = GOLDENS["kitti_devkit"]
    options = {"preset": "kitti_depth"}
    truth, prediction = grid(first["gt"]), grid(first["pred"])
    compare(first["devkit"], truth, prediction, KITTI, options)
    values = scores(truth, prediction, ["log10"], options)["log10"]
    assert values * math.log(10) == pytest.approx(first["devkit"]["log_mae"], rel=1e-6)
    # Nothing is predicted: the kit leaves -1, whose logarithms are nan.
    values = scores(grid(second["gt"]), grid(second["pred"]), KITTI.values(), options)
    for name in ("mae", "rmse", "abs_rel", "sq_rel_over_gt_squared"):
        assert values[KITTI[name]] == pytest.approx(second["devkit"][name], rel=1e-6)
    assert math.isnan(values["rmse_log"])
    with refuses("E-empty-input", "max inf"):
        scores(grid(third["gt"]), grid(third["pred"]), ["mae"], options)


def test_crops_of_six_sizes_and_chained() -> None:
    for case in GOLDENS["crops"]:
        for name in ("garg", "eigen", "benchmark"):
            assert list(crop_box((name,), tuple(case["size"]), "")) == case[name]
    assert crop_box(parse_crop("benchmark+garg"), (375, 1242), "")[:2] == (166, 372)
    assert crop_box(parse_crop("garg"), (375, 1242), "")[:2] == (153, 371)
    assert crop_box(parse_crop("nyu"), (480, 640), "") == (45, 471, 41, 601)


def test_resizing_is_opencvs_and_pytorchs() -> None:
    golden = GOLDENS["resize_3x4_to_5x7"]
    field = grid(golden["field"])
    for name, mode in (
        ("opencv INTER_LINEAR", "bilinear"),
        ("torch bilinear", "bilinear"),
        ("torch bilinear align_corners", "corners"),
    ):
        assert np.abs(resize_field(field, 5, 7, mode) - grid(golden[name])).max() < 2e-6


def test_disparities_are_resized_before_they_are_inverted() -> None:
    truth = np.full((1, 4), 2.0, np.float32)
    small = np.array([[1.0, 4.0]], np.float32)  # depth; disparity 1 and 0.25
    options = {"resize": "bilinear", "resize_in": "disparity"}
    # Disparities 1, 0.8125, 0.4375, 0.25: depths 1, 1.2308, 2.2857, 4.
    errors = np.abs(1 / np.array([1, 0.8125, 0.4375, 0.25]) - 2)
    assert scores(truth, small, ["mae"], options)["mae"] == pytest.approx(errors.mean())
    errors = np.abs(np.array([1, 1.75, 3.25, 4]) - 2)
    assert scores(truth, small, ["mae"], {"resize": "bilinear"})["mae"] == pytest.approx(errors.mean())


# ---- what goes wrong elsewhere


def test_negative_depths_are_never_right() -> None:
    five, minus_two = np.full((4, 4), 5.0, np.float32), np.full((4, 4), -2.0, np.float32)
    values = scores(five, minus_two, ["delta@1", "abs_rel"], {"preset": "dav2"})
    assert values["delta@1"] == 0.0  # Depth-Anything-V2 says 1
    assert values["abs_rel"] == pytest.approx(1.4)


def test_silog_of_a_constant_factor_is_0_and_never_nan() -> None:
    case = GOLDENS["edges"]["constant ratio: negative variance"]
    assert case["zoedepth eigen kitti (rows 1-4, columns 0-6)"]["silog"] == "nan"
    rng = np.random.default_rng(5)
    for _ in range(50):
        truth = rng.uniform(1, 80, (6, 8)).astype(np.float32)
        value = scores(truth.astype(np.float64), 1.37 * truth.astype(np.float64), ["silog"], {})["silog"]
        assert 0 <= value < 1e-12


def test_bounds_are_open_unless_closed() -> None:
    at_cap = np.array([[80.0, 40.0]], np.float32)
    prediction = np.array([[70.0, 40.0]], np.float32)
    assert scores(at_cap, prediction, ["abs_rel"], BOUNDS)["abs_rel"] == 0.0
    assert scores(at_cap, prediction, ["abs_rel"], {**BOUNDS, "bounds": "closed"})["abs_rel"] == 0.0625


def test_no_crop_is_a_choice() -> None:
    golden = GOLDENS["images"][0]
    assert golden["zoedepth no crop"]["raises"] == "UnboundLocalError"
    compare(golden["marigold none"], grid(golden["gt"]), grid(golden["pred"]), MARIGOLD, {**BOUNDS, "crop": "none"})


def test_images_and_pixels_average_apart() -> None:
    truth = [np.full((1, 1), 10.0, np.float32), np.full((1, 3), 10.0, np.float32)]
    prediction = [np.full((1, 1), 14.0, np.float32), np.full((1, 3), 12.0, np.float32)]
    values = scores(truth, prediction, ["rmse", "rmse(average=pixel)", "abs_rel", "abs_rel(average=pixel)"], {})
    assert values["rmse"] == pytest.approx((4 + 2) / 2)
    assert values["rmse(average=pixel)"] == pytest.approx(math.sqrt((16 + 3 * 4) / 4))
    assert values["abs_rel"] == pytest.approx(0.3)
    assert values["abs_rel(average=pixel)"] == pytest.approx((0.4 + 3 * 0.2) / 4)


def test_an_image_without_a_valid_pixel_is_left_out_and_counted() -> None:
    truth = [RAMP, np.zeros_like(RAMP)]
    report = sy.evaluate(
        "depth",
        {"image": ["a", "b"], "map": truth},
        {"image": ["a", "b"], "map": [RAMP * 2, RAMP]},
        ["abs_rel"],
        confidence=None,
    )
    assert report["abs_rel"].value == pytest.approx(1.0)
    assert report["abs_rel"].n_excluded == 1


def test_invalid_pixels_are_never_touched() -> None:
    truth, prediction = RAMP.copy(), 2 * RAMP
    truth[0, 0], prediction[0, 0] = 0, np.nan
    truth[1, 1], prediction[2, 2] = np.nan, 3 * RAMP[2, 2]
    mask = np.ones_like(RAMP)
    mask[2, 2] = 0
    for align in ("none", "median", "scale", "affine"):
        sides = {"image": ["a"], "map": [truth], "mask": [mask]}, {"image": ["a"], "map": [prediction]}
        report = sy.evaluate("depth", *sides, ["abs_rel"], confidence=None, options={"align": align})
        assert report["abs_rel"].value == pytest.approx(1.0 if align == "none" else 0.0, abs=1e-12)


def test_holes_are_an_error_or_the_worst_depth() -> None:
    prediction = RAMP.copy()
    prediction[1, 2], prediction[3, 3] = np.nan, np.inf
    with refuses("E-invalid-number", "2", "row 1", "column 2"):
        scores(RAMP, prediction, ["abs_rel"], BOUNDS)
    # nan counts as 0.001, inf as 80.
    errors = abs(0.001 - RAMP[1, 2]) / RAMP[1, 2] + abs(80 - RAMP[3, 3]) / RAMP[3, 3]
    values = scores(RAMP, prediction, ["abs_rel"], {**BOUNDS, "holes": "worst"})["abs_rel"]
    assert values == pytest.approx(errors / 16, rel=1e-6)


def test_a_constant_prediction_becomes_the_mean_or_midas_cap() -> None:
    constant = np.full_like(RAMP, 3.0)
    mean = float(RAMP.mean())
    values = scores(RAMP, constant, ["mae"], {"align": "affine"})["mae"]
    assert values == pytest.approx(float(np.abs(RAMP - mean).mean()))
    values = scores(RAMP, constant, ["mae"], {"align": "affine-midas", **BOUNDS})["mae"]
    assert values == pytest.approx(float((RAMP - 0.001).mean()))


def test_a_reversed_map_fits_and_is_remarked() -> None:
    report = sy.evaluate(
        "depth",
        {"image": ["a"], "map": [RAMP]},
        {"image": ["a"], "map": [30 - RAMP]},
        ["abs_rel"],
        confidence=None,
        options={"align": "affine"},
    )
    assert report["abs_rel"].value == pytest.approx(0.0, abs=1e-12)
    assert any("negative in 1 of 1 images" in note for note in report["abs_rel"].notes)


def test_fits_of_large_offsets_keep_their_digits() -> None:
    rng = np.random.default_rng(11)
    x = rng.normal(0, 1, 5000)
    for offset in (0.0, 1e3, 1e5):
        prediction = (x + offset).reshape(50, 100)
        truth = 0.7 * (prediction - offset) + 9 + rng.normal(0, 0.1, prediction.shape)
        design = np.stack([x, np.ones(5000)], axis=1)
        expected = np.linalg.lstsq(design, truth.ravel(), rcond=None)[0]
        scale, shift = fitted(truth, prediction, {"align": "affine", "min": 0})
        assert scale == pytest.approx(expected[0], rel=1e-9)
        assert shift + scale * offset == pytest.approx(expected[1], rel=1e-9)


def test_a_smaller_fit_uses_nearest_pixels() -> None:
    rng = np.random.default_rng(3)
    truth = rng.uniform(1, 9, (40, 60))
    prediction = truth * 0.5 + rng.normal(0, 0.2, truth.shape)
    scale, shift = fitted(truth, prediction, {"align": "affine", "align_size": 30, "min": 0})
    small = [side[::2, ::2].ravel() for side in (prediction, truth)]
    expected = np.linalg.lstsq(np.stack([small[0], np.ones(600)], axis=1), small[1], rcond=None)[0]
    assert (scale, shift) == pytest.approx(tuple(expected))


def test_a_sequence_is_fitted_at_once_and_is_the_unit() -> None:
    rng = np.random.default_rng(2)
    truth = [rng.uniform(2, 9, (5, 6)) for _ in range(4)]
    factors = (0.5, 0.7, 1.5, 1.7)
    prediction = [side * factor for side, factor in zip(truth, factors, strict=True)]
    images = ["a/0", "a/1", "b/0", "b/1"]
    report = sy.evaluate(
        "depth",
        {"image": images, "map": truth},
        {"image": images, "map": prediction},
        ["abs_rel"],
        confidence=None,
        options={"align": "scale", "align_per": "sequence"},
    )
    expected = []
    for first in (0, 2):
        p, g = (np.concatenate([side[k].ravel() for k in (first, first + 1)]) for side in (prediction, truth))
        scale = (p @ g) / (p @ p)
        expected += [np.mean(np.abs(scale * prediction[k] - truth[k]) / truth[k]) for k in (first, first + 1)]
    assert report["abs_rel"].value == pytest.approx(np.mean(expected))
    assert report["abs_rel"].units == 2
    assert any("sequences" in note for note in report["abs_rel"].notes)


def test_bands_and_regions() -> None:
    prediction = RAMP * np.where(RAMP < 10, 2, 1)
    values = scores(RAMP, prediction, ["abs_rel(of=d0-10)", "abs_rel(of=d10-inf)"], {})
    assert values == {"abs_rel(of=d0-10)": pytest.approx(1.0), "abs_rel(of=d10-inf)": 0.0}
    near = (RAMP < 10).astype(np.uint8)
    truth = {"image": ["a"], "map": [RAMP], "region:near": [near]}
    report = sy.evaluate("depth", truth, {"image": ["a"], "map": [prediction]}, ["mae(of=near)"], confidence=None)
    assert report["mae(of=near)"].value == pytest.approx(float(RAMP[RAMP < 10].mean()))
    with refuses("E-unknown-name", "far"):
        sy.evaluate("depth", truth, {"image": ["a"], "map": [prediction]}, ["mae(of=far)"])
    with refuses("E-invalid-spec", "d20-10"):
        sy.evaluate("depth", truth, {"image": ["a"], "map": [prediction]}, ["mae(of=d20-10)"])


def test_midas_shows_the_share_above() -> None:
    truth = np.array([[2.0, 4.0, 8.0, 5.0]])
    disparity = 3 / truth - 0.1
    disparity[0, 3] = 1.0
    report = sy.evaluate(
        "depth",
        {"image": ["a"], "map": [truth]},
        {"image": ["a"], "map": [disparity]},
        confidence=None,
        options={"preset": "midas", "max": 10},
    )
    x, y = disparity.ravel(), 1 / truth.ravel()
    scale, shift = np.polyfit(x, y, 1)
    depth = 1 / np.maximum(scale * x + shift, 0.1)
    ratio = np.maximum(depth / truth, truth / depth)
    assert report["delta_above@1"].value == pytest.approx(float((ratio >= 1.25).mean()))
    assert report["abs_rel"].value == pytest.approx(float((np.abs(depth - truth) / truth).mean()))


# ---- laws of alignment


@pytest.mark.parametrize("spec", ["abs_rel", "rmse", "silog", "delta@1"])
def test_alignments_forget_what_they_fit(spec: str) -> None:
    golden = GOLDENS["images"][1]
    truth, prediction = grid(golden["gt"]).astype(np.float64), grid(golden["pred"]).astype(np.float64)
    free = {"min": 0, "clamp": "no"}
    for align, changed in (("affine", 3 * prediction + 7), ("scale", 3 * prediction), ("median", 3 * prediction)):
        options = {**free, "align": align}
        expected = scores(truth, prediction, [spec], options)[spec]
        assert scores(truth, changed, [spec], options)[spec] == pytest.approx(expected, rel=1e-9)


def test_silog_of_weight_1_forgets_a_factor_and_ratios_forget_the_sides() -> None:
    golden = GOLDENS["images"][2]
    truth, prediction = grid(golden["gt"]).astype(np.float64), grid(golden["pred"]).astype(np.float64)
    truth = np.where(truth > 0, truth, 5.0)
    free = {"min": 0}
    silog = scores(truth, prediction, ["silog"], free)["silog"]
    assert scores(truth, 4 * prediction, ["silog"], free)["silog"] == pytest.approx(silog, rel=1e-9)
    specs = ["delta@1", "delta@2", "log10", "rmse_log"]
    assert scores(truth, prediction, specs, free) == pytest.approx(scores(prediction, truth, specs, free), rel=1e-12)


def test_tiles_of_an_image_give_the_same_average_over_pixels() -> None:
    golden = GOLDENS["images"][0]
    truth, prediction = grid(golden["gt"]), grid(golden["pred"])
    tiles = [[side[:, :13], side[:, 13:20], side[:, 20:]] for side in (truth, prediction)]
    specs = [f"{name}(average=pixel)" for name in ("abs_rel", "rmse", "silog", "delta@1", "imae", "sq_rel")]
    assert scores(*tiles, specs, BOUNDS) == pytest.approx(scores(truth, prediction, specs, BOUNDS), rel=1e-12)


def test_averages_agree_where_images_have_as_many_pixels() -> None:
    rng = np.random.default_rng(7)
    truth = [rng.uniform(1, 9, (4, 5)) for _ in range(3)]
    prediction = [side * rng.uniform(0.8, 1.2, side.shape) for side in truth]
    values = scores(truth, prediction, ["abs_rel", "abs_rel(average=pixel)", "mae", "mae(average=pixel)"], {})
    assert values["abs_rel"] == pytest.approx(values["abs_rel(average=pixel)"], rel=1e-12)
    assert values["mae"] == pytest.approx(values["mae(average=pixel)"], rel=1e-12)


# ---- what is refused


@pytest.mark.parametrize(
    ("options", "kind", "names"),
    [
        ({"min": 5, "max": 4}, "E-invalid-setting", ("5", "4")),
        ({"crop": "grag"}, "E-invalid-setting", ("crop", "grag")),
        ({"crop": "nyu"}, "E-shape-mismatch", ("4×4", "640×480")),
        ({"crop": "benchmark"}, "E-shape-mismatch", ("1216×352",)),
        ({"align_per": "dataset"}, "E-conflict", ("align_per",)),
        ({"align": "median", "align_per": "sequence"}, "E-conflict", ("median", "sequence")),
        ({"align": "affine", "scale_by": 2}, "E-conflict", ("scale_by",)),
        ({"max": 3}, "E-empty-input", ("max 3",)),
        ({"preset": "kiti"}, "E-invalid-setting", ("preset", "kiti")),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], kind: str, names: tuple[str, ...]) -> None:
    with refuses(kind, *names):
        scores(RAMP, RAMP, ["abs_rel"], options)


@pytest.mark.parametrize(
    "spec", ["delta(threshold=1)", "delta@0", "silog(weight=2)", "delta@1(threshold=1.1)", "rmse(of=1-0m)"]
)
def test_settings_that_cannot_be(spec: str) -> None:
    with refuses("E-invalid-spec"):
        scores(RAMP, RAMP, [spec], {})


def test_sizes_that_differ_need_a_resize() -> None:
    with refuses("E-shape-mismatch", "4×4", "4×3", "resize"):
        scores(RAMP, RAMP[:3], ["abs_rel"], {})
    assert scores(RAMP, RAMP[::2, ::2], ["abs_rel"], {"resize": "nearest"})["abs_rel"] > 0


def test_check_counts_negative_scales() -> None:
    sides = {"image": ["a"], "map": [RAMP]}, {"image": ["a"], "map": [30 - RAMP]}
    report = sy.check("depth", *sides, options={"align": "affine"})
    assert "depth-negative-scale" in {finding.code for finding in report.findings}


def test_pictures_tables_and_other_tools() -> None:
    golden = GOLDENS["images"]
    images = ["a", "b", "c"]
    truth = {"image": images, "map": [grid(image["gt"]) for image in golden]}
    model = {"image": images, "map": [grid(image["pred"]) for image in golden]}
    tools = ["zoedepth", "dav2", "marigold", "kitti"]
    report = sy.evaluate("depth", truth, model, options={**BOUNDS, "align": "none"}, confidence=None, explain=tools)
    explained = {one.tool: one.theirs for one in report.explanations}
    for tool, run, name in (("dav2", "dav2 0.001 80", "abs_rel"), ("marigold", "marigold least_square", "rmse_linear")):
        expected = np.mean([image[run][name] for image in golden])
        assert explained[tool]["abs_rel" if tool == "dav2" else "rmse"] == pytest.approx(expected, rel=2e-6)
    table = report.table("averages")
    pooled = scores(truth["map"], model["map"], ["rmse(average=pixel)", "rmse"], BOUNDS)
    place = table.rows.index("rmse")
    assert table.values[place].tolist() == pytest.approx([pooled["rmse"], pooled["rmse(average=pixel)"]], rel=1e-12)
    assert report.figure("depth_maps").columns["image"]
    distance = report.figure("distance")
    assert (np.asarray(distance.columns["low"]) <= np.asarray(distance.columns["y"]) + 1e-9).all()
    aligned = sy.evaluate("depth", truth, model, options={**BOUNDS, "align": "median"}, confidence=None)
    ratios = [image["median"]["ratio"] for image in golden]
    assert np.asarray(aligned.figure("scales").columns["y"]).tolist() == pytest.approx(ratios, rel=1e-6)
