"""The focal loss of logits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.core.errors import OutOfRange, ShapeMismatch, Unsupported
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
    extremes,
    indices,
    kind,
    namespace,
    readable,
    scalar,
    size,
)
from steelyard.losses.formula import FocalSettings
from steelyard.losses.sums import count, divide, each, on_gpu, total

IGNORED = -2
_SATURATED = 1e3  # stands for an infinite logit: exp(-1000) is 0 in both types, and nothing is infinite times 0


def focal_loss(
    logits: Array,
    targets: Array,
    *,
    alpha: float = 0.25,
    gamma: float = 1.5,
    constant_alpha: bool = False,
    label_smoothing: float = 0.0,
    weight_by_class: Array | None = None,
    ignore: Array | None = None,
    reduction: str = "mean",
    positives: Array | float | None = None,
) -> Array:
    """The focal loss: cross-entropy in which what is already right counts little.

    FL = −α_t (1 − p_t)^γ log p_t, with p_t = p and α_t = α where the target is 1, p_t = 1 − p and α_t = 1 − α where it
    is 0, and p the sigmoid of the logit. `constant_alpha` has α in both places.

    `logits` are (..., classes). `targets` are of the same shape with values from 0 to 1 (any between is a soft target),
    or integers of the shape (...): a class from 0 up, -1 for background, -2 for an anchor that does not count.
    `label_smoothing` moves the targets of the cross-entropy, not of the modulating factor, towards 1/2.
    `weight_by_class` has one factor per class. `ignore` is true where an anchor (...) or an element (..., classes) does
    not count. Gradients go to the logits alone. A class that does not exist is an error; where values cannot be
    looked at without waiting for a device or breaking a trace, it makes the loss nan.

    `reduction`: "none", "sum", "mean" (over the elements that count), or "positives": the sum over the number of
    positives + 1. `positives` is that number, or an array that adds up to it; without it the targets are counted.
    """
    check_choice("reduction", reduction, REDUCTIONS)
    formula = Focal.check_settings(alpha, gamma, constant_alpha, label_smoothing)

    def plain() -> Array:
        return _focal_loss(formula, logits, targets, weight_by_class, ignore, reduction, positives)

    fused = on_gpu(logits) if reduction != "none" else None
    if fused is None:
        return plain()
    level = fused.Level(logits, targets, ignore)
    wanted = fused.Settings(formula, reduction=reduction)
    losses = fused.losses(wanted, [level], weight_by_class, positives, lambda: (plain(), None, None))
    return plain() if losses is None else losses[0]


def _focal_loss(
    formula: Focal,
    logits: Array,
    targets: Array,
    weight_by_class: Array | None,
    ignore: Array | None,
    reduction: str,
    positives: Array | float | None,
) -> Array:
    """The loss by the formula, whatever the library."""
    xp, parts, readable_targets = prepare(logits, targets, weight_by_class, ignore)
    if reduction == "none":
        return unless_unknown(xp, each(xp, formula, logits, parts), parts.labels, logits.shape[-1], readable_targets)
    loss = total(xp, formula, logits, parts)
    loss = unless_unknown(xp, loss, parts.labels, logits.shape[-1], readable_targets)
    if reduction == "mean":
        return divide(xp, loss, count_elements(xp, logits, parts))
    if reduction == "positives":
        return divide(xp, loss, sum_of_positives(xp, parts, positives) + 1)
    return loss


@dataclass(frozen=True)
class Parts:
    """What goes with the logits: labels (...) or dense targets (..., classes), what counts, weights of the classes."""

    labels: Array | None
    dense: Array | None
    keep: Array | None
    classes: Array | None
    weight: Array | None

    def __getitem__(self, tile: tuple[Any, ...]) -> Parts:
        def cut(part: Array | None) -> Array | None:
            return None if part is None else part[tile]

        return Parts(cut(self.labels), cut(self.dense), cut(self.keep), self.classes, self.weight)


@dataclass(frozen=True)
class Focal(FocalSettings):
    """The formula, with e = exp(-|x|), so that nothing overflows and 1 - p is e / (1 + e), never 1 minus p.

    Every branch is analytic in x on its side of 0 and the two sides meet, so that automatic differentiation is right
    at 0 too.
    """

    @staticmethod
    def check_settings(alpha: float, gamma: float, constant_alpha: bool, label_smoothing: float) -> Focal:
        """The formula, or an error that names the setting."""
        check_number("alpha", alpha, 0, 1)
        check_number("gamma", gamma, 0)
        check_number("label_smoothing", label_smoothing, 0, 1)
        return Focal(float(alpha), float(gamma), bool(constant_alpha), float(label_smoothing))

    def value(self, xp: Namespace, x: Array, parts: Parts) -> Array:
        """The loss of each element."""
        return self._evaluate(xp, x, parts, slope=False)[0]

    def value_and_slope(self, xp: Namespace, x: Array, parts: Parts) -> tuple[Array, Array]:
        """The loss and its derivative."""
        return self._evaluate(xp, x, parts, slope=True)

    def native_sum(self, x: Array, parts: Parts, slope: Array | None, threads: int) -> float | None:
        """The sum over a NumPy array, and the derivative, into `slope`; None where native code does not serve them."""
        if parts.labels is None or parts.weight is not None or self.label_smoothing:
            return None
        labels = np.asarray(parts.labels)
        if parts.keep is not None:
            if parts.keep.ndim != labels.ndim:
                return None
            labels = np.where(np.asarray(parts.keep), labels, IGNORED)
        from steelyard.losses import host

        alphas = self.alpha, self.alpha if self.constant_alpha else 1 - self.alpha
        return host.focal_sum(x, labels, alphas, self.gamma, slope, threads)

    def _evaluate(self, xp: Namespace, x: Array, parts: Parts, slope: bool) -> tuple[Array, Any]:
        dtype = computing_type(xp, x)
        x = cast(xp, x, dtype)
        keep = parts.keep
        if keep is not None:  # what does not count may be anything, also nan
            keep = keep if keep.ndim == x.ndim else keep[..., None]
            x = xp.where(keep, x, scalar(xp, x, 0))
        endless = xp.isinf(x)
        x = xp.where(endless, xp.where(x > 0, scalar(xp, x, _SATURATED), scalar(xp, x, -_SATURATED)), x)
        if parts.dense is None or kind(xp, parts.dense) != "floating":
            target = _is_target(xp, parts)
            factor, entropy, derivative = self._hard(xp, x, target, slope)
        else:
            target = cast(xp, parts.dense, dtype)
            factor, entropy, derivative = self._soft(xp, x, target, slope)
        if parts.weight is not None:
            factor = factor * cast(xp, parts.weight, dtype)
        if keep is not None:
            factor = factor * cast(xp, keep, dtype)
        wrong = endless & (self._far(xp, x, target) > 0) & (factor > 0)
        value = xp.where(endless, xp.where(wrong, scalar(xp, x, np.inf), scalar(xp, x, 0)), factor * entropy)
        return value, factor * derivative if slope else None

    def _far(self, xp: Namespace, x: Array, target: Array) -> Array:
        """How much of the target lies on the other side of an infinite logit; without gamma, of the smoothed target."""
        t = cast(xp, target, x.dtype)
        if not self.gamma and self.label_smoothing:
            t = t * (1 - self.label_smoothing) + self.label_smoothing / 2
        return xp.where(x > 0, 1 - t, t)

    def _hard(self, xp: Namespace, x: Array, target: Array, slope: bool) -> tuple[Array, Array, Any]:
        """Targets true or false. Of z = -x where true, else x, the loss is α_t sigmoid(z)^γ softplus(z)."""
        half = self.label_smoothing / 2
        z = xp.where(target, -x, x)
        right = z >= 0
        e, large, small = _sigmoids(xp, z, right)
        q = xp.where(right, large, small)  # 1 - p_t
        entropy = xp.log1p(e) + xp.where(right, z, scalar(xp, z, 0))
        entropy = entropy - half * z if half else entropy
        factor = _power(xp, q, self.gamma)
        if self.constant_alpha:
            factor = factor * self.alpha
        else:
            factor = factor * xp.where(target, scalar(xp, x, self.alpha), scalar(xp, x, 1 - self.alpha))
        if not slope:
            return factor, entropy, None
        derivative = q - half if half else q
        if self.gamma:
            derivative = derivative + self.gamma * xp.where(right, small, large) * entropy
        return factor, entropy, xp.where(target, -derivative, derivative)

    def _soft(self, xp: Namespace, x: Array, t: Array, slope: bool) -> tuple[Array, Array, Any]:
        """Targets from 0 to 1. The modulating factor is of 1 - p_t = t (1 - p) + (1 - t) p."""
        smooth = t * (1 - self.label_smoothing) + self.label_smoothing / 2 if self.label_smoothing else t
        right = x >= 0
        e, large, small = _sigmoids(xp, x, right)
        p, not_p = xp.where(right, large, small), xp.where(right, small, large)
        q = t * not_p + (1 - t) * p
        entropy = xp.log1p(e) + xp.where(right, (1 - smooth) * x, -smooth * x)
        factor = _power(xp, q, self.gamma)
        factor = factor * (self.alpha if self.constant_alpha else (2 * self.alpha - 1) * t + (1 - self.alpha))
        if not slope:
            return factor, entropy, None
        derivative = (1 - smooth) * p - smooth * not_p
        if self.gamma:
            derivative = derivative + self.gamma * (1 - 2 * t) * (large * small / _above_zero(xp, q)) * entropy
        return factor, entropy, derivative


def _is_target(xp: Namespace, parts: Parts) -> Array:
    if parts.dense is not None:
        return cast(xp, parts.dense, xp.bool if hasattr(xp, "bool") else np.bool_)
    labels: Any = parts.labels
    return labels[..., None] == parts.classes


def _sigmoids(xp: Namespace, z: Array, right: Array) -> tuple[Array, Array, Array]:
    """exp(-|z|), and the sigmoid of |z| and of -|z|."""
    e = xp.exp(xp.where(right, -z, z))
    large = 1 / (1 + e)
    return e, large, e * large


def _above_zero(xp: Namespace, q: Array) -> Array:
    """Moves q away from 0 by what changes no other value, so that no derivative of a power is asked there."""
    return q + float(xp.finfo(q.dtype).smallest_normal)


def _power(xp: Namespace, q: Array, gamma: float) -> Array:
    if gamma == 0:
        return xp.ones_like(q)
    if gamma == 1:
        return q
    if gamma == 2:
        return q * q
    q = _above_zero(xp, q)
    return q * xp.sqrt(q) if gamma == 1.5 else q**gamma


def prepare(
    logits: Array, targets: Array, weight_by_class: Array | None, ignore: Array | None
) -> tuple[Namespace, Parts, bool]:
    """Check the arrays; give their namespace, the formula's parts, and whether all labels are known to exist."""
    xp = namespace(logits=logits, targets=targets, weight_by_class=weight_by_class, ignore=ignore)
    check_floating(xp, "logits", logits)
    shape = tuple(logits.shape)
    if not shape:
        raise ShapeMismatch("logits has no axis", remedy="Give logits of the shape (..., classes).")
    of = f"logits of the shape {shape}"
    check_shape("targets", targets, (shape, shape[:-1]), of)
    has_labels = len(targets.shape) < len(shape)
    target_kind = kind(xp, targets)
    if target_kind == "other" or (has_labels and target_kind != "integer"):
        wanted = "integers (the class, -1 background, -2 ignored), to go without the axis of classes"
        remedy = f"targets must be {wanted if has_labels else 'numbers from 0 to 1 or booleans'}."
        raise ShapeMismatch(f"targets has the type {targets.dtype}", remedy=remedy)
    if getattr(targets, "requires_grad", False):
        raise Unsupported("targets requires a gradient", remedy="Gradients go to logits alone: detach targets.")
    if weight_by_class is not None:
        check_floating(xp, "weight_by_class", weight_by_class)
        check_shape("weight_by_class", weight_by_class, (shape[-1:],), of)
    keep = None
    if ignore is not None:
        check_mask(xp, "ignore", ignore, (shape, shape[:-1]), of)
        keep = ~ignore
    checked = readable(xp, targets)
    ignoring = has_labels
    if checked and size(targets) and target_kind != "bool":
        ignoring = _check_values(xp, targets, shape[-1], has_labels)
    if ignoring:
        counts = targets != IGNORED
        keep = counts if keep is None else (counts if keep.ndim == counts.ndim else counts[..., None]) & keep
    if not has_labels:
        return xp, Parts(None, targets, keep, None, weight_by_class), True
    return xp, Parts(targets, None, keep, indices(xp, logits, shape[-1]), weight_by_class), checked


def _check_values(xp: Namespace, targets: Array, classes: int, has_labels: bool) -> bool:
    """Check the values that may be looked at; tell whether an anchor is marked as not counting."""
    low, high = extremes(xp, targets)
    first, last = (IGNORED, classes - 1) if has_labels else (0, 1)
    if not (first <= low and high <= last):
        meaning = f"a class from 0 to {last}, -1 for background or -2" if has_labels else "from 0 to 1"
        raise OutOfRange(f"targets has the value {high if first <= low else low:g}", remedy=f"It must be {meaning}.")
    return has_labels and low == IGNORED


def unless_unknown(xp: Namespace, loss: Array, labels: Array | None, classes: int, readable_targets: bool) -> Array:
    """The loss; nan where a label does not exist and that could not be an error."""
    if labels is None or readable_targets:
        return loss
    wrong = (labels >= classes) | (labels < IGNORED)
    wrong = wrong[..., None] if loss.ndim else xp.any(wrong)
    return xp.where(wrong, xp.full_like(loss, float("nan")), loss)


def count_elements(xp: Namespace, logits: Array, parts: Parts) -> Any:
    """How many elements count."""
    if parts.keep is None:
        return size(logits)
    return count(xp, parts.keep) * (1 if parts.keep.ndim == logits.ndim else logits.shape[-1])


def sum_of_positives(xp: Namespace, parts: Parts, positives: Array | float | None) -> Any:
    """The number of positives: as given, or else anchors with a class, or the sum of dense targets, that count."""
    if positives is not None:
        return positives if isinstance(positives, int | float) else xp.sum(positives)
    if parts.labels is not None:
        positive = parts.labels >= 0
        if parts.keep is not None and parts.keep.ndim > positive.ndim:
            positive = positive & xp.any(parts.keep, axis=-1)
        elif parts.keep is not None:
            positive = positive & parts.keep
        return count(xp, positive)
    dense = cast(xp, parts.dense, computing_type(xp, parts.dense))
    if parts.keep is not None:
        keep = parts.keep if parts.keep.ndim == dense.ndim else parts.keep[..., None]
        dense = xp.where(keep, dense, xp.zeros_like(dense))
    return xp.sum(dense)
