"""A new test set against an old one: what changed, and how much of that is another mix of groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from typing import Any

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.errors import Incompatible, InvalidResult, MissingData, ShapeMismatch, Unsupported, first_few
from steelyard.core.request import crossed_columns
from steelyard.core.slice import Slice, slice_key, slice_text
from steelyard.engine.differences import DifferenceEstimate, by_intervals, degrees_of_freedom, standard_error
from steelyard.engine.families import UnjudgedDifference, judge_family
from steelyard.engine.planning import min_detectable
from steelyard.engine.sets import Part, drift_estimate, squares_of
from steelyard.results.comparison import Comparison, Lineup
from steelyard.results.read import edit_notes, read_result
from steelyard.results.report import Report
from steelyard.results.result import Result
from steelyard.results.score import Difference, Score
from steelyard.results.sets import Drift, DriftGroup

Source = Report | str | PathLike[str] | Mapping[str, Any]
By = str | Sequence[str]
NAMES = ("old", "new")  # of results in memory; those of files are their paths
ROUNDING = 1e-9  # within which the mean of groups is the value


def drift(old: Source, new: Source, *, by: By = (), names: Sequence[str] = NAMES) -> Drift:
    """Hold a model's result on a new test set against that on an old one: `drift("march.json", "may.json")`.

    The two sets have units of their own, so the test is Welch's. `by` names a column that both results were sliced by,
    or several crossed ("site,size"): the new set is then weighed to the old mix of its groups, and the rest is shown as
    the mix. That takes results made with `save_influences`, and metrics that are means over units. `names` are those of
    the two sets; without them files are called by their paths.
    """
    held, called, edited = _read((old, new), names)
    before, after = held
    _check(before, after, called)
    shared = [spec for spec in before.scores if spec in after.scores]
    if not shared:
        raise Incompatible("the two results share no metric", remedy="Evaluate both with the same metrics.")
    confidence = after.request.confidence or before.request.confidence or 0.95
    mix = _Mix(before, after, called, slice_key(crossed_columns(by))) if by else None
    notes = [*edited, *_notes(before, after, called), *(mix.notes if mix else [])]
    raw, plain, rest = [], {}, {}
    for spec in shared:
        a, b = before.scores[spec], after.scores[spec]
        estimate, why = (_plain(before, after, spec, confidence), "") if mix is None else mix.change(spec, confidence)
        raw.append(_difference(a, b, estimate, why, confidence, mix))
        plain[spec] = _distance(b) - _distance(a)
        rest[spec] = plain[spec] - estimate.difference
    if mix is not None and all(math.isnan(one.difference.difference) for one in raw):
        raise Incompatible(
            f"no metric can be weighed to the old mix: {raw[0].difference.undefined_reason}", where=called[1],
            remedy="Choose metrics that are means over units, or leave `by` out.",
        )  # fmt: skip
    differences = {d.spec: d for d in judge_family(raw, 1 - confidence, "holm")}
    units = tuple(max((score.units for score in one.scores.values()), default=0) for one in held)
    return Drift(
        after.task, after.unit, confidence, called[0], called[1], (units[0], units[1]), differences,
        "" if mix is None else slice_text(mix.by), plain if mix else {}, rest if mix else {},
        () if mix is None else mix.groups, tuple(notes),
    )  # fmt: skip


def _read(sources: tuple[Source, Source], names: Sequence[str]) -> tuple[list[Report], list[str], tuple[str, ...]]:
    if len(names) != 2:
        raise ShapeMismatch(f"{count_text(len(names), 'name')} for 2 sets", remedy="Name the old and the new set.")
    held: list[Report] = []
    called = [
        fspath(source) if isinstance(source, str | PathLike) and tuple(names) == NAMES else name
        for source, name in zip(sources, names, strict=True)
    ]
    for source, name in zip(sources, called, strict=True):
        result = source if isinstance(source, Result) else read_result(source, name)
        if isinstance(result, Comparison | Lineup):
            raise InvalidResult(
                f"is a {result.kind}, and drift is of one model", where=name, remedy="Give a result of evaluate."
            )
        if not isinstance(result, Report):
            raise InvalidResult(f"is a {result.kind}", where=name, remedy="Give a result of evaluate.")
        held.append(result)
    return held, called, edit_notes(zip(called, held, strict=True))


def _check(before: Report, after: Report, called: Sequence[str]) -> None:
    if before.task != after.task:
        raise Incompatible(
            f"is of task '{after.task}', and {called[0]} of '{before.task}'", where=called[1],
            remedy="Give results of one task.",
        )  # fmt: skip
    if before.sources.truth.digest == after.sources.truth.digest:
        raise Incompatible(
            f"has the same truth as {called[0]}, and drift is between two test sets", where=called[1],
            remedy="Compare two results on one truth with 'steelyard compare'.",
        )  # fmt: skip
    for report, name in ((before, called[0]), (after, called[1])):
        if report.request.confidence is None:
            raise MissingData("has no intervals", where=name, remedy="Evaluate it without `confidence=None`.")
        if report.request.sequence is not None:
            raise Unsupported("was made with `sequence`", where=name, remedy="Evaluate it without.")


def _notes(before: Report, after: Report, called: Sequence[str]) -> list[str]:
    notes = []
    first, second = before.influences, after.influences
    shared: str = ""
    if first is not None and second is not None and "groups" not in (first.of, second.of):
        count = len(np.intersect1d(first.unit_keys, second.unit_keys))
        shared = count_text(count, first.of.removesuffix("s")) if count else ""
    elif before.sources.truth_units is not None and after.sources.truth_units is not None:
        share = before.sources.truth_units.shared_fraction(after.sources.truth_units)
        shared = f"About {100 * share:.2g} % of the units" if share else ""
    if shared:
        notes.append(
            f"{shared} of {called[0]} {'has' if shared.startswith('1 ') else 'have'} the id of one in {called[1]}: "
            "the two sets are taken as independent."
        )
    left = [spec for spec in (*before.scores, *after.scores) if (spec in before.scores) != (spec in after.scores)]
    if left:
        notes.append(f"In one of the two only: {', '.join(left)}.")
    a, b = before.request, after.request
    for setting, one, other in (
        ("missing", a.missing, b.missing), ("extra", a.extra, b.extra), ("options", dict(a.options), dict(b.options)),
    ):  # fmt: skip
        if one != other:
            notes.append(f"The two were made with different settings: {setting} {one} and {other}.")
    return notes


def _plain(before: Report, after: Report, spec: str, confidence: float) -> DifferenceEstimate:
    """New less old of whole sets: from influences, or from the scores' standard errors."""
    a, b = before.scores[spec], after.scores[spec]
    if math.isnan(a.value) or math.isnan(b.value):
        return DifferenceEstimate(math.nan, None, math.nan)
    parts = []
    for report, score in ((before, a), (after, b)):
        influence = None if report.influences is None else report.influences.models[0].get(spec)
        if influence is None or len(influence.psi) < 2:
            errors = standard_error(a, before.request.confidence), standard_error(b, after.request.confidence)
            value = _distance(b) - _distance(a)
            return by_intervals(value, errors, confidence, (degrees_of_freedom(a), degrees_of_freedom(b)))
        parts.append(Part(score.value, len(influence.psi), squares_of(influence, score.draws)))
    units = parts[0].units, parts[1].units
    estimate = drift_estimate(parts[:1], parts[1:], b.better, units, confidence)[1]
    agree = not parts[0].squares + parts[1].squares > 0
    return _agreeing([(1.0, a, b)], estimate.difference, confidence) if agree else estimate


def _agreeing(groups: Sequence[tuple[float, Score, Score]], difference: float, confidence: float) -> DifferenceEstimate:
    """The difference of two sets in whose groups all units agree: MOVER over all intervals, and a bound of p.

    Each group has its share of the old set, and its score in both.
    """
    below, above = [], []
    for share, a, b in groups:
        if a.interval is None or b.interval is None or a.better in ("zero", "one"):
            return DifferenceEstimate(difference, None, math.nan)
        below += [share * (b.value - b.interval[0]), share * (a.interval[1] - a.value)]
        above += [share * (b.interval[1] - b.value), share * (a.value - a.interval[0])]
    low, high = difference - math.hypot(*below), difference + math.hypot(*above)
    return DifferenceEstimate(difference, (low, high), 1.0 if low <= 0 <= high else 1 - confidence)


def _distance(score: Score) -> float:
    best = {"zero": 0.0, "one": 1.0}.get(score.better)
    return score.value if best is None else abs(score.value - best)


class _Mix:
    """The groups of two results by a column, and what changed at the old mix of them."""

    def __init__(self, before: Report, after: Report, called: Sequence[str], by: Slice) -> None:
        self.reports, self.called, self.by = (before, after), called, by
        for report, name in zip(self.reports, called, strict=True):
            self._check(report, name)
        old, new = (self._units(report) for report in self.reports)
        both = [value for value in old if value in new]
        if not both:
            raise Incompatible(
                f"no group of '{slice_text(by)}' is in both results", where=called[1],
                remedy="Slice both by a column with the same values.",
            )  # fmt: skip
        self.both, total = both, sum(old[value] for value in both)
        self.groups = tuple(
            DriftGroup(
                slice_text(value), old.get(value, 0), new.get(value, 0),
                old[value] / total if value in both else 0.0, value not in both,
            )
            for value in dict.fromkeys([*old, *new])
        )  # fmt: skip
        self.notes = []
        for word, have, lack in (("new", old, new), ("old", new, old)):
            without = [slice_text(value) for value in have if value not in lack]
            if without:
                named = first_few(without)
                self.notes.append(f"Left out, without {word} units: {slice_text(by)} {named}.")

        alone = [slice_text(value) for value in both if 1 in (old[value], new[value])]
        if alone:
            self.notes.append(
                f"One unit alone in one of the sets, whose spread is taken as 0, so that intervals may be too narrow: "
                f"{slice_text(by)} {first_few(alone)}."
            )

    def _check(self, report: Report, name: str) -> None:
        by, request = slice_text(self.by, ","), report.request
        if report.influences is None:
            raise MissingData("has no influences", where=name, remedy="Make it with `save_influences=True`.")
        if self.by not in report.slices or self.by not in (report.slice_influences or {}):
            have = ", ".join(f"'{slice_text(one, ',')}'" for one in report.slices) or "none"
            raise MissingData(
                f"has no slices by '{by}'; it has: {have}", where=name, remedy=f"Make it with `by='{by}'`."
            )
        if request.cluster is not None or request.strata is not None:
            raise Unsupported(
                "was made with clusters or strata, whose mix cannot be weighed", where=name,
                remedy="Leave `by` out, or make both results without them.",
            )  # fmt: skip
        units = self._units(report)
        if sum(units.values()) != report.influences.units:
            raise InvalidResult(
                f"the groups of '{by}' hold {count_text(sum(units.values()), report.unit)} of "
                f"{report.influences.units:,}", where=name,
                remedy=f"Take a column with one value for every {report.unit}.",
            )  # fmt: skip

    def _units(self, report: Report) -> dict[Slice, int]:
        parts = report.slices[self.by]
        return {value: max(score.units for score in scores.values()) for value, scores in parts.items() if scores}

    def change(self, spec: str, confidence: float) -> tuple[DifferenceEstimate, str]:
        """New less old at the old mix, or why there is none."""
        parts: list[list[Part]] = []
        for report, name in zip(self.reports, self.called, strict=True):
            if why := self._not_a_mean(report, spec):
                return DifferenceEstimate(math.nan, None, math.nan), f"in {name} {why}"
            parts.append([self._part(report, value, spec) for value in self.both])
        better = self.reports[1].scores[spec].better
        units = tuple(report.influences.units for report in self.reports if report.influences is not None)
        if sum(part.units for part in parts[0]) < 2 or units[1] < 2:
            return DifferenceEstimate(math.nan, None, math.nan), "fewer than two units are left"
        estimate = drift_estimate(parts[0], parts[1], better, (units[0], units[1]), confidence)[1]
        if estimate.se > 0:
            return estimate, ""
        shares = {group.value: group.share for group in self.groups}
        old, new = (report.slices[self.by] for report in self.reports)
        each = [(shares[slice_text(value)], old[value][spec], new[value][spec]) for value in self.both]
        return _agreeing(each, estimate.difference, confidence), ""

    def _part(self, report: Report, value: Slice, spec: str) -> Part:
        score = report.slices[self.by][value][spec]
        influences = (report.slice_influences or {})[self.by].get(value)
        if influences is None:
            return Part(score.value, score.units)
        influence = influences.models[0][spec]
        # Of many units the influences are those of groups; the sum of squares is that of single units.
        squares, n, groups = squares_of(influence, score.draws), influences.units, len(influence.psi)
        return Part(score.value, score.units, squares * n * (n - 1) / (groups * (groups - 1)))

    def _not_a_mean(self, report: Report, spec: str) -> str:
        """Why a metric cannot be weighed by group; nothing where its value is the mean of the groups'."""
        parts = {value: scores[spec] for value, scores in report.slices[self.by].items() if spec in scores}
        undefined = [slice_text(value) for value in self.both if math.isnan(parts[value].value)]
        if undefined:
            return f"{spec} is undefined for {slice_text(self.by)} {first_few(undefined)}"
        counts = self._units(report)
        counted = [(counts[value], score.value) for value, score in parts.items()]
        whole = report.scores[spec].value
        mean = sum(count * value for count, value in counted) / sum(count for count, _ in counted)
        if abs(mean - whole) <= ROUNDING * max(1.0, abs(whole)):
            return ""
        return (
            f"{spec} is not a mean over {report.unit} scores of equal weight, and a result does not hold what weighing "
            f"it by {slice_text(self.by)} takes; evaluate the new data with unit weights instead"
        )


def _difference(
    a: Score, b: Score, estimate: DifferenceEstimate, why: str, confidence: float, mix: _Mix | None
) -> UnjudgedDifference:
    where = "in the populations of both sets" + ("" if mix is None else f", at the old mix of {slice_text(mix.by)}")
    best = {"zero": " distance from 0 of", "one": " distance from 1 of"}.get(b.better, "")
    shown = Difference(
        spec=b.spec,
        label=b.label,
        a=replace(a, draws=None),
        b=replace(b, draws=None),
        difference=estimate.difference,
        interval=estimate.interval,
        p=estimate.p,
        p_holm=math.nan,
        verdict="",
        units=b.units,
        undefined_reason=why or a.undefined_reason or b.undefined_reason,
        better=b.better,
        measured_in=b.measured_in,
        se=estimate.se,
        df=estimate.df,
        p_method="welch",
        min_detectable=min_detectable(estimate.se, estimate.df, confidence),
        null_hypothesis=f"the model has the same{best} {b.spec} {where}",
    )
    return UnjudgedDifference(shown)
