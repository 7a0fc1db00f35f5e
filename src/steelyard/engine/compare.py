"""Two models on the same units: the difference, its interval, and whether chance could have made it.

Both the p-value and the interval come from flips of the units' influences (`flips`), so a verdict never contradicts the
interval beside it. The null hypothesis is stated by `null_hypothesis`. `families` corrects p for all that is shown
together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from steelyard.core.metric import Metric
from steelyard.core.need import Curve
from steelyard.core.request import Request
from steelyard.core.weights import Floats
from steelyard.engine.families import UnjudgedDifference
from steelyard.engine.flips import AGREEMENT, FlipTest, flip_test, nearer, of_agreement
from steelyard.engine.intervals import CAP, FEW_DF, Estimate, Interval, Sample, of_distances
from steelyard.engine.margins import Margin, margin_verdict, margins_of
from steelyard.engine.planning import showable
from steelyard.engine.score import nothing_drawn, remarks, sample_of
from steelyard.engine.sequence import sequenced_difference
from steelyard.engine.sides import Side
from steelyard.results.score import Difference, Direction, Score


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
        values = [float(side.plain.of(metric)[0]) for side in (first, second)]
        pair = Pair(metric, first, second, values[0], values[1], sample, confidence)
        estimate, test, p, method, least = Estimate(), None, math.nan, "", math.nan
        if a.units.drawn < 2:
            estimate = nothing_drawn(a.units, request)
        elif not math.isnan(pair.difference):
            estimate, test = pair.estimated()
            p, method, least = test.p, test.method, test.least
            if same:
                estimate = Estimate((0.0, 0.0), 0.0, estimate.df)
            if metric.total:
                estimate = Estimate()
            elif request.sequence is not None:
                states = (first.state, second.state)
                estimate, p, method = sequenced_difference(metric, states, pair.difference, estimate, request)
                test = None
        difference = pair.compared(scores, estimate, p, method, null_hypothesis(metric), margins.get(spec))
        differences[spec] = UnjudgedDifference(difference, test, least)
    return differences


def null_hypothesis(metric: Metric) -> str:
    """What the p of a comparison tests, in one line."""
    if metric.better in ("zero", "one"):
        best = "0" if metric.better == "zero" else "1"
        return f"both models have the same distance of {metric} from {best} in the population of units"
    return f"both models have the same {metric} in the population of units"


def draw_cap(metric: Metric, se: float, draws: Callable[[], Floats]) -> float:
    """By how much the jackknife is too large for a ranked metric, held against the draws; 1 for other metrics."""
    if not any(isinstance(need, Curve) for need in metric.needs()):
        return 1.0
    values = draws()
    kept = values[~np.isnan(values)]
    spread = float(kept.std(ddof=1)) if len(kept) > 1 else math.nan
    return min(1.0, CAP * spread / se) if spread > 0 and se > 0 else 1.0


class Pair:
    """One metric of two models."""

    def __init__(
        self, metric: Metric, first: Side, second: Side, a: float, b: float, sample: Sample, confidence: float
    ) -> None:
        self.metric, self.sides, self.sample, self.confidence = metric, (first, second), sample, confidence
        self.best = {"zero": 0.0, "one": 1.0}.get(metric.better)
        self.a, self.b = (value - (self.best or 0.0) for value in (a, b))  # from the best value, where there is one
        self.width = metric.range[1] - metric.range[0]

    @property
    def difference(self) -> float:
        """B less A; of a metric that is best at zero or one, of their distances from it."""
        return self.b - self.a if self.best is None else abs(self.b) - abs(self.a)

    def estimated(self, times: float = 1.0) -> tuple[Estimate, FlipTest]:
        """The estimate and the test of B less `times` A, or of their distances from the best value.

        |b| - |a| = 0 means that b - a or b + a is 0, so both must be rejected.
        """
        gap, of_gap = self.signed(-times)
        if self.best is None:
            return gap, of_gap
        total, of_total = self.signed(times)
        test = nearer([of_gap, of_total])
        return of_distances(of_gap.difference, of_total.difference, gap, total), test

    def signed(self, times: float) -> tuple[Estimate, FlipTest]:
        """B plus `times` A."""
        first, second = self.sides
        difference = self.b + times * self.a
        influence = second.influences[self.metric].joined(first.influences[self.metric], 1.0, times)
        units, bounded = len(influence.psi), math.isfinite(self.width)
        if not influence.varies:
            test = flip_test(difference, influence, self.confidence)
            resting = first.agreeing(self.metric, self.sample)
            if bounded and not self.metric.total:
                estimate, p = of_agreement(difference, (1 + abs(times)) / 2 * self.width, resting, self.confidence)
                return estimate, replace(test, p=p, method=AGREEMENT, interval=estimate.interval)
            share = resting.may_differ(self.confidence)
            agree = f"all {resting.units:,} units agree; up to {100 * share:.2g} % of units may differ"
            return Estimate(None, 0.0, max(units - 1, 1), agree), test
        influence = influence.scaled(draw_cap(self.metric, influence.se, lambda: self.draws(times)))
        test = flip_test(difference, influence, self.confidence)
        notes: tuple[str, ...] = ()
        if influence.lost:
            notes = (f"has no value without {influence.lost:,} of {units:,} units; their influence is taken as 0",)
        if influence.df < FEW_DF and test.interval is not None:
            notes = (*notes, "rests on few units: the interval is likely too narrow")
        why, interval = "", test.interval
        if interval is None:
            why = f"{units} units are too few for a confidence of {100 * self.confidence:g} %"
        elif bounded:
            far = (1 + abs(times)) / 2 * self.width
            interval = max(interval[0], -far), min(interval[1], far)
        return Estimate(interval, influence.se, influence.df, why, notes), test

    def draws(self, times: float) -> Floats:
        """B plus `times` A under the bootstrap draws."""
        first, second = (side.drawn.of(self.metric) for side in self.sides)
        return second + times * first

    def compared(
        self, scores: Sequence[Mapping[str, Score]], estimate: Estimate, p: float, method: str, null: str,
        margin: Margin | None,
    ) -> Difference:  # fmt: skip
        """The difference of two models' scores, not judged yet."""
        spec = str(self.metric)
        a, b = (each[spec] for each in scores)
        return Difference(
            spec=spec,
            label=self.metric.label,
            a=a,
            b=b,
            difference=self.difference,
            interval=estimate.interval,
            p=p,
            p_holm=math.nan,
            verdict="",
            units=a.units,
            why=a.why or b.why,
            better=cast("Direction", self.metric.better),
            measured_in=self.metric.measured_in,
            se=estimate.se,
            df=estimate.df,
            notes=remarks(spec, estimate),
            p_method=method,
            showable=showable(estimate.se, estimate.df, self.confidence),
            null_hypothesis=null,
            **self.margin(margin, estimate),
        )

    def margin(self, margin: Margin | None, estimate: Estimate) -> dict[str, Any]:
        """What the difference says of a margin. A share of A's value is as uncertain as that value."""
        if margin is None or math.isnan(self.difference):
            return {}
        turn = 1.0 if self.metric.better == "higher" else -1.0
        sign = math.copysign(1.0, self.a) if self.best is None else 1.0
        size = margin.size * abs(self.a) if margin.relative else margin.size
        ends: list[Interval | None] = []
        for part in (1.0, -1.0):
            interval, away = estimate.interval, part * size
            if margin.relative:
                interval, away = self.estimated(max(1 - turn * part * margin.size * sign, 0.0))[0].interval, 0.0
            low, high = (-math.inf, math.inf) if interval is None else sorted(turn * end for end in interval)
            ends.append((low + away, high + away))
        return {
            "margin": size,
            "margin_relative": margin.size if margin.relative else math.nan,
            "margin_verdict": margin_verdict(ends[0], ends[1]),
            "margin_level": (1 - self.confidence) / 2,
        }
