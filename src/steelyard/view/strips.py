"""Strips: a value on its interval, drawn on a scale that all rows of a column share."""

from __future__ import annotations

import math
from collections.abc import Iterable

from steelyard.core.frozen import frozen
from steelyard.view.entry import Shown

WIDE, HIGH = 160, 16


@frozen
class Scale:
    """From the lowest end to the highest; None of a strip is drawn where there is nothing to draw."""

    low: float
    high: float

    def x(self, value: float, wide: float = WIDE) -> float:
        """Where a value stands."""
        return wide * (value - self.low) / (self.high - self.low)


def shared_scale(scores: Iterable[Shown]) -> Scale | None:
    """A scale with room for every value and every finite end; None where no value is finite."""
    ends = [end for score in scores for end in (score.value, *(score.interval or ())) if abs(end) < 1e300]
    if not ends:
        return None
    low, high = min(ends), max(ends)
    margin = (high - low) * 0.06 or max(abs(high) * 0.06, 1e-12)
    return Scale(low - margin, high + margin)


def strip(score: Shown, scale: Scale | None) -> str:
    """The strip of one score; an end that is infinite is cut at the edge."""
    if scale is None or not math.isfinite(score.value):
        return ""
    line = ""
    if score.interval is not None and not any(math.isnan(end) for end in score.interval):
        a, b = (min(max(scale.x(end), 0.0), WIDE) for end in score.interval)
        line = (
            f'<line x1="{a:.1f}" x2="{b:.1f}" y1="8" y2="8"/><line x1="{a:.1f}" x2="{a:.1f}" y1="4.5" y2="11.5"/>'
            f'<line x1="{b:.1f}" x2="{b:.1f}" y1="4.5" y2="11.5"/>'
        )
    return (
        f'<svg class="strip" viewBox="0 0 {WIDE} {HIGH}" width="{WIDE}" height="{HIGH}" aria-hidden="true">'
        f'<line class="axis" x1="0" x2="{WIDE}" y1="15.5" y2="15.5"/>{line}'
        f'<circle cx="{scale.x(score.value):.1f}" cy="8" r="4"/></svg>'
    )
