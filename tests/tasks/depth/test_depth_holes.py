"""Depth: holes and infinite depths in every part of an image, missing predictions, fits of several images, bands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

import steelyard as sy

RNG = np.random.default_rng(6)
TRUTH = [RNG.uniform(2, 20, (6, 8)) for _ in range(4)]
MODEL = [0.5 * depth * np.exp(RNG.normal(0, 0.1, depth.shape)) for depth in TRUTH]
IMAGES = ["a/0", "a/1", "b/0", "b/1"]


def evaluate(truth: Any, prediction: Any, specs: Any, options: Any = None, **named: Any) -> Any:
    sides = [
        {"image": IMAGES[: len(side)], "map": side} if isinstance(side, list) else side for side in (truth, prediction)
    ]
    return sy.evaluate("depth", *sides, specs, confidence=None, options=options or {}, **named)


def value(truth: Any, prediction: Any, spec: str, options: Any = None, **named: Any) -> float:
    return float(evaluate(truth, prediction, [spec], options, **named)[spec].value)


def test_a_region_of_all_pixels_scores_as_the_image_with_holes_and_alignment() -> None:
    model = [depth.copy() for depth in MODEL]
    model[0][0, 0], model[0][3, 3], model[2][1, 1] = np.inf, np.nan, np.nan
    truth = {"image": IMAGES, "map": TRUTH, "region:every": [np.ones((6, 8), np.uint8)] * 4}
    options = {"holes": "worst", "align": "median", "max": 30}
    report = evaluate(truth, model, ["abs_rel", "abs_rel(of=every)", "abs_rel(of=0-30m)"], options)
    assert report["abs_rel(of=every)"].value == report["abs_rel"].value == report["abs_rel(of=0-30m)"].value
    # The holes themselves: inf is 30 m, nan 0.001 m, after the others are scaled by the ratio of medians.
    finite = np.isfinite(model[0])
    ratio = np.median(TRUTH[0][finite]) / np.median(model[0][finite])
    expected = np.where(finite, ratio * np.where(finite, model[0], 0), np.where(np.isnan(model[0]), 0.001, 30))
    error = (np.abs(np.minimum(expected, 30) - TRUTH[0]) / TRUTH[0]).mean()
    assert value(TRUTH[:1], model[:1], "abs_rel", options) == pytest.approx(error, rel=1e-12)


def test_images_with_too_few_pixels_are_left_out_of_regions_and_edges() -> None:
    truth = [depth.copy() for depth in TRUTH]
    truth[0][:] = 0
    truth[0][0, :3] = 5
    every = {"region:every": [np.ones((6, 8), np.uint8)] * 4}
    report = evaluate(
        {"image": IMAGES, "map": truth, **every},
        MODEL,
        ["abs_rel(average=pixel)", "abs_rel(of=every, average=pixel)", "boundary_f1"],
        {"min_pixels": 10},
    )
    others = evaluate(
        {"image": IMAGES[1:], "map": truth[1:]},
        {"image": IMAGES[1:], "map": MODEL[1:]},
        ["abs_rel(average=pixel)", "boundary_f1"],
    )
    expected = others["abs_rel(average=pixel)"].value
    assert report["abs_rel(average=pixel)"].value == expected
    assert report["abs_rel(of=every, average=pixel)"].value == expected
    assert report["boundary_f1"].value == others["boundary_f1"].value


def test_a_disparity_of_0_is_infinitely_far() -> None:
    truth = [np.array([[2.0, 4.0, 5.0, 10.0]])]
    for lowest in (0.0, -1.0):
        disparity = [np.array([[0.5, 0.25, lowest, 0.1]])]
        with refuses("E-invalid-number", "1 predicted pixel", "max"):
            evaluate(truth, disparity, ["abs_rel"], {"prediction": "disparity"})
        for clamp in ("yes", "no"):
            options = {"prediction": "disparity", "max": 20, "clamp": clamp}
            assert value(truth, disparity, "mae", options) == pytest.approx((20 - 5) / 4)
        # The fit leaves it out: the other three are right.
        options = {"prediction": "disparity", "max": 20, "align": "affine"}
        assert value(truth, disparity, "mae", options) == pytest.approx((20 - 5) / 4)


def test_a_true_depth_of_0_is_never_valid() -> None:
    truth = [np.array([[0.0, 4.0]])]
    assert value(truth, [np.array([[1.0, 5.0]])], "abs_rel", {"min": 0, "bounds": "closed"}) == 0.25


def test_a_median_of_0_cannot_be_aligned() -> None:
    with refuses("E-invalid-number", "median", "align"):
        evaluate(TRUTH, [0 * depth for depth in MODEL], ["abs_rel"], {"align": "median"})


@pytest.mark.parametrize("align", ["none", "median", "scale", "affine"])
@pytest.mark.parametrize("per", ["image", "dataset"])
def test_a_missing_prediction_is_not_aligned(align: str, per: str) -> None:
    if per == "dataset" and align in ("none", "median"):
        return
    some = {"image": IMAGES[:3], "map": TRUTH[:3]}
    options = {"align": align, "align_per": per}
    report = evaluate(TRUTH, some, ["abs_rel", "delta@3"], options, missing="worst")
    # Three right images, and one of which every depth is 0.001.
    lost = float((np.abs(0.001 - TRUTH[3]) / TRUTH[3]).mean())
    assert report["abs_rel"].value == pytest.approx(lost / 4, rel=1e-9)
    assert report["delta@3"].value == pytest.approx(0.75)


def test_a_smaller_fit_takes_the_pixels_of_the_crop() -> None:
    truth = RNG.uniform(1, 9, (480, 640))
    model = truth * 0.5 + RNG.normal(0, 0.2, truth.shape)
    inside = np.zeros(truth.shape, bool)
    inside[45:471, 41:601] = True
    p, g, use = (side[::4, ::4].ravel() for side in (model, truth, inside))
    scale, shift = np.polyfit(p[use], g[use], 1)
    expected = np.abs(scale * model + shift - truth)[inside].mean()
    options = {"crop": "nyu", "align": "affine", "align_size": 160, "clamp": "no"}
    assert value([truth], [model], "mae", options) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("per", ["sequence", "dataset"])
def test_other_tools_fit_each_image(per: str) -> None:
    options = {"align": "affine", "align_per": per}
    report = evaluate(TRUTH, MODEL, ["abs_rel"], options, explain=["marigold"])
    assert report.explanations[0].theirs["abs_rel"] == value(TRUTH, MODEL, "abs_rel", {"align": "affine"})


def test_parts_with_fits_of_their_own_are_not_merged() -> None:
    parts = []
    for start in (0, 2):
        part = sy.Accumulator("depth", options={"align": "affine", "align_per": "dataset"})
        names = IMAGES[start : start + 2]
        part.update(
            {"image": names, "map": TRUTH[start : start + 2]}, {"image": names, "map": MODEL[start : start + 2]}
        )
        parts.append(part)
    whole = parts[0].empty()
    for part in parts:
        whole.merge(part)
    options = {"align": "affine", "align_per": "dataset"}
    assert whole.report(["abs_rel"], confidence=None)["abs_rel"].value == value(TRUTH, MODEL, "abs_rel", options)
    for part in parts:
        part.compact(["abs_rel"])
    with refuses("E-incompatible", "fit"):
        parts[0].merge(parts[1])


@pytest.mark.parametrize(
    ("of", "low", "high"), [("0-10m", 0, 10), ("d0-10", 0, 10), ("2.5-10m", 2.5, 10), ("10m+", 10, np.inf)]
)
def test_bands_in_metres(of: str, low: float, high: float) -> None:
    inside = [(depth >= low) & (depth < high) for depth in TRUTH]
    expected = np.mean(
        [np.abs(p - g)[use].mean() for p, g, use in zip(MODEL, TRUTH, inside, strict=True)]  # all have such pixels
    )
    assert value(TRUTH, MODEL, f"mae(of={of})") == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"align_in": "disparity"}, "align_in"),
        ({"align_size": 100}, "align_size"),
        ({"align": "affine", "align_fit": "positive"}, "align_fit"),
        ({"align": "affine", "disparity_floor": 0.01}, "disparity_floor"),
        ({"resize_in": "disparity"}, "resize_in"),
    ],
)
def test_options_without_effect_are_refused(options: dict[str, Any], name: str) -> None:
    with refuses("E-conflict", name):
        evaluate(TRUTH, MODEL, ["abs_rel"], options)


@pytest.mark.parametrize("options", [{"min_pixels": -3}, {"min_pixels": 1.5}, {"align": "affine", "align_size": 0.5}])
def test_counts_are_whole(options: dict[str, Any]) -> None:
    with refuses("E-invalid-setting"):
        evaluate(TRUTH, MODEL, ["abs_rel"], options)


@pytest.mark.parametrize("of", ["20", "20-10m", "d20-10", "5x"])
def test_bands_that_cannot_be(of: str) -> None:
    with refuses("E-invalid-spec"):
        evaluate(TRUTH, MODEL, [f"abs_rel(of={of})"])


def test_labels_name_the_preset_and_the_alignment_and_notes_what_differs() -> None:
    options = {"preset": "kitti_eigen", "align": "median", "crop": "none", "max": 50}
    score = evaluate(TRUTH, MODEL, ["abs_rel"], options)["abs_rel"]
    assert score.label == "AbsRel, kitti_eigen, median scaling"
    assert any("max=50" in note and "crop=none" in note for note in score.notes)
    assert evaluate(TRUTH, MODEL, ["abs_rel"])["abs_rel"].label == "AbsRel"


def test_a_predicted_depth_of_0_is_left_out_of_a_fit_in_disparity() -> None:
    """By hand: the other three are half the truth, so that they are right, and a depth of 0 is the least there is."""
    truth, model = [np.array([[2.0, 4.0, 5.0, 10.0]])], [np.array([[1.0, 2.0, 0.0, 5.0]])]
    options = {"align": "affine", "align_in": "disparity"}
    assert value(truth, model, "mae", options) == pytest.approx((5 - 0.001) / 4)


def test_images_of_a_sequence_have_one_weight() -> None:
    truth = {"image": IMAGES, "map": TRUTH, "sample_weight": [1.0, 1.0, 2.0, 3.0]}
    with refuses("E-conflict", "sequence"):
        evaluate(truth, MODEL, ["mae"], {"align": "scale", "align_per": "sequence"})


def test_the_weight_of_a_sequence_is_that_of_its_images() -> None:
    """A weight of 2 counts a sequence as often as two sequences of the same images."""
    weighted = {"image": IMAGES, "map": TRUTH, "sample_weight": [1, 1, 2, 2]}
    names = [*IMAGES, "c/0", "c/1"]
    sides = [{"image": names, "map": [*maps, *maps[2:]]} for maps in (TRUTH, MODEL)]
    options = {"align": "scale", "align_per": "sequence"}
    assert value(weighted, MODEL, "mae", options) == pytest.approx(value(*sides, "mae", options))
