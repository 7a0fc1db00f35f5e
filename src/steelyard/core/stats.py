"""Stats: what was measured, one row a unit. Everything behind the matching sees only this."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import InputError, some
from steelyard.core.weights import Plain, Weights

Array = NDArray[Any]
T = TypeVar("T")


class Stats:
    """Rows by unit: dense columns (one row a unit) and ragged events (each with its owner unit).

    `stats["items"]` is a dense column, `stats.events["truth"]` an event column, `stats.owner` the row of the unit
    that an event belongs to. `facts` are what holds for the whole measurement (the class names, say) and must be
    equal in stats that are joined, or be made so by `unify`. `weight` is the user's own weight of a unit, 1 by
    default.

    `copies` says how many alike units a row stands for, where units without a group of their own are counted instead
    of listed (ten million labels are at most classes x classes kinds of units); `by_unit()` then lists them.
    """

    def __init__(
        self,
        units: Array,
        columns: Mapping[str, Array],
        *,
        events: Mapping[str, Array] | None = None,
        owner: Array | None = None,
        facts: Mapping[str, Any] | None = None,
        weight: Array | None = None,
        copies: Array | None = None,
        expand: Callable[[], Stats] | None = None,
        unify: Callable[[Sequence[Stats]], list[Stats]] | None = None,
    ) -> None:
        self.units = units
        self.columns = dict(columns)
        self.events = dict(events or {})
        self.owner: Array = np.zeros(0, np.int64) if owner is None else owner
        self.facts = dict(facts or {})
        self.unweighted = weight is None
        self.weight: Array = np.ones(len(units)) if weight is None else np.asarray(weight, dtype=np.float64)
        self.copies, self._expand, self.unify = copies, expand, unify
        self._derived: dict[object, Any] = {}
        self._by_weights: WeakKeyDictionary[Weights, dict[object, Any]] = WeakKeyDictionary()
        for name, column in self.columns.items():
            if len(column) != len(units):
                raise ValueError(f"column '{name}' has {len(column)} rows for {len(units)} units")
        for name, column in self.events.items():
            if len(column) != len(self.owner):
                raise ValueError(f"event column '{name}' has {len(column)} rows for {len(self.owner)} owners")

    def __len__(self) -> int:
        return len(self.units)

    def __getitem__(self, name: str) -> Array:
        return self.columns[name]

    @property
    def plain(self) -> Array:
        """The weight of each row in the plain score."""
        return self.weight if self.copies is None else self.weight * self.copies

    @property
    def counted(self) -> Array:
        """How many units with a weight each row stands for."""
        return (self.weight > 0) * (1.0 if self.copies is None else self.copies)

    @property
    def unit_count(self) -> int:
        """How many units have a weight."""
        return len(self.units) if self.unweighted and self.copies is None else int(self.counted.sum())

    def whole(self) -> Plain:
        """The weights of the plain score."""
        return Plain(lambda: self.plain, whole=True)

    def by_unit(self) -> Stats:
        """The same stats with every unit a row of its own."""
        return self if self._expand is None else self._expand()

    def per_unit(self, key: object, make: Callable[[], Array]) -> Array:
        """A dense column that depends on a metric's settings, made once."""
        return self.derived(key, make)

    def held(self, key: object) -> Any:
        """What has been derived under that key, or None."""
        return self._derived.get(key)

    def derived(self, key: object, make: Callable[[], T]) -> T:
        """Anything that is made of the stats once and asked for again."""
        if key not in self._derived:
            self._derived[key] = make()
        found: T = self._derived[key]
        return found

    def under(self, weights: Weights, key: object, make: Callable[[], T]) -> T:
        """What several metrics need under the same weights, made once and kept as long as the weights are."""
        known = self._by_weights.setdefault(weights, {})
        if key not in known:
            known[key] = make()
        value: T = known[key]
        return value

    def sum_events(self, values: Array) -> Array:
        """Sum a value of each event into its unit."""
        return np.bincount(self.owner, weights=values, minlength=len(self.units))

    def take(self, index: Array) -> Stats:
        """The given units, in the given order. No unit may be named twice."""
        index = np.asarray(index, dtype=np.int64)
        place = np.full(len(self.units), -1, dtype=np.int64)
        place[index] = np.arange(len(index))
        owner = place[self.owner]
        kept = np.flatnonzero(owner >= 0)
        kept = kept[np.argsort(owner[kept], kind="stable")]
        return Stats(
            self.units[index],
            {name: column[index] for name, column in self.columns.items()},
            events={name: column[kept] for name, column in self.events.items()},
            owner=owner[kept],
            facts=self.facts,
            weight=None if self.unweighted else self.weight[index],
            copies=None if self.copies is None else self.copies[index],
            unify=self.unify,
        )

    @staticmethod
    def unified(parts: Sequence[Stats]) -> list[Stats]:
        """The same stats with facts that are equal, where their task knows how to make them so."""
        first = parts[0]
        alike = all(part.facts == first.facts for part in parts)
        return list(parts) if alike or first.unify is None else first.unify(parts)

    @staticmethod
    def stack(parts: Sequence[Stats]) -> Stats:
        """Rows of several stats one after the other; a unit may stand in more than one of them."""
        if len({part.copies is None for part in parts}) > 1:
            parts = [part.by_unit() for part in parts]
        parts = Stats.unified(parts)
        first = parts[0]
        for part in parts[1:]:
            if part.columns.keys() != first.columns.keys() or part.events.keys() != first.events.keys():
                raise ValueError("stats of different tasks cannot be joined")
            if part.facts != first.facts:
                raise ValueError("stats measured with different settings cannot be joined")
        starts = np.cumsum([0] + [len(part) for part in parts])
        return Stats(
            np.concatenate([part.units for part in parts]),
            {name: np.concatenate([part.columns[name] for part in parts]) for name in first.columns},
            events={name: np.concatenate([part.events[name] for part in parts]) for name in first.events},
            owner=np.concatenate([part.owner + start for part, start in zip(parts, starts, strict=False)]),
            facts=first.facts,
            weight=None if all(p.unweighted for p in parts) else np.concatenate([p.weight for p in parts]),
            copies=None if first.copies is None else np.concatenate([part.copies for part in parts]),
            unify=first.unify,
        )

    @staticmethod
    def concat(parts: Sequence[Stats]) -> Stats:
        """Join stats of different units; the result does not depend on the order of the parts."""
        stacked = Stats.stack(parts)
        order = np.argsort(stacked.units, kind="stable")
        ordered = stacked.units[order]
        twice = ordered[1:][ordered[1:] == ordered[:-1]]
        if len(twice) and stacked.copies is not None:
            return stacked._counted(order, stacked.copies)
        if len(twice):
            raise InputError(f"{len(twice)} units stand in more than one part: {some(twice)}")
        return stacked.take(order)

    def _counted(self, order: Array, copies: Array) -> Stats:
        """One row for each kind of unit, in the given order of rows; its copies are added up."""
        ordered = self.units[order]
        starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        kept = self.take(order[starts])
        kept.copies = np.add.reduceat(copies[order], starts)
        return kept


class DeferredStats(Stats):
    """Stats whose rows are made when something asks for them: the plain score of counted units often does not."""

    def __init__(
        self,
        make: Callable[[], Stats],
        *,
        facts: Mapping[str, Any],
        unit_count: int,
        expand: Callable[[], Stats] | None = None,
    ) -> None:
        self._make, self._expand, self._unit_count = make, expand, unit_count
        self.facts, self.unweighted = dict(facts), True
        self._derived: dict[object, Any] = {}
        self._by_weights: WeakKeyDictionary[Weights, dict[object, Any]] = WeakKeyDictionary()

    @property
    def unit_count(self) -> int:
        """How many units there are."""
        return self._unit_count

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in _ROWS or "_make" not in self.__dict__:
            raise AttributeError(name)
        made = self._make()
        for key in _ROWS:
            self.__dict__[key] = getattr(made, key)
        return self.__dict__[name]

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restored, (self._make(),))


_ROWS = ("units", "columns", "events", "owner", "weight", "copies", "unify")


def _restored(stats: Stats) -> Stats:
    return stats
