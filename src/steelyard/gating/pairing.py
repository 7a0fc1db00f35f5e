"""Finished results as a comparison: by their influences, as from data; else by paired draws, or by their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.core.errors import Incompatible
from steelyard.engine.compare import unjudged_difference
from steelyard.engine.differences import (
    DifferenceEstimate,
    by_draws,
    by_intervals,
    degrees_of_freedom,
    least_df,
    standard_error,
)
from steelyard.engine.families import UnjudgedDifference, judge_family
from steelyard.engine.intervals import Estimate, of_distances
from steelyard.engine.kept import facts_of, model_metrics
from steelyard.engine.paired import BEST, Pair
from steelyard.engine.ranks import standing
from steelyard.gating.judge import Against, kept_model
from steelyard.results.comparison import Comparison, Lineup, Standing
from steelyard.results.origin import Model
from steelyard.results.report import Report
from steelyard.results.score import Difference, Score

NO_ERRORS = "a result without intervals says nothing of chance: evaluate both with intervals"


def compare_results(a: Report, b: Report) -> Comparison:
    """B against A in the scores that both hold; the notes say how. Differences are B minus A."""
    return compare_many([a, b]).comparisons[0]


def compare_many(reports: Sequence[Report], names: Sequence[str] = ()) -> Lineup:
    """Each against the first, in the scores that both hold; p is corrected for all of them together."""
    first, *others = reports
    called = names or [""] * len(reports)
    each = [_unjudged_differences(first, other) for other in others]
    flat = [one for differences, _, _ in each for one in differences]
    confidence = max(level for _, _, level in each)
    adjust = first.request.adjust if all(one.test is not None for one in flat if one.difference.p >= 0) else "holm"
    whole = iter(judge_family(flat, 1 - confidence, adjust))
    comparisons = []
    for (differences, notes, _), other, name in zip(each, others, called[1:], strict=True):
        comparisons.append(
            Comparison(
                task_facts=other.task_facts,
                a=Model(first.request, first.sources, first.coverage, called[0]),
                b=Model(other.request, other.sources, other.coverage, name),
                differences={d.spec: d for d in (next(whole) for _ in differences)},
                notes=notes,
            )
        )
    return Lineup(tuple(comparisons), _standings(reports, confidence) if len(reports) > 2 else {})


def _standings(reports: Sequence[Report], confidence: float) -> dict[str, Standing]:
    """The ranks that each result may have, by metric, where all of them keep influences of the same units."""
    specs = [spec for spec in reports[0].scores if all(spec in one.scores for one in reports)]
    if any(Against(one, reports[0], _same_truth(reports[0], one)).without_influences(specs) for one in reports[1:]):
        return {}
    models = [kept_model(one) for one in reports]
    sides = model_metrics(models, specs)
    each = {}
    for spec in specs:
        held = [side[spec] for side in sides]
        influences = [one.influence for one in held if one.influence is not None]
        facts = facts_of(models[0].scores[spec], models[0].metric(spec))
        each[spec] = standing(facts, [one.value for one in held], influences, confidence)
    return {spec: one for spec, one in each.items() if one is not None}


def _same_truth(a: Report, b: Report) -> bool:
    return a.sources.truth.digest == b.sources.truth.digest


def _unjudged_differences(a: Report, b: Report) -> tuple[list[UnjudgedDifference], tuple[str, ...], float]:
    """The differences of two results, how they were computed, and the level of their intervals."""
    if a.task != b.task:
        raise Incompatible(
            f"one result is of task '{a.task}', the other of '{b.task}'", remedy="Choose two of the same task."
        )
    shared = [spec for spec in a.scores if spec in b.scores]
    if not shared:
        raise Incompatible("the two results share no score", remedy="Evaluate both with the same metrics.")
    against = Against(b, a, _same_truth(a, b))
    confidence = b.request.confidence or a.request.confidence or 0.95
    left = [spec for spec in (*a.scores, *b.scores) if (spec in a.scores) != (spec in b.scores)]
    in_one = [f"In one of the two only: {', '.join(left)}."] if left else []
    without = against.without_influences(shared)
    if not without:
        note = "Made from the influences of the units on both results, as a comparison from the data is."
        return _by_influences(a, b, shared, confidence), (note, *in_one), confidence
    lacking = any(report.scores[spec].draws is None for report in (a, b) for spec in shared)
    reason = against.unpaired_reason or (without if lacking else "")
    differences = [UnjudgedDifference(_difference(a, b, spec, confidence, paired=not reason)) for spec in shared]
    note = (
        f"Made from the two results, as if they were independent: {reason}."
        if reason
        else "Made from the paired bootstrap draws of the two results."
    )
    return differences, (note, *in_one), confidence


def _by_influences(a: Report, b: Report, specs: Sequence[str], confidence: float) -> list[UnjudgedDifference]:
    """The differences and tests that the data would give."""
    models = [kept_model(a), kept_model(b)]
    first, second = model_metrics(models, specs)
    same = a.sources.predictions.digest == b.sources.predictions.digest
    raw = []
    for spec in specs:
        pair = Pair(facts_of(b.scores[spec], models[1].metric(spec)), first[spec], second[spec], confidence)
        estimate, test = (Estimate(), None) if math.isnan(pair.difference) else pair.shown_estimate(same=same)
        scores = [replace(one.scores[spec], draws=None) for one in (a, b)]
        raw.append(unjudged_difference(pair, scores[0], scores[1], estimate, test))
    return raw


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
        undefined_reason=first.undefined_reason
        or second.undefined_reason
        or ("" if estimate.p == estimate.p else NO_ERRORS),
        se=estimate.se,
        df=least_df(first, second) if math.isnan(estimate.df) else estimate.df,
        p_method="draws" if paired else "intervals",
        better=second.better,
        measured_in=second.measured_in,
    )


def _by_draws(first: Score, second: Score, confidence: float) -> DifferenceEstimate:
    """From paired draws. Of distances from the best value, the interval is made of what has a sign, as in `compare`."""
    best, df = BEST.get(second.better), least_df(first, second)
    value = _distance(second, second.value) - _distance(first, first.value)
    estimate = by_draws(value, _distance(second, second.draws) - _distance(first, first.draws), confidence, df)
    if best is None or estimate.interval is None:
        return estimate

    def signed_estimate(turn: float) -> DifferenceEstimate:
        """B's value plus or less A's, both from the best value."""
        at = second.value - best + turn * (first.value - best)
        drawn: Any = np.asarray(second.draws) - best + turn * (np.asarray(first.draws) - best)
        return by_draws(at, drawn, confidence, df)

    gap, total = signed_estimate(-1.0), signed_estimate(1.0)
    ends = (Estimate(one.interval, one.se) for one in (gap, total))
    distance = of_distances(gap.difference, total.difference, *ends)
    return replace(estimate, interval=distance.interval, se=distance.se)


def _distance(score: Score, value: Any) -> Any:
    """The value, or how far it lies from the best one for a score that is best at zero or at one."""
    best = BEST.get(score.better)
    return value if best is None else abs(value - best)
