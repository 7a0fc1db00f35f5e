"""Working points that are sought: the best precision at a recall, and the best recall at a precision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Annotated, ClassVar

import numpy as np

from steelyard.core.by_group import Arrays, GroupCurve
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Between, Metric
from steelyard.core.ranking import RankingBlock
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement
from steelyard.core.weights import Floats, Weights
from steelyard.tasks.boxes.along import EQUAL, Walk
from steelyard.tasks.boxes.ranking import Detections, detections
from steelyard.tasks.boxes.settings import MOST, Most, check_ious, class_code


class PointSearch(GroupCurve):
    """The best of precision and recall where the other is at least `least`, and the score it is reached at.

    It is read of one class, `label`. `seeks` names what is sought.
    """

    ranking: Detections
    seeks: str
    least: float
    max_dets: int
    at: int
    label: str | int | None = None

    def groups(self, metadata: Metadata) -> Sequence[int] | None:
        return None if self.label is None else [class_code(metadata, self.label)]

    def read(self, block: RankingBlock, weights: Weights, metadata: Metadata) -> Floats:
        assert self.label is not None
        return self.join(iter([self.read_group(block.one(class_code(metadata, self.label)), weights)]))

    def read_group(self, block: RankingBlock, weights: Weights) -> Arrays:
        """Of detections as one ranking: the best and its score, for each row of weights."""
        walk = Walk.of(block, self.max_dets, self.at)
        score = block.events.columns["score"][walk.rows][walk.ends]
        values = [self._best(walk, score, w, objects) for w, _, objects in walk.steps(weights)]
        return (np.concatenate([np.zeros((0, 2)), *values]),)

    def _best(self, walk: Walk, score: Floats, w: Floats, objects: Floats) -> Floats:
        if not len(score):
            return np.full((len(w), 2), np.nan)
        precision, recall = rates(walk, w, objects)
        sought, other = (precision, recall) if self.seeks == "precision" else (recall, precision)
        with np.errstate(invalid="ignore"):
            sought = np.where(other >= self.least * (1 - EQUAL), sought, -1.0)
        sought = np.where(np.isnan(sought), -1.0, sought)
        best = sought.argmax(axis=1)  # the highest score among equals
        values = np.column_stack([np.take_along_axis(sought, best[:, None], axis=1)[:, 0], score[best]])
        values[values[:, 0] < 0] = np.nan
        return values

    def join(self, parts: Iterator[Arrays]) -> Floats:
        (values,) = next(parts)
        return values


class PooledPointSearch(PointSearch):
    """The working point of all classes together, at one score threshold."""

    pooled = True

    def read(self, block: RankingBlock, weights: Weights, metadata: Metadata) -> Floats:
        return self.join(iter([self.read_group(block.pooled, weights)]))


def rates(walk: Walk, w: Floats, objects: Floats) -> tuple[Floats, Floats]:
    """Precision and recall at each score of a walk: (rows, scores)."""
    tp, fp = (np.cumsum(w * flag, axis=1)[:, walk.ends] for flag in (walk.hit, ~walk.hit))
    with np.errstate(invalid="ignore", divide="ignore"):
        return tp / (tp + fp), tp / objects[:, None]


class _Sought(Metric):
    """One of precision and recall, at the score threshold where it is best and the other is high enough."""

    range = (0.0, 1.0)

    seeks: ClassVar[str]
    given: ClassVar[str]

    iou: float = 0.5
    only: str | int | None = field(default=None, metadata={"spec": "label"})
    max_dets: Most = MOST

    def check(self) -> None:
        check_ious(self, self.iou)

    @property
    def least(self) -> float:
        """What the other must reach."""
        return float(getattr(self, self.given))

    @property
    def label(self) -> str:
        whose = "" if self.only is None else f" of {self.only}"
        return f"{self.title}{whose} at {self.given} {self.least:g}, IoU {self.iou:g}"

    @property
    def search(self) -> PointSearch:
        """What is read along the ranking."""
        ranking, _, places = detections(self.iou, "all", "coco")
        kind = PooledPointSearch if self.only is None else PointSearch
        return kind(ranking, self.seeks, self.least, self.max_dets, places[0], self.only)

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.search,)

    def reduce(self, totals: TotalsView) -> Floats:
        best: Floats = totals[self.search][:, 0]
        return best

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        at = float(totals[self.search][0, 1])
        return (f"{self.label} is reached with detections of score {at:.4g} or more.",) if at == at else ()


class PrecisionAt(_Sought):
    r"""Precision at a recall: the best precision that any score threshold with at least this recall has.

    $\max \{ \mathrm{precision}(s) : \mathrm{recall}(s) \ge r \}$

    All classes together, at one score threshold; `label` asks for one class. It is the curve that average precision is
    the area under, at one place, and the report says at which score. Inside every draw the threshold is sought again.

    Undefined when no score threshold reaches the recall.

    Pros:
    - Answers what a user asks: if so many objects must be found, how many false marks come with them.

    Cons:
    - Optimistic: the threshold is chosen on the data that it is judged on.
    """

    name = "precision_at"
    title = "Precision"
    seeks = "precision"
    given = "recall"

    recall: Annotated[float, Between(1e-9, 1)] = 0.5


class RecallAt(_Sought):
    r"""Recall at a precision: the best recall that any score threshold with at least this precision has.

    $\max \{ \mathrm{recall}(s) : \mathrm{precision}(s) \ge p \}$

    All classes together, at one score threshold; `label` asks for one class. The report says at which score. Inside
    every draw the threshold is sought again.

    Undefined when no score threshold reaches the precision.

    Pros:
    - Answers what a user asks: if so many marks must be right, how many objects are found.

    Cons:
    - Optimistic: the threshold is chosen on the data that it is judged on.
    - A few false detections of high score decide it.
    """

    name = "recall_at"
    title = "Recall"
    seeks = "recall"
    given = "precision"

    precision: Annotated[float, Between(1e-9, 1)] = 0.9
