"""Two finished results as a comparison: by their draws where they are paired, else by their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.core.errors import InputError
from steelyard.engine.differences import (
    DifferenceEstimate,
    by_draws,
    by_intervals,
    degrees_of_freedom,
    least_df,
    standard_error,
)
from steelyard.engine.families import UnjudgedDifference, judged
from steelyard.engine.intervals import Estimate, of_distances
from steelyard.gating.judge import Against
from steelyard.results.comparison import Comparison, Lineup
from steelyard.results.origin import Model
from steelyard.results.report import Report
from steelyard.results.score import Difference, Score

_BEST = {"zero": 0.0, "one": 1.0}


def compare_results(a: Report, b: Report) -> Comparison:
    """B against A in the scores that both hold; the notes say how. Differences are B minus A."""
    return compare_many([a, b]).comparisons[0]


def compare_many(reports: Sequence[Report], names: Sequence[str] = ()) -> Lineup:
    """Each against the first, in the scores that both hold; p is corrected for all of them together."""
    first, *others = reports
    called = names or [""] * len(reports)
    unjudged = [_unjudged(first, other) for other in others]
    flat = [UnjudgedDifference(d) for differences, _, _ in unjudged for d in differences]
    confidence = max(level for _, _, level in unjudged)
    whole = iter(judged(flat, 1 - confidence, "holm"))
    comparisons = []
    for (differences, notes, _), other, name in zip(unjudged, others, called[1:], strict=True):
        comparisons.append(
            Comparison(
                task_facts=other.task_facts,
                a=Model(first.request, first.sources, first.coverage, called[0]),
                b=Model(other.request, other.sources, other.coverage, name),
                differences={d.spec: d for d in (next(whole) for _ in differences)},
                notes=notes,
            )
        )
    return Lineup(tuple(comparisons))


def _unjudged(a: Report, b: Report) -> tuple[list[Difference], tuple[str, ...], float]:
    """The differences of two results, how they were had, and the level of their intervals."""
    if a.task != b.task:
        raise InputError(
            f"one result is of task '{a.task}', the other of '{b.task}'", remedy="Choose two of the same task."
        )
    shared = [spec for spec in a.scores if spec in b.scores]
    if not shared:
        raise InputError("the two results share no score", remedy="Evaluate both with the same metrics.")
    against = Against(b, a, a.sources.truth.digest == b.sources.truth.digest)
    lacking = any(report.scores[spec].draws is None for report in (a, b) for spec in shared)
    reason = against.unpaired or ("one of them holds no draws (--save-draws)" if lacking else "")
    confidence = b.request.confidence or a.request.confidence or 0.95
    differences = [_difference(a, b, spec, confidence, paired=not reason) for spec in shared]
    note = (
        f"Made from the two results, as if they were independent: {reason}."
        if reason
        else "Made from the paired bootstrap draws of the two results."
    )
    left = [spec for spec in (*a.scores, *b.scores) if (spec in a.scores) != (spec in b.scores)]
    return differences, (note, *([f"In one of the two only: {', '.join(left)}."] if left else [])), confidence


def _difference(a: Report, b: Report, spec: str, confidence: float, *, paired: bool) -> Difference:
    first, second = a.scores[spec], b.scores[spec]
    value = _distance(second, second.value) - _distance(first, first.value)
    if paired and first.draws is not None and second.draws is not None:
        estimate = _by_draws(first, second, confidence)
    elif math.isnan(value):
        estimate = DifferenceEstimate(value, None, math.nan)
    else:
        errors = standard_error(first, a.request.confidence), standard_error(second, b.request.confidence)
        estimate = by_intervals(value, errors, confidence, (degrees_of_freedom(first), degrees_of_freedom(second)))
    return Difference(
        spec=spec,
        label=second.label,
        a=replace(first, draws=None),
        b=replace(second, draws=None),
        difference=value,
        interval=estimate.interval,
        p=estimate.p,
        p_holm=math.nan,
        verdict="",
        units=second.units,
        why=first.why or second.why,
        se=estimate.se,
        df=least_df(first, second) if math.isnan(estimate.df) else estimate.df,
        p_method="draws" if paired else "intervals",
        better=second.better,
        measured_in=second.measured_in,
    )


def _by_draws(first: Score, second: Score, confidence: float) -> DifferenceEstimate:
    """From paired draws. Of distances from the best value, the interval is made of what has a sign, as in `compare`."""
    best, df = _BEST.get(second.better), least_df(first, second)
    value = _distance(second, second.value) - _distance(first, first.value)
    estimate = by_draws(value, _distance(second, second.draws) - _distance(first, first.draws), confidence, df)
    if best is None or estimate.interval is None:
        return estimate

    def signed(turn: float) -> DifferenceEstimate:
        """B's value plus or less A's, both from the best value."""
        at = second.value - best + turn * (first.value - best)
        drawn: Any = np.asarray(second.draws) - best + turn * (np.asarray(first.draws) - best)
        return by_draws(at, drawn, confidence, df)

    gap, total = signed(-1.0), signed(1.0)
    ends = (Estimate(one.interval, one.se) for one in (gap, total))
    made = of_distances(gap.difference, total.difference, *ends)
    return replace(estimate, interval=made.interval, se=made.se)


def _distance(score: Score, value: Any) -> Any:
    """The value, or how far it lies from the best one for a score that is best at zero or at one."""
    best = _BEST.get(score.better)
    return value if best is None else abs(value - best)
