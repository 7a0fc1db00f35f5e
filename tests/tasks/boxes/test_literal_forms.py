"""AP as a plain loop computes it, ties in order, and a sum over classes: by hand, and against naive loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.refusal import refuses
from test_boxes import ranked_case

import steelyard as sy
from steelyard.core import catalogue
from steelyard.core.metadata import Axis, Metadata
from steelyard.core.ranking import Grouped, RankingBlock
from steelyard.core.weights import EachUnit, GivenRows, Role
from steelyard.tasks.boxes.ranking import Detections, RankingFigure
from steelyard.tasks.labels.walks import Scores, Walk

Data = dict[str, Any]


def value(task: str, truth: Data, predicted: Data, spec: str) -> float:
    spec = str(catalogue.parse(spec, task))
    return sy.evaluate(task, truth, predicted, spec, confidence=None)[spec].value


def in_image(
    scores: list[float], right: list[bool], truths: int, label: str = "c", image: str = "a"
) -> tuple[Data, Data]:
    """Objects far apart in one image, and a detection for each score, which finds the next object where it is right."""
    x = [100.0 * k for k in range(truths)]
    places = [100.0 * sum(right[:k]) if hit else 1e6 for k, hit in enumerate(right)]

    def side(x: list[float]) -> Data:
        size = [10.0] * len(x)
        return {"image": [image] * len(x), "label": [label] * len(x), "x": x, "y": size, "w": size, "h": size}

    return side(x), {**side(places), "score": scores}


def joined(*parts: tuple[Data, Data]) -> tuple[Data, Data]:
    first, second = ({name: [v for p in parts for v in p[i][name]] for name in parts[0][i]} for i in (0, 1))
    return first, second


def naive(score: Any, hit: Any, weight: Any, positives: float, *, loop: bool, in_order: bool) -> float:
    """The sum over points of precision times the step in recall, point by point; the loop starts at the second."""
    points: list[tuple[float, float]] = []
    last = None
    for i in range(len(score)):
        if weight[i] == 0:
            continue
        tp, fp = points[-1] if points else (0.0, 0.0)
        tied = not in_order and points and score[i] == last
        new = (tp + weight[i] * hit[i], fp + weight[i] * (1 - hit[i]))
        if tied:
            points[-1] = new
        else:
            points.append(new)
        last = score[i]
    recall = [tp / positives for tp, _ in points]
    precision = [tp / (tp + fp) for tp, fp in points]
    total = 0.0 if loop or not points else precision[0] * recall[0]
    for i in range(1, len(points)):
        total += precision[i] * (recall[i] - recall[i - 1])
    return total


@pytest.mark.parametrize(("spec", "expected"), [
    ("ap(kind=loop)", 0.16117), ("ap(kind=step)", 0.22784), ("map(kind=loop)", 0.16117), ("map50(kind=step)", 0.22784),
    ("ap(kind=loop, ties=order)", 0.16117), ("map75(kind=loop, ties=order)", 0.16117),
])  # fmt: skip
def test_the_worked_example(spec: str, expected: float) -> None:
    truth, predicted = ranked_case([1, 3, 10, 12, 13, 14, 23], 24, 15)
    assert value("boxes", truth, predicted, spec) == pytest.approx(expected, abs=5e-6)


def test_four_of_four_right_in_the_loop() -> None:
    assert value("boxes", *ranked_case([1, 2, 3, 4], 4, 4), "ap(kind=loop)") == pytest.approx(0.75)
    assert value("boxes", *ranked_case([], 3, 4), "ap(kind=loop)") == 0
    assert value("boxes", *ranked_case([1], 1, 4), "ap(kind=loop)") == 0


@pytest.mark.parametrize(("spec", "expected"), [
    ("ap(kind=step)", 1 / 2 + 2 / 3 / 2), ("ap(kind=step, ties=order)", 1.0), ("ap(kind=loop)", 1 / 3),
    ("ap(kind=loop, ties=order)", 1 / 2),
])  # fmt: skip
def test_ties_in_order(spec: str, expected: float) -> None:
    """0.9 is right; of two detections with 0.8 the first is right and the second is not."""
    truth, predicted = in_image([0.9, 0.8, 0.8], [True, True, False], 2)
    assert value("boxes", truth, predicted, spec) == pytest.approx(expected)
    swapped = {name: [column[i] for i in (0, 2, 1)] for name, column in predicted.items()}
    other = {"ap(kind=step, ties=order)": 5 / 6, "ap(kind=loop, ties=order)": 1 / 3}.get(spec, expected)
    assert value("boxes", truth, swapped, spec) == pytest.approx(other)


def test_a_sum_over_classes() -> None:
    """Class c has AP 1, class d 1/2, class e none, class f no truth."""
    data = joined(
        in_image([0.9], [True], 1), in_image([0.9, 0.8], [False, True], 1, "d"), in_image([], [], 1, "e"),
        in_image([0.9], [False], 0, "f"),
    )  # fmt: skip
    specs = ("ap(kind=step, reduction=sum)", "map50(kind=step, reduction=sum)", "map(kind=step, reduction=sum)")
    for spec in specs:
        assert value("boxes", *data, spec) == pytest.approx(1.5), spec
    assert value("boxes", *data, "ap(kind=step)") == pytest.approx(0.5)
    assert value("boxes", *data, "ap(kind=step, reduction=sum, label=d)") == pytest.approx(0.5)
    assert value("boxes", *data, "map(kind=step, reduction=sum, classes=[c, e])") == pytest.approx(1.0)
    assert value("boxes", *data, "map(reduction=sum)") == pytest.approx(3 * value("boxes", *data, "map"))
    images = joined(*(in_image([0.9], [True], 1, label, image) for image in "pqrstu" for label in "cde"))
    score = sy.evaluate("boxes", *images, "ap(kind=step, reduction=sum)")["ap(kind=step, reduction=sum)"]
    assert score.value == pytest.approx(3)
    assert score.interval is None or score.interval.low <= 3 <= score.interval.high


@pytest.mark.parametrize(("task", "spec", "message"), [
    ("boxes", "ap(ties=order)", ("E-invalid-spec", "ties", "order", "kind=coco")),
    ("boxes", "map50(ties=order, kind=voc)", ("E-invalid-spec", "ties", "order", "kind=voc")),
    ("boxes", "ap(kind=loops)", ("E-invalid-spec", "loops")), ("boxes", "map(reduction=total)", ("E-invalid-spec", "reduction", "total")),
    ("labels", "ap(kind=coco)", ("E-invalid-spec", "coco")), ("labels", "ap(ties=input)", ("E-invalid-spec", "ties", "input")),
])  # fmt: skip
def test_settings_that_do_not_go_together(task: str, spec: str, message: tuple[str, ...]) -> None:
    with refuses(*message):
        catalogue.parse(spec, task)


@pytest.mark.parametrize("ties", ["step", "order"])
@pytest.mark.parametrize("kind", ["step", "loop"])
@pytest.mark.parametrize("seed", range(4))
def test_boxes_under_weights(kind: str, ties: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, units = 40, 9
    score = np.sort(rng.integers(0, 12, count) / 12)[::-1].copy()
    unit = np.concatenate(
        [np.sort(rng.integers(0, units, len(run))) for run in np.split(score, np.flatnonzero(np.diff(score)) + 1)]
    )
    hit, ignored = rng.integers(0, 2, count), (rng.random(count) < 0.1).astype(np.uint16)
    rank = rng.integers(0, 9, count).astype(np.uint16)
    columns = {"score": score, "rank": rank, "hit0": (hit * (1 - ignored)).astype(np.uint16), "ignored0": ignored}
    positives = np.sort(rng.integers(0, units, 50)).astype(np.int32)
    block = RankingBlock(
        "class", Grouped(np.array([0, count]), unit.astype(np.int32), columns),
        Grouped(np.array([0, 50]), positives, {"counted0": np.ones(50, np.uint8)}),
    )  # fmt: skip
    need = Detections(0.5, (0.0, 1e10), 65535, "coco")
    curve = RankingFigure(need, kind, max_dets=7, at=0, ties=ties)
    rows = rng.integers(0, 3, (20, units)).astype(float)
    facts = Metadata({"class": Axis(("c",))}, {}, frozenset())
    seen = (rank < 7) & (ignored == 0)
    for weights in (GivenRows(rows, Role.DRAWS), EachUnit(units)):
        read = curve.read(block, weights, facts).figure[:, 0]
        for row, got in zip(rows if isinstance(weights, GivenRows) else np.eye(units), read, strict=True):
            objects = row[positives].sum()
            if objects == 0:
                assert np.isnan(got)
                continue
            expected = naive(
                score[seen],
                columns["hit0"][seen],
                row[unit[seen]],
                objects,
                loop=kind == "loop",
                in_order=ties == "order",
            )
            assert got == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("ties", ["step", "order"])
@pytest.mark.parametrize("kind", ["step", "loop"])
@pytest.mark.parametrize("weighted", [False, True])
def test_labels_under_weights(kind: str, ties: str, weighted: bool) -> None:
    rng = np.random.default_rng(8)
    count, units = 30, 12
    score = np.sort(rng.integers(0, 9, count) / 9)[::-1].copy()
    unit, positive = rng.integers(0, units, count).astype(np.int32), rng.integers(0, 2, count).astype(np.uint8)
    columns = {"score": score, "positive": positive}
    value = rng.integers(1, 4, count).astype(float) if weighted else np.ones(count)
    columns |= {"weight": value} if weighted else {}
    none = Grouped(np.zeros(2, np.int64), np.zeros(0, np.int32), {})
    block = RankingBlock("", Grouped(np.array([0, count]), unit, columns), none)
    curve = Walk(Scores("one"), "ap", 0.0, ties, kind == "loop")
    rows = rng.integers(0, 3, (20, units)).astype(float)
    facts = Metadata({}, {}, frozenset())
    for weights in (GivenRows(rows, Role.DRAWS), EachUnit(units)):
        read = curve.read(block, weights, facts)
        for row, got in zip(rows if isinstance(weights, GivenRows) else np.eye(units), read, strict=True):
            weight = row[unit] * value
            positives = weight @ positive
            if positives == 0:
                assert np.isnan(got)
                continue
            expected = naive(score, positive, weight, positives, loop=kind == "loop", in_order=ties == "order")
            assert got == pytest.approx(expected, abs=1e-12)


def test_labels_by_hand() -> None:
    """Four rows: 0.9 yes, 0.8 yes, 0.8 no, 0.1 yes. Three positives."""
    truth = {"item": list("abcd"), "label": ["yes", "yes", "no", "yes"]}
    predicted = {"item": list("abcd"), "score:yes": [0.9, 0.8, 0.8, 0.1], "score:no": [0.1, 0.2, 0.2, 0.9]}
    for spec, expected in {
        "ap(label=yes)": 1 / 3 + 2 / 9 + 1 / 4, "ap(label=yes, ties=order)": 2 / 3 + 1 / 4,
        "ap(label=yes, kind=loop)": 2 / 9 + 1 / 4, "ap(label=yes, kind=loop, ties=order)": 1 / 3 + 1 / 4,
    }.items():  # fmt: skip
        assert value("labels", truth, predicted, spec) == pytest.approx(expected), spec


def test_settings_keep_their_order_in_specs() -> None:
    """States keep the text of a spec, so the settings that a released version had are written in its order."""
    for text in (
        "map(area=small, max_dets=300)", "map(max_dets=300, frequency=r)", "map(iou=0.3, kind=voc, classes=[a])",
        "ap(kind=voc11, iou=0.3, area=large, max_dets=7, rule=voc, label=a)", "map50(area=small, max_dets=3, frequency=c)",
        "map75(classes=[a], kind=loop, ties=order, reduction=sum)",
    ):  # fmt: skip
        assert str(catalogue.parse(text, "boxes")) == text
