"""What a rule says of a result: fail, pass, or undecided where the interval lies on both sides of the bound.

A bound that is a number is held against the score's interval. A baseline is held against the interval of the
difference, which comes from, in this order: the randomisation of a comparison, or the same from the influences that
both results keep; the draws of both results, where they are paired; their intervals, as if they were independent. The
verdict says which. With `p < level` the rule asks for proof that it failed, and all else passes; without it the
interval must prove either side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.core import catalogue
from steelyard.core.errors import InputError, InvalidSpec, nearest
from steelyard.core.frozen import Frozen
from steelyard.core.slice import Slice, slice_key, slice_parts, slice_text
from steelyard.engine.differences import (
    DifferenceEstimate,
    by_draws,
    by_intervals,
    degrees_of_freedom,
    least_df,
    standard_error,
)
from steelyard.engine.intervals import LINE, Bounds, Interval
from steelyard.engine.kept import KeptModel, facts_of, model_metrics, same_keys
from steelyard.engine.looks import at_level
from steelyard.engine.paired import Pair
from steelyard.gating.rules import EVERY, Rule
from steelyard.results.comparison import Comparison
from steelyard.results.gate import Method, Outcome, Verdict
from steelyard.results.influences import Influences
from steelyard.results.report import Report
from steelyard.results.score import Difference, Score, Scores


class Against(Frozen):
    """A result and what it is held against."""

    result: Report
    baseline: Report | None = None
    same_truth: bool = True

    @property
    def unpaired_reason(self) -> str:
        """Why the draws of the two are not paired; nothing where they are."""
        assert self.baseline is not None
        a, b = self.baseline.request, self.result.request
        if not self.same_truth:
            return "the two stand on different truth"
        if (a.seed, a.draws) != (b.seed, b.draws):
            return f"seeds and draws differ ({a.seed} and {b.seed}, {a.draws:,} and {b.draws:,})"
        if (a.cluster, a.strata) != (b.cluster, b.strata):
            return "clusters or strata differ"
        return ""

    def without_influences(self, specs: Iterable[str], place: tuple[Slice, Slice] | None = None) -> str:
        """Why the two cannot be compared by influences, in all or in a slice; nothing where they can."""
        assert self.baseline is not None
        a, b = self.baseline.request, self.result.request
        if a.runs is not None or b.runs is not None:
            return "results of several runs are paired only where the files of all runs are compared"
        influences = [influences_at(one, place) for one in (self.baseline, self.result)]
        if any(one is None or any(spec not in one.models[0] for spec in specs) for one in influences):
            return "both must keep influences to be compared pairwise"
        if not self.same_truth:
            return "the two stand on different truth"
        if (a.cluster, a.strata) != (b.cluster, b.strata):
            return "clusters or strata differ"
        if a.sequence is not None or b.sequence is not None:
            return "the intervals of one of them are a sequence"
        if any(one.coverage.missing and one.request.missing == "skip" for one in (self.baseline, self.result)):
            return "predictions are missing, and each result leaves out its own"
        first, second = (one for one in influences if one is not None)
        return "" if same_keys(first, second) else "the two were not scored on the same units"


def influences_at(report: Report, place: tuple[Slice, Slice] | None) -> Influences | None:
    """The influences of a result, in all or in a slice."""
    if place is None:
        return report.influences
    return (report.slice_influences or {}).get(place[0], {}).get(place[1])


def kept_model(report: Report, place: tuple[Slice, Slice] | None = None) -> KeptModel:
    """The model of a result that keeps influences, in all or in a slice."""
    influences = influences_at(report, place)
    assert influences is not None
    scores = report.scores if place is None else report.slices[place[0]][place[1]]
    return KeptModel(influences, 0, scores, report.request.seed, report.request.draws)


def judge_report(rule: Rule, against: Against) -> list[Verdict]:
    """The verdicts of a rule: one, or one per slice."""
    return [_judge(rule, place, scores, base, against) for place, scores, base in _places(rule, against)]


def judge_comparison(rule: Rule, comparison: Comparison) -> list[Verdict]:
    """The verdict of a rule about a comparison, whose A is the baseline and whose B is the result."""
    if rule.slice:
        raise _wrong(rule, "a comparison holds no slices", "Give two results instead, one of them as `baseline`.")
    spec = spec_of(rule, comparison.task, comparison.differences, "the comparison")
    difference: Difference = comparison.differences[spec]
    confidence = comparison.b.request.level
    if not rule.on_baseline:
        return [_by_number(rule, "", difference.b, comparison.task, confidence)]
    _check_direction(rule, difference.better)
    if comparison.influences is not None and comparison.b.request.sequence is None:
        scores = ({spec: difference.a}, {spec: difference.b})
        asked = comparison.b.request
        models = [KeptModel(comparison.influences, i, scores[i], asked.seed, asked.draws) for i in range(2)]
        return [_by_influences(rule, "", spec, models, confidence)]
    if rule.percent or (rule.margin and rule.level is not None) or (rule.absolute and difference.better != "zero"):
        raise _wrong(
            rule, "the comparison has no influences, so it knows the plain difference only",
            "Make it with `save_influences=True`.",
        )  # fmt: skip
    reach = difference.interval
    if rule.spent is not None:
        room = _width(comparison.task, spec, difference.better) if difference.se == 0 else math.inf
        bounds = difference.difference - room, difference.difference + room
        levels = 1 - confidence, rule.spent
        reach = at_level(difference.difference, reach, bounds, difference.se, difference.df, levels)
    interval = reach and (reach[0] - rule.margin, reach[1] - rule.margin)
    estimate = DifferenceEstimate(difference.difference - rule.margin, interval, difference.p)
    a, b = (abs(s.value) if rule.absolute else s.value for s in (difference.a, difference.b))
    note = _cannot_fail(rule, spec, difference.smallest_p)
    return [
        _by_difference(
            rule, "", difference.b, a, b, estimate, "paired randomisation", difference.undefined_reason, note
        )
    ]


def _places(rule: Rule, against: Against) -> Iterable[tuple[tuple[Slice, Slice] | None, Scores, Scores | None]]:
    """The scores that a rule is about, with those of the baseline."""
    result, baseline = against.result, against.baseline if rule.on_baseline else None
    if not rule.slice:
        return [(None, result.scores, None if baseline is None else baseline.scores)]
    by = slice_key([column for column, _ in rule.slice])
    wanted = tuple(text for _, text in rule.slice)
    parts = _slices(rule, result, by, "the result")
    base = None if baseline is None else _slices(rule, baseline, by, "the baseline")
    places: list[tuple[tuple[Slice, Slice] | None, Scores, Scores | None]] = []
    for value in [value for value in parts if _fits(value, wanted)] if EVERY in wanted else [slice_key(wanted)]:
        for side, have in (("the result", parts), ("the baseline", base)):
            if have is not None and value not in have:
                suggestion = nearest(slice_text(value), [slice_text(one) for one in have])
                raise _wrong(rule, f"{side} has no slice '{slice_text(value)}' by {slice_text(by)}", suggestion)
        places.append(((by, value), parts[value], None if base is None else base[value]))
    if not places:
        suggestion = nearest(", ".join(wanted), [slice_text(one) for one in parts])
        raise _wrong(rule, f"no slice by {slice_text(by)} fits '{', '.join(wanted)}'", suggestion)
    return places


def _fits(value: Slice, wanted: tuple[str, ...]) -> bool:
    return all(text in (EVERY, had) for text, had in zip(wanted, slice_parts(value), strict=True))


def _slices(rule: Rule, report: Report, by: Slice, side: str) -> Mapping[Slice, Scores]:
    if by not in report.slices:
        have = ", ".join(f"'{slice_text(name, ',')}'" for name in report.slices) or "none"
        named = slice_text(by, ",")
        raise _wrong(rule, f"{side} has no slices by '{named}'", f"It has: {have}. Evaluate with `by='{named}'`.")
    return report.slices[by]


def _judge(
    rule: Rule, place: tuple[Slice, Slice] | None, scores: Scores, base: Scores | None, against: Against
) -> Verdict:
    where = "" if place is None else f"{slice_text(place[0], ',')}={slice_text(place[1])}"
    spec = spec_of(rule, against.result.task, scores, "the result")
    score = scores[spec]
    if not rule.on_baseline:
        return _by_number(rule, where, score, against.result.task, against.result.request.level)
    if base is None or against.baseline is None:
        raise _wrong(rule, "there is no baseline", "Name its result: `baseline='base.json'`.")
    if spec not in base:
        raise _wrong(rule, f"the baseline has no score '{spec}'", nearest(spec, base))
    _check_direction(rule, score.better)
    before = base[spec]
    size: Callable[[Any], Any] = np.abs if rule.absolute else _same
    a, b = float(size(before.value)), float(size(score.value))
    difference = b - _bound(rule, a)
    confidence = against.result.request.level
    without = against.without_influences([spec], place)
    if not without:
        models = [kept_model(one, place) for one in (against.baseline, against.result)]
        return _by_influences(rule, where, spec, models, confidence)
    confidence = confidence if rule.spent is None else 1 - rule.spent
    why_not = against.unpaired_reason or (without if before.draws is None or score.draws is None else "")
    if not why_not:
        with np.errstate(invalid="ignore"):  # of two infinities
            drawn = size(score.draws) - _bound(rule, size(before.draws))
        estimate = by_draws(difference, drawn, confidence, least_df(before, score))
        return _by_difference(
            rule, where, score, a, b, estimate, "paired draws", before.undefined_reason or score.undefined_reason
        )
    errors = (
        standard_error(before, against.baseline.request.confidence) * _slope(rule, a),
        standard_error(score, against.result.request.confidence),
    )
    degrees = degrees_of_freedom(before), degrees_of_freedom(score)
    estimate = by_intervals(difference, errors, confidence, degrees)
    note = f"{rule.metric} is compared as if the two results were independent: {why_not}."
    return _by_difference(
        rule, where, score, a, b, estimate, "unpaired", before.undefined_reason or score.undefined_reason, note
    )


def _by_influences(rule: Rule, where: str, spec: str, models: Sequence[KeptModel], confidence: float) -> Verdict:
    """The verdict by the test that the data would give, of B less the baseline with its margin."""
    before, score = (one.scores[spec] for one in models)
    size: Callable[[float], float] = abs if rule.absolute else float
    a, b = size(before.value), size(score.value)
    facts = replace(facts_of(score, models[1].metric(spec)), better="zero" if rule.absolute else "higher")
    sides = [side[spec] for side in model_metrics(models, [spec])]
    times, shift = (max(_slope(rule, a), 0.0), 0.0) if rule.percent else (1.0, rule.margin)
    difference = b - float(_bound(rule, a))
    if math.isnan(difference):
        return _by_difference(
            rule, where, score, a, b, DifferenceEstimate(difference, None, math.nan), "paired randomisation",
            before.undefined_reason or score.undefined_reason,
        )  # fmt: skip
    estimate, test = Pair(facts, sides[0], sides[1], confidence).estimate_difference(times, shift)
    interval = estimate.interval
    if rule.spent is not None:
        at_look = Pair(facts, sides[0], sides[1], 1 - rule.spent).estimate_difference(times, shift)[0].interval
        levels = 1 - confidence, rule.spent  # so few units have no interval at the level of a look: it is widened
        interval = at_look or at_level(difference, interval, LINE, estimate.se, estimate.df, levels)
    note = ""
    if rule.threshold is not None and test.least >= rule.threshold:
        note = (
            f"{spec} has no p below {test.least:.2g} with so few units: this rule cannot fail at {rule.threshold:.2g}."
        )
    shown = DifferenceEstimate(difference, interval, test.p, estimate.se)
    return _by_difference(
        rule, where, score, a, b, shown, "paired randomisation", before.undefined_reason or score.undefined_reason, note
    )


def _cannot_fail(rule: Rule, spec: str, least: float) -> str:
    """What must be said where no p of so few units lies below the rule's level."""
    if rule.threshold is None or not least >= rule.threshold:
        return ""
    return f"{spec} has no p below {least:.2g} with so few units: this rule cannot fail at {rule.threshold:.2g}."


def _same(value: Any) -> Any:
    return value


def range_of(task: str, spec: str) -> Bounds:
    """The range of a metric; the whole line where it is not known here."""
    try:
        return catalogue.parse(spec, task).range if task in catalogue.TASKS else LINE
    except InputError:
        return LINE


def _width(task: str, spec: str, better: str) -> float:
    """How far two values of a metric may lie apart, or their distances from its best value."""
    low, high = range_of(task, spec)
    best = {"zero": 0.0, "one": 1.0}.get(better)
    return high - low if best is None else max(high - best, best - low)


def _bound(rule: Rule, base: Any) -> Any:
    """The baseline with its margin, of a value or of draws."""
    return base + np.abs(base) * rule.margin / 100 if rule.percent else base + rule.margin


def _slope(rule: Rule, base: float) -> float:
    """How much the bound moves with the baseline."""
    return 1 + math.copysign(rule.margin / 100, rule.margin * base) if rule.percent else 1.0


def _by_number(rule: Rule, where: str, score: Score, task: str, confidence: float) -> Verdict:
    assert rule.bound is not None
    value, interval = score.value, score.interval
    if rule.spent is not None:
        bounds, levels = range_of(task, score.spec), (1 - confidence, rule.spent)
        interval = at_level(value, interval, bounds, score.se, score.df, levels)
    if rule.absolute:
        value, interval = abs(value), _size(interval)
    method: Method = "interval"
    notes: tuple[str, ...] = ()
    if math.isnan(value):
        outcome, why = _undecided_outcome(f"undefined: {score.undefined_reason or 'the score does not exist'}")
    elif interval is None:
        method = "value"
        notes = (f"{score.spec} has no interval in the result: its value alone decides.",)
        outcome, why = _plainly(rule, value, rule.bound)
    else:
        outcome, why = _straddle(rule, interval, rule.bound, "interval", rule.target)
    return Verdict(
        rule.text, outcome, why, score.spec, score.label, where, value, interval, rule.bound,
        method=method, better=score.better, measured_in=score.measured_in, notes=notes,
    )  # fmt: skip


def _by_difference(
    rule: Rule,
    where: str,
    score: Score,
    a: float,
    b: float,
    estimate: DifferenceEstimate,
    method: Method,
    undefined: str,
    note: str = "",
) -> Verdict:
    notes = [note] if note else []
    bound, level = float(_bound(rule, a)), rule.threshold
    outcome: Outcome
    if math.isnan(estimate.difference):
        outcome, why = _undecided_outcome(f"undefined: {undefined or 'there is no difference'}")
    elif level is not None:
        if math.isnan(estimate.p):
            outcome, why = _undecided_outcome("there is no p: one of the results has no interval")
        elif not rule.holds(b, bound):
            outcome, why = _plainly(rule, b, bound)
        elif estimate.p < level:
            outcome, why = "fail", f"{rule.relation[0]} {rule.target}, and p is below {level:.2g}"
        else:
            outcome, why = "pass", f"{rule.relation[0]} {rule.target}, but p is not below {level:.2g}: not shown"
    elif estimate.interval is None:
        method = "value"
        notes = [f"{score.spec} has no interval of the difference: the values alone decide."]
        outcome, why = _plainly(rule, b, bound)
    else:
        outcome, why = _straddle(rule, estimate.interval, 0.0, "interval of the difference", "0")
    improving = {"higher": rule.operator[0] == ">", "lower": rule.operator[0] == "<"}.get(score.better, False)
    if improving:
        notes.append(f"{score.spec} is better when {score.better}: '{rule.text}' fails on an improvement.")
    return Verdict(
        rule.text, outcome, why, score.spec, score.label, where, b,
        _size(score.interval) if rule.absolute else score.interval,
        bound, a, estimate.difference, estimate.interval, estimate.p, rule.level, method,
        score.better, score.measured_in, tuple(notes),
    )  # fmt: skip


def _undecided_outcome(why: str) -> tuple[Outcome, str]:
    return "undecided", why


def _plainly(rule: Rule, value: float, bound: float) -> tuple[Outcome, str]:
    if rule.holds(value, bound):
        return "fail", f"it is {rule.relation[0]} {rule.target}"
    return "pass", f"it is {rule.relation[1]} {rule.target}"


def _straddle(rule: Rule, interval: tuple[float, float], bound: float, name: str, target: str) -> tuple[Outcome, str]:
    ends = [rule.holds(end, bound) for end in interval]
    if all(ends):
        return "fail", f"the whole {name} is {rule.relation[0]} {target}"
    if not any(ends):
        return "pass", f"the whole {name} is {rule.relation[1]} {target}"
    return "undecided", f"the {name} lies on both sides of {target}"


def _size(interval: Interval | None) -> Interval | None:
    """The interval of the absolute value."""
    if interval is None:
        return None
    low, high = sorted(abs(end) for end in interval)
    return (0.0 if interval[0] <= 0 <= interval[1] else low), high


def _check_direction(rule: Rule, better: str) -> None:
    if better == "zero" and not rule.absolute:
        raise _wrong(rule, f"'{rule.metric}' is best at zero", f"Compare its size: |{rule.metric}| > baseline.")
    if rule.noninferior and (rule.margin < 0) != (better == "higher"):
        raise _wrong(
            rule, f"'{rule.metric}' is better when {better}, so this margin lies on the wrong side",
            f"Write 'baseline {'-' if better == 'higher' else '+'} {abs(rule.margin):g}': how much may be lost.",
        )  # fmt: skip
    if better == "one":
        raise _wrong(rule, f"'{rule.metric}' is best at one", "Hold it against numbers, from both sides.")


def spec_of(rule: Rule, task: str, have: Any, side: str) -> str:
    """The spec under which the scores hold the rule's metric."""
    if rule.metric in have:
        return rule.metric
    canonical = rule.metric
    if task in catalogue.TASKS:
        try:
            canonical = str(catalogue.parse(rule.metric, task))
        except InputError as error:
            raise _wrong(rule, error.what, nearest(rule.metric, have)) from None
    if canonical not in have:
        remedy = f"{nearest(canonical, have)} Or evaluate with the metric '{canonical}'."
        raise _wrong(rule, f"{side} has no score '{canonical}'", remedy)
    return canonical


def _wrong(rule: Rule, what: str, remedy: str) -> InputError:
    return InvalidSpec(f"rule '{rule.text}': {what}", remedy=remedy)
