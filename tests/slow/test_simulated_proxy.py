"""Few labels by simulation, with fixed seeds: coverage and width of a proportion by truth and judge, and how often
models are told apart.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import steelyard as sy

DRAWS = 100  # an interval of a proportion by truth and judge does not rest on them


@pytest.mark.slow
@pytest.mark.parametrize(
    ("accuracy", "sensitivity", "specificity", "labelled", "others", "sets"),
    [(0.97, 0.95, 0.95, 40, 800, 400), (0.85, 0.9, 0.8, 80, 400, 200)],
)
def test_a_proportion_holds_and_is_no_wider_than_by_labels(
    accuracy: float, sensitivity: float, specificity: float, labelled: int, others: int, sets: int
) -> None:
    """A judge on the others: the range scale made intervals near 1 twice as wide as the labels' own."""
    rng = np.random.default_rng(31)
    ids = np.arange(labelled + others)
    predictions = {"id": ids, "label": np.ones(len(ids), int)}
    held, widths = 0, []
    for _ in range(sets):
        right = rng.random(len(ids)) < accuracy
        judge = np.where(rng.random(len(ids)) < np.where(right, sensitivity, specificity), right, ~right)
        score = sy.evaluate(
            "labels", {"id": ids[:labelled], "label": right[:labelled].astype(int)}, predictions, ["accuracy"],
            proxy={"id": ids, "label": judge.astype(int)}, draws=DRAWS,
        )["accuracy"]  # fmt: skip
        assert score.few_labels is not None
        assert score.interval is not None
        assert score.few_labels.labels_interval is not None
        low, high = score.interval
        held += low <= accuracy <= high
        widths.append((high - low, score.few_labels.labels_interval[1] - score.few_labels.labels_interval[0]))
    assert 0.93 <= held / sets <= 0.99
    assert np.mean(widths, axis=0)[0] <= np.mean(widths, axis=0)[1]


def told_apart(rights: tuple[float, float], sets: int, judge: float = 0.9, labelled: int = 100) -> tuple[float, float]:
    """How often two models are told apart by labels and judge, ten judged units per label, and by labels alone."""
    rng = np.random.default_rng(32)
    count = 11 * labelled
    ids, shown, alone = np.arange(count), 0, 0

    def said(right: float) -> NDArray[np.int64]:
        wrong = (true + rng.integers(1, 4, count)) % 4
        return np.where(rng.random(count) < right, true, wrong)

    for k in range(sets):
        true = rng.integers(0, 4, count)
        a, b, judged = said(rights[0]), said(rights[1]), said(judge)
        one = sy.compare(
            "labels", {"id": ids[:labelled], "label": true[:labelled]}, {"id": ids, "label": a}, {"id": ids, "label": b},
            ["accuracy"], proxy={"id": ids, "label": judged}, draws=199, seed=k,
        )["accuracy"]  # fmt: skip
        assert one.interval is not None
        assert one.few_labels is not None
        assert one.few_labels.labels_interval is not None
        assert (one.p <= 0.05) == (not one.interval[0] <= 0 <= one.interval[1])
        shown += one.p <= 0.05
        alone += not one.few_labels.labels_interval[0] <= 0 <= one.few_labels.labels_interval[1]
    return shown / sets, alone / sets


@pytest.mark.slow
def test_equal_models_are_seldom_told_apart_with_a_judge() -> None:
    shown, _ = told_apart((0.75, 0.75), 400)
    assert 0.015 <= shown <= 0.07


@pytest.mark.slow
def test_a_judge_shows_what_labels_alone_do_not() -> None:
    shown, alone = told_apart((0.72, 0.82), 150)
    assert shown >= 0.8
    assert alone <= 0.5
