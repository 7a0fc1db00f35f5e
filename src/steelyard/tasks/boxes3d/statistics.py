"""What boxes in space are scored from: events of KITTI's matching, and of the matching by the distance of centres."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.core.block import SumBlock
from steelyard.core.metadata import Metadata
from steelyard.core.pairs import Array
from steelyard.core.ranking import Grouped, RankingBlock
from steelyard.core.statistic import Ranking, RankingReader, SharedCache, Sum
from steelyard.core.weights import Floats, Role, Weights
from steelyard.tasks.boxes3d.data import LEVELS, coded_column
from steelyard.tasks.boxes3d.pairs import NOT_KNOWN, SolidPairs

VIEWS = ("bbox", "bev", "3d")
STRICT, LOOSE = {"car": 0.7}, {"car": 0.5, "pedestrian": 0.25, "cyclist": 0.25}
OTHERS = 0.5  # the overlap of classes that stand in neither
DISTANCES, ERROR_AT = np.array([0.5, 1.0, 2.0, 4.0]), 2
ERRORS = ("translation", "scale", "orientation", "velocity", "attribute")
HALF_TURN = ("barrier",)  # the same after half a turn
EVENT = {"score": "f", "hits": "i", "tp": "i", "fp": "i", "similarity": "f"}


def least_overlap(label: str, view: str, overlap: str | float) -> float:
    """The overlap that a match must exceed."""
    if not isinstance(overlap, str):
        return float(overlap)
    loose = LOOSE.get(label.lower(), OTHERS) if overlap == "loose" and view != "bbox" else None
    return STRICT.get(label.lower(), OTHERS) if loose is None else loose


def can_view(metadata: Metadata, view: str, level: str) -> bool:
    """Whether the data hold what a view and a level look at."""
    return ("image" if view == "bbox" else "place") in metadata.holds and (level == "all" or "levels" in metadata.holds)


def kitti_events(pairs: SolidPairs, cache: SharedCache, view: str, overlap: str | float) -> Mapping[str, Array]:
    """KITTI's events in a view, of all classes and levels."""
    return cache.once(
        ("boxes3d", view, overlap), lambda: _match_kitti(pairs, view, overlap, asked_levels(cache, view, overlap))
    )


def asked_levels(cache: SharedCache, view: str, overlap: str | float) -> tuple[str, ...]:
    """The levels that are measured in a view: those of all statistics, in order."""
    mine = [statistic for statistic in cache.statistics if isinstance(statistic, KittiEvents)]
    asked = {statistic.level for statistic in mine if statistic.view == view and statistic.overlap == overlap}
    return tuple(level for level in LEVELS if level in asked) or LEVELS


def _repack_levels(bits: Array, levels: tuple[str, ...]) -> Array:
    """Bits of these levels alone, from the first on."""
    out = np.zeros(len(bits), dtype=np.uint8)
    for place, level in enumerate(levels):
        out |= ((bits >> LEVELS.index(level)) & 1) << place
    return out


def _match_kitti(pairs: SolidPairs, view: str, overlap: str | float, levels: tuple[str, ...]) -> Mapping[str, Array]:
    truth, predicted = pairs.sides
    units = len(pairs.units)
    labels = pairs.metadata.axes["class"].display_names
    boxes = (truth.image, predicted.image) if view == "bbox" else (truth.solid, predicted.solid)
    regions = pairs.regions
    result: Any = _native.kitti_match(
        VIEWS.index(view), truth.begin(units), np.ascontiguousarray(boxes[0]), truth.group, truth.own,
        _repack_levels(truth.levels, levels), angles(truth.column("alpha")),
        predicted.begin(units), np.ascontiguousarray(boxes[1]), predicted.group,
        _repack_levels(predicted.small, levels), angles(predicted.column("alpha")), predicted.column("score"),
        regions.begin(units),
        np.ascontiguousarray(regions.image), np.array([least_overlap(label, view, overlap) for label in labels]),
        len(levels),
    )  # fmt: skip
    return result  # type: ignore[no-any-return]


def angles(alpha: Array) -> Array:
    """Angles of observation, with a number where there is none: AOS is not looked at then."""
    return np.where(np.isfinite(alpha), alpha, NOT_KNOWN)


class KittiEvents(Ranking):
    """By class: what changes at each score of a frame, and the truths that count."""

    name = "boxes3d.kitti"

    view: str
    level: str
    overlap: str | float

    @property
    def columns(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        return EVENT, {"count": "f"}

    def measure(self, pairs: SolidPairs, cache: SharedCache) -> RankingBlock:
        """The events of one level; none where the data do not hold what the view looks at."""
        classes = pairs.metadata.size("class")
        if not classes or not can_view(pairs.metadata, self.view, self.level):
            return _nothing(classes, EVENT)
        matches = kitti_events(pairs, cache, self.view, self.overlap)
        levels = asked_levels(cache, self.view, self.overlap)
        level, count = levels.index(self.level), len(levels)
        tables = []
        for cell, unit, names in (("cell", "unit", EVENT), ("count_cell", "count_unit", ("count",))):
            rows = np.flatnonzero(matches[cell] % count == level)
            group = matches[cell][rows] // count
            begin = np.searchsorted(group, np.arange(classes + 1)).astype(np.int64)
            tables.append(Grouped(begin, matches[unit][rows], {name: matches[name][rows] for name in names}))
        return RankingBlock("class", tables[0], tables[1])


def _nothing(classes: int, names: Mapping[str, str]) -> RankingBlock:
    kinds = {"f": np.float64, "i": np.int32, "u": np.uint8}
    begin, unit = np.zeros(classes + 1, np.int64), np.zeros(0, np.int32)
    columns: dict[str, Array] = {name: np.zeros(0, kinds[kind]) for name, kind in names.items()}
    if "errors" in columns:
        columns["errors"] = np.zeros((0, len(ERRORS)))
    return RankingBlock("class", Grouped(begin, unit, columns), Grouped(begin, unit, {"count": np.zeros(0)}))


class KittiAreas(RankingReader):
    """R11 and R40 of precision, then of similarity, in percent: (rows, classes, 4)."""

    ranking: KittiEvents

    def read(self, block: RankingBlock, weights: Weights, metadata: Metadata) -> Floats:
        """Not a number where a class has no truth that counts."""
        result = np.full((weights.rows, block.groups, 4), np.nan)
        for group in range(block.groups):
            single = block.one(group)
            truths = truths_of(single, weights.units)
            result[:, group] = _by_rows(
                weights, single, tuple(EVENT), truths, _native.kitti_areas, _native.kitti_areas_by_unit, ()
            )
        return result


def truths_of(block: RankingBlock, units: int) -> Floats:
    """How many truths of a group count in each unit."""
    return np.bincount(block.positives.unit, weights=block.positives.columns["count"], minlength=units).astype(
        np.float64
    )


def kitti_curve(block: RankingBlock, group: int, weights: Array) -> tuple[int, Array]:
    """How many of the 41 places are reached, and score, precision and similarity there."""
    single = block.one(group)
    e = single.events
    return _native.kitti_curve(
        weights, truths_of(single, len(weights)), e.columns["score"], e.unit, *(e.columns[n] for n in list(EVENT)[1:])
    )


def _by_rows(
    weights: Weights, block: RankingBlock, names: tuple[str, ...], truths: Floats, every: Any, alone: Any, settings: Any
) -> Floats:
    """What a kernel makes of each row of weights; single units by their own events."""
    e = block.events
    columns = [e.columns[name] for name in names]
    if weights.role is Role.UNITS and weights.rows == weights.units:
        order = np.argsort(e.unit, kind="stable")
        score, *rest = (np.ascontiguousarray(column[order]) for column in columns)
        return np.asarray(alone(truths, score, e.unit[order], *rest, *settings))
    score, *rest = (np.ascontiguousarray(column) for column in columns)
    unit = np.ascontiguousarray(e.unit)
    rows = [every(np.ascontiguousarray(row), truths, score, unit, *rest, *settings) for row in weights.blocks()]
    return np.concatenate(rows)


class CentreEvents(Ranking):
    """By class: predictions with the distances at which they find a truth, and their errors at 2 m; truths."""

    name = "boxes3d.centres"

    @property
    def columns(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        return {"score": "f", "bits": "u", "errors": "f"}, {"count": "f"}

    def measure(self, pairs: SolidPairs, cache: SharedCache) -> RankingBlock:
        """Events by class and falling score; none where boxes have no place in space."""
        classes = pairs.metadata.size("class")
        if not classes or "place" not in pairs.metadata.holds:
            return _nothing(classes, self.columns[0])
        truth, predicted, bits, errors, _ = centres(pairs, cache)
        order = _in_order(predicted.group, predicted.column("score"), classes)
        group = predicted.group[order]
        events = {"score": predicted.column("score")[order], "bits": bits[order], "errors": errors[order]}
        begin = np.searchsorted(group, np.arange(classes + 1)).astype(np.int64)
        counts = np.bincount(truth.group * np.int64(len(pairs.units)) + truth.owner)
        cell = np.flatnonzero(counts)
        of_group, unit = np.divmod(cell, max(1, len(pairs.units)))
        ends = np.searchsorted(of_group, np.arange(classes + 1)).astype(np.int64)
        return RankingBlock(
            "class",
            Grouped(begin, predicted.owner[order].astype(np.int32), events),
            Grouped(ends, unit.astype(np.int32), {"count": counts[cell].astype(np.float64)}),
        )


def _in_order(group: Array, score: Array, classes: int) -> Array:
    """Rows by class and falling score, equal ones as they come: by unit."""
    order = np.argsort(-score, kind="stable")
    return order[np.argsort(group[order].astype(np.uint16), kind="stable")]


def centres(pairs: SolidPairs, cache: SharedCache) -> tuple[Any, Any, Array, Array, Array]:
    """Both sides' rows of scored classes; of each prediction its bits, its errors and its truth at 2 m."""

    def make() -> tuple[Any, Any, Array, Array, Array]:
        truth, predicted = (side.take(np.flatnonzero(side.group >= 0)) for side in pairs.sides)
        truth = truth.take(np.flatnonzero(truth.own == 1))
        units = len(pairs.units)
        attributes = _attributes(truth, predicted)
        half = np.array([label in HALF_TURN for label in pairs.metadata.axes["class"].ids], dtype=np.uint8)
        bits, errors, partner = _native.centre_match(
            truth.begin(units), truth.centre, truth.group, attributes[0],
            predicted.begin(units), predicted.centre, predicted.group, attributes[1], predicted.column("score"),
            DISTANCES, ERROR_AT, half,
        )  # fmt: skip
        return truth, predicted, bits, errors, partner

    return cache.once(("boxes3d", "centres"), make)


def _attributes(truth: Any, predicted: Any) -> tuple[Array, Array]:
    """Attributes of both sides as codes; -1 where there is none."""
    if "attribute" not in truth.source:
        return np.full(len(truth), -1, np.int32), np.full(len(predicted), -1, np.int32)
    place: dict[str, int] = {"": -1}
    codes = []
    for side in (truth, predicted):
        if "attribute" not in side.source:
            codes.append(np.full(len(side), -1, np.int32))
            continue
        names, code = coded_column(side.source, "attribute")
        own = [place.setdefault(str(name), len(place)) for name in names.tolist()]
        codes.append(np.array(own or [-1], dtype=np.int32)[code[side.row]])
    return codes[0], codes[1]


class CentreScores(RankingReader):
    """Average precision at 0.5, 1, 2 and 4 m, then the five errors: (rows, classes, 9)."""

    ranking: CentreEvents

    def read(self, block: RankingBlock, weights: Weights, metadata: Metadata) -> Floats:
        """Not a number where a class has no truth."""
        result = np.full((weights.rows, block.groups, len(DISTANCES) + len(ERRORS)), np.nan)
        for group in range(block.groups):
            single = later_first(block.one(group))
            result[:, group] = _by_rows(
                weights, single, ("score", "bits", "errors"), truths_of(single, weights.units), _native.centre_scores,
                _native.centre_scores_by_unit, (len(DISTANCES), ERROR_AT),
            )  # fmt: skip
        return result


def later_first(block: RankingBlock) -> RankingBlock:
    """The events of one group, those of equal score in the opposite order: as nuScenes asks them."""
    score = block.events.columns["score"]
    if not len(score) or (score[1:] != score[:-1]).all():
        return block
    heads = np.flatnonzero(np.append(True, score[1:] != score[:-1]))
    ends = np.append(heads[1:], len(score))
    run = np.repeat(np.arange(len(heads)), ends - heads)
    order = heads[run] + ends[run] - 1 - np.arange(len(score))
    events = block.events
    return RankingBlock(
        "",
        Grouped(events.begin, events.unit[order], {name: column[order] for name, column in events.columns.items()}),
        block.positives,
    )


def centre_curves(block: RankingBlock, group: int, weights: Array) -> Array:
    """Precision at 101 recalls for each distance, then confidence and the errors there."""
    single = later_first(block.one(group))
    c = single.events.columns
    return _native.centre_curves(
        weights, truths_of(single, len(weights)), c["score"], single.events.unit, c["bits"], c["errors"],
        len(DISTANCES), ERROR_AT,
    )  # fmt: skip


class DroppedSum(Sum):
    """Rows that the rules' filters took, in the order of the pairs' words."""

    name = "boxes3d.dropped"
    drawn = False

    def measure(self, pairs: SolidPairs, cache: SharedCache) -> SumBlock:
        """Too far, without a point and in a rack, of truths; too far and in a rack, of predictions."""
        dropped = dict(pairs.dropped)
        columns = [dropped.get(name, np.zeros(len(pairs.units))) for name in DROPPED_WORDS]
        return SumBlock(np.stack(columns, axis=1))


DROPPED_WORDS = (
    "truths too far from the car", "truths without a point", "truths in a bicycle rack",
    "predictions too far from the car", "predictions in a bicycle rack",
)  # fmt: skip
DROPPED = DroppedSum()
