"""KITTI's average precision and its orientation similarity: by view, level and class, over 11 or 40 recalls."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, ClassVar, Literal

import numpy as np

from steelyard.core.metadata import Metadata
from steelyard.core.metric import Between, Metric
from steelyard.core.ranking import RankingBlock
from steelyard.core.state import TotalsView
from steelyard.core.statistic import RankingReader, Requirement
from steelyard.core.weights import Floats, Weights
from steelyard.tasks.boxes3d.statistics import KittiAreas, KittiEvents, can_view, truths_of

PLACES = 41
R11, R40, AOS11, AOS40 = range(4)


def mean_of_defined(values: Floats) -> Floats:
    """The mean along the last axis of what is defined there, added from first to last."""
    total, count = np.zeros(values.shape[:-1]), np.zeros(values.shape[:-1])
    for place in range(values.shape[-1]):
        there = ~np.isnan(values[..., place])
        total = total + np.where(there, values[..., place], 0.0)
        count = count + there
    mean: Floats = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return mean


class KittiTruths(RankingReader):
    """How many truths of each class count: (rows, classes)."""

    ranking: KittiEvents

    def read(self, block: RankingBlock, weights: Weights, metadata: Metadata) -> Floats:
        counts = [weights @ truths_of(block.one(group), weights.units) for group in range(block.groups)]
        return np.stack(counts, axis=1) if counts else np.zeros((weights.rows, 0))


class KittiMetric(Metric):
    """A number from KITTI's 41 places, in percent."""

    range = (0.0, 100.0)
    measured_in = "%"
    reaches_best = False
    by_count = True

    positions_of: ClassVar[tuple[int, int]]

    level: Annotated[str, Literal["easy", "moderate", "hard", "all"]] = "moderate"
    positions: Annotated[int, Literal[11, 40]] = 40
    overlap: Literal["strict", "loose"] | Annotated[float, Between(0, 1)] = "strict"
    only: str | None = field(default=None, metadata={"spec": "label"})

    @property
    def view_name(self) -> str:
        """The view."""
        return "bbox"

    @property
    def events(self) -> KittiEvents:
        """What it is made of."""
        return KittiEvents(self.view_name, self.level, self.overlap)

    @property
    def label(self) -> str:
        """Names the class, the view, and what is not usual."""
        return self.title_in_view(self.title)

    def title_in_view(self, view: str) -> str:
        """The class and the view, then what is not usual: another level, recalls or overlap."""
        parts = [view] if self.only is None else [str(self.only), view]
        parts += [] if self.level == "moderate" else [self.level]
        parts += [] if self.positions == 40 else [f"R{self.positions}"]
        parts += [] if self.overlap == "strict" else [str(self.overlap)]
        return " ".join(parts)

    def requirements(self) -> tuple[Requirement, ...]:
        return KittiAreas(self.events), KittiTruths(self.events), self.events

    def reduce(self, totals: TotalsView) -> Floats:
        areas: Floats = totals[KittiAreas(self.events)]
        if not self.possible(totals.metadata):
            return np.full(totals.rows, np.nan)
        place = self.positions_of[self.positions == 40]
        if self.only is not None:
            code = totals.metadata.axes["class"].find(self.only)
            return np.full(totals.rows, np.nan) if code < 0 else areas[:, code, place]
        return mean_of_defined(areas[..., place])

    def possible(self, metadata: Metadata) -> bool:
        """Whether the data hold what it looks at."""
        return can_view(metadata, self.view_name, self.level)

    def undefined_reason(self, totals: TotalsView) -> str:
        """Say what the data lack, that the class is not there, or what the docstring says."""
        if not self.possible(totals.metadata):
            return self.lacking(totals.metadata)
        if self.only is not None and totals.metadata.axes["class"].find(self.only) < 0:
            return f"there is no class '{self.only}'"
        return self.documented_reason()

    def lacking(self, metadata: Metadata) -> str:
        """What the data lack."""
        if self.view_name == "bbox" and "image" not in metadata.holds:
            return "both sides need the box in the image: left, top, right, bottom"
        if self.view_name != "bbox" and "place" not in metadata.holds:
            return "both sides need a place in space: x, y, z, length, width, height, yaw"
        return "levels need the box in the image, or a column 'difficulty'; level=all takes every truth"

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        if not self.possible(totals.metadata):
            return ()
        counts = totals[KittiTruths(self.events)][0]
        shown = totals.metadata.axes["class"].display_names
        chosen = range(len(shown)) if self.only is None else [totals.metadata.axes["class"].find(self.only)]
        notes = []
        for code in chosen:
            if code >= 0 and 0 < counts[code] < PLACES:
                many = round(float(counts[code]))
                best = (many - 1) / 40 if self.positions == 40 else ((many - 1) // 4 + 1) / 11
                notes.append(
                    f"KITTI's sampling cannot reach 100 with {many} {'truth' if many == 1 else 'truths'} of "
                    f"{shown[code]}{'' if self.level == 'all' else f', {self.level}'}: a perfect result would be "
                    f"{100 * best:.1f}."
                )
        return tuple(notes)


class KittiAp(KittiMetric):
    r"""KITTI AP: average precision as KITTI has it, over 40 recalls (R40) or 11 (R11), in percent.

    $\mathrm{AP}_{40} = \frac{100}{40} \sum_{k=1}^{40} \max_{j \ge k} \mathrm{precision}_j$

    41 thresholds of score are chosen so that recall rises by about 1/40. At each of them frames are matched again; the
    precision at a place is the best at it or behind it. The view is the image (bbox), the ground (bev) or space (3d);
    the level says which truths count, and all others, like vans beside cars, count neither way.
    overlap=loose asks less on the ground and in space. Without a label it is the mean of the classes.

    Undefined when no truth of the class counts.

    Pros:
    - The number of KITTI's tables, from its own files.

    Cons:
    - With fewer than 41 truths even a perfect result is below 100.
    - R11 counts recall 0, and is higher than R40 for the same result.
    """

    name = "kitti_ap"
    title = "KITTI AP"
    reference = "KITTI devkit_object, evaluate_object.cpp"
    positions_of = (R11, R40)

    view: Annotated[str, Literal["bbox", "bev", "3d"]] = "3d"

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        """Space, the ground by 11 recalls, the image, every truth."""
        return cls(), cls(view="bev", positions=11, overlap="loose"), cls(view="bbox", level="easy"), cls(level="all")

    @property
    def view_name(self) -> str:
        return self.view

    @property
    def label(self) -> str:
        """Names the class, the view, and what is not usual."""
        return self.title_in_view({"bbox": "2D", "bev": "BEV", "3d": "3D"}[self.view])


class Aos(KittiMetric):
    r"""AOS: average orientation similarity, KITTI AP in the image with every match weighed by its heading.

    $\mathrm{AOS}_{40} = \frac{100}{40} \sum_{k=1}^{40} \max_{j \ge k} \frac{s_j}{\mathrm{TP}_j + \mathrm{FP}_j}, \quad
    s = \sum \frac{1 + \cos \Delta\alpha}{2}$

    A match whose angle alpha is right counts 1, one that looks the other way 0.

    Undefined when no truth of the class counts, or a prediction has no alpha (-10).

    Pros:
    - Never above the AP of the image, so that the gap between them is what headings cost.

    Cons:
    - Overlap is that of the image: it does not say whether the place in space is right.
    """

    name = "aos"
    title = "AOS"
    reference = "KITTI devkit_object, evaluate_object.cpp"
    positions_of = (AOS11, AOS40)

    def possible(self, metadata: Metadata) -> bool:
        return KittiMetric.possible(self, metadata) and "alpha" in metadata.holds

    def lacking(self, metadata: Metadata) -> str:
        if KittiMetric.possible(self, metadata):
            return "a prediction has no alpha (-10), and KITTI then scores no orientation"
        return KittiMetric.lacking(self, metadata)


KITTI_METRICS: tuple[type[Metric], ...] = (KittiAp, Aos)
