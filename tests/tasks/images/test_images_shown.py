"""What a report of images shows beside its scores, whole: flat grey images, whose PSNR and SSIM have formulas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.asked import pairs_of, pixels
from support.refusal import refuses
from support.shown import check_figure, check_listing, check_table

import steelyard as sy
from steelyard.tasks.images import views
from steelyard.tasks.images.metrics import Psnr


def flat(*levels: int, side: int = 12) -> list[Any]:
    return [np.full((side, side, 1), level, dtype=np.uint8) for level in levels]


def sides(*errors: int, side: int = 12, **columns: list[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Images of 100, and predictions that are off by so many steps."""
    names = [f"i{k}" for k in range(len(errors))]
    truth = {"image": names, "pixels": flat(*[100] * len(errors), side=side), **columns}
    return truth, {"image": names, "pixels": flat(*(100 + error for error in errors), side=side)}


def psnr(error: int) -> float:
    return 20 * math.log10(255 / error)


def ssim(error: int) -> float:
    """Of flat images the luminance term alone is left."""
    a, b = 100, 100 + error
    return (2 * a * b + 2.55**2) / (a * a + b * b + 2.55**2)


def test_pictures_of_few_images() -> None:
    """Up to six are shown, the worst first, and not called the worst or the best."""
    report = sy.evaluate("images", *sides(1, 4, 2), ["psnr"], confidence=None)
    shown = report.figure("pictures")
    assert list(shown.columns) == ["image", "cost", "truth", "prediction", "difference", "SSIM"]
    assert shown.columns["image"] == ["i1", "i2", "i0"]
    assert shown.columns["cost"] == pytest.approx([psnr(4), psnr(2), psnr(1)])
    assert shown.facts == {"panels": ["truth", "prediction", "difference", "SSIM"], "legend": [], "measured_in": "dB"}
    head = ("pictures", "Images by PSNR", "image")
    check_table(shown.table, head, ["i1", "i2", "i0"], ["psnr"], [psnr(4), psnr(2), psnr(1)])
    greys = [{name: pixels(shown.columns[name][row]) for name in shown.facts["panels"]} for row in range(3)]
    for error, row in zip((4, 2, 1), greys, strict=True):
        level = {"truth": 100, "prediction": 100 + error, "difference": 4 * error, "SSIM": round(255 * ssim(error))}
        assert row == {name: [[f"{value:02x}" * 3] * 12] * 12 for name, value in level.items()}


def test_pictures_of_colours() -> None:
    """Red, green and blue are shown; of four bands the first three."""
    for bands in (3, 4):
        truth = np.tile(np.array([10, 20, 40, 80][:bands], dtype=np.uint8), (6, 6, 1))
        same = {"image": ["i"], "pixels": [truth]}
        off = {"image": ["i"], "pixels": [truth + np.uint8(5)]}
        shown = sy.evaluate("images", same, off, ["mae"], confidence=None).figure("pictures").columns
        assert pixels(shown["truth"][0]) == [["0a1428"] * 6] * 6
        assert pixels(shown["difference"][0]) == [["141414"] * 6] * 6


def test_identical_images_are_the_best() -> None:
    report = sy.evaluate("images", *sides(0, 4), ["psnr"], confidence=None)
    assert report.figure("pictures").columns["cost"] == [pytest.approx(psnr(4)), math.inf]


def test_small_images_have_no_ssim_map() -> None:
    for side, panels in ((5, ["truth", "prediction", "difference"]), (6, list(views.PANELS))):
        shown = sy.evaluate("images", *sides(1, side=side), ["psnr"], confidence=None).figure("pictures")
        assert shown.facts["panels"] == panels


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (6, ["i5", "i4", "i3", "i2", "i1", "i0"]),
        (7, ["worst: i6", "worst: i5", "median: i4", "median: i3", "best: i1", "best: i0"]),
        (8, ["worst: i7", "worst: i6", "median: i4", "median: i3", "best: i1", "best: i0"]),
        (9, ["worst: i8", "worst: i7", "median: i5", "median: i4", "best: i1", "best: i0"]),
    ],
)
def test_the_worst_the_median_and_the_best(count: int, shown: list[str]) -> None:
    """Of images that are off by 1 to `count` steps, in this order."""
    report = sy.evaluate("images", *sides(*range(1, count + 1)), ["psnr"], confidence=None)
    assert report.figure("pictures").columns["image"] == shown


def test_psnr_against_ssim() -> None:
    report = sy.evaluate("images", *sides(1, 2, 3, 0), ["psnr", "ssim"], confidence=None)
    axes = [[psnr(e) for e in (1, 2, 3)], [ssim(e) for e in (1, 2, 3)]]
    shown = report.figure("psnr_ssim")
    check_figure(
        shown,
        ("psnr_ssim", "points", "PSNR against SSIM"),
        {"x": axes[0], "y": axes[1]},
        {"x": "PSNR, dB", "y": "SSIM", "item": "image"},
        "A point far below the others has lost structure (blur, blocks) that its PSNR does not show; far above, a "
        "change of brightness or contrast that SSIM hardly counts. Identical images are left out.",
    )
    columns = ("median", "middle half, from", "to")
    values = [[side[1], (side[1] + side[2]) / 2, (side[0] + side[1]) / 2] for side in axes]
    head = ("psnr_ssim", "PSNR against SSIM", "metric")
    check_table(shown.table, head, ["PSNR", "SSIM"], columns, values)


def test_psnr_against_bits() -> None:
    """Of 144 pixels each: 18 bytes are a bit per pixel. An image without a size and an identical one have no place."""
    truth, predictions = sides(4, 2, 1, 0, 3)
    predictions["bytes"] = [18, 36, 72, 90, 0]
    shown = sy.evaluate("images", truth, predictions, ["psnr"], confidence=None).figure("rate")
    expected = [psnr(4), psnr(2), psnr(1)]
    check_figure(
        shown,
        ("rate", "points", "PSNR against bits per pixel"),
        {"x": [1, 2, 4], "y": expected},
        {"x": "bits per pixel", "y": "PSNR, dB", "item": "image"},
        "Each point is one image with the size that the column bytes gives. Images that are identical or have no size "
        "are left out.",
    )
    values = [[2, 1.5, 3], [expected[1], (expected[0] + expected[1]) / 2, (expected[1] + expected[2]) / 2]]
    head = ("rate", "PSNR against bits per pixel", "value")
    columns = ("median", "middle half, from", "to")
    check_table(shown.table, head, ["bits per pixel", "PSNR"], columns, values)


def test_two_sizes_are_too_few() -> None:
    truth, predictions = sides(4, 2, 1)
    predictions["bytes"] = [18, 36, 0]
    assert list(sy.evaluate("images", truth, predictions, ["psnr"], confidence=None).figures) == ["pictures"]
    predictions["bytes"] = [18, 36, 1]
    assert list(sy.evaluate("images", truth, predictions, ["psnr"], confidence=None).figures) == ["pictures", "rate"]
    assert list(sy.evaluate("images", truth, predictions, ["ssim"], confidence=None).figures) == ["pictures"]


def test_frames_of_clips() -> None:
    """Clip b has the first and the third image; the worst of them is the place to begin."""
    truth, predictions = sides(1, 2, 4, clip=["b", "a", "b"])
    report = sy.evaluate("images", truth, predictions, ["psnr"], confidence=None)
    columns = {
        "clip": ["a", "b", "b"],
        "image": ["i1", "i0", "i2"],
        "PSNR": [psnr(2), psnr(1), psnr(4)],
        "SSIM": [ssim(2), ssim(1), ssim(4)],
    }
    check_listing(report.listing(), ("images", "Images"), columns, "", "PSNR")
    pairs = pairs_of("images", truth, predictions)
    steps = views.steps(pairs, 1)
    assert steps is not None
    assert (steps.name, steps.numbers, steps.start) == ("frame", (0, 1), 1)
    assert steps.counts == {"dB below the best": (0, 12)}  # 20 log10 of 4
    scene = views.scene(pairs, 1, Psnr(), 1)
    assert (scene.title, scene.bounds) == (f"Image i2: PSNR {psnr(4):.2f} dB", (0.0, 0.0, 12.0, 12.0))
    assert scene.summary == "12×12 pixels; the difference is times 4, SSIM goes from 0 (black) to 1 (white)"
    assert [(one.title, one.w, one.h) for one in scene.rasters] == [
        (name, 12, 12) for name in ("Truth", "Prediction", "Difference", "SSIM")
    ]
    assert pixels(scene.rasters[2].png)[0][0] == "101010"
    assert views.scene(pairs, 1, Psnr()).title == f"Image i0: PSNR {psnr(1):.2f} dB"
    for step in (-1, 2):
        with refuses("E-out-of-range", str(step), "clip", "2"):
            views.scene(pairs, 1, Psnr(), step)
    assert views.steps(pairs_of("images", *sides(1)), 0) is None


def test_views_of_scenes() -> None:
    truth, predictions = sides(1, 0, 2, scene=["a", "a", "a"])
    steps = views.steps(pairs_of("images", truth, predictions), 0)
    assert steps is not None
    assert (steps.name, steps.numbers, steps.start) == ("view", (0, 1, 2), 2)
    assert steps.counts == {"dB below the best": (0, 0, 6)}  # an identical one is not worse than the best
