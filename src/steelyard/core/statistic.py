"""Statistic: what a state must keep so that a metric can be computed later.

A statistic is a value: its fields are settings and its text names it in saved states. There are five kinds, one for
each kind of block, so that every path can plan by kind: sums, moments, cells, rankings and rows.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np

from steelyard.core.block import Block, CellsBlock, MomentsBlock, SumBlock
from steelyard.core.deprecated import Renamed, adopt_renamed
from steelyard.core.errors import InvalidResult
from steelyard.core.frozen import Frozen
from steelyard.core.metadata import Metadata
from steelyard.core.ranking import BlockReader, RankingBlock
from steelyard.core.spec import parse_spec, render_value
from steelyard.core.weights import Role

T = TypeVar("T")
_BY_NAME: dict[str, type[Statistic]] = {}


class SharedCache:
    """What several statistics of one measurement share, computed once. `statistics` are all that are measured."""

    needs = Renamed("statistics")

    def __init__(self, statistics: tuple[Statistic, ...] = ()) -> None:
        self.statistics = statistics
        self._made: dict[Hashable, Any] = {}

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives, made at the first call with this key."""
        if key not in self._made:
            self._made[key] = make()
        value: T = self._made[key]
        return value


class Statistic(Frozen, ABC):
    """Base of the statistics. `name` identifies it in saved states, and `version` rises when what is kept changes.

    `drawn` is false where remarks alone read it (notes, what was left out): the pass over draws then goes without it.
    Fields are settings; `metadata={"spec": NAME}` keeps a setting's saved name where its Python name changes, and
    `metadata={"added": True}` marks one that a later version added: at its default the text goes without it.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    drawn: ClassVar[bool] = True

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if "name" in cls.__dict__:
            other = _BY_NAME.get(cls.name, cls)
            if other.__module__ != cls.__module__:  # a module may define its own again, as a notebook does
                raise TypeError(f"a statistic '{cls.name}' is defined already: {other.__module__}.{other.__qualname__}")
            _BY_NAME[cls.name] = cls

    @abstractmethod
    def measure(self, pairs: Any, cache: SharedCache) -> Block:
        """Look at one unit at a time. `cache.once` shares a matching between statistics."""

    def earlier(self, stored: Iterable[Statistic]) -> tuple[Statistic, str] | None:
        """The statistic of an earlier version's state that stands in for this one, and a remark."""
        return None

    def __str__(self) -> str:
        parts = [
            f"{_saved_name(field)}={render_value(getattr(self, field.name))}"
            for field in dataclasses.fields(self)
            if not (field.metadata.get("added") and getattr(self, field.name) == field.default)
        ]
        return f"{self.name}/{self.version}" + (f"({', '.join(parts)})" if parts else "")

    @staticmethod
    def parse(text: str) -> Statistic:
        """The statistic that a text names. One of another version, or unknown, is an error."""
        call = parse_spec(text)
        name, _, version = call.name.partition("/")
        cls = _BY_NAME.get(name)
        if cls is None:
            raise InvalidResult(f"the state keeps '{text}', which this version does not know", remedy="Make it again.")
        if version != str(cls.version):
            raise InvalidResult(
                f"the state keeps '{name}' of version {version}, and this is version {cls.version}",
                remedy="Make it again with this version.",
            )
        fields = {_saved_name(field): field.name for field in dataclasses.fields(cls)}
        added = {_saved_name(field) for field in dataclasses.fields(cls) if field.metadata.get("added")}
        if not set(fields) - added <= set(call.settings) <= set(fields):
            raise InvalidResult(f"the state keeps '{text}', whose settings are not known here", remedy="Make it again.")
        return cls(**{fields[key]: value for key, value in call.settings.items()})


def _saved_name(field: dataclasses.Field[Any]) -> str:
    return str(field.metadata.get("spec", field.name))


class Sum(Statistic):
    """Values that add up: `measure` gives a SumBlock, and totals are (rows,) or (rows, k)."""

    @abstractmethod
    def measure(self, pairs: Any, cache: SharedCache) -> SumBlock:
        """The values of each unit."""


class Moments(Statistic):
    """Means and products of columns: `measure` gives a MomentsBlock, and totals are `Pooled`."""

    @abstractmethod
    def measure(self, pairs: Any, cache: SharedCache) -> MomentsBlock:
        """The moments of each unit."""


class Cells(Statistic):
    """Counts in cells over named axes: `measure` gives a CellsBlock, and totals are (rows, *axes).

    `distinct` says that each unit has one cell and that units of the same cell are duplicates in all that is measured:
    many of them may be stored once, with their number of copies. The first axis of such cells has two places: 1 is for
    units that are not grouped.
    """

    distinct: ClassVar[bool] = False

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        adopt_renamed(cls, Cells, {"kinds": "distinct"})

    @abstractmethod
    def measure(self, pairs: Any, cache: SharedCache) -> CellsBlock:
        """The entries of each unit."""


class Ranking(Statistic):
    """Events by group and falling score: `measure` gives a RankingBlock, which a `RankingReader` reads.

    `columns` are those of its events and of its positives, with what numpy calls the kind of their numbers; None where
    a ranking does not say.
    """

    @property
    def columns(self) -> tuple[Mapping[str, str], Mapping[str, str]] | None:
        """What a state that was saved must hold."""
        return None

    @abstractmethod
    def measure(self, pairs: Any, cache: SharedCache) -> RankingBlock:
        """The events of each unit."""


class Rows(Statistic):
    """Rows that are looked at across units: `measure` gives a RowsBlock, and totals are those of what it finishes to.

    `columns` names the columns of its rows: "text", or what numpy calls the kind of their numbers.
    """

    columns: ClassVar[Mapping[str, str]]

    @abstractmethod
    def finish(self, rows: Any) -> SumBlock:
        """The values of all units of a RowTable."""

    def bare(self, rows: Any) -> Any:
        """The units as seen by a slice that has none of their rows."""
        return rows.take(np.arange(len(rows.ids)))


class RankingReader(BlockReader):
    """A reading of a ranking, or of cells: a base for those that tasks define. Equal ones are read once for all."""

    ranking: Statistic

    def read_from(self, readings: Mapping[Any, Any], role: Role, metadata: Metadata) -> Any:
        """Take the value from other readings under these weights; None if it must be read itself."""
        return None

    def __str__(self) -> str:
        settings = (f"{field.name}={getattr(self, field.name)}" for field in dataclasses.fields(self))
        return f"{type(self).__name__}({', '.join(settings)})"


Requirement = Statistic | RankingReader  # what a metric may declare


def sum_by_unit(values: Any, owner: Any, units: int) -> SumBlock:
    """The sum of rows' values in each unit."""
    return SumBlock(np.bincount(owner, weights=values, minlength=units))
