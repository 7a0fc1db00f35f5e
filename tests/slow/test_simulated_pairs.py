"""Intervals of verification hold what they promise with people as units, and do not with pairs as units."""

from __future__ import annotations

import sys

import pytest
from support.paths import ROOT

pytestmark = pytest.mark.slow


def test_people_as_units_cover_and_pairs_do_not() -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    from simulate_pairs import covered

    shares = covered(sets=40, people=25, seed=1, draws=300)
    assert min(shares["people"]) >= 0.85
    assert shares["pairs"][0] <= 0.92
