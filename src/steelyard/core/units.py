"""Units: what is scored, one row each, with its id, its weight, and what it is drawn with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.frozen import frozen

Array = NDArray[Any]
Floats = NDArray[np.float64]


@frozen  # not by inheritance: `DistinctUnits` computes the fields
class Units:
    """Ids of the units, in the order that their ids give.

    `weight` is the user's own weight of each unit; None is 1 for all. With `copies` a row stands for so many
    duplicate units: ten million labels are at most classes x classes distinct rows.

    With `cluster` the units of one cluster are resampled together, and with `stratum` each stratum keeps its share in
    every draw; both are names, one per unit. `groups` holds other columns by which units may go together, as keys: they
    move no number, and say whether the user should have named one.
    """

    ids: Array
    weight: Array | None = None
    copies: Array | None = None
    cluster: Array | None = None
    stratum: Array | None = None
    groups: Mapping[str, Array] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def unweighted(self) -> bool:
        """Whether all weigh 1."""
        return self.weight is None

    @property
    def deduplicated(self) -> bool:
        """Whether each row stands for several duplicate units: its `copies`."""
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
    def unit_counts(self) -> Floats:
        """How many units with a weight each row stands for."""
        return np.asarray((self.own > 0) * (1.0 if self.copies is None else self.copies), dtype=np.float64)

    @property
    def count(self) -> int:
        """How many units have a weight."""
        return len(self.ids) if self.weight is None and self.copies is None else int(self.unit_counts.sum())

    @property
    def has_design(self) -> bool:
        """Whether draws are not of single units at random: there are clusters or strata."""
        return self.cluster is not None or self.stratum is not None

    @cached_property
    def drawn_as(self) -> tuple[Array, Array]:
        """What is drawn (the ids, or the sorted names of the clusters), and which of these each row belongs to."""
        if self.cluster is None:
            return self.ids, np.arange(len(self.ids))
        return _distinct(self.cluster)

    @cached_property
    def n_resampled(self) -> int:
        """The number of resampling units: the clusters with a weight, or the units."""
        if self.cluster is None:
            return self.count
        return len(np.unique(self.drawn_as[1][self.own > 0]))

    def behind(self, owner: Array, place: Array, places: int) -> Floats:
        """How many units, or clusters, stand behind each place: rows `owner` that have a weight, and their places."""
        counted, group = self.unit_counts, owner if self.cluster is None else self.drawn_as[1][owner]
        pairs = (group * places + place)[counted[owner] > 0]
        pairs.sort(kind="stable")  # they are nearly in order
        first = np.append(True, pairs[1:] != pairs[:-1])[: len(pairs)]
        group, place = np.divmod(pairs[first], max(1, places))
        each = counted[group] if self.cluster is None else None
        return np.bincount(place, weights=each, minlength=places).astype(np.float64)

    @cached_property
    def strata(self) -> tuple[Array, Array, tuple[str, ...]]:
        """Names of the strata that draws keep, the stratum of each row, and which were joined to another.

        One with a single unit (or cluster) has nothing to draw from, and is joined to the next, or the last to the one
        before it.
        """
        if self.stratum is None:
            return np.zeros(0, object), np.zeros(len(self.ids), np.int64), ()
        names, code = _distinct(self.stratum)
        drawn = np.unique(np.stack([code, self.drawn_as[1]])[:, self.own > 0], axis=1)[0]
        size = np.bincount(drawn, minlength=len(names))
        place, joined, start = np.zeros(len(names), np.int64), [], 0
        while start < len(names):
            stop, held = start + 1, int(size[start])
            while held < 2 and stop < len(names):
                held += int(size[stop])
                stop += 1
            joined += [str(names[i]) for i in range(start, stop) if size[i] == 1 and len(names) > 1]
            place[start:stop] = place[start - 1] if held < 2 and start else start
            start = stop
        used, code = np.unique(place[code], return_inverse=True)
        return names[used], code.reshape(-1), tuple(joined)

    def take(self, index: Array) -> Units:
        """The given rows, in the given order."""

        def select_rows(values: Array | None) -> Array | None:
            return None if values is None else values[index]

        return Units(
            self.ids[index],
            select_rows(self.weight),
            select_rows(self.copies),
            select_rows(self.cluster),
            select_rows(self.stratum),
            {name: keys[index] for name, keys in self.groups.items()},
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
        shared = set.intersection(*(set(part.groups) for part in parts))
        return Units(
            np.concatenate(ids),
            weight,
            copies,
            _join_names([part.cluster for part in parts]),
            _join_names([part.stratum for part in parts]),
            {name: np.concatenate([p.groups[name] for p in parts]) for name in parts[0].groups if name in shared},
        )


def _join_names(parts: list[Array | None]) -> Array | None:
    """The names of all parts; None where a part has none."""
    named = [part for part in parts if part is not None]
    return np.concatenate(named) if len(named) == len(parts) else None


def _distinct(names: Array) -> tuple[Array, Array]:
    """Sorted distinct names, and the place of each."""
    place = {name: i for i, name in enumerate(sorted(set(names.tolist())))}
    distinct = np.empty(len(place), dtype=object)
    distinct[:] = list(place)
    return distinct, np.fromiter(map(place.__getitem__, names.tolist()), dtype=np.int64, count=len(names))


def _texts(ids: Array) -> Array:
    texts = np.empty(len(ids), dtype=object)
    texts[:] = [str(value) for value in ids.tolist()]
    return texts
