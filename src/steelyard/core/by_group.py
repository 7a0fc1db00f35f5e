"""Rankings that are read group by group: by workers, from disk, in parts.

Average precision needs every event of a class in one order, but no class needs another. So a curve may say how it reads
one group and how the groups' answers become its own. Then events go to workers by group, and the state holds what they
answered instead of the ranking.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from steelyard.core.block import Block
from steelyard.core.errors import InputError, Unsupported
from steelyard.core.frozen import Frozen
from steelyard.core.metadata import Metadata
from steelyard.core.ranking import BlockReader, RankingBlock
from steelyard.core.statistic import RankingReader
from steelyard.core.units import Array
from steelyard.core.weights import Role, Weights

Arrays = tuple[Array, ...]


class GroupSizes(Protocol):
    """What must be known of a group, in all files, before its events are walked in parts."""

    def rows(self, table: str) -> int:
        """How many rows the table "event" or "positive" has."""

    def sum(self, table: str, column: str) -> int:
        """The sum of a column of whole numbers."""


class Stream(Protocol):
    """A reading of one group under weights of 1, from its events in parts: from the highest score to the lowest."""

    def feed(self, part: Mapping[str, Array]) -> None:
        """The next events, in their order; all of an equal score come in one part."""

    def result(self) -> Arrays:
        """What `read_group` would give."""


class GroupCurve(RankingReader):
    """A curve that is read group by group; where `pooled`, all groups are taken for one.

    `join` makes of the answers of all groups, in their order, what `read` gives of the whole ranking, to the bit.
    """

    pooled: ClassVar[bool] = False
    drawn: ClassVar[bool] = True  # false where notes alone read it

    @property
    def approximate(self) -> bool:
        """Whether histograms bound it."""
        return False

    def groups(self, metadata: Metadata) -> Sequence[int] | None:
        """The groups that are read; None is all of them."""
        return None

    @abstractmethod
    def read_group(self, block: RankingBlock, weights: Weights) -> Arrays:
        """The answer for a block of one group."""

    @abstractmethod
    def join(self, parts: Iterator[Arrays]) -> Any:
        """What `read` gives, from the answers of the groups."""

    def stream(self, sizes: GroupSizes, units: int) -> Stream | None:
        """The answer under weights of 1 from parts, where a group is larger than the memory; None where it cannot."""
        return None

    def histogram(self, block: RankingBlock, bins: int) -> dict[str, Array]:
        """Counts by bin of scores, which add up over parts of the units."""
        raise no_approximation(f"'{self.ranking.name}'")

    def bound_reading(self, counts: Mapping[str, Array], metadata: Metadata, upper: bool) -> Any:
        """The lowest or the highest reading that the histograms of all units allow."""
        raise no_approximation(f"'{self.ranking.name}'")


class AnsweredBlock(Frozen, Block):
    """Stands for a ranking that lies elsewhere: what its curves read, by curve and role of the weights."""

    answers: Mapping[tuple[Any, Role], Any]

    kind: ClassVar[str] = "answered"

    @property
    def by_unit(self) -> bool:
        """Whether it was read for each unit alone."""
        return any(role is Role.UNITS for _, role in self.answers)

    @property
    def resampled(self) -> bool:
        return any(role is Role.DRAWS for _, role in self.answers)

    def read(self, reading: BlockReader, weights: Weights, metadata: Metadata) -> Any:
        role = Role.POINT if weights.role is Role.COUNT else weights.role
        if role is Role.DRAWS and not self.resampled:
            raise Unsupported("of so many pairs there are no draws", remedy="Give fewer, or a list of some of them.")
        return self.answers[reading, role]

    def take(self, index: Array, units: int) -> AnsweredBlock:
        """Not here."""
        raise TypeError("the ranking lies elsewhere")

    @staticmethod
    def stack(parts: Sequence[Any], sizes: Sequence[int]) -> Any:
        """Not here."""
        raise TypeError("the ranking lies elsewhere")

    def total(self, weights: Weights, metadata: Metadata) -> Any:
        raise TypeError("a ranking is read by a curve")

    def pack(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Not here."""
        raise TypeError("the ranking lies elsewhere")

    @classmethod
    def unpack(cls, facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> AnsweredBlock:
        """Not here."""
        raise TypeError("the ranking lies elsewhere")


def no_approximation(what: str) -> InputError:
    """What a metric says that a histogram cannot bound."""
    return Unsupported(f"{what} has no approximate form", remedy="Leave the metric out, or the approximate mode.")
