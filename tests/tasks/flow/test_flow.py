"""Flow against KITTI's program, RAFT, ptlflow, flow_library and Spring, and rules by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.field_goldens import CLOSE, GOLDENS, Array, numbers, scores
from support.refusal import refuses

import steelyard as sy
from steelyard import _native
from steelyard.core.request import Request
from steelyard.engine.picture import scene_of
from steelyard.maps.raster import indexed_png
from steelyard.tasks.fields import views
from steelyard.tasks.fields.errors import LoadedPair
from steelyard.tasks.flow.task import TASK

FLOW = GOLDENS["flow"]


def flow(truth: Any, predicted: Any, specs: list[str], masks: Any = None, **options: Any) -> dict[str, float]:
    """The scores of images."""
    return scores("flow", truth, predicted, specs, masks, **options)


def close(value: float, expected: Any) -> None:
    expected = float(expected)
    if math.isnan(expected):
        assert math.isnan(value)
    else:
        assert value == pytest.approx(expected, rel=CLOSE, abs=1e-9)


def valid_only(field: Array, valid: Any) -> Array:
    """The field with nan where it is not valid."""
    return np.where(numbers(valid)[..., np.newaxis] > 0, field, np.float32(np.nan))


def items(cases: list[dict[str, Any]]) -> tuple[list[Array], list[Array]]:
    """Truth and predictions of some images."""
    truth = [valid_only(numbers(case["gt"]), case["valid"]) for case in cases]
    return truth, [numbers(case["pred"]) for case in cases]


@pytest.mark.parametrize("case", FLOW["images"], ids=["9x13", "7x10", "6x8"])
def test_flow_library(case: dict[str, Any]) -> None:
    truth, predicted = items([case])
    result = flow(truth, predicted, ["epe", "aae", "bad@3", "fl", "wauc"])
    close(result["epe"], case["flow_library"]["AEE"])
    close(result["aae"], case["flow_library"]["AAE"])
    close(result["bad@3"], case["flow_library"]["BP"] / 100)
    close(result["fl"], case["flow_library"]["Fl"] / 100)
    close(result["wauc"], case["spring WAUC"] / 100)


def test_raft() -> None:
    """Its end-point error is a mean over images and its Fl one over pixels, in one line."""
    truth, predicted = items(FLOW["images"])
    kitti = FLOW["raft validate_kitti (EPE by image, F1 by pixel)"]
    result = flow(truth, predicted, ["epe(average=image)", "fl(average=pixel)"], preset="raft")
    close(result["epe(average=image)"], kitti["kitti-epe"])
    close(result["fl(average=pixel)"], kitti["kitti-f1"] / 100)
    sintel = FLOW["sintel"]
    truth, predicted = ([numbers(item[name]) for item in sintel["items"]] for name in ("gt", "pred"))
    close(flow(truth, predicted, ["epe"])["epe"], sintel["raft validate_sintel (valid is not used)"]["clean"])
    close(flow(truth, predicted, ["epe"])["epe"], sintel["raft validate_chairs"]["chairs"])


def test_ptlflow() -> None:
    """All of its numbers are means over images, and "px3" is a share of inliers."""
    truth, predicted = items(FLOW["images"])
    golden = FLOW["ptlflow (all by image)"]
    masks = {"region:occ": [numbers(case["occluded"]) for case in FLOW["images"]]}
    for suffix, of in (("", ""), ("_occ", ", of=occ"), ("_non_occ", ", of=noc")):
        settings = f"(average=image{of})"
        if suffix:
            settings = f"({of.removeprefix(', ')}, average=image)"
        specs = [f"{name}{settings}" for name in ("epe", "bad@1", "bad@3", "bad@5", "fl", "wauc")]
        result = list(flow(truth, predicted, specs, masks).values())
        close(result[0], golden[f"epe{suffix}"])
        for value, name in zip(result[1:4], ("px1", "px3", "px5"), strict=True):
            close(1 - value, golden[f"{name}{suffix}"])
        close(result[4], golden[f"flall{suffix}"] / 100)
        assert result[5] == pytest.approx(golden[f"wauc{suffix}"] / 100, rel=CLOSE)


def test_an_image_without_a_valid_pixel_is_left_out() -> None:
    """RAFT's mean is nan there, and ptlflow counts an end-point error of 0."""
    cases = FLOW["sintel"]["items"][:2]
    truth, predicted = items(cases)
    truth[1] = np.full_like(truth[1], np.nan)
    by_image = {"flall": "fl", "px1": "bad@1", "px3": "bad@3", "px5": "bad@5", "wauc": "wauc"}
    specs = ["epe(average=image)", "fl", *(f"{name}(average=image)" for name in by_image.values())]
    result = flow(truth, predicted, specs)
    golden = FLOW["second image without a valid pixel"]
    assert golden["raft validate_kitti"]["kitti-epe"] == "nan"
    close(result["fl"], golden["raft validate_kitti"]["kitti-f1"] / 100)
    close(result["epe(average=image)"], 2 * golden["ptlflow"]["epe"])
    for key, name in by_image.items():
        value = result[f"{name}(average=image)"]
        ptlflow = 2 * golden["ptlflow"][key] / (1 if key.startswith("px") else 100)
        assert (1 - value if key.startswith("px") else value) == pytest.approx(ptlflow, rel=CLOSE)


def test_one_nan_is_an_outlier_and_not_a_right_pixel() -> None:
    """RAFT's end-point error is nan and its Fl counts the pixel as right; flow_library drops the pixel."""
    truth, predicted = (numbers(FLOW["sintel"]["items"][0][name]) for name in ("gt", "pred"))
    predicted[2, 3, 0] = np.nan
    golden = FLOW["prediction nan at one pixel"]
    result = flow([truth], [predicted], ["epe", "fl", "bad@3", "density"])
    close(result["epe"], golden["flow_library"]["AEE"])
    close(result["fl"], golden["raft validate_kitti"]["kitti-f1"] / 100 + 1 / 54)
    assert result["density"] == 53 / 54
    skipped = flow([truth * 0.01], [predicted * 0.01], ["density"], holes="skip")  # no value is above the width
    assert skipped["density"] == 53 / 54
    left = flow([truth], [predicted], ["fl", "bad@3"], {"mask": [np.isfinite(predicted).all(axis=2)]})
    close(left["fl"], golden["flow_library"]["Fl"] / 100)
    close(left["bad@3"], golden["flow_library"]["BP"] / 100)


def test_ties() -> None:
    ties = FLOW["ties"]
    truth, predicted = numbers(ties["gt"]), numbers(ties["pred"])
    for i in range(truth.shape[1]):
        result = flow([truth[:, [i]]], [predicted[:, [i]]], ["fl", "fl(rule=kitti)"])
        assert result["fl"] == ties["raft"][i] / 100 == ties["ptlflow"][i] / 100 == ties["flow_library float64"][i]
        assert result["fl(rule=kitti)"] == ties["kitti devkit"][i]


def test_kitti_2015() -> None:
    first, everywhere, nothing = FLOW["kitti2015"]
    truth = valid_only(numbers(first["gt"]), first["valid"])
    holes = valid_only(numbers(first["pred"]), first["pred_valid"])
    masks = {"region:fg": [numbers(first["objects"])]}
    specs = ["fl", "fl(of=fg)", "fl(of=bg)", "density"]
    for predicted, devkit in ((holes, first["devkit"]), (numbers(first["pred"]), everywhere["devkit"])):
        result = flow([truth], [predicted], specs, masks, preset="kitti2015")
        for spec, part in (("fl", "all"), ("fl(of=fg)", "fg"), ("fl(of=bg)", "bg")):
            close(result[spec], devkit[f"errors_{part}"] / devkit[f"pixels_{part}"])
        assert result["density"] == pytest.approx(devkit["density"], rel=1e-7)
        np.testing.assert_array_equal(_native.fill_rows(predicted, 0.0), numbers(devkit["filled"]))
        estimated = {**masks, "mask": [np.isfinite(predicted).all(axis=2)]}
        result = flow([truth], [predicted], ["fl"], estimated, preset="kitti2015")
        close(result["fl"], devkit["errors_all_estimated"] / devkit["pixels_all_estimated"])
    assert nothing["devkit"]["pixels_all"] == 0
    with refuses("E-empty-input", "no valid pixel"):
        flow([truth * np.nan], [holes], ["fl"], preset="kitti2015")


def test_wauc() -> None:
    golden = FLOW["wauc"]
    errors = numbers(golden["epe"], np.float64)
    for error, expected in zip(errors, golden["one by one"], strict=True):
        if np.isnan(error):
            assert math.isnan(float(expected))
            continue
        close(flow([np.zeros((1, 1, 2))], [np.array([[[error, 0.0]]])], ["wauc"])["wauc"], float(expected) / 100)
    known = np.isfinite(errors)
    predicted = np.stack([np.nan_to_num(errors), np.zeros(len(errors))], axis=1)[np.newaxis]
    truth = np.where(known[np.newaxis, :, np.newaxis], 0.0, np.nan) * np.ones((1, 1, 2))
    close(flow([truth], [predicted], ["wauc"])["wauc"], golden["spring getWAUC"] / 100)


def test_spring() -> None:
    golden = FLOW["spring"]
    four = numbers(golden["gt_4_per_pixel"])
    truth = np.concatenate(list(four.reshape(len(four), 2, 2, 2)), axis=1)
    predicted = numbers(golden["pred"])[np.newaxis]
    detail, nonrigid, unmatched, sky = (numbers(m)[np.newaxis] for m in golden["detailmap, rigidmap, matchmap, skymap"])
    masks = {
        "region:highdetail": [detail],
        "region:nonrigid": [nonrigid],
        "region:unmatched": [unmatched],
        "region:sky": [sky],
    }
    parts = [
        "all",
        "lowdetail",
        "highdetail",
        "rigid",
        "nonrigid",
        "matched",
        "unmatched",
        "notsky",
        "sky",
        "s0-10",
        "s10-40",
        "s40+",
    ]
    names = {"1px": ("bad@1", 100), "epe": ("epe", 1), "fl": ("fl", 100), "wauc": ("wauc", 100)}
    for key, (metric, factor) in names.items():
        specs = [metric if part == "all" else f"{metric}(of={part})" for part in parts]
        result = flow([truth], [predicted], specs, masks, preset="spring")
        for spec, expected in zip(specs, golden[key], strict=True):
            close(result[spec], float(expected) / factor)
    wide = {name: [np.kron(part, np.ones((2, 2)))] for name, (part,) in masks.items()}
    again = flow([truth], [predicted], ["epe(of=matched)"], wide, preset="spring")
    close(again["epe(of=matched)"], golden["epe"][5])


def test_resized_flow_is_scaled_by_both_ratios() -> None:
    truth = np.stack([np.full((4, 9), 6.0), np.full((4, 9), 8.0)], axis=2)
    small = np.stack([np.full((2, 3), 2.0), np.full((2, 3), 4.0)], axis=2)
    for method in ("bilinear", "corners", "nearest"):
        assert flow([truth], [small], ["epe"], resize=method)["epe"] == 0


def test_channels_first_and_last_and_unclear() -> None:
    rng = np.random.default_rng(2)
    truth, predicted = rng.normal(size=(2, 2, 3, 4))
    first = flow([truth], [predicted], ["epe"], channels="auto")["epe"]
    last = flow([np.moveaxis(truth, 0, 2)], [np.moveaxis(predicted, 0, 2)], ["epe"], channels="auto")["epe"]
    assert first == last == pytest.approx(np.sqrt(((truth - predicted) ** 2).sum(axis=0)).mean(), rel=1e-12)
    with refuses("E-conflict", "2×2×2"):
        flow([np.zeros((2, 2, 2))], [np.zeros((2, 2, 2))], ["epe"], channels="auto")


def test_speed_bins_by_hand() -> None:
    """True lengths 5, 10, 40 and 100: a bin has its lower end and not its upper one."""
    truth = np.array([[[3.0, 4.0], [10.0, 0.0], [0.0, 40.0], [60.0, 80.0]]])
    predicted = truth + np.array([[[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [4.0, 0.0]]])
    specs = ["epe(of=s0-10)", "epe(of=s10-40)", "epe(of=s40+)", "epe(of=s0-10.5)"]
    result = flow([truth], [predicted], specs)
    assert [result[spec] for spec in specs] == pytest.approx([1.0, 2.0, 3.5, 1.5])


def still(*lengths: float) -> Array:
    """One row of motions to the right."""
    return np.array([[(length, 0.0) for length in lengths]], dtype=np.float32)


def report_of(truth: list[Array], predicted: list[Array], **more: Any) -> sy.Report:
    """The report of images a, b, ..."""
    ids = [chr(97 + k) for k in range(len(truth))]
    sides = ({"image": ids, "map": fields} for fields in (truth, predicted))
    return sy.evaluate("flow", *sides, options={"channels": "last"}, confidence=None, **more)


def test_curves_tables_and_pictures() -> None:
    """Errors 0, 2, 4 and 8 px of true lengths 4, 4, 20 and 100 px; one more pixel has no truth."""
    report = report_of([still(4, 4, np.nan), still(20, 100, np.nan)], [still(4, 6, 1), still(24, 108, 1)])
    curve = report.figure("thresholds")
    share = dict(zip(curve.columns["x"].tolist(), curve.columns["y"].tolist(), strict=True))
    assert [share[tau] for tau in (0.25, 1.5, 2.0, 4.0, 7.5, 10.0)] == [0.75, 0.75, 0.5, 0.25, 0.25, 0.0]
    speed = report.figure("lengths")
    assert speed.columns["x"].tolist() == [3.5, 30.0, 120.0]  # of 2 to 5, 20 to 40 and 80 to 160 px
    assert speed.columns["y"].tolist() == [1.0, 4.0, 8.0]
    assert (speed.columns["low"] <= speed.columns["y"]).all()
    assert (speed.columns["y"] <= speed.columns["high"]).all()
    table = report.table("lengths")
    # 8 of 100 px is above 5 %, and so is 4 of 20 px; 2 px is below 3 px.
    assert table.values.tolist() == [[2.0, 1.0, 0.0, 0.5], [1.0, 4.0, 1.0, 1.0], [1.0, 8.0, 1.0, 1.0]]
    worst = report.figure("error_maps")
    assert (worst.columns["image"], worst.columns["cost"]) == (["b", "a"], [6.0, 1.0])


def test_levels_of_kittis_colours() -> None:
    """The smaller of E / 3 px and E / 5 %: 0, 1/3 of 3 px, 2 % of 100 px, both above; no estimate; no truth."""
    truth = still(10, 10, 100, 0, 10, np.nan)
    predicted = still(10, 11, 102, 6, np.nan, 1)
    level = views.error_level(LoadedPair(truth, predicted, predicted), 2)
    assert level.tolist() == [[0, 3, 3, 6, 10, 11]]  # 0; 0.333; 0.4; 2, where the truth is 0; then the two greys


def test_colours_of_the_wheel() -> None:
    """At rest is white, to the right red, to the left cyan, and no value grey."""
    colours = views.wheel_colours()
    assert (len(colours), colours[0], colours[1 + 9 * 24], colours[1 + 9 * 24 + 12]) == (
        241,
        "ffffff",
        "ff0000",
        "00ffff",
    )
    field = np.array([[(0, 0), (2, 0), (-2, 0), (np.nan, 0)]], dtype=np.float32)
    assert views.flow_picture(field, 2.0) == indexed_png(np.array([[0, 217, 229, 241]]), [*colours, "d0d0d0"])


def test_listing_and_scene() -> None:
    truth, predicted = [still(4, 4, np.nan), still(20, 100, np.nan)], [still(4, np.nan, 1), still(24, 108, 1)]
    listing = report_of(truth, predicted, metrics=["epe", "bad@1"]).listing()
    assert listing is not None
    values = {name: np.asarray(column).tolist() for name, column in listing.columns.items() if name != "image"}
    assert values == {"EPE": [0.0, 6.0], "valid pixels": [2.0, 2.0], "density": [0.5, 1.0], "bad > 1 px": [0.5, 1.0]}
    sides = ({"image": ["a", "b"], "map": fields} for fields in (truth, predicted))
    scene = scene_of(TASK, Request("flow", options={"channels": "last"}), *sides, "a", None)
    assert "0.000 px" in scene.title
    assert scene.summary.startswith("2 of 3 pixels")
    assert [raster.title for raster in scene.rasters] == ["Truth", "Prediction", "Error"]
    colours = [*views.STEP_COLOURS, views.MISSING, views.NONE]
    assert scene.rasters[2].png == indexed_png(np.array([[0, 10, 11]]), colours)


def test_what_other_tools_print() -> None:
    truth, predicted = items(FLOW["images"])
    report = report_of(truth, predicted, explain=["raft", "ptlflow"])
    raft, ptlflow = report.explanations
    kitti = FLOW["raft validate_kitti (EPE by image, F1 by pixel)"]
    close(raft.theirs["epe"], kitti["kitti-epe"])
    close(raft.theirs["fl"], kitti["kitti-f1"] / 100)
    golden = FLOW["ptlflow (all by image)"]
    for name in ("epe", "px1", "px3", "px5"):
        close(ptlflow.theirs[name], golden[name])
    close(ptlflow.theirs["fl"], golden["flall"] / 100)
    assert ptlflow.ours["epe"] == report["epe"].value


def test_what_other_tools_do_with_gaps_and_empty_images() -> None:
    """Errors 0 and 8 px of an image, beside one without truth, or one with a pixel without an estimate."""
    truth, predicted = [still(4, 20)], [still(4, 28)]
    empty = [*truth, still(np.nan, np.nan)], [*predicted, still(1, 1)]
    raft, ptlflow = report_of(*empty, explain=["raft", "ptlflow"]).explanations
    assert math.isnan(raft.theirs["epe"])
    assert raft.theirs["fl"] == 0.5
    assert (ptlflow.theirs["epe"], ptlflow.theirs["px3"], ptlflow.theirs["fl"]) == (2.0, 0.25, 0.25)
    assert (ptlflow.ours["epe"], ptlflow.ours["px3"]) == (4.0, 0.5)
    steps = {step.setting: step.values["epe"] for step in ptlflow.steps}
    assert steps == {"average": 4.0, "images without a valid pixel": 4.0}  # only together do they move it
    gap = report_of([*truth, still(4, 4)], [*predicted, still(4, np.nan)], explain=["raft", "kitti"])
    raft, kitti = gap.explanations
    assert (raft.ours["fl"], raft.theirs["fl"]) == (0.5, 0.25)
    assert math.isnan(raft.theirs["epe"])
    assert (kitti.ours["fl"], kitti.theirs["fl"]) == (0.5, 0.25)  # filled with 4, which is right


def test_kittis_tie_is_explained() -> None:
    """80 to 84 px is exactly 5 %."""
    (kitti,) = report_of([still(80)], [still(84)], explain=["kitti"]).explanations
    assert (kitti.ours, kitti.theirs) == ({"fl": 0.0}, {"fl": 1.0})
    assert {step.setting: step.values["fl"] for step in kitti.steps}["outliers"] == 1.0


@pytest.mark.parametrize(("spec", "named"), [("aae", "aae"), ("fl(rule=kitti)", "rule=kitti")])
def test_what_needs_one_truth_per_pixel_is_refused_with_four(spec: str, named: str) -> None:
    with refuses("E-conflict", named, "spring"):
        flow([np.zeros((4, 4, 2))], [np.zeros((2, 2, 2))], [spec], preset="spring")
