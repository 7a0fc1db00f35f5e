"""Rows as blocks: what a statistic keeps that looks across units, and finishes when all parts are in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from steelyard.core.block import Block
from steelyard.core.frozen import Frozen
from steelyard.core.metadata import Metadata
from steelyard.core.statistic import Statistic
from steelyard.core.units import Array, Units
from steelyard.core.weights import Floats, Weights


class RowTable(Frozen):
    """Rows of units that are looked at together, in the order of ids; `begin[i]` is where those of unit i begin.

    `done` are the values of the units, where they are known already.
    """

    need: Any
    ids: Array
    begin: Array
    columns: Mapping[str, Array]
    done: Array | None = None

    @cached_property
    def values(self) -> Array:
        """What the statistic makes of the rows: one value per unit, or more."""
        values: Array = self.need.finish(self).values if self.done is None else self.done
        return values

    def take(self, index: Array) -> RowTable:
        """Some units, in the given order, looked at by themselves."""
        rows, begin = _rows_of(self.begin, index)
        return RowTable(self.need, self.ids[index], begin, {n: column[rows] for n, column in self.columns.items()})

    @staticmethod
    def join(tables: Sequence[RowTable]) -> tuple[RowTable, Array]:
        """One table with every unit once, as the first has it, and the place there of each unit of the tables."""
        ids = Units.stack([Units(table.ids) for table in tables]).ids
        _, first, place = np.unique(ids, return_index=True, return_inverse=True)
        begin = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(table.begin) for table in tables]))])
        columns = {name: np.concatenate([table.columns[name] for table in tables]) for name in tables[0].columns}
        whole = RowTable(tables[0].need, ids, begin.astype(np.int64), columns)
        return whole.take(first), place.reshape(-1)


def _rows_of(begin: Array, index: Array) -> tuple[Array, Array]:
    """The rows of some units, and where those of each begin among them."""
    counts = np.diff(begin)[index]
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    rows = np.arange(starts[-1]) + np.repeat(begin[index] - starts[:-1], counts)
    return rows.astype(np.int64), starts


class RowsBlock(Frozen, Block):
    """Units whose values depend on the rows of others: `index` are their places in the tables, one after the other.

    Some units keep the values that they have among all (`take`). Two models keep a table each (`stack`), and parts of
    the data get one table (`merged`).
    """

    tables: tuple[RowTable, ...]
    index: Array

    kind: ClassVar[str] = "rows"

    @cached_property
    def values(self) -> Array:
        """The values of the units."""
        return np.ascontiguousarray(np.concatenate([table.values for table in self.tables])[self.index])

    def take(self, index: Array, units: int) -> RowsBlock:
        return RowsBlock(self.tables, self.index[index])

    @staticmethod
    def stack(parts: Sequence[RowsBlock], sizes: Sequence[int]) -> RowsBlock:
        tables: list[RowTable] = []
        starts: list[int] = [0]
        index = []
        for part in parts:
            place = []
            for table in part.tables:
                same = next((i for i, other in enumerate(tables) if other is table), len(tables))
                if same == len(tables):
                    tables.append(table)
                    starts.append(starts[-1] + len(table.ids))
                place.append(np.arange(starts[same], starts[same + 1]))
            index.append(np.concatenate(place)[part.index])
        return RowsBlock(tuple(tables), np.concatenate(index).astype(np.int64))

    def merged(self) -> RowsBlock:
        if len(self.tables) == 1:
            return self
        table, place = RowTable.join(self.tables)
        return RowsBlock((table,), place[self.index])

    def alone(self) -> RowsBlock:
        """The units with their own rows only: what must be kept of a slice beside the whole."""
        whole = self.merged()
        return RowsBlock((whole.tables[0].take(whole.index),), np.arange(len(self.index)))

    def among(self, whole: RowsBlock) -> RowsBlock:
        """The units with their own rows, among the others of the whole as a slice sees those that are not in it."""
        mine = self.alone()
        table, place = RowTable.join([mine.tables[0], *(table.need.bare(table) for table in whole.tables)])
        return RowsBlock((table,), place[: len(mine.index)])

    def total(self, weights: Weights, metadata: Metadata) -> Floats:
        return weights @ self.values

    def pack(self) -> tuple[dict[str, Any], dict[str, Array]]:
        whole = self.merged()
        table = whole.tables[0]
        arrays = {"ids": table.ids, "begin": table.begin, "index": whole.index}
        arrays |= {f"column.{name}": column for name, column in table.columns.items()}
        return {"need": str(table.need)}, arrays

    @classmethod
    def unpack(cls, facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> RowsBlock:
        columns = {n.removeprefix("column."): array for n, array in arrays.items() if n.startswith("column.")}
        table = RowTable(Statistic.parse(str(facts["need"])), arrays["ids"], arrays["begin"], columns)
        return cls((table,), arrays["index"])
