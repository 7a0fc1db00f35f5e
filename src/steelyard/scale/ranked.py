"""Rankings by class, on the workers: the driver never holds the events.

    match where the images are -> events by class, one file a shard -> walk a few classes at a time -> small answers

Without intervals the walk is one pass down the scores, and the files' sorted events are merged a part at a time: no
more is held than `memory` allows, however large a class is. With intervals every draw walks again, so a worker holds
the events of its classes: no more of them than `memory` allows, but at least one class whole. Events stand in the order
of their scores, equal ones by unit, as they would in one place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from steelyard.align.unit_digest import id_keys
from steelyard.core.by_class import Arrays, Ask, ByClass, Elsewhere, Recorder, Rows
from steelyard.core.draws import BootstrapDraws
from steelyard.core.frozen import frozen
from steelyard.core.metric import Metric
from steelyard.core.plan import leave_groups_out
from steelyard.core.records import Array, as_object
from steelyard.core.request import Request
from steelyard.core.stats import Stats
from steelyard.core.weights import Counts, Floats, LeaveGroupOut, LeaveOneOut, Plain, Role, Weights
from steelyard.engine.sums import are_sums, sums
from steelyard.io.container import Reader, read_container
from steelyard.io.valid import check_answers, check_counts, check_range
from steelyard.scale.jobs import Data, State, Summary, measured, measuring_name
from steelyard.scale.merge import Run, merged
from steelyard.scale.shards import keep, state_name, state_path, there

EVENT_BYTES = 64  # that a worker needs for an event, about: its columns, their sorted copies, the order
PIECES = 8  # jobs that a ranking is walked in, at least: whatever the number of workers, so that states stay the same
PART = 1 << 20  # events that are merged at a time: more only make the sorting slower
RUN_ROWS = 4096  # of a file at a time, at least, where memory allows
Asked = Mapping[Any, tuple[tuple[Ask, str], ...]]  # by the key of the ranking


def what_is_asked(
    by_class: ByClass, stats: Stats, part: Stats, metrics: Sequence[Metric]
) -> tuple[list[Metric], Asked]:
    """The metrics that need nothing but sums and rankings by class, and what they ask of those."""
    fit: list[Metric] = []
    asked: dict[Any, dict[tuple[Ask, str], None]] = {}
    for metric in metrics:
        recorder = Recorder()

        def stand_in(key: object, source: Recorder = recorder) -> Any:
            return by_class.stand_in(key, stats.facts, source)

        if not are_sums(stats, part, metric, stand_in):
            continue
        kept = sums(stats, [metric], stand_in)
        metric.reduce(kept, Rows(np.ones((1, len(kept)))))  # as a bootstrap asks, and the jackknife
        metric.reduce(kept, LeaveOneOut(np.ones(len(kept))))
        fit.append(metric)
        for ask, kind in recorder.asked:
            asked.setdefault(ask.key, {})[ask, kind] = None
    return fit, {key: tuple(asks) for key, asks in asked.items()}


@frozen
class Eventing:
    """Match a state and lay its events down by class."""

    state: State
    keys: tuple[Any, ...]


def make_events(job: Eventing) -> tuple[str, list[list[Array]]]:
    """The events of a state; gives their name, and for each ranking how many events each class has in its tables."""
    data = job.state.how.data
    name = state_name("sorted events", job.state.name, job.state.drop, repr(job.keys), measuring_name(job.state.how))
    path = state_path(data.work, "events", name)
    if not there(path):
        by_class = data.kind.by_class
        if by_class is None:
            raise ValueError("a task without rankings")
        stats = measured(job.state)[0]
        arrays: dict[str, Array] = {}
        tables_of: list[list[str]] = []
        for number, key in enumerate(job.keys):
            tables = by_class.tables(stats, key)
            tables_of.append(list(tables))
            for table, events in tables.items():
                arrays[f"{number}.{table}.begin"] = np.ascontiguousarray(events.begin, dtype=np.int64)
                for column, values in events.columns.items():
                    arrays[f"{number}.{table}/{column}"] = np.ascontiguousarray(values)
        keep(path, {"units": len(stats), "tables": tables_of}, arrays)
    reader = Reader(path)
    counts = [
        [np.diff(reader.whole(f"{number}.{table}.begin")) for table in tables]
        for number, tables in enumerate(reader.facts["tables"])
    ]
    return name, counts


def lay_units(data: Data, states: Sequence[State], summaries: Sequence[Summary]) -> tuple[str, int]:
    """A file that says where each state's units stand among all, and their keys in that order."""
    name = state_name("units", [(state.name, state.drop) for state in states])
    path = state_path(data.work, "units", name)
    if not there(path):
        ids = []
        for state in states:
            container = read_container(state_path(data.work, "shard", state.name))
            units = container.arrays["units"][container.arrays["in_truth"].astype(bool)]
            if state.drop:
                gone = set(state.drop)
                units = units[[str(unit) not in gone for unit in units.tolist()]]
            ids.append(units)
        filled = [part for part in ids if len(part)]
        if len({part.dtype.kind for part in filled}) > 1:
            filled = [as_object([str(value) for value in part.tolist()]) for part in filled]
        every = np.concatenate(filled)
        order = np.argsort(every, kind="stable")
        place = np.empty(len(order), dtype=np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        ends = np.cumsum([0] + [len(part) for part in ids])
        arrays: dict[str, Array] = {"keys": id_keys(every[order])}
        for i in range(len(ids)):
            arrays[f"place{i}"] = place[ends[i] : ends[i + 1]]
        keep(path, {"units": len(order)}, arrays)
    return name, int(Reader(path).facts["units"])


@frozen
class Walking:
    """Walk the rankings of some classes."""

    data: Data
    events: tuple[str, ...]
    units: str
    number: int
    key: Any
    classes: tuple[int, ...]
    asked: tuple[tuple[Ask, str], ...]
    memory: int


def walk(job: Walking) -> str:
    """The answers for some classes; gives the name under which they lie."""
    how = (job.data.request.confidence is not None, job.data.request.draws, job.data.request.seed)
    name = state_name("answers", job.events, job.units, repr(job.key), job.classes, repr(job.asked), how)
    path = state_path(job.data.work, "answers", name)
    if there(path):
        return name
    by_class = job.data.kind.by_class
    if by_class is None:
        raise ValueError("a task without rankings")
    units = Reader(state_path(job.data.work, "units", job.units))
    count = int(units.facts["units"])
    readers = [Reader(state_path(job.data.work, "events", one)) for one in job.events]
    places = [units.whole(f"place{i}") for i in range(len(readers))]
    for place in places:
        check_range(place, count, "place", units.path)
    if job.data.request.confidence is None or count < 2:
        arrays = _streamed(job, by_class, readers, places, count)
        if arrays is not None:
            keep(path, {}, arrays)
            return name
    walkers = {}
    for k in job.classes:
        events = _events(readers, places, job.number, k)
        walkers[k] = by_class.walked(job.key, events, count)
        events.clear()
    arrays = {}
    for kind, weights in _weights(job.data.request, units, count):
        asks = [(i, ask) for i, (ask, under) in enumerate(job.asked) if under == kind]
        parts: dict[str, list[Array]] = {}
        for piece in _pieces(weights) if asks else ():
            for i, ask in asks:
                for k, walker in walkers.items():
                    for j, array in enumerate(walker(ask, piece)):
                        parts.setdefault(f"{i}.{k}.{j}", []).append(array)
        arrays |= {part: found[0] if len(found) == 1 else np.concatenate(found) for part, found in parts.items()}
    keep(path, {}, {part: np.ascontiguousarray(array) for part, array in arrays.items()})
    return name


class _Once(Weights):
    """Some draws, whose weights are made once for all classes."""

    role = Role.DRAWS

    def __init__(self, piece: BootstrapDraws) -> None:
        self.piece, self.rows, self.units = piece, piece.rows, piece.units

    @cached_property
    def _blocks(self) -> list[Floats]:
        return list(self.piece.blocks())

    def blocks(self) -> Iterator[Floats]:
        """Give them."""
        yield from self._blocks

    def counts(self) -> Iterator[Counts] | None:
        """Give them as bytes."""
        return self.piece.counts()


def _pieces(weights: Weights) -> Iterator[Weights]:
    """A block of rows at a time."""
    if isinstance(weights, Plain | LeaveGroupOut):
        yield weights
    elif isinstance(weights, BootstrapDraws):
        yield from map(_Once, weights.pieces())
    else:
        yield from map(Rows, weights.blocks())


def _weights(request: Request, units: Reader, count: int) -> Iterator[tuple[str, Weights]]:
    yield "plain", Plain(np.ones(count))
    if request.confidence is not None and count > 1:
        yield "draws", BootstrapDraws(units.whole("keys"), np.ones(count), request.seed, request.draws)
        yield "left out", leave_groups_out(np.ones(count), lambda: units.whole("keys"))


class _Totals:
    """Of one class, from all files; see `core.by_class.Totals`."""

    def __init__(self, readers: Sequence[Reader], number: int, begins: Mapping[str, Array], k: int) -> None:
        self.readers, self.number, self.begins, self.k = readers, number, begins, k
        self._sums: dict[tuple[str, str], int] = {}

    def ranges(self, table: str) -> list[tuple[int, int]]:
        """Where the events of the class stand in each file."""
        return [(a, b) for a, b in self.begins[table][:, self.k : self.k + 2].tolist()]

    def has(self, table: str, column: str) -> bool:
        """Whether a table has a column."""
        return f"{self.number}.{table}/{column}" in self.readers[0].entries

    def rows(self, table: str) -> int:
        """How many events a table has."""
        return sum(b - a for a, b in self.ranges(table))

    def sum(self, table: str, column: str) -> int:
        """The sum of a column, a file at a time."""
        if (table, column) not in self._sums:
            name = f"{self.number}.{table}/{column}"
            parts = zip(self.readers, self.ranges(table), strict=True)
            counts = [int(reader.rows(name, a, b).sum(dtype=np.int64)) for reader, (a, b) in parts if b > a]
            self._sums[table, column] = sum(counts)
        return self._sums[table, column]


def _streamed(
    job: Walking, by_class: ByClass, readers: Sequence[Reader], places: Sequence[Array], count: int
) -> dict[str, Array] | None:
    """The answers under plain weights, each class a part at a time; None where one of them cannot be had so."""
    asks = [(i, ask) for i, (ask, under) in enumerate(job.asked) if under == "plain"]
    prefix = f"{job.number}.{by_class.ranked}/"
    columns = [name.removeprefix(prefix) for name in readers[0].entries if name.startswith(prefix)]
    most = max(1, min(job.memory // EVENT_BYTES, max(PART, len(readers) * RUN_ROWS)))
    begins = {
        table: np.stack([reader.whole(f"{job.number}.{table}.begin") for reader in readers])
        for table in readers[0].facts["tables"][job.number]
    }
    arrays: dict[str, Array] = {}
    for k in job.classes:
        totals = _Totals(readers, job.number, begins, k)
        streams = {i: by_class.stream(ask, totals, count) for i, ask in asks}
        ranges = totals.ranges(by_class.ranked)
        runs = [
            Run(reader, prefix, columns, a, b, place)
            for reader, (a, b), place in zip(readers, ranges, places, strict=True)
            if b > a
        ]
        fed = [stream for stream in streams.values() if stream is not None]
        if len(fed) < len(streams):
            return None
        for part in merged(runs, most):
            for stream in fed:
                stream.feed(part)
        for i, answer in zip(streams, fed, strict=True):
            arrays |= {f"{i}.{k}.{j}": np.ascontiguousarray(one) for j, one in enumerate(answer.result())}
    return arrays


def _events(readers: Sequence[Reader], places: Sequence[Array], number: int, k: int) -> dict[str, dict[str, Array]]:
    """The events of one class from all shards."""
    found: dict[str, dict[str, Array]] = {}
    for table in readers[0].facts["tables"][number]:
        prefix = f"{number}.{table}/"
        columns = [name.removeprefix(prefix) for name in readers[0].entries if name.startswith(prefix)]
        ranges = [reader.rows(f"{number}.{table}.begin", k, k + 2).tolist() for reader in readers]
        found[table] = {}
        for column in columns:
            ends = np.cumsum([0] + [b - a for a, b in ranges])
            whole: Array | None = None  # filled part by part, so that nothing is held twice
            for i, (reader, (a, b)) in enumerate(zip(readers, ranges, strict=True)):
                part = reader.rows(f"{prefix}{column}", a, b)
                if column == "unit":
                    check_range(part, len(places[i]), "unit", reader.path)
                    part = places[i][part]
                whole = np.empty(int(ends[-1]), dtype=part.dtype) if whole is None else whole
                whole[ends[i] : ends[i + 1]] = part
            found[table][column] = np.zeros(0) if whole is None else whole
    return found


def in_groups(sizes: Array, most: int) -> list[tuple[int, ...]]:
    """Classes one after the other, together no more than so many events; a larger class is a group of its own."""
    groups: list[tuple[int, ...]] = []
    held = 0
    for k, size in enumerate(sizes.tolist()):
        if groups and held + size <= most:
            groups[-1] += (k,)
            held += size
        else:
            groups.append((k,))
            held = size
    return groups


def read_answers(
    data: Data, by_class: ByClass, names: Sequence[str], jobs: Sequence[Walking]
) -> dict[tuple[Ask, str], Arrays]:
    """The answers for all classes."""
    found: dict[tuple[Ask, str], Arrays] = {}
    for key in dict.fromkeys(job.key for job in jobs):
        mine = [(name, job) for name, job in zip(names, jobs, strict=True) if job.key == key]
        files = [(_answers(state_path(data.work, "answers", name), job), job) for name, job in mine]
        for i, (ask, kind) in enumerate(mine[0][1].asked):
            if any(name.startswith(f"{i}.") for arrays, _ in files for name in arrays):
                found[ask, kind] = by_class.combined(ask, _by_class(files, i))
    return found


def _answers(path: str, job: Walking) -> Mapping[str, Array]:
    """The answers of one file, whose names and sizes are those that were asked for."""
    rows = {"plain": 1, "draws": job.data.request.draws}
    arrays = read_container(path).arrays
    asked = {f"{i}.{k}": rows.get(kind) for i, (_, kind) in enumerate(job.asked) for k in job.classes}
    check_answers(arrays, asked, path)
    return arrays


def _by_class(files: Sequence[tuple[Mapping[str, Array], Walking]], number: int) -> Iterator[tuple[int, Arrays]]:
    for arrays, job in files:
        for k in job.classes:
            every: list[Array] = []
            while f"{number}.{k}.{len(every)}" in arrays:
                every.append(arrays[f"{number}.{k}.{len(every)}"])
            if every:
                yield k, tuple(every)


@frozen
class Binning:
    """Make the histograms of a state's rankings."""

    state: State
    asks: tuple[Ask, ...]
    bins: int


def make_histograms(job: Binning) -> str:
    """Counts by bin of scores; gives the name under which they lie."""
    data = job.state.how.data
    name = state_name("bins", job.state.name, job.state.drop, repr(job.asks), job.bins, measuring_name(job.state.how))
    path = state_path(data.work, "bins", name)
    if not there(path):
        by_class = data.kind.by_class
        if by_class is None:
            raise ValueError("a task without rankings")
        keep(path, {}, by_class.histograms(measured(job.state)[0], job.asks, job.bins))
    return name


class Bounded(Elsewhere):
    """Answers with the lowest or the highest value that histograms allow."""

    def __init__(self, by_class: ByClass, counts: Mapping[str, Array], upper: bool) -> None:
        self.by_class, self.counts, self.upper = by_class, counts, upper

    def answer(self, ask: Ask, weights: Weights | None, shape: Callable[[int], Arrays]) -> Arrays:
        """One end."""
        return self.by_class.bounded(ask, self.counts, self.upper)


def add_histograms(data: Data, names: Sequence[str]) -> dict[str, Array]:
    """The histograms of all states together."""
    total: dict[str, Array] = {}
    for name in names:
        path = state_path(data.work, "bins", name)
        for part, counts in read_container(path).arrays.items():
            check_counts(counts, total[part].shape if part in total else counts.shape, part, path)
            total[part] = total[part] + counts if part in total else counts
    return total
