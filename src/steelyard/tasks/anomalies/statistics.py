"""What states keep of anomaly maps: packed scores of each image, and the scores of images.

The scores of an image are sorted, counted and packed (about a byte per pixel): its normal pixels in one set, each
region of its mask in another. Any counts can be taken from them later, whatever other images bring: parts merge to the
bit, and no score is put into a bin. Packing waits until a state is saved or merged (see `loose`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np

from steelyard import _native
from steelyard.core.block import SumBlock
from steelyard.core.frozen import Frozen
from steelyard.core.pairs import Array
from steelyard.core.records import as_object
from steelyard.core.rows import RowsBlock, RowTable
from steelyard.core.statistic import Rows, SharedCache
from steelyard.core.weights import Floats
from steelyard.maps.each import for_each
from steelyard.tasks.anomalies.data import AnomalyPairs, Picture
from steelyard.tasks.anomalies.loose import NO_SKIP, LooseImage, LooseTable, Store, keep_scores


class Regions(Rows):
    """Packed scores of the normal pixels and of each region of every image.

    Regions are parts of the mask that touch (`neighbours` 8 or 4), or `defects`: the channels of the mask, where it has
    them. With `full=normal` a mask that covers its whole image counts as normal.
    """

    name = "anomalies.regions"
    columns: ClassVar[Mapping[str, str]] = {"data": "u"}
    drawn = False

    of: Literal["8", "4", "defects"] = "8"
    full: Literal["region", "normal"] = "region"

    def measure(self, pairs: AnomalyPairs, cache: SharedCache) -> RowsBlock:
        return RowsBlock((measure_images(pairs, cache).tables[self],), np.arange(len(pairs.units)))

    def finish(self, rows: RowTable) -> SumBlock:
        return SumBlock(np.zeros(len(rows.ids)))

    def bare(self, rows: RowTable) -> RowTable:
        """Images without pixels."""
        empty = {"data": rows.columns["data"][:0]}
        return RowTable(rows.need, rows.ids, np.zeros(len(rows.ids) + 1, np.int64), empty)


class ImageScores(Rows):
    """The score of each image, its object, and whether it is defective."""

    name = "anomalies.images"
    columns: ClassVar[Mapping[str, str]] = {"object": "text", "score": "f", "defective": "u"}
    drawn = False

    image_score: Literal["max", "mean", "top"] = "max"
    share: float = 0.01

    def measure(self, pairs: AnomalyPairs, cache: SharedCache) -> RowsBlock:
        scores = measure_images(pairs, cache).scores[self]
        has = ~np.isnan(scores)
        units = np.full(len(pairs.units), -1, dtype=np.int64)
        units[pairs.owner] = np.arange(len(pairs.owner))
        place = units[units >= 0]
        place = place[has[place]]
        there = np.zeros(len(pairs.units), dtype=np.int64)
        there[pairs.owner[place]] = 1
        begin = np.concatenate([[0], np.cumsum(there)]).astype(np.int64)
        columns = {
            "object": as_object([str(pairs.objects[i]) for i in place.tolist()]),
            "score": scores[place].astype(np.float64),
            "defective": pairs.defective[place].astype(np.uint8),
        }
        return RowsBlock((RowTable(self, pairs.units, begin, columns),), np.arange(len(pairs.units)))

    def finish(self, rows: RowTable) -> SumBlock:
        return SumBlock(np.zeros(len(rows.ids)))


class Measured(Frozen):
    """What one pass over the maps gives: the pixels of the units, and scores of the pairs."""

    tables: Mapping[Regions, LooseTable]
    scores: Mapping[ImageScores, Floats]


def measure_images(pairs: AnomalyPairs, cache: SharedCache) -> Measured:
    """Everything that statistics ask of the maps, in one pass."""
    regions = [need for need in cache.statistics if isinstance(need, Regions)]
    images = [need for need in cache.statistics if isinstance(need, ImageScores)]
    return cache.once("anomalies", lambda: _measure(pairs, regions, images))


def _measure(pairs: AnomalyPairs, regions: Sequence[Regions], images: Sequence[ImageScores]) -> Measured:
    count = len(pairs.owner)
    scores = {need: np.full(count, np.nan) for need in images}
    store = Store()
    by_map = not pairs.own_scores or bool(regions)

    def look(pair: int) -> tuple[list[LooseImage | None], list[float]]:
        if not by_map or not pairs.has_map(pair):
            return [None] * len(regions), [pairs.own_score(pair) for _ in images]
        picture = pairs.picture(pair)
        own = pairs.own_score(pair)
        return (
            loose_images(picture, regions, pairs, pair, store),
            [image_score(picture.scores, need) if np.isnan(own) else own for need in images],
        )

    found: dict[Regions, list[LooseImage | None]] = {need: [None] * len(pairs.units) for need in regions}
    for pair, (loose, values) in enumerate(for_each(count, look)):
        for need, image in zip(regions, loose, strict=True):
            found[need][int(pairs.owner[pair])] = image
        for own_need, value in zip(images, values, strict=True):
            scores[own_need][pair] = value
    tables = {need: LooseTable(need, pairs.units, loose, store) for need, loose in found.items()}
    return Measured(tables, scores)


def image_score(scores: Array, need: ImageScores) -> float:
    """The score of an image from its map."""
    if need.image_score == "max":
        return float(scores.max())
    values = np.sort(scores.astype(np.float64), axis=None)[::-1]
    if need.image_score == "mean":
        return float(values.mean())
    return float(values[: max(1, round(need.share * len(values)))].mean())


def loose_images(
    picture: Picture, needs: Sequence[Regions], pairs: AnomalyPairs, pair: int, store: Store
) -> list[LooseImage | None]:
    """An image as each statistic sees it. Most see the same normal pixels, which are kept once."""
    scores = picture.scores.ravel()
    kept: dict[bool, int] = {}
    images: list[LooseImage | None] = []
    for need in needs:
        bare = need.full == "normal" and picture.mask is not None and bool(picture.mask.all())
        parts = [] if bare else picture.regions(need.of)
        skip = NO_SKIP if bare or picture.mask is None else picture.mask.ravel()
        if picture.ignored is not None and len(skip):
            skip = skip | picture.ignored.ravel()
        if bare not in kept:
            kept[bare] = keep_scores(store, scores, skip)
        sets = [_native.pack_scores(np.ascontiguousarray(scores[part.pixels]), NO_SKIP) for part in parts]
        union = picture.overlapping and need.of == "defects"
        if union and picture.mask is not None:
            sets.append(_native.pack_scores(np.ascontiguousarray(scores[np.flatnonzero(picture.mask)]), NO_SKIP))
        facts = {
            "object": str(pairs.objects[pair]),
            "group": str(pairs.groups[pair]),
            "good": not bool(pairs.defective[pair]),
            "sets": [],
            "pixels": [len(part.pixels) for part in parts],
            "saturation": [part.saturation for part in parts],
            "union": bool(union),
            "normal": int(scores.size - np.count_nonzero(skip)),
        }
        images.append(LooseImage(facts, sets, kept[bare]))
    return images
