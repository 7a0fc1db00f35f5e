"""Lesions: connected parts of a structure, found or missed one by one, as the scripts of BraTS 2023 pair them."""

from __future__ import annotations

import numpy as np

from steelyard import _native
from steelyard.core.frozen import frozen
from steelyard.core.pairs import Array


@frozen
class Lesion:
    """A lesion of the truth: its size in mm³, the Dice of what was found of it, and in how many predicted parts."""

    volume: float
    dice: float
    parts: int


def lesions(truth: Array, prediction: Array, voxel: float, dilation: int) -> tuple[list[Lesion], int]:
    """The lesions of the truth, in the order of their parts, and the number of predicted parts that touch none.

    Parts of the truth that dilation joins are one lesion. Predicted parts that touch its dilation are what was found.
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
        matched.append(Lesion(size * voxel, dice, len(near)))
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
