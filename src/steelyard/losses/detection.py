"""The loss of a detector: the focal loss of its classes and a loss of its boxes, each with its weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from steelyard.core.errors import InvalidValue, ShapeMismatch
from steelyard.losses import boxes as box_losses
from steelyard.losses import focal
from steelyard.losses.arrays import Array, Namespace, check_choice, check_number, check_shape, namespace
from steelyard.losses.sums import divide, on_gpu, total

REDUCTIONS = ("sum", "mean", "positives")
BOX_LOSSES = ("smooth_l1", "huber")
BOX_TERMS = ("positives", "nonzero")

Levels = Array | Sequence[Array]


class DetectionLosses(NamedTuple):
    """The weighted sum, and the two losses that it is of, before their weights."""

    total: Array
    classes: Array
    boxes: Array


@dataclass(frozen=True)
class DetectionLoss:
    """The settings of a detector's loss; call it with arrays. `dataclasses.replace` gives one that differs.

    `alpha`, `gamma`, `constant_alpha` and `label_smoothing` are those of `focal_loss`, `delta` that of the box loss,
    which is "smooth_l1" or "huber". `box_terms` says which coordinates count: those of anchors that have a class
    ("positives"), or those whose target is not 0 ("nonzero"). `reduction` is "positives" (each sum over the number of
    positives + 1; the box loss is also divided by the number of coordinates), "mean" or "sum".
    """

    class_weight: float = 1.0
    box_weight: float = 1.0
    alpha: float = 0.25
    gamma: float = 1.5
    constant_alpha: bool = False
    label_smoothing: float = 0.0
    box_loss: str = "smooth_l1"
    delta: float = 1.0
    box_terms: str = "positives"
    reduction: str = "positives"

    def __post_init__(self) -> None:
        check_number("class_weight", self.class_weight, 0)
        check_number("box_weight", self.box_weight, 0)
        check_choice("box_loss", self.box_loss, BOX_LOSSES)
        check_choice("box_terms", self.box_terms, BOX_TERMS)
        check_choice("reduction", self.reduction, REDUCTIONS)
        self.__dict__["formulas"] = (
            focal.Focal.check_settings(self.alpha, self.gamma, self.constant_alpha, self.label_smoothing),
            box_losses.Quadratic.check_settings(self.delta, self.box_loss == "huber"),
        )

    def _formulas(self) -> tuple[focal.Focal, box_losses.Quadratic]:
        formulas: tuple[focal.Focal, box_losses.Quadratic] = self.__dict__["formulas"]
        return formulas

    def __call__(
        self,
        logits: Levels,
        boxes: Levels,
        class_targets: Levels,
        box_targets: Levels,
        *,
        ignore: Levels | None = None,
        weight_by_class: Array | None = None,
        positives: Array | float | None = None,
        anchors: int | None = None,
    ) -> DetectionLosses:
        """The loss of a batch: `logits` (..., classes), `boxes` (..., 4) and their targets, as in `detection_loss`."""
        levels = _levels(
            logits=logits, boxes=boxes, class_targets=class_targets, box_targets=box_targets, ignore=ignore
        )
        fused = on_gpu(levels[0][0]) if self.reduction != "mean" else None
        if fused is not None:
            class_formula, box_formula = self._formulas()
            settings = fused.Settings(
                class_formula, box_formula, self.class_weight, self.box_weight, self.box_terms == "nonzero",
                self.reduction,
            )  # fmt: skip
            tensors = [fused.Level(x, t, left_out, b, target) for x, b, t, target, left_out in levels]
            losses = fused.losses(
                settings, tensors, weight_by_class, positives,
                lambda: self._plain(_apart(levels, anchors), weight_by_class, positives), anchors,
            )  # fmt: skip
            if losses is not None:
                return DetectionLosses(*losses)
        return self._plain(_apart(levels, anchors), weight_by_class, positives)

    def _plain(
        self, levels: list[tuple[Any, ...]], weight_by_class: Array | None, positives: Array | float | None
    ) -> DetectionLosses:
        """The loss by the formulas, whatever the library."""
        class_formula, box_formula = self._formulas()
        class_sum: Any = 0
        box_sum: Any = 0
        positive_count: Any = 0
        class_count: Any = 0
        box_count: Any = 0
        for x, b, class_target, box_target, left_out in levels:
            xp, parts, readable = focal.prepare(x, class_target, weight_by_class, left_out)
            loss = total(xp, class_formula, x, parts)
            class_sum = class_sum + focal.unless_unknown(xp, loss, parts.labels, x.shape[-1], readable)
            anchors = tuple(x.shape[:-1])
            check_shape("boxes", b, ((*anchors, *b.shape[-1:]),), f"logits of the shape {tuple(x.shape)}")
            check_shape("box_targets", box_target, (tuple(b.shape),), f"boxes of the shape {tuple(b.shape)}")
            if left_out is not None:
                check_shape("ignore", left_out, (anchors,), f"logits of the shape {tuple(x.shape)}")
            if self.reduction == "positives" and positives is None:
                positive_count = positive_count + focal.sum_of_positives(xp, parts, None)
            if self.reduction == "mean":
                class_count = class_count + focal.count_elements(xp, x, parts)

            skipped = self._skipped_terms(xp, parts, box_target, left_out)
            xp, b, box_parts = box_losses.prepare(b, box_target, skipped)
            box_sum = box_sum + total(xp, box_formula, b, box_parts)
            if self.reduction == "mean":
                box_count = box_count + box_losses.count_elements(xp, b, box_parts)

        if self.reduction == "positives":
            if positives is not None:
                positive_count = positives if isinstance(positives, int | float) else xp.sum(positives)
            class_count, box_count = positive_count + 1, (positive_count + 1) * box_losses.coordinates(b)
        if self.reduction != "sum":
            class_sum, box_sum = divide(xp, class_sum, class_count), divide(xp, box_sum, box_count)
        return DetectionLosses(self.class_weight * class_sum + self.box_weight * box_sum, class_sum, box_sum)

    def _skipped_terms(self, xp: Namespace, parts: focal.Parts, box_target: Array, ignore: Array | None) -> Array:
        """Where the box loss has no term."""
        if self.box_terms == "nonzero":
            skipped = box_target == 0
            return skipped if ignore is None else skipped | ignore[..., None]
        targets: Any = parts.dense if parts.labels is None else parts.labels
        skipped = targets < 0 if parts.dense is None else ~xp.any(targets > 0, axis=-1)
        return skipped if ignore is None else skipped | ignore


effdet = DetectionLoss(box_weight=50.0, box_loss="huber", delta=0.1, box_terms="nonzero")
"""What EfficientDet is trained with, as effdet 0.4.1 computes it: focal with α = 0.25 and γ = 1.5, Huber with δ = 0.1
times 50 on the coordinates whose target is not 0, both over the number of positives + 1."""


def detection_loss(
    logits: Levels,
    boxes: Levels,
    class_targets: Levels,
    box_targets: Levels,
    *,
    class_weight: float = 1.0,
    box_weight: float = 1.0,
    alpha: float = 0.25,
    gamma: float = 1.5,
    constant_alpha: bool = False,
    label_smoothing: float = 0.0,
    box_loss: str = "smooth_l1",
    delta: float = 1.0,
    box_terms: str = "positives",
    reduction: str = "positives",
    ignore: Levels | None = None,
    weight_by_class: Array | None = None,
    positives: Array | float | None = None,
    anchors: int | None = None,
) -> DetectionLosses:
    """The loss of a detector: `class_weight` times the focal loss plus `box_weight` times the box loss.

    `logits` (..., classes) and `class_targets` are those of `focal_loss`; `boxes` and `box_targets` (..., coordinates)
    are what the regression predicts and should predict. Each may be a list with one array for each level of a feature
    pyramid. `ignore` (...) is true where an anchor does not count, in either loss. The settings are those of
    `DetectionLoss`; `effdet` is one with the settings of EfficientDet.

    With `anchors`, the number of anchors of a cell, `logits` and `boxes` are as convolutions leave them: (batch,
    anchors × numbers, height, width). Class targets are (batch, height, width, anchors), and box targets (batch,
    height, width, anchors × coordinates). No views are made for it on a GPU.

    Gives (total, classes, boxes): the sum, and the two losses before their weights.
    """
    loss = DetectionLoss(
        class_weight,
        box_weight,
        alpha,
        gamma,
        constant_alpha,
        label_smoothing,
        box_loss,
        delta,
        box_terms,
        reduction,
    )
    return loss(
        logits,
        boxes,
        class_targets,
        box_targets,
        ignore=ignore,
        weight_by_class=weight_by_class,
        positives=positives,
        anchors=anchors,
    )


def _check_planes(levels: list[tuple[Any, ...]], anchors: int) -> None:
    """Raise where planes are not those of so many anchors."""
    if isinstance(anchors, bool) or not isinstance(anchors, int) or anchors < 1:
        raise InvalidValue(f"anchors is {anchors!r}", remedy="It is how many anchors a cell has: 1 or more.")
    for x, b, _, box_target, _ in levels:
        for name, array, axis in (("logits", x, 1), ("boxes", b, 1), ("box_targets", box_target, 3)):
            if len(array.shape) != 4 or array.shape[axis] % anchors:
                raise ShapeMismatch(
                    f"{name} has the shape {tuple(array.shape)}, and a cell has {anchors} anchors",
                    remedy="With anchors, arrays are (batch, anchors × numbers, height, width), and box_targets "
                    "(batch, height, width, anchors × coordinates).",
                )


def _apart(levels: list[tuple[Any, ...]], anchors: int | None) -> list[tuple[Any, ...]]:
    """Reshape arrays to have an axis for the anchors of a cell, and the numbers of an anchor last."""
    if anchors is None:
        return levels
    _check_planes(levels, anchors)
    return [
        (_planes_apart(x, anchors), _planes_apart(b, anchors), t, _last_apart(target, anchors), left_out)
        for x, b, t, target, left_out in levels
    ]


def _planes_apart(array: Any, anchors: int) -> Any:
    xp, (batch, planes, height, width) = namespace(array=array), array.shape
    apart = xp.reshape(array, (batch, anchors, planes // anchors, height, width))
    return xp.permute_dims(apart, (0, 3, 4, 1, 2))


def _last_apart(array: Any, anchors: int) -> Any:
    return namespace(array=array).reshape(array, (*array.shape[:3], anchors, array.shape[3] // anchors))


def _levels(**arguments: Any) -> list[tuple[Any, ...]]:
    """The arguments level by level. None goes with every level."""
    first = arguments["logits"]
    number = len(first) if isinstance(first, list | tuple) else None
    if number == 0:
        raise ShapeMismatch("logits has no level", remedy="Give an array, or a list with one array for each level.")
    columns: list[Sequence[Any]] = []
    for name, value in arguments.items():
        listed = len(value) if isinstance(value, list | tuple) else None
        if value is not None and listed != number:
            here, there = (f"{n} levels" if n is not None else "one array" for n in (listed, number))
            raise ShapeMismatch(f"{name} is {here}", remedy=f"It must be {there}, as logits is.")
        columns.append(value if listed is not None else [value] * (number or 1))
    return list(zip(*columns, strict=True))
