"""Values of label maps, segments and tracks lie in the range that their metrics declare, with every setting over classes."""

from __future__ import annotations

import numpy as np
import pytest
from support.drawn import DRAW

import steelyard as sy
from steelyard.core import catalogue

MORE = {
    "tracking": [f"{name}(over={way})" for name in ("hota", "loca", "mota", "smota", "idf1") for way in ("det", "trackeval")],
    "panoptic": ["pq_dagger(classes=union)"],
    "segmentation": ["miou(classes=truth)"],
}  # fmt: skip


@pytest.mark.parametrize("task", list(MORE))
@pytest.mark.parametrize("seed", range(3))
def test_values_lie_in_their_range(task: str, seed: int) -> None:
    shown = [str(one) for cls in catalogue.find_task(task).metrics for one in cls.examples()]
    specs = list(dict.fromkeys([*shown, *MORE[task]]))
    report = sy.evaluate(task, *DRAW[task](np.random.default_rng(seed), 6), specs, confidence=None)
    wrong = {}
    for spec, score in report.scores.items():
        low, high = catalogue.parse(spec, task).range
        if score.defined and not low <= score.value <= high:
            wrong[spec] = score.value
    assert not wrong
