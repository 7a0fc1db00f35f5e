"""What states keep of label maps: pixels by class, confused classes, bands along edges, scores of single images."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from steelyard import _native
from steelyard.core.block import CellsBlock, SumBlock
from steelyard.core.frozen import Frozen
from steelyard.core.metadata import Metadata
from steelyard.core.pairs import Array
from steelyard.core.records import distinct_values
from steelyard.core.statistic import Cells, SharedCache, Sum
from steelyard.core.weights import ratio
from steelyard.maps.each import for_each
from steelyard.tasks.segmentation.data import Coded, MapPairs, Scan

HIT, TRUE, PREDICTED, IMAGES = range(4)
UNCLASSED, _IGNORED, _INSIDE = 0xFFFD, 0xFFFE, 0xFFFF  # codes that no class has


class ClassTable(Frozen):
    """Pixels of the classes that an image has, each a row: right, true, predicted."""

    owner: Array
    label: Array
    pixels: Array

    @staticmethod
    def of(pixels: Coded, size: int) -> ClassTable:
        """From pixels by both classes; `size` is how many classes there are."""
        true, predicted = pixels.truth >= 0, pixels.predicted >= 0
        key = np.concatenate(
            [
                pixels.owner[true] * size + pixels.truth[true],
                pixels.owner[predicted] * size + pixels.predicted[predicted],
            ]
        )
        keys, place = np.unique(key, return_inverse=True)
        first = int(true.sum())
        right = (pixels.truth == pixels.predicted)[true]
        columns = [
            np.bincount(place[:first][right], weights=pixels.count[true][right], minlength=len(keys)),
            np.bincount(place[:first], weights=pixels.count[true], minlength=len(keys)),
            np.bincount(place[first:], weights=pixels.count[predicted], minlength=len(keys)),
        ]
        return ClassTable(keys // max(1, size), keys % max(1, size), np.stack(columns, axis=1))

    def block(self, axis: str, metadata: Metadata) -> CellsBlock:
        """Cells (class, what): right, true, predicted, and 1 for the image."""
        table = np.concatenate([self.pixels, np.ones((len(self.owner), 1))], axis=1)
        row, column = np.nonzero(table)
        return CellsBlock.of((axis, 4), metadata, self.owner[row], self.label[row] * 4 + column, table[row, column])


class ClassPixels(Cells):
    """Pixels of each class: right, true, predicted; and the images that have any of it."""

    name: ClassVar[str] = "segmentation.classes"

    def measure(self, pairs: MapPairs, cache: SharedCache) -> CellsBlock:
        return ClassTable.of(pairs.pixels, pairs.metadata.size("class")).block("class", pairs.metadata)


class GroupPixels(Cells):
    """Pixel counts by group of classes: a pixel labelled as another class of its group is right."""

    name: ClassVar[str] = "segmentation.groups"

    def measure(self, pairs: MapPairs, cache: SharedCache) -> CellsBlock:
        """Counts of each image, its classes joined to groups first."""
        pixels, metadata = pairs.pixels, pairs.metadata
        labelling, groups = pairs.labelling, metadata.axes["group"].ids
        place = np.array([groups.index(labelling.groups[name]) for name in labelling.names] + [-1], dtype=np.int64)
        joined = Coded(pixels.owner, place[pixels.truth], place[pixels.predicted], pixels.count, pixels.ignored)
        return ClassTable.of(joined, metadata.size("group")).block("group", metadata)


class Confusion(Cells):
    """Pixels by class of the truth and of the prediction: for tables, not for draws."""

    name: ClassVar[str] = "segmentation.confusion"
    drawn: ClassVar[bool] = False

    def measure(self, pairs: MapPairs, cache: SharedCache) -> CellsBlock:
        pixels = pairs.pixels
        some = pixels.predicted >= 0
        code = pixels.truth[some] * pairs.metadata.size("class") + pixels.predicted[some]
        return CellsBlock.of(("class", "class"), pairs.metadata, pixels.owner[some], code, pixels.count[some])


class PixelSums(Sum):
    """Pixels of an image: counted, ignored in the truth, and predicted as no class."""

    name: ClassVar[str] = "segmentation.pixels"

    def measure(self, pairs: MapPairs, cache: SharedCache) -> SumBlock:
        pixels, units = pairs.pixels, len(pairs.units)
        wrong = pixels.predicted < 0
        every = np.bincount(pixels.owner, weights=pixels.count, minlength=units)
        unknown = np.bincount(pixels.owner[wrong], weights=pixels.count[wrong], minlength=units)
        return SumBlock(np.stack([every, pixels.ignored, unknown], axis=1))


class ImageScore(Sum):
    """The mean over the classes of an image of their IoU or Dice, and whether it has any class."""

    of: str = "iou"

    name: ClassVar[str] = "segmentation.images"

    def measure(self, pairs: MapPairs, cache: SharedCache) -> SumBlock:
        table, units = ClassTable.of(pairs.pixels, pairs.metadata.size("class")), len(pairs.units)
        hit, both = table.pixels[:, HIT], table.pixels[:, TRUE] + table.pixels[:, PREDICTED]
        value = ratio(hit, both - hit) if self.of == "iou" else ratio(2 * hit, both)
        classes = np.bincount(table.owner, minlength=units)
        mean = np.bincount(table.owner, weights=value, minlength=units) / np.maximum(classes, 1)
        return SumBlock(np.stack([mean, classes > 0], axis=1))


class BandPixels(Cells):
    """Pixels near the edges of each class: in both bands, in the truth's, in the prediction's.

    `width` is the width of a band as a share of the image's diagonal.
    """

    width: float = 0.02

    name: ClassVar[str] = "segmentation.bands"

    def measure(self, pairs: MapPairs, cache: SharedCache) -> CellsBlock:
        """Counts of each image. All widths that are wanted are counted while a map is in memory."""
        widths = tuple(
            dict.fromkeys(
                [statistic.width for statistic in cache.statistics if isinstance(statistic, BandPixels)] or [self.width]
            )
        )
        scans = cache.once(("bands", widths), lambda: _bands(pairs, widths))
        pixels = scans[widths.index(self.width)]
        return ClassTable.of(pixels, pairs.metadata.size("class")).block("class", pairs.metadata)


def _bands(pairs: MapPairs, widths: Sequence[float]) -> list[Coded]:
    coder = coders(pairs)
    # Codes of one byte where the classes leave room: what no class has keeps its place at the end.
    kind: Any = np.uint8 if pairs.metadata.size("class") <= UNCLASSED & 0xFF else np.uint16
    ignored, inside = (code & np.iinfo(kind).max for code in (_IGNORED, _INSIDE))

    def band_maps(codes: Array, distances: Sequence[int]) -> list[Array]:
        return [np.asarray(_native.map_bands(codes, distance, inside, ignored)) for distance in distances]

    def of_image(pair: int) -> list[tuple[Array, Array, Array]]:
        truth, prediction = pairs.open_pair(pair)
        distances = [max(1, round(width * math.hypot(*truth.shape))) for width in widths]
        codes = coder[0](truth.map()).astype(kind, copy=False)
        bands = band_maps(codes, distances)
        if prediction is None:
            counted = [np.unique(band, return_counts=True) for band in bands]
            return [(values, np.full(len(values), UNCLASSED), count) for values, count in counted]
        cut = codes == ignored  # on both sides, so that ignored pixels bound the same bands
        codes = coder[1](prediction.map()).astype(kind, copy=False)
        codes[cut] = ignored
        others = band_maps(codes, distances)
        return [_native.map_cells(band, other) for band, other in zip(bands, others, strict=True)]

    every = for_each(len(pairs.owner), of_image)
    nothing = np.zeros(0, dtype=np.int64)
    scans = [Scan.of([one[i] for one in every], pairs.owner, nothing) for i in range(len(widths))]
    return [_in_bands(scan, pairs, ignored) for scan in scans]


def _in_bands(scan: Scan, pairs: MapPairs, ignored: int) -> Coded:
    """Cells of bands as pixels by class. A pixel inside on one side counts for the other side alone."""
    size, units = pairs.metadata.size("class"), len(pairs.units)
    counts_pixel = scan.truth != ignored
    owner, true, predicted, count = (v[counts_pixel] for v in (scan.owner, scan.truth, scan.predicted, scan.count))
    true, predicted = (np.where(values < size, values, -1) for values in (true, predicted))
    return Coded(owner, true, predicted, count, np.zeros(units))


def coders(pairs: MapPairs) -> list[Callable[[Array], Array]]:
    """For each side a function from a map's values to places on the axis of classes."""
    _ = pairs.pixels  # what has no class is refused
    labelling, ids = pairs.labelling, pairs.metadata.axes["class"].ids
    place = {label: i for i, label in enumerate(ids)}

    def coder(side: int, seen: Array) -> Callable[[Array], Array]:
        values = distinct_values(seen[seen >= 0])
        labels = labelling.classes(values, side).tolist()
        codes = [place.get(v, _IGNORED if v == -1 and side == 0 else UNCLASSED) for v in labels]
        keys, to = values.astype(np.uint32), np.array(codes, dtype=np.uint16)
        return lambda grid: np.asarray(_native.map_recode(grid, keys, to, UNCLASSED))

    return [coder(0, pairs.scan.truth), coder(1, pairs.scan.predicted)]
