"""Rankings on the workers, group by group: the driver never holds the events.

    measure where the units are -> events by group, one file per shard -> read a few groups at a time -> small answers

Without intervals a reading is one pass down the scores, and the files' sorted events are merged a part at a time: no
more is held than `memory` allows, however large a group is. With intervals every draw reads again, so a worker holds
the events of its groups: no more of them than `memory` allows, but at least one group whole. Events stand in the order
of their scores, equal ones by unit, as they would in one place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import cast

import numpy as np

from steelyard.align.unit_digest import id_keys
from steelyard.core.block import Block
from steelyard.core.by_group import AnsweredBlock, Arrays, GroupCurve, Stream
from steelyard.core.draws import BootstrapDraws
from steelyard.core.facts import Facts
from steelyard.core.frozen import frozen
from steelyard.core.metric import Metric
from steelyard.core.need import Curve, Need, Ranking
from steelyard.core.ranking import Grouped, RankingBlock, tied_by_unit
from steelyard.core.records import Array, as_object
from steelyard.core.request import Request
from steelyard.core.state import State as Measured
from steelyard.core.weights import Counts, Floats, GivenRows, LeaveOneOut, Plain, Role, Weights
from steelyard.engine.intervals import BCA_BELOW
from steelyard.io.container import Reader, read_container
from steelyard.io.valid import check_answers, check_counts, check_range
from steelyard.scale.jobs import Data, State, Summary, joined, measuring_name, under_whole
from steelyard.scale.merge import Run, merged
from steelyard.scale.shards import keep, state_name, state_path, there

EVENT_BYTES = 64  # that a worker needs for an event, about: its columns, their sorted copies, the order
PIECES = 8  # jobs that a ranking is read in, at least: whatever the number of workers, so that states stay the same
PART = 1 << 20  # events that are merged at a time: more only make the sorting slower
RUN_ROWS = 4096  # of a file at a time, at least, where memory allows
TABLES = ("event", "positive")


@frozen
class Question:
    """A curve, the role of the weights that it is read under, and the groups that it reads; None is all of them."""

    curve: GroupCurve
    role: Role
    groups: tuple[int, ...] | None

    @property
    def text(self) -> list[object]:
        """What its answer depends on."""
        return [str(self.curve), self.role.value, self.groups]


Asked = Mapping[Ranking, tuple[Question, ...]]


def what_is_asked(metrics: Sequence[Metric], request: Request, facts: Facts) -> Asked:
    """The questions to rankings that can be read group by group, all of their curves."""
    asked: dict[Ranking, dict[Question, None]] = {}
    whole: set[Ranking] = set()
    for metric in metrics:
        for curve in metric.needs():
            if not isinstance(curve, Curve):
                continue
            if not isinstance(curve, GroupCurve):
                whole.add(curve.ranking)
                continue
            roles = [Role.POINT]
            if request.confidence is not None and curve.drawn:
                left_out = not metric.leans or metric.few == "t"
                roles += [Role.DRAWS, *((Role.JACKKNIFE,) if left_out else ())]
            groups = curve.groups(facts)
            for role in roles:
                question = Question(curve, role, None if groups is None else tuple(groups))
                asked.setdefault(curve.ranking, {})[question] = None
    return {need: tuple(questions) for need, questions in asked.items() if need not in whole}


@frozen
class Eventing:
    """Measure the rankings of a state and lay their events down by group."""

    state: State
    needs: tuple[Ranking, ...]


def blocks_of(job: Eventing) -> list[RankingBlock]:
    """The rankings of a state, under the groups of all shards."""
    state = under_whole(Measured.of(joined(job.state)[0], job.needs), job.state.how)
    return [cast(RankingBlock, state.blocks[need]) for need in job.needs]


def make_events(job: Eventing) -> tuple[str, list[Array]]:
    """The events of a state; gives their name, and for each ranking how many rows each group has."""
    data = job.state.how.data
    needs = [str(need) for need in job.needs]
    name = state_name("sorted events", job.state.name, job.state.drop, needs, measuring_name(job.state.how))
    path = state_path(data.work, "events", name)
    if not there(path):
        arrays: dict[str, Array] = {}
        for number, block in enumerate(blocks_of(job)):
            for table, rows in zip(TABLES, (block.events, block.positives), strict=True):
                arrays[f"{number}.{table}.begin"] = np.ascontiguousarray(rows.begin, dtype=np.int64)
                for column, values in {"unit": rows.unit, **rows.columns}.items():
                    arrays[f"{number}.{table}/{column}"] = np.ascontiguousarray(values)
        keep(path, {}, arrays)
    reader = Reader(path)
    counts = [sum(np.diff(reader.whole(f"{number}.{table}.begin")) for table in TABLES) for number in range(len(needs))]
    return name, [np.asarray(count) for count in counts]


def lay_units(data: Data, states: Sequence[State], summaries: Sequence[Summary]) -> str:
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
    return name


@frozen
class Walking:
    """Read the rankings of some groups; None takes all groups for one."""

    data: Data
    events: tuple[str, ...]
    units: str
    number: int
    groups: tuple[int, ...] | None
    asked: tuple[Question, ...]
    memory: int

    def places(self, question: Question) -> list[int]:
        """The groups of this job that a question is about; all of them as one are group 0."""
        if self.groups is None:
            return [0]
        return [k for k in self.groups if question.groups is None or k in question.groups]


def plan_walks(
    data: Data, asked: Asked, laid: Sequence[tuple[str, list[Array]]], units: str, memory: int
) -> list[Walking]:
    """The jobs that answer all questions."""
    events = tuple(name for name, _ in laid)
    jobs = []
    for number, questions in enumerate(asked.values()):
        sizes = np.sum([counts[number] for _, counts in laid], axis=0)
        most = max(1, min(memory // EVENT_BYTES, -(-int(sizes.sum()) // PIECES)))
        by_group = tuple(question for question in questions if not question.curve.pooled)
        pooled = tuple(question for question in questions if question.curve.pooled)
        if by_group:
            jobs += [Walking(data, events, units, number, group, by_group, memory) for group in in_groups(sizes, most)]
        if pooled:
            jobs.append(Walking(data, events, units, number, None, pooled, memory))
    return jobs


def in_groups(sizes: Array, most: int) -> list[tuple[int, ...]]:
    """Groups one after the other, together no more than so many events; a larger one is by itself."""
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


def walk(job: Walking) -> str:
    """The answers for some groups; gives the name under which they lie."""
    request = job.data.request
    how = (request.confidence is not None, request.draws, request.seed)
    questions = [question.text for question in job.asked]
    name = state_name("answers", job.events, job.units, job.number, job.groups, questions, how)
    path = state_path(job.data.work, "answers", name)
    if there(path):
        return name
    units = Reader(state_path(job.data.work, "units", job.units))
    count = int(units.facts["units"])
    files = _Files(job, units, count)
    arrays = files.streamed() if request.confidence is None or count < 2 else None
    if arrays is None:
        arrays = _read(job, units, files, count)
    keep(path, {}, {part: np.ascontiguousarray(array) for part, array in arrays.items()})
    return name


def _read(job: Walking, units: Reader, files: _Files, count: int) -> dict[str, Array]:
    """The answers from groups that are held whole."""
    blocks = {k: files.block(k) for k in (job.groups or (0,))}
    arrays: dict[str, Array] = {}
    for weights in _weights(job.data.request, units, count):
        asked = [(i, question) for i, question in enumerate(job.asked) if question.role is weights.role]
        parts: dict[str, list[Array]] = {}
        for piece in _pieces(weights) if asked else ():
            for i, question in asked:
                for k in job.places(question):
                    for j, array in enumerate(question.curve.read_group(blocks[k], piece)):
                        parts.setdefault(f"{i}.{k}.{j}", []).append(array)
        arrays |= {part: rows[0] if len(rows) == 1 else np.concatenate(rows) for part, rows in parts.items()}
    return arrays


class _Once(Weights):
    """Some draws, whose weights are made once for all groups."""

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
    if weights.role is Role.POINT:
        yield weights
    elif weights.role is Role.DRAWS:
        yield from map(_Once, cast(BootstrapDraws, weights).pieces())
    else:
        yield from (GivenRows(block, weights.role) for block in weights.blocks())


def _weights(request: Request, units: Reader, count: int) -> Iterator[Weights]:
    yield Plain(np.ones(count))
    if request.confidence is not None and count > 1:
        yield BootstrapDraws(units.whole("keys"), np.ones(count), request.seed, request.draws)
        if count < BCA_BELOW:
            yield LeaveOneOut(np.ones(count))


class _Sizes:
    """Of one group, from all files; see `core.by_group.GroupSizes`."""

    def __init__(self, files: _Files, k: int) -> None:
        self.files, self.k = files, k
        self._sums: dict[tuple[str, str], int] = {}

    def rows(self, table: str) -> int:
        """How many rows a table has."""
        return sum(b - a for _, a, b in self.files.ranges(table, self.k))

    def sum(self, table: str, column: str) -> int:
        """The sum of a column, a file at a time."""
        if (table, column) not in self._sums:
            name = f"{self.files.number}.{table}/{column}"
            parts = [(self.files.readers[i], a, b) for i, a, b in self.files.ranges(table, self.k)]
            self._sums[table, column] = sum(int(r.rows(name, a, b).sum(dtype=np.int64)) for r, a, b in parts)
        return self._sums[table, column]


class _Files:
    """The events of a ranking, in the files of all shards."""

    def __init__(self, job: Walking, units: Reader, count: int) -> None:
        self.job, self.number, self.count = job, job.number, count
        self.readers = [Reader(state_path(job.data.work, "events", one)) for one in job.events]
        self.places = [units.whole(f"place{i}") for i in range(len(self.readers))]
        for place in self.places:
            check_range(place, count, "place", units.path)
        self.begins = {
            table: np.stack([reader.whole(f"{self.number}.{table}.begin") for reader in self.readers])
            for table in TABLES
        }

    def columns(self, table: str) -> list[str]:
        """The columns of a table."""
        prefix = f"{self.number}.{table}/"
        return [name.removeprefix(prefix) for name in self.readers[0].entries if name.startswith(prefix)]

    def ranges(self, table: str, k: int) -> list[tuple[int, int, int]]:
        """Where the rows of a group stand: file, first row, end. All groups as one have a range for each of theirs."""
        begins = self.begins[table]
        groups = range(begins.shape[1] - 1) if self.job.groups is None else [k]
        every = [(i, int(begins[i, g]), int(begins[i, g + 1])) for i in range(len(begins)) for g in groups]
        return [(i, a, b) for i, a, b in every if b > a]

    def streamed(self) -> dict[str, Array] | None:
        """The answers under weights of 1, each group a part at a time; None where one of them cannot be had so."""
        asked = [(i, question) for i, question in enumerate(self.job.asked) if question.role is Role.POINT]
        most = max(1, min(self.job.memory // EVENT_BYTES, max(PART, len(self.readers) * RUN_ROWS)))
        columns = self.columns("event")
        arrays: dict[str, Array] = {}
        for k in self.job.groups or (0,):
            sizes, streams = _Sizes(self, k), dict[int, Stream]()
            for i, question in asked:
                if k in self.job.places(question):
                    stream = question.curve.stream(sizes, self.count)
                    if stream is None:
                        return None
                    streams[i] = stream
            runs = [
                Run(self.readers[i], f"{self.number}.event/", columns, a, b, self.places[i])
                for i, a, b in self.ranges("event", k)
            ]
            for part in merged(runs, most) if streams else ():
                for stream in streams.values():
                    stream.feed(part)
            for i, stream in streams.items():
                arrays |= {f"{i}.{k}.{j}": np.ascontiguousarray(one) for j, one in enumerate(stream.result())}
        return arrays

    def block(self, k: int) -> RankingBlock:
        """One group from all shards."""
        events, positives = (self._rows(table, k) for table in TABLES)
        order = tied_by_unit(events["score"], events["unit"])
        for name in events:  # one column at a time: a group may be the larger part of the memory
            events[name] = events[name][order]
        tables = [Grouped(np.array([0, len(rows["unit"])]), rows.pop("unit"), rows) for rows in (events, positives)]
        return RankingBlock("", tables[0], tables[1])

    def _rows(self, table: str, k: int) -> dict[str, Array]:
        ranges = self.ranges(table, k)
        ends = np.cumsum([0] + [b - a for _, a, b in ranges])
        rows: dict[str, Array] = {}
        for column in self.columns(table):
            name = f"{self.number}.{table}/{column}"
            whole: Array = np.empty(int(ends[-1]), dtype=self.readers[0].rows(name, 0, 0).dtype)
            for (i, a, b), start in zip(ranges, ends, strict=False):  # part by part, so that nothing is held twice
                part = self.readers[i].rows(name, a, b)
                if column == "unit":
                    check_range(part, len(self.places[i]), "unit", self.readers[i].path)
                    part = self.places[i][part]
                whole[start : start + b - a] = part
            rows[column] = whole
        return rows


def read_answers(data: Data, asked: Asked, names: Sequence[str], jobs: Sequence[Walking]) -> dict[Need, Block]:
    """The answers for all groups, each ranking's as a block."""
    blocks: dict[Need, Block] = {}
    for number, (need, questions) in enumerate(asked.items()):
        mine = [(name, job) for name, job in zip(names, jobs, strict=True) if job.number == number]
        files = [(_answers(state_path(data.work, "answers", name), job), job) for name, job in mine]
        answers = {}
        for question in questions:
            parts = [
                part for arrays, job in files if question in job.asked for part in _of_groups(arrays, job, question)
            ]
            if parts:
                answers[question.curve, question.role] = question.curve.join(iter(parts))
        blocks[need] = AnsweredBlock(answers)
    return blocks


def _answers(path: str, job: Walking) -> Mapping[str, Array]:
    """The answers of one file, whose names and sizes are those that were asked for."""
    rows = {Role.POINT: 1, Role.DRAWS: job.data.request.draws}
    arrays = read_container(path).arrays
    asked = {f"{i}.{k}": rows.get(q.role) for i, q in enumerate(job.asked) for k in job.places(q)}
    check_answers(arrays, asked, path)
    return arrays


def _of_groups(arrays: Mapping[str, Array], job: Walking, question: Question) -> Iterator[Arrays]:
    number = job.asked.index(question)
    for k in job.places(question):
        every: list[Array] = []
        while f"{number}.{k}.{len(every)}" in arrays:
            every.append(arrays[f"{number}.{k}.{len(every)}"])
        if every:
            yield tuple(every)


@frozen
class Binning:
    """Make the histograms of a state's rankings."""

    state: State
    asked: Asked
    bins: int


def make_histograms(job: Binning) -> str:
    """Counts by bin of scores; gives the name under which they lie."""
    data = job.state.how.data
    curves = [[question.text for question in questions] for questions in job.asked.values()]
    name = state_name("bins", job.state.name, job.state.drop, curves, job.bins, measuring_name(job.state.how))
    path = state_path(data.work, "bins", name)
    if not there(path):
        arrays: dict[str, Array] = {}
        blocks = blocks_of(Eventing(job.state, tuple(job.asked)))
        for number, (questions, block) in enumerate(zip(job.asked.values(), blocks, strict=True)):
            for i, question in enumerate(questions):
                counts = question.curve.histogram(block, job.bins)
                arrays |= {f"{number}.{i}.{part}": values for part, values in counts.items()}
        keep(path, {}, arrays)
    return name


def add_histograms(data: Data, names: Sequence[str]) -> dict[str, Array]:
    """The histograms of all states together."""
    total: dict[str, Array] = {}
    for name in names:
        path = state_path(data.work, "bins", name)
        for part, counts in read_container(path).arrays.items():
            check_counts(counts, total[part].shape if part in total else counts.shape, part, path)
            total[part] = total[part] + counts if part in total else counts
    return total


def bounded(asked: Asked, counts: Mapping[str, Array], facts: Facts, upper: bool) -> dict[Need, Block]:
    """What histograms allow at the least, or at the most."""
    blocks: dict[Need, Block] = {}
    for number, (need, questions) in enumerate(asked.items()):
        answers = {}
        for i, question in enumerate(questions):
            start = f"{number}.{i}."
            mine = {name.removeprefix(start): array for name, array in counts.items() if name.startswith(start)}
            answers[question.curve, question.role] = question.curve.bounded(mine, facts, upper)
        blocks[need] = AnsweredBlock(answers)
    return blocks
