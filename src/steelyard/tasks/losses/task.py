"""Task `losses`: what a detector was trained with, as numbers of a report, image by image.

Conventions
    The unit is the image: images are independent, the anchors of one image are not.
    A row of class has `target` in the truth, 0 or 1 or between, and `logit` in the predictions: one row for each anchor
    and class. A row of box has `value` on both sides: one row for each coordinate that is to be learned. Where a row is
    of one kind only, the cell of the other is empty. `item` names a row inside its image.
    `ignore` (truth, optional) is true where a row does not count.
    The losses are those of `steelyard.losses`, in float64. Over many images the "+ 1" by which training guards against
    a batch without positives is left out: `per=positive` divides by the positives there are.

Metrics
    `focal`, `smooth_l1`, `huber`, and `detection`, their weighted sum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np

from steelyard.align.join import join_rows
from steelyard.core.block import SumBlock
from steelyard.core.errors import InvalidValue, MissingColumn, Unsupported
from steelyard.core.metric import Between, Metric
from steelyard.core.options import Options
from steelyard.core.pairs import Array, Pairs
from steelyard.core.records import LARGEST, Column, Records, Schema, weight_column
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement, SharedCache, Sum, sum_by_unit
from steelyard.core.task import Policy, Task
from steelyard.core.weights import Floats, ratio
from steelyard.losses import focal_loss, huber_loss, smooth_l1_loss

BOX_LOSSES: dict[str, Callable[..., Array]] = {"smooth_l1": smooth_l1_loss, "huber": huber_loss}
SIDES = (("target", "logit"), ("value", "value"))  # a column of the truth, and the one of the predictions with it


def sides(pairs: Pairs, name: str, other: str) -> tuple[Array, Array]:
    """A column of the truth and the one of the predictions that goes with it; nan where a row has neither."""
    if name not in pairs.truth:
        rows = len(pairs.owner)
        return np.full(rows, np.nan), np.full(rows, np.nan)
    return pairs.truth_column(name), pairs.prediction_column(other, missing=np.nan)


def _counted_rows(pairs: Pairs, cache: SharedCache) -> Array:
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
        used = _counted_rows(pairs, cache) & ~np.isnan(truth)
        return pairs.owner[used], truth[used], prediction[used]

    return cache.once(("rows", name), make)


class LossRows(Sum):
    """A number of rows of each image: `classes`, `boxes` or `ignored` ones; `positives` is the sum of class targets."""

    name = "losses.rows"

    of: str

    def measure(self, pairs: Pairs, cache: SharedCache) -> SumBlock:
        units = len(pairs.units)
        if self.of == "ignored":
            return sum_by_unit((~_counted_rows(pairs, cache)).astype(float), pairs.owner, units)
        owner, truth, _ = _rows(pairs, cache, *SIDES[self.of == "boxes"])
        return sum_by_unit(truth if self.of == "positives" else np.ones(len(owner)), owner, units)


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


class BoxSum(Sum):
    """Losses of the coordinates of each image, added up: `smooth_l1` or `huber`."""

    name = "losses.box"

    of: str
    delta: float

    def measure(self, pairs: Pairs, cache: SharedCache) -> SumBlock:
        owner, truth, prediction = _rows(pairs, cache, *SIDES[1])
        each = BOX_LOSSES[self.of](prediction, truth, delta=self.delta, reduction="none")
        return sum_by_unit(each, owner, len(pairs.units))


INFINITY = float("inf")
CLASSES, POSITIVES, BOXES, IGNORED = map(LossRows, ("classes", "positives", "boxes", "ignored"))

TRUTH = Schema(
    key=("image", "item"),
    columns=(
        Column("image", "id", meaning="the image, which is the unit"),
        Column("item", "id", required=False, meaning="the row inside the image: an anchor and class, or a coordinate"),
        Column(
            "target",
            "number",
            required=False,
            minimum=0,
            maximum=1,
            empty=True,
            flags=True,
            meaning="class target, 0 to 1",
        ),
        Column(
            "value",
            "number",
            required=False,
            minimum=-LARGEST,
            maximum=LARGEST,
            empty=True,
            meaning="target of a coordinate",
        ),
        Column("ignore", "flag", required=False, meaning="true where the row does not count"),
        weight_column("image"),
    ),
)
PREDICTION = Schema(
    key=("image", "item"),
    columns=(
        Column("image", "id", meaning="as in the truth"),
        Column("item", "id", required=False, meaning="as in the truth"),
        Column("logit", "number", required=False, empty=True, meaning="predicted logit of the class"),
        Column(
            "value",
            "number",
            required=False,
            minimum=-LARGEST,
            maximum=LARGEST,
            empty=True,
            meaning="predicted coordinate",
        ),
    ),
)


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> Pairs:
    """Join rows by image and item. A loss has no worst value, so a missing row cannot be given one."""
    if policy.missing == "worst":
        raise Unsupported("missing='worst' is not supported: a loss has no upper bound", remedy="Choose error or skip.")
    if "target" not in truth and "value" not in truth:
        raise MissingColumn(
            "there is neither a column 'target' nor 'value'", where=truth.source, remedy="Give one of them, or both."
        )
    for name, other in SIDES:
        if name in truth and other not in prediction:
            raise MissingColumn(
                f"column '{other}' is missing, which column '{name}' of the truth goes with",
                where=prediction.source,
                remedy=f"Rename the column, or map it: `columns={{'prediction.{other}': 'YOUR_COLUMN'}}`.",
            )
    pairs = join_rows(truth, prediction, TRUTH.key, policy, weight="sample_weight", worst=False)
    for name, other in SIDES:
        _refuse_one_sided(pairs, name, other)
    return pairs


def _refuse_one_sided(pairs: Pairs, name: str, other: str) -> None:
    """Raise where a cell of one side is empty and the one that goes with it is not."""
    truth, prediction = sides(pairs, name, other)
    differs = np.flatnonzero(np.isnan(truth) != np.isnan(prediction))
    if len(differs):
        row = int(differs[0])
        here, there = "empty", "has a number"
        if np.isnan(prediction[row]):
            here, there = there, here
        raise InvalidValue(
            f"the cell {'is ' if here == 'empty' else ''}{here}, but '{other}' of the same row of the predictions "
            f"{'is ' if there == 'empty' else ''}{there}",
            where=pairs.truth.where(int(pairs.truth_row[row]), name),
            remedy="Both must have a number, or neither.",
        )


class _Loss(Metric):
    """What the losses share."""

    better = "lower"
    range = (0, INFINITY)

    def excluded(self, totals: TotalsView) -> tuple[float, str]:
        return float(totals[IGNORED][0]), "rows marked to be ignored"


class FocalLoss(_Loss):
    r"""Focal loss: cross-entropy in which what is already right counts little.

    $\mathrm{FL} = -\sum_i w_i\,\alpha_{t,i}\,(1 - p_{t,i})^\gamma \log p_{t,i} \;/\; \sum_i w_i$

    p_t is the probability given to what is true: the sigmoid of the logit where the target is 1, one minus it where
    the target is 0. α_t is α for a positive and 1 − α for a negative; `constant_alpha` takes α for both.
    `per=positive` divides the sum by the number of positives, as training does, instead of by the number of rows.

    Undefined when no row has a class target (`per=positive`: when there is no positive).

    Pros:
    - Works where negatives outnumber positives a thousand to one.
    - What the model was trained with, so over-fitting shows as a difference between two data sets.

    Cons:
    - No scale of its own: it compares models with the same α and γ only.
    - Says little about ranking, which AP measures.
    """

    name = "focal"
    title = "Focal loss"
    aliases = ("focal loss",)
    reference = "effdet.loss.new_focal_loss"

    alpha: Annotated[float, Between(0, 1)] = 0.25
    gamma: Annotated[float, Between(0, 1e6)] = 1.5
    constant_alpha: bool = False
    label_smoothing: Annotated[float, Between(0, 1)] = 0.0
    per: Literal["row", "positive"] = "row"

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return cls(), cls(per="positive")

    @property
    def label(self) -> str:
        return self.title if self.per == "row" else f"{self.title} per positive"

    def losses(self) -> FocalSum:
        """The sum of losses."""
        return FocalSum(self.alpha, self.gamma, self.constant_alpha, self.label_smoothing)

    def requirements(self) -> tuple[Requirement, ...]:
        return self.losses(), CLASSES, POSITIVES, IGNORED

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(totals[self.losses()], totals[CLASSES if self.per == "row" else POSITIVES])

    def undefined_reason(self, totals: TotalsView) -> str:
        if totals[CLASSES][0] > 0:
            return "there is no positive"
        return "no row has a class target"


class _BoxLoss(_Loss):
    """What the two losses of numbers share."""

    delta: Annotated[float, Between(0, open_low=True)]

    def losses(self) -> BoxSum:
        """The sum of losses."""
        return BoxSum(self.name, self.delta)

    def requirements(self) -> tuple[Requirement, ...]:
        return self.losses(), BOXES, IGNORED

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(totals[self.losses()], totals[BOXES])


class SmoothL1Loss(_BoxLoss):
    r"""Smooth L1 loss: squared for small errors, absolute for large ones.

    $\mathrm{SL1} = \sum_i w_i\,c_i\,(|e_i| - c_i / 2) / \delta \;/\; \sum_i w_i$

    e is the prediction minus the target of a coordinate, and c the smaller of |e| and δ: the loss is e² / (2δ) where
    |e| < δ, else |e| − δ / 2. Its slope is 1 for large errors.

    Undefined when no row has a value.

    Pros:
    - One wild coordinate cannot dominate, as it can in squared error.

    Cons:
    - In the units that the regression is coded in, not in pixels.
    """

    name = "smooth_l1"
    title = "Smooth L1 loss"
    reference = "effdet.loss.smooth_l1_loss"

    delta: float = 1.0


class HuberLoss(_BoxLoss):
    r"""Huber loss: δ times smooth L1.

    $\mathrm{Huber} = \sum_i w_i\,c_i\,(|e_i| - c_i / 2) \;/\; \sum_i w_i$

    e is the prediction minus the target of a coordinate, and c the smaller of |e| and δ: the loss is e² / 2 where
    |e| < δ, else δ (|e| − δ / 2). Its slope is δ for large errors.

    Undefined when no row has a value.

    Pros:
    - Near 0 it is half the squared error, whatever δ is.

    Cons:
    - Its scale depends on δ; smooth L1's slope does not.
    """

    name = "huber"
    title = "Huber loss"
    reference = "effdet.loss.huber_loss"

    delta: float = 1.0


class DetectionLossMetric(_Loss):
    r"""Detection loss: the weighted sum of the focal loss and of the box loss.

    $L = w_c \sum \mathrm{FL} / n_{\mathrm{positives}} + w_b \sum \ell / n_{\mathrm{coordinates}}$

    w_c is `class_weight` and w_b is `box_weight`. The focal loss FL is per positive, the box loss ℓ ("smooth_l1" or
    "huber") per coordinate. `detection(box_weight=50.0, box_loss=huber, delta=0.1)` is what EfficientDet is
    trained with, but for the 1 that training adds to the number of positives.

    Undefined when there is no positive, or no row has a value.

    Pros:
    - One number for what training minimises.

    Cons:
    - The two parts have different scales, and their weights are a choice: look at each by itself too.
    """

    name = "detection"
    title = "Detection loss"
    aliases = ("loss",)
    reference = "effdet.loss.loss_fn"

    class_weight: Annotated[float, Between(0, 1e12)] = 1.0
    box_weight: Annotated[float, Between(0, 1e12)] = 1.0
    alpha: Annotated[float, Between(0, 1)] = 0.25
    gamma: Annotated[float, Between(0, 1e6)] = 1.5
    constant_alpha: bool = False
    label_smoothing: Annotated[float, Between(0, 1)] = 0.0
    box_loss: Literal["smooth_l1", "huber"] = "smooth_l1"
    delta: Annotated[float, Between(0, open_low=True)] = 1.0

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return cls(), cls(box_weight=50.0, box_loss="huber", delta=0.1)

    def losses(self) -> tuple[FocalSum, BoxSum]:
        """The sums of both losses."""
        return (
            FocalSum(self.alpha, self.gamma, self.constant_alpha, self.label_smoothing),
            BoxSum(self.box_loss, self.delta),
        )

    def requirements(self) -> tuple[Requirement, ...]:
        return *self.losses(), POSITIVES, BOXES, IGNORED

    def reduce(self, totals: TotalsView) -> Floats:
        focal, box = self.losses()
        classes, boxes = ratio(totals[focal], totals[POSITIVES]), ratio(totals[box], totals[BOXES])
        return self.class_weight * classes + self.box_weight * boxes

    def undefined_reason(self, totals: TotalsView) -> str:
        return "no row has a value" if not totals[BOXES][0] > 0 else "there is no positive"


TASK = Task(
    name="losses",
    title="Losses of a detector, image by image",
    unit="image",
    item="row",
    truth=TRUTH,
    prediction=PREDICTION,
    join=join,
    metrics=(FocalLoss, SmoothL1Loss, HuberLoss, DetectionLossMetric),
    defaults=("focal", "focal(per=positive)", "smooth_l1", "huber", "detection"),
    checks="steelyard.tasks.losses.checks",
    worst=False,
)
