"""Slices: the same scores for parts of the data.

A column that is constant inside every unit splits the units: the slice is a weight of 0 or 1. A column that varies
inside units (the food of an item) splits the rows: they are measured again, and units that lose rows are partial.

A slice is known by its values, one for each column that it is by: ("rice",) or ("rice", "dark"). A column may lie in a
file of its own, which has a row for each unit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.core.errors import TooLarge, Unsupported
from steelyard.core.frozen import Frozen
from steelyard.core.pairs import Array, Paired
from steelyard.core.rows import RowsBlock
from steelyard.core.state import State
from steelyard.core.task import Task
from steelyard.io.beside import in_file, values_beside

MOST_SLICES = 1000
Values = tuple[str, ...]


def among_all(whole: State, parts: Mapping[Values, State]) -> dict[Values, State]:
    """Slices that were joined from parts, whose rows are looked at among those of the whole, as if measured at once.

    Units that are in one slice each keep the values of the whole. Where a column varies inside a unit, a slice has rows
    of its own, and sees of other units what it would see of those.
    """
    if whole.metadata.axes:  # a slice knows all classes, those too that none of its units have
        parts = {value: State.unified([whole, part])[1] for value, part in parts.items()}
    row_blocks = {statistic: block for statistic, block in whole.blocks.items() if isinstance(block, RowsBlock)}
    if not row_blocks:
        return dict(parts)
    place = {str(unit): i for i, unit in enumerate(whole.units.ids.tolist())}
    units = [str(unit) for part in parts.values() for unit in part.units.ids.tolist()]
    apart = len(set(units)) == len(units)
    states = {}
    for value, part in parts.items():
        index = np.array([place[str(unit)] for unit in part.units.ids.tolist()], dtype=np.int64)
        blocks = dict(part.blocks)
        for statistic, block in row_blocks.items():
            mine = part.blocks[statistic]
            if apart:
                blocks[statistic] = block.take(index, len(index))
            elif isinstance(mine, RowsBlock):
                blocks[statistic] = mine.among(block)
        states[value] = replace(part, blocks=blocks)
    return states


class _Split(Frozen):
    """Values to slice by: their names, and for each row its value and its unit. `first` is a unit's own value."""

    names: list[Values]
    codes: Array
    owner: Array
    first: Array
    varies: bool

    def place(self, name: Values) -> int:
        return self.names.index(name) if name in self.names else -1


def slices(
    pairs: Paired, state: State, by: Sequence[str], measure: Callable[[Any], State], task: Task | None = None
) -> dict[Values, State]:
    """States by the values of one column, or of several crossed; a slice holds only the units that are in it.

    `task` says what a file beside calls its units; without it there is no such file.
    """
    split = _split(pairs, by, task)
    states = {}
    for code, name in enumerate(split.names):
        rows = split.codes == code
        if split.varies or state.units.deduplicated:
            part = measure(pairs.select(rows)).grouped_like(state)
            states[name] = part if part.units.deduplicated else part.take(np.unique(split.owner[rows]))
        else:
            states[name] = state.take(np.flatnonzero(split.first == code))
    return states


def paired_slices(
    sides: Sequence[tuple[Paired, State]],
    by: Sequence[str],
    measure: Callable[[Any], State],
    task: Task | None = None,
) -> dict[Values, list[State]]:
    """Slice several models on the same truth: a slice holds the units that are in it for any of them.

    `measure` lists units one by one.
    """
    splits = [_split(pairs, by, task) for pairs, _ in sides]
    states = {}
    for name in sorted({name for split in splits for name in split.names}):
        parts, in_slice = [], np.zeros(len(sides[0][0].units), dtype=bool)
        for (pairs, state), split in zip(sides, splits, strict=True):
            rows = split.codes == split.place(name)
            in_slice[split.owner[rows]] = True
            whole = not state.units.deduplicated and not any(s.varies for s in splits)
            parts.append(state if whole else measure(pairs.select(rows)).grouped_like(state))
        if any(len(part) != len(in_slice) for part in parts):  # units that were counted, not listed: rows of the slice
            states[name] = parts
        else:
            states[name] = [part.take(np.flatnonzero(in_slice)) for part in parts]
    return states


def _split(pairs: Any, by: Sequence[str], task: Task | None) -> _Split:
    columns, owner = [], np.arange(len(pairs.units))
    for said in by:
        name = pairs.truth.own_name(said)
        if task is not None and in_file(name) is not None and pairs.truth.find(name) is None:
            columns.append((values_beside(task, pairs.units.tolist(), name, "by"), True))
            continue
        repeated = pairs.slice_rows(name) if hasattr(pairs, "slice_rows") else None
        if repeated is not None:
            if any(not of_units for _, of_units in columns):
                raise Unsupported(f"slices by '{', '.join(by)}' cannot be crossed", remedy="Slice by one at a time.")
            owner = repeated[1]
            columns.append((repeated[0], False))
            continue
        of_units = pairs.unit_values(name) if hasattr(pairs, "unit_values") else None
        if of_units is not None:
            columns.append((of_units, True))
        else:
            values, owner = pairs.slice_values(name)
            columns.append((values, False))
    codes: Array = np.zeros(len(owner), dtype=np.int64)
    names: list[Values] = [()]
    for values, of_units in columns:
        values = values[owner] if of_units else values
        cells = [text_of(value) or "(none)" for value in values.tolist()]
        texts, code = np.unique(np.array(cells, dtype=str), return_inverse=True)
        crossed = codes * len(texts) + code
        used, codes = np.unique(crossed, return_inverse=True)
        names = [(*names[i // len(texts)], str(texts[i % len(texts)])) for i in used.tolist()] if len(texts) else []
    if len(names) > MOST_SLICES:
        raise TooLarge(
            f"'{', '.join(by)}' has {len(names)} different values", remedy=f"Slice by at most {MOST_SLICES}."
        )
    first = np.full(len(pairs.units), -1, dtype=np.int64)
    first[owner] = codes
    return _Split(names, codes, owner, first, bool((first[owner] != codes).any()))


def text_of(value: object) -> str:
    """A cell as text, whole numbers without a point; nothing where it is empty or nan."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()
