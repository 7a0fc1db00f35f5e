"""Walks along detections under rows of weights, by hand: FROC, MR-2, LRP and localisation calibration."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.scene_pairs import pairs_of
from test_metrics_box_curves import BLOCK, CAT, COW, FACTS, MISSES, rows

import steelyard as sy
from steelyard.core.ranking import Grouped, RankingBlock
from steelyard.core.statistic import SharedCache
from steelyard.core.weights import GivenRows, Role
from steelyard.tasks.boxes import along
from steelyard.tasks.boxes.along import Walk, class_means, from_zero
from steelyard.tasks.boxes.calibration import LocalisationGaps, LocatedShares, bin_codes
from steelyard.tasks.boxes.crowds import FirstMisses, JaccardParts, largest_matching
from steelyard.tasks.boxes.froc import FirstHits, FrocCurve
from steelyard.tasks.boxes.lrp import LeastLrp, Located
from steelyard.tasks.boxes.ranking import Detections
from steelyard.tasks.boxes.working import PointSearch, PooledPointSearch

nan = np.nan
OVERLAPS = [0.0, 0.8, 0.0, 0.7, 0.9, 0.0, 0.0, 0.0]


def located(overlap: list[float] = OVERLAPS) -> RankingBlock:
    """The same detections with the overlap of what they hit."""
    columns = {**BLOCK.events.columns, "overlap": np.array(overlap)}
    return RankingBlock("class", Grouped(BLOCK.events.begin, BLOCK.events.unit, columns), BLOCK.positives)


def close(values: Any, expected: Any) -> None:
    expected = np.array(expected, dtype=float)
    assert values.dtype == np.float64
    assert values.shape == expected.shape
    np.testing.assert_allclose(values, expected, atol=1e-12, rtol=0)


def test_walks(monkeypatch: pytest.MonkeyPatch) -> None:
    walk = Walk.of(BLOCK.one(CAT), 5)
    assert (walk.rows.tolist(), walk.unit.tolist()) == ([1, 2, 3], [0, 0, 1])
    assert (walk.hit.tolist(), walk.ends.tolist()) == ([True, False, True], [0, 1, 2])
    assert Walk.of(BLOCK.one(CAT), 5, 1).hit.tolist() == [True, False, False]
    assert Walk.of(BLOCK.one(CAT), 6, 1).hit.tolist() == [True, False, False, True]
    assert Walk.of(BLOCK.one(COW), 5).ends.tolist() == [1]  # one score
    assert Walk.of(BLOCK.some([]), 5).ends.tolist() == []
    for most in (1 << 22, 3, 6):
        monkeypatch.setattr(along, "MOST_CELLS", most)
        made = list(walk.steps(rows()))
        assert len(made) == {1 << 22: 1, 3: 3, 6: 2}[most]
        close(np.concatenate([part[0] for part in made]), [[1, 1, 1], [2, 2, 0], [0, 0, 1]])
        close(np.concatenate([part[1] for part in made]), [2, 2, 1])  # images
        close(np.concatenate([part[2] for part in made]), [3, 2, 2])  # objects
    close(from_zero(np.array([[1.0, 2], [3, 4]])), [[0, 1, 2], [0, 3, 4]])


def test_means_over_classes() -> None:
    parts = [np.array([[1.0, nan], [nan, nan]]), np.array([[4.0, 2.0], [nan, 3.0]])]
    close(class_means(((part,) for part in parts), 2), [[2.5, 2], [nan, 3]])
    close(class_means(iter([]), 3), [[nan, nan, nan]])


def test_froc() -> None:
    """Of cats: a hit, then a false one, then a hit. Half a false positive per image is one of two images."""
    curve = FrocCurve(FirstHits(0.5, "ignore", 5), (0.25, 0.5))
    close(curve.read(BLOCK, rows(), FACTS), [[1 / 6, 1 / 3], [0.5, 0.5], [0.5, 0.5]])
    close(curve.read_group(BLOCK.one(COW), rows())[0], np.full((3, 2), nan))


def test_froc_between_two_scores() -> None:
    """Two hits and two false ones of one score: half of them at one false positive, three quarters at one and a half."""
    columns = {
        "score": np.array([0.9, 0.5, 0.5, 0.5, 0.5]), "rank": np.zeros(5, np.uint16),
        "hit0": np.array([1, 1, 1, 0, 0], np.uint16), "ignored0": np.zeros(5, np.uint16),
    }  # fmt: skip
    unit = np.zeros(5, np.int32)
    positives = Grouped(np.array([0, 4]), np.zeros(4, np.int32), {"counted0": np.ones(4, np.uint8)})
    block = RankingBlock("class", Grouped(np.array([0, 5]), unit, columns), positives)
    curve = FrocCurve(FirstHits(0.5, "ignore", 5), (0.5, 1.0, 1.5, 2.0, 8.0))
    one = GivenRows(np.ones((1, 1)), Role.POINT)
    close(curve.read(block, one, FACTS), [[1.5 / 4, 2 / 4, 2.5 / 4, 3 / 4, 3 / 4]])


def test_first_misses() -> None:
    curve = FirstMisses(Detections(0.5, (0.0, 1e10), 100, "caltech"), 5)
    close(curve.read(BLOCK, rows(), FACTS), [[(MISSES[0] + 1) / 2], [0.5], [0.5]])
    close(curve.read_group(BLOCK.one(COW), rows())[0], [[nan]] * 3)


def test_least_lrp() -> None:
    """All of the cats: 0.2 and 0.3 off, one false, one missed. A dog is missed whatever is kept."""
    curve = LeastLrp(Located(0.5, 5))
    expected = [
        [(0.75 + 1) / 2, 0.25, 1 / 3, (1 / 3 + 1) / 2], [(0.4 + 1) / 2, 0.2, 0, 1 / 2], [0.8, 0.3, 0, 0.5],
    ]  # fmt: skip
    close(curve.read(located(), rows(), FACTS), expected)
    close(curve.read_group(located().one(COW), rows())[0], np.full((3, 4), nan))
    strict = LeastLrp(Located(0.7, 5)).read_group(located().one(CAT), rows())[0]
    close(strict[0], [(0.2 / 0.3 + 2) / 3, 0.2, 0, 2 / 3])  # what is off weighs more: the first alone is best
    assert Located(0.5, 5).columns == (
        {"score": "f", "rank": "u", "hit0": "u", "ignored0": "u", "overlap": "f"}, {"counted0": "u"},
    )  # fmt: skip


def test_gaps() -> None:
    """Scores 0.95, 0.85 and 0.75 of overlaps 0.8, 0 and 0.9: apart, or in one bin. A dog of score 0.55 hits nothing."""
    block = located([0.0, 0.8, 0.0, 0.9, 0.9, 0.0, 0.0, 0.0])
    for bins, cats in ((10, 0.15 + 0.85 + 0.15), (1, 0.85)):
        curve = LocalisationGaps(LocatedShares(0.5, 5), bins, "right")
        images = [[(cats / 3 + 0.55) / 2], [(0.15 + 0.85) / 2], [0.15]]
        close(curve.read(block, rows(), FACTS), images)
        close(curve.read_group(block.one(COW), rows())[0], [[nan]] * 3)
    assert bin_codes(np.array([0.0, 0.1, 0.25, 0.5, 1.0]), 4, "left").tolist() == [0, 0, 1, 2, 3]
    assert bin_codes(np.array([0.0, 0.1, 0.25, 0.5, 1.0]), 4, "right").tolist() == [0, 0, 0, 1, 3]


def test_points_that_are_sought() -> None:
    """Of cats, recall 1/3, 1/3, 2/3 with precision 1, 1/2, 2/3; of all together two of four with 2/3."""
    need = Detections(0.5, (0.0, 1e10), 100, "coco")
    for seeks, least, expected in (
        ("precision", 0.5, [[2 / 3, 0.75], [1, 0.95], [1, 0.75]]),
        ("precision", 0.7, [[nan, nan], [1, 0.95], [nan, nan]]),
        ("recall", 0.9, [[1 / 3, 0.95], [1, 0.95], [0.5, 0.75]]),
        ("recall", 0.6, [[2 / 3, 0.75], [1, 0.95], [0.5, 0.75]]),
    ):
        search = PointSearch(need, seeks, least, 5, 0, "cat")
        close(search.read(BLOCK, rows(), FACTS), expected)
        assert search.groups(FACTS) == [CAT]
    pooled = PooledPointSearch(need, "precision", 0.5, 5, 0)
    close(pooled.read(BLOCK, rows(), FACTS)[:2], [[2 / 3, 0.75], [1, 0.95]])
    assert pooled.groups(FACTS) is None
    nothing = PointSearch(need, "recall", 0.5, 5, 0, "cat").read_group(BLOCK.some([]), rows())
    close(nothing[0], np.full((3, 2), nan))


def boxes(*places: float, **more: Any) -> dict[str, list[Any]]:
    size = len(places)
    return {
        "image": ["i"] * size, "label": ["p"] * size, "x": list(places), "y": [0.0] * size, "w": [10.0] * size,
        "h": [10.0] * size, **more,
    }  # fmt: skip


def test_jaccard_index() -> None:
    """Two persons, of whom one is found twice; a region with a detection; scores part them at 0.3 and 0.6."""
    truth = boxes(0.0, 50.0, 200.0, crowd=[0, 0, 1])
    predicted = boxes(0.0, 1.0, 50.0, 203.0, 900.0, score=[0.95, 0.65, 0.35, 0.35, 0.05])
    block = JaccardParts(0.5).measure(pairs_of("boxes", truth, predicted), SharedCache())
    sums = block.values.reshape(2, 10)
    small = 1e-6
    all_of_them, no_far, two, first = 2 / (4 + small), 2 / (3 + small), 1 / (3 + small), 1 / (2 + small)
    expected = [all_of_them, *[no_far] * 3, *[two] * 3, *[first] * 3]
    np.testing.assert_allclose(sums, [expected, [1] * 10])
    report = sy.evaluate("boxes", truth, predicted, ["ji"], confidence=None)
    assert report["ji"].value == pytest.approx(2 / 3, abs=1e-6)
    assert report["ji"].notes == ("The best Jaccard index is reached with detections of score above 0.1.",)
    nothing = {"images": [{"id": 1}], "annotations": [], "categories": [{"id": 1, "name": "p"}]}
    empty = sy.evaluate("boxes", nothing, [], ["ji"], confidence=None)["ji"]
    assert (empty.defined, empty.notes) == (False, ())


def test_matchings() -> None:
    none = largest_matching(np.array([[0.4, 0.1]]), 0.5)
    assert [part.tolist() for part in none] == [[], []]
    rows_, taken = largest_matching(np.array([[0.1, 0.2], [0.5, 0.6], [0.2, 0.7]]), 0.5)
    assert list(zip(rows_.tolist(), taken.tolist(), strict=True)) == [(1, 0), (2, 1)]


def test_costs_of_errors() -> None:
    """One of each kind beside a hit: what AP at 0.5 gains by each repair, of one class of four objects."""
    # .95 hits the first; .9 again on it; .85 is loose on the second (IoU 3/17); .8 is on nothing. Two are missed, but one
    # of them is what the loose one could be.
    truth = boxes(0.0, 100.0, 200.0)
    predicted = boxes(0.0, 0.5, 107.0, 500.0, score=[0.95, 0.9, 0.85, 0.8])
    plain = 34 / 101
    gains = {
        "dupe": 0,
        "bkg": 0,
        "cls": 0,
        "both": 0,
        "loc": (34 + 33 * 2 / 3) / 101 - plain,  # found third: precision 2/3 at recall 2/3
        "miss": 51 / 101 - plain,  # one of two objects
        "fp": 0,  # all others behind the hit
        "fn": 1 - plain,  # one of one
    }
    specs = ["dap" if kind == "loc" else f"dap(error={kind})" for kind in gains]
    report = sy.evaluate("boxes", truth, predicted, specs, confidence=None)
    assert [score.value for score in report.scores.values()] == pytest.approx(list(gains.values()), abs=1e-9)
    late = {**predicted, "score": [0.7, 0.9, 0.85, 0.95]}  # on nothing, twice, loose, and then the other of the two
    report = sy.evaluate("boxes", truth, late, specs, confidence=None)
    assert report["dap(error=bkg)"].value == pytest.approx(34 * (1 - 1 / 2) / 101)
    assert report["dap(error=fp)"].value == pytest.approx(34 * (1 - 1 / 2) / 101)
    assert math.isclose(report["dap"].value, (67 * 2 / 3 - 34 / 2) / 101, abs_tol=1e-9)


def test_costs_without_a_detection_and_of_the_first_object() -> None:
    truth = boxes(0.0, 100.0)
    nothing = {name: [] for name in (*truth, "score")}
    specs = ["dap", "dap(error=cls)", "dap(error=dupe)", "dap(error=bkg)", "dap(error=both)", "dap(error=fp)"]
    report = sy.evaluate("boxes", truth, nothing, [*specs, "dap(error=miss)", "dap(error=fn)"], confidence=None)
    assert [report[spec].value for spec in specs] == [0] * 6
    assert not report["dap(error=miss)"].defined  # without what is missed there is no object left
    assert not report["dap(error=fn)"].defined
    first = sy.evaluate("boxes", truth, boxes(7.0, score=[0.9]), ["dap", "dap(error=miss)"], confidence=None)
    assert first["dap"].value == pytest.approx(51 / 101)  # one of two, once the loose box fits
    assert first["dap(error=miss)"].value == 0
    twice = boxes(7.0, 6.9, score=[0.8, 0.9])  # the one of the higher score is repaired, the other goes
    assert sy.evaluate("boxes", truth, twice, ["dap"], confidence=None)["dap"].value == pytest.approx(51 / 101)


def test_costs_of_wrong_classes() -> None:
    """A box of another class on an object, and one that is loose as well; a crowd takes what lies in it."""
    truth = boxes(0.0, 100.0, 300.0, label=["p", "p", "q"], crowd=[0, 0, 1])
    predicted = boxes(0.0, 107.0, 301.0, label=["q", "q", "q"], score=[0.9, 0.8, 0.7])
    specs = ["dap(error=cls)", "dap(error=both)", "dap(error=bkg)", "dap(error=miss)"]
    report = sy.evaluate("boxes", truth, predicted, specs, confidence=None)
    # Only p has objects that count: of the right class the first is found, and the second is missed
    assert [score.value for score in report.scores.values()] == pytest.approx([51 / 101, 0, 0, 0])
