"""State: what was measured, by unit. The only thing that is merged, sent, saved, sliced, resampled and compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from steelyard.core.block import Block, MomentsBlock, SumBlock
from steelyard.core.errors import InputError, some
from steelyard.core.facts import Facts
from steelyard.core.frozen import frozen
from steelyard.core.need import Need, Work
from steelyard.core.plan import Plan
from steelyard.core.rows import RowsBlock
from steelyard.core.totals import Totals
from steelyard.core.units import Array, Units
from steelyard.core.weights import Floats

Columns = dict[Need, tuple[int, int, tuple[int, ...]]]


@frozen
class State:
    """Blocks of the needs that were measured, over the same units.

    `merge` is associative and commutative to the bit: classes are united, and units stand in the order of their ids.
    """

    units: Units
    facts: Facts
    blocks: Mapping[Need, Block]

    def __len__(self) -> int:
        return len(self.units)

    @staticmethod
    def of(pairs: Any, needs: Iterable[Need], work: Work | None = None) -> State:
        """What is measured of pairs for these needs."""
        wanted = tuple(needs)
        shared = work or Work(wanted)
        blocks = {need: need.measure(pairs, shared) for need in wanted}
        return State(Units(pairs.units, pairs.weight), pairs.facts, blocks)

    def totals(self, plan: Plan) -> Totals:
        """The totals under the rows of weights that a plan describes."""
        return Totals(self, plan.bind(self.units))

    @cached_property
    def dense(self) -> tuple[Floats, Columns]:
        """All columns that add up and are drawn, side by side, and where each need's columns stand."""
        columns: Columns = {}
        parts: list[Array] = []
        width = 0
        for need, block in self.blocks.items():
            if not need.drawn:
                continue
            if isinstance(block, MomentsBlock):
                values = block.matrix
            elif isinstance(block, SumBlock | RowsBlock):
                values = block.values
            else:
                continue
            flat = values.reshape(len(self), -1).astype(np.float64, copy=False)
            columns[need] = (width, width + flat.shape[1], values.shape[1:])
            parts.append(flat)
            width += flat.shape[1]
        matrix = np.concatenate(parts, axis=1) if parts else np.zeros((len(self), 0))
        return np.ascontiguousarray(matrix), columns

    def take(self, index: Array) -> State:
        """The given units, in the given order. No unit may be named twice."""
        index = np.asarray(index, dtype=np.int64)
        blocks = {need: block.take(index, len(index)) for need, block in self.blocks.items()}
        return State(self.units.take(index), self.facts, blocks)

    @staticmethod
    def unified(parts: Sequence[State]) -> list[State]:
        """The same states with one list of classes."""
        if all(part.facts == parts[0].facts for part in parts):
            return list(parts)
        for block in parts[0].blocks.values():
            alike = block.unified(parts)
            if alike is not None:
                return alike
        facts, codes = Facts.merge([part.facts for part in parts])
        return [
            State(
                part.units,
                facts,
                {need: block.move(code, part.facts, facts) for need, block in part.blocks.items()},
            )
            for part, code in zip(parts, codes, strict=True)
        ]

    @staticmethod
    def stack(parts: Sequence[State]) -> State:
        """Rows of several states one after the other; a unit may stand in more than one of them."""
        parts = State.unified(parts)
        first = parts[0]
        for part in parts[1:]:
            if part.blocks.keys() != first.blocks.keys():
                raise InputError("measurements that keep different things cannot be merged", remedy="Ask for the same.")
        sizes = [len(part) for part in parts]
        blocks: dict[Need, Any] = {
            need: type(block).stack([part.blocks[need] for part in parts], sizes)
            for need, block in first.blocks.items()
        }
        return State(Units.stack([part.units for part in parts]), first.facts, blocks)

    @staticmethod
    def merge(parts: Sequence[State]) -> State:
        """States of different units as one; the order of the parts does not matter."""
        stacked = State.stack(parts)
        order = np.argsort(stacked.units.ids, kind="stable")
        ordered = stacked.units.ids[order]
        twice = ordered[1:][ordered[1:] == ordered[:-1]]
        if len(twice):
            raise InputError(f"{len(twice)} units stand in more than one part: {some(twice)}")
        blocks = {need: block.merged() for need, block in stacked.blocks.items()}
        return replace(stacked, blocks=blocks).take(order)
