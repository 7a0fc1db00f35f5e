"""Sums by unit: stats without their events, for metrics that are functions of sums.

Most metrics ask a measurement only for columns with one row a unit: what they add up. Such columns are all that need be
kept or sent: the plain score, the draws of the bootstrap and the jackknife are the same to the bit. Which metrics those
are is found by trying: the metric is computed again from the columns alone, and a part of the units, measured by
itself, must have the same columns (CIDEr, whose document frequencies look across units, does not pass).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from steelyard.core.errors import InputError
from steelyard.core.frozen import frozen
from steelyard.core.metric import Metric
from steelyard.core.records import as_object
from steelyard.core.stats import Array, Stats
from steelyard.core.weights import Entries, Plain

T = TypeVar("T")
StandIn = Callable[[object], Any]


class NotSums(Exception):
    """A metric asked for more than sums by unit."""


class SumStats(Stats):
    """Stats that hold sums only. What metrics derive from events is held under the text of its key."""

    def __init__(
        self,
        units: Array,
        columns: Mapping[str, Array],
        made: Mapping[str, Array | Entries],
        facts: Mapping[str, Any],
        weight: Array | None,
        copies: Array | None,
        stand_in: StandIn | None = None,
    ) -> None:
        super().__init__(units, columns, facts=facts, weight=weight, copies=copies)
        self.made, self.stand_in = dict(made), stand_in

    def __getitem__(self, name: str) -> Array:
        if name not in self.columns:
            raise NotSums(name)
        return self.columns[name]

    def held(self, key: object) -> Any:
        """What is kept under that key, or None."""
        return self.made.get(repr(key))

    def derived(self, key: object, make: Callable[[], T]) -> T:
        """What is kept under that key, or a stand-in; anything else would need the events."""
        if key not in self._derived and self.stand_in is not None:
            self._derived[key] = self.stand_in(key)
        if self._derived.get(key) is not None:
            known: Any = self._derived[key]
            return known  # type: ignore[no-any-return]
        text = repr(key)
        if text not in self.made:
            raise NotSums(text)
        kept: Any = self.made[text]
        return kept  # type: ignore[no-any-return]


class _Probe(Stats):
    """Stats that remember which columns were asked for and what was derived."""

    def __init__(self, stats: Stats, stand_in: StandIn | None) -> None:
        super().__init__(
            stats.units, stats.columns, events=stats.events, owner=stats.owner, facts=stats.facts,
            weight=None if stats.unweighted else stats.weight, copies=stats.copies, unify=stats.unify,
        )  # fmt: skip
        self.asked: dict[str, Array] = {}
        self.stand_in = stand_in

    def derived(self, key: object, make: Callable[[], T]) -> T:
        """What is made of the events, or what stands in for it."""
        stands = self.stand_in(key) if self.stand_in is not None and key not in self._derived else None
        return super().derived(key, make) if stands is None else super().derived(key, lambda: cast(T, stands))

    def __getitem__(self, name: str) -> Array:
        self.asked[name] = self.columns[name]
        return self.columns[name]


@frozen
class _Told:
    """All that a report says about a metric."""

    value: bytes
    why: str
    left_out: tuple[float, str]
    notes: tuple[str, ...]


def _told(metric: Metric, stats: Stats) -> _Told:
    plain = Plain(stats.plain)
    counted = plain if stats.unweighted and stats.copies is None else Plain(stats.counted)
    value = metric.reduce(stats, plain)
    return _Told(
        value.tobytes(), metric.why(stats, plain), metric.left_out(stats, counted), metric.notes(stats, counted)
    )


def sums(stats: Stats, metrics: Sequence[Metric], stand_in: StandIn | None = None) -> SumStats:
    """The sums by unit that these metrics need. Raises NotSums where one needs more.

    `stand_in(key)` gives what stands for a ranking that is walked elsewhere, or None.
    """
    probe = _Probe(stats, stand_in)
    try:
        told = [_told(metric, probe) for metric in metrics]
    except AttributeError as error:
        if stand_in is None:
            raise
        raise NotSums(str(error)) from None  # asked a stand-in for events
    units = len(stats)
    made = {repr(key): value for key, value in probe._derived.items() if _by_unit(value, units)}
    columns = {name: np.ascontiguousarray(column) for name, column in probe.asked.items() if column.dtype != object}
    weight = None if stats.unweighted else stats.weight
    kept = SumStats(stats.units, columns, made, stats.facts, weight, stats.copies, stand_in)
    for metric, expected in zip(metrics, told, strict=True):
        try:
            same = _told(metric, kept) == expected
        except (NotSums, KeyError, AttributeError):
            same = False
        if not same:
            raise NotSums(str(metric))
    return kept


def are_sums(stats: Stats, part: Stats, metric: Metric, stand_in: StandIn | None = None) -> bool:
    """Whether a metric is a function of sums by unit. `part` are some of the units, measured by themselves."""
    place = {str(unit): i for i, unit in enumerate(stats.units.tolist())}
    index = np.array([place.get(str(unit), -1) for unit in part.units.tolist()], dtype=np.int64)
    if not len(index) or index.min() < 0 or (len(index) == len(stats) and stats.copies is None):
        return False
    try:
        whole, mine = sums(stats, [metric], stand_in), sums(part, [metric], stand_in)
    except NotSums:
        return False
    other = take_sums(whole, index)
    if mine.made.keys() != other.made.keys() or mine.columns.keys() != other.columns.keys():
        return False
    return all(_same(value, other.columns[name]) for name, value in mine.columns.items()) and all(
        _same(value, other.made[name]) for name, value in mine.made.items()
    )


def _same(a: Array | Entries | None, b: Array | Entries | None) -> bool:
    if isinstance(a, Entries) and isinstance(b, Entries):
        return a.size == b.size and _same(a.owner, b.owner) and _same(a.code, b.code) and _same(a.value, b.value)
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    return a is None and b is None


def _by_unit(value: Any, units: int) -> bool:
    if isinstance(value, Entries):
        return True
    return isinstance(value, np.ndarray) and value.ndim > 0 and len(value) == units and value.dtype != object


def join_sums(parts: Sequence[SumStats]) -> SumStats:
    """Sums of different units as one, in the order of their ids. The same kinds of units have their copies added."""
    first = parts[0]
    for part in parts[1:]:
        if part.facts != first.facts:
            raise InputError("sums of different classes or settings cannot be joined", remedy="Declare the classes.")
        if part.made.keys() != first.made.keys() or part.columns.keys() != first.columns.keys():
            raise InputError("sums that were made for different metrics cannot be joined")
    units = [part.units for part in parts if len(part)] or [first.units]
    if len({ids.dtype.kind for ids in units}) > 1:
        units = [as_object([str(value) for value in ids.tolist()]) for ids in units]
    together = np.concatenate(units)
    order = np.argsort(together, kind="stable")
    copies = None
    if first.copies is not None:
        ordered = together[order]
        starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(ordered) else order
        every = np.concatenate([part.copies for part in parts if part.copies is not None])
        copies = np.add.reduceat(every[order], starts) if len(starts) else every
        order = order[starts]
    weight = None
    if not all(part.unweighted for part in parts):
        weight = np.concatenate([part.weight for part in parts])[order]
    place = np.full(len(together), -1, dtype=np.int64)
    place[order] = np.arange(len(order))
    starts_of = np.cumsum([0] + [len(part) for part in parts])
    made: dict[str, Array | Entries] = {}
    for name, value in first.made.items():
        given = [part.made[name] for part in parts]
        if isinstance(value, Entries):
            made[name] = _join_entries([one for one in given if isinstance(one, Entries)], starts_of, place)
        else:
            made[name] = np.concatenate([one for one in given if not isinstance(one, Entries)])[order]
    columns = {name: np.concatenate([part.columns[name] for part in parts])[order] for name in first.columns}
    return SumStats(together[order], columns, made, first.facts, weight, copies)


def _join_entries(parts: Sequence[Entries], starts: Array, place: Array) -> Entries:
    owner = place[np.concatenate([part.owner + start for part, start in zip(parts, starts, strict=False)])]
    kept = np.flatnonzero(owner >= 0)
    order = kept[np.argsort(owner[kept], kind="stable")]
    code = np.concatenate([part.code for part in parts])
    value = None
    if any(part.value is not None for part in parts):
        ones = [np.ones(len(part.code)) if part.value is None else part.value for part in parts]
        value = np.concatenate(ones)[order]
    return Entries(owner[order], code[order], value, parts[0].size)


def take_sums(stats: SumStats, index: Array) -> SumStats:
    """The given units, in the given order."""
    place = np.full(len(stats), -1, dtype=np.int64)
    place[index] = np.arange(len(index))
    made: dict[str, Array | Entries] = {}
    for name, value in stats.made.items():
        made[name] = (
            _join_entries([value], np.zeros(1, np.int64), place) if isinstance(value, Entries) else value[index]
        )
    return SumStats(
        stats.units[index],
        {name: column[index] for name, column in stats.columns.items()},
        made,
        stats.facts,
        None if stats.unweighted else stats.weight[index],
        None if stats.copies is None else stats.copies[index],
    )


def pack_sums(stats: SumStats, prefix: str = "") -> tuple[dict[str, Any], dict[str, Array]]:
    """Facts and arrays of a container."""
    arrays: dict[str, Array] = {f"{prefix}units": stats.units}
    sizes = {}
    for name, column in stats.columns.items():
        arrays[f"{prefix}column.{name}"] = column
    for name, value in stats.made.items():
        if isinstance(value, Entries):
            sizes[name] = value.size
            arrays[f"{prefix}owner.{name}"], arrays[f"{prefix}code.{name}"] = value.owner, value.code
            if value.value is not None:
                arrays[f"{prefix}value.{name}"] = value.value
        else:
            arrays[f"{prefix}made.{name}"] = value
    if not stats.unweighted:
        arrays[f"{prefix}weight"] = stats.weight
    if stats.copies is not None:
        arrays[f"{prefix}copies"] = stats.copies
    return {"facts": stats.facts, "sizes": sizes}, arrays


def unpack_sums(facts: Mapping[str, Any], arrays: Mapping[str, Array], prefix: str = "") -> SumStats:
    """The sums that `pack_sums` took apart."""

    def under(part: str) -> dict[str, Array]:
        start = f"{prefix}{part}."
        return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}

    owner, code, value = under("owner"), under("code"), under("value")
    made: dict[str, Array | Entries] = dict(under("made"))
    for name, size in facts["sizes"].items():
        made[name] = Entries(owner[name], code[name], value.get(name), size)
    return SumStats(
        arrays[f"{prefix}units"], under("column"), made, facts["facts"],
        arrays.get(f"{prefix}weight"), arrays.get(f"{prefix}copies"),
    )  # fmt: skip
