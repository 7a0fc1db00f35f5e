"""The runs of a folder: its results, and the data that they were made from where those lie in the folder too.

A run is known by a hash of its name, so that no path ever stands in an address. Data are used only where their digests
are those that the result was made from.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import RLock
from typing import Any, TypeVar

import numpy as np

from steelyard import api
from steelyard.core.errors import SteelyardError
from steelyard.core.frozen import frozen
from steelyard.core.metric import Metric
from steelyard.core.plan import UNITS
from steelyard.core.state import State
from steelyard.core.totals import Totals
from steelyard.engine.measure import listed
from steelyard.engine.run import Measured
from steelyard.gating.pairing import compare_results
from steelyard.io.digest import digest
from steelyard.io.json import parse_json
from steelyard.io.text import ending
from steelyard.metrics import catalogue
from steelyard.results.comparison import Comparison
from steelyard.results.origin import Side
from steelyard.results.read import AnyResult, parse_result
from steelyard.results.report import Report
from steelyard.view.folder import Folder, Outside

MOST_BYTES = 256 << 20
MOST_RUNS = 2000
_HEAD = re.compile(rb'"format":\s*"steelyard"|"schema":\s*"steelyard/(report|comparison|lineup|vlm-score|gate)/')
_FORMATS = ("auto", "coco", "lvis", "csv", "motchallenge", "kitti", "mots")  # each reads what it is given and no more
_FOLDERS = ("tracking", "maps", "volumes")  # readers that take a folder and open nothing outside of it
T = TypeVar("T")


@frozen
class Run:
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
class Data:
    """What a run was made from, read again: the whole report, and the pairs of its units."""

    report: Report
    measured: Measured
    truth: str

    @cached_property
    def state(self) -> State:
        """What was measured, every unit a row."""
        run = self.measured
        return listed(run.pairs, run.state, run.metrics)

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
        one = self.state.take(np.array([unit])).totals(UNITS)
        return {spec: float(one.of(self._metric(spec))[0]) for spec in self.specs}

    def _metric(self, spec: str) -> Metric:
        return catalogue.parse(spec, self.report.task)


@dataclass
class Runs:
    """All runs of a folder; what is expensive is made once, and again when a file has changed."""

    folder: Folder
    _known: dict[str, tuple[tuple[Any, ...], Run]] = field(default_factory=dict)
    _made: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    _lock: RLock = field(default_factory=RLock)

    def all(self) -> list[Run]:
        """Every run, in the order of the names."""
        runs = []
        for name in self.folder.files(".json"):
            run = self._run(name)
            if run is not None:
                runs.append(run)
            if len(runs) >= MOST_RUNS:
                break
        return runs

    def get(self, run_id: str) -> Run | None:
        """The run with that id."""
        for name, (_, run) in list(self._known.items()):
            if run.id == run_id:
                return self._run(name)
        return next((run for run in self.all() if run.id == run_id), None)

    def _run(self, name: str) -> Run | None:
        try:
            about = os.stat(self.folder.path(name), follow_symlinks=False)
        except (OSError, Outside):
            return None
        stamp = (about.st_mtime_ns, about.st_size, about.st_ino)
        with self._lock:
            known = self._known.get(name)
            if known is None or known[0] != stamp:
                known = (stamp, self._read(name, about.st_mtime))
                self._known[name] = known
        return known[1] if known[1].id else None

    def _read(self, name: str, changed: float) -> Run:
        nothing = Run("", name, changed, None)
        run_id = hashlib.sha256(name.encode("utf-8")).hexdigest()[:16]
        try:
            if not _HEAD.search(self.folder.head(name, 200)):
                return nothing
        except Outside:
            return nothing
        try:
            text = self.folder.read(name, MOST_BYTES).decode("utf-8-sig")
            return Run(run_id, name, changed, parse_result(parse_json(text, name), name))
        except Outside as error:
            why = f"larger than {MOST_BYTES >> 20} MB" if str(error) == "too large" else "it cannot be read"
            return Run(run_id, name, changed, None, f"{name}: {why}")
        except UnicodeDecodeError:
            return Run(run_id, name, changed, None, f"{name}: is not UTF-8 text")
        except SteelyardError as error:
            return Run(run_id, name, changed, None, str(error))
        except Exception as error:  # whatever one file holds, the others are shown
            return Run(run_id, name, changed, None, f"{name}: it cannot be read ({type(error).__name__})")

    def data(self, run: Run) -> tuple[Data | None, str]:
        """The data of a run, or why there are none to show."""
        report = run.report
        if report is None:
            return None, f"A {run.result.kind if run.result else 'file'} holds no units."
        return self.once(("data", run.id, run.changed), lambda: self._data(run, report))

    def _data(self, run: Run, report: Report) -> tuple[Data | None, str]:
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
        return Data(whole, measured, truth), ""

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

    def find(self, side: Side, base: str, task: str) -> str:
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

    def comparison(self, a: Run, b: Run) -> Comparison:
        """B against A: from the data where both are at hand, with all that this gives, else from the results."""
        first, second = a.report, b.report
        if first is None or second is None:
            raise SteelyardError("Only results can be compared, not comparisons.")
        return self.once(("comparison", a.id, a.changed, b.id, b.changed), lambda: self._compare(a, b, first, second))

    def _compare(self, a: Run, b: Run, first: Report, second: Report) -> Comparison:
        one, other = self.data(a)[0], self.data(b)[0]
        p, q = first.request, second.request
        truth, mine, theirs = first.sources.truth, first.sources.predictions, second.sources.predictions
        shared = [spec for spec in p.metrics or () if spec in (q.metrics or ())]
        alike = (
            first.task == second.task
            and truth.digest == second.sources.truth.digest
            and (p.missing, p.extra) == (q.missing, q.extra)
        )
        alike = alike and (p.columns, p.options) == (q.columns, q.options)
        if one is None or other is None or not alike or not shared or truth.source == mine.source:
            return compare_results(first, second)
        base_a, base_b = (run.name.rpartition("/")[0] for run in (a, b))
        sources = (truth, base_a), (mine, base_a), (theirs, base_b)
        side, left, right = (str(self.folder.data(self.find(*source, first.task))) for source in sources)
        options = self._options(first, base_a, (side, left, right))
        compared = api.compare(
            first.task, side, left, right, shared, confidence=q.confidence or 0.95, draws=q.draws or 1000, seed=q.seed,
            missing=p.missing, extra=p.extra, columns=p.columns, options=options,
        )  # fmt: skip
        a_side, b_side = replace(compared.a, request=p), replace(compared.b, request=q)
        return replace(compared, a=replace(a_side, sources=first.sources), b=replace(b_side, sources=second.sources))

    def once(self, key: tuple[Any, ...], make: Callable[[], T]) -> T:
        """Make a thing the first time; a few dozen are kept."""
        with self._lock:
            if key not in self._made:
                if len(self._made) > 40:
                    self._made.pop(next(iter(self._made)))
                self._made[key] = make()
            made: T = self._made[key]
            return made
