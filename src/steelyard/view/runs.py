"""The runs of a folder: its results, and the data that they were made from where those lie in the folder too.

A run is known by a hash of its name, so that no path ever stands in an address. Data are used only where their digests
are those that the result was made from.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from steelyard import api
from steelyard.core import catalogue
from steelyard.core.errors import SteelyardError
from steelyard.core.frozen import frozen
from steelyard.core.metric import Metric
from steelyard.core.plan import UNITS
from steelyard.core.state import State, Totals
from steelyard.engine.measure import per_unit_state
from steelyard.engine.run import Measured
from steelyard.gating.pairing import compare_many, compare_results
from steelyard.io.digest import digest
from steelyard.io.text import ending
from steelyard.results.comparison import Comparison, Lineup
from steelyard.results.origin import SourceInfo
from steelyard.results.read import AnyResult, edit_notes, parse_result
from steelyard.results.report import Report
from steelyard.view.folder import Folder, Outside
from steelyard.view.index import Index, is_result, load, run_id

_FORMATS = ("auto", "coco", "lvis", "csv", "motchallenge", "kitti", "mots")  # each reads what it is given and no more
_FOLDERS = ("tracking", "maps", "volumes")  # readers that take a folder and open nothing outside of it
T = TypeVar("T")


@frozen
class StoredRun:
    """A result in the folder. `problem` says why it cannot be shown, `note` why its units cannot."""

    id: str
    name: str
    changed: float
    result: AnyResult | None
    problem: str = ""

    @property
    def report(self) -> Report | None:
        """The report, where it is one."""
        return self.result if isinstance(self.result, Report) else None


@frozen
class RereadRun:
    """What a run was made from, read again: the whole report, and the pairs of its units."""

    report: Report
    measured: Measured
    truth: str

    @cached_property
    def state(self) -> State:
        """What was measured, every unit a row."""
        run = self.measured
        return per_unit_state(run.pairs, run.state, run.metrics)

    @cached_property
    def totals(self) -> Totals:
        """The totals of each unit alone."""
        return self.state.totals(UNITS)

    @property
    def units(self) -> Any:
        """The ids of the units."""
        return self.state.units.ids

    @property
    def specs(self) -> list[str]:
        """The metrics that the result holds."""
        return list(self.report.scores)

    @cached_property
    def _by_unit(self) -> dict[str, Any]:
        return {}

    def values(self, spec: str) -> Any:
        """A metric for each unit alone, made once."""
        if spec not in self._by_unit:
            self._by_unit[spec] = self.totals.of(self._metric(spec))
        return self._by_unit[spec]

    def alone(self, unit: int) -> dict[str, float]:
        """Every metric for one unit."""
        totals = self.state.take(np.array([unit])).totals(UNITS)
        return {spec: float(totals.of(self._metric(spec))[0]) for spec in self.specs}

    def _metric(self, spec: str) -> Metric:
        return catalogue.parse(spec, self.report.task)


@dataclass
class Runs:
    """The runs of a folder; what is expensive is made once, and again when a file has changed."""

    folder: Folder
    index: Index = field(init=False)
    _made: dict[tuple[Any, ...], Future[Any]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self.index = Index(self.folder)

    def get(self, run: str) -> StoredRun | None:
        """The run with that id, read whole."""
        name = self.index.name_of(run)
        if name is None:
            return None
        try:
            about = os.stat(self.folder.path(name), follow_symlinks=False)
        except (OSError, Outside):
            return None
        key = ("run", name, about.st_mtime_ns, about.st_size, about.st_ino)
        return self.once(key, lambda: self._read(name, about.st_mtime))

    def _read(self, name: str, changed: float) -> StoredRun | None:
        if not is_result(self.folder, name):
            return None
        data, problem = load(self.folder, name)
        if problem:
            self.index.mark(name, problem)
            return StoredRun(run_id(name), name, changed, None, problem)
        return StoredRun(run_id(name), name, changed, parse_result(data, name))

    def data(self, run: StoredRun) -> tuple[RereadRun | None, str]:
        """The data of a run, or why there are none to show."""
        report = run.report
        if report is None:
            return None, f"A {run.result.kind if run.result else 'file'} holds no units."
        return self.once(("data", run.id, run.changed), lambda: self._data(run, report))

    def _data(self, run: StoredRun, report: Report) -> tuple[RereadRun | None, str]:
        p, read = report.request, report.sources
        base = run.name.rpartition("/")[0]
        try:
            truth, predictions = (self.find(side, base, report.task) for side in (read.truth, read.predictions))
        except Outside:
            named = f"'{read.truth.source}', '{read.predictions.source}'"
            return None, f"The data ({named}) do not lie in the folder beside the result."
        paths = [str(self.folder.data(name)) for name in (truth, predictions)]
        single = truth == predictions
        try:
            options = self._options(report, base, paths)
        except Outside as error:
            return None, f"The data are not read again: {error}."
        settings: dict[str, Any] = {
            "missing": p.missing, "extra": p.extra, "columns": p.columns, "options": options,
        }  # fmt: skip
        try:
            measured = api.measure(report.task, paths[0], None if single else paths[1], **settings)
            same = (
                digest(measured.truth) == read.truth.digest and digest(measured.prediction) == read.predictions.digest
            )
            if not same:
                return None, "The data have changed since the result was made."
            both = (paths[0], None if single else paths[1])
            plain = api.evaluate(report.task, *both, list(p.metrics or ()), confidence=None, **settings)
        except SteelyardError as error:
            return None, f"The data cannot be read again: {error}"
        except (OverflowError, RecursionError, ValueError, TypeError, OSError) as error:
            return None, f"The data cannot be read again ({type(error).__name__})."
        # Scores and intervals are the result's own; what it does not hold comes from the data.
        whole = replace(plain, scores=report.scores, slices=report.slices, notes=report.notes, request=p, sources=read)
        return RereadRun(whole, measured, truth), ""

    def _options(self, report: Report, base: str, paths: Sequence[str]) -> dict[str, Any]:
        """The options of a result; a list that lies in a file is read from inside the folder.

        Raises Outside where reading the data would open more than that: another option may name a file, and a few
        formats look beside a file. Neither goes through the folder.
        """
        if report.task not in catalogue.TASKS:
            raise Outside(f"there is no task '{report.task}'")
        types = {option.name: option.type for option in catalogue.TASKS[report.task].options}
        options = dict(report.request.options)
        for name, value in options.items():
            own = name.rpartition(".")[2].replace("-", "_")
            if types.get(own) == "path":
                raise Outside(f"the option '{name}' names another file, '{value}'")
            if types.get(own) == "ids" and isinstance(value, str):
                options[name] = self._inside(name, value, base)
            if own == "format" and value not in _FORMATS:
                raise Outside(f"the format '{value}' looks beside its file")
        for path in paths:
            if ending(path) == ".xml":
                raise Outside("XML may look beside its file")
        return options

    def _inside(self, option: str, value: str, base: str) -> str:
        """The path of the file that an option names, beside the result or from the folder's top."""
        for where in dict.fromkeys([base, ""]):
            try:
                return str(self.folder.path(self.folder.relative(value, where)))
            except Outside:
                continue
        raise Outside(f"the option '{option}' names another file, '{value}', which does not lie in the folder")

    def find(self, side: SourceInfo, base: str, task: str) -> str:
        """The name of a source inside the folder: beside the result, else from the folder's top."""
        tries = [base, ""] if base else [""]
        folders = task in catalogue.TASKS and catalogue.TASKS[task].reader in _FOLDERS
        for where in tries:
            try:
                name = self.folder.relative(side.source, where)
                (self.folder.data if folders else self.folder.path)(name)
                return name
            except Outside:
                continue
        raise Outside("not in the folder")

    def comparison(self, a: StoredRun, b: StoredRun) -> Comparison:
        """B against A: from the data where both are at hand, with all that this gives, else from the results."""
        first, second = a.report, b.report
        if first is None or second is None:
            raise SteelyardError("Only results can be compared, not comparisons.")
        return self.once(("comparison", a.id, a.changed, b.id, b.changed), lambda: self._compare(a, b, first, second))

    def _compare(self, a: StoredRun, b: StoredRun, first: Report, second: Report) -> Comparison:
        first_data, other = self.data(a)[0], self.data(b)[0]
        p, q = first.request, second.request
        truth, mine, theirs = first.sources.truth, first.sources.predictions, second.sources.predictions
        shared = [spec for spec in p.metrics or () if spec in (q.metrics or ())]
        alike = (
            first.task == second.task
            and truth.digest == second.sources.truth.digest
            and (p.missing, p.extra) == (q.missing, q.extra)
        )
        alike = alike and (p.columns, p.options) == (q.columns, q.options)
        if first_data is None or other is None or not alike or not shared or truth.source == mine.source:
            comparison = compare_results(first, second)
            return replace(comparison, notes=(*edit_notes(((a.name, first), (b.name, second))), *comparison.notes))
        base_a, base_b = (run.name.rpartition("/")[0] for run in (a, b))
        sources = (truth, base_a), (mine, base_a), (theirs, base_b)
        side, left, right = (str(self.folder.data(self.find(*source, first.task))) for source in sources)
        options = self._options(first, base_a, (side, left, right))
        compared = api.compare(
            first.task, side, left, right, shared, confidence=q.confidence or 0.95, draws=q.draws or 1000, seed=q.seed,
            missing=p.missing, extra=p.extra, columns=p.columns, options=options,
        )  # fmt: skip
        a_side, b_side = replace(compared.a, request=p), replace(compared.b, request=q)
        edited = edit_notes(((a.name, first), (b.name, second)))
        return replace(
            compared, a=replace(a_side, sources=first.sources), b=replace(b_side, sources=second.sources),
            notes=(*edited, *compared.notes),
        )  # fmt: skip

    def lineup(self, runs: Sequence[StoredRun]) -> Lineup:
        """Each against the first, from the results alone, which is quick; p is corrected for all of them together."""
        reports = [run.report for run in runs if run.report is not None]
        if len(reports) != len(runs):
            raise SteelyardError("Only results of 'evaluate' can be compared here.")
        key = ("lineup", *((run.id, run.changed) for run in runs))
        names = [run.name for run in runs]
        edited = edit_notes(zip(names, reports, strict=True))
        return self.once(key, lambda: replace(compare_many(reports, names), notes=edited))

    def once(self, key: tuple[Any, ...], make: Callable[[], T]) -> T:
        """Make a thing the first time; a few dozen are kept. Others wait for the same thing, and for nothing else."""
        with self._lock:
            held: Future[T] | None = self._made.get(key)
            if held is None:
                if len(self._made) > 40:
                    self._made.pop(next(iter(self._made)))
                mine = self._made[key] = Future[T]()
        if held is not None:
            return held.result()
        try:
            mine.set_result(make())
        except BaseException as error:
            with self._lock:
                if self._made.get(key) is mine:
                    del self._made[key]
            mine.set_exception(error)
        return mine.result()
