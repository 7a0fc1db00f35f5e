"""Rankings that are walked class by class, elsewhere: what is asked of them, and who answers.

A metric of a ranking (average precision, ROC AUC) needs every event of a class in one order, but no class needs
another. So the events go to workers by class, and what a metric sees instead of the ranking is a stand-in that asks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from steelyard.core.errors import InputError
from steelyard.core.frozen import frozen
from steelyard.core.stats import Array, Stats
from steelyard.core.weights import Floats, Plain, Role, Weights

Arrays = tuple[Array, ...]


@frozen
class Ask:
    """A question about the ranking that `Stats.derived` has under `key`, such as ("figures", (100, "coco"))."""

    key: Any
    what: str
    settings: tuple[Any, ...] = ()


def kind_of(weights: Weights | None) -> str:
    """Under which weights something is asked: "plain", "left out" (the jackknife) or "draws"."""
    if weights is None or isinstance(weights, Plain):
        return "plain"
    return "left out" if weights.role is Role.JACKKNIFE else "draws"


class Elsewhere(ABC):
    """Answers what stand-ins ask."""

    @abstractmethod
    def answer(self, ask: Ask, weights: Weights | None, shape: Callable[[int], Arrays]) -> Arrays:
        """The answer; `shape(rows)` gives arrays of its shape, with nothing in them."""


class Recorder(Elsewhere):
    """Writes down what is asked."""

    def __init__(self) -> None:
        self.asked: dict[tuple[Ask, str], None] = {}

    def answer(self, ask: Ask, weights: Weights | None, shape: Callable[[int], Arrays]) -> Arrays:
        """Nothing, in the right shape."""
        self.asked[ask, kind_of(weights)] = None
        return shape(1 if weights is None else weights.rows)


class Answered(Elsewhere):
    """Knows the answers."""

    def __init__(self, found: Mapping[tuple[Ask, str], Arrays]) -> None:
        self.found = found

    def answer(self, ask: Ask, weights: Weights | None, shape: Callable[[int], Arrays]) -> Arrays:
        """What was found."""
        return self.found[ask, kind_of(weights)]


class Rows(Weights):
    """Weights that are at hand as one block."""

    role = Role.DRAWS

    def __init__(self, block: Floats) -> None:
        self.block = block
        self.rows, self.units = block.shape

    def blocks(self) -> Iterator[Floats]:
        """Give it."""
        yield self.block


@frozen
class Table:
    """Events by class: those of class k go from `begin[k]` to `begin[k + 1]`. The column "unit" is the event's unit."""

    begin: Array
    columns: Mapping[str, Array]


class Totals(Protocol):
    """Of one class, in all files: what must be known before its ranking is walked."""

    def has(self, table: str, column: str) -> bool:
        """Whether a table has a column."""

    def rows(self, table: str) -> int:
        """How many events a table has."""

    def sum(self, table: str, column: str) -> int:
        """The sum of a column of whole numbers."""


class Stream(Protocol):
    """An answer for one class under plain weights, from its ranking in parts: from the highest score to the lowest."""

    def feed(self, part: Mapping[str, Array]) -> None:
        """The next events, in their order; all of an equal score come in one part."""

    def result(self) -> Arrays:
        """What `walked` would answer."""


class ByClass(Protocol):
    """What a task must know so that its rankings can be walked class by class, elsewhere."""

    ranked: str  # the table that is a ranking

    def stand_in(self, key: Any, facts: Mapping[str, Any], source: Elsewhere) -> Any:
        """What stands for the ranking that has this key; None where the key is none of a ranking."""

    def classes(self, key: Any, facts: Mapping[str, Any]) -> Sequence[int]:
        """The classes that a ranking has."""

    def tables(self, stats: Stats, key: Any) -> Mapping[str, Table]:
        """The events of a part of the units; those of the ranked table by falling score inside a class."""

    def walked(
        self, key: Any, events: Mapping[str, dict[str, Array]], units: int
    ) -> Callable[[Ask, Weights | None], Arrays]:
        """Answers for one class, of all its events. The columns are the callee's to put in order."""

    def stream(self, ask: Ask, totals: Totals, units: int) -> Stream | None:
        """The same in parts, where a class is larger than the memory; None where that cannot be."""

    def combined(self, ask: Ask, parts: Iterator[tuple[int, Arrays]]) -> Arrays:
        """The answer for all classes, from those of each in their order."""

    def histograms(self, stats: Stats, asks: Sequence[Ask], bins: int) -> Mapping[str, Array]:
        """Counts by bin of scores of a part of the units: they add up over parts."""

    def bounded(self, ask: Ask, counts: Mapping[str, Array], upper: bool) -> Arrays:
        """The lowest or the highest answer that the histograms of all units allow."""


def no_approximation(what: str) -> InputError:
    """What a metric says that a histogram cannot bound."""
    return InputError(f"{what} has no approximate form", remedy="Leave the metric out, or the approximate mode.")
