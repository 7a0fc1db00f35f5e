"""The approximate mode: the exact value lies between its bounds, whatever the scores; the bounds meet as bins grow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.drawn import DRAW
from support.lazy import lazy
from support.scale_help import files, write_shards

import steelyard as sy
from steelyard.core.errors import OutOfRange
from steelyard.core.histogram import Histogram, bin_of_score
from steelyard.scale import evaluate_shards

sklearn_metrics = lazy("sklearn.metrics")


@pytest.mark.parametrize("bins", [2, 16, 1024])
def test_exact_values_of_another_implementation_lie_between_the_bounds(bins: int) -> None:
    rng = np.random.default_rng(bins)
    widths = []
    for turn in range(60):
        n = int(rng.integers(2, 400))
        positive = rng.random(n) < rng.uniform(0.05, 0.9)
        positive[:2] = True, False
        score = np.clip(rng.beta(2, 2, n) * 0.8 + 0.2 * positive, 0, 1)
        if turn % 3 == 0:
            score = np.round(score, 1)  # many equal
        place = bin_of_score(score, bins)
        counts = [np.bincount(place[positive == side], minlength=bins) for side in (True, False)]
        histogram = Histogram(counts[0], counts[1], float(positive.sum()))
        low, high = histogram.average_precision("step")
        assert low - 1e-12 <= sklearn_metrics.average_precision_score(positive, score) <= high + 1e-12
        auc = histogram.roc_auc()
        assert auc[0] - 1e-12 <= sklearn_metrics.roc_auc_score(positive, score) <= auc[1] + 1e-12
        widths.append(high - low)
    assert np.mean(widths) < {2: 1.0, 16: 0.3, 1024: 0.05}[bins]


def test_by_hand() -> None:
    """One bin with a hit and a miss: precision at the hit is 1/2 or 1."""
    assert Histogram(np.array([1]), np.array([1]), 1.0).average_precision("step") == (0.5, 1.0)
    assert Histogram(np.array([1]), np.array([1]), 1.0).roc_auc() == (0.0, 1.0)
    assert Histogram(np.array([2, 0]), np.array([0, 3]), 4.0).average_precision("voc") == (0.5, 0.5)
    assert np.isnan(Histogram(np.array([0]), np.array([3]), 0.0).average_precision("step")).all()


SPECS = {
    "boxes": ["map", "map50", "map(area=medium)", "ap(kind=step)", "ap(kind=voc)", "ap(kind=voc11)", "ar@10", "ap(label=cat)"],
    "labels": ["ap", "roc_auc", "macro(ap)", "macro(roc_auc)"],
}  # fmt: skip


@pytest.mark.parametrize("task", list(SPECS))
def test_over_shards(task: str, tmp_path: Path) -> None:
    truth, predictions = DRAW[task](np.random.default_rng(1), 24)
    if task == "labels":
        for column in ("group", "weight"):
            del truth[column]
    write_shards(task, tmp_path, 3, 3, data=(truth, predictions))
    whole = sy.Accumulator(task)
    whole.update(truth, predictions)
    exact = whole.report(SPECS[task], confidence=None)
    distance = []
    for bins in (8, 100_000):
        report = evaluate_shards(
            task, *files(tmp_path), SPECS[task], work=tmp_path / "work", workers=1, approximate=bins
        )
        for spec in SPECS[task]:
            score = report[spec]
            assert score.interval is None
            words = score.notes[-1].rstrip(".").split()
            low, high = float(words[-3]), float(words[-1])
            assert low - 1e-6 <= exact[spec].value <= high + 1e-6, spec
            assert "Approximate, from" in score.notes[-1]
            distance.append(abs(score.value - exact[spec].value))
    half = len(SPECS[task])
    # Equal scores, which labels have here, leave the order of their rows open however fine the bins are.
    assert max(distance[half:]) < {"boxes": 1e-3, "labels": 5e-3}[task] < max(distance[:half])


def test_what_is_refused(tmp_path: Path) -> None:
    write_shards("boxes", tmp_path, 1, 1)
    with pytest.raises(OutOfRange):
        evaluate_shards("boxes", *files(tmp_path), "map", work=tmp_path / "w", workers=1, approximate=1)
    with pytest.raises(sy.InputError, match="has no approximate form"):
        evaluate_shards("boxes", *files(tmp_path), "lamr", work=tmp_path / "w", workers=1, approximate=64)
    (tmp_path / "ellipses").mkdir()
    write_shards("ellipses", tmp_path / "ellipses", 1, 1)
    with pytest.raises(sy.InputError, match="a ranking of ellipses has no approximate form"):
        evaluate_shards("ellipses", *files(tmp_path / "ellipses"), "ap", work=tmp_path / "v", workers=1, approximate=64)
    with pytest.raises(sy.InputError, match="are not all between 0 and 1"):
        bin_of_score(np.array([0.5, 2.0]), 10)
