"""Losses of a predicted number against its target: smooth L1 and Huber, for the coordinates of boxes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from steelyard.core.errors import MissingKey
from steelyard.losses.arrays import (
    REDUCTIONS,
    Array,
    Namespace,
    cast,
    check_choice,
    check_floating,
    check_mask,
    check_number,
    check_shape,
    computing_type,
    namespace,
    size,
)
from steelyard.losses.formula import QuadraticSettings
from steelyard.losses.sums import count, divide, each, total


def smooth_l1_loss(
    prediction: Array,
    target: Array,
    *,
    delta: float = 1.0,
    ignore: Array | None = None,
    reduction: str = "mean",
    positives: Array | float | None = None,
) -> Array:
    """Smooth L1: squared near 0, absolute further out, with slope 1 there.

    It is e² / (2δ) where |e| < δ, else |e| − δ / 2, with e the prediction minus the target.

    `ignore` is true where a row (...) or an element of `prediction` (..., coordinates) does not count. `reduction`:
    "none", "sum", "mean" (over the elements that count), or "positives": the sum over (`positives` + 1) times the
    number of coordinates; `positives` is a number, or an array that adds up to it.
    """
    return _loss(prediction, target, delta, False, ignore, reduction, positives)


def huber_loss(
    prediction: Array,
    target: Array,
    *,
    delta: float = 1.0,
    ignore: Array | None = None,
    reduction: str = "mean",
    positives: Array | float | None = None,
) -> Array:
    """Huber's loss: squared near 0, absolute further out, with slope δ there. It is δ times smooth L1.

    It is e² / 2 where |e| < δ, else δ (|e| − δ / 2), with e the prediction minus the target.

    The arguments are those of `smooth_l1_loss`.
    """
    return _loss(prediction, target, delta, True, ignore, reduction, positives)


def _loss(
    prediction: Array,
    target: Array,
    delta: float,
    huber: bool,
    ignore: Array | None,
    reduction: str,
    positives: Array | float | None,
) -> Array:
    check_choice("reduction", reduction, REDUCTIONS)
    if reduction == "positives" and positives is None:
        raise MissingKey("positives is missing", remedy="Give their number, which reduction='positives' needs.")
    formula = Quadratic.check_settings(delta, huber)
    xp, prediction, parts = prepare(prediction, target, ignore)
    if reduction == "none":
        return each(xp, formula, prediction, parts)
    loss = total(xp, formula, prediction, parts)
    if reduction == "mean":
        return divide(xp, loss, count_elements(xp, prediction, parts))
    if reduction == "positives":
        number: Any = positives if isinstance(positives, int | float) else xp.sum(positives)
        return divide(xp, loss, (number + 1) * coordinates(prediction))
    return loss


@dataclass(frozen=True)
class Parts:
    """What goes with a prediction: its target, and what counts."""

    target: Array | None
    keep: Array | None

    def __getitem__(self, tile: tuple[Any, ...]) -> Parts:
        def cut(part: Array | None) -> Array | None:
            return None if part is None else part[tile]

        return Parts(cut(self.target), cut(self.keep))


@dataclass(frozen=True)
class Quadratic(QuadraticSettings):
    """The formula. With c = min(|e|, δ) both branches are c (|e| - c/2), over δ for smooth L1."""

    @staticmethod
    def check_settings(delta: float, huber: bool) -> Quadratic:
        """The formula, or an error that names the setting."""
        check_number("delta", delta, 0, open_low=True)
        return Quadratic(float(delta), huber)

    def value(self, xp: Namespace, x: Array, parts: Parts) -> Array:
        """The loss of each element."""
        return self._value(xp, self._error(xp, x, parts))

    def value_and_slope(self, xp: Namespace, x: Array, parts: Parts) -> tuple[Array, Array]:
        """The loss and its derivative."""
        error = self._error(xp, x, parts)
        return self._value(xp, error), self._slope(xp, error)

    def native_sum(self, x: Array, parts: Parts, slope: Array | None, threads: int) -> float | None:
        """None: boxes are few."""
        return None

    def _error(self, xp: Namespace, x: Array, parts: Parts) -> Array:
        dtype = computing_type(xp, x)
        error = cast(xp, x, dtype)
        if parts.target is not None:
            error = error - cast(xp, parts.target, dtype)
        if parts.keep is None:
            return error
        keep = parts.keep if parts.keep.ndim == error.ndim else parts.keep[..., None]
        return xp.where(keep, error, xp.zeros_like(error))

    def _value(self, xp: Namespace, error: Array) -> Array:
        size = xp.abs(error)
        near = xp.where(size < self.delta, size, xp.full_like(size, self.delta))
        loss = near * (size - near / 2)
        return loss if self.huber else loss / self.delta

    def _slope(self, xp: Namespace, error: Array) -> Array:
        edge = xp.full_like(error, self.delta)
        slope = xp.where(error > edge, edge, xp.where(error < -edge, -edge, error))
        return slope if self.huber else slope / self.delta


def prepare(prediction: Array, target: Array, ignore: Array | None) -> tuple[Namespace, Array, Parts]:
    """Check the arrays; give their namespace, the prediction and the formula's parts."""
    xp = namespace(prediction=prediction, target=target, ignore=ignore)
    check_floating(xp, "prediction", prediction)
    check_floating(xp, "target", target)
    shape = tuple(prediction.shape)
    of = f"a prediction of the shape {shape}"
    check_shape("target", target, (shape,), of)
    if ignore is not None:
        check_mask(xp, "ignore", ignore, (shape, shape[:-1]), of)
    keep = None if ignore is None else ~ignore
    if getattr(target, "requires_grad", False):  # both sides learn: the difference carries it to both
        return xp, prediction - target, Parts(None, keep)
    return xp, prediction, Parts(target, keep)


def count_elements(xp: Namespace, prediction: Array, parts: Parts) -> Any:
    """How many elements count."""
    if parts.keep is None:
        return size(prediction)
    return count(xp, parts.keep) * (1 if parts.keep.ndim == prediction.ndim else prediction.shape[-1])


def coordinates(prediction: Array) -> int:
    """How many numbers a row has."""
    return int(prediction.shape[-1]) if prediction.ndim else 1
