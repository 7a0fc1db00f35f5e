"""Rankings that come in parts, by falling score: every figure by hand, whatever the parts are."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from steelyard import _native

NAN = math.nan
EMPTY: Sequence[int] = ()

# Rows of labels by falling score, of which three are of the class; a positive and a negative share 0.6.
SCORE = np.array([0.9, 0.8, 0.7, 0.6, 0.6, 0.5])
POSITIVE = np.array([1, 0, 1, 1, 0, 0], np.uint8)
CUTS: list[Sequence[int]] = [EMPTY, (1,), (3,), (0, 1, 2, 3, 5, 5), (5,)]  # never between equal scores
LABELS = {
    0: (1 / 1 + 2 / 3 + 3 / 5) / 3,  # average precision: what it is where each positive is found, a tie as one
    1: (3 + 2 + 1.5) / 9,  # of the pairs of a positive and a negative those in order, a tie as half
    2: 2 * 3 / (5 + 3),  # the best F1, at 0.6
    3: 0.6,
    4: 2 / 3,  # found before more than half of the negatives are taken for positive
}


def parts(cuts: Sequence[int], *columns: np.ndarray[Any, Any]) -> list[tuple[np.ndarray[Any, Any], ...]]:
    places = [0, *cuts, len(columns[0])]
    return [tuple(column[a:b] for column in columns) for a, b in itertools.pairwise(places)]


@pytest.mark.parametrize("cuts", CUTS)
@pytest.mark.parametrize("figure", LABELS)
def test_labels(figure: int, cuts: Sequence[int]) -> None:
    stream = _native.LabelStream(figure, 0.5, 3, 3)
    for part in parts(cuts, SCORE, POSITIVE):
        stream.feed(*part)
    assert stream.result() == pytest.approx(LABELS[figure], rel=1e-14)


@pytest.mark.parametrize(
    ("positive", "undefined"), [((0, 0), {0, 1, 2, 3, 4}), ((1, 1), {1, 4}), ((), {0, 1, 2, 3, 4})]
)
def test_labels_of_one_kind(positive: Sequence[int], undefined: set[int]) -> None:
    column = np.array(positive, np.uint8)
    met = set()
    for figure in LABELS:
        stream = _native.LabelStream(figure, 0.5, int(column.sum()), int(len(column) - column.sum()))
        stream.feed(SCORE[: len(column)], column)
        if math.isnan(stream.result()):
            met.add(figure)
    assert met == undefined


# Detections of a class with four objects in two images: hit, miss, hit, hit, one that does not count, and in front of
# them one more than an image may have.
BOX_SCORE = np.array([0.95, 0.9, 0.8, 0.7, 0.6, 0.5])
RANK = np.array([5, 0, 0, 1, 2, 3], np.uint16)
HIT, IGNORED = (np.array(bits, np.uint32) for bits in ([1, 1, 0, 1, 1, 0], [0, 0, 0, 0, 0, 1]))
COCO, GRID, AREA, STEP, MISS, BEST, RECALL, CURVES = _native.BoxFigure
TEN = np.linspace(0, 1, 11)
# Precision is 1, 2/3 and 3/4 at recalls of 1/4, 2/4 and 3/4; from the right no lower than 3/4.
BOXES = {
    COCO: ((3 * 1 + 5 * 0.75) / 11, 0.75),
    GRID: ((3 * 1 + 5 * 0.75) / 11, 0.75),
    AREA: (0.25 * 1 + 0.5 * 0.75, 0.75),
    STEP: ((1 + 2 / 3 + 3 / 4) / 4, 0.75),
    MISS: (0.25, 0.75),  # one false positive in two images, at which one object of four is missed
    BEST: (2 * 3 / (4 + 4), 0.6),  # and the score there
    RECALL: (0.0, 0.75),
}


def boxes(figure: Any, cuts: Sequence[int], objects: int = 4) -> Any:
    grid = np.array([0.5, 1.0]) if figure == MISS else TEN
    stream = _native.BoxStream(1, 5, figure, grid, objects, 2)
    for part in parts(cuts, BOX_SCORE, RANK, HIT, IGNORED):
        stream.feed(*part)
    return stream.result()


@pytest.mark.parametrize("cuts", CUTS)
@pytest.mark.parametrize("figure", BOXES)
def test_boxes(figure: Any, cuts: Sequence[int]) -> None:
    value, recall = boxes(figure, cuts)
    assert (value[0], recall[0]) == pytest.approx(BOXES[figure], rel=1e-14)


@pytest.mark.parametrize("cuts", CUTS)
def test_curves(cuts: Sequence[int]) -> None:
    """At recalls of 0 to 0.2, 0.3 to 0.5, 0.6 and 0.7, and above."""
    precision, recall, scores = boxes(CURVES, cuts)
    np.testing.assert_allclose(precision, [[1] * 3 + [0.75] * 5 + [0] * 3], rtol=1e-14)
    np.testing.assert_array_equal(scores, [[0.9] * 3 + [0.7] * 3 + [0.6] * 2 + [0] * 3])
    assert recall.tolist() == [0.75]


def test_boxes_without_an_object() -> None:
    for figure in (*BOXES, CURVES):
        assert all(np.isnan(column).all() for column in boxes(figure, EMPTY, objects=0))


@pytest.mark.parametrize("count", [-1, 0.5, 1e15, NAN])
def test_counts_that_are_none(count: float) -> None:
    for make in (
        lambda: _native.LabelStream(0, 0.5, count, 1),
        lambda: _native.LabelStream(0, 0.5, 1, count),
        lambda: _native.BoxStream(1, 5, COCO, TEN, count, 1),
        lambda: _native.BoxStream(1, 5, COCO, TEN, 1, count),
    ):
        with pytest.raises(ValueError, match="a count must be a whole number"):
            make()


def test_parts_that_do_not_fit() -> None:
    stream = _native.LabelStream(0, 0.5, 3, 3)
    stream.feed(SCORE[:2], POSITIVE[:2])
    for score, message in (
        ([0.5, NAN], "a score is not a number"),
        ([0.4, 0.5], "scores must fall"),
        ([0.8, 0.4], "must begin below the last score"),
        ([0.4], "columns differ in length"),
    ):
        with pytest.raises(ValueError, match=message):
            stream.feed(np.array(score), POSITIVE[:2])
    with pytest.raises(ValueError, match="the limit is not a number"):
        _native.LabelStream(0, NAN, 3, 3)
    box = _native.BoxStream(1, 5, COCO, TEN, 1, 1)
    for short in range(1, 4):
        columns = [
            column[:1] if place == short else column for place, column in enumerate((BOX_SCORE, RANK, HIT, IGNORED))
        ]
        with pytest.raises(ValueError, match="columns differ in length"):
            box.feed(*columns)
    for thresholds in (0, 33):
        with pytest.raises(ValueError, match="from 1 to 32 IoU thresholds"):
            _native.BoxStream(thresholds, 5, COCO, TEN, 1, 1)
