"""Formula: a loss of each element of an array, and the tiles that an array is evaluated in.

Values are written so that automatic differentiation of them is right everywhere; the slope is the same derivative in
closed form, for eager PyTorch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from steelyard.losses.arrays import DEVICE_TILE, HOST_TILE, Array, Namespace, Tile, tiles


class Formula(Protocol):
    """A loss of each element of a prediction `x`, and its derivative with respect to `x`.

    `parts` is what else the loss depends on; `parts[tile]` is what goes with `x[tile]`.
    """

    def value(self, xp: Namespace, x: Array, parts: Any) -> Array:
        """The loss of each element."""

    def value_and_slope(self, xp: Namespace, x: Array, parts: Any) -> tuple[Array, Array]:
        """The loss and its derivative, sharing what they have in common."""

    def native_sum(self, x: Array, parts: Any, slope: Array | None, threads: int) -> float | None:
        """The sum over a NumPy array, and the derivative, into `slope`; None where native code does not serve them."""


@dataclass(frozen=True)
class FocalSettings:
    """The settings of the focal loss; `focal.Focal` is its formula."""

    alpha: float
    gamma: float
    constant_alpha: bool
    label_smoothing: float


@dataclass(frozen=True)
class QuadraticSettings:
    """The settings of smooth L1 and Huber's loss; `boxes.Quadratic` is their formula."""

    delta: float
    huber: bool


def tiles_of(x: Array) -> list[Tile]:
    """The tiles that an array is evaluated in."""
    on_host = isinstance(x, np.ndarray) or x.device.type == "cpu"
    return list(tiles(tuple(x.shape), HOST_TILE if on_host else DEVICE_TILE))
