"""The rankings of labels, one a class, walked where their rows are brought together. Each is its own only class."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.core.by_class import Arrays, Ask, Elsewhere, Stream, Table, Totals, no_approximation
from steelyard.core.histogram import Histogram, binned
from steelyard.core.stats import Array, Stats
from steelyard.core.weights import Floats, Plain, Weights
from steelyard.metrics.labels.ranked import POOLED, Ranking
from steelyard.metrics.labels.scores import class_scores, is_class


class _StandIn:
    """A ranking that is not here."""

    def __init__(self, source: Elsewhere, key: Any) -> None:
        self.source, self.key = source, key

    def walk(self, weights: Weights, kind: int, limit: float = 0.0) -> Floats:
        """As a ranking's."""
        return self.source.answer(Ask(self.key, "walk", (kind, limit)), weights, lambda rows: (np.zeros(rows),))[0]

    def thresholds(self, weights: Weights, kind: int) -> Floats:
        """As a ranking's."""
        return self.source.answer(Ask(self.key, "thresholds", (kind,)), weights, lambda rows: (np.zeros(rows),))[0]


class _Walk:
    """One value of a ranking that comes in parts."""

    def __init__(self, walk: Any) -> None:
        self.walk = walk

    def feed(self, part: Mapping[str, Array]) -> None:
        self.walk.feed(part["score"], part["positive"])

    def result(self) -> Arrays:
        return (np.array([self.walk.result()]),)


def _side_by_side(columns: Sequence[Array]) -> Array:
    """Row by row, the classes of each in their order."""
    return np.stack(columns, axis=1).ravel()


class LabelsByClass:
    """See `core.by_class.ByClass`."""

    ranked = "rows"

    def stand_in(self, key: Any, facts: Mapping[str, Any], source: Elsewhere) -> Any:
        """One for the ranking of a class, of two classes' rows, or of all classes' scores in one."""
        mine = key == POOLED or (isinstance(key, tuple) and key and key[0] in ("ranking", "between"))
        return _StandIn(source, key) if mine else None

    def classes(self, key: Any, facts: Mapping[str, Any]) -> Sequence[int]:
        """One: the ranking's own."""
        return (0,)

    def tables(self, stats: Stats, key: Any) -> Mapping[str, Table]:
        """Rows with the score of the class, and whether they are of it; the highest score first."""
        places = range(len(stats.facts["classes"])) if key == POOLED else (key[1],)
        columns: dict[str, Array] = {
            "unit": np.repeat(stats.owner.astype(np.int32), len(places)),
            "score": _side_by_side([np.asarray(class_scores(stats, place), dtype=np.float64) for place in places]),
            "positive": _side_by_side([is_class(stats, place) for place in places]),
        }
        if "weight" in stats.events:
            columns["weight"] = np.repeat(np.asarray(stats.events["weight"], dtype=np.float64), len(places))
        if key[0] == "between":
            kept = np.isin(stats.events["truth"], key[1:])
            columns = {name: column[kept] for name, column in columns.items()}
        order = np.argsort(-columns["score"], kind="stable")
        return {"rows": Table(np.array([0, len(order)]), {name: column[order] for name, column in columns.items()})}

    def walked(
        self, key: Any, events: Mapping[str, dict[str, Array]], units: int
    ) -> Callable[[Ask, Weights | None], Arrays]:
        """Answers of one ranking, its rows in the order of their units."""
        rows = events["rows"]
        by_unit = np.argsort(rows["unit"], kind="stable")
        unit = rows["unit"][by_unit].astype(np.int64)
        scores = np.ascontiguousarray(rows["score"][by_unit])
        order, last, marked = _native.rank_order(scores, np.ascontiguousarray(rows["positive"][by_unit]))
        weighted = "weight" in rows
        value = np.ascontiguousarray(rows["weight"][by_unit][order]) if weighted else np.zeros(0)
        ranking = Ranking(scores, order, marked, last, value, unit, not weighted)

        def answer(ask: Ask, weights: Weights | None) -> Arrays:
            if weights is None or isinstance(weights, Plain):
                weights = Plain(np.ones(units), whole=True)
            if ask.what == "walk":
                return (ranking.walk(weights, *ask.settings),)
            return (ranking.thresholds(weights, *ask.settings),)

        return answer

    def stream(self, ask: Ask, totals: Totals, units: int) -> Stream | None:
        """Answers of one ranking, its rows in parts; rows with weights of their own are walked whole."""
        if totals.has("rows", "weight"):
            return None
        positives = totals.sum("rows", "positive")
        kind, limit = (*ask.settings, 0.0)[:2]
        return _Walk(_native.LabelStream(kind, limit, positives, totals.rows("rows") - positives))

    def combined(self, ask: Ask, parts: Iterator[tuple[int, Arrays]]) -> Arrays:
        """The answer of the one ranking."""
        return next(parts)[1]

    def histograms(self, stats: Stats, asks: Sequence[Ask], bins: int) -> Mapping[str, Array]:
        """Rows of the class and others, by bin."""
        if "weight" in stats.events:
            raise no_approximation("a ranking of weighted rows")
        found: dict[str, Array] = {}
        for key in dict.fromkeys(ask.key for ask in asks):
            rows = self.tables(stats, key)["rows"].columns
            place = 2 * binned(rows["score"], bins) + (rows["positive"] == 0)
            found[repr(key)] = np.bincount(place, minlength=2 * bins).reshape(bins, 2)
        return found

    def bounded(self, ask: Ask, counts: Mapping[str, Array], upper: bool) -> Arrays:
        """The ends of the average precision and of the ROC AUC."""
        bins = counts[repr(ask.key)]
        histogram = Histogram(bins[:, 0], bins[:, 1], float(bins[:, 0].sum()))
        if ask.what != "walk" or ask.settings[0] not in (0, 1):
            raise no_approximation("what is sought along a ranking (a best threshold, a rate)")
        ends = histogram.average_precision("step") if ask.settings[0] == 0 else histogram.roc_auc()
        return (np.array([ends[int(upper)]]),)


BY_CLASS = LabelsByClass()
