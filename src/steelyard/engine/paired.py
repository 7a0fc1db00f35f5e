"""One metric of two models on the same resampling units: the difference, its interval and its test by flips.

All it takes are values and influences, so that data, finished results and pooled sets go the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.core.frozen import Frozen
from steelyard.core.metric import Metric
from steelyard.core.weights import Floats
from steelyard.engine.flips import AGREEMENT, FlipTest, Influence, flip_test, nearer, of_agreement
from steelyard.engine.intervals import CAP, Estimate, Interval, UnitSample, of_distances
from steelyard.engine.margins import Margin, margin_verdict
from steelyard.engine.measure import reads_curve
from steelyard.engine.planning import min_detectable
from steelyard.engine.score import remarks
from steelyard.results.score import Difference, Score

BEST = {"zero": 0.0, "one": 1.0}  # of metrics whose distance from the best value is compared


class MetricTraits(Frozen):
    """What a test of a difference must know of a metric; `curve` says that it reads a ranking."""

    spec: str
    better: str
    range: tuple[float, float]
    total: bool = False
    curve: bool = False

    @staticmethod
    def of(metric: Metric) -> MetricTraits:
        """The facts of a metric."""
        return MetricTraits(str(metric), metric.better, metric.range, metric.total, reads_curve(metric))


def draw_cap(curve: bool, se: float, draws: Callable[[], Floats | None]) -> float:
    """By how much the jackknife is too large for a ranked metric, held against the draws; 1 for other metrics."""
    values = draws() if curve else None
    if values is None:
        return 1.0
    defined = values[~np.isnan(values)]
    spread = float(defined.std(ddof=1)) if len(defined) > 1 else math.nan
    return min(1.0, CAP * spread / se) if spread > 0 and se > 0 else 1.0


class ModelMetric(Frozen):
    """A metric of one model: its value, the influences of the resampling units, its draws, and the units that have a
    value of their own. The last two take long, and are asked for where they are needed.
    """

    value: float
    influence: Influence | None
    draws: Callable[[], Floats | None]
    resting: Callable[[], UnitSample]


class Pair:
    """One metric of two models. `best` is the value from which distances are compared; None compares values."""

    def __init__(self, facts: MetricTraits, first: ModelMetric, second: ModelMetric, confidence: float) -> None:
        self.facts, self.sides, self.confidence = facts, (first, second), confidence
        self.best = BEST.get(facts.better)
        self.a, self.b = (side.value - (self.best or 0.0) for side in self.sides)
        self.width = facts.range[1] - facts.range[0]

    @property
    def difference(self) -> float:
        """B less A; of a metric that is best at zero or one, of their distances from it."""
        return self.b - self.a if self.best is None else abs(self.b) - abs(self.a)

    def shown_estimate(self, *, same: bool = False) -> tuple[Estimate, FlipTest]:
        """The estimate and the test as a comparison shows them; `same` says that the two predictions are one."""
        estimate, test = self.estimate_difference()
        if same:
            estimate = Estimate((0.0, 0.0), 0.0, estimate.df)
        return Estimate() if self.facts.total else estimate, test

    def estimate_difference(self, times: float = 1.0, shift: float = 0.0) -> tuple[Estimate, FlipTest]:
        """The estimate and the test of B less `times` A less `shift`, or of their distances from the best value.

        |b| - |a| = 0 means that b - a or b + a is 0, so both must be rejected; |b| - |a| = shift means that one of
        them is the shift or its opposite.
        """
        shifts = (shift,) if self.best is None or shift == 0 else (shift, -shift)
        gaps = [self.signed_estimate(-times, s) for s in shifts]
        if self.best is None:
            return gaps[0]
        totals = [self.signed_estimate(times, s) for s in shifts]
        test = nearer([one for _, one in (*gaps, *totals)])
        gap, total = (one.difference + shift for _, one in (gaps[0], totals[0]))
        ends = [replace(one, interval=_shift_interval(one.interval, shift)) for one, _ in (gaps[0], totals[0])]
        estimate = of_distances(gap, total, *ends)
        return replace(estimate, interval=_shift_interval(estimate.interval, -shift)), test

    def signed_estimate(self, times: float, shift: float = 0.0) -> tuple[Estimate, FlipTest]:
        """B plus `times` A less a shift."""
        difference, influence = self.combine_models(times)
        units, bounded = len(influence.psi), math.isfinite(self.width)
        far = (1 + abs(times)) / 2 * self.width
        if not influence.varies:
            test = flip_test(difference - shift, influence, self.confidence)
            resting = self.sides[0].resting()
            if bounded and not self.facts.total:
                estimate, p = of_agreement(difference, far, resting, self.confidence, shift)
                estimate = replace(estimate, interval=_shift_interval(estimate.interval, -shift))
                return estimate, replace(test, p=p, method=AGREEMENT, interval=estimate.interval)
            share = resting.may_differ(self.confidence)
            agree = f"all {resting.units:,} units agree; up to {100 * share:.2g} % of units may differ"
            return Estimate(None, 0.0, max(units - 1, 1), agree), test
        test = flip_test(difference - shift, influence, self.confidence)
        notes: tuple[str, ...] = ()
        if influence.lost:
            notes = (f"has no value without {influence.lost:,} of {units:,} units; their influence is taken as 0",)
        why, interval = "", test.interval
        if interval is None:
            why = f"{units} units are too few for a confidence of {100 * self.confidence:g} %"
        elif bounded:
            interval = max(interval[0], -far - shift), min(interval[1], far - shift)
        return Estimate(interval, influence.se, influence.df, why, notes), test

    def combine_models(self, times: float) -> tuple[float, Influence]:
        """B plus `times` A, and the influences of the units on that."""
        first, second = self.sides
        assert first.influence is not None
        assert second.influence is not None
        influence = second.influence.add_weighted(first.influence, 1.0, times)
        cap = draw_cap(self.facts.curve and influence.varies, influence.se, lambda: self.draws(times))
        return self.b + times * self.a, influence if cap == 1 else influence.scale_by(cap)

    def draws(self, times: float) -> Floats | None:
        """B plus `times` A under the bootstrap draws; None where they are not known."""
        first, second = (side.draws() for side in self.sides)
        return None if first is None or second is None else second + times * first

    def difference_of_scores(
        self, a: Score, b: Score, estimate: Estimate, p: float, method: str, null: str
    ) -> Difference:
        """The difference of two models' scores, not judged yet."""
        return Difference(
            spec=self.facts.spec,
            label=b.label,
            a=a,
            b=b,
            difference=self.difference,
            interval=estimate.interval,
            p=p,
            p_holm=math.nan,
            verdict="",
            units=a.units,
            undefined_reason=a.undefined_reason or b.undefined_reason,
            better=b.better,
            measured_in=b.measured_in,
            se=estimate.se,
            df=estimate.df,
            notes=remarks(self.facts.spec, estimate),
            p_method=method,
            min_detectable=min_detectable(estimate.se, estimate.df, self.confidence),
            null_hypothesis=null,
        )

    def margin(self, margin: Margin | None, estimate: Estimate) -> dict[str, Any]:
        """What the difference says of a margin. A share of A's value is as uncertain as that value."""
        if margin is None or math.isnan(self.difference):
            return {}
        turn = 1.0 if self.facts.better == "higher" else -1.0
        sign = math.copysign(1.0, self.a) if self.best is None else 1.0
        size = margin.size * abs(self.a) if margin.relative else margin.size
        ends: list[Interval | None] = []
        for part in (1.0, -1.0):
            interval, away = estimate.interval, part * size
            if margin.relative:
                interval, away = (
                    self.estimate_difference(max(1 - turn * part * margin.size * sign, 0.0))[0].interval,
                    0.0,
                )
            low, high = (-math.inf, math.inf) if interval is None else sorted(turn * end for end in interval)
            ends.append((low + away, high + away))
        return {
            "margin": size,
            "margin_relative": margin.size if margin.relative else math.nan,
            "margin_verdict": margin_verdict(ends[0], ends[1]),
            "margin_level": (1 - self.confidence) / 2,
        }


def _shift_interval(interval: Interval | None, by: float) -> Interval | None:
    return None if interval is None else (interval[0] + by, interval[1] + by)
