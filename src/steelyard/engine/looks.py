"""Many looks at one test set: how much of the level each may spend, and intervals at the level of a look.

A level of 5 % holds for one look. Twenty looks at 5 % each raise a false alarm in a third of all cases. With a planned
number of looks each has an equal part of the level; without one, look k has 6 / (pi k)^2 of it, which adds up to all of
it however long it goes on.
"""

from __future__ import annotations

import math

import numpy as np

from steelyard.engine.intervals import Bounds, Interval, from_line, to_line
from steelyard.engine.quantiles import t_quantile


def spent_at(alpha: float, look: int, planned: int | None) -> float:
    """The level of a look, which are counted from 1."""
    return alpha / planned if planned is not None else 6 * alpha / (math.pi * look) ** 2


def at_level(
    value: float, interval: Interval | None, bounds: Bounds, se: float, df: float, levels: tuple[float, float]
) -> Interval | None:
    """An interval that was made at the first of two levels, at the second: 0.05 and 0.0025, say.

    On the scale of the range the reach grows as Student's t does. Where units agree or the value is an end of its
    range, the share of units that may differ grows instead. An end of an open range also counts the worst unit once
    more, which grows with the rest here: it lies a little further out than the level itself would put it.
    """
    if interval is None or math.isnan(value):
        return None
    lo, hi = bounds
    before, after = levels
    if se == 0 or not lo < value < hi:
        power = math.log(after / 2) / math.log(before / 2)
        low = value - _share(value - interval[0], value - lo, power)
        return low, value + _share(interval[1] - value, hi - value, power)
    grown = _t(after, df) / _t(before, df)
    middle, *ends = (float(v) for v in to_line(np.array([value, *interval]), bounds))
    low, high = (middle + grown * (end - middle) for end in ends)
    return from_line(low, bounds), from_line(high, bounds)


def _share(reach: float, room: float, power: float) -> float:
    """How far an end lies at another level, where it lies so far of so much room."""
    if not (reach > 0 and math.isfinite(room)):
        return reach
    left: float = max(0.0, 1 - reach / room) ** power
    return room * (1 - left)


def _t(alpha: float, df: float) -> float:
    return float(t_quantile(1 - alpha / 2, df if df > 0 else math.inf))
