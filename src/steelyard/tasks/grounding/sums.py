"""What is kept of expressions, added up over the expressions of a unit."""

from __future__ import annotations

from abc import abstractmethod
from typing import Literal

import numpy as np

from steelyard import _native
from steelyard.core.block import SumBlock
from steelyard.core.counts import share_text
from steelyard.core.errors import Conflict, MissingColumn
from steelyard.core.pairs import Array
from steelyard.core.statistic import SharedCache, Sum, sum_by_unit
from steelyard.tasks.grounding.data import GroundingPairs
from steelyard.tasks.grounding.overlap import RULES, Like, Overlap, Precision, Rule, overlaps

Several = Literal["first", "best"]
Boxes = Literal["", "any", "merged"]
Matching = Literal["optimal", "greedy"]
LEAST_SCORE = 0.5  # of a box that counts in sets, where boxes have scores
CLOSE = 1e-6  # of a threshold, within which other tools may decide otherwise


class ExpressionSum(Sum):
    """A sum over the expressions of each unit."""

    @abstractmethod
    def of_expressions(self, pairs: GroundingPairs, cache: SharedCache) -> Array:
        """A value for each expression, or several."""

    def measure(self, pairs: GroundingPairs, cache: SharedCache) -> SumBlock:
        values, units = np.asarray(self.of_expressions(pairs, cache), dtype=np.float64), len(pairs.units)
        if values.ndim == 1:
            return sum_by_unit(values, pairs.owner, units)
        columns = [np.bincount(pairs.owner, weights=column, minlength=units) for column in values.T]
        return SumBlock(np.stack(columns, axis=1))


class Expressions(ExpressionSum):
    """Expressions: all, those with an answer, those that name something, nothing, or one object.

    `each` and `boxed` are all expressions and raise where the data do not fit: `each` where an expression does not name
    exactly one object, `boxed` where predictions are points.
    """

    name = "grounding.expressions"

    of: Literal["all", "answered", "target", "none", "one", "each", "boxed"] = "all"

    def of_expressions(self, pairs: GroundingPairs, cache: SharedCache) -> Array:
        if self.of == "each":
            require_one(pairs)
        if self.of == "boxed":
            require_boxes(pairs)
        if self.of in ("one", "each"):
            return np.asarray(pairs.targets == 1)
        if self.of == "answered":
            return pairs.answered
        if self.of in ("all", "boxed"):
            return np.ones(len(pairs.owner))
        return np.asarray((pairs.targets > 0) == (self.of == "target"))


class Phrases(ExpressionSum):
    """Expressions of a kind that name something: a phrase of the kinds `vehicles/other` is of both."""

    name = "grounding.phrases"

    kind: str

    def of_expressions(self, pairs: GroundingPairs, cache: SharedCache) -> Array:
        return (pairs.targets > 0) & of_kind(pairs, self.kind)


def of_kind(pairs: GroundingPairs, kind: str) -> Array:
    """Whether each expression is of a kind, by the column `type`. A slice or a batch may hold none of it."""
    if "type" not in pairs.truth:
        raise MissingColumn(
            "column 'type' is missing, which the setting type reads",
            where=pairs.truth.source,
            remedy="Add it, or leave out the setting.",
        )
    return np.array([kind in own for own in kinds_of(pairs)], dtype=bool)


def kinds_of(pairs: GroundingPairs) -> list[tuple[str, ...]]:
    """The kinds of each expression."""
    return [tuple(part for part in text.split("/") if part) for text in pairs.truth_column("type").tolist()]


def require_one(pairs: GroundingPairs) -> None:
    """Raise where an expression does not name exactly one object."""
    odd = np.flatnonzero(pairs.targets != 1)
    if len(odd):
        group = int(pairs.truth_row[odd[0]])
        count = int(pairs.targets[odd[0]])
        said = "names nothing" if not count else f"names {count} objects"
        raise Conflict(
            f"expression '{pairs.truth['expression'][group]}' {said}, and the metric compares one box with one",
            where=pairs.truth.place(group),
            remedy="Use exact_set, set_f1, n_acc and t_acc, which take any number, or of=one for the others alone.",
        )


def require_boxes(pairs: GroundingPairs) -> None:
    """Raise where the predictions are points."""
    if len(pairs.predicted.box) and np.isnan(pairs.predicted.box[:, 0]).all():
        raise Conflict(
            "the predictions are points, and the metric compares boxes",
            where=pairs.prediction.source,
            remedy="Use pointing, or give boxes.",
        )


class Cells:
    """All pairs of a true and a found object of one expression, in the order of the expressions."""

    def __init__(self, pairs: GroundingPairs) -> None:
        replies = pairs.replies
        group = np.where(replies > 0, pairs.prediction_row, 0)
        true_begin, found_begin = (
            pairs.true.begin[pairs.truth_row],
            pairs.predicted.begin[group] if len(group) else group,
        )
        many = pairs.targets * replies
        self.expression = np.repeat(np.arange(len(many)), many)
        within = np.arange(len(self.expression)) - np.repeat(np.cumsum(many) - many, many)
        width = np.repeat(replies, many)
        self.true = np.repeat(true_begin, many) + within // np.maximum(width, 1)
        self.predicted = np.repeat(found_begin, many) + within % np.maximum(width, 1)
        self.begin = np.append(0, np.cumsum(many))


def cells(pairs: GroundingPairs, cache: SharedCache) -> Cells:
    """The pairs of objects that are compared, made once."""
    if "annotators" in pairs.held:
        raise Conflict(
            "the truth is of several annotators",
            where=pairs.truth.source,
            remedy="Use cgf1, pmf1, il_mcc and item_f1, or give the rows of one annotator.",
        )
    return cache.once("grounding cells", lambda: Cells(pairs))


def similarities(pairs: GroundingPairs, cache: SharedCache, rule: Rule) -> Array:
    """How much the boxes of each cell overlap; 0 where the found object is a point."""

    def make() -> Array:
        of = cells(pairs, cache)
        size = pairs.size[pairs.truth_row[of.expression]]
        if (rule.clip or rule.divided) and np.isnan(size).any():
            group = int(pairs.truth_row[of.expression[np.argmax(np.isnan(size).any(axis=1))]])
            raise MissingColumn(
                f"expression '{pairs.truth['expression'][group]}' has no size of its image, to which boxes are cut",
                where=pairs.truth.place(group),
                remedy="Give the columns width and height.",
            )
        return np.nan_to_num(overlaps(pairs.predicted.box[of.predicted], pairs.true.box[of.true], size, rule), nan=0.0)

    return cache.once(("grounding overlaps", rule), make)


def ranked(pairs: GroundingPairs, cache: SharedCache) -> Array:
    """The rank of each found object within its expression, from 0: by falling score, else as given."""

    def make() -> Array:
        predicted = pairs.predicted
        group = np.repeat(np.arange(len(predicted.count)), predicted.count)
        order = np.lexsort(
            (np.arange(len(group)), -predicted.score if predicted.scored else np.zeros(len(group)), group)
        )
        rank = np.empty(len(group), dtype=np.int64)
        rank[order] = np.arange(len(group)) - predicted.begin[group[order]]
        return rank

    return cache.once("grounding ranks", make)


def low_note(low: float, counted: float, least: float) -> tuple[str, ...]:
    """How many boxes are left out for their score; nothing where none is."""
    if not low:
        return ()
    left = "is left out" if low == 1 else "are left out"
    return (f"{share_text(int(low), int(low + counted), 'box', 'have')} a score below {least:g} and {left}.",)


def rule_of(like: Like, overlap: Overlap, clip: bool, precision: Precision) -> Rule:
    """The rule of another tool, or that of single settings."""
    return RULES[like] if like else Rule(overlap, clip, precision)


def chosen(pairs: GroundingPairs, cache: SharedCache, rule: Rule, several: Several) -> tuple[Array, Array]:
    """Of each expression with one object the found one that counts (-1 without any), and their overlap."""

    def make() -> tuple[Array, Array]:
        of, similarity = cells(pairs, cache), similarities(pairs, cache, rule)
        order = np.lexsort(
            (ranked(pairs, cache)[of.predicted], -similarity if several == "best" else of.expression * 0, of.expression)
        )
        first = order[np.flatnonzero(np.diff(of.expression[order], prepend=-1))]
        predicted, value = np.full(len(pairs.owner), -1, dtype=np.int64), np.zeros(len(pairs.owner))
        first = first[pairs.targets[of.expression[first]] == 1]
        predicted[of.expression[first]], value[of.expression[first]] = of.predicted[first], similarity[first]
        return predicted, value

    return cache.once(("grounding chosen", rule, several), make)


class HitSum(ExpressionSum):
    """Expressions whose box overlaps the true one enough, and those within a millionth of the threshold."""

    name = "grounding.hits"

    threshold: float
    like: Like = ""
    overlap: Overlap = "iou"
    clip: bool = False
    precision: Precision = "double"
    edge: Literal["closed", "open"] = "closed"
    several: Several = "first"

    def of_expressions(self, pairs: GroundingPairs, cache: SharedCache) -> Array:
        require_boxes(pairs)
        rule = rule_of(self.like, self.overlap, self.clip, self.precision)
        predicted, value = chosen(pairs, cache, rule, self.several)
        hit = (value > self.threshold) if self.edge == "open" else (value >= self.threshold)
        return np.stack([hit & (predicted >= 0), (np.abs(value - self.threshold) <= CLOSE) & (predicted >= 0)], axis=1)


class OverlapSum(ExpressionSum):
    """IoU of the box that counts with the true one."""

    name = "grounding.overlap"

    several: Several = "first"

    def of_expressions(self, pairs: GroundingPairs, cache: SharedCache) -> Array:
        require_boxes(pairs)
        return chosen(pairs, cache, Rule(), self.several)[1]


class CentreSum(ExpressionSum):
    """Expressions whose box has its centre in the true box, edges included."""

    name = "grounding.centre"

    several: Several = "first"

    def of_expressions(self, pairs: GroundingPairs, cache: SharedCache) -> Array:
        require_boxes(pairs)
        predicted, _ = chosen(pairs, cache, Rule(), self.several)
        box = pairs.predicted.box[predicted] if len(pairs.predicted.box) else np.full((len(predicted), 4), np.nan)
        middle = (box[:, :2] + box[:, 2:]) / 2
        first = pairs.true.begin[pairs.truth_row]
        true = np.full((len(predicted), 4), np.nan)
        true[predicted >= 0] = pairs.true.box[first[predicted >= 0]]
        inside = (middle >= true[:, :2]).all(axis=1) & (middle <= true[:, 2:]).all(axis=1)
        return inside & (predicted >= 0) & (box[:, 2:] > box[:, :2]).all(axis=1)


class PointSum(ExpressionSum):
    """Expressions whose first point lies in one of the true objects, or near it: in its mask, or else in its box."""

    name = "grounding.points"

    tolerance: float = 0.0

    def of_expressions(self, pairs: GroundingPairs, cache: SharedCache) -> Array:
        if len(pairs.predicted.point) and np.isnan(pairs.predicted.point[:, 0]).all():
            raise Conflict(
                "the predictions are boxes, and the metric is of points",
                where=pairs.prediction.source,
                remedy="Use centre for the centres of boxes, or give points in px and py.",
            )
        of = cells(pairs, cache)
        point, true = pairs.predicted.point[of.predicted], pairs.true.box[of.true]
        away = np.maximum(np.maximum(true[:, :2] - point, point - true[:, 2:]), 0)
        inside = (np.hypot(away[:, 0], away[:, 1]) <= self.tolerance) & (ranked(pairs, cache)[of.predicted] == 0)
        if pairs.true.mask is not None:  # the box around a mask is a bound: what is too far from it is from the mask
            for place in np.flatnonzero(inside).tolist():
                mask = np.asarray(_native.mask_decode([pairs.true.mask[of.true[place]]]))[0]
                inside[place] = _distance(mask, point[place]) <= self.tolerance
        hits = np.zeros(len(pairs.owner))
        hits[of.expression[inside]] = 1
        return hits


def _distance(mask: Array, point: Array) -> float:
    """How far a point is from the nearest pixel of a mask (width, height); a pixel is a square with sides of 1."""
    pixels = np.argwhere(mask)
    away = np.maximum(np.maximum(pixels - point, point - pixels - 1), 0)
    return float(np.hypot(away[:, 0], away[:, 1]).min(initial=np.inf))


class RecallSum(ExpressionSum):
    """Expressions of which one of the first boxes is a hit; `most` 0 takes all. `kind` takes those of one kind."""

    name = "grounding.recall"

    most: int
    iou: float = 0.5
    boxes: Boxes = ""
    kind: str = ""

    def of_expressions(self, pairs: GroundingPairs, cache: SharedCache) -> Array:
        require_boxes(pairs)
        of = cells(pairs, cache)
        several = int((pairs.targets > 1).sum())
        if not self.boxes and several:
            raise Conflict(
                f"{share_text(several, len(pairs.owner), 'expression', 'name')} several objects, and papers differ in "
                "what is a hit there",
                where=pairs.truth.source,
                remedy="Say boxes=any for a hit of any of them, or boxes=merged for the box around all of them.",
            )
        if self.boxes == "merged":
            low = _each_group(np.minimum, pairs.true.box[:, :2], pairs.true.begin, pairs.truth_row)
            high = _each_group(np.maximum, pairs.true.box[:, 2:], pairs.true.begin, pairs.truth_row)
            hull = np.concatenate([low, high], axis=1)[of.expression]
            value = overlaps(
                pairs.predicted.box[of.predicted], hull, pairs.size[pairs.truth_row[of.expression]], Rule()
            )
        else:
            value = similarities(pairs, cache, Rule())
        inside = ranked(pairs, cache)[of.predicted] < self.most if self.most else np.ones(len(value), dtype=bool)
        hits = np.zeros(len(pairs.owner))
        hits[of.expression[inside & (value >= self.iou)]] = 1
        return hits * of_kind(pairs, self.kind) if self.kind else hits


def _each_group(fold: np.ufunc, values: Array, begin: Array, groups: Array) -> Array:
    """A fold over the rows of some groups; nan where a group is empty."""
    result = np.full((len(begin) - 1, values.shape[1]), np.nan)
    full = np.flatnonzero(np.diff(begin))
    if len(full):
        result[full] = fold.reduceat(values, begin[full])
    return result[groups]


class SetSum(ExpressionSum):
    """Of each expression: whether its boxes match one to one, the F1 of its boxes, matches, boxes found, boxes true,
    whether both agree that nothing is there, whether both say that something is, whether the number of boxes is right,
    by how many it is off, and how many boxes have too low a score to count.
    """

    name = "grounding.sets"

    iou: float = 0.5
    score: float = LEAST_SCORE
    overlap: Overlap = "iou"
    matching: Matching = "optimal"

    def of_expressions(self, pairs: GroundingPairs, cache: SharedCache) -> Array:
        kept = np.ones(len(pairs.predicted.score), dtype=bool)
        if pairs.predicted.scored:
            kept = pairs.predicted.score >= self.score
        elif self.score != LEAST_SCORE and len(kept):
            raise MissingColumn(
                f"the predictions have no scores, and the metric counts boxes with a score of {self.score:g} or more",
                where=pairs.prediction.source,
                remedy="Add a column 'score', or leave out the setting score: then every box counts.",
            )
        replies = np.zeros(len(pairs.owner), dtype=np.int64)
        place = np.flatnonzero(pairs.replies > 0)
        if len(place):
            steps = np.append(0, np.cumsum(kept))
            group = pairs.prediction_row[place]
            replies[place] = steps[pairs.predicted.begin[group + 1]] - steps[pairs.predicted.begin[group]]
        targets, answered = pairs.targets, pairs.answered
        matches = self._matches(pairs, cache, kept)
        total = targets + replies
        f1 = np.where(total > 0, 2 * matches / np.maximum(total, 1), 1.0) * answered
        exact = (matches == targets) & (matches == replies) & answered
        quiet = (targets == 0) & (replies == 0) & answered
        spoken = (targets > 0) & (replies > 0)
        off, low = np.abs(replies - targets), pairs.replies - replies
        return np.stack([exact, f1, matches, replies, targets, quiet, spoken, (off == 0) & answered, off, low], axis=1)

    def _matches(self, pairs: GroundingPairs, cache: SharedCache, kept: Array) -> Array:
        """How many true and found boxes of each expression match one to one."""
        of = cells(pairs, cache)
        value = similarities(pairs, cache, Rule(self.overlap))
        fits = (value >= self.iou) & kept[of.predicted]
        matches = np.zeros(len(pairs.owner), dtype=np.int64)
        single = (pairs.targets == 1) | (pairs.replies == 1)
        matches[of.expression[fits]] = 1  # where either side has one object, one match is all there can be
        for place in np.flatnonzero(~single & (pairs.targets * pairs.replies > 0)).tolist():
            part = slice(of.begin[place], of.begin[place + 1])
            shape = (int(pairs.targets[place]), int(pairs.replies[place]))
            matches[place] = self._match(np.where(fits[part], value[part], -1.0).reshape(shape))
        return matches

    def _match(self, value: Array) -> int:
        if self.matching == "greedy":
            count, left = 0, value[::-1].copy()  # of equal overlaps the last true box is taken, as gRefCOCO does
            while left.max() >= self.iou:
                row, place = divmod(int(left.argmax()), left.shape[1])
                left[row], left[:, place] = -1.0, -1.0
                count += 1
            return count
        fits = value >= self.iou
        # A match gains more than all overlaps together: the largest number of matches, then the largest sum.
        gain = np.where(fits, min(value.shape) + 1 + value, 0.0)
        column = _native.assign_scipy(-gain)
        rows = np.flatnonzero(column >= 0)
        return int(np.count_nonzero(fits[rows, column[rows]]))


class HeadSum(ExpressionSum):
    """Of each expression: whether it names nothing and the model says so, and whether it names something and the model
    says that. The column `none` of the predictions is what the model says.
    """

    name = "grounding.head"

    def of_expressions(self, pairs: GroundingPairs, cache: SharedCache) -> Array:
        said = _said_none(pairs)
        return np.stack([(pairs.targets == 0) & said, (pairs.targets > 0) & ~said & pairs.answered], axis=1)


class MaskSum(ExpressionSum):
    """Of each expression: pixels of the intersection and of the union, and IoU.

    Masks of several objects are united. With `no_target=head`, the column `none` of the predictions decides whether
    the model says that nothing is there; otherwise a mask without a pixel does.
    """

    name = "grounding.masks"

    no_target: Literal["mask", "head"] = "mask"

    def of_expressions(self, pairs: GroundingPairs, cache: SharedCache) -> Array:
        inter, union, quiet = united_masks(pairs, cache, self.no_target)
        iou = np.where(union > 0, inter / np.maximum(union, 1), quiet * 1.0)
        return np.stack([inter, union, iou], axis=1)


class MaskTargets(MaskSum):
    """The same, of expressions that name something."""

    name = "grounding.mask_targets"

    def of_expressions(self, pairs: GroundingPairs, cache: SharedCache) -> Array:
        return super().of_expressions(pairs, cache) * (pairs.targets > 0)[:, np.newaxis]


class MaskHits(ExpressionSum):
    """Expressions that name something and whose mask reaches an IoU."""

    name = "grounding.mask_hits"

    iou: float
    no_target: Literal["mask", "head"] = "mask"

    def of_expressions(self, pairs: GroundingPairs, cache: SharedCache) -> Array:
        inter, union, _ = united_masks(pairs, cache, self.no_target)
        return (inter / np.maximum(union, 1) >= self.iou) & (pairs.targets > 0)


def united_masks(pairs: GroundingPairs, cache: SharedCache, no_target: str) -> tuple[Array, Array, Array]:
    """Intersection and union of the masks of each expression, and whether both sides say that nothing is there."""

    def make() -> tuple[Array, Array, Array]:
        areas = []
        masks = []
        for side, groups in ((pairs.true, pairs.truth_row), (pairs.predicted, pairs.prediction_row)):
            if side.mask is None:
                where = pairs.truth.source if side is pairs.true else pairs.prediction.source
                raise MissingColumn("column 'mask' is missing", where=where, remedy="Give both sides masks.")
            united = [
                _unite(side.mask[side.begin[group] : side.begin[group + 1]]) if group >= 0 else None
                for group in groups.tolist()
            ]
            held = [mask for mask in united if mask is not None]
            area = np.zeros(len(united))
            area[[mask is not None for mask in united]] = _native.mask_area(held)
            areas.append(area)
            masks.append(united)
        inter = np.zeros(len(pairs.owner))
        for place in np.flatnonzero((areas[0] > 0) & (areas[1] > 0)).tolist():
            both = _native.mask_merge([masks[0][place], masks[1][place]], True)
            inter[place] = _native.mask_area([both])[0]
        union = areas[0] + areas[1] - inter
        quiet = (pairs.targets == 0) & (areas[1] == 0) & pairs.answered
        if no_target == "head":
            said = _said_none(pairs)
            quiet = (pairs.targets == 0) & said
            inter[said] = 0
            union[quiet] = 0
        return inter, union, quiet

    return cache.once(("grounding masks", no_target), make)


def _unite(masks: Array) -> object:
    """One mask of several; None of none."""
    if not len(masks):
        return None
    return masks[0] if len(masks) == 1 else _native.mask_merge(masks.tolist())


def _said_none(pairs: GroundingPairs) -> Array:
    """Whether the column `none` of the predictions says that nothing is there."""
    if "none" not in pairs.prediction:
        raise MissingColumn(
            "column 'none' is missing, which no_target=head reads",
            where=pairs.prediction.source,
            remedy="Add it, or leave out no_target.",
        )
    said = pairs.prediction["none"][pairs.prediction_row] if len(pairs.prediction) else np.zeros(0, dtype=bool)
    return (pairs.prediction_row >= 0) & said
