"""Intervals of `distributions` hold the true distance, and a difference of generators the true difference."""

from __future__ import annotations

import sys

import pytest
from support.paths import ROOT

pytestmark = pytest.mark.slow


def test_intervals_hold() -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    from simulate_distributions import simulate

    shares = simulate(dimensions=8, per_dimension=20, sets=60)
    for name in ("fid_corrected", "precision", "recall", "density", "fid, difference", "precision, difference"):
        assert shares[name][0] >= 0.83, (name, shares)
        assert 0.75 <= shares[name][1] <= 1.45, (name, shares)
    assert shares["kid"][0] >= 0.78
    assert shares["coverage"][0] >= 0.65  # halves say too little of it: docs/distributions.md
