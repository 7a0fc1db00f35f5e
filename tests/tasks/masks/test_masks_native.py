"""Run-length masks of the native core, held to pycocotools and OpenCV; broken ones never crash."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from pycocotools import mask as reference

import steelyard as sy
from steelyard import _native
from steelyard.compat.pycocotools import mask
from steelyard.compat.pycocotools.oks import oks_table
from steelyard.tasks.keypoints.task import BODY

# pycocotools itself warns under numpy 2.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def drawn_polygon(rng: np.random.Generator) -> list[float]:
    """Any kind: real, whole, of one or two decimals, outside the image, tiny, with equal and repeated points."""
    points = int(rng.integers(3, 16))
    kind = int(rng.integers(6))
    if kind == 0:
        xy = rng.uniform(-30, 110, (points, 2))
    elif kind == 1:
        xy = rng.integers(-10, 95, (points, 2)).astype(float)
    elif kind == 2:
        xy = np.round(rng.uniform(0, 80, (points, 2)), 2)
    elif kind == 3:
        xy = np.round(rng.uniform(0, 80, (points, 2)), 1)
    elif kind == 4:
        xy = rng.random((points, 2)) * rng.uniform(0.1, 30) + rng.uniform(0, 60)
    else:
        angle = np.sort(rng.random(points)) * 2 * np.pi
        xy = 40 + 35 * np.stack([np.cos(angle), np.sin(angle)], axis=1) * rng.uniform(0.4, 1, (points, 1))
    if rng.random() < 0.1:
        xy[1] = xy[0]
    return [float(v) for v in xy.ravel()]


@pytest.mark.parametrize("block", range(4))
def test_ten_thousand_polygons_are_drawn_bit_for_bit(block: int) -> None:
    rng = np.random.default_rng(block)
    for _ in range(100):
        height, width = int(rng.integers(1, 100)), int(rng.integers(1, 100))
        polygons = [drawn_polygon(rng) for _ in range(100)]
        expected = reference.frPyObjects(polygons, height, width)
        result = mask.frPyObjects(polygons, height, width)
        assert [m["counts"] for m in result] == [m["counts"] for m in expected]
        assert [m["size"] for m in result] == [list(m["size"]) for m in expected]
        united = mask.merge(result[:3])
        assert united["counts"] == reference.merge(expected[:3])["counts"]


def test_boxes_become_the_same_masks() -> None:
    rng = np.random.default_rng(5)
    boxes = np.concatenate([rng.uniform(-10, 60, (500, 2)), rng.uniform(0, 50, (500, 2))], axis=1)
    assert mask.frPyObjects(boxes, 57, 43) == [
        {"size": list(m["size"]), "counts": m["counts"]} for m in reference.frPyObjects(boxes, 57, 43)
    ]


def test_operations_are_equal_over_drawn_masks() -> None:
    rng = np.random.default_rng(6)
    for _ in range(1500):
        shape = int(rng.integers(1, 40)), int(rng.integers(1, 40)), 4
        pixels = np.asfortranarray((rng.random(shape) < rng.choice([0.0, 0.1, 0.5, 0.95, 1.0])).astype(np.uint8))
        expected, result = reference.encode(pixels), mask.encode(pixels)
        assert result == expected
        assert np.array_equal(mask.decode(result), pixels)
        assert np.array_equal(mask.area(result), reference.area(expected))
        assert np.array_equal(mask.toBbox(result), reference.toBbox(expected))
        for intersect in (0, 1):
            assert mask.merge(result, intersect) == reference.merge(expected, intersect)
        crowd = rng.integers(0, 2, 2).tolist()
        assert np.array_equal(mask.iou(result[:2], result[2:], crowd), reference.iou(expected[:2], expected[2:], crowd))
        counts = {"size": list(shape[:2]), "counts": _counts(pixels[:, :, 0])}
        assert mask.frPyObjects(counts, *shape[:2]) == result[0]


def _counts(pixels: Any) -> list[int]:
    flat = np.concatenate([[0], pixels.ravel(order="F")])
    edges = np.concatenate([[0], np.flatnonzero(np.diff(flat)), [len(flat) - 1]])
    return [int(v) for v in np.diff(edges)]


def test_boxes_iou_is_equal() -> None:
    rng = np.random.default_rng(7)
    a, b = (
        np.concatenate([rng.integers(0, 20, (60, 2)), rng.integers(0, 15, (60, 2))], axis=1).astype(float) for _ in "ab"
    )
    crowd = rng.integers(0, 2, 60).tolist()
    assert np.array_equal(mask.iou(a, b, crowd), reference.iou(a, b, crowd))
    assert mask.iou([], b, crowd) == [] == reference.iou([], b, crowd)


def test_masks_of_different_size_have_no_iou() -> None:
    masks = [reference.encode(np.asfortranarray(np.ones(shape, np.uint8))) for shape in ((3, 4), (4, 3))]
    assert np.array_equal(mask.iou(masks[:1], masks[1:], [0]), reference.iou(masks[:1], masks[1:], [0]))


def boundary(pixels: Any, ratio: float) -> Any:
    """As the paper's own program makes it: what erosion by a share of the diagonal takes away (Cheng et al. 2021)."""
    import cv2

    height, width = pixels.shape
    steps = max(1, round(ratio * math.sqrt(height**2 + width**2)))
    padded = cv2.copyMakeBorder(pixels, 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=0)
    eroded = cv2.erode(padded, np.ones((3, 3), np.uint8), iterations=steps)
    return pixels - eroded[1:-1, 1:-1]


def blobs(rng: np.random.Generator, height: int, width: int) -> Any:
    import cv2

    field = cv2.GaussianBlur(rng.random((height, width)), (0, 0), float(rng.uniform(1, 9)))
    return np.asfortranarray((field > np.quantile(field, rng.uniform(0.1, 0.9))).astype(np.uint8))


def test_boundaries_are_those_of_an_erosion() -> None:
    rng = np.random.default_rng(8)
    for _ in range(300):
        pixels = blobs(rng, int(rng.integers(1, 200)), int(rng.integers(1, 200)))
        ratio = float(rng.choice([0.005, 0.02, 0.1, 0.3]))
        result = mask.decode(_native.mask_boundary(mask.encode(pixels), ratio))
        assert np.array_equal(result, boundary(pixels, ratio))


def test_boundary_iou_is_the_lesser_of_both() -> None:
    rng = np.random.default_rng(9)
    for _ in range(60):
        sides = [np.stack([blobs(rng, 70, 90) for _ in range(3)], axis=2) for _ in "ab"]
        edges = [np.stack([boundary(side[:, :, i], 0.02) for i in range(3)], axis=2) for side in sides]
        crowd = rng.integers(0, 2, 3)
        whole, edge = (
            reference.iou(*[reference.encode(np.asfortranarray(p)) for p in pair], crowd.tolist())
            for pair in (sides, edges)
        )
        packed = [reference.encode(np.asfortranarray(p)) for p in sides]
        overlaps = _native.mask_iou(*packed, crowd.astype(np.uint8), 0.02)
        assert np.array_equal(overlaps, np.minimum(whole, edge))


GOOD = reference.encode(np.asfortranarray(np.tri(9, 9, dtype=np.uint8)))
BROKEN: dict[str, tuple[Any, str]] = {
    "too short": ({"size": [9, 9], "counts": GOOD["counts"][:-2]}, "add up to"),
    "too long": ({"size": [9, 9], "counts": GOOD["counts"] + b"11"}, "add up to"),
    "cut in a number": ({"size": [9, 9], "counts": b"o"}, "in the middle of a number"),
    "a foreign character": ({"size": [9, 9], "counts": b"\x01"}, "character"),
    "text beyond ASCII": ({"size": [9, 9], "counts": "é"}, "character"),
    "a lone surrogate": ({"size": [9, 9], "counts": "\ud800"}, "character"),
    "beyond 32 bits": ({"size": [9, 9], "counts": b"oooooooooooo0"}, "32 bits"),
    "a negative run": ({"size": [9, 9], "counts": b"O"}, "-1 pixels"),
    "a huge size": ({"size": [100000, 100000], "counts": GOOD["counts"]}, "too large"),
    "a size beyond 64 bits": ({"size": [1e300, 1e300], "counts": b""}, "whole"),
    "a negative size": ({"size": [-9, 9], "counts": GOOD["counts"]}, "negative"),
    "a size that is nan": ({"size": [float("nan"), 9], "counts": GOOD["counts"]}, "whole"),
    "a size of one": ({"size": [9], "counts": GOOD["counts"]}, "1 number, not 2"),
    "a size that is a text": ({"size": "99", "counts": GOOD["counts"]}, "not a list of numbers"),
    "no size": ({"counts": GOOD["counts"]}, "lacks 'size'"),
    "no counts": ({"size": [9, 9]}, "lacks 'counts'"),
    "counts that are a number": ({"size": [9, 9], "counts": 5}, "neither a text nor a list"),
    "a count that is nan": ({"size": [9, 9], "counts": [float("nan")]}, "whole number"),
    "a count below zero": ({"size": [9, 9], "counts": [-1, 82]}, "whole number"),
    "a count that is a text": ({"size": [9, 9], "counts": ["a"]}, "not a number"),
    "counts that do not add up": ({"size": [9, 9], "counts": [80]}, "80 pixels, the size 9 x 9 has 81"),
    "no dict": ([1, 2, 3], "dict"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_mask_is_an_error(case: str) -> None:
    broken, part = BROKEN[case]
    for act in (
        lambda m: mask.decode([m]),
        lambda m: mask.area([m]),
        lambda m: mask.toBbox([m]),
        lambda m: mask.merge([m, GOOD]),
    ):
        with pytest.raises(sy.InputError, match=part):
            act(broken)
    if isinstance(broken, dict):
        with pytest.raises(sy.InputError, match=part):
            mask.iou([broken], [GOOD], [0])


ODD: dict[str, tuple[Any, str]] = {
    "two points": ([[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0]], "boxes"),
    "an odd number": ([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]], "7 numbers"),
    "nothing": ([[]], "points"),
    "nan": ([[1.0, 2.0, 3.0, 4.0, float("nan"), 6.0]], "not finite"),
    "infinite": ([[1.0, 2.0, 3.0, 4.0, float("inf"), 6.0]], "not finite"),
    "far away": ([[1.0, 2.0, 3.0, 4.0, 1e300, 6.0]], "beyond 2e8"),
    "a text": ([["a", "b", "c", "d", "e", "f"]], "not a number"),
}  # fmt: skip


@pytest.mark.parametrize("case", ODD)
def test_an_odd_polygon_is_an_error(case: str) -> None:
    polygons, part = ODD[case]
    with pytest.raises(sy.InputError, match=part):
        mask.frPyObjects(polygons, 20, 20)


def test_polygons_far_outside_and_wide_images_cost_little() -> None:
    """The reference walks such an outline in steps of a fifth of a pixel."""
    far = [[-1e8, -1e8, 1e8, -1e8, 1e8, 1e8, -1e8, 1e8]]
    assert mask.area(mask.frPyObjects(far, 20, 30)).tolist() == [600]
    assert mask.area(mask.frPyObjects([[0.0, 0.0, 2e6, 0.0, 2e6, 2.0, 0.0, 2.0]], 2, 2_000_000)).tolist() == [4_000_000]


def test_pixels_must_be_bytes() -> None:
    with pytest.raises(sy.InputError, match="float64"):
        mask.encode(np.ones((3, 3)))
    assert mask.encode(np.ones((3, 3), dtype=bool)) == mask.encode(np.ones((3, 3), dtype=np.uint8))


def test_changed_texts_never_crash() -> None:
    rng = random.Random(1)
    text = reference.encode(np.asfortranarray((np.random.default_rng(0).random((40, 40)) < 0.3).astype(np.uint8)))[
        "counts"
    ]
    good = 0
    for _ in range(5000):
        data = bytearray(text)
        for _ in range(rng.choice([0, 1, 1, 3])):
            place = rng.randrange(len(data))
            if rng.random() < 0.5:
                data[place] = rng.randrange(256)
            else:
                del data[place : place + rng.randrange(4)]
        size = [rng.choice([40, 40, 40, 0, 1, 1 << 20]), 40]
        try:
            pixels = mask.decode({"size": size, "counts": bytes(data)})
        except sy.InputError:
            continue
        good += 1
        assert pixels.shape == (40, 40)
        assert mask.area({"size": size, "counts": bytes(data)}) == pixels.sum()
    assert good > 300


def test_similarity_of_keypoints_is_the_references() -> None:
    """OKS by the text of its definition, over truths with and without visible points."""
    rng = np.random.default_rng(10)
    sigmas = rng.uniform(0.02, 0.12, 17)
    truth, predicted = (rng.uniform(0, 100, (40, 51)) for _ in "ab")
    truth[:, 2::3] = rng.integers(0, 3, (40, 17))
    truth[:5, 2::3] = 0
    box, area = rng.uniform(1, 50, (40, 4)), rng.uniform(10, 5000, 40)
    expected = np.empty((40, 40))
    for j in range(40):
        seen = truth[j, 2::3] > 0
        x0, x1 = box[j, 0] - box[j, 2], box[j, 0] + 2 * box[j, 2]
        y0, y1 = box[j, 1] - box[j, 3], box[j, 1] + 2 * box[j, 3]
        for i in range(40):
            x, y = predicted[i, 0::3], predicted[i, 1::3]
            if seen.any():
                squared = (x - truth[j, 0::3]) ** 2 + (y - truth[j, 1::3]) ** 2
            else:
                squared = (np.clip(x0 - x, 0, None) + np.clip(x - x1, 0, None)) ** 2
                squared = squared + (np.clip(y0 - y, 0, None) + np.clip(y - y1, 0, None)) ** 2
            terms = np.exp(-squared / (2 * sigmas) ** 2 / (2 * area[j]))
            expected[i, j] = terms[seen].mean() if seen.any() else terms.mean()
    np.testing.assert_allclose(_native.oks(predicted, truth, box, area, sigmas), expected, rtol=1e-12, atol=1e-300)


def test_similarity_of_keypoints_is_the_drop_ins_within_ulps() -> None:
    """The task takes exp from the C library, the drop-in from NumPy: each within an ulp of the true one, or two.

    A mean of positive numbers is off by no more than its terms are, and by the rounding of a sum of 17 in eight lanes (seven
    roundings of half an ulp at most) and of the quotient. 8 ulp bound it all; below 1e-300 numbers have fewer bits.
    """
    rng = np.random.default_rng(11)
    truth = rng.uniform(0, 100, (30, 51))
    truth[:, 2::3] = rng.integers(0, 3, (30, 17))
    truth[:4, 2::3] = 0
    predicted = truth + rng.normal(0, 3, truth.shape)
    box, area, sigmas = rng.uniform(1, 50, (30, 4)), rng.uniform(10, 5000, 30), np.array(BODY)
    ours, theirs = _native.oks(predicted, truth, box, area, sigmas), oks_table(predicted, truth, box, area, sigmas)
    assert ((theirs > 0.1) & (theirs < 0.9)).sum() > 20
    np.testing.assert_allclose(ours, theirs, rtol=8 * 2.0**-52, atol=1e-300)


@pytest.mark.parametrize("kind", [np.float64, np.int16])
@pytest.mark.parametrize(
    ("flag", "all_values", "kept_values", "kept_pairs"),
    [(2, [-0.25, -2500.0, -1.44], [-0.25], [0]), (0, [-0.0, -2444.32, -0.64], [-0.0, -0.64], [0, 2])],
)
def test_exponents_of_pairs_by_hand(kind: Any, flag: int, all_values: Any, kept_values: Any, kept_pairs: Any) -> None:
    """A sigma of 0.5 and an area of 50 make (dx² + dy²) / 100. exp(-1.44) is 0.24 and exp(-0.64) 0.53.

    Without a labelled point the truth is its box with as much again on each side: from -2 to 4.
    """
    truth, box = np.array([[0, 0, flag]], dtype=kind), np.array([[0.0, 0.0, 2.0, 2.0]])
    detected = np.array([[3.0, 4.0], [300.0, 400.0], [0.0, 12.0]])
    rows = np.arange(3, dtype=np.int32), np.zeros(1, np.int32)
    pairs = np.array([0, 3]), np.array([0, 1]), *rows, detected, truth, box, np.array([50.0]), np.array([0.5])
    values, begin, place = _native.oks_exponents(*pairs, -np.inf, 0, 1)
    assert values.tolist() == pytest.approx(all_values, rel=1e-15)
    assert (begin.tolist(), place.tolist()) == ([0, 1, 2, 3], [0, 1, 2])
    values, begin, place = _native.oks_exponents(*pairs, 0.5, 0, 1)
    assert values.tolist() == pytest.approx(kept_values, rel=1e-15)
    assert (begin.tolist(), place.tolist()) == (list(range(len(kept_values) + 1)), kept_pairs)


def test_means_of_pairs_by_hand() -> None:
    assert _native.oks_means(np.array([0.25, 0.75, 0.5]), np.array([0, 2, 3])).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("bad", ["nan", "far", "short", "sigma"])
def test_bad_keypoints_are_refused(bad: str) -> None:
    points, box, area, sigmas = np.ones((2, 6)), np.ones((2, 4)), np.ones(2), np.ones(2)
    if bad in ("nan", "far"):
        points[0, 0] = np.nan if bad == "nan" else 1e300
    elif bad == "short":
        points = np.ones((2, 5))
    else:
        sigmas[1] = 0
    with pytest.raises(ValueError, match=r"finite|sigma"):
        _native.oks(points, points, box, area, sigmas)
