"""Detections of all images by falling score: what average precision walks, here or where they are brought together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.core.by_class import Arrays, Ask, Elsewhere, Stream, Table, Totals, no_approximation
from steelyard.core.frozen import frozen
from steelyard.core.pairs import Array
from steelyard.core.stats import Stats
from steelyard.core.weights import EachUnit, Floats, Weights
from steelyard.metrics.ellipses.matched import hits, sides

KEY = "ranking"  # first in the key under which stats hold one; then the IoUs


@frozen
class Ranking:
    """Detections from the highest score to the lowest: their image, score, and whether they hit, one column an IoU.

    `truths` are how many each image has. A detection without a score makes the ranking undefined.
    """

    owner: Array
    score: Array
    found: tuple[Array, ...]
    truths: Array

    @staticmethod
    def of(owner: Array, score: Array, found: Sequence[Array], truths: Array) -> Ranking:
        """Sort; ties keep the order of images."""
        order = np.argsort(-score, kind="stable")
        return Ranking(
            np.ascontiguousarray(owner[order], dtype=np.int64),
            score[order],
            tuple(np.ascontiguousarray(column[order]) for column in found),
            truths,
        )

    def unscored(self) -> bool:
        """Whether a detection has no score."""
        return bool(np.isnan(self.score).any())

    def areas(self, weights: Weights, rule: int) -> Floats:
        """The mean over the IoUs of the area under each curve."""
        if self.unscored():
            return np.full(weights.rows, np.nan)
        if isinstance(weights, EachUnit):
            return self._alone(rule)
        closes = _closes(self.score)
        blocks = [
            np.mean(
                [_native.ranked_ap(np.ascontiguousarray(block), self.truths, self.owner, column, closes, rule)
                 for column in self.found],
                axis=0,
            )
            for block in weights.blocks()
        ]  # fmt: skip
        return np.concatenate(blocks)

    def _alone(self, rule: int) -> Floats:
        order = np.argsort(self.owner, kind="stable")
        owner = self.owner[order]
        closes = _closes(self.score[order])
        closes[:-1] |= owner[1:] != owner[:-1]
        each = [_native.ranked_ap_by_unit(self.truths, owner, column[order], closes, rule) for column in self.found]
        mean: Floats = np.mean(each, axis=0)
        return mean


def _closes(score: Array) -> Array:
    """1 where equal scores end."""
    closes = np.ones(len(score), dtype=np.uint8)
    closes[:-1] = score[1:] != score[:-1]
    return closes


def ranking(stats: Stats, ious: tuple[float, ...]) -> Ranking:
    """The ranking of all detections, with their hits at these IoUs."""

    def make() -> Ranking:
        score = stats.events["score"][stats.events["detected"]]
        columns = np.zeros((len(score), len(ious)), np.uint8) if np.isnan(score).any() else hits(stats, ious)
        return Ranking.of(sides(stats).detected_owner, score, tuple(columns.T), stats["truths"])

    return stats.derived((KEY, ious), make)


class _StandIn:
    """A ranking that is not here."""

    def __init__(self, source: Elsewhere, key: Any) -> None:
        self.source, self.key = source, key

    def areas(self, weights: Weights, rule: int) -> Floats:
        """As a ranking's."""
        return self.source.answer(Ask(self.key, "areas", (rule,)), weights, lambda rows: (np.zeros(rows),))[0]

    def unscored(self) -> bool:
        """As a ranking's."""
        return bool(self.source.answer(Ask(self.key, "unscored"), None, lambda _: (np.zeros(1),))[0][0])


class EllipsesByClass:
    """See `core.by_class.ByClass`. There is one class."""

    ranked = "detections"

    def stand_in(self, key: Any, facts: Mapping[str, Any], source: Elsewhere) -> Any:
        """One for a ranking."""
        return _StandIn(source, key) if isinstance(key, tuple) and key[:1] == (KEY,) else None

    def classes(self, key: Any, facts: Mapping[str, Any]) -> Sequence[int]:
        """One."""
        return (0,)

    def tables(self, stats: Stats, key: Any) -> Mapping[str, Table]:
        """Detections by falling score, and how many truths each image has."""
        found = ranking(stats, key[1])
        detections = {"unit": found.owner.astype(np.int32), "score": found.score}
        detections |= {f"hit{i}": column.astype(np.uint8) for i, column in enumerate(found.found)}
        images = {"unit": np.arange(len(stats), dtype=np.int32), "truths": found.truths}
        return {
            "detections": Table(np.array([0, len(found.owner)]), detections),
            "images": Table(np.array([0, len(stats)]), images),
        }

    def walked(
        self, key: Any, events: Mapping[str, dict[str, Array]], units: int
    ) -> Callable[[Ask, Weights | None], Arrays]:
        """Answers of all detections, put in the order of their images first, as ties are."""
        detections, images = events["detections"], events["images"]
        by_unit = np.argsort(detections["unit"], kind="stable")
        columns = [detections[f"hit{i}"][by_unit] for i in range(len(key[1]))]
        truths = np.bincount(images["unit"], weights=images["truths"], minlength=units)
        found = Ranking.of(detections["unit"][by_unit], detections["score"][by_unit], columns, truths)

        def answer(ask: Ask, weights: Weights | None) -> Arrays:
            if ask.what == "unscored":
                return (np.array([float(found.unscored())]),)
            if weights is None:
                raise ValueError("areas need weights")
            return (found.areas(weights, *ask.settings),)

        return answer

    def stream(self, ask: Ask, totals: Totals, units: int) -> Stream | None:
        """Not in parts: the ranking is held whole where it is walked."""
        return None

    def combined(self, ask: Ask, parts: Iterator[tuple[int, Arrays]]) -> Arrays:
        """The answer of the one class."""
        return next(parts)[1]

    def histograms(self, stats: Stats, asks: Sequence[Ask], bins: int) -> Mapping[str, Array]:
        """None."""
        raise no_approximation("the average precision of ellipses")

    def bounded(self, ask: Ask, counts: Mapping[str, Array], upper: bool) -> Arrays:
        """None."""
        raise no_approximation("the average precision of ellipses")


BY_CLASS = EllipsesByClass()
