"""Concepts: every object of a phrase, and whether there is any (cgF1 of SAM 3).

An item is an expression of an image. Its predictions with enough score are assigned to its true objects so that the sum
of IoU is largest; a pair is a match at a threshold that its IoU reaches. Items that are not annotated exhaustively are
left out, and crowds are not asked for. Of several annotators, the one counts whom the predictions fit best.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

import numpy as np

from steelyard import _native
from steelyard.core.block import Block, SumBlock
from steelyard.core.counts import share_text
from steelyard.core.errors import InvalidSpec
from steelyard.core.metric import Between, Metric, UnitClasses
from steelyard.core.pairs import Array
from steelyard.core.records import factorize
from steelyard.core.state import State, TotalsView
from steelyard.core.statistic import Requirement, SharedCache
from steelyard.core.weights import Floats, ratio
from steelyard.tasks.grounding.data import GroundingPairs, Objects
from steelyard.tasks.grounding.sums import ExpressionSum, low_note

THRESHOLDS = np.linspace(0.5, 0.95, 10)
Preset = Literal["", "sam3"]
Assignment = Literal["sum", "count"]
Shapes = tuple[Array, Array | None]  # boxes x, y, w, h, and masks
Parts = tuple[list[int], Array, Array | None]  # where the shapes of each group begin, and the shapes
SMALL = 1e-4  # what SAM 3's code adds to denominators
PRESENCE = slice(30, 34)  # columns of the sums: both, predictions only, truth only, neither
LOCAL, ITEMS = slice(34, 44), 44
FOUND, LOW, PARTIAL = 45, 46, 47  # predictions with enough score and with too low a one, and items left out


class ConceptSum(ExpressionSum):
    """Of each item, at ten thresholds: matches, false predictions where there is truth, missed objects; presence; the
    F1 of items with truth and predictions, and their number; predictions that count and that do not; items left out.
    """

    name = "grounding.concepts"

    score: float = 0.5
    like: Preset = ""
    matching: Assignment = "sum"
    missed: Literal["skip", "zero"] = "skip"

    def of_expressions(self, pairs: GroundingPairs, cache: SharedCache) -> Array:
        sums = np.zeros((len(pairs.owner), PARTIAL + 1))
        for place, (true, predicted) in enumerate(_items(pairs, self.score)):
            if true is None:
                sums[place, PARTIAL] = 1
                continue
            counts = [self._count(truth, predicted) for truth in true]
            best = max(range(len(counts)), key=lambda i: (self._fit(counts[i]), -i)) if len(counts) > 1 else 0
            sums[place, : ITEMS + 1] = self._columns(counts[best])
            sums[place, FOUND], sums[place, LOW] = len(predicted[0]), pairs.replies[place] - len(predicted[0])
        return sums

    def _count(self, truth: Shapes, predicted: Shapes) -> tuple[Array, int, int]:
        """Matches at each threshold, predictions, and true objects."""
        box, mask = truth
        d_box, d_mask = predicted
        if not len(box) or not len(d_box):
            return np.zeros(len(THRESHOLDS)), len(d_box), len(box)
        crowd = np.zeros(len(box), dtype=np.uint8)
        if mask is not None and d_mask is not None:
            iou = _native.mask_iou(d_mask.tolist(), mask.tolist(), crowd)
        else:
            iou = _native.boxes_iou(d_box, box, crowd)
        if iou.size == 1:
            return (iou[0, 0] >= THRESHOLDS).astype(float), 1, 1
        gain = iou if self.matching == "sum" else np.where(iou >= THRESHOLDS[0], min(iou.shape) + 1 + iou, 0.0)
        column = _native.assign_scipy(-gain)
        rows = np.flatnonzero(column >= 0)
        matched = iou[rows, column[rows]]
        return (matched[:, np.newaxis] >= THRESHOLDS).sum(axis=0).astype(float), len(d_box), len(box)

    def _local(self, counts: tuple[Array, int, int]) -> Array:
        """F1 of one item at each threshold."""
        matches, predictions, objects = counts
        if self.like != "sam3":
            return 2 * matches / max(predictions + objects, 1)
        precision, recall = matches / (predictions + SMALL), matches / (objects + SMALL)
        return 2 * precision * recall / (precision + recall + SMALL)

    def _fit(self, counts: tuple[Array, int, int]) -> float:
        """By which the annotator of an item is chosen."""
        if not counts[1] and not counts[2]:
            return np.inf
        return float(self._local(counts).mean())

    def _columns(self, counts: tuple[Array, int, int]) -> Array:
        matches, predictions, objects = counts
        sums = np.zeros(ITEMS + 1)
        sums[0:10] = matches
        sums[10:20] = (predictions - matches) if objects else 0.0
        sums[20:30] = objects - matches
        sums[30 + (0 if objects and predictions else 1 if predictions else 2 if objects else 3)] = 1
        if objects and (predictions or self.missed == "zero"):
            sums[LOCAL], sums[ITEMS] = self._local(counts), 1
        return sums


def _items(pairs: GroundingPairs, least: float) -> Iterator[tuple[list[Shapes] | None, Shapes]]:
    """Of each item the true objects by annotator (None where the item is left out), and the predictions that count."""
    truth, predicted = pairs.rows, pairs.predicted
    assert truth is not None
    rows = len(truth)
    annotator = factorize(truth["annotator"])[1][0] if "annotator" in truth else np.zeros(rows, dtype=np.int64)
    exhaustive = truth["exhaustive"] if "exhaustive" in truth else np.ones(rows, dtype=bool)
    crowd = truth["crowd"] if "crowd" in truth else np.zeros(rows, dtype=bool)
    people = int(annotator.max()) + 1 if rows else 0
    of_rows = np.repeat(np.arange(len(pairs.row_begin) - 1), np.diff(pairs.row_begin))
    partial = np.bincount(of_rows, ~exhaustive[pairs.row_order], len(pairs.row_begin) - 1) > 0
    sides = []
    for person in range(people):
        seen = np.bincount(of_rows, annotator[pairs.row_order] == person, len(pairs.row_begin) - 1) > 0
        counted = (annotator[pairs.true.row] == person) & ~crowd[pairs.true.row]
        sides.append((seen.tolist(), _counted(pairs.true, counted)))
    enough = predicted.score >= least if predicted.scored else np.ones(len(predicted.score), dtype=bool)
    answers = _counted(predicted, enough)
    left_out = partial.tolist()
    for group, reply in zip(pairs.truth_row.tolist(), pairs.prediction_row.tolist(), strict=True):
        own = _part(answers, reply) if reply >= 0 else (answers[1][:0], None if answers[2] is None else answers[2][:0])
        true = None if left_out[group] else [_part(side, group) for seen, side in sides if seen[group]]
        yield true, own


def _counted(objects: Objects, counted: Array) -> Parts:
    """The objects that count: where those of each group begin, their boxes, and their masks."""
    begin = np.append(0, np.cumsum(counted))[objects.begin]
    box = objects.box[counted]
    extents = np.concatenate([box[:, :2], box[:, 2:] - box[:, :2]], axis=1)
    return begin.tolist(), extents, None if objects.mask is None else objects.mask[counted]


def _part(side: Parts, group: int) -> Shapes:
    begin, box, mask = side
    own = slice(begin[group], begin[group + 1])
    return box[own], None if mask is None else mask[own]


class OfConcepts(Metric):
    """Base of the metrics of concepts."""

    reference = "SAM 3 99d02f2"
    local: ClassVar[bool] = False

    like: Preset = ""
    matching: Assignment = "sum"

    def concept_sum(self) -> ConceptSum:
        """What is added up."""
        return ConceptSum(0.5, self.like, self.matching)

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.concept_sum(),)

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        sums = totals[self.concept_sum()][0]
        low = low_note(sums[LOW], sums[FOUND], self.concept_sum().score)
        if not sums[PARTIAL]:
            return low
        every = int(sums[PARTIAL] + sums[PRESENCE].sum())
        partial = share_text(int(sums[PARTIAL]), every, "expression", "are")
        return (f"{partial} not annotated exhaustively and left out.", *low)

    def f1(self, totals: TotalsView) -> Floats:
        """F1 over all objects of items with truth at each threshold; nan without any."""
        return self.f1_of(totals[self.concept_sum()])

    def f1_of(self, sums: Floats) -> Floats:
        """The same of rows of sums."""
        matches, false, missed = sums[:, 0:10], sums[:, 10:20], sums[:, 20:30]
        if self.like != "sam3":
            return ratio(2 * matches, 2 * matches + false + missed)
        precision, recall = matches / (matches + false + SMALL), matches / (matches + missed + SMALL)
        f1: Floats = 2 * precision * recall / (precision + recall + SMALL)
        return f1

    def mcc(self, totals: TotalsView) -> Floats:
        """Matthews correlation of presence; nan where the data hold only items with truth or only items without."""
        both, false, missed, neither = totals[self.concept_sum()][:, PRESENCE].T
        margins = (both + false) * (both + missed) * (neither + false) * (neither + missed)
        part = both * neither - false * missed
        if self.like == "sam3":
            return np.asarray(part / (np.sqrt(margins) + 1e-6))
        value = np.where(margins > 0, part / np.sqrt(np.where(margins > 0, margins, 1.0)), 0.0)
        return np.where((both + missed > 0) & (neither + false > 0), value, np.nan)


def presence_of_units(block: Block) -> UnitClasses | None:
    """Which units hold items with truth, and which hold items without; MCC rests on the fewer."""
    if not isinstance(block, SumBlock):
        return None
    both, false, missed, neither = block.values[:, PRESENCE].T
    some, none = np.flatnonzero(both + missed > 0), np.flatnonzero(false + neither > 0)
    code = np.repeat([0, 1], [len(some), len(none)])
    return UnitClasses(np.concatenate([some, none]), code, ("with objects", "without objects"))


class AtThresholds(OfConcepts):
    """Base of those that are a mean over ten thresholds, or the value at one of them."""

    iou: Annotated[float, Between(0, 0.95)] = 0.0

    def check(self) -> None:
        if self.iou and not np.isclose(THRESHOLDS, self.iou).any():
            raise InvalidSpec(
                f"metric '{self.name}': iou={self.iou:g} is not one of the thresholds",
                remedy="Choose 0.5, 0.55, ... or 0.95, or leave it out for the mean over them.",
            )

    @property
    def label(self) -> str:
        """Name the threshold."""
        return f"{self.title}, IoU {self.iou:g}" if self.iou else self.title

    def at_thresholds(self, values: Floats) -> Floats:
        """The mean over the thresholds, or the value at one."""
        if not self.iou:
            return np.asarray(values.mean(axis=1))
        return np.asarray(values[:, int(np.argmin(np.abs(THRESHOLDS - self.iou)))])


class CgF1(AtThresholds):
    r"""cgF1: how well the objects of phrases are found, times how well presence is known.

    $\mathrm{cgF1} = \mathrm{MCC} \cdot \frac{1}{10} \sum_t \mathrm{pmF1}_t$

    `like=sam3` keeps the small constants of SAM 3's code (0.99985 for perfect answers) and its 0 where every item has
    truth. `matching=count` takes as many matches as there can be, not the largest sum of IoU. `iou=0.5` is the value at
    one threshold. Predictions with a score below 0.5 are left out; without scores every one counts.

    Undefined when there is no item without truth, or none with truth: presence cannot be known then.

    Pros:
    - A model that sees every phrase in every image does not pass.

    Cons:
    - A product of two numbers: look at pmf1 and il_mcc to see which one is low.
    """

    name = "cgf1"
    title = "cgF1"
    range = (-1.0, 1.0)
    chance = 0.0

    def unit_classes(self, state: State) -> UnitClasses | None:
        return presence_of_units(state.blocks[self.concept_sum()])

    def reduce(self, totals: TotalsView) -> Floats:
        return self.at_thresholds(self.f1(totals) * self.mcc(totals)[:, np.newaxis])


class PmF1(AtThresholds):
    r"""pmF1: F1 over all objects of the items that have truth, the mean over IoU 0.5 to 0.95.

    $\mathrm{pmF1}_t = \frac{2\,\mathrm{TP}_t}{2\,\mathrm{TP}_t + \mathrm{FP}_t + \mathrm{FN}_t}$

    Undefined when no item has truth.

    Pros:
    - How well objects are found where there are any.

    Cons:
    - Says nothing of phrases that name nothing.
    """

    name = "pmf1"
    title = "pmF1"
    aliases = ("positive_micro_f1",)
    range = (0.0, 1.0)

    def reduce(self, totals: TotalsView) -> Floats:
        return self.at_thresholds(self.f1(totals))


class PresenceMcc(OfConcepts):
    r"""IL_MCC: Matthews correlation between whether a phrase has objects in the image and whether any is found.

    $\frac{\mathrm{TP}\,\mathrm{TN} - \mathrm{FP}\,\mathrm{FN}}{\sqrt{P\,P'\,N\,N'}}$

    $P$ and $N$ are the items with and without truth, $P'$ and $N'$ those with and without predictions.

    A model that always finds something, or never anything, scores 0.

    Undefined when there is no item without truth, or none with truth.

    Pros:
    - Shows whether a model knows when nothing is there.

    Cons:
    - Where the objects lie does not count.
    """

    name = "il_mcc"
    title = "Presence (MCC)"
    range = (-1.0, 1.0)
    chance = 0.0

    def unit_classes(self, state: State) -> UnitClasses | None:
        return presence_of_units(state.blocks[self.concept_sum()])

    def reduce(self, totals: TotalsView) -> Floats:
        return self.mcc(totals)


class MacroF1(AtThresholds):
    r"""F1 of items: the F1 of each item with truth, averaged over items and over IoU 0.5 to 0.95.

    $\frac{1}{10\,N} \sum_t \sum_i \mathrm{F1}_{i,t}$

    Items without any prediction leave the mean, as in SAM 3's code; `missed=zero` keeps them at 0.

    Undefined when no item has truth and predictions.

    Pros:
    - Items with many objects do not dominate.

    Cons:
    - By default a model that answers seldom looks better.
    """

    name = "item_f1"
    title = "F1 of items"
    aliases = ("macro_f1", "positive_macro_f1")
    range = (0.0, 1.0)

    missed: Literal["skip", "zero"] = "skip"

    def concept_sum(self) -> ConceptSum:
        return ConceptSum(0.5, self.like, self.matching, self.missed)

    def reduce(self, totals: TotalsView) -> Floats:
        sums = totals[self.concept_sum()]
        return ratio(self.at_thresholds(sums[:, LOCAL]), sums[:, ITEMS])


CONCEPTS = (CgF1, PmF1, PresenceMcc, MacroF1)
