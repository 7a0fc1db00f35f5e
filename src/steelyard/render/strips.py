"""Scales of the strips that show intervals: one per unit of measure, so that any two rows can be compared."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from steelyard.render.numbers import in_unit, value_text

if TYPE_CHECKING:
    from steelyard.results.score import Difference, Score

    Interval = tuple[float, float]
    Group = tuple[str, bool]


def group_of(shown: Score | Difference) -> Group:
    """What shares a scale: a unit of measure; without one, shares apart from other numbers."""
    score: Any = getattr(shown, "a", shown)
    ends = _finite([score.value, *(score.interval or ())])
    return shown.measured_in, not shown.measured_in and all(-1 <= end <= 1 for end in ends)


def score_scales(scores: Sequence[Score]) -> dict[Group, Interval]:
    """The scale of each group of scores; it holds zero where zero means something: none, or the best."""
    scales: dict[Group, Interval] = {}
    for group in dict.fromkeys(map(group_of, scores)):
        alike = [score for score in scores if group_of(score) == group and score.interval is not None]
        ends = _finite(end for score in alike for end in (score.value, *(score.interval or ())))
        if not ends:
            continue
        share = group[1] and min(ends) >= 0
        zero = share or any(score.better in ("lower", "zero") for score in alike)
        low, high = min([*ends, *([0.0] if zero else [])]), max([*ends, *([1.0] if share else [0.0] if zero else [])])
        scales[group] = _apart(low, high)
    return scales


def difference_scales(differences: Sequence[Difference]) -> dict[Group, Interval]:
    """The scales of differences; each includes zero."""
    scales: dict[Group, Interval] = {}
    for group in dict.fromkeys(map(group_of, differences)):
        alike = [d for d in differences if group_of(d) == group and d.interval is not None]
        ends = _finite(end for d in alike for end in (d.difference, *(d.interval or ())))
        if ends:
            scales[group] = _apart(min(*ends, 0.0), max(*ends, 0.0))
    return scales


def scales_text(scales: dict[Group, Interval]) -> str:
    """Where strips begin and end, in words."""
    parts = []
    for (unit, share), (low, high) in scales.items():
        named = "" if unit or share or len(scales) == 1 else " (other numbers)"
        parts.append(f"from {_short(low)} to {in_unit(_short(high), unit)}{named}")
    return f"Strips of the same unit share a scale: {', '.join(parts)}." if parts else ""


def _short(value: float) -> str:
    return value_text(float(f"{value:.3g}"))


def _finite(ends: Iterable[float]) -> list[float]:
    return [end for end in ends if math.isfinite(end) and abs(end) < 1e300]


def _apart(low: float, high: float) -> Interval:
    return (low, high) if high > low else (low - 0.5, high + 0.5)
