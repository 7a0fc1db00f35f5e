"""Panoptic segments by hand: how they are read, which fit each other, their qualities, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.asked import pairs_of, refusal, values_of
from support.refusal import refuses

import steelyard as sy
from steelyard.core import catalogue
from steelyard.core.metadata import Axis
from steelyard.core.plan import POINT, UNITS
from steelyard.core.records import Records
from steelyard.core.state import State
from steelyard.tasks.panoptic.quality import SegmentCounts, StuffOverlaps
from steelyard.tasks.panoptic.segments import Segment, read_segments, row_segments

nan = np.nan
NAMES = {1: ("cat", 1), 2: ("dog", 1), 3: ("sky", 0), 4: ("grass", 0)}


def segment(number: int, category: int, **more: Any) -> dict[str, Any]:
    name, thing = NAMES[category]
    return {"id": number, "category_id": category, "name": name, "isthing": thing, **more}


def side(rows: list[Any], segments: list[Any]) -> dict[str, Any]:
    """Images of one side, each a row of pixels or several."""
    return {"image": list(range(len(rows))), "map": [np.atleast_2d(row) for row in rows], "segments": segments}


# A cat is found with IoU 3/4, another is missed, a dog is made up, the sky has 4 of 5 pixels, and the grass is missed.
TRUTH = side([[1, 1, 1, 1, 2, 2, 3, 3, 3, 3, 4, 4]], [[segment(1, 1), segment(2, 1), segment(3, 3), segment(4, 4)]])
FOUND = side([[1, 1, 1, 0, 6, 6, 3, 3, 3, 3, 3, 0]], [[segment(1, 1), segment(6, 2), segment(3, 3)]])


def by_unit(pairs: Any, need: Any) -> Any:
    return State.of(pairs, {need: None}).totals(UNITS)[need]


def test_counts_of_segments() -> None:
    """The sum of overlaps, pairs, false and missed ones, things and stuff."""
    pairs = pairs_of("panoptic", TRUTH, FOUND)
    assert pairs.metadata.axes == {"class": Axis((1, 2, 3, 4), ("cat", "dog", "sky", "grass"))}
    assert pairs.things == {1, 2}
    np.testing.assert_allclose(
        by_unit(pairs, SegmentCounts())[0],
        [[3 / 4, 1, 0, 1, 2, 0], [0, 0, 1, 0, 1, 0], [4 / 5, 1, 0, 0, 0, 1], [0, 0, 0, 1, 0, 1]],
    )
    np.testing.assert_allclose(
        by_unit(pairs, SegmentCounts(0.75))[0],
        [[0, 0, 1, 2, 3, 0], [0, 0, 1, 0, 1, 0], [4 / 5, 1, 0, 0, 0, 1], [0, 0, 0, 1, 0, 1]],
    )
    np.testing.assert_allclose(by_unit(pairs, StuffOverlaps())[0], [[0, 0], [0, 0], [4 / 5, 1], [0, 1]])
    fits = pairs.fits
    assert fits.best.tolist() == [3 / 4, 0, 4 / 5, 0]
    assert (fits.partner.tolist(), fits.taken.tolist(), fits.excused.tolist()) == ([0, -1, 2, -1], [1, 0, 1], [0, 0, 0])


def test_qualities() -> None:
    cat = 0.75 / 1.5
    asked = {
        "pq": (cat + 0 + 0.8 + 0) / 4, "sq": (0.75 + 0 + 0.8 + 0) / 4, "rq": (1 / 1.5 + 0 + 1 + 0) / 4,
        "pq(of=things)": cat / 2, "pq(of=stuff)": 0.4, "sq(of=things)": 0.375, "sq(of=stuff)": 0.4, "rq(of=things)": 1 / 3,
        "rq(of=stuff)": 0.5, "pq(label=cat)": cat, "pq(label=1)": cat, "sq(label=dog)": 0, "rq(label=grass)": 0,
        "sq(matched=true)": (0.75 + 0.8) / 2, "sq(label=dog, matched=true)": nan, "pq(iou=0.75)": 0.8 / 4,
        "rq(iou=0.8)": 0, "pq_dagger": (cat + 0 + 0.8 + 0) / 4,
    }  # fmt: skip
    shown = values_of("panoptic", TRUTH, FOUND, list(asked))
    assert shown == {name: pytest.approx(value, nan_ok=True) for name, value in asked.items()}
    each = values_of("panoptic", TRUTH, FOUND, ["rq(of=each)"])
    assert each == {
        "rq(label=cat)": pytest.approx(2 / 3), "rq(label=dog)": 0, "rq(label=sky)": 1, "rq(label=grass)": 0,
    }  # fmt: skip
    report = sy.evaluate("panoptic", TRUTH, FOUND, confidence=None)
    assert list(report.scores) == ["pq", "sq", "rq", "pq(of=things)", "pq(of=stuff)"]


def test_several_images_are_added() -> None:
    """A cat is right in one image and missed in the next: 1 / 1.5; without a prediction all of it is missed."""
    truth = side([[1, 1], [7, 7]], [[segment(1, 1)], [segment(7, 1)]])
    predicted = side([[5, 5], [0, 0]], [[segment(5, 1)], []])
    assert values_of("panoptic", truth, predicted, ["pq"]) == {"pq": pytest.approx(1 / 1.5)}
    missing = {name: values[:1] for name, values in predicted.items()}
    assert values_of("panoptic", truth, missing, ["pq", "pq_dagger"], missing="worst") == {
        "pq": pytest.approx(1 / 1.5), "pq_dagger": pytest.approx(1 / 1.5),
    }  # fmt: skip
    weighed = {**truth, "sample_weight": [1.0, 3.0]}
    assert values_of("panoptic", weighed, predicted, ["pq"]) == {"pq": pytest.approx(1 / (1 + 0.5 * 3))}


def test_stuff_that_is_made_up_is_free_in_the_dagger_alone() -> None:
    predicted = side([[3, 3, 0]], [[segment(3, 3)]])
    truth = side([[1, 1, 1]], [[segment(1, 1)]])
    assert values_of("panoptic", truth, predicted, ["pq", "pq_dagger"]) == {"pq": 0, "pq_dagger": 0}
    same = side([[1, 3, 3]], [[segment(1, 1), segment(3, 3)]])
    only = side([[1, 0, 0]], [[segment(1, 1)]])
    assert values_of("panoptic", only, same, ["pq", "pq_dagger"]) == {"pq": 1, "pq_dagger": 1}  # void excuses the sky
    cat = side([[1, 1, 1]], [[segment(1, 1)]])
    part = side([[1, 1, 3]], [[segment(1, 1), segment(3, 3)]])
    assert values_of("panoptic", cat, part, ["pq", "pq_dagger"]) == {
        "pq": pytest.approx((2 / 3 + 0) / 2), "pq_dagger": pytest.approx(2 / 3),
    }  # fmt: skip


def excused(
    truth: list[int], predicted: list[int], crowd: list[int], crowds: str = "all"
) -> tuple[list[bool], list[float]]:
    """Predictions that count neither way, and the best overlap of true segments: all are cats, some are crowds."""
    true = [segment(number, 1, iscrowd=int(number in crowd)) for number in sorted(set(truth) - {0})]
    made = [segment(number, 1) for number in sorted(set(predicted) - {0})]
    pairs = pairs_of("panoptic", side([truth], [true]), side([predicted], [made]), crowds=crowds)
    return pairs.fits.excused.tolist(), pairs.fits.best.tolist()


def test_what_is_excused() -> None:
    """More than half must lie on void, or on crowds of the class: 2 of 4 is not enough, 3 of 4 is."""
    assert excused([1, 1, 0, 0, 0], [5, 5, 5, 5, 0], []) == ([False], [pytest.approx(2 / 2)])
    assert excused([1, 0, 0, 0, 0], [5, 5, 5, 5, 0], []) == ([True], [1])
    assert excused([1, 1, 2, 2, 0], [0, 5, 5, 5, 0], [2]) == ([True], [pytest.approx(1 / 4), 0])
    assert excused([1, 1, 2, 2, 0], [5, 5, 5, 5, 0], [2]) == ([False], [pytest.approx(2 / 4), 0])
    assert excused([1, 1, 2, 0, 0], [0, 5, 5, 5, 0], [2]) == ([True], [pytest.approx(1 / 3), 0])
    # Two crowds of one class share a prediction: together they excuse it, the last alone does not.
    assert excused([1, 2, 3, 3], [5, 5, 5, 0], [1, 2]) == ([True], [0, 0, pytest.approx(1 / 4)])
    assert excused([1, 2, 3, 3], [5, 5, 5, 0], [1, 2], "last") == ([False], [0, 0, pytest.approx(1 / 4)])
    assert excused([1, 2, 2, 3], [0, 5, 5, 5], [1, 2], "last") == ([True], [0, 0, pytest.approx(1 / 3)])


def test_a_crowd_of_another_class_excuses_nothing() -> None:
    truth = side([[1, 1, 1, 1]], [[segment(1, 2, iscrowd=1)]])
    predicted = side([[5, 5, 5, 0]], [[segment(5, 1)]])
    assert pairs_of("panoptic", truth, predicted).fits.excused.tolist() == [False]
    shown = values_of("panoptic", truth, predicted, ["pq(label=cat)", "pq(label=dog)"])
    assert shown == {"pq(label=cat)": 0, "pq(label=dog)": pytest.approx(nan, nan_ok=True)}


def test_a_pair_that_void_would_excuse_counts_at_its_overlap_alone() -> None:
    """3 of its 5 pixels lie on void; of the rest 2 of 2 are right. Asked for more than that overlap, it is not a false one."""
    truth, predicted = (
        side([[1, 1, 1, 0, 0, 0, 0, 0]], [[segment(1, 1)]]),
        side([[5, 5, 0, 5, 5, 5, 0, 0]], [[segment(5, 1)]]),
    )
    shown = by_unit(pairs_of("panoptic", truth, predicted), SegmentCounts())[0]
    np.testing.assert_allclose(shown, [[2 / 3, 1, 0, 0, 1, 0]])
    strict = by_unit(pairs_of("panoptic", truth, predicted), SegmentCounts(0.75))[0]
    np.testing.assert_allclose(strict, [[0, 0, 0, 1, 1, 0]])


def test_overlaps_of_boundaries() -> None:
    """A square of 5 moved by one: 20 of 30 pixels, and 8 of 24 of its ring; all of the rest lies at an edge: 19 of 29."""
    grids = np.full((2, 1, 7, 7), 2)
    grids[0, 0, 1:6, 1:6] = grids[1, 0, 1:6, 2:7] = 1
    segments = [[segment(1, 1), segment(2, 3)]]
    truth, predicted = (side(list(grid), segments) for grid in grids)
    shown = values_of("panoptic", truth, predicted, ["pq", "pq(overlap=boundary)", "rq(overlap=boundary)"])
    assert list(shown.values()) == pytest.approx([(20 / 30 + 19 / 29) / 2, (19 / 29) / 2, 1 / 2])
    pairs = pairs_of("panoptic", truth, predicted)
    assert pairs.overlap_fits(0.02).best.tolist() == pytest.approx([8 / 24, 19 / 29])
    assert pairs.overlap_fits(0.2).best.tolist() == pytest.approx([18 / 30, 19 / 29])
    away = side([np.where(grids[0, 0] == 1, 9, 2)], [[segment(9, 2), segment(2, 3)]])
    assert pairs_of("panoptic", truth, away).overlap_fits(0.02).best.tolist() == [0, 1]


def test_areas_of_the_json() -> None:
    """4 pixels that the JSON says are 6: a prediction of 4 of them has 4 of 6."""
    truth, predicted = side([[1, 1, 1, 1]], [[segment(1, 1, area=6)]]), side([[1, 1, 1, 1]], [[segment(1, 1)]])
    assert values_of("panoptic", truth, predicted, ["pq"], options={"areas": "json"}) == {"pq": pytest.approx(4 / 6)}
    with refuses("E-shape-mismatch", "segment 1", "area", "6", "4", "row 0", "truth, row 0"):
        values_of("panoptic", truth, predicted, ["pq"])  # fmt: skip
    assert values_of("panoptic", predicted, truth, ["pq"]) == {"pq": 1}  # areas of predictions are not looked at


CAT = [[segment(1, 1)]]
LARGE = np.zeros((40, 40), dtype=int)
UNFIT: list[tuple[Any, Any, tuple[str, str, str]]] = [
    (
        side([[1, 7, 7]], CAT), side([[1, 1, 1]], CAT),
        ("E-unknown-name", "id 7", "2", "segments_info", "row 0"),
    ),
    (
        side([[1, 1], [1, 1]], CAT * 2), side([[1, 1], [1, 8]], CAT * 2),
        ("E-unknown-name", "id 8", "1", "segments_info", "row 1"),
    ),
    (
        side([LARGE + 1], CAT), side([LARGE + 8], [[]]),
        ("E-unknown-name", "id 8", "1,600", "segments_info", "row 0"),
    ),
    (
        side([[1, 1]], [[segment(1, 1), segment(2, 2)]]), side([[1, 1]], CAT),
        ("E-unknown-name", "segment 2", "row 0"),
    ),
    (
        side([[1, 1]], CAT), side([[0, 0]], CAT),
        ("E-unknown-name", "segment 1", "row 0"),
    ),
    (
        side([LARGE + 1], [[segment(1, 1, area=0)]]), side([LARGE + 1], CAT),
        ("E-shape-mismatch", "segment 1", "area", "0", "1,600", "row 0"),
    ),
    (
        side([[1, 1, 1]], CAT), side([[1, 1]], CAT),
        ("E-shape-mismatch", "3×1", "2×1", "row 0"),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("truth", "predicted", "said"), UNFIT, ids=[case[2][0] for case in UNFIT])
def test_maps_and_segments_that_do_not_fit(truth: Any, predicted: Any, said: tuple[str, str, str]) -> None:
    with refuses(*said):
        _ = pairs_of("panoptic", truth, predicted).shared_pixels


def test_one_category_of_two_kinds() -> None:
    other = {**segment(1, 1), "name": "lion"}
    truth, predicted = side([[1, 1]], CAT), side([[1, 1]], [[other]])
    with refuses("E-conflict", "category 1", "'lion'", "'cat'", "predictions"):
        _ = pairs_of("panoptic", truth, predicted).metadata
    stuff = side([[1, 1]], [[{**segment(1, 1), "isthing": 0}]])
    with refuses("E-conflict", "category 1", "'cat'", "predictions"):
        _ = (pairs_of("panoptic", truth, stuff).metadata)  # fmt: skip
    both = side([[1, 1], [1, 1]], [*CAT, [other]])
    with refuses("E-conflict", "category 1", "'lion'", "'cat'", "row 1", "truth, row 1"):
        _ = pairs_of("panoptic", both, both).metadata


def test_a_map_of_three_axes() -> None:
    solid = {"case": ["i0"], "map": np.ones((1, 2, 2, 2), dtype=np.uint8)}
    packed = pairs_of("volumes", solid, solid).truth["map"]
    pairs = pairs_of("panoptic", TRUTH, FOUND)
    records = Records("truth", {"image": np.array(["i0"], dtype=object), "map": packed})
    with refuses("E-shape-mismatch", "3", "row 0"):
        replace(pairs, truth=records).open_pair(0)


def listed(*rows: Any) -> Records:
    texts = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    return Records("s", {"segments": np.array(texts, dtype=object)})


LAST = (1 << 24) - 1


def test_segments_of_rows() -> None:
    rows = [
        [{"id": 9, "category_id": 4, "iscrowd": 1, "area": 7}, {"id": 2, "category_id": 5, "name": "x", "isthing": 0}], "",
        [{"id": LAST, "category_id": 4}],
    ]  # fmt: skip
    for records in (listed(*rows), listed(rows[0], "", [{"id": str(LAST), "category_id": "4"}])):
        read = read_segments(records, np.array([2, -1, 0, 1]))
        assert [column.tolist() for column in (read.pair, read.number, read.category, read.crowd, read.area)] == [
            [0, 2, 2], [LAST, 9, 2], [4, 4, 5], [False, True, False], [-1, 7, -1],
        ]  # fmt: skip
        assert read.kinds == {4: (None, None), 5: ("x", False)}
        assert len(read) == 3
        assert read.find(np.array([0, 2, 2, 1, 2, 2]), np.array([LAST, 2, 9, 9, 3, LAST])).tolist() == [
            0,
            2,
            1,
            -1,
            -1,
            -1,
        ]
        # An id beyond 24 bits is none, and not one of the next image.
        assert read.find(np.array([1]), np.array([9 | 1 << 24])).tolist() == [-1]
    none = read_segments(listed("[]"), np.array([0, -1]))
    assert (len(none), none.find(np.array([0, 1]), np.array([1, 2])).tolist()) == (0, [-1, -1])
    assert row_segments(listed(*rows), 0) == {9: Segment(4, None, True, None, 7), 2: Segment(5, "x", False, False, -1)}
    for large, category in (((1 << 62) - 1, 5), (-5, -5)):
        row = listed([{"id": 1, "category_id": category, "area": large}])
        assert row_segments(row, 0) == {1: Segment(category, None, False, None, large)}
    for category, area in ((1 << 62, 1), (-(1 << 62), 1), (1, 1 << 62)):
        row = listed([{"id": 1, "category_id": category, "area": area}])
        with refuses("E-out-of-range", "segment 1", "area"):
            row_segments(row, 0)


LISTS: list[tuple[Any, tuple[str, str]]] = [
    ([{"id": 7, "category_id": 1}] * 2, ("segment 7 is listed twice", "Give each segment an id of its own.")),
    ([{"id": 0, "category_id": 1}], ("segment 0 is not an id from 1 to 2²⁴ - 1", "Give each segment an id of its own.")),
    (
        [{"id": 1 << 24, "category_id": 1}],
        ("segment 16777216 is not an id from 1 to 2²⁴ - 1", "Give each segment an id of its own."),
    ),
    ([{"id": 1, "category_id": 10**30}], ("segment 1 has a category or an area that is too large", "Both must be below 2⁶².")),
    ([{"id": 1, "category_id": 1, "area": 10**30}], ("segment 1 has a category or an area that is too large", "Both must be below 2⁶².")),
    ([{"category_id": 1}], ("the key 'id' is missing", "Add it.")),
    ([{"id": 1}], ("the key 'category_id' is missing", "Add it.")),
    ([{"id": "x", "category_id": 1}], ("'id' is 'x'", "It must be a whole number.")),
    ([{"id": 1.5, "category_id": 1}], ("'id' is 1.5", "It must be a whole number.")),
    ([{"id": 1, "category_id": None}], ("'category_id' is null", "It must be a whole number.")),
    ([{"id": 1, "category_id": 1, "isthing": 2}], ("'isthing' is 2", "It must be 1 for a thing, 0 for stuff.")),
    (["car"], ("'car' where an object is expected", "It needs the key 'id'.")),
]  # fmt: skip


@pytest.mark.parametrize(("row", "said"), LISTS, ids=[case[1][0] for case in LISTS])
def test_lists_that_are_none(row: Any, said: tuple[str, str]) -> None:
    good = [{"id": 1, "category_id": 1}]
    assert refusal(read_segments, listed(good, row), np.array([0, 1])) == (said[0], "row 1", said[1])
    assert refusal(row_segments, listed(good, row), 1) == (said[0], "row 1", said[1])


REFUSED = {
    "pq(of=some)": ("metric 'pq': of cannot be some", "Choose one of: all, things, stuff, each."),
    "sq(overlap=box)": ("metric 'sq': overlap cannot be box", "Choose one of: mask, boundary."),
    "rq(iou=0.49)": ("metric 'rq': iou cannot be 0.49", "It must be a number from 0.5 to 1."),
    "pq(iou=1.01)": ("metric 'pq': iou cannot be 1.01", "It must be a number from 0.5 to 1."),
    "pq(label=cta)": ("there is no class 'cta'", "Did you mean 'cat'?"),
    "pq(label=9)": ("there is no class '9'", "Known: cat, dog, grass, sky."),
}


@pytest.mark.parametrize("spec", REFUSED)
def test_settings_that_are_refused(spec: str) -> None:
    what, remedy = REFUSED[spec]
    assert refusal(values_of, "panoptic", TRUTH, FOUND, [spec]) == (what, "", remedy)


def test_what_metrics_are_called_and_shown_by() -> None:
    named = {
        "pq": "Panoptic quality", "sq(of=things)": "Segmentation quality of things", "rq(of=stuff)": "Recognition quality of stuff",
        "pq(label=cat)": "Panoptic quality: cat", "pq(iou=0.75)": "Panoptic quality, IoU 0.75",
        "pq(of=things, iou=0.75, overlap=boundary)": "Panoptic quality of things, IoU 0.75, boundary", "pq_dagger": "PQ†",
    }  # fmt: skip
    assert {spec: catalogue.parse(spec, "panoptic").label for spec in named} == named
    shown = {cls.name: [str(one) for one in cls.examples()] for cls in catalogue.find_task("panoptic").metrics}
    assert shown == {
        "pq": ["pq", "pq(of=things)", "pq(of=stuff)", "pq(overlap=boundary)", "pq(iou=0.75)"],
        "sq": ["sq", "sq(of=things)", "sq(of=stuff)"], "rq": ["rq", "rq(of=things)", "rq(of=stuff)"], "pq_dagger": ["pq_dagger", "pq_dagger(classes=union)"],
    }  # fmt: skip


def test_a_class_that_a_slice_does_not_have() -> None:
    metric: Any = catalogue.parse("pq(label=zebra)", "panoptic")
    totals = State.of(pairs_of("panoptic", TRUTH, FOUND), {SegmentCounts(): None}).totals(POINT)
    assert np.isnan(totals.of(metric)).tolist() == [True]
    assert metric.excluded(totals) == (0, "")


def test_what_is_noted_and_left_out() -> None:
    """Dogs and grass have no pair, and dogs are never true; a category that is named and has no segment that counts is left out."""
    report = sy.evaluate(
        "panoptic", TRUTH, FOUND, ["sq", "sq(of=things)", "sq(matched=true)", "sq(label=dog)", "pq"], confidence=None
    )
    assert [list(report[spec].notes) for spec in report.scores] == [
        ["2 classes have no pair, which counts as 0 in sq.", "sq is of 4 classes; 1 of them has no truth and counts as 0: dog."],
        ["1 class has no pair, which counts as 0 in sq.", "sq(of=things) is of 2 classes; 1 of them has no truth and counts as 0: dog."],
        ["sq(matched=true) is of 2 classes; 1 has no truth: dog."],
        [],
        ["pq is of 4 classes; 1 of them has no truth and counts as 0: dog."],
    ]  # fmt: skip
    crowd = side([[1, 1, 2, 2]], [[segment(1, 1), segment(2, 2, iscrowd=1)]])
    predicted = side([[1, 1, 0, 0]], [[segment(1, 1)]])
    left = sy.evaluate("panoptic", crowd, predicted, ["pq", "sq", "pq(of=things)", "pq(label=cat)"], confidence=None)
    assert [(one.n_excluded, one.excluded) for one in left.scores.values()] == [
        (1, "classes that have no segment"), (1, "classes that have no segment"), (0, ""), (0, ""),
    ]  # fmt: skip
    assert list(left["sq"].notes) == ["sq is of 1 class; 1 has no truth: dog."]
    assert [score.value for score in left.scores.values()] == [1, 1, 1, 1]
