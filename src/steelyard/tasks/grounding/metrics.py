"""Metrics of `grounding`: one box or point for each expression, and sets of boxes that may be empty.

Every metric is a function of sums over expressions. An expression without an answer is wrong in all of them.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, ClassVar, Literal

import numpy as np

from steelyard.core.counts import share_text
from steelyard.core.errors import InvalidSpec
from steelyard.core.metric import Between, Metric
from steelyard.core.spec import Range, render_value
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement, Sum
from steelyard.core.weights import Floats, ratio
from steelyard.tasks.grounding.overlap import Like, Overlap, Precision
from steelyard.tasks.grounding.sums import (
    LEAST_SCORE,
    Boxes,
    CentreSum,
    Expressions,
    HeadSum,
    HitSum,
    Matching,
    OverlapSum,
    Phrases,
    PointSum,
    RecallSum,
    SetSum,
    Several,
    low_note,
)

ALL, ANSWERED, TARGET, NONE, BOXED = (Expressions(of) for of in ("all", "answered", "target", "none", "boxed"))
Iou = Annotated[float, Between(0, 1, open_low=True)]
MOST = 32  # thresholds of a range


class MeanOfExpressions(Metric):
    """Base of metrics that are the mean over expressions of what each scores."""

    range = (0.0, 1.0)

    @abstractmethod
    def score_sum(self) -> Sum:
        """What is added up."""

    def requirements(self) -> tuple[Requirement, ...]:
        return self.score_sum(), ALL, ANSWERED

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(totals[self.score_sum()], totals[ALL])

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        """Expressions without an answer, which score 0."""
        silent, every = int((totals[ALL] - totals[ANSWERED])[0]), int(totals[ALL][0])
        if not silent:
            return ()
        scores = "scores" if silent == 1 else "score"
        return (f"{share_text(silent, every, 'expression', 'have')} no answer that can be read and {scores} 0.",)


class OfOne(MeanOfExpressions):
    """Base of metrics that compare one object with one."""

    of: Literal["each", "one"] = "each"
    several: Several = "first"

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(of="one"),)

    def requirements(self) -> tuple[Requirement, ...]:
        return self.score_sum(), Expressions(self.of), ALL, ANSWERED

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(totals[self.score_sum()], totals[Expressions(self.of)])

    def excluded(self, totals: TotalsView) -> tuple[float, str]:
        """Expressions that name several objects or none, where they are left out."""
        left = float((totals[ALL] - totals[Expressions(self.of)])[0])
        return left, "expressions that name several objects or none"


class Accuracy(OfOne):
    r"""Accuracy: the share of expressions whose box has at least this IoU with the true one.

    $\mathrm{Acc}@t = \frac{1}{N} \sum_i [\,\mathrm{IoU}(p_i, g_i) \ge t\,]$

    A range such as `acc@0.5:0.95` is the mean over its thresholds. `like` takes the rules of another tool: MDETR
    compares by generalised IoU, TransVG in single precision after cutting boxes to the image. `several=best` takes the
    box with the highest IoU where a reply names several, as lmms-eval does; otherwise the one with the highest score
    counts, or the first.

    Undefined when there is no expression.

    Pros:
    - What papers on RefCOCO report.

    Cons:
    - Just above and just below the threshold are worlds apart; tools disagree on boxes near it.
    """

    name = "acc"
    title = "Accuracy"
    at = "iou"
    aliases = ("accuracy", "precision@1")
    reference = "lmms-eval 75571cf, MDETR ea09acc, TransVG c862427"

    iou: float | Range = 0.5
    like: Like = ""
    overlap: Overlap = "iou"
    edge: Literal["closed", "open"] = "closed"
    clip: bool = False
    precision: Precision = "double"

    def check(self) -> None:
        values = self.iou.values if isinstance(self.iou, Range) else (self.iou,)
        if len(values) > MOST or not all(v in Between(0, 1, open_low=True) for v in values):
            raise InvalidSpec(
                f"metric 'acc': iou cannot be {render_value(self.iou)}",
                remedy=f"Give a number above 0 and at most 1, or a range of at most {MOST}: 0.5:0.95.",
            )
        if self.like and (self.overlap, self.clip, self.precision) != ("iou", False, "double"):
            raise InvalidSpec(
                f"metric 'acc': like={self.like} says how boxes are compared",
                remedy="Leave out overlap, clip and precision.",
            )

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return cls(of="one"), cls(of="one", iou=Range(0.5, 0.95)), cls(of="one", like="mdetr")

    @property
    def label(self) -> str:
        """Name the threshold, and what differs from the usual rule."""
        kind = "GIoU" if self.overlap == "giou" or self.like == "mdetr" else "IoU"
        parts = [f"Accuracy, {kind} {render_value(self.iou)}"]
        if self.like:
            parts.append(f"as {self.like}")
        if self.several == "best":
            parts.append("best of several boxes")
        return ", ".join(parts)

    def hit_sums(self) -> tuple[HitSum, ...]:
        """The hits at each threshold."""
        values = self.iou.values if isinstance(self.iou, Range) else (float(self.iou),)
        settings = (self.like, self.overlap, self.clip, self.precision, self.edge, self.several)
        return tuple(HitSum(value, *settings) for value in values)

    def score_sum(self) -> Sum:
        return self.hit_sums()[0]

    def requirements(self) -> tuple[Requirement, ...]:
        return *self.hit_sums(), Expressions(self.of), ALL, ANSWERED

    def reduce(self, totals: TotalsView) -> Floats:
        hits = np.mean([totals[hits][:, 0] for hits in self.hit_sums()], axis=0)
        return ratio(hits, totals[Expressions(self.of)])

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats] | None:
        if isinstance(self.iou, Range):
            return None
        return totals[self.hit_sums()[0]][:, 0], totals[Expressions(self.of)]

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        close = int(sum(totals[hits][0, 1] for hits in self.hit_sums()))
        every = int(totals[ALL][0])
        share = share_text(close, every, "expression", "are")
        near = (f"{share} within a millionth of a threshold: other tools may decide them otherwise.",) if close else ()
        return (*near, *super().notes(totals))


class MeanIou(OfOne):
    r"""Mean IoU: the IoU of the box with the true one, averaged over expressions.

    $\frac{1}{N} \sum_i \mathrm{IoU}(p_i, g_i)$

    Undefined when there is no expression.

    Pros:
    - No threshold: a better box always counts.

    Cons:
    - A loose box on the right object and a tight one on its neighbour may score alike.
    """

    name = "mean_iou"
    title = "Mean IoU"
    reference = "lmms-eval 75571cf"

    def score_sum(self) -> Sum:
        return OverlapSum(self.several)


class Share(MeanOfExpressions):
    """Base of those that are a share of expressions: each is right or wrong."""

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        return totals[self.score_sum()], totals[ALL]


class Centre(OfOne):
    r"""Centre accuracy: the share of expressions whose box has its centre in the true box, edges included.

    $\frac{1}{N} \sum_i [\,c(p_i) \in g_i\,]$

    Undefined when there is no expression.

    Pros:
    - What matters where the box is only a place to click.

    Cons:
    - Says nothing about the size of the box.
    """

    name = "centre"
    title = "Centre in the true box"
    aliases = ("center", "center_acc", "centre_accuracy")
    reference = "lmms-eval 75571cf"

    def score_sum(self) -> Sum:
        return CentreSum(self.several)

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        return totals[self.score_sum()], totals[Expressions(self.of)]


class OfTargets(Share):
    """Base of shares of the expressions that name something."""

    def requirements(self) -> tuple[Requirement, ...]:
        return self.score_sum(), ALL, ANSWERED, TARGET

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(*self.proportions(totals))

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        return totals[self.score_sum()], totals[TARGET]


class Pointing(OfTargets):
    r"""Pointing accuracy: of the expressions that name something, the share whose point lies in a true object.

    $\frac{1}{N} \sum_i [\,d(p_i, g_i) \le \mathrm{tolerance}\,]$

    The object is its mask where there is one, otherwise its box. The first point counts, or the one with the highest
    score. `tolerance` is in pixels around the object; 15 in the pointing game.

    Undefined when no expression names anything.

    Pros:
    - For models that point or click.

    Cons:
    - Large objects are easy to hit.
    """

    name = "pointing"
    title = "Point in the true object"
    aliases = ("pointing_game",)

    tolerance: Annotated[float, Between(0, 1e6)] = 0.0

    def score_sum(self) -> Sum:
        return PointSum(float(self.tolerance))


class Recall(OfTargets):
    r"""Recall at k: of the expressions that name something, the share of which one of the first k boxes is a hit.

    $\frac{1}{N} \sum_i [\,\exists j \le k, g \in G_i: \mathrm{IoU}(p_{ij}, g) \ge t\,]$

    Boxes are ranked by score, else as given. Where an expression names several objects, `boxes=any` takes a hit of any
    of them and `boxes=merged` compares with the box around all of them: papers on Flickr30k Entities use both, so there
    is no default. `recall@0` takes all boxes: the upper bound. `type=people` takes the phrases of one type; a
    phrase of type `vehicles/other` counts in both.

    Undefined when no expression names anything.

    Pros:
    - Shows whether the right box is among the candidates.

    Cons:
    - The two protocols differ by several points.
    """

    name = "recall"
    title = "Recall at k"
    at = "k"
    reference = "MDETR ea09acc"

    k: Annotated[int, Between(0, 100_000, whole=True)] = 1
    iou: Iou = 0.5
    boxes: Boxes = ""
    type: str = ""

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(boxes="any"),)

    @property
    def label(self) -> str:
        """Name k and the protocol."""
        name = f"Recall at {self.k}" if self.k else "Recall of all boxes"
        name += {"": "", "any": ", any box", "merged": ", merged boxes"}[self.boxes]
        return f"{name}, {self.type}" if self.type else name

    def score_sum(self) -> Sum:
        return RecallSum(self.k, float(self.iou), self.boxes, self.type)

    def requirements(self) -> tuple[Requirement, ...]:
        return *super().requirements(), *((Phrases(self.type),) if self.type else ())

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        return totals[self.score_sum()], totals[Phrases(self.type) if self.type else TARGET]

    def undefined_reason(self, totals: TotalsView) -> str:
        if self.type and totals[TARGET][0] > 0:
            return f"no expression that names something is of the type '{self.type}'"
        return super().undefined_reason(totals)


class Answered(Share):
    r"""Answered: the share of expressions with an answer that can be read, "nothing there" included.

    $\frac{1}{N} \sum_i [\,r_i \text{ is readable}\,]$

    Undefined when there is no expression.

    Pros:
    - Tells an instrument that does not answer from one that is wrong.

    Cons:
    - Says nothing about what is answered.
    """

    name = "answered"
    title = "Answered"

    def score_sum(self) -> Sum:
        return ANSWERED

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        return ()


class OfSets(MeanOfExpressions):
    """Base of metrics of sets of boxes: those with enough score, matched one to one."""

    column: ClassVar[int] = 0

    like: Literal["", "grec"] = ""
    iou: Iou = 0.5
    score: Annotated[float, Between(-1e300, 1e300)] = LEAST_SCORE
    overlap: Overlap = "iou"
    matching: Matching = "optimal"

    def check(self) -> None:
        if self.like and (self.iou, self.score, self.overlap, self.matching) != (0.5, LEAST_SCORE, "iou", "optimal"):
            raise InvalidSpec(
                f"metric '{self.name}': like={self.like} says how boxes are matched",
                remedy="Leave out iou, score, overlap and matching.",
            )

    @property
    def label(self) -> str:
        """Name the tool whose rules are used."""
        return f"{self.title}, as {self.like}" if self.like else self.title

    def score_sum(self) -> Sum:
        if self.like == "grec":
            return SetSum(0.5, 0.7, "giou", "greedy")
        return SetSum(float(self.iou), float(self.score), self.overlap, self.matching)

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(totals[self.score_sum()][:, self.column], totals[ALL])

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        sets = self.score_sum()
        if not isinstance(sets, SetSum) or sets not in self.requirements():
            return super().notes(totals)
        sums = totals[sets][0]
        return (*super().notes(totals), *low_note(sums[9], sums[3], sets.score))


class Matched(OfSets):
    """Base of those that match boxes, so that points have no place in them."""

    def requirements(self) -> tuple[Requirement, ...]:
        return *super().requirements(), BOXED


class ExactSet(Matched):
    r"""Exact sets: the share of expressions whose boxes match the true ones one to one, with none left over.

    $\frac{1}{N} \sum_i [\,\mathrm{F1}_i = 1\,]$

    None for none is right. Where boxes have scores, those below `score` are left out; without scores every box counts.
    `like=grec` has gRefCOCO's rules, its "Pr@(F1=1, IoU≥0.5)": score 0.7 or more, generalised IoU, greedy matching.

    Undefined when there is no expression.

    Pros:
    - Strict: an invented box counts as much as a missed one.

    Cons:
    - One box of ten that is wrong is as bad as ten.
    """

    name = "exact_set"
    title = "Exact sets of boxes"
    reference = "gRefCOCO 41a8f00"

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        return totals[self.score_sum()][:, 0], totals[ALL]


class SetF1(Matched):
    r"""Set F1: the F1 of the boxes of each expression, averaged over expressions.

    $\frac{1}{N} \sum_i \frac{2\,\mathrm{TP}_i}{2\,\mathrm{TP}_i + \mathrm{FP}_i + \mathrm{FN}_i}$

    None for none is 1, and an expression without an answer is 0.

    Undefined when there is no expression.

    Pros:
    - Half right counts half.

    Cons:
    - Expressions with few and with many objects weigh the same.
    """

    name = "set_f1"
    title = "F1 of sets of boxes"
    column = 1


class Presence(OfSets):
    """Base of accuracies of presence: of the expressions of one kind, the share whose answer says so."""

    kind: ClassVar[Expressions] = NONE
    head_column: ClassVar[int] = 0

    no_target: Literal["boxes", "head"] = "boxes"

    def requirements(self) -> tuple[Requirement, ...]:
        return HeadSum() if self.no_target == "head" else self.score_sum(), ALL, ANSWERED, self.kind

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(*self.proportions(totals))

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        if self.no_target == "head":
            return totals[HeadSum()][:, self.head_column], totals[self.kind]
        return totals[self.score_sum()][:, self.column], totals[self.kind]


class NoneAccuracy(Presence):
    r"""No-target accuracy: of the expressions that name nothing, the share answered with nothing.

    $\mathrm{N\text{-}acc} = \frac{\mathrm{TP}}{\mathrm{TP} + \mathrm{FN}}$

    A reply that cannot be read is not such an answer. With `no_target=head` the column `none` of the predictions
    decides, as ReLA's own output does.

    Undefined when every expression names something.

    Pros:
    - Shows whether a model knows when nothing is there.

    Cons:
    - A model that never answers with a box is perfect: read it beside t_acc.
    """

    name = "n_acc"
    title = "No-target accuracy"
    reference = "gRefCOCO 41a8f00"
    column = 5


class TargetAccuracy(Presence):
    r"""Target accuracy: of the expressions that name something, the share answered with a box.

    $\mathrm{T\text{-}acc} = \frac{\mathrm{TN}}{\mathrm{TN} + \mathrm{FP}}$

    Undefined when every expression names nothing.

    Pros:
    - The other half of n_acc.

    Cons:
    - Where the box lies does not count.
    """

    name = "t_acc"
    title = "Target accuracy"
    reference = "gRefCOCO 41a8f00"
    column = 6
    head_column = 1
    kind = TARGET


class CountExact(OfSets):
    r"""Exact count: the share of expressions with as many boxes as they name objects, none included.

    $\frac{1}{N} \sum_i [\,|P_i| = |G_i|\,]$

    Undefined when there is no expression.

    Pros:
    - Shows invented and forgotten objects at a glance.

    Cons:
    - Where the boxes lie does not count.
    """

    name = "count_exact"
    title = "Right number of boxes"
    column = 7

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        return totals[self.score_sum()][:, self.column], totals[ALL]


class CountError(OfSets):
    r"""Count error: by how many boxes the answer is off, averaged over expressions.

    $\frac{1}{N} \sum_i \big|\,|P_i| - |G_i|\,\big|$

    An expression without an answer has no boxes.

    Undefined when there is no expression.

    Pros:
    - In objects.

    Cons:
    - Expressions that name many objects dominate.
    """

    name = "count_mae"
    title = "Error of the number of boxes"
    better = "lower"
    range = (0.0, float("inf"))
    column = 8


class BoxRatio(Matched):
    """Base of precision, recall and F1 over the boxes of all expressions."""

    counted: ClassVar[tuple[int, ...]] = ()  # columns of the sums whose total is the denominator

    def reduce(self, totals: TotalsView) -> Floats:
        sums = totals[self.score_sum()]
        return ratio(len(self.counted) * sums[:, 2], sum(sums[:, column] for column in self.counted))


class BoxPrecision(BoxRatio):
    r"""Box precision: the share of found boxes that match a true one of their expression.

    $\frac{\mathrm{TP}}{\mathrm{TP} + \mathrm{FP}}$

    Undefined when no box is found.

    Pros:
    - Counts boxes, not expressions.

    Cons:
    - Expressions with many boxes dominate.
    """

    name = "box_precision"
    title = "Precision of boxes"
    counted = (3,)


class BoxRecall(BoxRatio):
    r"""Box recall: the share of true boxes that a found one of their expression matches.

    $\frac{\mathrm{TP}}{\mathrm{TP} + \mathrm{FN}}$

    Undefined when no expression names anything.

    Pros:
    - Counts boxes, not expressions.

    Cons:
    - Expressions with many boxes dominate.
    """

    name = "box_recall"
    title = "Recall of boxes"
    counted = (4,)


class BoxF1(BoxRatio):
    r"""Box F1: precision and recall of boxes over all expressions, in one number.

    $\frac{2\,\mathrm{TP}}{2\,\mathrm{TP} + \mathrm{FP} + \mathrm{FN}}$

    Undefined when neither side has a box.

    Pros:
    - Counts boxes, not expressions.

    Cons:
    - Expressions with many boxes dominate.
    """

    name = "box_f1"
    title = "F1 of boxes"
    counted = (3, 4)


METRICS = (
    Accuracy,
    MeanIou,
    Centre,
    Pointing,
    Recall,
    Answered,
    ExactSet,
    SetF1,
    NoneAccuracy,
    TargetAccuracy,
    CountExact,
    CountError,
    BoxPrecision,
    BoxRecall,
    BoxF1,
)
