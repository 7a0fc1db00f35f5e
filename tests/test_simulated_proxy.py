"""Few labels by simulation: coverage and width of a proportion by truth and judge, with fixed seeds."""

from __future__ import annotations

import numpy as np
import pytest

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
