"""The metrics of overlap: IoU, Dice, accuracy, precision and recall of pixels, by data set or image by image."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from steelyard.core.errors import InvalidSpec, MissingData
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Metric
from steelyard.core.statistic import Cells, Requirement
from steelyard.core.weights import Floats, ratio
from steelyard.tasks.segmentation.counts import HIT, TRUE, ClassPixels, GroupPixels, ImageScore
from steelyard.tasks.segmentation.overlap import MeanOfClasses, OneClass, Overlap


class Iou(OneClass):
    r"""IoU by class: what truth and prediction have in common of all that either has.

    $\mathrm{IoU}_c = \frac{TP_c}{TP_c + FP_c + FN_c}$

    Pixels of all images are added first. There is one number for each class; `iou(label=road)` is one of them.

    Undefined when neither side has a pixel of the class.

    Pros:
    - Says which classes are good and which are not.

    Cons:
    - A class of few or small objects rests on few pixels.
    """

    name: ClassVar[str] = "iou"
    title: ClassVar[str] = "IoU"
    reference: ClassVar[str] = "mmsegmentation IoUMetric, hotcoco SemanticEval"


class Dice(OneClass):
    r"""Dice by class: twice what both sides have in common, of what they have together.

    $\mathrm{Dice}_c = \frac{2\,TP_c}{2\,TP_c + FP_c + FN_c}$

    It is the F1 of pixels and rises with IoU. `dice(label=road)` is that of one class.

    Undefined when neither side has a pixel of the class.

    Pros:
    - The custom of medical imaging.

    Cons:
    - Higher than IoU for the same maps: the two must not be compared.
    """

    name: ClassVar[str] = "dice"
    title: ClassVar[str] = "Dice"
    figure: ClassVar[str] = "dice"
    reference: ClassVar[str] = "mmsegmentation IoUMetric (mDice)"


class ClassAccuracy(OneClass):
    r"""Accuracy by class: the share of its true pixels that are predicted as it.

    $\mathrm{Acc}_c = \frac{TP_c}{TP_c + FN_c}$

    Undefined when no true pixel is of the class.

    Pros:
    - Says how much of a class is found.

    Cons:
    - Predicting the class everywhere scores 1: false positives cost nothing.
    """

    name: ClassVar[str] = "acc"
    title: ClassVar[str] = "Accuracy"
    figure: ClassVar[str] = "recall"
    reference: ClassVar[str] = "mmsegmentation IoUMetric (Acc)"


class MeanIou(MeanOfClasses):
    r"""Mean IoU: the mean over classes of their IoU.

    $\mathrm{mIoU} = \frac{1}{|C|} \sum_{c \in C} \frac{TP_c}{TP_c + FP_c + FN_c}$

    Pixels of all images are added first (`level=dataset`); `level=image` takes the mean over the classes of each image,
    then over images. A class that is predicted and never true counts as 0; `classes=truth` leaves it out.
    `without=NAME` leaves a class out of the mean, and `groups=category` joins classes to their groups first.

    Undefined when no class has a pixel on either side.

    Pros:
    - Rare classes count as much as common ones.
    - False positives and misses both cost.

    Cons:
    - One rare class moves it as much as the road does.
    - By data set, large images count more than small ones.
    """

    name: ClassVar[str] = "miou"
    title: ClassVar[str] = "Mean IoU"
    reference: ClassVar[str] = "mmsegmentation IoUMetric, hotcoco SemanticEval"

    level: Annotated[str, Literal["dataset", "image"]] = "dataset"
    classes: Literal["union", "truth"] = "union"
    groups: Literal["none", "category"] = "none"

    def check(self) -> None:
        """Known words only."""
        if self.level == "image" and (self.classes, self.groups, self.without) != ("union", "none", None):
            raise InvalidSpec(f"'{self}': level=image has no other settings", remedy="Leave the others out.")

    @property
    def label(self) -> str:
        if self.level == "image":
            return f"{self.title} of images"
        return f"{self.title} of categories" if self.groups == "category" else self.title

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(), cls(level="image"), cls(classes="truth"))

    def cells(self) -> Cells:
        return GroupPixels() if self.groups == "category" else ClassPixels()

    def needs(self) -> tuple[Requirement, ...]:
        return (*super().needs(), ImageScore(self.figure)) if self.level == "image" else super().needs()

    def kept_classes(self, totals: Any, values: Floats) -> Any:
        keep = super().kept_classes(totals, values)
        return keep & (totals[self.cells()][:, :, TRUE] > 0) if self.classes == "truth" else keep

    def reduce(self, totals: Any) -> Floats:
        if self.level == "image":
            sums = totals[ImageScore(self.figure)]
            return ratio(sums[:, 0], sums[:, 1])
        return super().reduce(totals)

    @property
    def class_axis(self) -> str:  # type: ignore[override]
        """Classes or their groups."""
        return "group" if self.groups == "category" else "class"

    def class_scores(self, totals: Any) -> Floats | None:
        """The figure of every class, where it is not the mean over images."""
        return None if self.level == "image" else super().class_scores(totals)

    def notes(self, totals: Any) -> tuple[str, ...]:
        return super().notes(totals) if self.groups == "none" and self.level == "dataset" else ()

    def expand(self, facts: Metadata) -> tuple[Metric, ...]:
        """Itself; categories must be known."""
        if self.groups == "category" and not facts.axes["group"].ids:
            raise MissingData("the classes have no categories", remedy="Set the option `labels=cityscapes`.")
        return super().expand(facts)


class MeanDice(MeanIou):
    r"""Mean Dice: the mean over classes of their Dice.

    $\mathrm{mDice} = \frac{1}{|C|} \sum_{c \in C} \frac{2\,TP_c}{2\,TP_c + FP_c + FN_c}$

    Settings are those of `miou`. `level=image` takes the mean over the classes of each image, then over images.

    Undefined when no class has a pixel on either side.

    Pros:
    - The custom of medical imaging.

    Cons:
    - Higher than mean IoU for the same maps: the two must not be compared.
    """

    name: ClassVar[str] = "mdice"
    title: ClassVar[str] = "Mean Dice"
    figure: ClassVar[str] = "dice"
    reference: ClassVar[str] = "mmsegmentation IoUMetric (mDice)"

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(), cls(level="image"))


class MeanAccuracy(MeanOfClasses):
    r"""Mean accuracy: the mean over classes of the share of their true pixels that are right.

    $\mathrm{mAcc} = \frac{1}{|C|} \sum_{c \in C} \frac{TP_c}{TP_c + FN_c}$

    Undefined when no true pixel counts.

    Pros:
    - Rare classes count as much as common ones.

    Cons:
    - False positives cost only where they take pixels from another class.
    """

    name: ClassVar[str] = "macc"
    title: ClassVar[str] = "Mean accuracy of classes"
    figure: ClassVar[str] = "recall"
    reference: ClassVar[str] = "mmsegmentation IoUMetric (mAcc), hotcoco SemanticEval"


class PixelAccuracy(Overlap):
    r"""Pixel accuracy: the share of pixels whose class is right.

    $\mathrm{aAcc} = \frac{\sum_c TP_c}{\sum_c (TP_c + FN_c)}$

    Undefined when no true pixel counts.

    Pros:
    - Easily understood.

    Cons:
    - Large classes rule it: a model that knows road and sky scores high.
    """

    name: ClassVar[str] = "accuracy"
    title: ClassVar[str] = "Pixel accuracy"
    reference: ClassVar[str] = "mmsegmentation IoUMetric (aAcc), hotcoco SemanticEval"

    def reduce(self, totals: Any) -> Floats:
        cells = totals[ClassPixels()]
        return ratio(cells[:, :, HIT].sum(axis=1), cells[:, :, TRUE].sum(axis=1))


class FrequencyWeightedIou(Overlap):
    r"""Frequency-weighted IoU: the mean over classes of their IoU, each weighed by its true pixels.

    $\mathrm{fwIoU} = \frac{\sum_c G_c\,\mathrm{IoU}_c}{\sum_c G_c}, \quad G_c = TP_c + FN_c$

    Undefined when no true pixel counts.

    Pros:
    - A mean that rare classes do not shake.

    Cons:
    - What is rare does not show in it.
    """

    name: ClassVar[str] = "fwiou"
    title: ClassVar[str] = "Frequency-weighted IoU"
    reference: ClassVar[str] = "hotcoco SemanticEval"

    def reduce(self, totals: Any) -> Floats:
        true = totals[ClassPixels()][:, :, TRUE]
        total = (true * np.nan_to_num(self.each(totals))).sum(axis=1)
        return ratio(total, true.sum(axis=1))


class Precision(OneClass):
    r"""Precision: the mean over classes of the share of predicted pixels that are right.

    $P = \frac{1}{|C|} \sum_{c \in C} \frac{TP_c}{TP_c + FP_c}$

    `precision(label=road)` is that of one class.

    Undefined when nothing is predicted where the truth counts.

    Pros:
    - Says how far a prediction can be trusted.

    Cons:
    - A class of which a single pixel is predicted may score 1.
    """

    name: ClassVar[str] = "precision"
    title: ClassVar[str] = "Precision"
    figure: ClassVar[str] = "precision"
    reference: ClassVar[str] = "mmsegmentation IoUMetric (mFscore)"

    def expand(self, facts: Metadata) -> tuple[Metric, ...]:
        """Itself: without a class it is the mean."""
        return super().expand(facts) if self.only is not None else (self,)


class Recall(Precision):
    r"""Recall: the mean over classes of the share of true pixels that are found.

    $R = \frac{1}{|C|} \sum_{c \in C} \frac{TP_c}{TP_c + FN_c}$

    It is `macc` by its other name. `recall(label=road)` is that of one class.

    Undefined when no true pixel counts.

    Pros:
    - Says how much is found.

    Cons:
    - False positives cost only where they take pixels from another class.
    """

    name: ClassVar[str] = "recall"
    title: ClassVar[str] = "Recall"
    figure: ClassVar[str] = "recall"


class F1(Precision):
    r"""F1: the mean over classes of the F1 of their pixels, which is Dice.

    $F_1 = \frac{1}{|C|} \sum_{c \in C} \frac{2\,TP_c}{2\,TP_c + FP_c + FN_c}$

    mmsegmentation leaves classes without a right pixel out of the mean, so that the worst classes do not count:
    `f1(mmseg=true)` does as it does.

    Undefined when no class has a pixel on either side.

    Pros:
    - One number for misses and false positives.

    Cons:
    - Not comparable with mFscore of mmsegmentation where a class has no right pixel.
    """

    name: ClassVar[str] = "f1"
    title: ClassVar[str] = "F1"
    figure: ClassVar[str] = "dice"

    mmseg: bool = False

    def each(self, totals: Any) -> Floats:
        """Dice, without classes that are never right where mmsegmentation is followed."""
        values = super().each(totals)
        return np.where(totals[self.cells()][:, :, HIT] > 0, values, np.nan) if self.mmseg else values


OVERLAP_METRICS: tuple[type[Metric], ...] = (
    MeanIou, Iou, MeanDice, Dice, MeanAccuracy, ClassAccuracy, PixelAccuracy, FrequencyWeightedIou,
    Precision, Recall, F1,
)  # fmt: skip
