"""The bridge for tasks that still measure into `Stats`: their metrics as metrics of a state."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from steelyard.core.block import Block
from steelyard.core.facts import Facts
from steelyard.core.frozen import frozen
from steelyard.core.metric import Metric
from steelyard.core.need import Need, Work
from steelyard.core.state import State
from steelyard.core.stats import Array, Stats
from steelyard.core.totals import Declared, Wanted
from steelyard.core.units import Units
from steelyard.core.weights import Floats, Weights


@frozen
class StatsBlock(Block):
    """A whole measurement as one block."""

    stats: Stats

    kind: ClassVar[str] = "stats"

    def take(self, index: Array, units: int) -> StatsBlock:
        """Some units."""
        return StatsBlock(self.stats.take(index))

    @staticmethod
    def stack(parts: Sequence[StatsBlock], sizes: Sequence[int]) -> StatsBlock:
        """Rows of all parts."""
        return StatsBlock(Stats.stack([part.stats for part in parts]))

    @staticmethod
    def unified(parts: Sequence[State]) -> list[State] | None:
        """States of stats with one list of classes."""
        return [state_of(stats) for stats in Stats.unified([stats_of(part) for part in parts])]

    def total(self, weights: Weights, facts: Facts) -> tuple[Stats, Weights]:
        """What a metric of stats takes."""
        return self.stats, weights

    def pack(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Not kept in files."""
        raise TypeError("stats are not saved")

    @classmethod
    def unpack(cls, facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> StatsBlock:
        """Not kept in files."""
        raise TypeError("stats are not saved")


@frozen
class StatsNeed(Need):
    """The whole measurement."""

    name = "stats"

    def measure(self, pairs: Any, work: Work) -> StatsBlock:
        """Made by the task's own `measure`."""
        raise TypeError("a task measures stats by itself")


STATS = StatsNeed()


class StatsUnits(Units):
    """The units of stats, which may be listed only when something asks for them."""

    def __init__(self, stats: Stats) -> None:
        self.__dict__["stats"] = stats

    @property
    def ids(self) -> Array:
        """Ids of the units."""
        ids: Array = self.__dict__["stats"].units
        return ids

    @property
    def weight(self) -> Array | None:
        """The user's own weights."""
        stats: Stats = self.__dict__["stats"]
        return None if stats.unweighted else stats.weight

    @property
    def copies(self) -> Array | None:
        """How many alike units a row stands for."""
        copies: Array | None = self.__dict__["stats"].copies
        return copies

    def __reduce__(self) -> tuple[Any, ...]:
        return (StatsUnits, (self.__dict__["stats"],))

    @property
    def unweighted(self) -> bool:
        """Whether all weigh 1."""
        return bool(self.__dict__["stats"].unweighted)

    @property
    def plain(self) -> Floats:
        """The weight of each row in the plain score."""
        plain: Floats = self.__dict__["stats"].plain
        return plain

    @property
    def count(self) -> int:
        """How many units have a weight."""
        return int(self.__dict__["stats"].unit_count)


def state_of(stats: Stats) -> State:
    """Stats as a state."""
    return State(StatsUnits(stats), Facts(flags=stats.facts), {STATS: StatsBlock(stats)})


def stats_of(state: State) -> Stats:
    """The stats of such a state."""
    block = state.blocks[STATS]
    if not isinstance(block, StatsBlock):
        raise TypeError("a state without stats")
    return block.stats


def is_legacy(state: State) -> bool:
    """Whether a state is one of stats."""
    return STATS in state.blocks


@frozen
class StatsMetric(Metric):
    """Base of the metrics that reduce stats under weights."""

    def needs(self) -> tuple[Wanted, ...]:
        """The whole measurement."""
        return (STATS,)

    @abstractmethod
    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """The value for each row of weights; nan where undefined."""

    def why(self, stats: Stats, weights: Weights) -> str:
        """The reason, where the value for plain weights is nan."""
        return self.undefined_reason()

    def left_out(self, stats: Stats, weights: Weights) -> tuple[float, str]:
        """How much the metric had to leave out, and what that is."""
        return 0, ""

    def notes(self, stats: Stats, weights: Weights) -> tuple[str, ...]:
        """What a reader must know to read the number rightly."""
        return ()

    def expand(self, stats: Stats) -> tuple[Metric, ...]:
        """The metrics that this one stands for, where they depend on the data: one for each class, say."""
        return (self,)

    def adapted(self) -> Metric:
        """The metric as one of totals."""
        return _Adapted(self)


@frozen
class _Adapted(Metric):
    """A metric of stats behind the methods of a metric of totals."""

    of: Any

    def needs(self) -> tuple[Wanted, ...]:
        """As the metric."""
        return (STATS,)

    def reduce(self, totals: Declared) -> Floats:
        """As the metric."""
        value: Floats = self.of.reduce(*totals[STATS])
        return value

    def why(self, totals: Declared) -> str:
        """As the metric."""
        return str(self.of.why(*totals[STATS]))

    def left_out(self, totals: Declared) -> tuple[float, str]:
        """As the metric."""
        found: tuple[float, str] = self.of.left_out(*totals[STATS])
        return found

    def notes(self, totals: Declared) -> tuple[str, ...]:
        """As the metric."""
        found: tuple[str, ...] = self.of.notes(*totals[STATS])
        return found
