"""Panoptic quality and its two factors."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import field as setting
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np

from steelyard.core.block import CellsBlock
from steelyard.core.counts import count_text
from steelyard.core.errors import UnknownName, nearest
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Between, Metric
from steelyard.core.numerals import as_spec
from steelyard.core.plan import POINT
from steelyard.core.statistic import Cells, Requirement, SharedCache
from steelyard.core.weights import Array, Floats, ratio
from steelyard.tasks.panoptic.data import PanopticPairs
from steelyard.tasks.panoptic.segments import Fits
from steelyard.tasks.segmentation.overlap import mean_defined, units_having

if TYPE_CHECKING:
    from steelyard.core.state import State

OVERLAP, TP, FP, FN, THING, STUFF = range(6)


class SegmentCounts(Cells):
    """Segments of each class: the sum of the pairs' overlaps, pairs, false ones, missed ones, things and stuff.

    A pair overlaps by more than `iou`; `overlap` is that of masks, or the lesser of those of masks and boundaries.
    """

    iou: float = 0.5
    overlap: str = "mask"

    name: ClassVar[str] = "panoptic.segments"

    def measure(self, pairs: PanopticPairs, cache: SharedCache) -> CellsBlock:
        fits: Fits = pairs.fits if self.overlap == "mask" else cache.once("boundary", lambda: pairs.overlap_fits(0.02))
        match = fits.overlap > self.iou
        owner = np.concatenate([fits.owner, fits.lone_owner])
        label = np.concatenate([fits.category, fits.lone_category])
        table = np.zeros((len(owner), 6))
        n = len(match)
        table[:n, OVERLAP] = np.where(match, fits.overlap, 0.0)
        table[:n, TP] = match
        table[:n, FP] = ~match & ~fits.pardoned
        table[:n, FN] = ~match
        table[n:, FP : FN + 1] = fits.lone
        things = np.isin(np.array(pairs.metadata.axes["class"].ids, dtype=np.int64)[label], list(pairs.things))
        every = table[:, TP : FN + 1].sum(axis=1)
        table[:, THING], table[:, STUFF] = every * things, every * ~things
        row, column = np.nonzero(table)
        return CellsBlock.of(("class", 6), pairs.metadata, owner[row], label[row] * 6 + column, table[row, column])


class StuffOverlaps(Cells):
    """True segments of stuff: the sum of their largest overlaps with a prediction of their class, and their number."""

    name: ClassVar[str] = "panoptic.stuff"

    def measure(self, pairs: PanopticPairs, cache: SharedCache) -> CellsBlock:
        true, ids = pairs.segments[0], np.array(pairs.metadata.axes["class"].ids, dtype=np.int64)
        stuff = np.flatnonzero(~true.crowd & ~np.isin(true.category, list(pairs.things)))
        owner, label = pairs.owner[true.pair[stuff]], np.searchsorted(ids, true.category[stuff])
        table = np.stack([pairs.fits.best[stuff], np.ones(len(stuff))], axis=1)
        row, column = np.nonzero(table)
        return CellsBlock.of(("class", 2), pairs.metadata, owner[row], label[row] * 2 + column, table[row, column])


class Quality(Metric):
    """Base of the three: `of` says of which classes the mean is, `label` names one class alone."""

    range = (0.0, 1.0)

    of: Annotated[str, Literal["all", "things", "stuff", "each"]] = "all"
    only: str | int | None = setting(default=None, metadata={"spec": "label"})
    iou: Annotated[float, Between(0.5, 1.0)] = 0.5
    overlap: Literal["mask", "boundary"] = "mask"

    @property
    def label(self) -> str:
        suffix = {"things": " of things", "stuff": " of stuff"}.get(self.of, "")
        suffix += f": {self.only}" if self.only is not None else ""
        suffix += f", IoU {self.iou:g}" if self.iou != 0.5 else ""
        return f"{self.title}{suffix}" + (", boundary" if self.overlap == "boundary" else "")

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(), cls(of="things"), cls(of="stuff"))

    def expand(self, metadata: Metadata) -> tuple[Metric, ...]:
        """One for each class where that is asked for."""
        if self.of == "each":
            names = metadata.axes["class"].display_names
            return tuple(replace(self, of="all", only=as_spec(name)) for name in names)
        if self.only is not None and metadata.axes["class"].find(self.only) < 0:
            known = metadata.axes["class"].display_names
            raise UnknownName(f"there is no class '{self.only}'", remedy=nearest(str(self.only), known))
        return (self,)

    def statistic(self) -> SegmentCounts:
        """Where the segments are counted."""
        return SegmentCounts(self.iou, self.overlap)

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.statistic(),)

    @abstractmethod
    def each(self, cells: Floats) -> Floats:
        """The figure of every class."""

    def _kept_classes(self, cells: Floats) -> Any:
        column = {"things": THING, "stuff": STUFF}.get(self.of)
        every = cells[:, :, TP : FN + 1].sum(axis=2) > 0
        return every if column is None else every & (cells[:, :, column] > 0)

    def reduce(self, totals: Any) -> Floats:
        cells = totals[self.statistic()]
        values, included = self.each(cells), self._kept_classes(cells)
        if self.only is not None:
            place = totals.metadata.axes["class"].find(self.only)
            return np.where(included[:, place], values[:, place], np.nan) if place >= 0 else totals.undefined()
        return mean_defined(values, included)

    def class_scores(self, totals: Any) -> Floats | None:
        cells = totals[self.statistic()]
        return None if self.only is not None else np.where(self._kept_classes(cells), self.each(cells), np.nan)

    def class_truth(self, state: State) -> Array | None:
        return segments_true(state, self.statistic())

    def part_units(self, state: State) -> Floats | None:
        return images_with_segments(state, self.statistic())

    def excluded(self, totals: Any) -> tuple[float, str]:
        """Classes without a segment."""
        cells = totals[self.statistic()]
        if self.of != "all" or self.only is not None:
            return 0, ""
        return float((~self._kept_classes(cells))[0].sum()), "classes that have no segment"


def segments_true(state: State, statistic: SegmentCounts) -> Array:
    """Whether the truth has a segment of each class."""
    cells = state.totals(POINT)[statistic][0]
    return np.asarray(cells[:, TP] + cells[:, FN] > 0)


def images_with_segments(state: State, statistic: SegmentCounts) -> Floats:
    """How many images, or clusters, have a segment of each class."""
    return units_having(state, statistic, THING, STUFF)


class PanopticQuality(Quality):
    r"""Panoptic quality: how well segments are found and how well they fit.

    $\mathrm{PQ}_c = \frac{\sum_{(g,p) \in TP_c} \mathrm{IoU}(g,p)}{|TP_c| + \tfrac12 |FP_c| + \tfrac12 |FN_c|}$

    The mean over classes that have a segment (Kirillov et al. 2019). A true and a predicted segment of one class are a
    pair if their IoU is above 0.5, so that no segment has two. What is mostly on void, or on a crowd of its class,
    counts neither way. `pq(of=things)`, `pq(of=stuff)`, `pq(label=car)`; `pq(of=each)` is one for each class;
    `pq(overlap=boundary)` takes the lesser of IoU and boundary IoU; `pq(iou=0.75)` asks for more overlap.

    Undefined when no class of the kind has a segment.

    Pros:
    - One number for things and stuff.
    - No score threshold, and no matching to tune.

    Cons:
    - Small segments count as much as large ones.
    - A segment just below the threshold costs twice: one false, one missed.
    """

    name: ClassVar[str] = "pq"
    title: ClassVar[str] = "Panoptic quality"
    reference: ClassVar[str] = "panopticapi 7bb46555"

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (*super().examples(), cls(overlap="boundary"), cls(iou=0.75))

    def each(self, cells: Floats) -> Floats:
        return ratio(cells[:, :, OVERLAP], cells[:, :, TP] + 0.5 * cells[:, :, FP] + 0.5 * cells[:, :, FN])


class SegmentationQuality(Quality):
    r"""Segmentation quality: the mean IoU of the segments that were found.

    $\mathrm{SQ}_c = \frac{\sum_{(g,p) \in TP_c} \mathrm{IoU}(g,p)}{|TP_c|}$

    The mean over classes. A class without a pair counts as 0, as in panopticapi; `sq(matched=true)` leaves it out.

    Undefined when no class of the kind has a segment.

    Pros:
    - Says how well outlines fit, apart from what is missed.

    Cons:
    - Says nothing of what is missed, but for classes that are missed completely.
    """

    name: ClassVar[str] = "sq"
    title: ClassVar[str] = "Segmentation quality"
    reference: ClassVar[str] = "panopticapi 7bb46555"

    matched: bool = False

    def each(self, cells: Floats) -> Floats:
        values = ratio(cells[:, :, OVERLAP], cells[:, :, TP])
        return values if self.matched else np.nan_to_num(values)

    def notes(self, totals: Any) -> tuple[str, ...]:
        cells = totals[self.statistic()]
        if self.matched or self.only is not None:
            return ()
        none = int((self._kept_classes(cells) & (cells[:, :, TP] == 0))[0].sum())
        return (f"{count_text(none, 'class', 'have')} no pair, which counts as 0 in sq.",) if none else ()


class RecognitionQuality(Quality):
    r"""Recognition quality: the F1 of segments.

    $\mathrm{RQ}_c = \frac{|TP_c|}{|TP_c| + \tfrac12 |FP_c| + \tfrac12 |FN_c|}$

    The mean over classes. PQ is SQ times RQ in each class, not of the means.

    Undefined when no class of the kind has a segment.

    Pros:
    - Says how much is found and how much is made up.

    Cons:
    - Says nothing of how well outlines fit beyond the threshold.
    """

    name: ClassVar[str] = "rq"
    title: ClassVar[str] = "Recognition quality"
    reference: ClassVar[str] = "panopticapi 7bb46555"

    def each(self, cells: Floats) -> Floats:
        return ratio(cells[:, :, TP], cells[:, :, TP] + 0.5 * cells[:, :, FP] + 0.5 * cells[:, :, FN])


class PanopticQualityDagger(Metric):
    r"""PQ†: panoptic quality whose stuff classes need no overlap of a half.

    $\mathrm{PQ}^\dagger_c = \frac{1}{|S_c|} \sum_{s \in S_c} \mathrm{IoU}(s, \hat s)$

    That is for stuff; things have their PQ. S_c are the true segments of a stuff class, ŝ the prediction of the class
    in the same image that overlaps s most (Porzi et al. 2019). The mean over classes. S_c is empty for stuff that is
    predicted and never true: such a class is left out of the mean, or counts as 0 with `classes=union`, as it does in
    PQ. Things that are predicted alone count as 0 either way.

    Undefined when no class has a segment.

    Pros:
    - A large region that is found by a little less than half is not a failure.

    Cons:
    - Stuff that is made up in images without it is free.
    """

    range = (0.0, 1.0)

    name: ClassVar[str] = "pq_dagger"
    title: ClassVar[str] = "PQ†"

    classes: Literal["truth", "union"] = "truth"

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(), cls(classes="union"))

    def requirements(self) -> tuple[Requirement, ...]:
        return (SegmentCounts(), StuffOverlaps())

    def reduce(self, totals: Any) -> Floats:
        """The mean over classes that have a segment; of stuff, a true one."""
        return mean_defined(self.class_scores(totals))

    def class_scores(self, totals: Any) -> Floats:
        cells, stuff = totals[SegmentCounts()], totals[StuffOverlaps()]
        things = ratio(cells[:, :, OVERLAP], cells[:, :, TP] + 0.5 * cells[:, :, FP] + 0.5 * cells[:, :, FN])
        values = np.where(stuff[:, :, 1] > 0, ratio(stuff[:, :, 0], stuff[:, :, 1]), things)
        included = (stuff[:, :, 1] > 0) | (cells[:, :, THING] > 0)
        return np.where(included | self._made_up(totals) if self.classes == "union" else included, values, np.nan)

    def class_truth(self, state: State) -> Array | None:
        return segments_true(state, SegmentCounts())

    def part_units(self, state: State) -> Floats | None:
        return images_with_segments(state, SegmentCounts())

    def _made_up(self, totals: Any) -> Any:
        """Stuff that is predicted and never true: its PQ is 0."""
        return (totals[SegmentCounts()][:, :, STUFF] > 0) & (totals[StuffOverlaps()][:, :, 1] == 0)

    def notes(self, totals: Any) -> tuple[str, ...]:
        """Which stuff is left out because the truth does not have it."""
        places = np.flatnonzero(self._made_up(totals)[0]).tolist()
        if self.classes == "union" or not places:
            return ()
        shown = totals.metadata.axes["class"].display_names
        names = ", ".join(shown[place] for place in places[:5]) + (", ..." if len(places) > 5 else "")
        return (f"Stuff that is predicted and never true is not in the mean: {names}. classes=union counts it as 0.",)


METRICS: tuple[type[Metric], ...] = (PanopticQuality, SegmentationQuality, RecognitionQuality, PanopticQualityDagger)
