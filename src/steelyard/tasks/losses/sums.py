"""Sums by image: what the losses of a detector are made of."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from steelyard.core.block import SumBlock
from steelyard.core.frozen import frozen
from steelyard.core.pairs import Array, Pairs
from steelyard.core.statistic import SharedCache, Sum, sum_by_unit
from steelyard.losses import focal_loss, huber_loss, smooth_l1_loss

BOX_LOSSES: dict[str, Callable[..., Array]] = {"smooth_l1": smooth_l1_loss, "huber": huber_loss}
SIDES = (("target", "logit"), ("value", "value"))  # a column of the truth, and the one of the predictions with it


def sides(pairs: Pairs, name: str, other: str) -> tuple[Array, Array]:
    """A column of the truth and the one of the predictions that goes with it; nan where a row has neither."""
    if name not in pairs.truth:
        rows = len(pairs.owner)
        return np.full(rows, np.nan), np.full(rows, np.nan)
    return pairs.truth_column(name), pairs.prediction_column(other, missing=np.nan)


def _counted(pairs: Pairs, cache: SharedCache) -> Array:
    """Which rows count: those that are not marked to be ignored."""

    def make() -> Array:
        if "ignore" not in pairs.truth:
            return np.ones(len(pairs.owner), dtype=bool)
        return ~pairs.truth_column("ignore").astype(bool)

    return cache.once("counted", make)


def _rows(pairs: Pairs, cache: SharedCache, name: str, other: str) -> tuple[Array, Array, Array]:
    """Owner, true and predicted number of the rows of a kind that count."""

    def make() -> tuple[Array, Array, Array]:
        truth, prediction = sides(pairs, name, other)
        kept = _counted(pairs, cache) & ~np.isnan(truth)
        return pairs.owner[kept], truth[kept], prediction[kept]

    return cache.once(("rows", name), make)


@frozen
class LossRows(Sum):
    """A number of rows of each image: `classes`, `boxes` or `ignored` ones; `positives` is the sum of class targets."""

    name = "losses.rows"

    of: str

    def measure(self, pairs: Pairs, cache: SharedCache) -> SumBlock:
        units = len(pairs.units)
        if self.of == "ignored":
            return sum_by_unit((~_counted(pairs, cache)).astype(float), pairs.owner, units)
        owner, truth, _ = _rows(pairs, cache, *SIDES[self.of == "boxes"])
        return sum_by_unit(truth if self.of == "positives" else np.ones(len(owner)), owner, units)


@frozen
class FocalSum(Sum):
    """Focal losses of the class rows of each image, added up."""

    name = "losses.focal"

    alpha: float
    gamma: float
    constant_alpha: bool
    label_smoothing: float

    def measure(self, pairs: Pairs, cache: SharedCache) -> SumBlock:
        owner, target, logit = _rows(pairs, cache, *SIDES[0])
        each = focal_loss(
            logit,
            target,
            alpha=self.alpha,
            gamma=self.gamma,
            constant_alpha=self.constant_alpha,
            label_smoothing=self.label_smoothing,
            reduction="none",
        )
        return sum_by_unit(each, owner, len(pairs.units))


@frozen
class BoxSum(Sum):
    """Losses of the coordinates of each image, added up: `smooth_l1` or `huber`."""

    name = "losses.box"

    of: str
    delta: float

    def measure(self, pairs: Pairs, cache: SharedCache) -> SumBlock:
        owner, truth, prediction = _rows(pairs, cache, *SIDES[1])
        each = BOX_LOSSES[self.of](prediction, truth, delta=self.delta, reduction="none")
        return sum_by_unit(each, owner, len(pairs.units))
