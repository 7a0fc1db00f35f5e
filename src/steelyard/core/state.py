"""State: what was measured, by unit. The only thing that is merged, sent, saved, sliced, resampled and compared.

Totals are all that a metric sees of it: weighted totals of its blocks, for each row of weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np

from steelyard.core.block import Block, CellsBlock, MomentsBlock, SumBlock
from steelyard.core.counts import count_text
from steelyard.core.deprecated import Renamed, warn_renamed
from steelyard.core.distinct import DISTINCT_FROM
from steelyard.core.errors import DuplicateKey, Incompatible, InvalidSpec, first_few
from steelyard.core.frozen import Frozen
from steelyard.core.metadata import Metadata
from steelyard.core.pairs import Countable, metadata_of
from steelyard.core.plan import WeightPlan
from steelyard.core.ranking import RankingBlock
from steelyard.core.rows import RowsBlock
from steelyard.core.statistic import Cells, RankingReader, Requirement, SharedCache, Statistic
from steelyard.core.units import Array, Units
from steelyard.core.weights import Entries, Floats, Role, Weights

NEAR = 1e-9  # how far rounding may carry a value beyond its range


class Reducible(Protocol):
    """What totals must know of a metric."""

    @property
    def range(self) -> tuple[float, float]:
        """The least and the greatest possible value."""

    def requirements(self) -> tuple[Requirement, ...]:
        """What it reads."""

    def reduce(self, totals: TotalsView) -> Floats:
        """Its value for each row of weights."""


class Totals:
    """Totals of a state under rows of weights: `totals[statistic]`, one value or more for each row.

    Each is made once for all metrics that ask. `metadata` is that of the state, `rows` is the number of rows, and
    `role` says what they are for.
    """

    def __init__(self, state: State, weights: Weights) -> None:
        self.state, self.weights = state, weights
        self.metadata, self.rows, self.role = state.metadata, weights.rows, weights.role
        self._made: dict[Requirement, Any] = {}

    def __getitem__(self, requirement: Requirement) -> Any:
        if requirement not in self._made:
            self._make(requirement)
        return self._made[requirement]

    def _make(self, requirement: Requirement) -> None:
        if isinstance(requirement, RankingReader):
            read = requirement.read_from(self._made, self.role, self.metadata)
            if read is None:
                ranking: Any = self.state.blocks[requirement.ranking]
                read = ranking.read(requirement, self.weights, self.metadata)
            self._made[requirement] = read
            return
        block = self.state.blocks[requirement]
        dense = requirement.drawn and isinstance(block, SumBlock | MomentsBlock | RowsBlock)
        if dense and self.role is Role.DRAWS:
            self._together()  # one pass over the drawn weights serves all columns
        else:
            self._made[requirement] = block.total(self.weights, self.metadata)

    def _together(self) -> None:
        matrix, columns = self.state.dense
        totals = self.weights @ matrix
        for statistic, (first, last, shape) in columns.items():
            part, block = totals[:, first:last], self.state.blocks[statistic]
            if isinstance(block, MomentsBlock):
                self._made[statistic] = block.pooled(part)
            else:
                self._made[statistic] = part.reshape((self.rows, *shape))

    def only(self, declared: Iterable[Requirement]) -> TotalsView:
        """The totals restricted to the statistics that a metric declared."""
        return TotalsView(self, frozenset(declared))

    def of(self, metric: Reducible) -> Floats:
        """A metric's value for each row of weights; an error where the plain score is outside its declared range."""
        values = metric.reduce(self.only(metric.requirements()))
        if np.shape(values) != (self.rows,):
            raise InvalidSpec(
                f"metric '{metric}' gave an array of shape {np.shape(values)} where {(self.rows,)} is expected",
                remedy="`reduce` returns one value for each row of weights: for each row of the totals.",
            )
        if self.role is not Role.POINT:  # draws may leave it by rounding, and single units by their nature
            return values
        low, high = metric.range
        outside = (values < low - NEAR * max(1.0, abs(low))) | (values > high + NEAR * max(1.0, abs(high)))
        if outside.any():
            raise InvalidSpec(
                f"metric '{metric}' is {values[outside][0]:g}, which is outside its range from {low:g} to {high:g}",
                remedy=f"Correct the metric, or the range that the class '{type(metric).__name__}' declares.",
            )
        return values


class TotalsView:
    """Totals of declared statistics. Another one raises KeyError: what a metric reads, it must have declared."""

    facts = Renamed("metadata")

    def __init__(self, totals: Totals, declared: frozenset[Requirement]) -> None:
        self._totals, self._declared = totals, declared
        self.metadata, self.rows, self.role = totals.metadata, totals.rows, totals.role

    def __getitem__(self, requirement: Requirement) -> Any:
        if requirement not in self._declared:
            raise KeyError(f"'{requirement}' was not declared")
        return self._totals[requirement]

    def undefined(self) -> Any:
        """No number, for each row of weights."""
        return np.full(self.rows, np.nan)


T = TypeVar("T")
Columns = dict[Statistic, tuple[int, int, tuple[int, ...]]]


class State(Frozen):
    """Blocks of the statistics that were measured, over the same units.

    `merge` is associative and commutative to the bit: classes are united, and units stand in the order of their ids.
    """

    units: Units
    metadata: Metadata
    blocks: Mapping[Statistic, Block]
    counted = Renamed("aggregated")
    facts = Renamed("metadata")

    def __len__(self) -> int:
        return len(self.units)

    @staticmethod
    def of(
        pairs: Any, needs: Iterable[Statistic], cache: SharedCache | None = None, *, work: SharedCache | None = None
    ) -> State:
        """What is measured of pairs for these statistics. `work` is the old name of `cache`."""
        if work is not None:
            warn_renamed("State.of(work=...)", "State.of(cache=...)")
            cache = work
        wanted = tuple(dict.fromkeys((*needs, *(pairs.kept_statistics if isinstance(pairs, Countable) else ()))))
        shared = cache or SharedCache(wanted)
        blocks = {statistic: statistic.measure(pairs, shared) for statistic in wanted}
        distinct = pairs.distinct_units if isinstance(pairs, Countable) else None
        return State(Units(pairs.units, pairs.weight) if distinct is None else distinct, metadata_of(pairs), blocks)

    def grouped_like(self, whole: State) -> State:
        """Return the state with the clusters and strata of another state of the same units, if both list them."""
        mine, theirs = self.units, whole.units
        if mine.deduplicated or theirs.deduplicated or len(mine) != len(theirs):
            return self
        units = replace(mine, cluster=theirs.cluster, stratum=theirs.stratum, groups=theirs.groups)
        return replace(self, units=units)

    def totals(self, plan: WeightPlan) -> Totals:
        """The totals under the rows of weights that a plan describes."""
        return Totals(self, plan.bind(self.units))

    @cached_property
    def dense(self) -> tuple[Floats, Columns]:
        """All columns that add up and are drawn, side by side, and where each statistic's columns stand."""
        columns: Columns = {}
        parts: list[Array] = []
        width = 0
        for statistic, block in self.blocks.items():
            if not statistic.drawn:
                continue
            if isinstance(block, MomentsBlock):
                values = block.matrix
            elif isinstance(block, SumBlock | RowsBlock):
                values = block.values
            else:
                continue
            flat = values.reshape(len(self), -1).astype(np.float64, copy=False)
            columns[statistic] = (width, width + flat.shape[1], values.shape[1:])
            parts.append(flat)
            width += flat.shape[1]
        matrix = np.concatenate(parts, axis=1) if parts else np.zeros((len(self), 0))
        return np.ascontiguousarray(matrix), columns

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """What several metrics ask of the state as a whole, made once."""
        cache: dict[Any, Any] = self.__dict__.setdefault("_known", {})
        if key not in cache:
            cache[key] = make()
        value: T = cache[key]
        return value

    def take(self, index: Array) -> State:
        """The given units, in the given order. No unit may be named twice."""
        index = np.asarray(index, dtype=np.int64)
        blocks = {statistic: block.take(index, len(index)) for statistic, block in self.blocks.items()}
        return State(self.units.take(index), self.metadata, blocks)

    @staticmethod
    def unified(parts: Sequence[State]) -> list[State]:
        """Return the states with one shared list of classes."""
        if all(part.metadata == parts[0].metadata for part in parts):
            return list(parts)
        facts, codes = Metadata.merge([part.metadata for part in parts])
        return [
            State(
                part.units,
                facts,
                {statistic: block.move(code, part.metadata, facts) for statistic, block in part.blocks.items()},
            )
            for part, code in zip(parts, codes, strict=True)
        ]

    @staticmethod
    def stack(parts: Sequence[State]) -> State:
        """Rows of several states one after the other; a unit may stand in more than one of them."""
        parts = _without_distinct(State.unified(parts))
        first = parts[0]
        for part in parts[1:]:
            if part.blocks.keys() != first.blocks.keys():
                raise Incompatible(
                    "measurements that keep different things cannot be merged", remedy="Ask for the same."
                )
        sizes = [len(part) for part in parts]
        blocks: dict[Statistic, Any] = {
            statistic: type(block).stack([part.blocks[statistic] for part in parts], sizes)
            for statistic, block in first.blocks.items()
        }
        return State(Units.stack([part.units for part in parts]), first.metadata, blocks)

    def aggregated(self) -> State:
        """The state with duplicate units stored once, with their copies, where a statistic tells them apart."""
        distinct = self._distinct()
        listed = not self.units.unweighted or self.units.has_design
        if distinct is None or self.units.deduplicated or listed or len(self) < DISTINCT_FROM:
            return self
        return self._deduplicate(distinct)

    def _distinct(self) -> Entries | None:
        """The cell of each unit, equal for duplicates; None where some unit has none."""
        statistic = _distinct_of(self)
        block = None if statistic is None else self.blocks[statistic]
        if not isinstance(block, CellsBlock):
            return None
        entries = block.entries
        distinct = bool((entries.code < entries.size // 2).all() and (np.diff(entries.owner) > 0).all())
        return entries if distinct else None

    def _deduplicate(self, distinct: Entries) -> State:
        """One row per distinct unit, numbered by its cell, with its copies. A unit without a cell has no row."""
        cells, first, place = np.unique(distinct.code, return_index=True, return_inverse=True)
        each = np.ones(len(self), dtype=np.int64) if self.units.copies is None else self.units.copies
        copies = np.bincount(place.reshape(-1), weights=each[distinct.owner], minlength=len(cells)).astype(np.int64)
        return replace(self.take(distinct.owner[first]), units=Units(cells.astype(np.int64), None, copies))

    @staticmethod
    def merge(parts: Sequence[State]) -> State:
        """States of different units as one; the order of the parts does not matter."""
        stacked = State.stack(parts)
        if stacked.units.copies is not None:
            distinct = stacked._distinct()
            if distinct is None:
                raise Incompatible(
                    "deduplicated units cannot be merged with units that have no cell",
                    remedy="Deduplicate all parts or none.",
                )
            return stacked._deduplicate(distinct)
        order = np.argsort(stacked.units.ids, kind="stable")
        ordered = stacked.units.ids[order]
        twice = ordered[1:][ordered[1:] == ordered[:-1]]
        if len(twice) and stacked.blocks and all(getattr(b, "two_owners", False) for b in stacked.blocks.values()):
            return stacked._join_units()
        if len(twice):
            raise DuplicateKey(
                f"{count_text(len(twice), 'unit', 'stand')} in more than one part: {first_few(twice)}",
                remedy="Was a part given twice?",
            )
        blocks = {statistic: block.merged() for statistic, block in stacked.blocks.items()}
        return replace(stacked, blocks=blocks).take(order)

    def _join_units(self) -> State:
        """The state with each unit once, where rows have two owners: parts hold other rows of the same units."""
        _, first, place = np.unique(self.units.ids, return_index=True, return_inverse=True)
        blocks: dict[Statistic, Any] = {
            statistic: block.join_units(place.reshape(-1))
            for statistic, block in self.blocks.items()
            if isinstance(block, RankingBlock)
        }
        return replace(self, units=self.units.take(first), blocks=blocks)


def _distinct_of(state: State) -> Statistic | None:
    """The statistic that tells which units are duplicates, where there is one."""
    return next((statistic for statistic in state.blocks if isinstance(statistic, Cells) and statistic.distinct), None)


def _without_distinct(parts: Sequence[State]) -> Sequence[State]:
    """The parts, without the statistic of distinct units where only some have it."""
    needs = {_distinct_of(part) for part in parts}
    if len(needs) == 1:
        return parts
    common = [
        {statistic: block for statistic, block in part.blocks.items() if statistic not in needs} for part in parts
    ]
    return [replace(part, blocks=blocks) for part, blocks in zip(parts, common, strict=True)]
