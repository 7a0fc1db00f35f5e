"""What the metrics of tracking share: how classes are combined, and what a reader must know of the data."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import ClassVar

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.errors import UnknownName, nearest
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Metric, one_of
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Cells, Requirement, Sum
from steelyard.core.weights import Floats, ratio
from steelyard.tasks.tracking.data import MOTS
from steelyard.tasks.tracking.statistics import REMOVED_ROWS, SEQUENCES

FEW = 30  # sequences
MOST_NAMED = 5  # classes in a remark


def in_order(values: Floats) -> Floats:
    """The sum along the last axis, from first to last: the same bits whatever the layout."""
    total = np.zeros(values.shape[:-1])
    for place in range(values.shape[-1]):
        total = total + values[..., place]
    return total


def defined_mean(values: Floats) -> Floats:
    """The mean along the last axis of what is defined there."""
    there = ~np.isnan(values)
    return ratio(in_order(np.where(there, values, 0.0)), in_order(there.astype(float)))


def class_code(metadata: Metadata, label: object) -> int:
    """The place of a class that a setting names; an error where there is none of that name."""
    axis = metadata.axes["class"]
    code = axis.find(label)
    if code < 0:
        remedy = nearest(str(label), axis.display_names)
        if label in MOTS.values() and set(axis.display_names) <= set(MOTS):
            remedy = f"The classes are {', '.join(axis.display_names)}; benchmark=mots gives them the names of MOTS."
        raise UnknownName(f"there is no class '{label}'", remedy=remedy)
    return code


class TrackMetric(Metric):
    """A metric of sums by class. `over` says how classes are combined, `label` asks for one of them.

    `class_mean` is the mean over the classes that have a value, `trackeval` that over all classes with the number that
    TrackEval prints where there is none, and `det` the value of all classes' sums.
    """

    small_sample = "t"
    range = (0.0, 1.0)
    ways: ClassVar[tuple[str, ...]] = ("class_mean", "det")

    over: str = "class_mean"
    only: str | int | None = field(default=None, metadata={"spec": "label"})

    def check(self) -> None:
        one_of(self, "over", *self.ways)

    @property
    def label(self) -> str:
        return self.full_title()

    def full_title(self) -> str:
        """The title and the class, or how classes are combined."""
        if self.only is not None:
            return f"{self.title}, {self.only}"
        suffix = {"det": ", classes summed", "trackeval": ", all classes"}.get(self.over, "")
        return f"{self.title}{suffix}"

    def combine_classes(self, totals: TotalsView, sums: Floats, value: Callable[[Floats], Floats]) -> Floats:
        """The value of each row of weights from sums (rows, classes, ...)."""
        if self.only is not None:
            return value(sums[:, class_code(totals.metadata, self.only)])
        if self.over == "det":
            return value(in_order(np.moveaxis(sums, 1, -1)))
        classes = range(sums.shape[1])
        values: Floats = np.stack([value(sums[:, code]) for code in classes], axis=-1)
        if self.over == "trackeval":
            printed = np.stack([self.printed_value(sums[:, code]) for code in classes], axis=-1)
            values = np.where(np.isnan(values), printed, values)
        return defined_mean(values)

    def printed_value(self, sums: Floats) -> Floats:
        """What TrackEval prints for a class whose value is undefined."""
        return np.zeros(len(sums))

    def _without_value(self, totals: TotalsView) -> list[str]:
        """Classes that have boxes and no value, which the mean leaves out."""
        axis = totals.metadata.axes["class"]
        if self.only is not None or self.over != "class_mean" or self.total or len(axis) < 2:
            return []
        sums = totals[self.own_needs()[0]][0]
        each = [replace(self, only=label).reduce(totals)[0] for label in axis.ids]
        names = [axis.display_names[code] for code, value in enumerate(each) if np.isnan(value) and sums[code].any()]
        return names if len(names) < len(axis) else []

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        """What was taken out before scoring, and what few sequences say."""
        distractor, region, small, other, truth = (round(v) for v in totals[REMOVED_ROWS][0].tolist())
        parts = [
            f"{count_text(count, noun)} {what}"
            for count, noun, what in (
                (distractor, "prediction", "on objects that are not scored"),
                (region, "prediction", "inside regions to ignore"),
                (small, "prediction", "below the least size"),
                (other, "prediction", "of other classes"),
                (truth, "truth row", "outside of what is scored"),
            )
            if count
        ]
        notes = [f"Taken out before scoring: {', '.join(parts)}."] if parts else []
        without = self._without_value(totals)
        if without:
            shown = ", ".join(without[:MOST_NAMED]) + (", ..." if len(without) > MOST_NAMED else "")
            other = " over=trackeval counts them as TrackEval does." if "trackeval" in self.ways else ""
            notes.append(
                f"The mean leaves out {len(without)} of {totals.metadata.size('class')} classes ({shown}): "
                f"{self.documented_reason()}.{other}"
            )
        sequences = round(float(totals[SEQUENCES][0, 0]))
        if 1 < sequences < FEW:
            what = "too few for an interval" if sequences < 4 else "the intervals speak of videos like these"
            notes.append(f"{sequences} sequences: {what} (the jackknife's, with Student's t).")
        return tuple(notes)

    def requirements(self) -> tuple[Requirement, ...]:
        return (*self.own_needs(), SEQUENCES, REMOVED_ROWS)

    @abstractmethod
    def own_needs(self) -> tuple[Cells | Sum, ...]:
        """What its value is made of."""


def add_counts(sums: Mapping[str, Floats], names: tuple[str, ...]) -> Floats:
    """The sum of some counts, in their order."""
    total = sums[names[0]]
    for name in names[1:]:
        total = total + sums[name]
    return total
