"""Accumulator: batches in, as a training loop or several machines make them; one report out.

The report is that of all the data at once, to the bit: the order of the batches, their split and the machine that saw
them do not matter, and a unit that was seen twice counts once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from os import PathLike
from typing import Any, TypedDict, Unpack

import numpy as np

from steelyard.align.gather import ON_CONFLICT, Batch, Gathered, gather
from steelyard.align.join import check_policy
from steelyard.align.rankings import unfold_rows
from steelyard.api import findings
from steelyard.core import catalogue
from steelyard.core.deprecated import Renamed
from steelyard.core.errors import (
    Conflict,
    EmptyInput,
    Incompatible,
    InputError,
    InvalidResult,
    InvalidSetting,
    MissingData,
    MissingExtra,
    Unsupported,
    nearest,
)
from steelyard.core.options import Options
from steelyard.core.rankings import Rankings
from steelyard.core.records import Array, Records, RowLocation, factorize
from steelyard.core.request import Metrics, Request, Settings, takes_settings
from steelyard.core.task import Task
from steelyard.engine.measure import needs_of, per_unit_state
from steelyard.engine.report import report_of
from steelyard.engine.run import expand_metrics, measure_records, metrics_of
from steelyard.io.container import (
    Container,
    container_bytes,
    parse_container,
    read_container,
    unfit,
    write_container,
)
from steelyard.io.dialect import csv_dialect, reading_notes
from steelyard.io.options import resolve_options
from steelyard.io.sources import read_sides
from steelyard.io.state import SIDES, pack_sides, unpack_sides
from steelyard.io.stored import FACTS, StoredAccumulator, check_stored
from steelyard.io.valid import check_sorted
from steelyard.partial.state import PartialState, repeated_note
from steelyard.results.report import Report
from steelyard.version import __version__


class Resampling(TypedDict, total=False):
    """What may be chosen again for each report."""

    confidence: float | None
    draws: int
    seed: int
    save_draws: bool
    save_influences: bool


KIND = "records"  # of the container that a state is kept in
SOURCES = ("gathered truth", "gathered predictions")  # what a report calls them


class Accumulator:
    """Gather batches of a task, then report.

    `update` takes what `evaluate` takes, for some of the units, each whole; `merge` takes over another accumulator,
    which may come from another process (`save` and `load`, `to_bytes` and `from_bytes`, or pickle); `report` evaluates
    all that was gathered. In the habit of torchmetrics, `update` also takes `preds=` and `target=`, `compute` is
    `report`, and `reset` removes all batches. A unit that came twice counts once; if its two copies differ, that is an
    error, unless `on_conflict="keep"` says that one of them is kept by its contents (a model that is not deterministic,
    behind a sampler that repeats units to fill its last batch).

    With `device` ("cuda", "cpu") tensors are counted where they are, and nothing waits for the device before `report`;
    only the counts are kept. `labels` and `segmentation` can be counted, `depth`, `disparity`, `flow` and `normals`
    measured, and the vectors of `distributions` summed for `fid`.
    """

    @takes_settings("explain", "adjust", "margin", "superiority", "delimiter", "decimal")
    def __init__(
        self, task: str, *, on_conflict: str = "error", device: Any = None, **settings: Unpack[Settings]
    ) -> None:
        self.task = catalogue.find_task(task)
        if "metrics" in settings:
            raise TypeError("metrics are said when the report is made: report(metrics), or compact(metrics) before")
        if on_conflict not in ON_CONFLICT:
            raise InvalidSetting(
                f"on_conflict='{on_conflict}' is not a valid choice", remedy=nearest(on_conflict, ON_CONFLICT)
            )
        self.on_conflict = on_conflict
        self._start(Request.of(self.task.name, None, settings), device)

    def _start(self, request: Request, device: Any) -> None:
        """Begin with nothing gathered."""
        self.request, self.options = request, resolve_options(self.task, request.options)
        self.batches: list[Batch] = []
        self._seen = 0
        self._repeated: list[Array] = []
        self._unlike: list[Array] = []
        self._read_notes: dict[str, None] = {}
        self.compacted: PartialState | None = None
        self.counter = None if device is None else _counter(self.task, request, self.options, device)

    @staticmethod
    def for_request(request: Request, on_conflict: str = "error", device: Any = None) -> Accumulator:
        """An accumulator with the settings of a request."""
        made = Accumulator(request.task, on_conflict=on_conflict)
        made._start(replace(request, metrics=None), device)
        return made

    def update(
        self, truth: Any = None, predictions: Any = None, *, target: Any = None, preds: Any = None,
        delimiter: str | None = None, decimal: str | None = None,
    ) -> None:  # fmt: skip
        """Add one batch. The data are copied: buffers may be reused.

        `target` and `preds` are other names of `truth` and `predictions`, as torchmetrics has them; `delimiter` and
        `decimal` are those of `evaluate`.
        """
        truth = _given_once("truth", truth, "target", target)
        predictions = _given_once("predictions", predictions, "preds", preds)
        if self.counter is not None:
            self.counter.update(truth, predictions, self._seen)
            self._seen += 1
            return
        if self.compacted is not None:
            raise Unsupported(
                "the accumulator is compacted and takes no more batches",
                remedy="Gather them in another one, compact it alike, and merge.",
            )
        with reading_notes() as said, csv_dialect(delimiter, decimal):
            named = self.request.named_columns
            sides = read_sides(self.task, truth, predictions, self.request.columns, self.options, named)
        self._read_notes |= dict.fromkeys([*getattr(sides[0], "notes", ()), *said])
        named = (f"batch {self._seen}, truth", f"batch {self._seen}, predictions")
        self.batches.append((_own(sides[0], named[0]), _own(sides[1], named[1])))
        self._seen += 1

    def merge(self, other: Accumulator) -> None:
        """Take over what another accumulator of the same task has gathered."""
        if other.task.name != self.task.name:
            raise Incompatible(f"an accumulator of '{other.task.name}' cannot be merged into one of '{self.task.name}'")
        if (self.compacted is None) != (other.compacted is None):
            raise Incompatible(
                "one accumulator is compacted and the other is not", remedy="Compact both alike, or neither."
            )
        if other.request.measuring() != self.request.measuring():
            raise Incompatible(
                "accumulators that were made with other settings cannot be merged", remedy="Make them alike."
            )
        if (self.counter is None) != (other.counter is None):
            raise Incompatible("one accumulator counts on a device and the other does not", remedy="Make them alike.")
        if self.counter is not None:
            self.counter.merge(other.counter)
            self._seen += other._seen
            return
        self._repeated += other._repeated
        self._unlike += other._unlike
        self._read_notes |= other._read_notes
        if self.compacted is not None and other.compacted is not None:
            self.compacted, again = PartialState.merge([self.compacted, other.compacted])
            self._repeated = _once([*self._repeated, again])
        self.batches += other.batches

    def empty(self) -> Accumulator:
        """An accumulator with the same settings and nothing in it."""
        device = None if self.counter is None else self.counter.device
        return Accumulator.for_request(self.request, self.on_conflict, device)

    def reset(self) -> None:
        """Remove all batches, as at the start of an epoch; the settings stay."""
        self.__dict__.update(self.empty().__dict__)

    def __len__(self) -> int:
        """How many batches came since the last were gathered into one."""
        return len(self.batches)

    gathered = Renamed("gather_batches")

    def gather_batches(self) -> Gathered:
        """All batches as one, every unit once, in the order of their ids; later calls start from there."""
        if self.counter is not None:
            raise Unsupported("counts on a device have no rows to gather", remedy="Leave device out.")
        if not self.batches:
            raise EmptyInput("nothing was gathered", remedy="Call update() first.")
        gathered = gather(self.batches, self.task.truth.key, self.on_conflict)
        self.batches = [(gathered.truth, gathered.prediction)]
        self._repeated = _once([*self._repeated, gathered.repeated])
        self._unlike = _once([*self._unlike, gathered.unlike])
        return gathered

    gathered = Renamed("gather_batches")

    def report(self, metrics: Metrics = None, **settings: Unpack[Resampling]) -> Report:
        """Evaluate all batches as one.

        `confidence`, `draws`, `seed`, `save_draws` and `save_influences` are as in `evaluate`; what is not said here is
        as it was said when the accumulator was made. A compacted one has the metrics that it was compacted for.
        """
        other = [name for name in settings if name not in Resampling.__annotations__]
        if other:
            raise TypeError(f"'{other[0]}' is said when the accumulator is made: Accumulator(task, {other[0]}=...)")
        request = replace(self.request, metrics=Request.of(self.task.name, metrics).metrics, **settings)
        request.check()
        if self.compacted is not None:
            return self._report_sums(request)
        if self.counter is None:
            gathered = self.gather_batches()
            truth = replace(gathered.truth, source=SOURCES[0])
            prediction = replace(gathered.prediction, source=SOURCES[1])
            notes = tuple(self._read_notes)
        elif not self._seen:
            raise EmptyInput("nothing was gathered", remedy="Call update() first.")
        else:
            for name in ("save_draws", "save_influences"):
                if getattr(request, name):
                    raise Unsupported(
                        f"{name} needs rows, and a device keeps counts", remedy=f"Leave device out, or {name}."
                    )
            if request.metrics is None:
                request = replace(request, metrics=self.counter.metrics(self.task.defaults))
            truth, prediction = self.counter.sides()  # waits for the device
            notes = self.counter.notes()
        data = measure_records(self.task, request, self.options, truth, prediction)
        report = report_of(self.task, request, data, findings(data, self.task.name))
        return replace(report, notes=(*notes, *report.notes, *self._notes()))

    def compute(self, metrics: Metrics = None, **settings: Unpack[Resampling]) -> Report:
        """The report, under the name that torchmetrics has for it: `accumulator.compute()["mae"].value`."""
        return self.report(metrics, **settings)

    def compact(self, metrics: Metrics = None) -> None:
        """Keep only what these metrics need of each unit, or those of the default set.

        The reports of these metrics, their intervals too, stay the same to the bit.
        """
        if self.compacted is not None:
            raise Conflict("the accumulator is compacted already")
        task, gathered = self.task, self.gather_batches()
        request = replace(self.request, metrics=Request.of(task.name, metrics).metrics)
        data = measure_records(task, request, self.options, gathered.truth, gathered.prediction)
        state = per_unit_state(data.pairs, data.state, data.metrics)
        part = PartialState.of(task, request, self.options, data.metrics, gathered, data.pairs, state)
        self.compacted, self.batches = replace(part, notes=(*self._read_notes, *data.notes)), []

    def _report_sums(self, request: Request) -> Report:
        kept = self.compacted
        if kept is None:
            raise ValueError("the accumulator is not compacted")
        wanted = metrics_of(self.task, kept.specs if request.metrics is None else request.metrics)
        wanted = expand_metrics(self.task, wanted, False, kept.state)
        for metric in wanted:
            if str(metric) not in kept.specs:
                raise MissingData(f"what '{metric}' needs was not kept", remedy=nearest(str(metric), kept.specs))
        report = kept.report(wanted, request, SOURCES)
        return replace(report, notes=(*report.notes, *self._notes()))

    def _notes(self) -> list[str]:
        repeated, unlike = (sum(map(len, ids)) for ids in (self._repeated, self._unlike))
        notes = []
        if repeated:
            notes.append(repeated_note(self.task, repeated))
        if unlike:
            notes.append(f"{unlike} of them came with other predictions; one copy is kept by its contents.")
        return notes

    def save(self, path: str | PathLike[str]) -> None:
        """Write the state, every unit once. The same data give the same bytes, whatever batches they came in."""
        write_container(path, *self._pack_state())

    def to_bytes(self) -> bytes:
        """What `save` writes, to be sent to another process."""
        return container_bytes(*self._pack_state())

    @staticmethod
    def load(path: str | PathLike[str]) -> Accumulator:
        """Read a state that `save` wrote."""
        return Accumulator._unpack_state(read_container(path), str(path))

    @staticmethod
    def from_bytes(data: bytes, source: str = "a state") -> Accumulator:
        """Read a state that `to_bytes` made; `source` names it in messages."""
        return Accumulator._unpack_state(parse_container(data, source), source)

    def _pack_state(self) -> tuple[str, dict[str, Any], dict[str, Array]]:
        facts: dict[str, Any] = {
            "task": self.task.name,
            "steelyard": __version__,
            "request": self._saved_request(),
            "unlike": self.on_conflict,
            "notes": tuple(self._read_notes),
        }
        arrays: dict[str, Array] = {}
        if self.compacted is not None:
            facts["sums"], arrays = self.compacted.pack()
        if self.batches or self.counter is not None:
            gathered = self.gather_batches()
            sides = (gathered.truth, gathered.prediction)
            packed = pack_sides(*(replace(one, source=side) for one, side in zip(sides, SIDES, strict=True)))
            facts, arrays = facts | packed[0], arrays | packed[1]
        for name, ids in (("repeated", self._repeated), ("unlike", self._unlike)):
            if ids:
                arrays[name] = ids[0] if len(ids) == 1 else _once(ids)[0]
        return KIND, facts, arrays

    def _saved_request(self) -> dict[str, Any]:
        """The settings as plain values. A list of ids that an option named by a file is kept as the list."""
        options = {}
        for name, value in self.request.options.items():
            resolved = self.options.values.get(name.replace("-", "_"), value)
            options[name] = next(iter(resolved.columns.values())).tolist() if isinstance(resolved, Records) else value
        asked = self.request
        return {
            "by": asked.by, "missing": asked.missing, "extra": asked.extra, "columns": dict(asked.columns),
            "options": options, "confidence": asked.confidence, "draws": asked.draws, "seed": asked.seed,
            "save_draws": asked.save_draws, "cluster": asked.cluster, "strata": asked.strata,
            "sequence": asked.sequence, "tags": dict(asked.tags), "save_influences": asked.save_influences,
        }  # fmt: skip

    @staticmethod
    def _unpack_state(container: Container, source: str) -> Accumulator:
        if container.kind != KIND:
            raise InvalidResult(f"the state is one of '{container.kind}', not of '{KIND}'", where=source)
        facts, arrays = container.facts, container.arrays
        check_stored(facts, StoredAccumulator, FACTS, source)
        if facts["task"] not in catalogue.TASKS:
            raise InvalidResult(f"the state is of task '{facts['task']}', which is unknown", where=source)
        try:
            state = Accumulator(facts["task"], on_conflict=facts["unlike"], **facts["request"])
            check_policy(state.request.policy(state.task))
        except (InputError, TypeError) as error:
            raise unfit(source, f"the field 'request' does not fit: {error}") from None
        state._read_notes = dict.fromkeys(facts["notes"])
        if SIDES[0] in facts or SIDES[1] in facts:
            state.batches, state._seen = [unpack_sides(container, state.task, source)], 1
        if "sums" in facts:
            state.compacted = PartialState.unpack(Container(KIND, facts["sums"], arrays), source)
            if state.compacted.task != state.task.name:
                raise unfit(source, f"the field 'sums.task' is '{state.compacted.task}', not '{state.task.name}'")
            _check_measured(state.task, state.compacted, source)
        for name, kept in (("repeated", state._repeated), ("unlike", state._unlike)):
            if name in arrays:
                check_sorted(arrays[name], name, source)
                kept.append(arrays[name])
        return state

    def __getstate__(self) -> dict[str, Any]:
        return {"state": self.to_bytes()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(Accumulator.from_bytes(state["state"]).__dict__)


def _counter(task: Task, request: Request, options: Options, device: Any) -> Any:
    """What counts the tensors of a task on a device (`partial.tensors.Counter`)."""
    if not task.device:
        raise Unsupported(
            f"task '{task.name}' is not counted on a device",
            remedy="Leave device out: tensors of any device are taken.",
        )
    for name in ("by", "columns", "cluster", "strata", "missing", "extra", "sequence"):
        if getattr(request, name):
            raise Unsupported(
                f"counts on a device know no rows, which '{name}' needs", remedy=f"Leave device out, or {name}."
            )
    try:
        module = import_module(task.device)
    except ImportError as error:
        if error.name != "torch":
            raise
        raise MissingExtra("Accumulator(device=...)", "torch") from None
    return module.counter(options, device)


def _check_measured(task: Task, kept: PartialState, source: str) -> None:
    """Refuse sums that lack what their own metrics need."""
    try:
        needs = needs_of(metrics_of(task, kept.specs))
    except InputError as error:
        raise unfit(source, f"the field 'sums.specs' does not fit: {error}") from None
    lacking = next((statistic for statistic in needs if statistic not in kept.state.blocks), None)
    if lacking is not None:
        raise unfit(source, f"the field 'sums.state.blocks' lacks '{lacking}', which its metrics need")


def _own(records: Records, named: str) -> Records:
    """The same records, over memory that nobody else writes to."""
    if isinstance(records, Rankings):
        rows = unfold_rows(records)
        return replace(rows, values=rows.values.copy(), place=RowLocation(named), source=named, content=[])
    columns = {name: np.array(column) for name, column in records.columns.items()}
    other = {name: np.array(column) for name, column in records.other.items()}
    return replace(records, columns=columns, other=other, place=RowLocation(named), source=named)


def _given_once(name: str, value: Any, other: str, same: Any) -> Any:
    """The value of an argument that has two names."""
    if value is not None and same is not None:
        raise TypeError(f"update() got both '{name}' and '{other}', which are two names of one argument")
    return same if value is None else value


def _once(ids: Sequence[Array]) -> list[Array]:
    filled = [part for part in ids if len(part)]
    return [factorize(*filled)[0]] if filled else []
