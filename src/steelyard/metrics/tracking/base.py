"""What the metrics of tracking share: how classes are combined, and what a reader must know of the data."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Literal

import numpy as np

from steelyard.core.frozen import frozen
from steelyard.core.metric import Metric, one_of
from steelyard.core.need import Cells, Sum
from steelyard.core.totals import Declared, Wanted
from steelyard.core.weights import Floats, ratio
from steelyard.metrics.tracking.needs import REMOVED_ROWS, SEQUENCES

FEW = 30  # sequences


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


@frozen
class TrackMetric(Metric):
    """A metric of sums by class. `over` says how classes are combined, `label` asks for one of them."""

    few = "t"

    over: Literal["class_mean", "det"] = "class_mean"
    only: str | int | None = field(default=None, metadata={"spec": "label"})

    def check(self) -> None:
        """Check how classes are combined."""
        one_of(self, "over", "class_mean", "det")

    @property
    def label(self) -> str:
        """Names the class, or how classes are combined."""
        return self.named()

    def named(self) -> str:
        """The title and the class, or how classes are combined."""
        if self.only is not None:
            return f"{self.title}, {self.only}"
        return self.title if self.over == "class_mean" else f"{self.title}, classes summed"

    def combined(self, totals: Declared, sums: Floats, value: Callable[[Floats], Floats]) -> Floats:
        """The value of each row of weights from sums (rows, classes, ...)."""
        if self.only is not None:
            code = totals.facts.axes["class"].find(self.only)
            return totals.undefined() if code < 0 else value(sums[:, code])
        if self.over == "det":
            return value(in_order(np.moveaxis(sums, 1, -1)))
        return defined_mean(np.stack([value(sums[:, code]) for code in range(sums.shape[1])], axis=-1))

    def why(self, totals: Declared) -> str:
        """Say that the class is not there, or what the docstring says."""
        if self.only is not None and totals.facts.axes["class"].find(self.only) < 0:
            return f"there is no class '{self.only}'"
        return self.undefined_reason()

    def notes(self, totals: Declared) -> tuple[str, ...]:
        """What was taken out before scoring, and what few sequences say."""
        distractor, region, small, other, truth = (round(v) for v in totals[REMOVED_ROWS][0].tolist())
        parts = [
            f"{count:,} {what}"
            for count, what in (
                (distractor, "predictions on objects that are not scored"),
                (region, "predictions inside regions to ignore"),
                (small, "predictions that are too small"),
                (other, "predictions of other classes"),
                (truth, "rows of the truth that are not scored"),
            )
            if count
        ]
        notes = [f"Taken out before scoring: {', '.join(parts)}."] if parts else []
        sequences = round(float(totals[SEQUENCES][0, 0]))
        if 1 < sequences < FEW:
            what = "too few for an interval" if sequences < 4 else "the intervals speak of videos like these"
            notes.append(f"{sequences} sequences: {what} (the jackknife's, with Student's t).")
        return tuple(notes)

    def needs(self) -> tuple[Wanted, ...]:
        """Its own sums, and those of the notes."""
        return (*self.own_needs(), SEQUENCES, REMOVED_ROWS)

    @abstractmethod
    def own_needs(self) -> tuple[Cells | Sum, ...]:
        """What its value is made of."""


def added(sums: Mapping[str, Floats], names: tuple[str, ...]) -> Floats:
    """The sum of some counts, in their order."""
    total = sums[names[0]]
    for name in names[1:]:
        total = total + sums[name]
    return total
