"""What the parts of a proportion stand on does not depend on how many units are looked at together."""

from __future__ import annotations

import numpy as np
import pytest

import steelyard as sy
from steelyard.engine import score


@pytest.mark.parametrize("metric", ["macro(specificity)", "macro(npv)", "macro(fpr)", "macro(recall)"])
def test_units_in_pieces_give_the_same_interval(metric: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A class that only the last units have: the first stand behind what is not of it."""
    rng = np.random.default_rng(3)
    truth = np.array([*rng.choice(["a", "b"], 60), *["c"] * 6])
    said = np.where(rng.random(66) < 0.8, truth, rng.permutation(truth))
    whole = sy.evaluate("labels", truth, said, metric, draws=200)[metric]
    monkeypatch.setattr(score, "CELLS", 15)
    pieces = sy.evaluate("labels", truth, said, metric, draws=200)[metric]
    assert pieces == whole
