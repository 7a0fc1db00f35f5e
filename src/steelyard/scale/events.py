"""Events of rankings in files, by group: laid down where the units are, read a group at a time.

Events stand in the order of their scores, equal ones by unit, as they would in one place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from steelyard.align.unit_digest import id_keys
from steelyard.core.frozen import Frozen
from steelyard.core.ranking import Grouped, RankingBlock, tied_by_unit
from steelyard.core.records import Array, as_object
from steelyard.core.state import State
from steelyard.core.statistic import Ranking
from steelyard.io.container import Reader, read_container
from steelyard.io.stored import FACTS, StoredUnits, check_stored
from steelyard.io.valid import check_range
from steelyard.scale.jobs import Shard, join_shard, measuring_name, under_whole
from steelyard.scale.merge import SortedEvents
from steelyard.scale.reading import ShardJobs
from steelyard.scale.shards import keep, state_name, state_path, there

TABLES = ("event", "positive")


class Eventing(Frozen):
    """Measure the rankings of a shard and lay their events down by group."""

    shard: Shard
    needs: tuple[Ranking, ...]


def blocks_of(job: Eventing) -> list[RankingBlock]:
    """The rankings of a shard, under the groups of all shards."""
    state = under_whole(State.of(join_shard(job.shard)[0], job.needs), job.shard.measuring)
    return [cast(RankingBlock, state.blocks[statistic]) for statistic in job.needs]


def make_events(job: Eventing) -> tuple[str, list[Array]]:
    """The events of a shard; gives their name, and for each ranking how many rows each group has."""
    data = job.shard.measuring.data
    needs = [str(statistic) for statistic in job.needs]
    name = state_name("sorted events", job.shard.name, job.shard.drop, needs, measuring_name(job.shard.measuring))
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


def lay_units(data: ShardJobs, shards: Sequence[Shard]) -> str:
    """A file that says where each shard's units stand among all, and their keys in that order."""
    name = state_name("units", [(shard.name, shard.drop) for shard in shards])
    path = state_path(data.work, "units", name)
    if not there(path):
        ids = []
        for shard in shards:
            container = read_container(state_path(data.work, "shard", shard.name))
            units = container.arrays["units"][container.arrays["in_truth"].astype(bool)]
            if shard.drop:
                gone = set(shard.drop)
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


class Sizes:
    """Of one group, from all files; see `core.by_group.GroupSizes`."""

    def __init__(self, files: Files, k: int) -> None:
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


class Files:
    """The events of a ranking, in the files of all shards."""

    def __init__(self, data: ShardJobs, events: Sequence[str], number: int, units: str, *, pooled: bool) -> None:
        where = Reader(state_path(data.work, "units", units))
        check_stored(where.facts, StoredUnits, FACTS, where.path)
        self.number, self.pooled = number, pooled
        self.count, self.keys = int(where.facts["units"]), where.whole("keys")
        self.readers = [Reader(state_path(data.work, "events", one)) for one in events]
        self.places = [where.whole(f"place{i}") for i in range(len(self.readers))]
        for place in self.places:
            check_range(place, self.count, "place", where.path)
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
        groups = range(begins.shape[1] - 1) if self.pooled else [k]
        every = [(i, int(begins[i, g]), int(begins[i, g + 1])) for i in range(len(begins)) for g in groups]
        return [(i, a, b) for i, a, b in every if b > a]

    def runs(self, k: int) -> list[SortedEvents]:
        """The events of a group in each file, to be merged."""
        prefix, columns = f"{self.number}.event/", self.columns("event")
        return [
            SortedEvents(self.readers[i], prefix, columns, a, b, self.places[i]) for i, a, b in self.ranges("event", k)
        ]

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
