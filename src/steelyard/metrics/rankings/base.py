"""What the metrics of rankings share: a value for each query, and its mean over queries."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal

import numpy as np

from steelyard import _native
from steelyard.core.errors import InputError
from steelyard.core.frozen import frozen
from steelyard.core.legacy import StatsMetric as Metric
from steelyard.core.metric import one_of, within_range
from steelyard.core.pairs import Array
from steelyard.core.spec import render_value
from steelyard.core.stats import Stats
from steelyard.core.weights import Floats, Weights, ratio

ALL = 2**62  # a cut behind every rank
_RANK = {"id": "rank", "input": "rank_input", "single": "rank_single"}


@frozen
class QueryMetric(Metric):
    """A metric that is a mean over queries.

    `empty` says what a query without a relevant document counts: nothing (`skip`), or 0 (`zero`, as trec_eval and ranx
    do). `ties` says how equal scores are told apart: by document id, the larger first (`id`), in the order of the input
    (`input`), or by id after rounding scores to single precision, as trec_eval holds them (`single`).
    """

    empty: Literal["skip", "zero"] = "skip"
    ties: Literal["id", "input", "single"] = "id"

    @abstractmethod
    def values(self, stats: Stats) -> Floats:
        """The value of each query; nan where it has none."""

    def check(self) -> None:
        """Check the settings that all of them have, and those that some have."""
        one_of(self, "empty", "skip", "zero")
        one_of(self, "ties", "id", "input", "single")
        k = getattr(self, "k", None)
        if k is not None and (isinstance(k, bool) or not isinstance(k, int) or not 1 <= k < ALL):
            raise InputError(
                f"metric '{self.name}': k cannot be {render_value(k)}", remedy="It must be a whole number from 1 up."
            )
        if hasattr(self, "level"):
            within_range(self, "level", 0, float("inf"))

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """The mean over the queries that have a value."""
        value = stats.per_unit(("value", self), lambda: np.nan_to_num(self._value(stats), nan=0.0))
        defined = stats.per_unit(("defined", self), lambda: (~np.isnan(self._value(stats))).astype(np.float64))
        return ratio(weights @ value, weights @ defined)

    def _value(self, stats: Stats) -> Floats:
        def make() -> Floats:
            values = self.values(stats)
            return np.nan_to_num(values, nan=0.0) if self.empty == "zero" else values

        return stats.per_unit(("each", self), make)

    def left_out(self, stats: Stats, weights: Weights) -> tuple[float, str]:
        """Queries without a value."""
        undefined = stats.per_unit(("undefined", self), lambda: np.isnan(self._value(stats)).astype(np.float64))
        return float((weights @ undefined)[0]), "queries without a relevant document"

    def notes(self, stats: Stats, weights: Weights) -> tuple[str, ...]:
        """Say what counts as 0, and whether ties decided anything."""
        missing, tied = float((weights @ stats["missing"])[0]), float((weights @ stats["tied"])[0])
        found = []
        if missing:
            found.append(f"{missing:g} queries are not in the run and count as 0.")
        if tied:
            rule = {"id": "document id, the larger first", "input": "the order of the input"}
            told = rule.get(self.ties, "document id, after rounding to single precision")
            found.append(f"In {tied:g} queries judged documents share their score with others; told apart by {told}.")
        return tuple(found)


def events(stats: Stats, ties: str) -> tuple[Array, Array, Array]:
    """Ranks and relevances as the native core takes them, and where each query begins."""

    def make() -> Array:
        return np.searchsorted(stats.owner, np.arange(len(stats) + 1)).astype(np.int64)

    return stats.events[_RANK[ties]], stats.events["relevance"], stats.per_unit("starts", make)


@frozen
class Hits:
    """What the first k documents of each query hold."""

    relevant: Floats
    hits: Floats
    precisions: Floats
    first: Floats


def hits(stats: Stats, ties: str, k: int | None, level: float) -> Hits:
    """Count hits among the first k; `precisions` is the sum of the precisions at them, `first` the first one's rank."""

    def make() -> Array:
        found: Array = _native.ranking_hits(*events(stats, ties), ALL if k is None else k, float(level))
        return found

    columns: Any = stats.per_unit(("hits", ties, k, level), make).T
    return Hits(*columns)


def over(numerator: Floats, denominator: Any, defined: Array) -> Floats:
    """Divide where defined; nan elsewhere."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(defined, numerator / denominator, np.nan)
