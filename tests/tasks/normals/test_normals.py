"""Normals: goldens of Marigold and of DSINE's definitions, exact angles, the second pass, axes, what is refused."""

from __future__ import annotations

import base64
import io
import json
import math
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.paths import ROOT
from support.refusal import refuses
from support.shown import check_listing

import steelyard as sy
from steelyard import _native
from steelyard.core import catalogue
from steelyard.tasks.normals import views
from steelyard.tasks.normals.data import BINS, EDGES
from steelyard.tasks.normals.sums import exact_median

GOLDENS = json.loads((ROOT / "tests" / "goldens" / "normals.json").read_text())
LIMITS = (5, 7.5, 11.25, 22.5, 30)
MARIGOLD = {
    "mean_angular_error": ("angle", 1),
    "median_angular_error": ("angle_median", 1),
    "rmse_angular_error": ("angle_rmse", 1),
    "sub5_error": ("within@5.0", 100),
    "sub7_5_error": ("within@7.5", 100),
    "sub11_25_error": ("within@11.25", 100),
    "sub22_5_error": ("within@22.5", 100),
    "sub30_error": ("within@30.0", 100),
}
IMAGES = [[np.array(image[side], dtype=np.float32) for image in GOLDENS["images"]] for side in ("gt", "pred")]


def evaluate(truth: list[Any], prediction: list[Any], specs: Any = None, **named: Any) -> Any:
    images = [f"i{k}" for k in range(len(truth))]
    sides = ({"image": images, "map": side} for side in (truth, prediction))
    return sy.evaluate("normals", *sides, specs, **{"confidence": None, **named})


def pixels(vectors: list[Any]) -> Any:
    """A map of one row."""
    return np.array([vectors], dtype=np.float32)


def angle(a: list[float], b: list[float]) -> float:
    return float(evaluate([pixels([a])], [pixels([b])], ["angle"], options={"channels": "last"})["angle"].value)


@pytest.mark.parametrize("image", range(3))
def test_images_score_as_in_marigold(image: int) -> None:
    golden = GOLDENS["images"][image]["marigold (rounded to 4 places)"]
    specs = [spec for spec, _ in MARIGOLD.values()]
    report = evaluate([IMAGES[0][image]], [IMAGES[1][image]], specs)
    for name, (spec, factor) in MARIGOLD.items():
        assert factor * report[spec].value == pytest.approx(golden[name], abs=3e-4), name


def test_the_mean_over_images_is_marigolds() -> None:
    golden = GOLDENS["marigold mean over images"]
    specs = [spec for spec, _ in MARIGOLD.values()]
    report = evaluate(*IMAGES, specs, options={"preset": "marigold_normals"})
    for (spec, score), (name, (_, factor)) in zip(report.scores.items(), MARIGOLD.items(), strict=True):
        assert "average=image" in spec
        assert factor * score.value == pytest.approx(golden[name], abs=3e-4), name


@pytest.mark.parametrize("options", [{}, {"preset": "dsine"}])
def test_all_pixels_together_are_dsines_definition(options: dict[str, str]) -> None:
    golden = GOLDENS["pooled over pixels"]
    names = {"mean": "angle", "median": "angle_median", "rmse": "angle_rmse"}
    shares = {f"within {limit:g}": f"within@{float(limit)}" for limit in LIMITS}
    report = evaluate(*IMAGES, [*names.values(), *shares.values()], options=options)
    for name, spec in names.items():
        assert report[spec].value == pytest.approx(golden[name], abs=3e-4), name
    for name, spec in shares.items():
        assert 100 * report[spec].value == pytest.approx(golden[name], abs=1e-9), name


@pytest.mark.parametrize("edge", [name for name in GOLDENS["edges"] if name != "no valid pixel"])
def test_angles_are_exact(edge: str) -> None:
    case = GOLDENS["edges"][edge]
    a, b = ([float(v) for v in case[side]] for side in ("gt", "pred"))
    if edge == "truth zero":
        with refuses("E-empty-input"):
            angle(a, b)
        return
    if edge == "prediction nan":
        with refuses("E-invalid-number", "row 0", "column 0"):
            angle(a, b)
        return
    exact = case["atan2 of float32 inputs in float64 (0 for a zero vector: not an angle)"]
    assert angle(a, b) == pytest.approx(90.0 if edge == "prediction zero" else exact, abs=1e-12)
    theirs = float(case["marigold angle (float32)"][0])
    if edge != "length 1e-12":  # which their float32 norm loses
        assert angle(a, b) == pytest.approx(theirs, abs=0.03 if exact < 1 else 3e-4)


def test_angles_are_those_of_libm() -> None:
    rng = np.random.default_rng(4)
    for scale in (1e-30, 1e-3, 1.0, 1e30):
        truth, prediction = rng.normal(0, scale, (2, 40, 50, 3))
        angles, zero, bad, _ = _native.normal_angles(truth, prediction, None)
        a, b = (side.reshape(-1, 3) / scale for side in (truth, prediction))
        expected = np.degrees(np.arctan2(np.linalg.norm(np.cross(a, b), axis=1), (a * b).sum(axis=1)))
        assert (zero, bad) == (0, 0)
        assert np.abs(angles - expected).max() < 1e-11


def test_a_zero_prediction_is_90_degrees_and_counted() -> None:
    report = evaluate([pixels([[0, 0, 1]] * 4)], [pixels([[0, 0, 1], [0, 0, 0], [0, 0, 0], [0, 0, 1]])], ["angle"])
    assert report["angle"].value == pytest.approx(45.0)
    assert any("2 predicted normals have length 0" in note for note in report["angle"].notes)


def test_the_median_of_all_pixels_is_exact_with_weights() -> None:
    rng = np.random.default_rng(9)
    truth = [np.tile(np.array([0, 0, 1.0]), (4, 5, 1)) for _ in range(7)]
    angles = [rng.gamma(2, 5, (4, 5)) for _ in truth]
    prediction = [np.stack([np.sin(np.radians(a)), 0 * a, np.cos(np.radians(a))], axis=2) for a in angles]
    every = np.concatenate([a.ravel() for a in angles])
    assert evaluate(truth, prediction, ["angle_median"])["angle_median"].value == pytest.approx(
        np.median(every), abs=1e-12
    )
    near = evaluate(truth, prediction, ["angle_median(exact=false)"])["angle_median(exact=false)"].value
    assert near == pytest.approx(np.median(every), abs=0.05)
    weights = [1, 2, 1, 3, 1, 1, 2]
    images = [f"i{k}" for k in range(7)]
    sides = {"image": images, "map": truth, "sample_weight": weights}, {"image": images, "map": prediction}
    report = sy.evaluate("normals", *sides, ["angle_median"], confidence=None)
    repeated = np.concatenate([np.tile(a.ravel(), w) for a, w in zip(angles, weights, strict=True)])
    assert report["angle_median"].value == pytest.approx(np.median(repeated), abs=1e-12)


@pytest.mark.parametrize("most", [0, 1, 3, 1000])
@pytest.mark.parametrize("kind", ["apart", "all equal", "few values", "in one bin", "edges"])
def test_the_median_is_exact_however_few_angles_are_kept(kind: str, most: int) -> None:
    rng = np.random.default_rng(3)
    draw = {
        "apart": lambda n: rng.gamma(2, 5, n),
        "all equal": lambda n: np.full(n, 7.013),
        "few values": lambda n: rng.choice([0.0, 1e-9, 7.013, 180.0], n),
        "in one bin": lambda n: 7 + 0.04 * rng.random(n),
        "edges": lambda n: 45.0 * rng.integers(0, 5, n),
    }[kind]
    for _ in range(20):
        angles = [draw(int(rng.integers(1, 30))) for _ in range(int(rng.integers(1, 5)))]
        weight = rng.integers(1, 4, len(angles)).astype(np.float64)
        counts = np.array([_native.angle_sums(some, np.array([1.0]))[2] for some in angles], dtype=np.float64)
        repeated = np.concatenate([np.repeat(a, int(w)) for a, w in zip(angles, weight, strict=True)])
        median = exact_median(len(angles), lambda image, own=angles: own[image], counts, weight, most)
        assert median == pytest.approx(np.median(repeated), abs=1e-12)


def test_bins_have_the_usual_limits_as_edges() -> None:
    assert len(EDGES) == BINS + 1
    assert all(limit in EDGES for limit in LIMITS)
    rng = np.random.default_rng(1)
    angles = np.concatenate([rng.uniform(0, 180, 5000), EDGES, np.nextafter(EDGES[1:], 0)])
    _, _, bins = _native.angle_sums(angles, np.array([1.0]))
    expected = np.zeros(BINS)
    for value in angles:
        expected[0 if value == 0 else min(np.searchsorted(EDGES, value, side="right") - 1, BINS - 1)] += 1
    # An angle within rounding of an edge may lie on either side of it.
    assert np.abs(np.cumsum(bins) - np.cumsum(expected)).max() <= 2
    assert bins.sum() == len(angles)


def test_axes_flip_and_permute_the_prediction() -> None:
    truth = pixels([[0.1, 0.2, 0.9], [0.3, -0.4, 0.5]])
    flipped = truth * np.array([1, -1, -1], dtype=np.float32)
    assert evaluate([truth], [flipped], ["angle"], options={"axes": "x -y -z"})["angle"].value == pytest.approx(
        0, abs=1e-9
    )
    turned = truth[:, :, [2, 0, 1]]
    assert evaluate([truth], [turned], ["angle"], options={"axes": "y z x"})["angle"].value == pytest.approx(
        0, abs=1e-9
    )
    for axes in ("x y", "x y y", "x y w", "a", ""):
        with refuses("E-invalid-setting", "axes"):
            evaluate([truth], [truth], ["angle"], options={"axes": axes})


def test_masks_and_missing_predictions() -> None:
    truth, prediction = pixels([[0, 0, 1], [0, 0, 1]]), pixels([[0, 0, 1], [0, 1, 0]])
    sides = {"image": ["a"], "map": [truth], "mask": [np.array([[1, 0]])]}, {"image": ["a"], "map": [prediction]}
    assert sy.evaluate("normals", *sides, ["angle"], confidence=None)["angle"].value == 0.0
    both = {"image": ["a", "b"], "map": [truth, truth]}
    report = sy.evaluate("normals", both, {"image": ["a"], "map": [truth]}, ["angle"], confidence=None, missing="worst")
    assert report["angle"].value == pytest.approx(45.0)


def test_wrong_shapes_and_limits() -> None:
    truth = pixels([[0, 0, 1], [0, 0, 1]])
    with refuses("E-shape-mismatch"):
        evaluate([truth], [truth[:, :, :2]], ["angle"])
    with refuses("E-shape-mismatch", "2×1", "1×1"):
        evaluate([truth], [truth[:, :1]], ["angle"])
    for spec in ("within@0", "within@181", "angle(average=row)"):
        with refuses("E-invalid-spec"):
            evaluate([truth], [truth], [spec])
    assert math.isclose(evaluate([truth], [truth], ["within@180"])["within@180"].value, 1.0)


def test_the_histogram_counts_all_pixels() -> None:
    report = evaluate(*IMAGES)
    columns = report.figure("angles").columns
    every = np.concatenate([np.array(image["angles of valid pixels"]) for image in GOLDENS["images"]])
    counts = np.histogram(every, np.append(np.asarray(columns["low"]), columns["high"][-1]))[0]
    assert np.asarray(columns["count"]).tolist() == counts.tolist()


def test_the_worst_images_are_shown() -> None:
    figure = evaluate(*IMAGES).figure("normal_maps")
    means = [np.mean(image["angles of valid pixels"]) for image in GOLDENS["images"]]
    order = np.argsort(means)[::-1]
    assert list(figure.columns["image"]) == [f"i{k}" for k in order]
    assert np.asarray(figure.columns["cost"]) == pytest.approx(np.array(means)[order], abs=3e-4)


def test_an_image_as_a_row_and_as_a_picture() -> None:
    """By hand: one of six pixels has no truth; of the others one is turned by 90°, one has length 0, three are right."""
    truth, prediction = (np.tile(np.array([0, 0, 1.0]), (2, 3, 1)) for _ in range(2))
    truth[0, 0], prediction[1, 2], prediction[0, 1] = 0, (1, 0, 0), 0
    report = evaluate([truth, 0 * truth], [prediction, prediction], ["angle"])
    columns = {
        "image": ["i0", "i1"],
        "pixels": [5, 0],
        "mean angle": [36, math.nan],
        "RMSE of angles": [math.sqrt(2 * 90**2 / 5), math.nan],
    }
    check_listing(report.listing(), ("images", "Images"), columns, "", "mean angle")
    metric = catalogue.parse("angle", "normals")
    first, second = (views.scene(report.details.pairs, unit, metric) for unit in (0, 1))
    assert (first.title, first.summary) == ("Image i0: mean angle 36.00°", "5 of 6 pixels count")
    assert (second.title, second.summary) == ("Image i1: mean angle undefined", "0 of 6 pixels count")
    assert first.bounds == (0, 0, 3, 2)
    assert [(part.title, part.w, part.h) for part in first.rasters] == [
        ("Truth", 3, 2),
        ("Prediction", 3, 2),
        ("Angle", 3, 2),
    ]
    colours = dict(first.legend)
    shown = Image.open(io.BytesIO(base64.b64decode(first.rasters[2].png))).convert("RGB")
    names = ["not counted", "90° and more", "below 5°", "below 5°", "below 5°", "90° and more"]
    pixels = np.asarray(shown).reshape(-1, 3).tolist()
    assert ["".join(f"{level:02x}" for level in pixel) for pixel in pixels] == [colours[name] for name in names]


def test_other_tools_print_what_they_printed() -> None:
    report = evaluate(*IMAGES, ["angle"], explain=["marigold", "dsine"])
    marigold, dsine = (one.theirs for one in report.explanations)
    for name, (spec, factor) in MARIGOLD.items():
        expected = GOLDENS["marigold mean over images"][name]
        assert factor * marigold[spec.removesuffix(".0")] == pytest.approx(expected, abs=3e-4), name
    for name, spec in (("mean", "angle"), ("median", "angle_median"), ("rmse", "angle_rmse")):
        assert dsine[spec] == pytest.approx(GOLDENS["pooled over pixels"][name], abs=3e-4)
    for limit in LIMITS:
        expected = GOLDENS["pooled over pixels"][f"within {limit:g}"]
        assert 100 * dsine[f"within@{limit:g}"] == pytest.approx(expected, abs=1e-9)
    with refuses("E-unknown-name", "zoedepth"):
        evaluate(*IMAGES, ["angle"], explain=["zoedepth"])
