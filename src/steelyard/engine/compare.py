"""Two models on the same units: the difference, how sure it is, and whether chance could have made it.

The interval is a paired bootstrap: both models are weighed with the same draws. The p-value is a paired randomisation
over units: each unit's two results are swapped or not by a coin, and p is the share of such worlds with a difference
at least as large. Of few units, where a metric says so, all such worlds are walked. Holm's correction holds the chance
of any false claim over all metrics shown.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from steelyard.core.errors import InputError
from steelyard.core.metric import Metric
from steelyard.core.plan import JACKKNIFE, POINT, Plan
from steelyard.core.request import Request
from steelyard.core.state import State
from steelyard.core.totals import Totals
from steelyard.core.weights import EverySwap, Floats, Role
from steelyard.engine.intervals import (
    BCA_BELOW,
    FEW_UNITS,
    bca_interval,
    centred_interval,
    percentile_interval,
    t_interval,
)
from steelyard.engine.score import announce, score
from steelyard.results.score import Difference

NO_DIFFERENCE = "no difference shown"
MOST_LISTED = 12  # units of which all swaps are walked
G = TypeVar("G", bound=Hashable)


def compare(a: State, b: State, metrics: Sequence[Metric], request: Request) -> dict[str, Difference]:
    """B against A, metric by metric. Both must list their units, the same ones."""
    a, b = State.unified([a, b])
    if len(a) != len(b) or (a.units.ids != b.units.ids).any() or (a.units.own != b.units.own).any():
        raise InputError("the two predictions were not scored on the same units", remedy="Use the same truth for both.")
    stacked = State.stack([a, b])
    plain = [side.totals(POINT) for side in (a, b)]
    values = [[float(totals.of(metric)[0]) for metric in metrics] for totals in plain]
    drawn_weights = request.plan.bind(a.units)
    for totals in plain:
        announce(drawn_weights, totals)
    scores = [score(side, metrics, request, drawn_weights) for side in (a, b)]

    drawn = [Totals(side, drawn_weights) for side in (a, b)]
    left_out = [side.totals(JACKKNIFE) for side in (a, b)]
    swaps = [stacked.totals(Plan(Role.SWAP, request.seed, 0, request.draws, second)) for second in (False, True)]
    observed = [stacked.totals(Plan(Role.OBSERVED, request.seed, 0, request.draws, second)) for second in (False, True)]
    listed = any(metric.few == "t" for metric in metrics) and a.units.count <= MOST_LISTED
    every = [Totals(stacked, EverySwap(a.units.own, other=second)) for second in (False, True)] if listed else []
    both = stacked.totals(POINT)
    if any(metric.adapted() is not metric for metric in metrics):
        for metric in metrics:
            both.of(metric)
        for swap in swaps:
            announce(swap.weights, both)

    confidence = 0.95 if request.confidence is None else request.confidence
    found: list[Difference] = []
    for metric, value_a, value_b in zip(metrics, *values, strict=True):
        spec = str(metric)
        value = float(_goodness(metric, np.array([value_b]))[0] - _goodness(metric, np.array([value_a]))[0])
        interval, p = None, float("nan")
        if not np.isnan(value) and len(a) > 1:
            draws = _difference(metric, drawn)
            few = metric.few == "t" and a.units.count < FEW_UNITS
            if metric.total:
                interval = None
            elif few:
                interval = t_interval(value, _difference(metric, left_out)[a.units.counted > 0], confidence)
            elif metric.leans:
                interval = centred_interval(draws, value, confidence)
            elif len(a) < BCA_BELOW:
                interval = bca_interval(draws, value, _difference(metric, left_out), confidence)
            else:
                interval = percentile_interval(draws, confidence)
            # As the worlds are made, which may be in single precision.
            seen = float(_difference(metric, observed)[0])
            p = _p_value(min(abs(value), abs(seen)), _difference(metric, swaps))
            if few and a.units.count <= MOST_LISTED:
                p = _exact_p(value, _difference(metric, every))
        found.append(
            Difference(
                spec=spec,
                label=metric.label,
                a=scores[0][spec],
                b=scores[1][spec],
                difference=value,
                interval=interval,
                p=p,
                p_holm=float("nan"),
                verdict="",
                units=scores[0][spec].units,
                why=scores[0][spec].why or scores[1][spec].why,
                better=metric.better,
                measured_in=metric.measure,
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


def _goodness(metric: Metric, value: Floats) -> Floats:
    """The value, or its distance from the best one for a metric that is best at zero or at one."""
    best = {"zero": 0.0, "one": 1.0}.get(metric.better)
    return value if best is None else np.abs(value - best)


def _difference(metric: Metric, sides: Sequence[Totals]) -> Floats:
    """The second side's value less the first's."""
    first, second = (_goodness(metric, totals.of(metric)) for totals in sides)
    return second - first


def _exact_p(size: float, worlds: Floats) -> float:
    """The share of all worlds that are as extreme; the one that was seen is among them."""
    worlds = worlds[~np.isnan(worlds)]
    return float(np.count_nonzero(np.abs(worlds) >= abs(size) * (1 - 1e-12)) / max(1, len(worlds)))


def _p_value(size: float, worlds: Floats) -> float:
    worlds = worlds[~np.isnan(worlds)]
    # A world equal to the observed one up to rounding is as extreme as it.
    as_extreme = np.count_nonzero(np.abs(worlds) >= size * (1 - 1e-12))
    return (1 + as_extreme) / (1 + len(worlds))


def judged_together(groups: Mapping[G, Mapping[str, Difference]], confidence: float) -> dict[G, dict[str, Difference]]:
    """The same differences with Holm's correction over all groups at once: slices, classes, or several models."""
    flat = [(name, spec) for name, group in groups.items() for spec in group]
    together = judged([groups[name][spec] for name, spec in flat], 1 - confidence)
    found: dict[G, dict[str, Difference]] = {name: {} for name in groups}
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
