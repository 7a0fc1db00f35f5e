"""Gaps: how far the groups of a slice lie apart, with an interval and a p for the largest of all differences.

Each group has its own interval, whose ends give a standard error on each side; those of a pair are joined by MOVER (Zou
and Donner 2008). The largest of many differences is large by chance, so all pairs are judged together by the range of k
normal values (Tukey and Kramer; conservative where groups have unequal errors, Hayter 1984).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from steelyard.core.metric import Metric
from steelyard.core.slice import Slice, slice_text
from steelyard.core.weights import Floats
from steelyard.engine.families import holm
from steelyard.engine.paired import BEST
from steelyard.engine.quantiles import normal_quantile
from steelyard.results.score import Gap, Interval, Score

Groups = Mapping[Slice, Mapping[str, Score]]
GRID = np.linspace(-9.0, 9.0, 361)


def gaps_of(
    slices: Mapping[Slice, Groups], metrics: Sequence[Metric], confidence: float, dependent: Sequence[Slice] = ()
) -> tuple[Gap, ...]:
    """The gap of every metric in every slicing; p is corrected, metric by metric, for the number of slicings.

    Groups of the slicings `dependent` share units: their scores hold draws, which say how they go together.
    """
    gaps = []
    for metric in metrics:
        of_metric = [gap_of(by, groups, metric, confidence, by in dependent) for by, groups in slices.items()]
        defined = [gap for gap in of_metric if gap is not None]
        corrected = holm([gap.p for gap in defined])
        gaps += [replace(gap, p_adjusted=p) for gap, p in zip(defined, corrected, strict=True)]
    return tuple(gaps)


def gap_of(by: Slice, groups: Groups, metric: Metric, confidence: float, dependent: bool = False) -> Gap | None:
    """The gap of one metric between groups; None with fewer than two groups that have an interval."""
    spec = str(metric)
    scores = [(slice_text(value), group[spec]) for value, group in groups.items() if spec in group]
    shown = [(name, score) for name, score in scores if score.interval is not None and np.ptp(score.interval) > 0]
    if metric.total or len(shown) < 2:
        return None
    names = [name for name, _ in shown]
    values = np.array([score.value for _, score in shown])
    ends = np.array([score.interval for _, score in shown], dtype=float)
    together = _correlation([score for _, score in shown]) if dependent else None
    interval, p = largest_difference(values, ends, confidence, together)
    most = metric.range[1] - metric.range[0]
    low, high = int(values.argmin()), int(values.argmax())
    best = BEST.get(metric.better)
    worst = {"higher": low, "lower": high}.get(metric.better, -1) if best is None else int(abs(values - best).argmax())
    ratio, ratio_interval = math.nan, None
    if metric.range[0] >= 0 and values[low] > 0:
        ratio = float(values[low] / values[high])
        with np.errstate(divide="ignore"):
            (least, largest), _ = largest_difference(np.log(values), np.log(ends), confidence, together)
        ratio_interval = (math.exp(-largest), math.exp(-least))
    return Gap(
        by=slice_text(by),
        spec=spec,
        label=shown[0][1].label,
        low=names[low],
        high=names[high],
        difference=float(values[high] - values[low]),
        interval=(interval[0], min(interval[1], most)),
        p=p,
        p_adjusted=p,
        worst=names[worst] if worst >= 0 else "",
        ratio=ratio,
        ratio_interval=ratio_interval,
        groups=len(shown),
        excluded=len(scores) - len(shown),
        confidence=confidence,
        better=shown[0][1].better,
        measured_in=shown[0][1].measured_in,
    )


def largest_difference(
    values: Floats, ends: Floats, confidence: float, together: Floats | None = None
) -> tuple[Interval, float]:
    """The interval of the largest difference between groups, and the p of there being none.

    `ends` are those of each group's own interval at this confidence, and `together` the correlations of the groups.
    """
    unit = normal_quantile((1 + confidence) / 2)
    below, above = (values - ends[:, 0]) / unit, (ends[:, 1] - values) / unit
    apart = values[:, np.newaxis] - values
    r = np.zeros_like(apart) if together is None else together
    np.fill_diagonal(apart, -np.inf)
    errors = []
    for first, second in ((below, above), (above, below)):  # of a group less another: towards 0, and away from it
        with np.errstate(invalid="ignore"):
            squared = first[:, np.newaxis] ** 2 + second**2 - 2 * r * first[:, np.newaxis] * second
        errors.append(np.sqrt(np.maximum(np.where(np.isnan(squared), np.inf, squared), 0.0)))
    with np.errstate(divide="ignore", invalid="ignore"):
        largest = float(np.nanmax(np.where(apart > 0, apart / errors[0], 0.0)))
    reach = range_quantile(confidence, len(values)) / math.sqrt(2)
    low = float((apart - reach * errors[0]).max())
    others = ~np.eye(len(values), dtype=bool)
    high = float((apart[others] + reach * errors[1][others]).max())
    return (max(low, 0.0), high), 1 - range_cdf(math.sqrt(2) * largest, len(values))


def _correlation(scores: Sequence[Score]) -> Floats | None:
    """How scores of groups go together, by their draws; None where they have none."""
    draws = [score.draws for score in scores if score.draws is not None]
    if len(draws) < len(scores):
        return None
    rows = np.stack(draws)
    rows = rows[:, np.isfinite(rows).all(axis=0)]
    if rows.shape[1] < 2 or not (rows.std(axis=1) > 0).all():
        return None
    return np.asarray(np.corrcoef(rows))


@cache
def range_quantile(confidence: float, groups: int) -> float:
    """What the range of so many normal values exceeds with a probability of 1 - confidence."""
    low, high = 0.0, 2 * normal_quantile(1 - (1 - confidence) / groups**2) + 1
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if range_cdf(middle, groups) < confidence else (low, middle)
    return (low + high) / 2


def range_cdf(size: float, groups: int) -> float:
    """The probability that the range of so many independent normal values is at most so large."""
    if not math.isfinite(size):
        return 1.0
    density = np.exp(-(GRID**2) / 2) / math.sqrt(2 * math.pi)
    inside = _normal_cdf(GRID) - _normal_cdf(GRID - size)
    return float(min(1.0, groups * (density * inside ** (groups - 1)).sum() * (GRID[1] - GRID[0])))


def _normal_cdf(x: Floats) -> Floats:
    return np.array([math.erfc(-each / math.sqrt(2)) / 2 for each in x.tolist()])
