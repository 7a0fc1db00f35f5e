"""PartialState: what was measured in some of the units, enough for the report of some metrics.

`Accumulator.compact` makes one of the batches that it gathered, and a worker makes one of each shard. Both are merged,
saved, read and reported here.

Two things that an accumulator can hold are not a `PartialState`, because nothing is measured yet. Rows that were not
compacted can still be scored by any metric under any slice, and rows of one unit that arrive in two batches are
compared by their contents; as a `PartialState` they would need a second set of fields, and every method a second
branch. Counts on a device have no units and no ids: they are tensors of one process, added up without waiting for the
device, and become rows when a report asks for them (`partial.tensors.Counter.sides`). Both are therefore alternatives
to `compacted` in `Accumulator`, which decides between them at the start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.align.gather import FirstSeen, Gathered, SeenUnits
from steelyard.align.unit_digest import digest_text
from steelyard.core import catalogue
from steelyard.core.counts import count_text
from steelyard.core.errors import DuplicateKey, Incompatible, InputError, Unsupported, first_few
from steelyard.core.frozen import Frozen
from steelyard.core.metric import Metric
from steelyard.core.options import Options
from steelyard.core.pairs import Coverage
from steelyard.core.records import Array, as_object
from steelyard.core.request import Request
from steelyard.core.rows import RowsBlock
from steelyard.core.sketch import UnitSketch
from steelyard.core.slice import slice_key
from steelyard.core.state import State
from steelyard.core.task import Policy, Task
from steelyard.engine.groups import check_nested
from steelyard.engine.measure import measure_state, needs_of
from steelyard.engine.report import applied_request, state_report
from steelyard.engine.slices import among_all, slices
from steelyard.io.container import Container, unfit
from steelyard.io.measured import check_state, pack_state, unpack_state
from steelyard.io.stored import StoredSums, check_stored
from steelyard.io.valid import check_numbers, check_sorted
from steelyard.results.origin import SourceInfo, Sources
from steelyard.results.report import Report

Slices = Mapping[tuple[str, ...], Mapping[tuple[str, ...], State]]


class PartialState(Frozen):
    """Sums by unit for some metrics, in all and by slice, under a policy and options.

    `rows` counts the rows of truth and of predictions, and `totals` are sums over the digests of either, which say what
    was scored. `seen` tells units that come in two parts; it is None where those were dropped before.
    """

    task: str
    specs: tuple[str, ...]
    policy: Policy
    columns: Mapping[str, str]
    options: Mapping[str, str]
    state: State
    slices: Slices
    coverage: Coverage
    rows: tuple[int, int]
    totals: Array
    seen: SeenUnits | None
    notes: tuple[str, ...] = ()

    @staticmethod
    def of(
        task: Task, request: Request, options: Options, metrics: Sequence[Metric], gathered: Gathered, pairs: Any,
        state: State,
    ) -> PartialState:  # fmt: skip
        """What some metrics need of gathered rows. `pairs` and `state` are the rows joined and measured."""
        whole = [name for by in request.by for name in by if name in getattr(pairs, "whole_slices", ())]
        if whole:
            raise Unsupported(
                f"slices by '{whole[0]}' of task '{task.name}' need all data at once, not parts of them",
                remedy="Evaluate all data together for these slices.",
            )
        return PartialState(
            task=task.name,
            specs=tuple(map(str, metrics)),
            policy=request.policy(task),
            columns=request.columns,
            options=dict(options.given),
            state=state,
            slices={by: slices(pairs, state, by, lambda part: measure_state(part, metrics), task) for by in request.by},
            coverage=pairs.coverage,
            rows=(len(gathered.truth), len(gathered.prediction)),
            totals=gathered.seen.totals,
            seen=gathered.seen,
        )

    def map_states(self, change: Callable[[State], State]) -> PartialState:
        """The same part with every state changed: that of all units, and those of the slices."""
        changed = {by: {value: change(state) for value, state in of.items()} for by, of in self.slices.items()}
        return replace(self, state=change(self.state), slices=changed)

    def report(self, metrics: Sequence[Metric], request: Request, sources: tuple[str, str]) -> Report:
        """The report of some of the metrics that the sums are for."""
        task, units = catalogue.find_task(self.task), self.state.units
        asked = replace(
            request, by=tuple(self.slices), missing=self.policy.missing, extra=self.policy.extra, columns=self.columns
        )
        asked = applied_request(task, asked, metrics, self.options)
        check_nested(units, asked)
        sliced = {
            slice_key(by): {slice_key(value): state for value, state in among_all(self.state, values).items()}
            for by, values in self.slices.items()
        }
        truth, predictions = (
            SourceInfo(source, rows, digest_text(total))
            for source, rows, total in zip(sources, self.rows, self.totals, strict=True)
        )
        sketch = None if units.deduplicated else UnitSketch.of_ids(units.ids)
        return state_report(
            task,
            asked,
            metrics,
            self.state.aggregated(),
            {by: {value: state.aggregated() for value, state in of.items()} for by, of in sliced.items()},
            self.coverage,
            Sources(truth, predictions, truth_units=sketch),
            self.notes,
            per_unit=None if units.deduplicated else lambda: (self.state, sliced),
            kept=self.state,
        )

    @staticmethod
    def merge(parts: Sequence[PartialState]) -> tuple[PartialState, Array]:
        """Parts as one, and the units that are in more than one of them: those count once, and must be the same."""
        first = parts[0]
        if any(part._settings() != first._settings() for part in parts):
            raise Incompatible(
                "accumulators that were compacted for different metrics or settings cannot be merged",
                remedy="Compact them alike.",
            )
        seen, repeated = None, np.zeros(0, object)
        if all(part.seen is not None for part in parts):
            parts, repeated = _each_unit_once(parts)
            seen = SeenUnits.merge([part.seen for part in parts if part.seen is not None])
        state = State.merge([part.state for part in parts])
        merged = PartialState(
            task=first.task,
            specs=first.specs,
            policy=first.policy,
            columns=first.columns,
            options=first.options,
            state=state,
            slices={by: _merged_slices(state, [part.slices[by] for part in parts]) for by in first.slices},
            coverage=_merged_coverage([part.coverage for part in parts], first.policy),
            rows=(sum(part.rows[0] for part in parts), sum(part.rows[1] for part in parts)),
            totals=np.asarray(np.sum([part.totals for part in parts], axis=0, dtype=np.uint64)),
            seen=seen,
            notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        )
        return merged, repeated

    def _settings(self) -> tuple[object, ...]:
        """What must be equal in parts that are merged."""
        return (self.task, self.specs, self.policy, dict(self.columns), dict(self.options), tuple(self.slices))

    def pack(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Facts and arrays of a container."""
        about, arrays = pack_state(self.state)
        stored_slices: list[Any] = []
        for i, (by, values) in enumerate(self.slices.items()):
            entries = []
            for j, (value, state) in enumerate(values.items()):
                about_slice, packed = pack_state(_without_rows_of_others(state), f"slice.{i}.{j}.")
                entries.append((value, about_slice))
                arrays |= packed
            stored_slices.append((by, entries))
        arrays["totals"] = self.totals
        if self.seen is not None:
            arrays |= {"seen.units": self.seen.ids, "seen.digests": self.seen.digests, "seen.rows": self.seen.rows}
        facts = {
            "task": self.task,
            "specs": self.specs,
            "policy": (self.policy.missing, self.policy.extra),
            "columns": dict(self.columns),
            "options": dict(self.options),
            "state": about,
            "slices": stored_slices,
            "coverage": tuple(vars(self.coverage).values()),
            "rows": self.rows,
            "notes": self.notes,
        }
        return facts, arrays

    @staticmethod
    def unpack(container: Container, source: str) -> PartialState:
        """What `pack` took apart, checked as an input is."""
        check_stored(container.facts, StoredSums, "sums", source)
        try:
            part = _unpack_state(container, source)
        except InputError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise unfit(source, f"the sums do not fit together: {error}") from None
        _check(part, source)
        return _with_current_statistics(part)


def repeated_note(task: Task, count: int) -> str:
    """The note on units that came in more than one batch or part."""
    return f"{count_text(count, task.unit)} came more than once and {'counts' if count == 1 else 'count'} once."


def _each_unit_once(parts: Sequence[PartialState]) -> tuple[list[PartialState], Array]:
    """Parts without the units that an earlier part has too, and the ids of those."""
    first_seen = FirstSeen(catalogue.find_task(parts[0].task).truth.key[0])
    repeated: set[str] = set()
    apart = []
    for part in parts:
        assert part.seen is not None
        ids, digests = list(map(str, part.seen.ids.tolist())), np.ascontiguousarray(part.seen.digests)
        is_new = [first_seen.is_new(unit, digest.tobytes()) for unit, digest in zip(ids, digests, strict=True)]
        gone = {unit for unit, new in zip(ids, is_new, strict=True) if not new}
        apart.append(_without_units(part, part.seen, gone) if gone else part)
        repeated |= gone
    return apart, as_object(sorted(repeated))


def _without_units(part: PartialState, seen: SeenUnits, gone: set[str]) -> PartialState:
    def left(ids: Array) -> Array:
        return np.flatnonzero([str(unit) not in gone for unit in ids.tolist()])

    kept = left(seen.ids)
    lost = seen.take(np.setdiff1d(np.arange(len(seen.ids)), kept))
    coverage = _coverage_without(part, seen, lost)
    if coverage is None:
        raise DuplicateKey(
            f"{count_text(len(gone), 'unit', 'are')} in more than one compacted accumulator, and what they "
            "cover is not known: "
            f"{first_few(sorted(gone))}",
            remedy="Merge the accumulators first, then compact.",
        )
    return replace(
        part.map_states(lambda state: state.take(left(state.units.ids))),
        coverage=coverage,
        rows=(part.rows[0] - int(lost.rows[:, 0].sum()), part.rows[1] - int(lost.rows[:, 1].sum())),
        totals=part.totals - lost.totals,
        seen=seen.take(kept),
    )


def _coverage_without(part: PartialState, seen: SeenUnits, lost: SeenUnits) -> Coverage | None:
    """What a part covers without some of its units; None where the part does not tell.

    A task covers rows or units. Where all were matched, the count of the whole part tells which.
    """
    whole = part.coverage
    if part.state.units.deduplicated or whole.missing or whole.extra:
        return None
    counts = []
    for side, covered in enumerate((whole.truth, whole.predictions)):
        if covered == part.rows[side]:
            counts.append(covered - int(lost.rows[:, side].sum()))
        elif covered == np.count_nonzero(seen.rows[:, side]):
            counts.append(covered - int(np.count_nonzero(lost.rows[:, side])))
        else:
            return None
    return Coverage(counts[0], counts[1], counts[0], 0, 0, whole.policy)


def _merged_slices(whole: State, parts: Sequence[Mapping[tuple[str, ...], State]]) -> dict[tuple[str, ...], State]:
    """The slices of all parts by value, each under the classes of the whole: the parts that have it may lack some."""
    merged = {}
    for value in sorted({value for part in parts for value in part}):
        state = State.merge([part[value] for part in parts if value in part])
        no_units = State(state.units.take(np.zeros(0, np.int64)), whole.metadata, {})
        merged[value] = State.unified([state, no_units])[0]
    return merged


def _merged_coverage(parts: Sequence[Coverage], policy: Policy) -> Coverage:
    counts = [(part.truth, part.predictions, part.matched, part.missing, part.extra) for part in parts]
    truth, predictions, matched, missing, extra = map(sum, zip(*counts, strict=True))
    return Coverage(truth, predictions, matched, missing, extra, policy.missing)


def _without_rows_of_others(state: State) -> State:
    """A slice without the rows of other units, which the whole has."""
    blocks = {
        statistic: block.alone() if isinstance(block, RowsBlock) else block for statistic, block in state.blocks.items()
    }
    return replace(state, blocks=blocks)


def _with_current_statistics(part: PartialState) -> PartialState:
    """The same with each block under its metrics' current statistic, where an earlier version kept another one."""
    metrics = []
    for spec in part.specs:
        with suppress(InputError):  # a metric that a caller defined and did not register
            metrics.append(catalogue.parse(spec, part.task))
    earlier, remarks = {}, []
    for statistic in needs_of(metrics):
        saved = None if statistic in part.state.blocks else statistic.earlier(part.state.blocks)
        if saved is not None:
            earlier[statistic] = saved[0]
            remarks.append(saved[1])
    if not earlier:
        return part

    def rename_statistics(state: State) -> State:
        same = {statistic: block for statistic, block in state.blocks.items() if statistic not in earlier.values()}
        return replace(state, blocks=same | {statistic: state.blocks[old] for statistic, old in earlier.items()})

    return replace(part.map_states(rename_statistics), notes=tuple(dict.fromkeys((*part.notes, *remarks))))


def _unpack_state(container: Container, source: str) -> PartialState:
    facts, arrays = container.facts, container.arrays
    seen = None
    if "seen.units" in arrays:
        seen = SeenUnits(arrays["seen.units"], arrays["seen.digests"], arrays["seen.rows"])
    return PartialState(
        task=facts["task"],
        specs=tuple(facts["specs"]),
        policy=Policy(*facts["policy"]),
        columns=facts["columns"],
        options=facts["options"],
        state=unpack_state(facts["state"], arrays, source=source),
        slices={
            tuple(by): {
                tuple(value): unpack_state(about, arrays, f"slice.{i}.{j}.", source)
                for j, (value, about) in enumerate(values)
            }
            for i, (by, values) in enumerate(facts["slices"])
        },
        coverage=Coverage(*facts["coverage"]),
        rows=tuple(facts["rows"]),
        totals=arrays["totals"],
        seen=seen,
        notes=tuple(facts["notes"]),
    )


def _check(part: PartialState, source: str) -> None:
    """Refuse contents that Steelyard could not have written."""
    for state in (part.state, *(state for values in part.slices.values() for state in values.values())):
        check_state(state, source)
    check_numbers(part.totals, (2, None), "u", "totals", source)
    if part.seen is not None:
        check_sorted(part.seen.ids, "seen.units", source)
        check_numbers(part.seen.digests, (len(part.seen.ids), 2, 2), "u", "seen.digests", source)
        check_numbers(part.seen.rows, (len(part.seen.ids), 2), "i", "seen.rows", source)
    counts = (*part.rows, *(count for name, count in vars(part.coverage).items() if name != "policy"))
    if len(part.rows) != 2 or not all(type(count) is int and count >= 0 for count in counts):
        raise unfit(source, f"{counts} are not counts")
    if not part.specs:
        raise unfit(source, "the field 'sums.specs' is empty")
    if part.task not in catalogue.TASKS:
        raise unfit(source, f"the field 'sums.task' is '{part.task}', which is not a task")
