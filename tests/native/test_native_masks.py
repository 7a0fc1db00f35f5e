"""Masks and curves in the native core: every form, and what is refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_native_refusals import MASK, NAN, OBJECTS, PACKED, RULES, f64, i64, u8

from steelyard import _native
from steelyard.tasks.boxes.pairs import MatchRules


# Masks.
def copied(size: Any = (2, 2), counts: Any = (0, 4)) -> Any:
    return _native.mask_copy({"size": size, "counts": counts})


def test_masks_in_every_form() -> None:
    """Lists, tuples, texts and bytes; a run of no pixel joins its neighbours. "04" is a run of none and a run of four."""
    for size in ([2, 2], (2, 2)):
        for counts in ([0, 4], (0, 4), "04", b"04"):
            assert copied(size, counts) == {"size": [2, 2], "counts": b"04"}
    merged = _native.mask_merge(
        [{"size": [2, 2], "counts": [0, 1, 0, 3]}, {"size": [2, 2], "counts": [1, 0, 3]}], False
    )
    assert merged == {"size": [2, 2], "counts": b"04"}
    assert _native.mask_merge([MASK], True) == {"size": [2, 2], "counts": b"04"}
    nothing = {"size": [0, 0], "counts": [0]}
    assert _native.mask_merge([nothing, nothing], False) == {"size": [0, 0], "counts": b"0"}
    assert _native.mask_merge([], False)["size"] == [0, 0]
    assert _native.mask_decode([]).shape == (0, 0, 0)
    assert _native.mask_encode(np.zeros((0, 2, 1), np.uint8, order="F")) == [{"size": [0, 2], "counts": b"0"}]


@pytest.mark.parametrize(
    ("size", "counts", "message"),
    [
        ((2, 2), (0, 1.5, 2.5), "a count is not a whole number"),
        ((2, 2), (0, NAN), "a count is not a whole number"),
        ((2, 2), (0, 5e9), "a count is not a whole number"),
        ((2, 2), (-1, 5), "a count is not a whole number"),
        ((2, 2), None, "neither a text nor a list"),
        ((2, 2), "\ud800", "a character that is none of theirs"),
        ("22", (0, 4), "a mask's size is not a list of numbers"),
        ((2.5, 2), (0, 4), "a mask's size is not whole"),
        ((1 << 33, 1), (0, 4), "is too large"),
        ((1, 1 << 33), (0, 4), "is too large"),
        ((1 << 17, 1 << 17), (0, 4), "is too large"),
        ((-1, 2), (0, 4), "is negative"),
        ((2, -1), (0, 4), "is negative"),
        ((2, 2), (0, 3), "the counts add up to 3 pixels"),
    ],
)
def test_masks_that_are_none(size: Any, counts: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        copied(size, counts)


def test_masks_of_other_sizes_cannot_be_compared() -> None:
    """-1 says so. A mask without a pixel shares none."""
    wide, high, empty = ({"size": s, "counts": c} for s, c in (([2, 3], [0, 6]), ([3, 2], [0, 6]), ([2, 2], [4])))
    assert _native.mask_iou([MASK], [wide, high, MASK, empty], u8(0, 0, 0, 0)).tolist() == [[-1, -1, 1, 0]]
    begin = i64(0, 1), i64(0, 3)
    columns = _native.mask_column([MASK]), _native.mask_column([wide, high, empty])
    rows = np.arange(1, dtype=np.int32), np.arange(3, dtype=np.int32)
    assert _native.cell_mask_ious(*begin, *rows, *columns, u8(0, 0, 0)).tolist() == [-1, -1, 0]
    with pytest.raises(ValueError, match="masks of different size cannot be merged: 2 x 2 and 2 x 3"):
        _native.mask_merge([MASK, wide], False)
    with pytest.raises(ValueError, match="a mask is not packed"):
        _native.mask_sizes(["none"])
    with pytest.raises(ValueError, match="a mask is not packed"):
        _native.mask_sizes([b"short"])
    for ratio in (-0.5, 1.5):
        with pytest.raises(ValueError, match="from 0 to 1"):
            _native.mask_boundary(MASK, ratio)


def test_a_mask_has_the_size_of_its_image() -> None:
    assert _native.mask_pack(MASK, 2, 2) == _native.mask_pack(MASK) == PACKED
    for height, width in ((2, 3), (3, 2), (-1, 2), (2, -1)):
        with pytest.raises(ValueError, match="the mask's size is not that of its image"):
            _native.mask_pack(MASK, height, width)
    with pytest.raises(ValueError, match="masks of different size cannot be stacked"):
        _native.mask_decode([MASK, {"size": [2, 3], "counts": [0, 6]}])


CURVES: dict[str, Any] = {
    "order": i64(1, 0), "score": f64(0.5, 0.9), "hit": np.ones((1, 2), np.uint8), "ignored": np.zeros((1, 2), np.uint8),
    "positives": 2.0, "recalls": f64(0, 0.5, 1),
}  # fmt: skip


def test_curves_as_pycocotools_has_them() -> None:
    """Both rows are hits: precision is 1 up to the end, and the score that of the row that reaches a recall."""
    precision, recall, scores = _native.reference_curves(**CURVES)
    assert precision.tolist() == [[1, 1, 1]]
    assert recall.tolist() == [1]
    assert scores.tolist() == [[0.9, 0.9, 0.5]]


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"hit": np.ones((1, 3), np.uint8)}, "columns differ"), ({"ignored": np.ones((2, 2), np.uint8)}, "columns differ"),
        ({"ignored": np.ones((1, 3), np.uint8)}, "columns differ"), ({"positives": 0.0}, "there must be a truth"),
        ({"order": i64(0, 2)}, "a row is out of range"), ({"order": i64(-1, 0)}, "a row is out of range"),
    ],
)  # fmt: skip
def test_curves_that_do_not_fit(part: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _native.reference_curves(**{**CURVES, **part})


def changed(place: int, value: int) -> bytes:
    """The packed mask (height, width, area, left, top, right, low, counts) with another number at a place."""
    words = np.frombuffer(PACKED, np.uint32).copy()
    words[place] = value
    return words.tobytes()


def match_masks(truths: list[Any], detections: list[Any], area: Any, boundary: float) -> Any:
    objects = SimpleNamespace(**OBJECTS | {"shape": truths, "d_shape": detections, "d_area": area})
    return _native.masks_match(objects, MatchRules(**RULES), boundary)


INSIDE = "the extent of a packed mask is not inside it"


@pytest.mark.parametrize(
    ("packed", "message"),
    [
        ("text", "a mask is not packed"), (PACKED[:8], "broken"), (PACKED + b"\0", "broken"), (changed(2, 5), INSIDE),
        (changed(3, 3), INSIDE), (changed(4, 3), INSIDE), (changed(5, 3), INSIDE), (changed(6, 3), INSIDE),
        (changed(8, 3), "do not add up"), (changed(0, 0xFFFFFFFF), "too large"),
    ],
)  # fmt: skip
def test_packed_masks_that_are_broken(packed: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        match_masks([packed], [PACKED], f64(4), 0.5)


def test_masks_and_objects_are_as_many() -> None:
    for masks in (([], [PACKED], f64(4)), ([PACKED], [], f64(4)), ([PACKED], [PACKED], f64())):
        with pytest.raises(ValueError, match="one mask for each object"):
            match_masks(*masks, 0.0)
    for ratio in (-0.1, 1.1):
        with pytest.raises(ValueError, match="from 0 to 1"):
            match_masks([PACKED], [PACKED], f64(4), ratio)
