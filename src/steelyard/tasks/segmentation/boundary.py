"""Metrics of outlines: how well the edges of classes lie on each other."""

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
            return [
                (int(pairs.owner[pair]), *one) for one in edge_scores(first, second, pairs.facts.size("class"), reach)
            ]

        rows = [row for rows in for_each(len(pairs.owner), of_image) for row in rows]
        table = np.array(rows, dtype=np.float64).reshape(-1, 3)
        owner, label = (np.repeat(table[:, i].astype(np.int64), 2) for i in (0, 1))
        value = np.stack([table[:, 2], np.ones(len(table))], axis=1).ravel()
        return CellsBlock.of(("class", 2), pairs.facts, owner, label * 2 + np.tile([0, 1], len(table)), value)


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

    def needs(self) -> tuple[Requirement, ...]:
        return (EdgeScore(self.tolerance),)

    def reduce(self, totals: Any) -> Floats:
        return mean_defined(self.class_scores(totals))

    def class_scores(self, totals: Any) -> Floats:
        cells = totals[EdgeScore(self.tolerance)]
        return ratio(cells[:, :, 0], cells[:, :, 1])

    def part_units(self, state: State) -> Floats | None:
        return units_having(state, EdgeScore(self.tolerance), 1)


BOUNDARY_METRICS: tuple[type[Metric], ...] = (MeanBoundaryIou, BoundaryIou, BoundaryF1)
