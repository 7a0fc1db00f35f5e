"""FROC and wAFROC.

FROC: how many objects are found at given numbers of false positives per image. wAFROC: how often lesions are rated
above the highest false mark of an image (Chakraborty).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from steelyard.core.by_group import Arrays, GroupCurve
from steelyard.core.errors import InvalidValue
from steelyard.core.frozen import Frozen
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Metric, Placements
from steelyard.core.pairs import Array
from steelyard.core.plan import POINT
from steelyard.core.ranking import Grouped, RankingBlock
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Ranking, Requirement, SharedCache
from steelyard.core.weights import Floats, Weights
from steelyard.tasks.boxes.along import MOST_CELLS, from_zero
from steelyard.tasks.boxes.matches import AREAS, UNCOUNTED, matches
from steelyard.tasks.boxes.pairs import CLASS, BoxPairs
from steelyard.tasks.boxes.settings import MOST, check_ious

if TYPE_CHECKING:
    from steelyard.core.state import State
from collections.abc import Iterable
from typing import Annotated, Literal

from steelyard.core.metric import Between
from steelyard.core.statistic import Statistic
from steelyard.tasks.boxes.along import EQUAL, Walk, class_means
from steelyard.tasks.boxes.matches import Matches, overlaps
from steelyard.tasks.boxes.ranking import ranking_columns, ranking_of
from steelyard.tasks.boxes.settings import Most, with_cap

RATES = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # false positives per image, as LUNA16 has them

Repeats = Literal["ignore", "wrong"]
SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


class FirstHits(Ranking):
    """Detections with score, hit and ignored at one IoU; a repeated hit of an object is ignored, or else false."""

    name = "boxes.first_hits"

    iou: float
    repeats: str
    max_dets: int

    @property
    def columns(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        return ranking_columns(1)

    def measure(self, pairs: BoxPairs, cache: SharedCache) -> RankingBlock:
        every = matches(pairs, cache, (self.iou,), (AREAS["all"],), MOST)
        block, m = ranking_of(every), every[0]
        if self.repeats == "wrong":
            return block
        rows = np.flatnonzero(m.places())
        ignored = block.events.columns["ignored0"] | repeated_hits(pairs, m, self.iou)[rows]
        events = Grouped(block.events.begin, block.events.unit, {**block.events.columns, "ignored0": ignored})
        return RankingBlock(block.axis, events, block.positives)

    def earlier(self, stored: Iterable[Statistic]) -> tuple[Statistic, str] | None:
        """Versions before 0.3 kept it with a cap."""
        return with_cap(self, stored)


def repeated_hits(s: BoxPairs, m: Matches, iou: float) -> Array:
    """A flag for each place of a detection that hits an object of its class which another one took."""
    flags = np.zeros(len(m.order), dtype=bool)
    hit, ignored = m.bit(0)
    left = np.flatnonzero(m.places() & ~hit & ~ignored)
    truths = np.flatnonzero((s.flags & UNCOUNTED) == 0)
    left, truths = left[np.argsort(m.image[left], kind="stable")], truths[np.argsort(s.image[truths], kind="stable")]
    images = np.intersect1d(m.image[left], s.image[truths])
    ends = [np.searchsorted(where, images, side=side) for where in (m.image[left], s.image[truths]) for side in SIDES]
    for d_from, d_to, t_from, t_to in zip(*ends, strict=True):
        d, t = left[d_from:d_to], truths[t_from:t_to]
        rows = m.order[d]
        near = overlaps(s, rows, t) >= iou
        flags[d] = (near & (s.d_label[rows][:, None] == s.label[t][None, :])).any(axis=1)
    return flags


class FrocCurve(GroupCurve):
    """The share of objects found at each number of false positives per image: means over the classes with truth."""

    ranking: FirstHits
    rates: tuple[float, ...]

    def read(self, block: RankingBlock, weights: Weights, metadata: Metadata) -> Floats:
        return self.join(self.read_group(block.one(k), weights) for k in range(block.groups))

    def read_group(self, block: RankingBlock, weights: Weights) -> Arrays:
        walk = Walk.of(block, self.ranking.max_dets)
        shares = [self._shares(walk, *step) for step in walk.steps(weights)]
        return (np.concatenate([np.zeros((0, len(self.rates))), *shares]),)

    def _shares(self, walk: Walk, w: Floats, images: Floats, objects: Floats) -> Floats:
        tp, fp = (from_zero(np.cumsum(w * flag, axis=1)[:, walk.ends]) for flag in (walk.hit, ~walk.hit))
        values = np.empty((len(w), len(self.rates)))
        for place, rate in enumerate(self.rates):
            most = (rate * images)[:, None]
            low = np.count_nonzero(fp <= most * (1 + EQUAL), axis=1)[:, None] - 1  # the last place that is not beyond
            high = np.minimum(low + 1, fp.shape[1] - 1)
            tp_low, tp_high, fp_low, fp_high = (np.take_along_axis(v, i, 1) for v in (tp, fp) for i in (low, high))
            between = (fp_high > fp_low) & (fp_low < most * (1 - EQUAL))
            gap = np.where(between, fp_high - fp_low, 1.0)
            values[:, place] = (tp_low + np.where(between, (tp_high - tp_low) * (most - fp_low) / gap, 0.0))[:, 0]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(objects[:, None] > 0, values / objects[:, None], np.nan)

    def join(self, parts: Iterator[Arrays]) -> Floats:
        return class_means(parts, len(self.rates))


class _AlongFroc(Metric):
    """What is read along the curve of found objects against false positives per image."""

    reference = "LUNA16's evaluation script"
    range = (0.0, 1.0)

    iou: float = 0.5
    repeats: Repeats = "ignore"
    max_dets: Most = MOST

    def check(self) -> None:
        check_ious(self, self.iou)

    @property
    def rates(self) -> tuple[float, ...]:
        """The false positives per image that it is read at."""
        return RATES

    @property
    def curve(self) -> FrocCurve:
        """What is read along the ranking."""
        return FrocCurve(FirstHits(float(self.iou), self.repeats, self.max_dets), self.rates)

    def requirements(self) -> tuple[Requirement, ...]:
        """The ranking with first hits."""
        return (self.curve,)

    def reduce(self, totals: TotalsView) -> Floats:
        values: Floats = totals[self.curve].mean(axis=1)
        return values


class Sensitivity(_AlongFroc):
    r"""Sensitivity at a number of false positives per image: one point of the FROC curve.

    $\mathrm{sensitivity@}x = \mathrm{TP} \;/\; \mathrm{P} \;\mathrm{ where }\; \mathrm{FP} = x \cdot \mathrm{images}$

    Detections are taken from the highest score down until there are `fppi` false positives per image; between two
    scores the curve is straight. A repeated hit of an object counts neither way, as in LUNA16; `repeats=wrong` takes it
    for a false positive. The mean over classes that have truth.

    Undefined when no class has truth.

    Pros:
    - A working point that a reader can picture: so many false marks per image.
    - Models are compared at the same cost, whatever their scores mean.

    Cons:
    - Depends on the number of images without objects.
    """

    name = "sensitivity"
    title = "Sensitivity"
    at = "fppi"

    fppi: Annotated[float, Between(1e-6, 1e6)] = 1.0

    @property
    def label(self) -> str:
        return f"Sensitivity at {self.fppi:g} false positives per image"

    @property
    def rates(self) -> tuple[float, ...]:
        return (float(self.fppi),)


class CompetitionMetric(_AlongFroc):
    r"""Competition performance metric (CPM): the mean sensitivity at 1/8, 1/4, 1/2, 1, 2, 4 and 8 false positives.

    $\mathrm{CPM} = \frac{1}{7} \sum_{j=-3}^{3} \mathrm{sensitivity@}2^j$

    What LUNA16 ranks the detectors of nodules by. False positives are per image (there, per scan); `sensitivity` has
    the rules. A hit is by IoU here and by distance there.

    Undefined when no class has truth.

    Pros:
    - One number for the whole range in which a reader would use marks.

    Cons:
    - Half of it is about fewer than one false positive per image, where few detections decide.
    """

    name = "cpm"
    title = "FROC: mean sensitivity (CPM)"


NORMAL, EVERY = 0, 1  # the images that lesions are compared with: columns of what the curves give


class LesionMarks(Ranking):
    """By class: the highest mark on each lesion, and the highest false mark of each image.

    A lesion's mark has the lesion's share of its image, and a false mark 0. Positives are the images with lesions.
    """

    name = "boxes.lesion_marks"

    iou: float

    @property
    def columns(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        return {"score": "f", "hit": "u", "share": "f"}, {}

    def measure(self, pairs: BoxPairs, cache: SharedCache) -> RankingBlock:
        """The marks that count; repeated marks on a lesion and marks on ignored objects do not."""
        m = matches(pairs, cache, (self.iou,), (AREAS["all"],), MOST)[0]
        hit, ignored = m.bit(0)
        counted, share, cell = _shares(pairs)
        classes, label = max(pairs.classes, 1), m.label
        false = np.flatnonzero(m.places() & ~hit & ~ignored & ~repeated_hits(pairs, m, self.iou))
        highest = false[np.unique(m.image[false].astype(np.int64) * classes + label[false], return_index=True)[1]]
        places = np.sort(np.concatenate([np.flatnonzero(hit & ~ignored), highest]))  # by class and falling score
        on_lesion = hit[places]
        shares = np.zeros(len(places))
        shares[on_lesion] = share[m.partner[places[on_lesion]]]
        ends = np.arange(pairs.classes + 1)
        events = {"score": m.score[places], "hit": on_lesion.astype(np.uint8), "share": shares}
        cells = np.unique(cell[counted])
        cells = cells[np.argsort(cells % classes, kind="stable")]  # by class and image
        return RankingBlock(
            CLASS,
            Grouped(np.searchsorted(label[places], ends).astype(np.int64), m.image[places], events),
            Grouped(np.searchsorted(cells % classes, ends).astype(np.int64), (cells // classes).astype(np.int32), {}),
        )


def _shares(pairs: BoxPairs) -> tuple[Array, Floats, Array]:
    """Lesions that count, the share of each in the lesions of its class and image, and that class and image."""
    counted = (pairs.flags & UNCOUNTED) == 0
    cell = pairs.image.astype(np.int64) * max(pairs.classes, 1) + pairs.label
    weight = np.where(counted, 1.0 if pairs.lesion_weight is None else pairs.lesion_weight, 0.0)
    cells, place = np.unique(cell, return_inverse=True)
    total = np.bincount(place, weights=weight, minlength=len(cells))[place]
    empty = np.flatnonzero(counted & (total <= 0))
    if len(empty):
        row = int(empty[0])
        raise InvalidValue(
            f"image '{pairs.units[pairs.image[row]]}': the lesion weights of class "
            f"'{pairs.metadata.axes[CLASS].display_names[pairs.label[row]]}' add up to 0",
            where=pairs.truth.source,
            remedy="Give at least one lesion of the image a weight above 0 in the column 'lesion_weight'.",
        )
    with np.errstate(invalid="ignore"):
        return counted, np.where(counted, weight / total, 0.0), cell


class _Marks(Frozen):
    """The marks of one class: rows of weights become areas, and cases become placements."""

    unit: Array
    share: Floats  # of the lesion that a mark is on; 0 for a false mark
    false: Floats  # 1 for a false mark
    ends: Array  # places of the last mark of each score
    diseased: Array  # images with lesions

    @staticmethod
    def of(block: RankingBlock) -> _Marks:
        e = block.events
        score, hit = e.columns["score"], e.columns["hit"] > 0
        ends = np.flatnonzero(np.append(score[1:] != score[:-1], True)) if len(score) else np.zeros(0, np.int64)
        return _Marks(e.unit, e.columns["share"], (~hit).astype(np.float64), ends, np.unique(block.positives.unit))

    def among(self, units: int) -> tuple[tuple[Floats, Array], ...]:
        """For the normal images and for all: the false marks of those, and a flag for each image."""
        normal = np.ones(units, dtype=bool)
        normal[self.diseased] = False
        return (self.false * normal[self.unit], normal), (self.false, np.ones(units, dtype=bool))

    def areas(self, rows: Floats) -> Floats:
        """The two areas for each row of weights: (rows, 2)."""
        weight = rows[:, self.unit]
        hits = from_zero(np.cumsum(weight * self.share, axis=1)[:, self.ends])
        lesions = rows[:, self.diseased].sum(axis=1)
        missed = np.maximum(lesions - hits[:, -1], 0.0)
        values = np.full((len(rows), 2), np.nan)
        for column, (false, others) in enumerate(self.among(rows.shape[1])):
            marked = from_zero(np.cumsum(weight * false, axis=1)[:, self.ends])
            images = rows[:, others].sum(axis=1)
            below = images[:, np.newaxis] - (marked[:, 1:] + marked[:, :-1]) / 2  # images with equal marks count half
            area = (np.diff(hits, axis=1) * below).sum(axis=1)
            area += missed * np.maximum(images - marked[:, -1], 0.0) / 2  # no mark against no mark
            with np.errstate(invalid="ignore", divide="ignore"):
                values[:, column] = np.where((lesions > 0) & (images > 0), area / (lesions * images), np.nan)
        return np.asarray(np.clip(values, 0.0, 1.0))

    def placements(self, units: int) -> Floats:
        """For normal images and for all: the diseased images and the squares of their placements around the area, then
        the same of the normal images. A diseased image among all is also one of those that lesions are compared
        with."""
        moments = np.zeros((2, 4))
        m = len(self.diseased)
        step = np.searchsorted(self.ends, np.arange(len(self.unit)))  # the step of each mark
        for column, (false, others) in enumerate(self.among(units)):
            images = int(others.sum())
            if not m or not images:
                continue
            hits, marked = (from_zero(np.cumsum(v)[self.ends][np.newaxis])[0] for v in (self.share, false))
            missed, unmarked = max(m - hits[-1], 0.0), images - marked[-1]
            below = (images - (marked[1:] + marked[:-1]) / 2)[step] / images
            above = ((hits[1:] + hits[:-1]) / 2)[step] / m
            lesion = np.bincount(self.unit, weights=self.share * below, minlength=units)
            unseen = 1 - np.bincount(self.unit, weights=self.share, minlength=units)
            lesion = lesion + np.maximum(unseen, 0.0) * unmarked / 2 / images
            image = np.full(units, (hits[-1] + missed / 2) / m)
            image[self.unit[false > 0]] = above[false > 0]
            area = float(lesion[self.diseased].mean())
            moved = lesion[self.diseased] - area
            if column == EVERY:
                moved = moved + m / images * (image[self.diseased] - area)
            normal = np.setdiff1d(np.arange(units), self.diseased, assume_unique=True)
            moments[column] = m, float((moved**2).sum()), len(normal), float(((image[normal] - area) ** 2).sum())
        return moments.reshape(1, -1)


class MarkCurve(GroupCurve):
    """The area against normal images and that against all, as means over the classes; then how many classes those
    are."""

    ranking: LesionMarks

    def read(self, block: RankingBlock, weights: Weights, facts: Metadata) -> Floats:
        return self.join(self.read_group(block.one(k), weights) for k in range(block.groups))

    def read_group(self, block: RankingBlock, weights: Weights) -> Arrays:
        marks = _Marks.of(block)
        step = max(1, MOST_CELLS // max(1, len(marks.unit)))
        parts = [
            marks.areas(np.asarray(rows[start : start + step], dtype=np.float64))
            for rows in weights.blocks()
            for start in range(0, len(rows), step)
        ]
        return (np.concatenate([np.zeros((0, 2)), *parts]),)

    def join(self, parts: Iterator[Arrays]) -> Floats:
        """Means over the classes where each is defined, and the number of those classes."""
        every = [part for (part,) in parts] or [np.full((1, 2), np.nan)]
        total, count = np.zeros_like(every[0]), np.zeros_like(every[0])
        for part in every:
            total, count = total + np.nan_to_num(part), count + ~np.isnan(part)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.concatenate([np.where(count > 0, total / count, np.nan), count], axis=1)


class MarkPlacements(GroupCurve):
    """The placements of cases where one class alone has lesions; None where several have."""

    ranking: LesionMarks

    drawn = False

    def read(self, block: RankingBlock, weights: Weights, facts: Metadata) -> Floats | None:
        return self.join(self.read_group(block.one(k), weights) for k in range(block.groups))

    def read_group(self, block: RankingBlock, weights: Weights) -> Arrays:
        """Of one class, whatever the images weigh."""
        return (_Marks.of(block).placements(weights.units),)

    def join(self, parts: Iterator[Arrays]) -> Floats | None:
        placed: list[Floats] = [part.reshape(2, 4) for (part,) in parts if part[0, 4 * EVERY] > 0]
        return placed[0] if len(placed) == 1 else None


class WeightedAfroc(Metric):
    r"""wAFROC area: the chance that a lesion is rated above the highest false mark of an image without lesions.

    $\mathrm{wAFROC} = \frac{1}{D} \sum_c \sum_l w_{cl} \frac{1}{N} \sum_k \psi(z_{cl}, f_k), \quad
    \psi = [z > f] + \tfrac{1}{2} [z = f]$

    For lesion detection, where the case is the image: $z_{cl}$ is the score of the highest mark on lesion $l$ of the
    diseased image $c$, and $f_k$ that of the highest false mark of the normal image $k$. A lesion or an image without a
    mark is below every mark, and equal to others without one. The weights of an image's lesions add up to 1: they are
    equal, or as the truth's column `lesion_weight` says. Marks are matched as detections are: by class, the highest
    score first, from an IoU of `iou` on; further marks on a lesion that is found count neither way, nor do marks on
    ignored objects. An image is normal for a class if it has no lesion of it that counts. The mean over the classes
    that have lesions.

    Undefined when no class has lesions, or every image has lesions of each class that has.

    Pros:
    - Uses the score of every lesion, and every image weighs the same, however many lesions it has.
    - Needs no threshold, and does not change with the scale of scores.

    Cons:
    - False marks count only in images without lesions; `wafroc1` counts them in all.
    - Of an image's false marks only the highest counts.
    """

    name: ClassVar[str] = "wafroc"
    title: ClassVar[str] = "wAFROC area"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    column: ClassVar[int] = NORMAL

    iou: float = 0.5

    def check(self) -> None:
        check_ious(self, self.iou)

    @property
    def curve(self) -> MarkCurve:
        """The areas of the classes."""
        return MarkCurve(LesionMarks(float(self.iou)))

    def requirements(self) -> tuple[Requirement, ...]:
        return self.curve, MarkPlacements(self.curve.ranking)

    def reduce(self, totals: TotalsView) -> Floats:
        values: Floats = totals[self.curve][:, self.column]
        return values

    def placements(self, state: State) -> Placements | None:
        """Of images, where one class has lesions."""
        placed: Floats | None = state.totals(POINT)[MarkPlacements(self.curve.ranking)]
        if placed is None:
            return None
        diseased, lesions, normal, images = placed[self.column].tolist()
        part = 1.0 if self.column == NORMAL else normal / (diseased + normal)
        return Placements((int(diseased), int(normal)), (lesions, images), part, ("diseased image", "normal image"))

    def undefined_reason(self, totals: TotalsView) -> str:
        """Whether there are no lesions, or no images without them."""
        if self.column == NORMAL and totals[self.curve][0, 2 + EVERY] > 0:
            return (
                "every image has lesions: there is no normal image to compare with (wafroc1 compares with all images)"
            )
        return "no class has lesions"

    def excluded(self, totals: TotalsView) -> tuple[float, str]:
        counts = totals[self.curve][0, 2:]
        return float(counts[EVERY] - counts[self.column]), "classes with lesions in every image"


class WeightedAfroc1(WeightedAfroc):
    r"""wAFROC1 area: the chance that a lesion is rated above the highest false mark of an image, diseased or not.

    $\mathrm{wAFROC1} = \frac{1}{D} \sum_c \sum_l w_{cl} \frac{1}{D + N} \sum_k \psi(z_{cl}, f_k)$

    As `wafroc`, with the highest false mark of every image, those with lesions among them.

    Undefined when no class has lesions.

    Pros:
    - Defined without normal images, as in a set that holds diseased cases only.
    - Counts false marks in every image.

    Cons:
    - Depends on the share of images with lesions, which often have other false marks than normal ones.
    """

    name = "wafroc1"
    title = "wAFROC1 area"
    column = EVERY
