"""Rankings as blocks: events by group and falling score, and what a curve reads from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from steelyard.core.block import Block, new_places
from steelyard.core.frozen import Frozen, frozen
from steelyard.core.metadata import Codes, Metadata
from steelyard.core.units import Array
from steelyard.core.weights import Weights

SECOND = "second"  # the column of the other unit that owns a row
MOST_DRAWN = 20_000_000  # rows with two owners for which draws are made; of more the jackknife is enough


class Grouped(Frozen):
    """Rows by group: those of group k go from `begin[k]` to `begin[k + 1]`. `unit` owns each row.

    With a column `second` a row has two owners: its weight is the product of theirs, or that of one where both are the
    same unit, and it goes with either.
    """

    begin: Array
    unit: Array
    columns: Mapping[str, Array]

    def __len__(self) -> int:
        return len(self.unit)

    @property
    def group(self) -> Array:
        """The group of each row."""
        return np.repeat(np.arange(len(self.begin) - 1), np.diff(self.begin))

    def select_units(self, place: Array) -> Grouped:
        """The rows whose units have a place that is not negative, in the order they stand in, with these places."""
        unit, second = place[self.unit], self.columns.get(SECOND)
        rows = np.flatnonzero(unit >= 0 if second is None else (unit >= 0) & (place[second] >= 0))
        begin = np.searchsorted(rows, self.begin).astype(np.int64)
        columns = {name: (place[column] if name == SECOND else column)[rows] for name, column in self.columns.items()}
        return Grouped(begin, unit[rows], columns)

    def one(self, group: int) -> Grouped:
        """The rows of one group, as the only one."""
        part = slice(int(self.begin[group]), int(self.begin[group + 1]))
        begin = np.array([0, part.stop - part.start], dtype=np.int64)
        return Grouped(begin, self.unit[part], {name: column[part] for name, column in self.columns.items()})

    def some(self, groups: Sequence[int]) -> Grouped:
        """The rows of some groups, in their order."""
        parts = [np.arange(int(self.begin[k]), int(self.begin[k + 1])) for k in groups]
        begin = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
        rows = np.concatenate(parts) if parts else np.zeros(0, np.int64)
        return Grouped(begin, self.unit[rows], {name: column[rows] for name, column in self.columns.items()})

    @staticmethod
    def stack(parts: Sequence[Grouped], starts: Sequence[int]) -> tuple[Array, Array, dict[str, Array]]:
        """Groups, units and columns of all parts, one after the other."""
        group = np.concatenate([part.group for part in parts])
        unit = np.concatenate([part.unit + np.int32(start) for part, start in zip(parts, starts, strict=False)])
        columns = {name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns}
        if SECOND in columns:
            moved = [part.columns[SECOND] + np.int32(start) for part, start in zip(parts, starts, strict=False)]
            columns[SECOND] = np.concatenate(moved)
        return group, np.asarray(unit, dtype=np.int32), columns


def first_steps(rows: Array, unit: Array, hit: Array, ends: Array, value: Array | None = None) -> tuple[Array, Array]:
    """For each row of weights: hits and all events at the first score that some weight is on.

    `ends` holds the place of the last event of each score, and `value` what each event counts. Most rows have weight
    near the top, so the events are looked at in parts that grow.
    """
    hits, every, left = np.zeros(len(rows)), np.zeros(len(rows)), np.arange(len(rows))
    start, size = 0, 64
    while len(left) and start < len(ends):
        stop = min(start + size, len(ends))
        begin = int(ends[start - 1]) + 1 if start else 0
        part = slice(begin, int(ends[stop - 1]) + 1)
        weight = np.asarray(rows[left], dtype=np.float64)[:, unit[part]]
        if value is not None:
            weight = weight * value[part]
        places = ends[start:stop] - begin
        seen = np.cumsum(weight, axis=1)[:, places]
        right = np.cumsum(weight * hit[part], axis=1)[:, places]
        first = (seen > 0).argmax(axis=1)
        there = np.arange(len(left))
        weighted = seen[there, first] > 0
        hits[left[weighted]], every[left[weighted]] = right[there, first][weighted], seen[there, first][weighted]
        left, start, size = left[~weighted], stop, 4 * size
    return hits, every


def _is_arranged(block: RankingBlock) -> bool:
    """Whether events stand by falling score and unit, and positives by unit, as they do when they are measured."""
    events, positives = block.events, block.positives
    falls = -np.diff(events.columns["score"])
    sorted_rows = (falls > 0) | ((falls == 0) & (np.diff(events.unit) >= 0)), np.diff(positives.unit) >= 0
    for part, ok in zip((events, positives), sorted_rows, strict=True):
        inside = part.begin[(part.begin > 0) & (part.begin < len(part))] - 1
        ok[inside] = True  # from one group to the next
        if not ok.all():
            return False
    return True


def _merge_grouped(first: Grouped, second: Grouped, units: int, by_score: bool) -> Grouped:
    """The rows of both, arranged, as they are alone: `units` are those of the first, whose rows precede equal ones."""
    group = second.group
    if by_score:
        before = np.zeros(len(second), dtype=np.int64)
        above, below = -first.columns["score"], -second.columns["score"]
        for k in np.unique(group).tolist():
            mine, own = slice(*second.begin[k : k + 2]), slice(*first.begin[k : k + 2])
            before[mine] = np.searchsorted(above[own], below[mine], side="right")
    else:
        before = np.diff(first.begin)[group]
    place = np.arange(len(second)) + first.begin[group] + before
    others = np.ones(len(first) + len(second), dtype=bool)
    others[place] = False
    order = np.where(others, np.cumsum(others) - 1, 0)  # in the first's rows and then the second's
    order[place] = np.arange(len(second)) + len(first)

    def merge_columns(first: Array, other: Array) -> Array:
        return np.concatenate([first, other]).take(order, axis=0)

    columns = {name: merge_columns(column, second.columns[name]) for name, column in first.columns.items()}
    return Grouped(first.begin + second.begin, merge_columns(first.unit, second.unit + np.int32(units)), columns)


def _arrange_rows(group: Array, unit: Array, columns: Mapping[str, Array], groups: int, by_score: bool) -> Grouped:
    """Rows by group, then falling score where there is one, then unit; what is equal stays as it came."""
    order = tied_by_unit(columns["score"], unit) if by_score else np.argsort(unit, kind="stable")
    if groups > 1:
        order = order[np.argsort(_short(group)[order], kind="stable")]
    begin = np.searchsorted(group[order], np.arange(groups + 1)).astype(np.int64)
    return Grouped(begin, unit[order], {name: column[order] for name, column in columns.items()})


def tied_by_unit(score: Array, unit: Array) -> Array:
    """An order by falling score; equal scores by unit, and inside one as they came."""
    order: Array = np.argsort(-score, kind="stable")
    ordered = score[order]
    same = ordered[1:] == ordered[:-1]
    if not same.any():
        return order
    tied = np.append(False, same) | np.append(same, False)
    places = np.flatnonzero(tied)
    run = np.cumsum(np.concatenate([[True], ~same])[places])
    order[places] = order[places][np.lexsort((unit[order[places]], run))]
    return order


def _short(group: Array) -> Array:
    """Codes in the fewest bytes: short ones are sorted several times faster."""
    return group.astype(np.uint16) if group.max(initial=0) < 1 << 16 else group


@frozen  # not by inheritance: `LateRanking` computes the events
class RankingBlock(Block):
    """Events by group, falling score and unit; and positives by group and unit, where events do not say them.

    `axis` names the groups' axis; "" is one group for all. A column `code` holds places along that axis.
    """

    axis: str
    events: Grouped
    positives: Grouped

    kind: ClassVar[str] = "ranking"

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return len(self.events.begin) - 1

    def one(self, group: int) -> RankingBlock:
        """One group, as the only one."""
        return RankingBlock("", self.events.one(group), self.positives.one(group))

    def some(self, groups: Sequence[int]) -> RankingBlock:
        """Some groups, in their order."""
        return RankingBlock("", self.events.some(groups), self.positives.some(groups))

    @cached_property
    def pooled(self) -> RankingBlock:
        """All groups as one: events by falling score, equal ones by unit."""
        tables = []
        for part, by_score in ((self.events, True), (self.positives, False)):
            tables.append(_arrange_rows(np.zeros(len(part), np.uint16), part.unit, part.columns, 1, by_score))
        return RankingBlock("", tables[0], tables[1])

    @cached_property
    def own_units(self) -> tuple[Array, RankingBlock]:
        """The units that have an event or a positive, and the same block of these alone."""
        if SECOND in self.events.columns:
            raise TypeError("rows of two owners belong to no unit alone")
        used, place = np.unique(np.concatenate([self.events.unit, self.positives.unit]), return_inverse=True)
        place, count = place.astype(np.int32), len(self.events)
        events = Grouped(self.events.begin, place[:count], self.events.columns)
        return used, RankingBlock(
            self.axis, events, Grouped(self.positives.begin, place[count:], self.positives.columns)
        )

    def runs(self, start: int, stop: int, step: int) -> Iterator[RankingBlock]:
        """Blocks of so many units each, one after the other; their units count from 0."""
        count = max(0, -(-(stop - start) // step))
        tables: list[list[Grouped]] = []
        for part in (self.events, self.positives):
            rows = np.flatnonzero((part.unit >= start) & (part.unit < stop))
            run = (part.unit[rows] - start) // step
            by_run = np.argsort(_short(run), kind="stable")  # rows of a run stay in their order
            rows, ends = rows[by_run], np.searchsorted(run[by_run], np.arange(count + 1))
            unit, columns = part.unit[rows], {name: column[rows] for name, column in part.columns.items()}
            tables.append(
                [
                    Grouped(
                        np.searchsorted(rows[a:b], part.begin).astype(np.int64),
                        unit[a:b] - np.int32(start + k * step),
                        {name: column[a:b] for name, column in columns.items()},
                    )
                    for k, (a, b) in enumerate(pairwise(ends.tolist()))
                ]
            )
        for events, positives in zip(*tables, strict=True):
            yield RankingBlock(self.axis, events, positives)

    def take(self, index: Array, units: int) -> RankingBlock:
        """The events of the given units; among equal scores the order is that of the units."""
        second = self.events.columns.get(SECOND, index[:0])
        place = new_places(index, self.events.unit, self.positives.unit, second).astype(np.int32)
        events, positives = (part.select_units(place) for part in (self.events, self.positives))
        if (np.diff(index) < 0).any():
            events = _arrange_rows(events.group, events.unit, events.columns, self.groups, True)
            positives = _arrange_rows(positives.group, positives.unit, positives.columns, self.groups, False)
        return RankingBlock(self.axis, events, positives)

    @staticmethod
    def stack(parts: Sequence[RankingBlock], sizes: Sequence[int]) -> RankingBlock:
        first, second = parts[0], parts[-1]
        single = all(SECOND not in part.events.columns for part in parts)
        if len(parts) == 2 and single and all(map(_is_arranged, parts)):  # two models side by side
            return RankingBlock(
                first.axis,
                _merge_grouped(first.events, second.events, sizes[0], True),
                _merge_grouped(first.positives, second.positives, sizes[0], False),
            )
        starts = [0, *np.cumsum(sizes).tolist()]
        groups = parts[0].groups
        events = _arrange_rows(*Grouped.stack([part.events for part in parts], starts), groups, True)
        positives = _arrange_rows(*Grouped.stack([part.positives for part in parts], starts), groups, False)
        return RankingBlock(parts[0].axis, events, positives)

    @property
    def two_owners(self) -> bool:
        """Whether each event belongs to two units."""
        return SECOND in self.events.columns

    @property
    def resampled(self) -> bool:
        return not self.two_owners or len(self.events) <= MOST_DRAWN

    def join_units(self, place: Array) -> RankingBlock:
        """The same events, with the units at these places: parts of a state may share units of rows with two owners."""
        events = self.events.select_units(place.astype(np.int32))
        events = _arrange_rows(events.group, events.unit, events.columns, self.groups, True)
        return RankingBlock(self.axis, events, self.positives)

    def move(self, codes: Mapping[str, Codes], old: Metadata, new: Metadata) -> RankingBlock:
        if not self.axis:
            return self
        code, groups = codes[self.axis], new.size(self.axis)
        tables = []
        for part, by_score in ((self.events, True), (self.positives, False)):
            columns = {name: code[column] if name == "code" else column for name, column in part.columns.items()}
            if (np.diff(code) > 0).all():  # the groups keep their order
                begin = part.begin[np.searchsorted(code, np.arange(groups + 1))]
                tables.append(Grouped(begin, part.unit, columns))
            else:
                tables.append(_arrange_rows(code[part.group], part.unit, columns, groups, by_score))
        return RankingBlock(self.axis, tables[0], tables[1])

    def total(self, weights: Weights, metadata: Metadata) -> Any:
        raise TypeError("a ranking is read by a curve")

    def pack(self) -> tuple[dict[str, Any], dict[str, Array]]:
        arrays = {}
        for name, part in (("event", self.events), ("positive", self.positives)):
            arrays[f"{name}.begin"], arrays[f"{name}.unit"] = part.begin, part.unit
            arrays |= {f"{name}.column.{column}": values for column, values in part.columns.items()}
        return {"axis": self.axis}, arrays

    @classmethod
    def unpack(cls, facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> RankingBlock:
        def table(name: str) -> Grouped:
            start = f"{name}.column."
            columns = {key.removeprefix(start): array for key, array in arrays.items() if key.startswith(start)}
            return Grouped(arrays[f"{name}.begin"], arrays[f"{name}.unit"], columns)

        return cls(str(facts["axis"]), table("event"), table("positive"))


class LateRanking(RankingBlock):
    """One ranking whose events are sorted when they are first asked for.

    `make` gives the ranking, and `count` the events that are enough where every unit weighs 1 and the figure is read at
    positives alone: positives, and the number of others between them as their weight.
    """

    def __init__(self, make: Callable[[], RankingBlock], count: Callable[[], RankingBlock], two_owners: bool) -> None:
        self.__dict__.update(axis="", make=make, count=count, owners=1 + two_owners)

    @cached_property
    def events(self) -> Grouped:
        """All events, sorted."""
        ranking: RankingBlock = self.__dict__["make"]()
        return ranking.events

    @cached_property
    def positives(self) -> Grouped:
        """None: events say which are positive."""
        return Grouped(np.zeros(2, np.int64), np.zeros(0, np.int32), {})

    @property
    def groups(self) -> int:
        return 1

    @property
    def two_owners(self) -> bool:
        return bool(self.__dict__["owners"] == 2)

    @cached_property
    def at_positives(self) -> RankingBlock:
        """The events at the scores of positives, with their weights."""
        counted: RankingBlock = self.__dict__["count"]()
        return counted

    def __reduce__(self) -> tuple[Any, ...]:
        return (RankingBlock, (self.axis, self.events, self.positives))


class BlockReader(Frozen, ABC):
    """What is read from a block beside its total: a curve of a ranking. Equal ones are read once."""

    @abstractmethod
    def read(self, block: Any, weights: Weights, metadata: Metadata) -> Any:
        """The numbers for each row of weights."""
