"""The runs of a folder: its results, and the data that they were made from where those lie in the folder too.

A run is known by a hash of its name, so that no path ever stands in an address. Data are used only where their digests
are those that the result was made from.

`Index` lists the files: the head of each is read once, and again when the file has changed. A head is what a list shows
of a result, without the rest of a file that may hold megabytes. A result says first what it is, what was asked for and
what came out; slices and details stand last. The members are read one by one until nothing more is wanted.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import stat_result
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from steelyard import api
from steelyard.core import catalogue
from steelyard.core.errors import SteelyardError
from steelyard.core.frozen import Frozen
from steelyard.core.metric import Metric
from steelyard.core.pairs import field_columns
from steelyard.core.plan import UNITS
from steelyard.core.state import State, Totals
from steelyard.engine.measure import per_unit_state
from steelyard.engine.run import Measured
from steelyard.gating.pairing import compare_many, compare_results
from steelyard.io.beside import in_file
from steelyard.io.digest import digest
from steelyard.io.json import parse_json
from steelyard.io.text import ending
from steelyard.results.comparison import Comparison, Lineup
from steelyard.results.origin import SourceInfo
from steelyard.results.read import AnyResult, edit_notes, parse_result
from steelyard.results.report import Report
from steelyard.results.score import Difference
from steelyard.view.entry import Entry, date_of, entry_of, moment
from steelyard.view.folder import Folder, Outside
from steelyard.view.trend import Change, Reading, Series, find_changes, reading_of

HEAD_BYTES = 64 << 10
_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()
_WANTED = {
    "report": {"request", "task_facts", "scores", "sources"},
    "comparison": {"task_facts", "a", "b", "differences"},
}


class NoHead(Exception):
    """The text is not the head of a result: truncated, or something else."""


def head_of(text: str) -> tuple[str, dict[str, Any]]:
    """The kind of a result and the members of its body that a list shows; all of them for kinds that are short."""
    try:
        top = _members(text, _skip(text, 0), {"format", "version", "kind"})
        at = top.pop("", None)
        if (top.get("format"), top.get("version")) != ("steelyard", 2) or at is None:
            raise NoHead
        kind = top["kind"]
        body = _members(text, at, _WANTED[kind]) if kind in _WANTED else _DECODER.raw_decode(text, at)[0]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        raise NoHead from None
    if not isinstance(kind, str) or not isinstance(body, dict):
        raise NoHead
    return kind, body


def _members(text: str, at: int, wanted: set[str]) -> dict[str, Any]:
    """Members of the object that begins there, until all that are wanted are read; "" is where a body begins."""
    if text[at] != "{":
        raise NoHead
    members: dict[str, Any] = {}
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        at = _skip(text, at)
        if text[at] != ":" or not isinstance(key, str):
            raise NoHead
        at = _skip(text, at + 1)
        if key == "body" and "kind" in wanted:
            return {**members, "": at}
        value, at = _DECODER.raw_decode(text, at)
        if key in wanted:
            members[key] = value
            if len(members) == len(wanted) and "kind" not in wanted:
                return members
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
        elif text[at] != "}":
            raise NoHead
    return members


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()


MOST_BYTES = 256 << 20
MOST_RUNS, MOST_FOREIGN = 10_000, 10_000
SETTLING = 2.0  # seconds after a change in which a file that is not whole may still be written
LOOKS_APART = 2.0  # seconds between two looks at the folder that pages ask for
_OURS = re.compile(rb'"format":\s*"steelyard"|"schema":\s*"steelyard/(report|comparison|lineup|vlm-score|gate)/')
_CHECK = re.compile(rb'"schema":\s*"steelyard/(check|conversion)/')
_BROKEN = (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError)


def run_id(name: str) -> str:
    """What a file is known by in addresses: no path ever stands there."""
    return hashlib.sha256(name.encode("utf-8")).hexdigest()[:16]


@dataclass
class Index:
    """The entries of a folder."""

    folder: Folder
    clock: Callable[[], float] = time.time
    _known: dict[str, tuple[tuple[int, int, int], Entry]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def entries(self) -> list[Entry]:
        """Every JSON file in the order of the names: results, those that cannot be read, and what is none."""
        entries, seen = [], {False: 0, True: 0}
        before, current = self._known, {}
        for name, about in self.folder.entries(".json"):  # no lock is held while files are read
            stamp = (about.st_mtime_ns, about.st_size, about.st_ino)
            held = before.get(name)
            if held is None or held[0] != stamp:
                if self._half_written(name, about):
                    continue
                held = stamp, self._read(name, about)
            current[name] = held
            seen[held[1].foreign] += 1
            if seen[held[1].foreign] <= (MOST_FOREIGN if held[1].foreign else MOST_RUNS):
                entries.append(held[1])
        with self._lock:
            for name, held in self._known.items():  # a file may have been marked meanwhile
                if held is not before.get(name) and name in current and current[name][0] == held[0]:
                    current[name] = held
            self._known = current
        return entries

    def name_of(self, run: str) -> str | None:
        """The name of the file with that id."""
        for name, (_, entry) in list(self._known.items()):
            if entry.id == run:
                return name
        return next((entry.name for entry in self.entries() if entry.id == run), None)

    def mark(self, name: str, problem: str) -> None:
        """Remember what was wrong with a file when it was opened: its head alone did not show it."""
        with self._lock:
            if name in self._known:
                stamp, entry = self._known[name]
                file = Entry(entry.id, entry.name, entry.changed, date=entry.changed)
                self._known = {**self._known, name: (stamp, replace(file, problem=problem))}

    def _half_written(self, name: str, about: stat_result) -> bool:
        """Whether a file that was changed a moment ago does not hold a whole JSON text yet."""
        if not 0 <= self.clock() - about.st_mtime < SETTLING or about.st_size > MOST_BYTES:
            return False
        try:
            json.loads(self.folder.read(name, MOST_BYTES))
        except (Outside, ValueError, RecursionError):
            return True
        return False

    def _read(self, name: str, about: stat_result) -> Entry:
        file = Entry(run_id(name), name, about.st_mtime, date=about.st_mtime)
        try:
            head = self.folder.head(name, HEAD_BYTES)
        except Outside:
            return replace(file, problem=f"{name}: it cannot be read")
        if not _OURS.search(head, 0, 200):
            what = "not a result of Steelyard"
            if (other := _CHECK.search(head, 0, 400)) is not None:
                what = f"what 'steelyard {'check' if other[1] == b'check' else 'convert'}' found, and no result"
            return replace(file, foreign=True, problem=f"It is {what}.")
        if about.st_size > MOST_BYTES:
            return replace(file, problem=f"{name}: larger than {MOST_BYTES >> 20} MB")
        try:
            whole = about.st_size <= len(head)
            if whole and not head.rstrip().endswith(b"}"):
                raise NoHead
            return entry_of(file, *head_of(head.decode("utf-8", "strict" if whole else "ignore")))
        except (NoHead, *_BROKEN):
            return self._read_whole(file, name)

    def _read_whole(self, file: Entry, name: str) -> Entry:
        """An entry from all of a file, or what is wrong with it."""
        try:
            data, _, problem = load(self.folder, name)
            if problem:
                return replace(file, problem=problem)
            return entry_of(file, data["kind"], data["body"])
        except Exception as error:  # whatever one file holds, the others are shown
            return replace(file, problem=f"{name}: it cannot be read ({type(error).__name__})")


def version_of(entries: Iterable[Entry]) -> str:
    """A hash that changes with what a list shows."""
    listed = "".join(f"{entry.id}{entry.changed!r}{entry.problem}" for entry in entries)
    return hashlib.sha256(listed.encode("utf-8", "replace")).hexdigest()[:16]


@dataclass
class Watcher:
    """The state of a folder for pages that watch it: however many ask, it is looked at once in `LOOKS_APART`."""

    index: Index
    clock: Callable[[], float] = time.monotonic
    _looked: float = -math.inf
    _state: tuple[str, int] = ("", 0)
    _lock: Lock = field(default_factory=Lock)

    def state(self) -> tuple[str, int]:
        """The version of the list, and how many runs there are."""
        with self._lock:
            if self.clock() - self._looked >= LOOKS_APART:
                self._state = state_of(self.index.entries())
                self._looked = self.clock()
            return self._state


def state_of(entries: Sequence[Entry]) -> tuple[str, int]:
    """The version of a list and its number of runs."""
    return version_of(entries), sum(not entry.foreign for entry in entries)


def is_result(folder: Folder, name: str) -> bool:
    """Whether a file says in its first bytes that it is a result."""
    try:
        return bool(_OURS.search(folder.head(name, 200)))
    except Outside:
        return False


def load(folder: Folder, name: str) -> tuple[Any, AnyResult | None, str]:
    """The JSON of a result, the result itself, and what is wrong with it where something is."""
    try:
        data = parse_json(folder.read(name, MOST_BYTES).decode("utf-8-sig"), name)
        return data, parse_result(data, name), ""
    except Outside as error:
        why = f"larger than {MOST_BYTES >> 20} MB" if str(error) == "too large" else "it cannot be read"
        return None, None, f"{name}: {why}"
    except UnicodeDecodeError:
        return None, None, f"{name}: is not UTF-8 text"
    except SteelyardError as error:
        return None, None, str(error)
    except Exception as error:  # whatever one file holds, the others are shown
        return None, None, f"{name}: it cannot be read ({type(error).__name__})"


_FORMATS = ("auto", "coco", "lvis", "csv", "motchallenge", "kitti", "mots")  # each reads what it is given and no more
# Readers that take a folder and open nothing outside of it.
_FOLDERS = ("tracking", "maps", "volumes", "fields", "images", "anomalies", "documents", "tables")
_NEEDED = {"request", "task_facts", "coverage", "sources", "influences"}  # of a result, to compare one score
MOST_HEAVY, MOST_LIGHT = 40, 5000  # results, data and pages that are kept; numbers of lists and trends
T = TypeVar("T")


class StoredRun(Frozen):
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

    @property
    def title(self) -> str:
        """What the run is called: its tag `model`, else its file."""
        tags = self.report.request.tags if self.report is not None else {}
        return tags.get("model") or self.name

    @property
    def date(self) -> float:
        """Its tag `date`, else when the file was written."""
        return date_of(self.report.request.tags if self.report is not None else {}, self.changed)


def distinct_titles(runs: Sequence[StoredRun]) -> list[str]:
    """What runs are called beside each other: with the day, or the file too, where models have several of them."""

    def forms(run: StoredRun) -> tuple[str, ...]:
        return run.title, f"{run.title}, {moment(run.date, '%Y-%m-%d')}", f"{run.title}, {run.name}"

    for form in range(2):
        titles = [forms(run)[form] for run in runs]
        if len(set(titles)) == len(titles):
            return titles
    return [forms(run)[2] if run.title != run.name else run.name for run in runs]


def _same_resampling(a: Report, b: Report) -> bool:
    """Whether a comparison from the data has the errors of both results: of the same units, and of a plain score."""
    p, q = a.request, b.request
    by_truth = a.sources.proxy is None and b.sources.proxy is None
    beside = [name for name in (p.cluster, p.strata) if name and in_file(name)]  # a file that the folder may not hold
    return by_truth and not beside and (p.cluster, p.strata, p.sequence) == (q.cluster, q.strata, q.sequence)


class RereadRun(Frozen):
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
    clock: Callable[[], float] = time.time
    index: Index = field(init=False)
    _made: dict[int, dict[tuple[Any, ...], Future[Any]]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self.index = Index(self.folder, self.clock)

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
        _, result, problem = load(self.folder, name)
        if problem:
            self.index.mark(name, problem)
        return StoredRun(run_id(name), name, changed, result, problem)

    def change(self, a: Entry, b: Entry, spec: str) -> Difference | None:
        """B against A in one metric, from their results; None where they cannot be compared in it."""
        key = ("change", a.id, a.changed, b.id, b.changed, spec)
        return self.once(key, lambda: self._change(a, b, spec), MOST_LIGHT)

    def _change(self, a: Entry, b: Entry, spec: str) -> Difference | None:
        first, second = (self._stored_report(entry, spec) for entry in (a, b))
        if first is None or second is None:
            return None
        try:
            return compare_results(first, second).differences[spec]
        except SteelyardError:
            return None

    def changes(self, series: Series, spec: str) -> list[tuple[Entry, Change]]:
        """The changes of a series that the rule flags, each with the first run after it."""
        runs = series.judged
        key = ("changes", spec, *((run.id, run.changed) for run in runs))
        return self.once(key, lambda: self._changes(runs, spec), MOST_LIGHT)

    def _changes(self, runs: Sequence[Entry], spec: str) -> list[tuple[Entry, Change]]:
        keys = [("reading", run.id, run.changed, spec) for run in runs]
        each = [
            (run, self.once(key, lambda run=run: self._reading(run, spec), MOST_LIGHT))  # type: ignore[misc]
            for run, key in zip(runs, keys, strict=True)
        ]
        judged = [(run, one) for run, one in each if one is not None and (one.psi is not None or one.se >= 0)]
        return [(judged[change.place][0], change) for change in find_changes([reading for _, reading in judged])]

    def _reading(self, run: Entry, spec: str) -> Reading | None:
        report = self._stored_report(run, spec)
        return None if report is None else reading_of(report, spec)

    def _stored_report(self, entry: Entry, spec: str) -> Report | None:
        """The report of an entry with one score and no slices, which is decoded much faster. It is not kept."""
        try:
            data = parse_json(self.folder.read(entry.name, MOST_BYTES).decode("utf-8-sig"), entry.name)
            body = data["body"]
            small = {name: value for name, value in body.items() if name in _NEEDED}
            small |= {"scores": {spec: body["scores"][spec]}, "notes": [], "explanations": [], "slices": []}
            head = {name: data[name] for name in ("format", "version", "kind")}
            result = parse_result({**head, "body": small}, entry.name)
        except (Outside, SteelyardError, *_BROKEN):
            return None
        return result if isinstance(result, Report) else None

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
            fields = field_columns(measured.pairs)
            same = (
                digest(measured.truth, fields) == read.truth.digest
                and digest(measured.prediction, fields) == read.predictions.digest
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
            raise SteelyardError("Only results of 'evaluate' can be compared here.")
        return self.once(("comparison", a.id, a.changed, b.id, b.changed), lambda: self._compare(a, b, first, second))

    def _compare(self, a: StoredRun, b: StoredRun, first: Report, second: Report) -> Comparison:
        titles = distinct_titles((a, b))
        first_data, other = self.data(a)[0], self.data(b)[0]
        p, q = first.request, second.request
        truth, mine, theirs = first.sources.truth, first.sources.predictions, second.sources.predictions
        shared = [spec for spec in p.metrics or () if spec in (q.metrics or ())]
        alike = (
            first.task == second.task
            and truth.digest == second.sources.truth.digest
            and (p.missing, p.extra) == (q.missing, q.extra)
        )
        alike = alike and (p.columns, p.options) == (q.columns, q.options) and _same_resampling(first, second)
        if first_data is None or other is None or not alike or not shared or truth.source == mine.source:
            comparison = compare_many([first, second], titles).comparisons[0]
            return replace(comparison, notes=(*edit_notes(((a.name, first), (b.name, second))), *comparison.notes))
        base_a, base_b = (run.name.rpartition("/")[0] for run in (a, b))
        sources = (truth, base_a), (mine, base_a), (theirs, base_b)
        side, left, right = (str(self.folder.data(self.find(*source, first.task))) for source in sources)
        options = self._options(first, base_a, (side, left, right))
        compared = api.compare(
            first.task, side, left, right, shared, confidence=q.confidence or 0.95, draws=q.draws or 1000, seed=q.seed,
            missing=p.missing, extra=p.extra, columns=p.columns, options=options, cluster=p.cluster, strata=p.strata,
            sequence=p.sequence,
        )  # fmt: skip
        a_side, b_side = replace(compared.a, request=p, name=titles[0]), replace(compared.b, request=q, name=titles[1])
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
        names = distinct_titles(runs)
        edited = edit_notes(zip(names, reports, strict=True))
        return self.once(key, lambda: replace(compare_many(reports, names), notes=edited))

    def once(self, key: tuple[Any, ...], make: Callable[[], T], most: int = MOST_HEAVY) -> T:
        """Make a thing the first time; `most` are kept. Others wait for the same thing, and for nothing else."""
        cache = self._made.setdefault(most, {})
        with self._lock:
            held: Future[T] | None = cache.get(key)
            if held is None:
                if len(cache) > most:
                    cache.pop(next(iter(cache)))
                mine = cache[key] = Future[T]()
        if held is not None:
            return held.result()
        try:
            mine.set_result(make())
        except BaseException as error:
            with self._lock:
                if cache.get(key) is mine:
                    del cache[key]
            mine.set_exception(error)
        return mine.result()
