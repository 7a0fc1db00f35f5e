"""Units: what is drawn, one row each, with its id and its weight."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.frozen import frozen

Array = NDArray[Any]
Floats = NDArray[np.float64]


@frozen
class Units:
    """Ids of the units, in the order that their ids give.

    `weight` is the user's own weight of each unit; None is 1 for all. With `copies` a row is a kind of unit that stands
    for so many alike ones: ten million labels are at most classes x classes kinds.
    """

    ids: Array
    weight: Array | None = None
    copies: Array | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def unweighted(self) -> bool:
        """Whether all weigh 1."""
        return self.weight is None

    @property
    def alike(self) -> bool:
        """Whether rows are kinds of units, each with its copies."""
        return self.copies is not None

    @cached_property
    def own(self) -> Floats:
        """The user's weight of each row."""
        return np.ones(len(self.ids)) if self.weight is None else np.asarray(self.weight, dtype=np.float64)

    @property
    def plain(self) -> Floats:
        """The weight of each row in the plain score."""
        return self.own if self.copies is None else self.own * self.copies

    @property
    def counted(self) -> Floats:
        """How many units with a weight each row stands for."""
        return np.asarray((self.own > 0) * (1.0 if self.copies is None else self.copies), dtype=np.float64)

    @property
    def count(self) -> int:
        """How many units have a weight."""
        return len(self.ids) if self.weight is None and self.copies is None else int(self.counted.sum())

    def take(self, index: Array) -> Units:
        """The given rows, in the given order."""
        return Units(
            self.ids[index],
            None if self.weight is None else self.weight[index],
            None if self.copies is None else self.copies[index],
        )

    @staticmethod
    def stack(parts: list[Units]) -> Units:
        """Rows of several one after the other. An id 7 here and "7" there are the same text then."""
        ids = [part.ids for part in parts if len(part)] or [parts[0].ids]
        if len({array.dtype.kind in "OU" for array in ids}) > 1:
            ids = [_texts(array) for array in ids]
        weight = None if all(p.weight is None for p in parts) else np.concatenate([p.own for p in parts])
        copies = None
        if any(p.copies is not None for p in parts):
            ones = [np.ones(len(p), dtype=np.int64) if p.copies is None else p.copies for p in parts]
            copies = np.concatenate(ones)
        return Units(np.concatenate(ids), weight, copies)


def _texts(ids: Array) -> Array:
    texts = np.empty(len(ids), dtype=object)
    texts[:] = [str(value) for value in ids.tolist()]
    return texts
