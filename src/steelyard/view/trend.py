"""Series of runs and the rule that flags a change in them.

A series is the runs of one model on one task and data set, ordered by date. The rule looks at a series after every run.
Let n be the number of runs since the last change, or since the first run. For each m up to `RECENT`, the mean of the
last m runs is tested against the mean of the n - m runs before them. A change is flagged if the smallest p, times the
number of tests, is below `ALPHA` / (n (n - 1)). These levels sum to `ALPHA` over all n, so at most that share of series
without a change is ever flagged, however long they are and however often somebody looks.

p comes from the influences of the units on both means where all runs keep them for the same units (paired), and
otherwise from the standard errors of the runs, as if they were independent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from steelyard.core.frozen import Frozen
from steelyard.engine.differences import degrees_of_freedom, standard_error
from steelyard.engine.flips import jackknife_df, jackknife_se
from steelyard.engine.paired import BEST
from steelyard.engine.quantiles import t_quantile, t_tail
from steelyard.results.report import Report
from steelyard.view.entry import Entry

ALPHA, RECENT = 0.05, 5
MOST_JUDGED = 50  # runs of a series, the newest


class Series(Frozen):
    """Runs of one model on one task and data set, the oldest first."""

    task: str
    data: str
    model: str
    runs: tuple[Entry, ...]

    @property
    def latest(self) -> Entry:
        """The newest run."""
        return self.runs[-1]

    @property
    def before(self) -> Entry | None:
        """The run before the newest one."""
        return self.runs[-2] if len(self.runs) > 1 else None

    @property
    def judged(self) -> tuple[Entry, ...]:
        """The runs in which changes are looked for: on the truth of the newest run, `MOST_JUDGED` at most."""
        return tuple(run for run in self.runs if run.truth == self.latest.truth)[-MOST_JUDGED:]


def series_of(entries: Iterable[Entry]) -> list[Series]:
    """The series of a folder, the one with the newest run first."""
    groups: dict[tuple[str, str, str], list[Entry]] = {}
    for entry in entries:
        if entry.kind == "report":
            groups.setdefault((entry.task, entry.data, entry.model), []).append(entry)
    each = [Series(*key, tuple(sorted(runs, key=lambda run: (run.date, run.name)))) for key, runs in groups.items()]
    return sorted(each, key=lambda series: (-series.latest.date, series.model))


class Reading(Frozen):
    """What the rule needs of one run: how far its value is from the best one, and the error of that.

    `psi` are the influences of the units in the order of their keys, and `units` identifies these units; runs are
    paired if both agree.
    """

    value: float
    se: float
    df: float
    units: str = ""
    psi: Any = None

    __eq__, __hash__ = object.__eq__, object.__hash__


class Change(Frozen):
    """A flagged change: the place of the first run after it, of how many runs on both sides it is the difference."""

    place: int
    before: int
    after: int
    difference: float
    interval: tuple[float, float]
    p: float
    paired: bool


def reading_of(report: Report, spec: str) -> Reading | None:
    """The reading of a stored result; None where it lacks the metric or its value."""
    score = report.scores.get(spec)
    if score is None or not math.isfinite(score.value):
        return None
    best = BEST.get(score.better)
    value = score.value if best is None else abs(score.value - best)
    turn = -1.0 if best is not None and score.value < best else 1.0
    error = Reading(value, standard_error(score, report.request.confidence), degrees_of_freedom(score))
    kept, request = report.influences, report.request
    if kept is None or spec not in kept.models[0] or request.runs is not None:
        return error
    order = np.argsort(kept.unit_keys)
    units = f"{kept.unit_keys[order].tobytes().hex()} {request.cluster} {request.strata}"
    return Reading(value, error.se, error.df, units, turn * kept.models[0][spec].psi[order])


def find_changes(readings: Sequence[Reading]) -> list[Change]:
    """The changes of a series that the rule flags, the oldest first."""
    changes, start = [], 0
    steps = _Steps(readings)
    for end in range(2, len(readings) + 1):
        n = end - start
        tests = range(1, min(RECENT, n - 1) + 1)
        if not tests:
            continue
        level = ALPHA / (n * (n - 1) * len(tests))
        first = min((steps.test(start, end - m, end, level) for m in tests), key=lambda change: change.p)
        if first.p < level:
            changes.append(first)
            start = first.place
    return changes


class _Steps:
    """Differences between means of neighbouring runs, from sums over the runs so far."""

    def __init__(self, readings: Sequence[Reading]) -> None:
        def sums(values: Any) -> Any:
            return np.concatenate([np.zeros_like(values[:1]), np.cumsum(values, axis=0)])

        self.values = sums(np.array([run.value for run in readings]))
        self.variances = [run.se**2 for run in readings]
        self.per_df = [run.se**4 / run.df for run in readings]
        first = readings[0] if readings else None
        self.paired = first is not None and all(r.psi is not None and r.units == first.units for r in readings)
        self.psi = sums(np.stack([run.psi for run in readings])) if self.paired else None
        self.size = max((float(np.abs(run.psi).max()) for run in readings), default=0.0) if self.paired else 0.0

    def test(self, start: int, split: int, end: int, level: float) -> Change:
        """The mean of the runs from `split` on against the mean of those before; p is 1 where it is above `level`."""
        old, new = split - start, end - split
        before, after = self.values[split] - self.values[start], self.values[end] - self.values[split]
        difference = float(after / new - before / old)
        least = 0.0
        if self.psi is not None:
            psi = (self.psi[end] - self.psi[split]) / new - (self.psi[split] - self.psi[start]) / old
            if np.abs(psi).max() <= 1e-10 * self.size:  # rounding is not spread
                psi = np.zeros_like(psi)
            se = jackknife_se(psi)
            least = 2.0 ** (1 - len(psi))  # sign flips of so many units show no less
        else:
            early, late = math.fsum(self.variances[start:split]), math.fsum(self.variances[split:end])
            se = math.sqrt(early / old**2 + late / new**2)
        unlike = abs(difference) > 1e-12 * abs(float(self.values[end]))
        p, reach = 1.0, 0.0
        if se > 0 and math.erfc(abs(difference) / se / math.sqrt(2)) < level:  # Student's tail is at least as large
            df = jackknife_df(psi) if self.psi is not None else self._df(start, split, end, se)
            p, reach = max(t_tail(difference / se, df), least), t_quantile(0.975, df) * se
        elif se == 0 and unlike:
            p = least
        interval = (difference - reach, difference + reach)
        return Change(split, old, new, difference, interval, p, self.paired)

    def _df(self, start: int, split: int, end: int, se: float) -> float:
        """Satterthwaite's degrees of freedom."""
        old, new = split - start, end - split
        inverse = math.fsum(self.per_df[start:split]) / old**4 + math.fsum(self.per_df[split:end]) / new**4
        return se**4 / inverse if inverse > 0 else math.inf
