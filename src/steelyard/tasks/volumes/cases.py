"""What states keep of volumes: a figure of every structure of a case, and why it has none.

Lesions: connected parts of a structure, found or missed one by one, as the scripts of BraTS 2023 pair them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from steelyard import _native
from steelyard.core.block import CellsBlock, SumBlock
from steelyard.core.frozen import Frozen
from steelyard.core.pairs import Array
from steelyard.core.statistic import Cells, SharedCache, Statistic, Sum
from steelyard.maps.each import for_each
from steelyard.tasks.volumes.data import Case, Scanned, VolumePairs


class Lesion(Frozen):
    """A lesion of the truth: its size in mm³, the Dice of what was found of it, in how many parts, and how far off."""

    volume: float
    dice: float
    parts: int
    distance: float = 0.0


Measure = Callable[[Array, Array], float]


def lesions(
    truth: Array, prediction: Array, voxel: float, dilation: int, measure: Measure | None = None
) -> tuple[list[Lesion], int]:
    """The lesions of the truth, in the order of their parts, and the number of predicted parts that touch none.

    Parts of the truth that dilation joins are one lesion. Predicted parts that touch its dilation are what was found;
    `measure` is how far they are off.
    """
    joined, count = _native.connected_parts(_native.dilate_mask(truth, dilation))
    parts, predicted = _native.connected_parts(prediction)
    touched: set[int] = set()
    matched = []
    for number in range(1, count + 1):
        mine = ((joined == number) & (truth > 0)).view(np.uint8)
        near = np.unique(parts[_native.dilate_mask(mine, dilation) > 0])
        near = near[near > 0]
        touched |= set(near.tolist())
        taken = np.isin(parts, near)
        size = int(mine.sum())
        both = int((taken & (mine > 0)).sum())
        dice = 2 * both / (size + int(taken.sum())) if len(near) else 0.0
        distance = measure(mine, taken.view(np.uint8)) if measure is not None and len(near) else 0.0
        matched.append(Lesion(size * voxel, dice, len(near), distance))
    return matched, int(predicted) - len(touched)


def lesion_score(figure: str, truth: Array, prediction: Array, voxel: float, dilation: int, minimum: float) -> float:
    """Dice or F1 of the lesions above a size, false parts included; nan where there is neither."""
    every, false = lesions(truth, prediction, voxel, dilation)
    large = [lesion for lesion in every if lesion.volume > minimum]
    if not large and not false:
        return float("nan")
    if figure == "lesion_dice":
        return sum(lesion.dice for lesion in large) / (len(large) + false)
    hits = sum(lesion.parts > 0 for lesion in large)
    return 2 * hits / (2 * hits + false + (len(large) - hits))


def lesion_distance(
    truth: Array, prediction: Array, voxel: float, dilation: int, minimum: float, missed: float, measure: Measure
) -> float:
    """The mean distance of the lesions above a size; one that is missed and each false part count as `missed`."""
    every, false = lesions(truth, prediction, voxel, dilation, measure)
    large = [lesion for lesion in every if lesion.volume > minimum]
    if not large and not false:
        return float("nan")
    return sum([lesion.distance if lesion.parts else missed for lesion in large], false * missed) / (len(large) + false)


def part_quality(truth: Array, prediction: Array) -> float:
    """Panoptic quality of connected parts: those of both sides are a pair if their IoU is above a half."""
    (true_parts, many), (other, more) = (_native.connected_parts(side) for side in (truth, prediction))
    if not many and not more:
        return float("nan")
    a, b, count = _native.map_cells(true_parts.view(np.uint32), other.view(np.uint32))
    sizes = [np.bincount(values, weights=count, minlength=n + 1) for values, n in ((a, many), (b, more))]
    both = (a > 0) & (b > 0)
    iou = count[both] / (sizes[0][a[both]] + sizes[1][b[both]] - count[both])
    pairs = iou[iou > 0.5]
    return float(pairs.sum() / (len(pairs) + 0.5 * (many - len(pairs)) + 0.5 * (more - len(pairs))))


VALUE, COUNT, MISSED, EMPTY, BARE = range(5)  # sum of values, cases with one, one side empty, both empty, left out
OVERLAPS = ("dice", "iou", "sensitivity", "ppv", "volume_error", "volume_bias")
DISTANCES = ("hd", "asd", "assd", "masd", "nsd")
LESIONS = ("lesion_f1", "lesion_dice", "lesion_hd", "lesion_pq")
_SIZED = ("volume_bias", *DISTANCES)  # figures that need the size of a voxel
Directions = tuple[Array, Array, Array, Array, Array, Array]


class _Figure(Statistic):
    """The settings of a figure of a structure.

    `at` is the percentile of `hd`, the tolerance of `nsd`, and the dilation of lesions; `percentile` that of
    `lesion_hd`.
    """

    figure: str = "dice"
    at: float = 100.0
    surface: str = "elements"
    rule: str = "area"
    of: str = "prediction"
    missed: str | float = "diagonal"
    both_empty: str = "skip"
    minimum: float = 0.0
    percentile: float = 95.0


class CaseScore(_Figure, Cells):
    """A figure of every structure, added up over cases: its sum, its cases, and those that have none."""

    name: ClassVar[str] = "volumes.cases"

    def measure(self, pairs: VolumePairs, cache: SharedCache) -> CellsBlock:
        table = case_values(self, pairs, cache)
        pair, place, column = np.nonzero(table)
        code = place * 5 + column
        return CellsBlock.of(("structure", 5), pairs.metadata, pairs.owner[pair], code, table[pair, place, column])


class CaseMean(_Figure, Sum):
    """The mean of a figure over the structures of a case that have one, and whether any has."""

    name: ClassVar[str] = "volumes.means"

    def measure(self, pairs: VolumePairs, cache: SharedCache) -> SumBlock:
        table = case_values(self, pairs, cache)
        total, count = table[:, :, VALUE].sum(axis=1), table[:, :, COUNT].sum(axis=1)
        values = np.zeros((len(pairs.units), 2))
        values[pairs.owner, 0] = np.where(count > 0, total / np.maximum(count, 1), 0.0)
        values[pairs.owner, 1] = count > 0
        return SumBlock(values)


Asked = CaseScore | CaseMean


def case_values(asked: Asked, pairs: VolumePairs, cache: SharedCache) -> Array:
    """(cases, structures, 5): value, 1 where there is one, and why there is none."""
    return cache.once(_key(asked), lambda: _case_values(asked, pairs, cache))


def _key(asked: Asked) -> tuple[object, ...]:
    return ("values", asked.figure, asked.at, asked.surface, asked.rule, asked.of, asked.missed, asked.both_empty,
           asked.minimum, asked.percentile)  # fmt: skip


def _case_values(asked: Asked, pairs: VolumePairs, cache: SharedCache) -> Array:
    listed = list(pairs.numbered_structures())
    table = np.zeros((len(pairs.owner), len(listed), 5))
    counts = case_voxels(pairs, cache)
    extents = cache.once("extents", lambda: case_extents(pairs)) if asked.figure in _SIZED else None
    events = _events(pairs, cache) if asked.figure in DISTANCES else None
    for pair in range(len(pairs.owner)):
        for place, _ in listed:
            true, predicted, shared = counts[pair, place]
            row = table[pair, place]
            if asked.figure in LESIONS:
                parts = cache.once(("lesions", *_key(asked)), lambda: _lesions(pairs, asked))
                value = float(parts[pair, place])
                row[VALUE], row[COUNT], row[EMPTY] = np.nan_to_num(value), not np.isnan(value), np.isnan(value)
                continue
            if not true and not predicted and asked.figure != "volume_bias":
                row[EMPTY] = 1
                if asked.both_empty == "best":
                    row[VALUE], row[COUNT] = asked.figure in ("dice", "iou", "nsd", "sensitivity", "ppv"), 1
                continue
            voxel, diagonal = extents[pair] if extents is not None else (0.0, 0.0)
            if asked.figure in OVERLAPS:
                value = _overlap(asked.figure, true, predicted, shared, voxel)
            elif not true or not predicted:
                row[MISSED] = 1
                if asked.figure == "nsd":
                    value = 0.0
                elif asked.missed == "skip":
                    value = np.nan
                else:
                    value = diagonal if asked.missed == "diagonal" else float(asked.missed)
            else:
                value = surface_figure(asked, events[pair, place, asked.surface])  # type: ignore[index]
            if asked.figure in OVERLAPS and (not true or not predicted):
                row[MISSED] = 1
            row[VALUE], row[COUNT], row[BARE] = (
                np.nan_to_num(value, posinf=np.inf),
                not np.isnan(value),
                np.isnan(value),
            )
    return table


def _overlap(figure: str, true: float, predicted: float, shared: float, voxel: float) -> float:
    if figure == "volume_bias":
        return (predicted - true) * voxel / 1000.0
    if figure == "dice":
        return 2 * shared / (true + predicted)
    if figure == "iou":
        return shared / (true + predicted - shared)
    if figure == "ppv":
        return shared / predicted if predicted else 0.0
    if not true:
        return np.nan
    return shared / true if figure == "sensitivity" else abs(predicted - true) / true


def case_voxels(pairs: VolumePairs, cache: SharedCache) -> Array:
    """Voxels of each structure in each case: true, predicted, both."""
    return cache.once("voxels", lambda: _voxels(pairs))


def _voxels(pairs: VolumePairs) -> Array:
    listed = list(pairs.numbered_structures())
    counts = np.zeros((len(pairs.owner), len(listed), 3))
    for pair, (a, b, count) in enumerate(pairs.cells):
        for place, labels in listed:
            first, second = np.isin(a, labels), np.isin(b, labels)
            counts[pair, place] = count[first].sum(), count[second].sum(), count[first & second].sum()
    return counts


def case_extents(pairs: VolumePairs) -> Array:
    """The volume of a voxel in mm³ and the diagonal of the volume in mm, case by case."""
    return np.array([(one.voxel, one.diagonal()) for one in pairs.scan]).reshape(-1, 2)


def _events(pairs: VolumePairs, cache: SharedCache) -> dict[tuple[int, int, str], Directions]:
    """Distances between surfaces, by case, structure and kind of surface; all kinds that are wanted in one pass."""
    wanted = {
        statistic.surface
        for statistic in cache.statistics
        if isinstance(statistic, CaseScore | CaseMean) and statistic.figure in DISTANCES
    }
    kinds = tuple(sorted(wanted)) or ("elements", "voxels")
    return cache.once(("distances", kinds), lambda: _distances(pairs, kinds))


def _distances(pairs: VolumePairs, methods: tuple[str, ...]) -> dict[tuple[int, int, str], Directions]:
    listed = list(pairs.numbered_structures())

    def of_case(pair: int) -> list[tuple[tuple[int, int, str], Directions]]:
        case, surfaces = pairs.case(pair), []
        for place, labels in listed:
            masks = case.masks(labels)
            if masks is None:
                continue
            for method in methods:
                events = _native.surface_distances(masks[0], masks[1], pairs.scan[pair].sizes(), method)
                if len(events[0]):
                    surfaces.append(((pair, place, method), events))
        return surfaces

    return dict(one for surfaces in for_each(len(pairs.owner), of_case) for one in surfaces)


def surface_figure(asked: Asked, events: Directions) -> float:
    """A figure from the distances of a structure: from the truth's surface, and from the prediction's."""
    da, wa, na, db, wb, nb = events
    if asked.figure == "nsd":
        within = wa[da <= asked.at].sum() + wb[db <= asked.at].sum()
        return float(within / (wa.sum() + wb.sum()))
    if asked.figure == "hd":
        return _percentile(asked.at, asked.rule, (da, wa, na), (db, wb, nb))
    means = (da * wa).sum() / wa.sum(), (db * wb).sum() / wb.sum()
    if asked.figure == "asd":
        return float(means[0] if asked.of == "truth" else means[1])
    if asked.figure == "masd":
        return float((means[0] + means[1]) / 2)
    return float(((da * wa).sum() + (db * wb).sum()) / (wa.sum() + wb.sum()))


def _percentile(at: float, rule: str, a: tuple[Array, Array, Array], b: tuple[Array, Array, Array]) -> float:
    if rule == "pooled":
        return _percentile_of(at, np.repeat(np.concatenate([a[0], b[0]]), np.concatenate([a[2], b[2]])))
    reading: Callable[[tuple[Array, Array, Array]], float] = (
        (lambda side: _percentile_of(at, np.repeat(side[0], side[2])))
        if rule == "linear"
        else (lambda side: _weighted_percentile(at, side))
    )
    return max(reading(a), reading(b))


def _percentile_of(at: float, distances: Array) -> float:
    return float(np.percentile(distances, at))


def _weighted_percentile(at: float, side: tuple[Array, Array, Array]) -> float:
    """The first distance at which the weights up to it reach the share."""
    distance, weight, _ = side
    if at == 100:
        return float(distance[-1])
    place = int(np.searchsorted(np.cumsum(weight) / weight.sum(), at / 100.0))
    return float(distance[min(place, len(distance) - 1)])


def _lesions(pairs: VolumePairs, asked: Asked) -> Array:
    listed = list(pairs.numbered_structures())
    dilation = int(asked.at)

    def of_case(pair: int) -> list[float]:
        case: Case = pairs.case(pair)
        return [_lesion_figure(case.masks(labels, dilation + 1), pairs.scan[pair], asked) for _, labels in listed]

    return np.array(for_each(len(pairs.owner), of_case)).reshape(len(pairs.owner), len(listed))


def _lesion_figure(masks: tuple[Array, Array] | None, scanned: Scanned, asked: Asked) -> float:
    if masks is None:
        return float("nan")
    if asked.figure == "lesion_pq":
        return part_quality(*masks)
    if asked.figure != "lesion_hd":
        return lesion_score(asked.figure, *masks, scanned.voxel, int(asked.at), asked.minimum)
    missed = scanned.diagonal() if asked.missed == "diagonal" else float(asked.missed)

    def distance(truth: Array, prediction: Array) -> float:
        da, wa, na, db, wb, nb = _native.surface_distances(truth, prediction, scanned.sizes(), "elements")
        return _percentile(asked.percentile, "area", (da, wa, na), (db, wb, nb))

    return lesion_distance(*masks, scanned.voxel, int(asked.at), asked.minimum, missed, distance)
