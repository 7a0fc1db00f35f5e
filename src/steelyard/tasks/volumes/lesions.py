"""Lesions: connected parts of a structure, found or missed one by one, as the scripts of BraTS 2023 pair them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from steelyard import _native
from steelyard.core.frozen import frozen
from steelyard.core.pairs import Array


@frozen
class Lesion:
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
    kept = [lesion for lesion in every if lesion.volume > minimum]
    if not kept and not false:
        return float("nan")
    if figure == "lesion_dice":
        return sum(lesion.dice for lesion in kept) / (len(kept) + false)
    hits = sum(lesion.parts > 0 for lesion in kept)
    return 2 * hits / (2 * hits + false + (len(kept) - hits))


def lesion_distance(
    truth: Array, prediction: Array, voxel: float, dilation: int, minimum: float, missed: float, measure: Measure
) -> float:
    """The mean distance of the lesions above a size; one that is missed and each false part count as `missed`."""
    every, false = lesions(truth, prediction, voxel, dilation, measure)
    kept = [lesion for lesion in every if lesion.volume > minimum]
    if not kept and not false:
        return float("nan")
    return sum([lesion.distance if lesion.parts else missed for lesion in kept], false * missed) / (len(kept) + false)


def part_quality(truth: Array, prediction: Array) -> float:
    """Panoptic quality of connected parts: those of both sides are a pair if their IoU is above a half."""
    (one, many), (other, more) = (_native.connected_parts(side) for side in (truth, prediction))
    if not many and not more:
        return float("nan")
    a, b, count = _native.map_cells(one.view(np.uint32), other.view(np.uint32))
    sizes = [np.bincount(values, weights=count, minlength=n + 1) for values, n in ((a, many), (b, more))]
    both = (a > 0) & (b > 0)
    iou = count[both] / (sizes[0][a[both]] + sizes[1][b[both]] - count[both])
    pairs = iou[iou > 0.5]
    return float(pairs.sum() / (len(pairs) + 0.5 * (many - len(pairs)) + 0.5 * (more - len(pairs))))
