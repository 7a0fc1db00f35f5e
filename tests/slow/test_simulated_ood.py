"""Intervals of means over OOD sets hold what they promise."""

from __future__ import annotations

import sys

import pytest
from support.paths import ROOT

pytestmark = pytest.mark.slow


def test_intervals_of_means_over_ood_sets_cover() -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    from simulate_ood import covered

    assert min(covered(sets=60, seed=1, draws=300)) >= 0.85
