"""What plans promise, by simulation. `make simulate` draws 40 pilots and 300 test sets; the suite draws few.

The band is that of the design at full size, and as much wider as chance allows for the number of sets.
"""

from __future__ import annotations

import os

import pytest
from planning import STUDIES, Study, power_of
from scipy import stats as scipy_stats

FULL = int(os.environ.get("STEELYARD_SETS", "40")) >= 400
PILOTS, SETS = (40, 300) if FULL else (6, 24)
ASKED = STUDIES if FULL else (*STUDIES[1:3], STUDIES[-1])


@pytest.mark.slow
@pytest.mark.parametrize("study", ASKED, ids=lambda study: study.metric)
def test_planned_units_show_the_difference_four_times_in_five(study: Study) -> None:
    """For shares, macro averages, average precision and HOTA alike; the cautious number shows it no more seldom."""
    power = power_of(study, PILOTS, SETS, 199 if FULL else 100, 41)
    assert scipy_stats.binom.ppf(0.001, SETS, 0.72) <= power.shown <= scipy_stats.binom.ppf(0.999, SETS, 0.90)
    assert power.units < power.cautious
    assert power.shown_cautious >= scipy_stats.binom.ppf(0.001, SETS, 0.72)
