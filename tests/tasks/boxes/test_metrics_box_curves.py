"""What is read along rankings of boxes, by hand: under every kind of weights, by class, in parts and from histograms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

from steelyard.core.metadata import Axis, Metadata
from steelyard.core.ranking import Grouped, RankingBlock
from steelyard.core.spec import Range
from steelyard.core.weights import EachUnit, GivenRows, LeaveGroupOut, Plain, Role, Weights
from steelyard.tasks.boxes import ranking
from steelyard.tasks.boxes.matches import STANDARD_AREAS
from steelyard.tasks.boxes.ranking import BestF1Search, Detections, FigureValues, RankingFigure, RankingSummary

nan = np.nan
NEED = Detections(Range(0.5, 0.75, 0.25), "standard", 100, "coco")
FACTS = Metadata(
    {"class": Axis(("cat", "cow", "dog"))},
    {"similarity": "boxes", "frequency": {"cat": "r", "dog": "c", "cow": "r"}},
    frozenset(),
)
# Three cats, one in image 0 and two in image 1: an ignored detection, a hit, a false one, a hit that is one at the first
# IoU only, and one beyond the most per image. Two detections of cows, of which there are none. One dog in image 0, and a
# detection on nothing in image 1, with the score of the last cat.
SCORES = [0.99, 0.95, 0.85, 0.75, 0.65, 0.55, 0.55, 0.55]
EVENTS = {
    "score": np.array(SCORES),
    "rank": np.array([0, 1, 2, 3, 5, 0, 1, 0], dtype=np.uint16),
    "hit0": np.array([0, 3, 0, 1, 3, 0, 0, 0], dtype=np.uint16),
    "ignored0": np.array([3, 0, 0, 0, 0, 0, 0, 0], dtype=np.uint16),
    "hit1": np.array([0, 3, 0, 0, 0, 0, 0, 0], dtype=np.uint16),
    "ignored1": np.array([3, 0, 0, 3, 3, 0, 0, 0], dtype=np.uint16),
}
POSITIVES = {
    "counted0": np.array([1, 1, 1, 1], dtype=np.uint8),
    "counted1": np.array([1, 0, 0, 1], dtype=np.uint8),
}
UNIT = np.array([1, 0, 0, 1, 1, 1, 1, 1], dtype=np.int32)
BLOCK = RankingBlock(
    "class", Grouped(np.array([0, 5, 7, 8]), UNIT, EVENTS),
    Grouped(np.array([0, 3, 3, 4]), np.array([0, 1, 1, 0], dtype=np.int32), POSITIVES),
)  # fmt: skip
CAT, DOG, COW = 0, 2, 1
# At each IoU: the figure of cats, that of dogs, and both of image 0 and image 1 alone (there is no dog in image 1).
Hand = tuple[list[float], list[float], list[list[float]]]
MISSES = [math.exp((7 * math.log(2 / 3) + 2 * math.log(1 / 3)) / 9), 2 / 3]
FIGURES: dict[str, Hand] = {
    "coco": ([56 / 101, 34 / 101], [0, 0], [[0.5, 0.5], [51 / 101, 0]]),
    "voc": ([5 / 9, 1 / 3], [0, 0], [[0.5, 0.5], [0.5, 0]]),
    "voc11": ([6 / 11, 4 / 11], [0, 0], [[0.5, 0.5], [6 / 11, 0]]),
    "step": ([5 / 9, 1 / 3], [0, 0], [[0.5, 0.5], [0.5, 0]]),
    "lamr": (MISSES, [1, 1], [[0.5 + 0.5e-10] * 2, [0.5, 1]]),
}
RECALLS: Hand = ([2 / 3, 1 / 3], [0, 0], [[0.5, 0.5], [0.5, 0]])


def figure(kind: str, **settings: Any) -> RankingFigure:
    return RankingFigure(NEED, kind, max_dets=5, **settings)


def mean_of(hand: Hand) -> list[float]:
    return [(cat + dog) / 2 for cat, dog in zip(hand[0], hand[1], strict=True)]


def point() -> Weights:
    return Plain(np.ones(2))


def rows(role: Role = Role.DRAWS) -> Weights:
    """All images, twice image 0 alone, image 1 alone."""
    return GivenRows(np.array([[1.0, 1], [2, 0], [0, 1]]), role)


def close(values: Any, expected: Any, tolerance: float = 1e-12) -> None:
    expected = np.array(expected, dtype=float)
    assert np.shape(values) == expected.shape
    np.testing.assert_allclose(values, expected, atol=tolerance, rtol=0)


def by_groups(curve: RankingFigure, weights: Weights) -> FigureValues:
    """The same as `read`, class by class."""
    groups = curve.groups(FACTS)
    chosen = range(BLOCK.groups) if groups is None else groups
    return curve.join(iter([curve.read_group(BLOCK.one(k), weights) for k in chosen]))


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("kind", FIGURES)
def test_rows_of_weights(kind: str, by_class: bool) -> None:
    curve = figure(kind)
    read = by_groups(curve, rows()) if by_class else curve.read(BLOCK, rows(), FACTS)
    close(read.figure, [mean_of(FIGURES[kind]), *FIGURES[kind][2]])
    close(read.recall, [mean_of(RECALLS), *RECALLS[2]])


def test_images_without_anything_count_in_miss_rates() -> None:
    """With two images more there is a quarter of a false positive per image: three of nine numbers let it in."""
    cats = math.exp((6 * math.log(2 / 3) + 3 * math.log(1 / 3)) / 9)
    four = GivenRows(np.ones((1, 4)), Role.DRAWS)
    for read in (figure("lamr").read(BLOCK, four, FACTS), by_groups(figure("lamr"), four)):
        close(read.figure, [[(cats + 1) / 2, (2 / 3 + 1) / 2]])


@pytest.mark.parametrize("kind", FIGURES)
def test_images_alone(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for few in (64, 1):
        monkeypatch.setattr(ranking, "FEW_IMAGES", few)
        read = figure(kind).read(BLOCK, EachUnit(2), FACTS)
        close(read.figure, FIGURES[kind][2])
        close(read.recall, RECALLS[2])
    last = figure(kind).read(BLOCK, EachUnit(2, 1, 2), FACTS)
    close(last.figure, FIGURES[kind][2][1:])


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("kind", ["coco", "voc11", "step", "recall"])
def test_counted_rows(kind: str, by_class: bool) -> None:
    """Without image 0 or without image 1, as counts: in single precision."""
    without = LeaveGroupOut(np.ones(2), np.array([0, 1]), 2)
    assert without.counts() is not None
    read = by_groups(figure(kind), without) if by_class else figure(kind).read(BLOCK, without, FACTS)
    if kind != "recall":
        close(read.figure, FIGURES[kind][2][::-1], 1e-6)
    close(read.recall, RECALLS[2][::-1], 1e-6)


def test_counted_rows_in_several_blocks() -> None:
    """Forty rows, 32 of which stand side by side: each leaves out an image without anything, the last image 0."""
    group = np.full(42, -1)
    group[2:41], group[0] = np.arange(39), 39
    without = LeaveGroupOut(np.ones(42), group, 40)
    read = figure("step").read(BLOCK, without, FACTS)
    close(read.figure, [[5 / 18, 1 / 6]] * 39 + [FIGURES["step"][2][1]], 1e-6)


@pytest.mark.parametrize("role", [Role.POINT, Role.COUNT])
@pytest.mark.parametrize("by_class", [False, True])
def test_precision_by_recall(by_class: bool, role: Role) -> None:
    weights = Plain(np.ones(2), role=role)
    for kind in ("coco", "recall"):
        curve = figure(kind)
        read = by_groups(curve, weights) if by_class else curve.read(BLOCK, weights, FACTS)
        assert read.figure.shape == (2, 101, 3)
        close(read.figure[:, :, CAT], [[1] * 34 + [2 / 3] * 33 + [0] * 34, [1] * 34 + [0] * 67])
        close(read.figure[:, :, DOG], np.zeros((2, 101)))
        assert np.isnan(read.figure[:, :, COW]).all()
        np.testing.assert_allclose(read.recall, [[2 / 3, nan, 0], [1 / 3, nan, 0]])
        close(read.mean_figure((0,)), [28 / 101])
        close(read.mean_figure((1,)), [17 / 101])
        close(read.mean_figure((0, 1)), [45 / 202])
        close(read.mean_figure((1, 0)), [45 / 202])
        close(read.mean_recall((1,)), [1 / 6])
        close(read.mean_recall((0, 1)), [1 / 4])


@pytest.mark.parametrize("kind", ["voc", "voc11", "step", "lamr"])
def test_one_row_of_other_kinds(kind: str) -> None:
    read = figure(kind).read(BLOCK, point(), FACTS)
    close(read.figure, [mean_of(FIGURES[kind])])
    close(read.mean_figure((1,)), [mean_of(FIGURES[kind])[1]])
    close(read.mean_figure((0, 1)), [sum(mean_of(FIGURES[kind])) / 2])
    close(read.mean_recall((0,)), [1 / 3])


@pytest.mark.parametrize("kind", ["voc", "step", "lamr"])
def test_one_iou(kind: str) -> None:
    for at in (0, 1):
        curve = figure(kind, at=at)
        assert curve.levels == 1
        close(curve.read(BLOCK, point(), FACTS).figure, [[mean_of(FIGURES[kind])[at]]])
    assert figure(kind).levels == 2


def test_another_area() -> None:
    """One cat of the size, found first; what finds another size counts neither way."""
    read = figure("step", area=1).read(BLOCK, point(), FACTS)
    close(read.figure, [[0.5, 0.5]])
    close(read.recall, [[0.5, 0.5]])
    stream = figure("step", area=1).stream(Sizes(CAT), 2)
    stream.feed(part_of(CAT, 0, 5))
    close(stream.result()[0], [[1, 1]])


def test_more_detections_of_an_image() -> None:
    """With the one of rank 5 there is a third hit, the last of four detections that count."""
    whole = RankingFigure(NEED, "step", max_dets=6).read(BLOCK, point(), FACTS)
    close(whole.figure, [[(1 + 2 / 3 + 3 / 4) / 6, (1 + 2 / 4) / 6]])


def test_some_classes() -> None:
    for kind in ("step", "coco"):
        cat, dog = FIGURES[kind][0], FIGURES[kind][1]
        close(figure(kind, label="cat").read(BLOCK, rows(), FACTS).figure[0], cat)
        close(figure(kind, label="dog").read(BLOCK, rows(), FACTS).figure[0], dog)
        close(
            figure(kind, group=("classes", "dog", "cat")).read(BLOCK, rows(), FACTS).figure[0], mean_of(FIGURES[kind])
        )
        close(figure(kind, group=("frequency", "r")).read(BLOCK, rows(), FACTS).figure[0], cat)
        close(figure(kind, group=("frequency", "c")).read(BLOCK, rows(), FACTS).figure[0], dog)
    assert figure("step").groups(FACTS) is None
    assert figure("step", label="dog").groups(FACTS) == [DOG]
    assert figure("step", group=("frequency", "r")).groups(FACTS) == [CAT, COW]
    assert figure("step", group=("classes", "dog", "cat", "dog")).groups(FACTS) == [CAT, DOG]


def test_some_classes_from_the_curves_of_all() -> None:
    every, some = figure("coco"), figure("coco", group=("classes", "dog"))
    made = {every: every.read(BLOCK, point(), FACTS)}
    read = some.read_from(made, Role.POINT, FACTS)
    assert read is not None
    close(read.figure, np.zeros((2, 101, 1)))
    close(read.recall, [[0], [0]])
    close(made[every].of_classes([CAT]).mean_figure((0,)), [56 / 101])
    assert some.read_from({}, Role.POINT, FACTS) is None
    assert some.read_from(made, Role.DRAWS, FACTS) is None
    assert every.read_from(made, Role.POINT, FACTS) is None


def part_of(group: int, start: int, stop: int) -> dict[str, Any]:
    return {name: column[start:stop] for name, column in BLOCK.one(group).events.columns.items()}


class Sizes:
    """How many objects of a class there are."""

    def __init__(self, group: int) -> None:
        self.group = group

    def rows(self, table: str) -> int:
        assert table in ("event", "positive")
        return len(getattr(BLOCK.one(self.group), f"{table}s"))

    def sum(self, table: str, column: str) -> int:
        assert table == "positive"
        return int(BLOCK.one(self.group).positives.columns[column].sum())


@pytest.mark.parametrize("kind", FIGURES)
def test_streams_of_one_class(kind: str) -> None:
    for group in (CAT, DOG):
        stream = figure(kind).stream(Sizes(group), 2)
        for start in range(5):
            stream.feed(part_of(group, start, start + 1))
        first, second = stream.result()
        if kind == "coco":
            assert first.shape == (2, 101, 1)
            close(first.mean(axis=1)[:, 0], FIGURES[kind][0 if group == CAT else 1])
            close(second, np.transpose([RECALLS[0 if group == CAT else 1]]))
        else:
            close(first, [FIGURES[kind][0 if group == CAT else 1]])
            close(second, [RECALLS[0 if group == CAT else 1]])


def test_streams_at_one_iou() -> None:
    stream = figure("step", at=1).stream(Sizes(CAT), 2)
    stream.feed(part_of(CAT, 0, 5))
    close(stream.result()[0], [[1 / 3]])


# In one bin: of two hits and one other the precision is 1/2 and 2/3 at least, and 1 at most. At the second IoU of one hit
# and two others it is 1/3 at least.
BOUNDS: dict[str, tuple[list[float], list[float]]] = {
    "step": ([7 / 18, 1 / 9], [2 / 3, 1 / 3]),
    "voc": ([4 / 9, 1 / 9], [2 / 3, 1 / 3]),
    "voc11": ([14 / 33, 4 / 33], [7 / 11, 4 / 11]),
}


@pytest.mark.parametrize("kind", BOUNDS)
def test_bounds_of_histograms(kind: str) -> None:
    curve = figure(kind)
    fine, coarse = curve.histogram(BLOCK, 10), curve.histogram(BLOCK, 1)
    assert fine["counts"].shape == (3, 2, 10, 2)
    assert fine["objects"].tolist() == [3, 0, 1]
    assert fine["counts"][CAT, :, :4].tolist() == [
        [[1, 0], [0, 1], [1, 0], [0, 0]], [[1, 0], [0, 1], [0, 1], [0, 0]],
    ]  # fmt: skip
    assert fine["counts"][:, :, 4].tolist() == [[[0, 0], [0, 0]], [[0, 2], [0, 2]], [[0, 1], [0, 1]]]
    assert fine["counts"][:, :, 5:].sum() == 0
    assert coarse["counts"].tolist() == [[[[2, 1]], [[1, 2]]], [[[0, 2]], [[0, 2]]], [[[0, 1]], [[0, 1]]]]
    for upper in (False, True):
        exact = curve.bound_reading(fine, FACTS, upper)
        close(exact.figure, [mean_of(FIGURES[kind])])
        close(exact.recall, [mean_of(RECALLS)])
        wide = curve.bound_reading(coarse, FACTS, upper)
        close(wide.figure, [[value / 2 for value in BOUNDS[kind][upper]]])
        close(wide.recall, [mean_of(RECALLS)])
        close(figure(kind, label="cat").bound_reading(coarse, FACTS, upper).figure, [BOUNDS[kind][upper]])
        nothing = figure(kind, label="cow").bound_reading(coarse, FACTS, upper)
        np.testing.assert_array_equal([nothing.figure, nothing.recall], np.full((2, 1, 2), nan))


def test_bounds_of_precision_by_recall() -> None:
    for kind in ("coco", "recall"):
        curve = figure(kind)
        low, high = (curve.bound_reading(curve.histogram(BLOCK, 1), FACTS, upper) for upper in (False, True))
        for read in (low, high):
            assert read.figure.shape == (2, 101, 3)
            np.testing.assert_allclose(read.recall, [[2 / 3, nan, 0], [1 / 3, nan, 0]])
            assert np.isnan(read.figure[:, :, COW]).all()
            close(read.figure[:, :, DOG], np.zeros((2, 101)))
        close(low.figure[:, :, CAT], [[2 / 3] * 67 + [0] * 34, [1 / 3] * 34 + [0] * 67])
        close(high.figure[:, :, CAT], [[1] * 67 + [0] * 34, [1] * 34 + [0] * 67])
        alone = figure(kind, label="dog").bound_reading(curve.histogram(BLOCK, 1), FACTS, True)
        assert np.isnan(alone.figure[:, :, CAT]).all()
        close(alone.figure[:, :, DOG], np.zeros((2, 101)))


def test_what_has_no_bounds() -> None:
    assert [figure(kind).approximate for kind in ("coco", "voc", "voc11", "step", "recall")] == [True] * 5
    assert [figure(kind).approximate for kind in ("lamr", "tide", "best_f1")] == [False] * 3
    with refuses("E-unsupported", "F1"):
        figure("lamr").histogram(BLOCK, 10)
    with refuses("E-unsupported", "approximate"):
        figure("step", group=("classes", "cat")).bound_reading(figure("step").histogram(BLOCK, 10), FACTS, True)


def test_the_best_f1_of_all_classes() -> None:
    """Three detections with two hits of four objects."""
    search = BestF1Search(NEED, max_dets=5, at=0)
    for read in (
        search.read(BLOCK, point(), FACTS), search.join(iter([search.read_group(BLOCK.pooled, point())])),
    ):  # fmt: skip
        close(read[0], [[4 / 7]])
        close(read[1], [[0.75]])
    best, at = BestF1Search(NEED, max_dets=5, at=1).read(BLOCK, rows(), FACTS)
    close(best, [[2 / 5], [2 / 3], [0]])
    close(at[:2], [[0.95], [0.95]])


def test_what_a_ranking_holds() -> None:
    """Of cows two detections have one score; the first dog has that score too, and no other dog does."""
    summary = RankingSummary(NEED, 100)
    for read in (
        summary.read(BLOCK, point(), FACTS),
        summary.join(iter([summary.read_group(BLOCK.one(k), point()) for k in range(3)])),
    ):
        assert [part.tolist() for part in read] == [[5, 2, 1], [True, False, True], [0, 1, 0], [0, 0, 0], [0, 0, 0]]
    stream = summary.stream(Sizes(COW), 2)
    stream.feed(part_of(COW, 0, 2))
    stream.feed(part_of(COW, 2, 2))
    assert [part.tolist() for part in stream.result()] == [[2], [False], [1], [0], [0]]
    cats = summary.stream(Sizes(CAT), 2)
    for start in range(0, 6, 3):
        cats.feed(part_of(CAT, start, start + 3))
    assert [part.tolist() for part in cats.result()] == [[5], [True], [0], [0], [0]]
    dogs = summary.stream(Sizes(DOG), 2)
    dogs.feed(part_of(DOG, 0, 1))
    assert [part.tolist() for part in dogs.result()] == [[1], [True], [0], [0], [0]]
    assert summary.histogram(BLOCK, 10) == {}
    assert [part.tolist() for part in summary.bound_reading({}, FACTS, True)] == [[0], [1], [0], [0], [0]]


def test_what_a_cap_leaves_out() -> None:
    """With at most one per image: three cats (ranks 2, 3 and 5 of their image; rank 1 too) and a cow are beyond it."""
    summary = RankingSummary(NEED, 1)
    expected = [[1, 1, 1], [True, False, True], [0, 0, 0], [4, 1, 0], [6, 2, 0]]
    for read in (
        summary.read(BLOCK, point(), FACTS),
        summary.join(iter([summary.read_group(BLOCK.one(k), point()) for k in range(3)])),
    ):
        assert [part.tolist() for part in read] == expected
        said = "5 detections are left out: at most 1 per image and class count. max_dets=6 counts all of them."
        assert summary.remarks(read) == (said,)
        assert summary.remarks(read, [COW]) == (
            "1 detection is left out: at most 1 per image and class count. max_dets=2 counts all of them.",
        )
        assert summary.remarks(read, [DOG]) == ()
    cats = summary.stream(Sizes(CAT), 2)
    for start in range(0, 6, 3):
        cats.feed(part_of(CAT, start, start + 3))
    assert [part.tolist() for part in cats.result()] == [[1], [True], [0], [4], [6]]


def test_places_that_are_asked_for() -> None:
    need, area, places = ranking.detections(0.75, "medium", "voc")
    assert (need, area, places) == (Detections(Range(0.5, 0.95), "standard", 65535, "voc"), 2, (5,))
    assert (need.areas, need.levels) == (STANDARD_AREAS, 10)
    need, area, places = ranking.detections(Range(0.3, 0.5, 0.1), (4, 9), "coco")
    assert (need, area, places) == (Detections(Range(0.3, 0.5, 0.1), (4.0, 9.0), 65535, "coco"), 0, (0, 1, 2))
    assert (need.areas, need.levels) == (((4.0, 9.0),), 3)
    assert need.columns == (
        {"score": "f", "rank": "u", "hit0": "u", "ignored0": "u"}, {"counted0": "u"},
    )  # fmt: skip
    two = ranking.ranking_columns(2)
    assert list(two[0].items())[2:] == [("hit0", "u"), ("ignored0", "u"), ("hit1", "u"), ("ignored1", "u")]
    assert two[1] == {"counted0": "u", "counted1": "u"}
    assert ranking.detections(Range(0.6, 0.8, 0.1), "all", "coco")[2] == (2, 4, 6)
