"""What states keep of anomaly maps: packed scores of each image, and the scores of images.

The scores of an image are packed (about a byte per pixel): its normal pixels in one set, grouped but not sorted where
they are of single precision, and each region of its mask in another, sorted and counted. Any counts can be taken from
them later, whatever other images bring: parts merge to the bit, and no score is put into a bin. Above `SPOOL` bytes
they lie in a temporary file, not in memory.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

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

SPOOL = 256 << 20  # bytes of packed scores in memory
AT_ONCE = 32  # images between two writes
NO_SKIP = np.zeros(0, np.uint8)


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
        measured = measure_images(pairs, cache)
        data, begin = measured.packed[self]
        return RowsBlock((RowTable(self, pairs.units, begin, {"data": data}),), np.arange(len(pairs.units)))

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
    """What one pass over the maps gives: packed scores with where each unit begins, and scores of the pairs."""

    packed: Mapping[Regions, tuple[Array, Array]]
    scores: Mapping[ImageScores, Floats]


def measure_images(pairs: AnomalyPairs, cache: SharedCache) -> Measured:
    """Everything that statistics ask of the maps, in one pass."""
    regions = [need for need in cache.statistics if isinstance(need, Regions)]
    images = [need for need in cache.statistics if isinstance(need, ImageScores)]
    return cache.once("anomalies", lambda: _measure(pairs, regions, images))


def _measure(pairs: AnomalyPairs, regions: Sequence[Regions], images: Sequence[ImageScores]) -> Measured:
    count = len(pairs.owner)
    scores = {need: np.full(count, np.nan) for need in images}
    spools = {need: _Spool(len(pairs.units)) for need in regions}
    by_map = not pairs.own_scores or bool(regions)

    def look(pair: int) -> tuple[list[bytes], list[float]]:
        own = pairs.own_score(pair)
        if not by_map or not pairs.has_map(pair):
            if regions or np.isnan(own):
                pairs.refuse_no_map(pair)
            return [b""] * len(regions), [own for _ in images]
        picture = pairs.picture(pair, bool(regions))
        return (
            [pack_image(picture, need, pairs, pair) for need in regions],
            [image_score(picture.scores, need) if np.isnan(own) else own for need in images],
        )

    for start in range(0, count, AT_ONCE):
        stop = min(start + AT_ONCE, count)
        for place, (packs, values) in enumerate(for_each(stop - start, lambda i, start=start: look(start + i))):  # type: ignore[misc]
            for need, packed in zip(regions, packs, strict=True):
                spools[need].add(int(pairs.owner[start + place]), packed)
            for own_need, value in zip(images, values, strict=True):
                scores[own_need][start + place] = value
    return Measured({need: spool.finish() for need, spool in spools.items()}, scores)


class _Spool:
    """Bytes of units that come in order: in memory, and from some size on in a temporary file."""

    def __init__(self, units: int) -> None:
        self.sizes = np.zeros(units, dtype=np.int64)
        self.parts: list[bytes] = []
        self.held = 0
        self.file: Any = None

    def add(self, unit: int, packed: bytes) -> None:
        self.sizes[unit] = len(packed)
        self.parts.append(packed)
        self.held += len(packed)
        if self.held > SPOOL:
            self.file = self.file or _temporary_file()
            self.file.write(b"".join(self.parts))
            self.parts, self.held = [], 0

    def finish(self) -> tuple[Array, Array]:
        begin = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
        if self.file is None:
            return np.frombuffer(b"".join(self.parts), dtype=np.uint8), begin
        with self.file:  # the array maps the file, which therefore lasts as long as the array
            self.file.write(b"".join(self.parts))
            self.file.flush()
            data: Array = np.memmap(self.file, dtype=np.uint8, mode="r", shape=(int(begin[-1]),))
        return data, begin


def _temporary_file() -> Any:
    """A file without a name, which lives as long as the array over it does."""
    return tempfile.TemporaryFile()


def image_score(scores: Array, need: ImageScores) -> float:
    """The score of an image from its map."""
    if need.image_score == "max":
        return float(scores.max())
    values = np.sort(scores.astype(np.float64), axis=None)[::-1]
    if need.image_score == "mean":
        return float(values.mean())
    return float(values[: max(1, round(need.share * len(values)))].mean())


def pack_image(picture: Picture, need: Regions, pairs: AnomalyPairs, pair: int) -> bytes:
    """A header in JSON, behind its length in four bytes, and then the packed sets: normal, regions, their union."""
    scores = picture.scores.ravel()
    parts = picture.regions(need.of)
    if need.full == "normal" and picture.mask is not None and picture.mask.all():
        parts, skip = [], NO_SKIP
    else:
        skip = NO_SKIP if picture.mask is None else picture.mask.ravel()
        if picture.ignored is not None:
            skip = skip | picture.ignored.ravel()
    sets = [_native.pack_scores(scores, np.ascontiguousarray(skip), False)]
    sizes, saturations = [], []
    for part in parts:
        sets.append(_native.pack_scores(np.ascontiguousarray(scores[part.pixels]), NO_SKIP))
        sizes.append(len(part.pixels))
        saturations.append(part.saturation)
    union = picture.overlapping and need.of == "defects"
    if union and picture.mask is not None:
        sets.append(_native.pack_scores(np.ascontiguousarray(scores[np.flatnonzero(picture.mask)]), NO_SKIP))
    header = {
        "object": str(pairs.objects[pair]),
        "group": str(pairs.groups[pair]),
        "good": not bool(pairs.defective[pair]),
        "sets": [len(packed) for packed in sets],
        "pixels": sizes,
        "saturation": saturations,
        "union": bool(union),
        "normal": int(scores.size - np.count_nonzero(skip)),
    }
    text = json.dumps(header).encode()
    return b"".join((len(text).to_bytes(4, "little"), text, *sets))
