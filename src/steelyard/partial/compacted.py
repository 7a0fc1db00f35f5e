"""Compacted: what is left of data once only sums by unit are kept, and how parts of it become a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.align.unit_digest import digest_text, total_digest
from steelyard.core import catalogue
from steelyard.core.errors import DuplicateKey, Incompatible, InputError, first_few
from steelyard.core.frozen import frozen
from steelyard.core.metric import Metric
from steelyard.core.pairs import Coverage
from steelyard.core.records import Array, as_object
from steelyard.core.request import Request
from steelyard.core.rows import RowsBlock
from steelyard.core.sketch import UnitSketch
from steelyard.core.slice import slice_key
from steelyard.core.state import State
from steelyard.core.task import Policy
from steelyard.engine.groups import check_nested
from steelyard.engine.measure import needs_of
from steelyard.engine.report import applied, state_report
from steelyard.engine.slices import among_all
from steelyard.io.container import Container, unfit
from steelyard.io.measured import check_state, pack_state, unpack_state
from steelyard.io.stored import StoredSums, check_stored
from steelyard.io.valid import check_numbers, check_sorted
from steelyard.results.origin import SourceInfo, Sources
from steelyard.results.report import Report

KIND = "sums"
Slices = Mapping[tuple[str, ...], Mapping[tuple[str, ...], State]]


@frozen
class Seen:
    """The units that were seen, the digests of their truth and predictions, and how many rows each has of either."""

    units: Array
    digests: Array
    rows: Array


@frozen
class Compacted:
    """Sums by unit of some metrics, of all the data and by slice, under a policy and options.

    `totals` are sums over the digests of both sides, which say what was scored. `seen` is None where units that come
    twice were dropped before.
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
    seen: Seen | None
    notes: tuple[str, ...] = ()

    def settings(self) -> tuple[object, ...]:
        """What must be equal in parts that are joined."""
        return (self.task, self.specs, self.policy, dict(self.columns), dict(self.options), tuple(self.slices))

    def report(self, metrics: Sequence[Metric], request: Request, sources: tuple[str, str]) -> Report:
        """The report of some of the metrics that the sums were made for."""
        definition = catalogue.find_task(self.task)
        sides = [
            SourceInfo(source, rows, digest_text(total))
            for source, rows, total in zip(sources, self.rows, self.totals, strict=True)
        ]
        asked = replace(request, by=tuple(self.slices), missing=self.policy.missing, extra=self.policy.extra)
        asked = applied(definition, replace(asked, columns=self.columns), metrics, self.options)
        check_nested(self.state.units, asked)
        slices = {
            slice_key(by): {slice_key(value): state for value, state in among_all(self.state, values).items()}
            for by, values in self.slices.items()
        }
        counted = {by: {value: state.aggregated() for value, state in values.items()} for by, values in slices.items()}
        whole, units = self.state.aggregated(), self.state.units
        sketch = None if units.deduplicated else UnitSketch.of_ids(units.ids)
        return state_report(
            definition, asked, metrics, whole, counted, self.coverage,
            Sources(sides[0], sides[1], truth_units=sketch), self.notes,
            per_unit=None if self.state.units.deduplicated else lambda: (self.state, slices),
            kept=self.state,
        )  # fmt: skip


def join_compacted(parts: Sequence[Compacted], key: str) -> tuple[Compacted, Array]:
    """Parts as one, and the units that came in more than one of them; those count once, or are an error if unlike."""
    first = parts[0]
    for part in parts[1:]:
        if part.settings() != first.settings():
            raise Incompatible(
                "accumulators that were compacted for different metrics or settings cannot be merged",
                remedy="Compact them alike.",
            )
    seen = None
    repeated: Array = np.zeros(0, object)
    if all(part.seen is not None for part in parts):
        parts, seen, repeated = _once(parts, key)
    state = State.merge([part.state for part in parts])
    slices = {
        by: {
            value: _under(state, State.merge([part.slices[by][value] for part in parts if value in part.slices[by]]))
            for value in sorted({value for part in parts for value in part.slices[by]})
        }
        for by in first.slices
    }
    counts = [vars(part.coverage) for part in parts]
    coverage = Coverage(
        truth=sum(one["truth"] for one in counts),
        predictions=sum(one["predictions"] for one in counts),
        matched=sum(one["matched"] for one in counts),
        missing=sum(one["missing"] for one in counts),
        extra=sum(one["extra"] for one in counts),
        policy=first.policy.missing,
    )
    joined = replace(
        first,
        state=state,
        slices=slices,
        coverage=coverage,
        rows=(sum(part.rows[0] for part in parts), sum(part.rows[1] for part in parts)),
        totals=np.asarray(np.sum([part.totals for part in parts], axis=0, dtype=np.uint64)),
        seen=seen,
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )
    return joined, repeated


def _under(whole: State, part: State) -> State:
    """A slice under the classes of the whole: parts that have none of it may have others."""
    return State.unified([part, State(part.units.take(np.zeros(0, np.int64)), whole.facts, {})])[0]


def _own_rows(state: State) -> State:
    """A slice without the rows of other units, which the whole has."""
    blocks = {
        statistic: block.alone() if isinstance(block, RowsBlock) else block for statistic, block in state.blocks.items()
    }
    return replace(state, blocks=blocks)


def _once(parts: Sequence[Compacted], key: str) -> tuple[list[Compacted], Seen, Array]:
    """Parts without the units that an earlier part has too."""
    known: dict[str, bytes] = {}
    repeated: list[str] = []
    kept: list[Compacted] = []
    seen: list[Seen] = []
    for part in parts:
        mine = part.seen or Seen(part.state.units.ids[:0], np.zeros((0, 2, 2), np.uint64), np.zeros((0, 2), np.int64))
        digests = np.ascontiguousarray(mine.digests)
        fresh = np.ones(len(mine.units), dtype=bool)
        for i, text in enumerate(map(str, mine.units.tolist())):
            digest = digests[i].tobytes()
            before = known.setdefault(text, digest)
            if before is digest:
                continue
            if before != digest:
                raise DuplicateKey(
                    f"{key} '{text}' came twice with different data", remedy="Give every unit its own id."
                )
            fresh[i] = False
            repeated.append(text)
        kept.append(part if fresh.all() else _without(part, mine, fresh))
        seen.append(Seen(mine.units[fresh], digests[fresh], mine.rows[fresh]))
    every = [one.units for one in seen]
    if len({ids.dtype.kind for ids in every}) > 1:
        every = [as_object([str(value) for value in ids.tolist()]) for ids in every]
    ids = np.concatenate(every)
    order = np.argsort(ids, kind="stable")
    digests, rows = np.concatenate([one.digests for one in seen]), np.concatenate([one.rows for one in seen])
    return kept, Seen(ids[order], digests[order], rows[order]), as_object(sorted(set(repeated)))


def _without(part: Compacted, seen: Seen, fresh: Array) -> Compacted:
    """The part without the units that are not fresh. What it covered is counted again from the rows of those left."""
    gone = set(map(str, seen.units[~fresh].tolist()))

    def kept(state: State) -> State:
        index = np.flatnonzero([str(unit) not in gone for unit in state.units.ids.tolist()])
        return state.take(index)

    whole, lost = part.rows, tuple(int(n) for n in seen.rows[~fresh].sum(axis=0))
    units = [int(np.count_nonzero(seen.rows[:, side])) for side in (0, 1)]
    gone_units = [int(np.count_nonzero(seen.rows[~fresh, side])) for side in (0, 1)]
    covered = (part.coverage.truth, part.coverage.predictions)
    left = []
    for side in (0, 1):
        if covered[side] == whole[side]:  # covers rows
            left.append(covered[side] - lost[side])
        elif covered[side] == units[side]:  # covers units
            left.append(covered[side] - gone_units[side])
    if part.state.units.copies is not None or part.coverage.missing or part.coverage.extra or len(left) < 2:
        raise DuplicateKey(
            f"{len(gone)} units stand in more than one compacted accumulator, and their share cannot be known: "
            f"{first_few(sorted(gone))}",
            remedy="Merge the accumulators first, then compact.",
        )
    return replace(
        part,
        state=kept(part.state),
        slices={by: {value: kept(one) for value, one in values.items()} for by, values in part.slices.items()},
        coverage=Coverage(left[0], left[1], left[0], 0, 0, part.coverage.policy),
        rows=(whole[0] - lost[0], whole[1] - lost[1]),
        totals=part.totals - np.stack([total_digest(seen.units[~fresh], seen.digests[~fresh, i]) for i in (0, 1)]),
    )


def pack_compacted(part: Compacted) -> tuple[dict[str, Any], dict[str, Array]]:
    """Facts and arrays of a container."""
    about, arrays = pack_state(part.state)
    slices: list[Any] = []
    for i, (by, values) in enumerate(part.slices.items()):
        entries = []
        for j, (value, one) in enumerate(values.items()):
            about_slice, packed = pack_state(_own_rows(one), f"slice.{i}.{j}.")
            entries.append((value, about_slice))
            arrays |= packed
        slices.append((by, entries))
    arrays["totals"] = part.totals
    if part.seen is not None:
        arrays |= {"seen.units": part.seen.units, "seen.digests": part.seen.digests, "seen.rows": part.seen.rows}
    facts = {
        "task": part.task,
        "specs": part.specs,
        "policy": (part.policy.missing, part.policy.extra),
        "columns": dict(part.columns),
        "options": dict(part.options),
        "state": about,
        "slices": slices,
        "coverage": tuple(vars(part.coverage).values()),
        "rows": part.rows,
        "notes": part.notes,
    }
    return facts, arrays


def unpack_compacted(container: Container, source: str) -> Compacted:
    """What `pack_compacted` took apart, checked as an input is."""
    check_stored(container.facts, StoredSums, "sums", source)
    try:
        part = _unpacked(container, source)
    except InputError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise unfit(source, f"the sums do not fit together: {error}") from None
    _check(part, source)
    return _of_today(part)


def _of_today(part: Compacted) -> Compacted:
    """The same with each block under its metrics' current statistic, where an earlier version kept another one."""
    needs = needs_of(_parsed(part))
    renamed, remarks = {}, []
    for statistic in needs:
        saved = None if statistic in part.state.blocks else statistic.earlier(part.state.blocks)
        if saved is not None:
            renamed[statistic] = saved[0]
            remarks.append(saved[1])
    if not renamed:
        return part

    def today(state: State) -> State:
        kept = {statistic: block for statistic, block in state.blocks.items() if statistic not in renamed.values()}
        return replace(state, blocks=kept | {statistic: state.blocks[old] for statistic, old in renamed.items()})

    slices = {by: {value: today(one) for value, one in values.items()} for by, values in part.slices.items()}
    return replace(part, state=today(part.state), slices=slices, notes=tuple(dict.fromkeys((*part.notes, *remarks))))


def _parsed(part: Compacted) -> list[Metric]:
    """The metrics that the sums were made for, without those that a caller defined and did not register."""
    parsed = []
    for spec in part.specs:
        with suppress(InputError):
            parsed.append(catalogue.parse(spec, part.task))
    return parsed


def _unpacked(container: Container, source: str) -> Compacted:
    facts, arrays = container.facts, container.arrays
    seen = None
    if "seen.units" in arrays:
        seen = Seen(arrays["seen.units"], arrays["seen.digests"], arrays["seen.rows"])
    slices = {
        tuple(by): {
            tuple(value): unpack_state(one, arrays, f"slice.{i}.{j}.", source) for j, (value, one) in enumerate(values)
        }
        for i, (by, values) in enumerate(facts["slices"])
    }
    return Compacted(
        task=facts["task"],
        specs=tuple(facts["specs"]),
        policy=Policy(*facts["policy"]),
        columns=facts["columns"],
        options=facts["options"],
        state=unpack_state(facts["state"], arrays, source=source),
        slices=slices,
        coverage=Coverage(*facts["coverage"]),
        rows=tuple(facts["rows"]),
        totals=arrays["totals"],
        seen=seen,
        notes=tuple(facts["notes"]),
    )


def _check(part: Compacted, source: str) -> None:
    """Contents that Steelyard could have written: sums of as many units, weights that are some, counts that count."""
    for state in (part.state, *(one for values in part.slices.values() for one in values.values())):
        check_state(state, source)
    check_numbers(part.totals, (2, None), "u", "totals", source)
    if part.seen is not None:
        check_sorted(part.seen.units, "seen.units", source)
        check_numbers(part.seen.digests, (len(part.seen.units), 2, 2), "u", "seen.digests", source)
        check_numbers(part.seen.rows, (len(part.seen.units), 2), "i", "seen.rows", source)
    counts = (*part.rows, *(count for name, count in vars(part.coverage).items() if name != "policy"))
    if len(part.rows) != 2 or not all(type(count) is int and count >= 0 for count in counts):
        raise unfit(source, f"the counts {counts} are none")
    if not part.specs:
        raise unfit(source, "the field 'sums.specs' is empty")
    if part.task not in catalogue.TASKS:
        raise unfit(source, f"the field 'sums.task' is '{part.task}', which is not a task")
