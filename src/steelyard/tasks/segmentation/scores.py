"""The metrics of overlap: IoU, Dice, accuracy, precision and recall of pixels, by data set or image by image.

Then those of outlines: how well the edges of classes lie on each other.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from steelyard import _native
from steelyard.core.block import CellsBlock
from steelyard.core.metric import Between, Metric
from steelyard.core.pairs import Array
from steelyard.core.statistic import Cells, Requirement, SharedCache
from steelyard.core.weights import Floats, ratio
from steelyard.maps.each import for_each
from steelyard.tasks.segmentation.counts import UNCLASSED, BandPixels, coders
from steelyard.tasks.segmentation.data import MapPairs
from steelyard.tasks.segmentation.overlap import MeanOfClasses, OneClass, mean_defined, units_having

if TYPE_CHECKING:
    from steelyard.core.state import State
from typing import Literal

from steelyard.core.errors import InvalidSpec, MissingData
from steelyard.core.metadata import Metadata
from steelyard.tasks.segmentation.counts import HIT, TRUE, ClassPixels, GroupPixels, ImageScore
from steelyard.tasks.segmentation.overlap import Overlap


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

    def requirements(self) -> tuple[Requirement, ...]:
        return (*super().requirements(), ImageScore(self.figure)) if self.level == "image" else super().requirements()

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

    def expand(self, metadata: Metadata) -> tuple[Metric, ...]:
        """Itself; categories must be known."""
        if self.groups == "category" and not metadata.axes["group"].ids:
            raise MissingData("the classes have no categories", remedy="Set the option `labels=cityscapes`.")
        return super().expand(metadata)


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

    def expand(self, metadata: Metadata) -> tuple[Metric, ...]:
        """Itself: without a class it is the mean."""
        return super().expand(metadata) if self.only is not None else (self,)


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


class Banded(Metric):
    """A metric of the pixels within `width` of an edge."""

    range = (0.0, 1.0)

    reference: ClassVar[str] = "boundary-iou-api mask_to_boundary"

    width: Annotated[float, Between(0.0, 1.0, open_low=True)] = 0.02

    def cells(self) -> Cells:
        """Pixels near edges."""
        return BandPixels(self.width)


class BoundaryIou(Banded, OneClass):
    r"""Boundary IoU by class: the IoU of what lies near the edges of the class on either side.

    $\frac{|G_d \cap P_d|}{|G_d \cup P_d|}$

    G_d and P_d are the pixels of the class within d of its edge, in truth and prediction. d is `width` of the image's
    diagonal, at least one pixel, and the image's rim is an edge (Cheng et al. 2021), as is the rim of ignored pixels,
    which are cut out of both sides. Pixels of all images are added.

    Undefined when neither side has a pixel of the class.

    Pros:
    - Large objects do not hide bad outlines.

    Cons:
    - Depends on the width of the band.
    """

    name: ClassVar[str] = "boundary_iou"
    title: ClassVar[str] = "Boundary IoU"


class MeanBoundaryIou(Banded, MeanOfClasses):
    r"""Mean boundary IoU: the mean over classes of their boundary IoU.

    $\frac{1}{|C|} \sum_{c \in C} \frac{|G_{c,d} \cap P_{c,d}|}{|G_{c,d} \cup P_{c,d}|}$

    d is `width` of the image's diagonal, at least one pixel. Pixels that the truth ignores are cut out of both sides,
    and their rim is an edge, as the image's is.

    Undefined when no class has a pixel on either side.

    Pros:
    - Large objects do not hide bad outlines.

    Cons:
    - Depends on the width of the band.
    """

    name: ClassVar[str] = "mbiou"
    title: ClassVar[str] = "Mean boundary IoU"

    def notes(self, totals: Any) -> tuple[str, ...]:
        """Nothing that mean IoU does not say."""
        return ()


class EdgeScore(Cells):
    """The F1 of the edge pixels of each class of an image, and 1 for the image."""

    tolerance: float = 0.0075

    name: ClassVar[str] = "segmentation.edges"

    def measure(self, pairs: MapPairs, cache: SharedCache) -> CellsBlock:
        coder = coders(pairs)

        def of_image(pair: int) -> list[tuple[int, int, float]]:
            truth, prediction = pairs.maps(pair)
            first = coder[0](truth)
            second = np.full_like(first, UNCLASSED) if prediction is None else coder[1](prediction)
            reach = math.ceil(self.tolerance * math.hypot(*truth.shape))
            scores = edge_scores(first, second, pairs.metadata.size("class"), reach)
            return [(int(pairs.owner[pair]), *score) for score in scores]

        rows = [row for rows in for_each(len(pairs.owner), of_image) for row in rows]
        table = np.array(rows, dtype=np.float64).reshape(-1, 3)
        owner, label = (np.repeat(table[:, i].astype(np.int64), 2) for i in (0, 1))
        value = np.stack([table[:, 2], np.ones(len(table))], axis=1).ravel()
        return CellsBlock.of(("class", 2), pairs.metadata, owner, label * 2 + np.tile([0, 1], len(table)), value)


def edge_scores(truth: Array, prediction: Array, classes: int, reach: int) -> list[tuple[int, float]]:
    """Class and F1 of its edge pixels, matched within `reach` pixels, for each class that either map has."""
    scores = []
    step = np.ones(2)
    ignored = truth >= UNCLASSED
    for label in np.unique(np.concatenate([np.unique(truth), np.unique(prediction)])).tolist():
        if label >= classes:
            continue
        edges = [edge_of((grid == label) & ~ignored) for grid in (truth, prediction)]
        counts = [int(edge.sum()) for edge in edges]
        if not any(counts):
            continue
        if not all(counts):
            scores.append((label, 0.0))
            continue
        far = [_native.squared_distances(edge.view(np.uint8), step) for edge in edges]
        precision = (far[0][edges[1]] <= reach * reach).mean()
        recall = (far[1][edges[0]] <= reach * reach).mean()
        scores.append((label, float(2 * precision * recall / (precision + recall)) if precision + recall else 0.0))
    return scores


def edge_of(mask: Array) -> Array:
    """Pixels that differ from the one to the right, below, or both: the last row and column look one way only."""
    right, below, across = mask.copy(), mask.copy(), mask.copy()
    right[:, :-1] = mask[:, 1:]
    below[:-1] = mask[1:]
    across[:-1, :-1] = mask[1:, 1:]
    edge = (mask ^ right) | (mask ^ below) | (mask ^ across)
    edge[-1] = mask[-1] ^ right[-1]
    edge[:, -1] = mask[:, -1] ^ below[:, -1]
    edge[-1, -1] = False
    return np.ascontiguousarray(edge)


class BoundaryF1(Metric):
    r"""Boundary F1: the F1 of edge pixels that lie within a tolerance of the other side's edge.

    $F = \frac{2\,P R}{P + R}$

    P and R are the shares of predicted and of true edge pixels that have one of the other side within r, `tolerance` of
    the image's diagonal, rounded up (the contour accuracy F of DAVIS, Perazzi et al. 2016). It is taken by image and
    class, then the mean over the images of a class, then over classes.

    Undefined when no image has an edge.

    Pros:
    - Says how far outlines can be trusted, whatever the size of objects.

    Cons:
    - Depends on the tolerance; a small hole counts as much as a long edge that is off.
    """

    range = (0.0, 1.0)

    name: ClassVar[str] = "boundary_f1"
    title: ClassVar[str] = "Boundary F1"

    tolerance: Annotated[float, Between(0.0, 1.0)] = 0.0075

    def requirements(self) -> tuple[Requirement, ...]:
        return (EdgeScore(self.tolerance),)

    def reduce(self, totals: Any) -> Floats:
        return mean_defined(self.class_scores(totals))

    def class_scores(self, totals: Any) -> Floats:
        cells = totals[EdgeScore(self.tolerance)]
        return ratio(cells[:, :, 0], cells[:, :, 1])

    def part_units(self, state: State) -> Floats | None:
        return units_having(state, EdgeScore(self.tolerance), 1)


BOUNDARY_METRICS: tuple[type[Metric], ...] = (MeanBoundaryIou, BoundaryIou, BoundaryF1)
