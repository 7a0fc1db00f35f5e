"""What metrics of overlap have in common: a figure of each class, of one of them, or the mean.

A class that neither side has is undefined: it is left out of means and counted, never 0 and never 1.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.errors import UnknownName, nearest
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Metric
from steelyard.core.numerals import as_spec
from steelyard.core.plan import POINT
from steelyard.core.statistic import Cells, Requirement
from steelyard.core.weights import Array, Floats, ratio
from steelyard.tasks.segmentation.counts import (
    HIT,
    IMAGES,
    PREDICTED,
    TRUE,
    ClassPixels,
    Confusion,
    PixelSums,
)

if TYPE_CHECKING:
    from steelyard.core.state import State

_RESTING = {"recall": TRUE, "precision": PREDICTED}  # what an image must have of a class, beside a pixel of either side
FEW_IMAGES = 5  # below which the interval of a class says little


def mean_defined(values: Floats, included: Any = None) -> Floats:
    """The mean over classes that are defined (and kept), added in their order; nan where there is none."""
    total, count = np.zeros(len(values)), np.zeros(len(values))
    for k in range(values.shape[1]):
        some = ~np.isnan(values[:, k]) if included is None else ~np.isnan(values[:, k]) & included[:, k]
        total += np.where(some, values[:, k], 0.0)
        count += some
    return ratio(total, count)


def class_place(metadata: Metadata, label: object) -> int:
    """The place of a class on the axis; an error where there is none of that name."""
    axis = metadata.axes["class"]
    place = axis.find(label)
    if place < 0:
        raise UnknownName(f"there is no class '{label}'", remedy=nearest(str(label), axis.display_names))
    return place


def figure_of(kind: str, cells: Floats) -> Floats:
    """A figure of every class from its pixels (rows, classes, 4)."""
    hit, true, predicted = cells[:, :, HIT], cells[:, :, TRUE], cells[:, :, PREDICTED]
    if kind == "iou":
        return ratio(hit, true + predicted - hit)
    if kind == "dice":
        return ratio(2 * hit, true + predicted)
    return ratio(hit, true if kind == "recall" else predicted)


class Overlap(Metric):
    """Base: a figure of classes from their pixels."""

    range = (0.0, 1.0)

    figure: ClassVar[str] = "iou"

    def cells(self) -> Cells:
        """Where the pixels are kept."""
        return ClassPixels()

    def requirements(self) -> tuple[Requirement, ...]:
        """Pixels by class; the confused classes are kept for tables."""
        return (self.cells(), Confusion(), PixelSums())

    def each(self, totals: Any) -> Floats:
        """The figure of every class, for each row of weights."""
        return figure_of(self.figure, totals[self.cells()])

    def class_truth(self, state: State) -> Array | None:
        return np.asarray(state.totals(POINT)[self.cells()][0, :, TRUE] > 0)

    def part_units(self, state: State) -> Floats | None:
        """Images that have the class; for recall and precision, on the side that is counted."""
        return units_having(state, self.cells(), _RESTING.get(self.figure, IMAGES))

    def notes(self, totals: Any) -> tuple[str, ...]:
        """How much of the truth is ignored, where that is most of it, and what was predicted as no class."""
        every, ignored, unknown = totals[PixelSums()][0]
        notes = []
        if ignored > every:
            share = 100 * ignored / (every + ignored)
            notes.append(
                f"{share:.0f} % of the pixels are ignored: what is predicted there is free. To leave a class out of a "
                "mean, say miou(without=background)."
            )
        if unknown:
            notes.append(f"{count_text(round(unknown), 'pixel', 'are')} predicted as no class, which counts as wrong.")
        return tuple(notes)


class OneClass(Overlap):
    """Base: the figure of one class, `label`. Without it there is one metric for each class."""

    only: str | int | None = field(default=None, metadata={"spec": "label"})

    @property
    def label(self) -> str:
        return self.title if self.only is None else f"{self.title}: {self.only}"

    def expand(self, metadata: Metadata) -> tuple[Metric, ...]:
        if self.only is not None:
            class_place(metadata, self.only)
            return (self,)
        return tuple(replace(self, only=as_spec(name)) for name in metadata.axes["class"].display_names)

    def reduce(self, totals: Any) -> Floats:
        """The figure of the class, or the mean of all where one number is asked for."""
        values = self.each(totals)
        if self.only is None:
            return mean_defined(values)
        place = totals.metadata.axes["class"].find(self.only)  # a slice may have been measured without the class
        return values[:, place] if place >= 0 else totals.undefined()

    def class_scores(self, totals: Any) -> Floats | None:
        """The figure of every class, where the mean is asked for."""
        return self.each(totals) if self.only is None else None

    def notes(self, totals: Any) -> tuple[str, ...]:
        if self.only is None:
            return ()
        place = totals.metadata.axes["class"].find(self.only)
        images = int(totals[self.cells()][0, place, IMAGES]) if place >= 0 else 0
        few = 0 < images < FEW_IMAGES
        return (f"Fewer than {FEW_IMAGES} images have class {self.only}: its interval is rough.",) if few else ()


class MeanOfClasses(Overlap):
    """Base: the mean over classes. `without` names one that is left out of it; what is predicted on it still counts."""

    without: str | int | None = None

    def expand(self, metadata: Metadata) -> tuple[Metric, ...]:
        """Itself; the class that is left out must exist."""
        if self.without is not None:
            class_place(metadata, self.without)
        return (self,)

    def kept_classes(self, totals: Any, values: Floats) -> Any:
        """Which classes enter the mean: (rows, classes)."""
        keep = np.ones(values.shape, dtype=bool)
        if self.without is not None:
            place = totals.metadata.axes["class"].find(self.without)
            keep[:, place if place >= 0 else slice(0)] = False
        return keep

    def reduce(self, totals: Any) -> Floats:
        values = self.each(totals)
        return mean_defined(values, self.kept_classes(totals, values))

    def class_scores(self, totals: Any) -> Floats | None:
        values = self.each(totals)
        return np.where(self.kept_classes(totals, values), values, np.nan)

    def excluded(self, totals: Any) -> tuple[float, str]:
        values = self.each(totals)
        return float((np.isnan(values) & self.kept_classes(totals, values))[0].sum()), "classes that have no pixel"


def units_having(state: State, statistic: Cells, *columns: int) -> Floats:
    """How many units, or clusters, have something in one of these columns of each class: cells are (class, column)."""
    return state.once(
        ("units having", statistic, columns), lambda: _units_having(state, state.blocks[statistic], columns)
    )


def _units_having(state: State, block: Any, columns: tuple[int, ...]) -> Floats:
    entries, width = block.entries, int(block.axes[-1])
    place, column = np.divmod(entries.code.astype(np.int64), width)
    some = np.flatnonzero(np.isin(column, columns))
    return state.units.behind(entries.owner[some], place[some], entries.size // width)
