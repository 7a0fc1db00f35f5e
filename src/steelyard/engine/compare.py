"""Two models on the same units: the difference, its interval, and whether chance could have made it.

Both the p-value and the interval come from flips of the units' influences (`flips`), so a verdict never contradicts the
interval beside it. The null hypothesis is stated by `null_hypothesis`. `families` corrects p for all that is shown
together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from steelyard.core.metric import Metric
from steelyard.core.request import Request
from steelyard.core.state import State
from steelyard.core.units import Units
from steelyard.engine.families import UnjudgedDifference
from steelyard.engine.flips import FlipTest, Influence
from steelyard.engine.intervals import LINE, Estimate, UnitSample, by_halves
from steelyard.engine.margins import margins_of
from steelyard.engine.paired import MetricTraits, ModelMetric, Pair
from steelyard.engine.proxy import CorrectedDifference, corrected_difference
from steelyard.engine.quantiles import t_tail
from steelyard.engine.score import nothing_drawn, sample_of
from steelyard.engine.sequence import sequenced_difference
from steelyard.engine.sides import ComparedModel
from steelyard.engine.superiority import superiority
from steelyard.engine.together import cluster_variance
from steelyard.results.score import FewLabels, Score

IN_POPULATION = "in the population of units"


def compare(
    first: ComparedModel, second: ComparedModel, metrics: Sequence[Metric], request: Request, *, same: bool = False
) -> dict[str, UnjudgedDifference]:
    """B against A, metric by metric, not judged yet.

    `same` says that the two predictions are one: then no difference is a fact, and not a finding.
    """
    a, scores = first.state, [side.scores for side in (first, second)]
    sample = sample_of(a.units)
    confidence = request.level
    margins = margins_of({spec: m for spec, m in request.margin.items() if spec in set(map(str, metrics))}, metrics)
    differences: dict[str, UnjudgedDifference] = {}
    for metric in metrics:
        spec = str(metric)
        pair = pair_of(metric, first, second, sample, confidence)
        estimate, test = Estimate(), None
        changed: dict[str, Any] = {}
        if a.units.n_resampled < 2:
            estimate = nothing_drawn(a.units, request)
        elif math.isinf(pair.difference):
            estimate = Estimate(undefined_reason="a value is infinite")
        elif not math.isnan(pair.difference):
            estimate, test = pair.shown_estimate(same=same)
            if metric.resampling == "halves":
                estimate, p = halves_difference(metric, first.state, second.state, pair.difference, confidence)
                changed = {"p": 1.0 if same else p, "p_method": "halves"}
            if request.sequence is not None and not metric.total:
                states = (first.state, second.state)
                estimate, p, method = sequenced_difference(metric, states, pair.difference, estimate, request)
                changed = {"p": p, "p_method": method}
        raw = unjudged_difference(pair, scores[0][spec], scores[1][spec], estimate, test)
        if isinstance(pair, JudgedPair):
            changed["few_labels"] = pair.few_labels
            changed["notes"] = (pair.gain(estimate), *raw.difference.notes)
        elif first.judged is not None and not metric.total and not math.isnan(pair.difference):
            note = f"{spec} is compared by truth alone: it has no value by the proxy."
            changed["notes"] = (note, *raw.difference.notes)
        shown = replace(
            raw.difference,
            superiority=superiority(metric, first, second, request) if request.superiority else None,
            cluster_variance=cluster_variance(metric, (first.state, second.state)) if estimate.se > 0 else None,
            **changed,
            **pair.margin(margins.get(spec), estimate),
        )
        differences[spec] = UnjudgedDifference(shown, None if "p" in changed else test, raw.least)
    return differences


def halves_difference(
    metric: Metric, first: State, second: State, difference: float, confidence: float
) -> tuple[Estimate, float]:
    """The difference of a metric that has only values in halves of the units: both models are split alike."""
    a, b = (metric.halves(state) for state in (first, second))
    if a is None or b is None:
        return by_halves(difference, None, LINE, confidence), math.nan
    estimate = by_halves(difference, b - a, LINE, confidence)
    if not estimate.se > 0:
        return estimate, float(difference == 0)
    return estimate, t_tail(abs(difference) / estimate.se, estimate.df)


def unjudged_difference(
    pair: Pair, a: Score, b: Score, estimate: Estimate, test: FlipTest | None, where: str = IN_POPULATION
) -> UnjudgedDifference:
    """A difference as it is shown, with its test. `where` names what the null hypothesis is about."""
    p, method, least = (math.nan, "", math.nan) if test is None else (test.p, test.method, test.least)
    null = null_hypothesis(pair.facts.spec, pair.facts.better, where)
    return UnjudgedDifference(pair.difference_of_scores(a, b, estimate, p, method, null), test, least)


def null_hypothesis(spec: str, better: str, where: str = IN_POPULATION) -> str:
    """What the p of a comparison tests, in one line."""
    if better in ("zero", "one"):
        return f"both models have the same distance of {spec} from {'0' if better == 'zero' else '1'} {where}"
    return f"both models have the same {spec} {where}"


def pair_of(metric: Metric, first: ComparedModel, second: ComparedModel, sample: UnitSample, confidence: float) -> Pair:
    """One metric of two models from their states; by truth and proxy where both have a value by it."""
    facts, sides = MetricTraits.of(metric), (first, second)

    def pair(both: Sequence[ComparedModel]) -> Pair:
        a, b = (_model_metric(side, metric, sample) for side in both)
        return Pair(facts, a, b, confidence)

    same = [side.judged for side in sides if side.judged is not None]
    others = [side.others for side in sides if side.others is not None]
    by_proxy = [*same, *others]
    defined = all(metric in side.influences and not math.isnan(side.plain.of(metric)[0]) for side in by_proxy)
    if len(by_proxy) < 4 or not defined or metric.total:
        return pair(sides)
    values = [side.scores[facts.spec].value for side in sides]
    return JudgedPair(pair(sides), pair(same), pair(others), values, first.state.units, others[0].state.units)


def combine_models(
    metric: Metric, sides: Sequence[ComparedModel], i: int, j: int, times: float
) -> tuple[float, Influence]:
    """Model i plus `times` model j, and the influences of the units on that."""
    return pair_of(metric, sides[j], sides[i], sample_of(sides[i].state.units), 0.95).combine_models(times)


class JudgedPair(Pair):
    """One metric of two models by truth on some units and by a proxy on all.

    The pairs are by truth, by the proxy on the same units, and by the proxy on the others; `values` are the models'
    scores by truth and proxy.
    """

    def __init__(
        self, by_truth: Pair, same: Pair, others: Pair, values: Sequence[float], labelled: Units, judged: Units
    ) -> None:
        super().__init__(by_truth.facts, *by_truth.sides, by_truth.confidence)
        self.by_truth, self.same, self.others, self.labelled, self.judged = by_truth, same, others, labelled, judged
        self.a, self.b = (value - (self.best or 0.0) for value in values)

    def corrected_difference(self, times: float) -> CorrectedDifference:
        """B plus `times` A, with a trust of its own."""
        by_truth, same, others = (pair.combine_models(times) for pair in (self.by_truth, self.same, self.others))
        return corrected_difference(by_truth, same, others, self.labelled)

    def combine_models(self, times: float) -> tuple[float, Influence]:
        """B plus `times` A, and the influences of the labelled units on that."""
        both = self.corrected_difference(times)
        return both.value, both.influence

    @property
    def difference(self) -> float:
        """B less A; of a metric that is best at zero or one, of their distances from it."""
        gap = self.corrected_difference(-1.0).value
        if self.best is None:
            return gap
        total = self.corrected_difference(1.0).value
        return math.copysign(1, gap) * math.copysign(1, total) * min(abs(gap), abs(total))

    @cached_property
    def few_labels(self) -> FewLabels:
        """What truth alone says of the difference, and how far the proxy is trusted."""
        alone, _ = self.by_truth.estimate_difference()
        own = self.corrected_difference(-1.0)
        return FewLabels(
            others=self.judged.count,
            trust=own.trust,
            correction="difference",
            labels_alone=self.by_truth.difference,
            labels_interval=alone.interval,
            labels_se=alone.se,
            proxy_alone=self.others.difference,
            labelled=self.labelled.count,
            residual_variance=own.of_labels * self.labelled.count,
            proxy_variance=own.spread,
        )

    def gain(self, estimate: Estimate) -> str:
        """What the proxy changed, in a sentence."""
        about = self.few_labels
        text = f"{self.facts.spec}: {about.labelled:,} labelled and {about.others:,} judged units, λ {about.trust:.2f}"
        text += f"; the difference is {about.labels_alone:.4g} by truth alone"
        if estimate.interval is None or about.labels_interval is None:
            return f"{text}."
        width, before = (high - low for low, high in (estimate.interval, about.labels_interval))
        change = 100 * (width / before - 1) if before > 0 else 0.0
        return f"{text}, and the interval is {abs(change):.0f} % {'narrower' if change <= 0 else 'wider'}."


def _model_metric(side: ComparedModel, metric: Metric, sample: UnitSample) -> ModelMetric:
    """One model's metric, as a test of differences needs it."""
    return ModelMetric(
        float(side.plain.of(metric)[0]),
        side.influences.get(metric),
        partial(side.drawn.of, metric),
        partial(side.agreeing, metric, sample),
    )
