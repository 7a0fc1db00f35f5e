"""Label maps from what a network gives: a class for each pixel, or scores of classes in channels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.counts import count_text
from steelyard.core.errors import Conflict, InvalidFile, InvalidNumber, ShapeMismatch, UnknownName
from steelyard.core.frozen import Frozen

Array = NDArray[Any]


def shape_text(array: Array) -> str:
    """The shape of an array in words."""
    return "×".join(map(str, array.shape))


class ScoreRules(Frozen):
    """How scores become classes.

    `channels` is how many channels the declared classes need, None where no class is declared, and `most` how many are
    allowed, None where there is no limit. `threshold` is the score from which a pixel is of class 1, for predictions of
    one channel. `colours`: classes are colours, which no channel has.
    """

    channels: int | None = None
    most: int | None = None
    threshold: float | None = None
    colours: bool = False

    @property
    def note(self) -> str:
        """What a report says of the threshold; empty where there is none."""
        if self.threshold is None:
            return ""
        return f"Predictions are one channel of scores: a pixel is of class 1 from a score of {self.threshold:g}."

    def truth(self, array: Array, where: str) -> Array:
        """A true map without its channel axis of 1; a truth is never made from scores."""
        grid = _one_channel(array, where)
        if grid.ndim == 3:
            raise ShapeMismatch(
                f"a true map of shape {shape_text(grid)}",
                where=where,
                remedy="Give the class of each pixel: height × width.",
            )
        return grid

    def prediction(self, array: Array, where: str) -> Array:
        """A predicted map: classes as they are, or the class with the highest score, the first of equals."""
        grid = _one_channel(array, where)
        if grid.ndim == 3:
            return self._best(grid, where)
        if self.threshold is not None:
            return self._above(grid, where)
        if grid.ndim == 2 and grid.dtype.kind == "f" and grid.size and not _are_whole(grid):
            _refuse_infinite(grid, where)
            wrong = grid[grid != np.floor(grid)]
            raise UnknownName(
                f"value {wrong[0]:g} is not a class ({wrong.size:,} pixels)",
                where=where,
                remedy="Labels are whole numbers. For one channel of scores set the option `threshold`: 0.5 for "
                "probabilities, 0 for logits.",
            )
        return grid

    def check_channels(self, count: int, where: str) -> None:
        """Refuse predictions with several channels that the options do not allow."""
        if self.threshold is not None:
            raise Conflict(
                f"{count_text(count, 'channel')} of scores, and the option `threshold` is for one",
                where=where,
                remedy="Leave threshold out: the class with the highest score is taken.",
            )
        if count < (self.channels or 0) or count > (self.most or count):
            raise ShapeMismatch(
                f"{count_text(count, 'channel')} of scores, and the classes need {self.channels}",
                where=where,
                remedy="Give one channel per class: classes × height × width.",
            )

    def _best(self, grid: Array, where: str) -> Array:
        if self.colours:
            raise ShapeMismatch(
                f"an array of shape {shape_text(grid)}, and the classes are colours",
                where=where,
                remedy="Give each pixel one number, red + 256 green + 65536 blue.",
            )
        if not grid.size:
            raise InvalidFile("has no pixel", where=where, remedy="Give scores: classes × height × width.")
        last = grid.shape[2]
        if self.channels is None and last < min(grid.shape[:2]) and grid.shape[0] > 4 * last:
            raise ShapeMismatch(
                f"scores of shape {shape_text(grid)}",
                where=where,
                remedy=f"Classes come first: {last}×{grid.shape[0]}×{grid.shape[1]}.",
            )
        if grid.dtype.kind != "f" and not (grid.dtype.kind in "biu" and _is_one_hot(grid)):
            raise ShapeMismatch(
                f"{grid.shape[0]} channels of {grid.dtype} that are not one-hot",
                where=where,
                remedy="Give labels (height × width), or scores as floating-point numbers.",
            )
        self.check_channels(grid.shape[0], where)
        if grid.dtype.kind == "f":
            _refuse_infinite(grid, where)
        best: Array = grid.argmax(axis=0)
        return best

    def _above(self, grid: Array, where: str) -> Array:
        if grid.dtype.kind != "f":
            raise Conflict(
                f"the predictions are labels ({grid.dtype}), and the option `threshold` is for scores",
                where=where,
                remedy="Leave threshold out, or give scores as floating-point numbers.",
            )
        self.check_threshold(where)
        _refuse_infinite(grid, where)
        return np.asarray(grid >= self.threshold).astype(np.uint8)

    def check_threshold(self, where: str) -> None:
        """Refuse a threshold where more than two classes are declared."""
        if self.channels is not None and self.channels > 2:
            raise ShapeMismatch(
                f"one channel of scores, and the classes need {self.channels}",
                where=where,
                remedy="A threshold makes two classes, 0 and 1.",
            )


def _one_channel(array: Array, where: str) -> Array:
    grid = array[0] if array.ndim == 3 and array.shape[0] == 1 else array
    if grid.ndim not in (2, 3):
        raise ShapeMismatch(f"a map of shape {shape_text(array)}", where=where, remedy="Give height × width.")
    return grid


def _are_whole(grid: Array) -> bool:
    return bool((grid == np.floor(grid)).all())


def _is_one_hot(grid: Array) -> bool:
    return bool(((grid == 0) | (grid == 1)).all() and (grid.astype(bool).sum(axis=0) == 1).all())


def _refuse_infinite(grid: Array, where: str) -> None:
    wrong = ~np.isfinite(grid)
    if wrong.any():
        pixels = int((wrong.any(axis=0) if grid.ndim == 3 else wrong).sum())
        raise InvalidNumber(
            f"{count_text(pixels, 'pixel', 'have')} a score that is not finite (nan or inf)",
            where=where,
            remedy="Every score must be a finite number.",
        )
