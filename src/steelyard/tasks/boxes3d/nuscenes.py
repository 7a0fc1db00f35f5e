"""nuScenes' scores: average precision by the distance of centres, five errors of the matches, and NDS."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

import numpy as np

from steelyard.core.counts import count_text, share_text
from steelyard.core.metric import Metric, one_of
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement
from steelyard.core.weights import Floats
from steelyard.tasks.boxes3d.kitti import mean_of_defined
from steelyard.tasks.boxes3d.statistics import (
    DISTANCES,
    DROPPED,
    DROPPED_WORDS,
    ERRORS,
    CentreEvents,
    CentreScores,
)

EVENTS = CentreEvents()
SCORES = CentreScores(EVENTS)
# Errors that nuScenes does not ask of a class.
NOT_ASKED = {"traffic_cone": ("orientation", "velocity", "attribute"), "barrier": ("velocity", "attribute")}
NEEDED = {"velocity": "vx", "attribute": "attribute"}  # what the data must hold
INFINITY = float("inf")


def precision_by_class(totals: TotalsView) -> Floats:
    """Average precision (rows, classes, distances). With nuScenes' rules a class without truth has 0."""
    values = totals[SCORES][..., : len(DISTANCES)]
    return np.minimum(_without_truth(totals, values, 0.0), 1.0)


def error_by_class(totals: TotalsView, error: str) -> Floats:
    """One error (rows, classes), undefined where it is not asked of a class."""
    place = len(DISTANCES) + ERRORS.index(error)
    values = _without_truth(totals, totals[SCORES][..., place : place + 1], 1.0)[..., 0].copy()
    for code, label in enumerate(totals.metadata.axes["class"].ids):
        if error in NOT_ASKED.get(label, ()) and totals.metadata.flags["rules"] == "nuscenes":
            values[:, code] = np.nan
    return values


def _without_truth(totals: TotalsView, values: Floats, worst: float) -> Floats:
    """Classes without truth get the worst value where nuScenes' rules hold; where none has truth nothing is defined."""
    if totals.metadata.flags["rules"] != "nuscenes":
        return values
    any_truth = ~np.asarray(np.isnan(values).all(axis=(1, 2)))
    return np.where(np.isnan(values) & any_truth[:, np.newaxis, np.newaxis], worst, values)


class CentreMetric(Metric):
    """A number from matches by the distance of centres."""

    by_count = True
    range = (0.0, 1.0)

    only: str | None = field(default=None, metadata={"spec": "label"})

    @property
    def label(self) -> str:
        return self.title if self.only is None else f"{self.title}, {self.only}"

    def requirements(self) -> tuple[Requirement, ...]:
        return SCORES, EVENTS, DROPPED

    def combine_classes(self, totals: TotalsView, by_class: Floats) -> Floats:
        """One class, or the mean of the classes."""
        if self.only is None:
            return mean_of_defined(by_class)
        code = totals.metadata.axes["class"].find(self.only)
        return np.full(totals.rows, np.nan) if code < 0 else by_class[:, code]

    def undefined_reason(self, totals: TotalsView) -> str:
        """Say what the data lack, that the class is not there, or what the docstring says."""
        if "place" not in totals.metadata.holds:
            return "both sides need a place in space: x, y, z, length, width, height, yaw"
        if self.only is not None and totals.metadata.axes["class"].find(self.only) < 0:
            return f"there is no class '{self.only}'"
        return self.documented_reason()

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        taken = totals[DROPPED][0]
        words = [what.partition("s ") for what in DROPPED_WORDS]  # "truths too far" is counted as 1 truth too far
        counted = zip(words, map(round, taken.tolist()), strict=True)
        parts = [f"{count_text(many, noun)} {rest}" for (noun, _, rest), many in counted if many]
        notes = [f"Left out before matching: {', '.join(parts)}."] if parts else []
        gone = np.isnan(totals[SCORES][0, :, 0])
        if self.only is None and totals.metadata.flags["rules"] == "nuscenes" and gone.any() and not gone.all():
            shown = totals.metadata.axes["class"].display_names
            names = ", ".join(shown[code] for code in np.flatnonzero(gone))
            number = int(gone.sum())
            notes.append(
                f"{share_text(number, len(gone), 'class', 'have')} no truth and {'counts' if number == 1 else 'count'} "
                f"as AP 0 and errors 1, as nuScenes has it: {names}."
            )
        return tuple(notes)


class CentreMap(CentreMetric):
    r"""mAP by the distance of centres: what nuScenes calls mean average precision.

    $\mathrm{mAP} = \frac{1}{|C| \cdot 4} \sum_{c} \sum_{d \in \{0.5, 1, 2, 4\}} \mathrm{AP}_{c,d}$

    A prediction matches the nearest free truth of its class if their centres on the ground are less than d metres
    apart. Precision is read at 101 recalls without an envelope; recalls up to 0.1 and precisions below 0.1 count
    nothing. `map@2` is one distance, map(label=car) one class.

    Undefined when there is no truth.

    Pros:
    - Does not ask for size and heading, which have errors of their own.

    Cons:
    - A pedestrian and a bus are both found if they are half a metre off.
    """

    name = "map"
    title = "mAP (centre distance)"
    at = "distance"
    reference = "nuscenes.eval.detection.algo"

    distance: float | None = None

    def check(self) -> None:
        one_of(self, "distance", None, *DISTANCES.tolist())

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return cls(), cls(distance=2.0)

    @property
    def label(self) -> str:
        name = self.title if self.distance is None else f"mAP at {self.distance:g} m"
        return name if self.only is None else f"{name.removeprefix('m')}, {self.only}"

    def reduce(self, totals: TotalsView) -> Floats:
        values = precision_by_class(totals)
        if self.distance is not None:
            return self.combine_classes(totals, values[..., DISTANCES.tolist().index(self.distance)])
        mean = values[..., 0]
        for place in range(1, len(DISTANCES)):
            mean = mean + values[..., place]
        return self.combine_classes(totals, mean / len(DISTANCES))


class ErrorMetric(CentreMetric):
    """The mean over classes of one error of the matches below 2 m."""

    better = "lower"
    range = (0.0, INFINITY)
    error: ClassVar[str]

    def reduce(self, totals: TotalsView) -> Floats:
        values = error_by_class(totals, self.error)
        if not self.has_data(totals):
            return np.full(totals.rows, np.nan)
        return self.combine_classes(totals, values)

    def has_data(self, totals: TotalsView) -> bool:
        """Whether the data hold what the error is of."""
        return NEEDED.get(self.error, "place") in totals.metadata.holds

    def undefined_reason(self, totals: TotalsView) -> str:
        if "place" in totals.metadata.holds and not self.has_data(totals):
            return f"the truth has no {self.error}"
        return CentreMetric.undefined_reason(self, totals)


class Mate(ErrorMetric):
    r"""mATE: how far the centres of matches are apart on the ground, in metres.

    $\mathrm{ATE} = \frac{1}{|R|} \sum_{r \in R} \overline{\lVert p - \hat p \rVert}_r$

    For each recall of a class above 0.1 the mean over all matches up to there, then the mean over recalls and classes.
    A class that does not reach recall 0.1 has 1.

    Undefined when there is no truth.

    Pros:
    - In metres.

    Cons:
    - Of matches alone: finding fewer, easier objects lowers it.
    """

    name, title, error = "mate", "mATE, translation", "translation"
    measured_in = "m"
    range = (0.0, 2.0)


class Mase(ErrorMetric):
    r"""mASE: how far the sizes of matches differ, as 1 less the IoU of boxes put on one another.

    $\mathrm{ASE} = \frac{1}{|R|} \sum_{r \in R} \overline{1 - \mathrm{IoU}}_r$

    Boxes are moved to the same place and heading first.

    Undefined when there is no truth.

    Pros:
    - Without a unit, from 0 to 1.

    Cons:
    - Of matches alone.
    """

    name, title, error = "mase", "mASE, scale", "scale"
    range = (0.0, 1.0)


class Maoe(ErrorMetric):
    r"""mAOE: how far the headings of matches are apart, in radians.

    $\mathrm{AOE} = \frac{1}{|R|} \sum_{r \in R} \overline{|\psi - \hat\psi|}_r$

    A barrier is the same after half a turn, and a traffic cone has no heading.

    Undefined when there is no truth.

    Pros:
    - In radians, for boxes that look the other way up to pi.

    Cons:
    - Of matches alone.
    """

    name, title, error = "maoe", "mAOE, orientation", "orientation"
    measured_in = "rad"
    range = (0.0, float(np.pi))


class Mave(ErrorMetric):
    r"""mAVE: how far the velocities of matches differ, in metres per second.

    $\mathrm{AVE} = \frac{1}{|R|} \sum_{r \in R} \overline{\lVert v - \hat v \rVert}_r$

    Truths whose velocity is not known are left out. Cones and barriers have none.

    Undefined when there is no truth, or it has no velocity.

    Pros:
    - In metres per second.

    Cons:
    - Of matches alone. A prediction whose velocity is not a number is left out too.
    """

    name, title, error = "mave", "mAVE, velocity", "velocity"
    measured_in = "m/s"


class Maae(ErrorMetric):
    r"""mAAE: the share of matches with a wrong attribute.

    $\mathrm{AAE} = \frac{1}{|R|} \sum_{r \in R} \overline{[a \ne \hat a]}_r$

    Truths without an attribute are left out. Cones and barriers have none.

    Undefined when there is no truth, or it has no attribute.

    Pros:
    - From 0 to 1.

    Cons:
    - Of matches alone.
    """

    name, title, error = "maae", "mAAE, attribute", "attribute"
    range = (0.0, 1.0)


class Nds(CentreMetric):
    r"""NDS: nuScenes' detection score, half of it mAP and half of it the five errors.

    $\mathrm{NDS} = \frac{1}{10} \left(5\, \mathrm{mAP} + \sum_{e} \max(0, 1 - e)\right)$

    An error above 1 counts as 1.

    Undefined when there is no truth, or it has neither velocities nor attributes.

    Pros:
    - The one number of nuScenes' table.

    Cons:
    - Adds metres, radians and shares: look at its parts.
    """

    name = "nds"
    title = "NDS"
    reference = "nuscenes.eval.detection.data_classes.DetectionMetrics"

    def reduce(self, totals: TotalsView) -> Floats:
        score = 5 * CentreMap(only=self.only).reduce(totals)
        for error in ERRORS:
            if NEEDED.get(error, "place") not in totals.metadata.holds:
                return np.full(totals.rows, np.nan)
            left = np.maximum(0.0, 1.0 - self.combine_classes(totals, error_by_class(totals, error)))
            score = score + left
        return score / 10

    def undefined_reason(self, totals: TotalsView) -> str:
        lacking = [error for error, name in NEEDED.items() if name not in totals.metadata.holds]
        if "place" in totals.metadata.holds and lacking:
            return f"the truth has no {' and no '.join(lacking)}"
        return CentreMetric.undefined_reason(self, totals)


NUSCENES_METRICS: tuple[type[Metric], ...] = (Nds, CentreMap, Mate, Mase, Maoe, Mave, Maae)
