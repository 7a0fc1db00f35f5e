"""Accumulator: batches in, as a training loop or several machines make them; one report out.

The report is that of all the data at once, to the bit: the order of the batches, their split and the machine that saw
them do not matter, and a unit that was seen twice counts once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, TypedDict, Unpack

import numpy as np

from steelyard.align.gather import ON_CONFLICT, Batch, Gathered, RowLocation, gather
from steelyard.align.join import check_policy
from steelyard.align.rankings import unfolded
from steelyard.align.unit_digest import total_digest
from steelyard.api import findings
from steelyard.core import catalogue
from steelyard.core.errors import (
    Conflict,
    EmptyInput,
    Incompatible,
    InputError,
    InvalidResult,
    InvalidSetting,
    MissingData,
    Unsupported,
    nearest,
)
from steelyard.core.rankings import Rankings
from steelyard.core.records import Array, Records, factorize
from steelyard.core.request import Metrics, Request, Settings, takes_settings
from steelyard.core.state import State
from steelyard.core.task import Task
from steelyard.engine.measure import measured, needs_of, per_unit_state
from steelyard.engine.report import report_of
from steelyard.engine.run import Measured, expanded, measure_records, metrics_of
from steelyard.engine.slices import slices
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
from steelyard.io.state import SIDES, pack_records, unpack_records
from steelyard.io.stored import FACTS, StoredAccumulator, check_stored
from steelyard.io.valid import check_sorted
from steelyard.partial.compacted import Compacted, Seen, join_compacted, pack_compacted, unpack_compacted
from steelyard.partial.counted import counter_of, report_counts
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


class Accumulator:
    """Gather batches of a task, then report.

    `update` takes what `evaluate` takes, for some of the units, each whole; `merge` takes over another accumulator,
    which may come from another process (`save` and `load`, `to_bytes` and `from_bytes`, or pickle); `report` evaluates
    all that was gathered. In the habit of torchmetrics, `update` also takes `preds=` and `target=`, `compute` is
    `report`, and `reset` removes all batches. A unit that came twice counts once; if its two copies differ, that is an
    error, unless `on_conflict="keep"` says that one of them is kept by its contents (a model that is not deterministic,
    behind a sampler that repeats units to fill its last batch).

    With `device` ("cuda", "cpu") tensors are counted where they are, and nothing waits for the device before `report`;
    only the counts are kept. `labels` and `segmentation` can be counted.
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
        self.request, self.on_conflict = Request.of(self.task.name, None, settings), on_conflict
        self.options = resolve_options(self.task, self.request.options)
        self.batches: list[Batch] = []
        self._seen = 0
        self._repeated: list[Array] = []
        self._unlike: list[Array] = []
        self._read_notes: dict[str, None] = {}
        self.compacted: Compacted | None = None
        self.counter = None if device is None else counter_of(self.task, self.request, self.options, device)

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
            sides = read_sides(self.task, truth, predictions, self.request.columns, self.options)
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
            self.compacted, again = join_compacted([self.compacted, other.compacted], self.task.truth.key[0])
            self._repeated = _once([*self._repeated, again])
        self.batches += other.batches

    def empty(self) -> Accumulator:
        """An accumulator with the same settings and nothing in it."""
        device = None if self.counter is None else self.counter.device
        made = Accumulator(self.task.name, on_conflict=self.on_conflict, device=device, options=self.request.options)
        made.request, made.options = self.request, self.options
        return made

    def reset(self) -> None:
        """Remove all batches, as at the start of an epoch; the settings stay."""
        self.__dict__.update(self.empty().__dict__)

    def __len__(self) -> int:
        """How many batches came since the last were gathered into one."""
        return len(self.batches)

    def gathered(self) -> Gathered:
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
        if self.counter is not None:
            if not self._seen:
                raise EmptyInput("nothing was gathered", remedy="Call update() first.")
            return report_counts(self.task, request, self.options, self.counter)
        gathered = self.gathered()
        truth = replace(gathered.truth, source="gathered truth")
        prediction = replace(gathered.prediction, source="gathered predictions")
        data = measure_records(self.task, request, self.options, truth, prediction)
        report = report_of(self.task, request, data, findings(data, self.task.name))
        return replace(report, notes=(*self._read_notes, *report.notes, *self._notes()))

    def compute(self, metrics: Metrics = None, **settings: Unpack[Resampling]) -> Report:
        """The report, under the name that torchmetrics has for it: `accumulator.compute()["mae"].value`."""
        return self.report(metrics, **settings)

    def compact(self, metrics: Metrics = None) -> None:
        """Keep only what these metrics need of each unit, or those of the default set.

        The reports of these metrics, their intervals too, stay the same to the bit.
        """
        if self.compacted is not None:
            raise Conflict("the accumulator is compacted already")
        task, gathered = self.task, self.gathered()
        request = replace(self.request, metrics=Request.of(task.name, metrics).metrics)
        data = measure_records(task, request, self.options, gathered.truth, gathered.prediction)
        chosen = data.metrics
        state = per_unit_state(data.pairs, data.state, chosen)
        data = replace(data, state=state)
        totals = np.stack([total_digest(gathered.units, gathered.digests[:, side]) for side in (0, 1)])
        self.compacted = Compacted(
            task=task.name,
            specs=tuple(str(metric) for metric in chosen),
            policy=request.policy(task),
            columns=request.columns,
            options=dict(self.options.given),
            state=state,
            slices={names: self._sliced(data, names) for names in request.by},
            coverage=data.coverage,
            rows=(len(gathered.truth), len(gathered.prediction)),
            totals=totals,
            seen=Seen(gathered.units, gathered.digests, gathered.rows),
            notes=tuple(self._read_notes),
        )
        self.batches = []

    def _sliced(self, data: Measured, by: tuple[str, ...]) -> dict[tuple[str, ...], State]:
        return slices(data.pairs, data.state, by, lambda pairs: measured(pairs, data.metrics), self.task)

    def _report_sums(self, request: Request) -> Report:
        kept = self.compacted
        if kept is None:
            raise ValueError("the accumulator is not compacted")
        wanted = metrics_of(self.task, kept.specs if request.metrics is None else request.metrics)
        wanted = expanded(self.task, wanted, False, kept.state)
        for metric in wanted:
            if str(metric) not in kept.specs:
                raise MissingData(f"what '{metric}' needs was not kept", remedy=nearest(str(metric), kept.specs))
        report = kept.report(wanted, request, ("gathered truth", "gathered predictions"))
        return replace(report, notes=(*report.notes, *self._notes()))

    def _notes(self) -> list[str]:
        repeated, unlike = (sum(map(len, ids)) for ids in (self._repeated, self._unlike))
        notes = []
        if repeated:
            notes.append(f"{repeated} units ({self.task.unit}) came more than once and count once.")
        if unlike:
            notes.append(f"{unlike} of them came with other predictions; one copy is kept by its contents.")
        return notes

    def save(self, path: str | PathLike[str]) -> None:
        """Write the state, every unit once. The same data give the same bytes, whatever batches they came in."""
        write_container(path, *self._packed())

    def to_bytes(self) -> bytes:
        """What `save` writes, to be sent to another process."""
        return container_bytes(*self._packed())

    @staticmethod
    def load(path: str | PathLike[str]) -> Accumulator:
        """Read a state that `save` wrote."""
        return Accumulator._unpacked(read_container(path), str(path))

    @staticmethod
    def from_bytes(data: bytes, source: str = "a state") -> Accumulator:
        """Read a state that `to_bytes` made; `source` names it in messages."""
        return Accumulator._unpacked(parse_container(data, source), source)

    def _packed(self) -> tuple[str, dict[str, Any], dict[str, Array]]:
        facts: dict[str, Any] = {
            "task": self.task.name,
            "steelyard": __version__,
            "request": self._saved_request(),
            "unlike": self.on_conflict,
            "notes": tuple(self._read_notes),
        }
        arrays: dict[str, Array] = {}
        if self.compacted is not None:
            facts["sums"], arrays = pack_compacted(self.compacted)
        if self.batches or self.counter is not None:
            gathered = self.gathered()
            for side, records in zip(SIDES, (gathered.truth, gathered.prediction), strict=True):
                facts[side], packed = pack_records(replace(records, source=side), side)
                arrays |= packed
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
    def _unpacked(container: Container, source: str) -> Accumulator:
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
        schemas = (state.task.truth, state.task.prediction)
        if SIDES[0] in facts or SIDES[1] in facts:
            sides = [
                unpack_records(container, side, schema, RowLocation(f"{source}, {side}"), f"{source}, {side}")
                for side, schema in zip(SIDES, schemas, strict=True)
            ]
            state.batches, state._seen = [(sides[0], sides[1])], 1
        if "sums" in facts:
            state.compacted = unpack_compacted(Container(KIND, facts["sums"], arrays), source)
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


def _check_measured(task: Task, kept: Compacted, source: str) -> None:
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
        rows = unfolded(records)
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
