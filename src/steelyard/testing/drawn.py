"""Drawn: what the author of a task gives so that its laws can be tested."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import field
from typing import Any

import numpy as np

from steelyard.core.frozen import Frozen

Columns = Mapping[str, Any]
BothSides = tuple[Columns, Columns]


class Drawn(Frozen):
    """Generators of data, as columns by name.

    `draw(rng, units)` gives truth and predictions of so many units. Units have the same ids whatever the generator, at
    least one row each, every metric of the task is defined on any half of them, and the awkward cases that the task
    allows are there: ties, zeros, empty units, several rows per unit. `perfect(truth)` gives predictions that cannot be
    better, and `worst(truth)`, where it is given, some that cannot be worse than those drawn.

    `unit` is the truth's column of unit ids, where it is not the first of the key, and `weight` that of the units' own
    weights, where the drawn data have one. `policy` says what the data need: {"missing": "worst", "extra": "skip"}, and
    `options` are those of the task that they are read with.
    """

    draw: Callable[[np.random.Generator, int], tuple[Any, Any]]
    perfect: Callable[[Any], Any]
    worst: Callable[[Any], Any] | None = None
    unit: str = ""
    weight: str = ""
    policy: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


def shuffled(columns: Columns, rng: np.random.Generator) -> Columns:
    """Return the rows in another order."""
    return taken(columns, rng.permutation(_rows(columns)))


def taken(columns: Columns, rows: Any) -> Columns:
    """Some of the rows."""
    return {name: _column(column)[rows] for name, column in columns.items()}


def cut(sides: BothSides, key: str, unit: str, parts: int) -> list[BothSides]:
    """Both sides in parts: the first unit into the first part, the second into the second, and so on around."""
    truth, _ = sides
    owner = dict(zip(map(str, truth[key]), map(str, truth[unit]), strict=True))
    place = {name: number for number, name in enumerate(dict.fromkeys(owner.values()))}

    def within(columns: Columns, part: int) -> Columns:
        mine = [place.get(owner.get(str(value), ""), 0) % parts == part for value in columns[key]]
        return taken(columns, np.flatnonzero(mine))

    return [(within(sides[0], part), within(sides[1], part)) for part in range(parts)]


def without(columns: Columns, names: Collection[str]) -> Columns:
    """All columns but those."""
    return {name: column for name, column in columns.items() if name not in names}


def _rows(columns: Columns) -> int:
    return len(next(iter(columns.values())))


def _column(values: Any) -> Any:
    """A column as an array of numbers, or else of Python objects, whatever they hold."""
    if isinstance(values, np.ndarray) and values.ndim == 1:
        return values
    listed = list(values)
    if all(isinstance(value, bool | int | float | np.generic) for value in listed):
        return np.asarray(listed)
    column = np.empty(len(listed), dtype=object)
    column[:] = listed
    return column
