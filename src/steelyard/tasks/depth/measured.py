"""What a device keeps of each image of depth, and how it becomes the rows that statistics read."""

from __future__ import annotations

import math

from steelyard.core.frozen import Frozen
from steelyard.tasks.depth.pixels import SUMS, Array, ImageRow
from steelyard.tasks.fields.data import not_kept

THRESHOLDS = (1.05, 1.1, 1.25, 1.25**2, 1.25**3)
# The columns: sums of pixels, pixels below each threshold, and these. LEAST and MOST are the range of positive truths,
# ENDLESS counts predictions that are infinitely far, LOST the pixels of an image that no factor aligns.
LOW, HIGH, MEAN, SQUARES, SCALE, SHIFT, HOLES, PIXELS, FLAT, LEAST, MOST, ENDLESS, LOST = range(
    len(SUMS) + len(THRESHOLDS), len(SUMS) + len(THRESHOLDS) + 13
)


class Asked(Frozen):
    """What one pass over the images measures: thresholds of delta, parts, rules of edges, scales, and sums at all."""

    thresholds: tuple[float, ...] = ()
    parts: tuple[str, ...] = ("all",)
    edges: tuple[bool, ...] = ()
    scales: bool = False
    sums: bool = True


def measured_row(numbers: Array, asked: Asked, source: str) -> tuple[ImageRow, tuple[float, float]]:
    """The row of an image, and the range of its truth; an error where more is asked for than was kept."""
    part = next((part for part in asked.parts if part != "all"), None)
    if part is not None:
        raise not_kept(f"a metric needs of={part}", source)
    if asked.edges:
        raise not_kept("a score of edges needs the maps", source)
    lacking = next((threshold for threshold in asked.thresholds if threshold not in THRESHOLDS), None)
    if lacking is not None:
        raise not_kept(f"a metric needs the threshold {lacking:g}", source)
    if asked.scales and math.isnan(numbers[SCALE]) and numbers[0] > 0:
        raise not_kept("the spread of scales needs the maps where predictions are not aligned", source)
    below = numbers[[len(SUMS) + THRESHOLDS.index(threshold) for threshold in asked.thresholds]]
    row = ImageRow(
        numbers[: len(SUMS)],
        numbers[[MEAN, SQUARES]],
        below,
        scale=float(numbers[SCALE]),
        shift=float(numbers[SHIFT]),
        clamped=(float(numbers[LOW]), float(numbers[HIGH])),
        holes=float(numbers[HOLES]),
        pixels=float(numbers[PIXELS]),
        flat=bool(numbers[FLAT]),
    )
    return row, (float(numbers[LEAST]), float(numbers[MOST]))
