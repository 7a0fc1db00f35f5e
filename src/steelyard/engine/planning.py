"""Planning: what difference the units can show, and how many units a wanted difference needs.

The standard error shrinks with the square root of the number of units. A pilot's own difference is never planned from,
only a difference that would matter; and since the pilot's standard error is itself uncertain, the cautious number takes
the one that only one pilot in five lies below.
"""

from __future__ import annotations

import math

from steelyard.core.frozen import frozen
from steelyard.engine.distributions import chi2_quantile, normal, t_quantile
from steelyard.results.plan import Planned

POWER = 0.8
CAUTION = 0.2
MOST_UNITS = 10**12


@frozen
class Pilot:
    """What a pilot says of one metric: the standard error of the difference, its degrees of freedom, and the units."""

    spec: str
    se: float
    df: float
    units: int
    measured_in: str = ""


def reach(df: float, confidence: float, power: float) -> float:
    """Standard errors between no difference and one that is shown so often."""
    return t_quantile((1 + confidence) / 2, df) + normal().inv_cdf(power)


def showable(se: float, df: float, confidence: float, power: float = POWER) -> float:
    """The smallest difference that is shown with this power; nan where there is no standard error."""
    if not se > 0 or not df > 0:
        return math.nan
    return reach(df, confidence, power) * se


def cautious_se(pilot: Pilot) -> float:
    """The standard error that a pilot of such few degrees of freedom may have underestimated."""
    return pilot.se * math.sqrt(pilot.df / chi2_quantile(CAUTION, pilot.df))


def smallest_shown(pilot: Pilot, units: int, confidence: float, power: float) -> tuple[float, float]:
    """The smallest difference shown with so many units, and the same if the pilot underestimates the error."""
    shrink = math.sqrt(pilot.units / units)
    plain, careful = pilot.se * shrink, cautious_se(pilot) * shrink
    return showable(plain, pilot.df, confidence, power), showable(careful, pilot.df, confidence, power)


def units_for(pilot: Pilot, target: float, confidence: float, power: float) -> Planned:
    """The units that show a difference of that size."""
    far = reach(pilot.df, confidence, power)
    needed = [pilot.units * (far * se / target) ** 2 for se in (pilot.se, cautious_se(pilot))]
    plain, careful = (min(max(2, math.ceil(n - 1e-9)), MOST_UNITS) for n in needed)
    return Planned(plain, careful)
