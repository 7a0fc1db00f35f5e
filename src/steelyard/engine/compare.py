"""Two models on the same units: the difference, its interval, and whether chance could have made it.

Both the p-value and the interval come from flips of the units' influences (`flips`), so a verdict never contradicts the
interval beside it. The null hypothesis is stated by `null_hypothesis`. `families` corrects p for all that is shown
together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from steelyard.core.metric import Metric
from steelyard.core.request import Request
from steelyard.engine.families import UnjudgedDifference
from steelyard.engine.flips import FlipTest
from steelyard.engine.intervals import Estimate, Sample
from steelyard.engine.margins import margins_of
from steelyard.engine.paired import Facts, ModelMetric, Pair
from steelyard.engine.score import nothing_drawn, sample_of
from steelyard.engine.sequence import sequenced_difference
from steelyard.engine.sides import Side
from steelyard.engine.superiority import superiority
from steelyard.results.score import Score

IN_POPULATION = "in the population of units"


def compare(
    first: Side, second: Side, metrics: Sequence[Metric], request: Request, *, same: bool = False
) -> dict[str, UnjudgedDifference]:
    """B against A, metric by metric, not judged yet.

    `same` says that the two predictions are one: then no difference is a fact, and not a finding.
    """
    a, scores = first.state, [side.scores for side in (first, second)]
    sample = sample_of(a.units)
    confidence = 0.95 if request.confidence is None else request.confidence
    margins = margins_of({spec: m for spec, m in request.margin.items() if spec in set(map(str, metrics))}, metrics)
    differences: dict[str, UnjudgedDifference] = {}
    for metric in metrics:
        spec = str(metric)
        pair = pair_of(metric, first, second, sample, confidence)
        estimate, test = Estimate(), None
        changed: dict[str, Any] = {}
        if a.units.drawn < 2:
            estimate = nothing_drawn(a.units, request)
        elif not math.isnan(pair.difference):
            estimate, test = pair.shown(same=same)
            if request.sequence is not None and not metric.total:
                states = (first.state, second.state)
                estimate, p, method = sequenced_difference(metric, states, pair.difference, estimate, request)
                changed = {"p": p, "p_method": method}
        one = unjudged(pair, scores[0][spec], scores[1][spec], estimate, test)
        shown = replace(
            one.difference,
            superiority=superiority(metric, first, second, request) if request.superiority else None,
            **changed,
            **pair.margin(margins.get(spec), estimate),
        )
        differences[spec] = UnjudgedDifference(shown, None if changed else test, one.least)
    return differences


def unjudged(
    pair: Pair, a: Score, b: Score, estimate: Estimate, test: FlipTest | None, where: str = IN_POPULATION
) -> UnjudgedDifference:
    """A difference as it is shown, with its test. `where` names what the null hypothesis is about."""
    p, method, least = (math.nan, "", math.nan) if test is None else (test.p, test.method, test.least)
    null = null_hypothesis(pair.facts.spec, pair.facts.better, where)
    return UnjudgedDifference(pair.compared(a, b, estimate, p, method, null), test, least)


def null_hypothesis(spec: str, better: str, where: str = IN_POPULATION) -> str:
    """What the p of a comparison tests, in one line."""
    if better in ("zero", "one"):
        return f"both models have the same distance of {spec} from {'0' if better == 'zero' else '1'} {where}"
    return f"both models have the same {spec} {where}"


def pair_of(metric: Metric, first: Side, second: Side, sample: Sample, confidence: float) -> Pair:
    """One metric of two models from their states."""
    return Pair(
        Facts.of(metric), _model_metric(first, metric, sample), _model_metric(second, metric, sample), confidence
    )


def _model_metric(side: Side, metric: Metric, sample: Sample) -> ModelMetric:
    """One model's metric, as a test of differences needs it."""
    return ModelMetric(
        float(side.plain.of(metric)[0]),
        side.influences.get(metric),
        partial(side.drawn.of, metric),
        partial(side.agreeing, metric, sample),
    )
