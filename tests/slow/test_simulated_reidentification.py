"""Intervals of re-identification hold what they promise with people as units, and do not with queries as units."""

from __future__ import annotations

import sys

import pytest
from support.paths import ROOT

pytestmark = pytest.mark.slow


def test_people_as_units_cover_and_queries_do_not() -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    from simulate_reidentification import covered

    shares = covered(sets=60, people=25, seed=1, draws=300, of=200)
    assert min(shares["person"]) >= 0.85
    assert max(shares["query"]) <= 0.93
