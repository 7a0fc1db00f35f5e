"""Rankings read by the workers, group by group: the driver never holds the events.

    measure where the units are -> events by group, one file per shard -> read a few groups at a time -> small answers

Without intervals a reading is one pass down the scores, and the files' sorted events are merged a part at a time: no
more is held than `memory` allows, however large a group is. With intervals every draw reads again, so a worker holds
the events of its groups: no more of them than `memory` allows, but at least one group whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import cast

import numpy as np

from steelyard.core.block import Block
from steelyard.core.by_group import AnsweredBlock, Arrays, GroupCurve, Stream
from steelyard.core.draws import BootstrapDraws
from steelyard.core.frozen import Frozen
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Metric
from steelyard.core.plan import leave_groups_out
from steelyard.core.records import Array
from steelyard.core.request import Request
from steelyard.core.statistic import Ranking, RankingReader, Statistic
from steelyard.core.weights import Counts, Floats, GivenRows, Plain, Role, Weights
from steelyard.io.container import read_container
from steelyard.io.valid import check_answers
from steelyard.scale.events import Files, Sizes
from steelyard.scale.merge import merge_events
from steelyard.scale.reading import ShardJobs
from steelyard.scale.shards import keep, state_name, state_path, there

EVENT_BYTES = 64  # that a worker needs for an event, about: its columns, their sorted copies, the order
PIECES = 8  # jobs that a ranking is read in, at least: whatever the number of workers, so that states stay the same
PART = 1 << 20  # events that are merged at a time: more only make the sorting slower
RUN_ROWS = 4096  # of a file at a time, at least, where memory allows


class Question(Frozen):
    """A curve, the role of the weights that it is read under, and the groups that it reads; None is all of them."""

    curve: GroupCurve
    role: Role
    groups: tuple[int, ...] | None

    @property
    def text(self) -> list[object]:
        """What its answer depends on."""
        return [str(self.curve), self.role.value, self.groups]


Asked = Mapping[Ranking, tuple[Question, ...]]


def what_is_asked(metrics: Sequence[Metric], request: Request, metadata: Metadata) -> Asked:
    """The questions to rankings that can be read group by group, all of their curves."""
    asked: dict[Ranking, dict[Question, None]] = {}
    whole: set[Ranking] = set()
    for metric in metrics:
        for curve in metric.requirements():
            if not isinstance(curve, RankingReader) or not isinstance(curve.ranking, Ranking):
                continue
            if not isinstance(curve, GroupCurve):
                whole.add(curve.ranking)
                continue
            roles = [Role.POINT]
            if request.confidence is not None and curve.drawn:
                roles += [Role.DRAWS, Role.JACKKNIFE]
            groups = curve.groups(metadata)
            for role in roles:
                question = Question(curve, role, None if groups is None else tuple(groups))
                asked.setdefault(curve.ranking, {})[question] = None
    return {statistic: tuple(questions) for statistic, questions in asked.items() if statistic not in whole}


class Walking(Frozen):
    """Read the rankings of some groups; None takes all groups for one."""

    data: ShardJobs
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
    data: ShardJobs, asked: Asked, laid: Sequence[tuple[str, list[Array]]], units: str, memory: int
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
    drawn = (request.confidence is not None, request.draws, request.seed)
    questions = [question.text for question in job.asked]
    name = state_name("readings", job.events, job.units, job.number, job.groups, questions, drawn)
    path = state_path(job.data.work, "readings", name)
    if there(path):
        return name
    files = Files(job.data, job.events, job.number, job.units, pooled=job.groups is None)
    arrays = _stream_answers(job, files) if request.confidence is None or files.count < 2 else None
    if arrays is None:
        arrays = _read(job, files)
    keep(path, {}, {part: np.ascontiguousarray(array) for part, array in arrays.items()})
    return name


def _stream_answers(job: Walking, files: Files) -> dict[str, Array] | None:
    """The answers under weights of 1, each group a part at a time; None if one of them cannot be computed this way."""
    asked = [(i, question) for i, question in enumerate(job.asked) if question.role is Role.POINT]
    most = max(1, min(job.memory // EVENT_BYTES, max(PART, len(files.readers) * RUN_ROWS)))
    arrays: dict[str, Array] = {}
    for k in job.groups or (0,):
        sizes, streams = Sizes(files, k), dict[int, Stream]()
        for i, question in asked:
            if k in job.places(question):
                stream = question.curve.stream(sizes, files.count)
                if stream is None:
                    return None
                streams[i] = stream
        for part in merge_events(files.runs(k), most) if streams else ():
            for stream in streams.values():
                stream.feed(part)
        for i, stream in streams.items():
            arrays |= {f"{i}.{k}.{j}": np.ascontiguousarray(one) for j, one in enumerate(stream.result())}
    return arrays


def _read(job: Walking, files: Files) -> dict[str, Array]:
    """The answers from groups that are held whole."""
    blocks = {k: files.block(k) for k in (job.groups or (0,))}
    arrays: dict[str, Array] = {}
    for weights in _weights(job.data.request, files):
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
        yield from self._blocks

    def counts(self) -> Iterator[Counts] | None:
        return self.piece.counts()


def _pieces(weights: Weights) -> Iterator[Weights]:
    """A block of rows at a time."""
    if weights.role is Role.POINT or (weights.role is Role.JACKKNIFE and weights.counts() is not None):
        yield weights
    elif weights.role is Role.DRAWS:
        yield from map(_Once, cast(BootstrapDraws, weights).pieces())
    else:
        yield from (GivenRows(block, weights.role) for block in weights.blocks())


def _weights(request: Request, files: Files) -> Iterator[Weights]:
    count = files.count
    yield Plain(np.ones(count))
    if request.confidence is not None and count > 1:
        yield BootstrapDraws(files.keys, np.ones(count), request.seed, request.draws)
        yield leave_groups_out(np.ones(count), lambda: files.keys)


def read_answers(
    data: ShardJobs, asked: Asked, names: Sequence[str], jobs: Sequence[Walking]
) -> dict[Statistic, Block]:
    """The answers for all groups, each ranking's as a block."""
    blocks: dict[Statistic, Block] = {}
    for number, (statistic, questions) in enumerate(asked.items()):
        mine = [(name, job) for name, job in zip(names, jobs, strict=True) if job.number == number]
        files = [(_answers(state_path(data.work, "readings", name), job), job) for name, job in mine]
        answers = {}
        for question in questions:
            parts = [
                part for arrays, job in files if question in job.asked for part in _of_groups(arrays, job, question)
            ]
            if parts:
                answers[question.curve, question.role] = question.curve.join(iter(parts))
        blocks[statistic] = AnsweredBlock(answers)
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
