"""Rankings as blocks: events by group and falling score, and what a curve reads from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from steelyard.core.block import Block
from steelyard.core.facts import Codes, Facts
from steelyard.core.frozen import frozen
from steelyard.core.units import Array
from steelyard.core.weights import Weights


@frozen
class Grouped:
    """Rows by group: those of group k go from `begin[k]` to `begin[k + 1]`. `unit` owns each row."""

    begin: Array
    unit: Array
    columns: Mapping[str, Array]

    def __len__(self) -> int:
        return len(self.unit)

    @property
    def group(self) -> Array:
        """The group of each row."""
        return np.repeat(np.arange(len(self.begin) - 1), np.diff(self.begin))

    def rows(self, index: Array, unit: Array, group: Array, groups: int) -> Grouped:
        """Some rows in the given order, with their units and groups, which must rise."""
        begin = np.searchsorted(group, np.arange(groups + 1)).astype(np.int64)
        return Grouped(begin, unit, {name: column[index] for name, column in self.columns.items()})

    @staticmethod
    def stack(parts: Sequence[Grouped], starts: Sequence[int]) -> tuple[Array, Array, dict[str, Array]]:
        """Groups, units and columns of all parts, one after the other."""
        group = np.concatenate([part.group for part in parts])
        unit = np.concatenate([part.unit + np.int32(start) for part, start in zip(parts, starts, strict=False)])
        columns = {name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns}
        return group, unit.astype(np.int32, copy=False), columns


def _arranged(group: Array, unit: Array, columns: Mapping[str, Array], groups: int, by_score: bool) -> Grouped:
    """Rows by group, then falling score where there is one, then unit; what is equal stays as it came."""
    keys = (unit, -columns["score"], group) if by_score else (unit, group)
    order = np.lexsort(keys)
    begin = np.searchsorted(group[order], np.arange(groups + 1)).astype(np.int64)
    return Grouped(begin, unit[order], {name: column[order] for name, column in columns.items()})


@frozen
class RankingBlock(Block):
    """Events by group, falling score and unit; and positives by group and unit, where events do not say them.

    `axis` names the groups' axis; "" is one group for all.
    """

    axis: str
    events: Grouped
    positives: Grouped

    kind: ClassVar[str] = "ranking"

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return len(self.events.begin) - 1

    def take(self, index: Array, units: int) -> RankingBlock:
        """The events of the given units; among equal scores the order is that of the units."""
        last = max(int(self.events.unit.max(initial=-1)), int(self.positives.unit.max(initial=-1)))
        place = np.full(max(last + 1, int(index.max(initial=-1)) + 1), -1, dtype=np.int32)
        place[index] = np.arange(len(index), dtype=np.int32)
        found = []
        for part, by_score in ((self.events, True), (self.positives, False)):
            unit, group = place[part.unit], part.group
            kept = np.flatnonzero(unit >= 0)
            columns = {name: column[kept] for name, column in part.columns.items()}
            found.append(_arranged(group[kept], unit[kept], columns, self.groups, by_score))
        return RankingBlock(self.axis, found[0], found[1])

    @staticmethod
    def stack(parts: Sequence[RankingBlock], sizes: Sequence[int]) -> RankingBlock:
        """All parts' events, arranged."""
        starts = [0, *np.cumsum(sizes).tolist()]
        groups = parts[0].groups
        events = _arranged(*Grouped.stack([part.events for part in parts], starts), groups, True)
        positives = _arranged(*Grouped.stack([part.positives for part in parts], starts), groups, False)
        return RankingBlock(parts[0].axis, events, positives)

    def move(self, codes: Mapping[str, Codes], old: Facts, new: Facts) -> RankingBlock:
        """Events of other groups."""
        if not self.axis:
            return self
        code, groups = codes[self.axis], new.size(self.axis)
        found = []
        for part, by_score in ((self.events, True), (self.positives, False)):
            found.append(_arranged(code[part.group], part.unit, part.columns, groups, by_score))
        return RankingBlock(self.axis, found[0], found[1])

    def total(self, weights: Weights, facts: Facts) -> Any:
        """A ranking has no total: a curve reads it."""
        raise TypeError("a ranking is read by a curve")

    def pack(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """The columns of both tables."""
        arrays = {}
        for name, part in (("event", self.events), ("positive", self.positives)):
            arrays[f"{name}.begin"], arrays[f"{name}.unit"] = part.begin, part.unit
            arrays |= {f"{name}.column.{column}": values for column, values in part.columns.items()}
        return {"axis": self.axis}, arrays

    @classmethod
    def unpack(cls, facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> RankingBlock:
        """The columns of both tables."""

        def table(name: str) -> Grouped:
            start = f"{name}.column."
            columns = {key.removeprefix(start): array for key, array in arrays.items() if key.startswith(start)}
            return Grouped(arrays[f"{name}.begin"], arrays[f"{name}.unit"], columns)

        return cls(str(facts["axis"]), table("event"), table("positive"))


class Reading(ABC):
    """What is read from a block beside its total: a curve of a ranking. Equal ones are read once."""

    @abstractmethod
    def read(self, block: Any, weights: Weights, facts: Facts) -> Any:
        """The numbers for each row of weights."""
