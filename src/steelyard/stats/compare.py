"""Two models on the same units: the difference, how sure it is, and whether chance could have made it.

The interval is a paired bootstrap: both models are weighed with the same draws. The p-value is a paired randomisation
over units: each unit's two results are swapped or not by a coin, and p is the share of such worlds with a difference
at least as large. Holm's correction holds the chance of any false claim over all metrics shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from steelyard.core.errors import InputError
from steelyard.core.metric import Metric
from steelyard.core.score import Difference
from steelyard.core.stats import Stats
from steelyard.core.weights import Floats, LeaveOneOut, Plain, Weights
from steelyard.stats.bootstrap import Resampling, score
from steelyard.stats.draws import BootstrapDraws, Sides, SwapDraws, unit_keys
from steelyard.stats.intervals import BCA_BELOW, bca_interval, centred_interval, percentile_interval

NO_DIFFERENCE = "no difference shown"


def compare(a: Stats, b: Stats, metrics: Sequence[Metric], how: Resampling) -> dict[str, Difference]:
    """B against A, metric by metric."""
    a, b = Stats.unified([a.by_unit(), b.by_unit()])
    if len(a) != len(b) or (a.units != b.units).any() or (a.weight != b.weight).any():
        raise InputError("the two predictions were not scored on the same units", remedy="Use the same truth for both.")
    plain = Plain(a.weight)
    for metric in metrics:  # makes the derived columns, so that one pass serves all
        metric.reduce(a, plain)
        metric.reduce(b, plain)
    stacked = Stats.stack([a, b])
    both = Plain(stacked.weight)
    for metric in metrics:
        metric.reduce(stacked, both)

    keys = unit_keys(a.units)
    drawn = BootstrapDraws(keys, plain.array, how.seed, how.draws)
    drawn.prefetch(plain.seen.values())
    swaps = [SwapDraws(keys, plain.array, how.seed, how.draws, other=other) for other in (False, True)]
    for swap in swaps:
        swap.prefetch(both.seen.values())

    scores_a, scores_b = (score(side, metrics, how, drawn) for side in (a, b))
    sides = [Sides(swap) for swap in swaps]
    confidence = 0.95 if how.confidence is None else how.confidence
    found: list[Difference] = []
    for metric in metrics:
        spec = str(metric)
        value = float(_difference(metric, a, b, plain)[0])
        interval, p = None, float("nan")
        if not np.isnan(value) and len(a) > 1:
            draws = _difference(metric, a, b, drawn)
            if metric.leans:
                interval = centred_interval(draws, value, confidence)
            elif len(a) < BCA_BELOW:
                jackknife = _difference(metric, a, b, LeaveOneOut(plain.array))
                interval = bca_interval(draws, value, jackknife, confidence)
            else:
                interval = percentile_interval(draws, confidence)
            # As the worlds are made, which may be in single precision.
            seen = float((_goodness(metric, stacked, sides[1]) - _goodness(metric, stacked, sides[0]))[0])
            worlds = _goodness(metric, stacked, swaps[1]) - _goodness(metric, stacked, swaps[0])
            p = _p_value(min(abs(value), abs(seen)), worlds)
        found.append(
            Difference(
                spec=spec,
                label=metric.label,
                a=scores_a[spec],
                b=scores_b[spec],
                difference=value,
                interval=interval,
                p=p,
                p_holm=float("nan"),
                verdict="",
                units=scores_a[spec].units,
                why=scores_a[spec].why or scores_b[spec].why,
                better=metric.better,
                measure=metric.measure,
            )
        )
    return {d.spec: d for d in judged(found, 1 - confidence)}


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction. nan stays nan and does not count."""
    order = sorted((i for i, p in enumerate(p_values) if p == p), key=lambda i: p_values[i])
    corrected = [float("nan")] * len(p_values)
    largest = 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p_values[i]))
        corrected[i] = largest
    return corrected


def _goodness(metric: Metric, stats: Stats, weights: Weights) -> Floats:
    """The value, or its distance from the best one for a metric that is best at zero or at one."""
    value = metric.reduce(stats, weights)
    best = {"zero": 0.0, "one": 1.0}.get(metric.better)
    return value if best is None else np.abs(value - best)


def _difference(metric: Metric, a: Stats, b: Stats, weights: Weights) -> Floats:
    return _goodness(metric, b, weights) - _goodness(metric, a, weights)


def _p_value(size: float, worlds: Floats) -> float:
    worlds = worlds[~np.isnan(worlds)]
    # A world equal to the observed one up to rounding is as extreme as it.
    as_extreme = np.count_nonzero(np.abs(worlds) >= size * (1 - 1e-12))
    return (1 + as_extreme) / (1 + len(worlds))


def judged_together(
    groups: Mapping[str, Mapping[str, Difference]], confidence: float
) -> dict[str, dict[str, Difference]]:
    """The same differences with Holm's correction over all groups at once: slices, classes, or several models."""
    flat = [(name, spec) for name, group in groups.items() for spec in group]
    together = judged([groups[name][spec] for name, spec in flat], 1 - confidence)
    found: dict[str, dict[str, Difference]] = {name: {} for name in groups}
    for (name, spec), difference in zip(flat, together, strict=True):
        found[name][spec] = difference
    return found


def judged(differences: list[Difference], alpha: float) -> list[Difference]:
    """The same with Holm's p and the verdicts at that level."""
    corrected = holm([d.p for d in differences])
    judged = []
    for d, p in zip(differences, corrected, strict=True):
        if d.p != d.p:
            verdict = "undefined"
        elif p >= alpha or d.difference == 0:
            verdict = NO_DIFFERENCE
        elif d.better == "none":
            verdict = "differs"
        else:
            verdict = "better" if (d.difference > 0) == (d.better == "higher") else "worse"
        judged.append(Difference(**{**d.__dict__, "p_holm": p, "verdict": verdict}))
    return judged
