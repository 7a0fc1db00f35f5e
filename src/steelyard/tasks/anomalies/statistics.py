"""What states keep of anomaly maps: packed scores of each image, and the scores of images.

The scores of an image are sorted, counted and packed (about a byte per pixel): its normal pixels in one set, each
region of its mask in another. Any counts can be taken from them later, whatever other images bring: parts merge to the
bit, and no score is put into a bin. Above `SPOOL` bytes they lie in a temporary file, not in memory.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from steelyard import _native
from steelyard.core.block import SumBlock
from steelyard.core.errors import InvalidResult
from steelyard.core.frozen import Frozen
from steelyard.core.metadata import Metadata
from steelyard.core.pairs import Array
from steelyard.core.records import as_object
from steelyard.core.rows import RowsBlock, RowTable
from steelyard.core.statistic import RankingReader, Rows, SharedCache
from steelyard.core.weights import Floats, Role, Weights
from steelyard.maps.each import for_each
from steelyard.tasks.anomalies import curves
from steelyard.tasks.anomalies.curves import Curve
from steelyard.tasks.anomalies.data import AnomalyPairs, Picture

T = TypeVar("T")
SPOOL = 256 << 20  # bytes of packed scores in memory
AT_ONCE = 32  # images between two writes
EXACT = 2048  # distinct scores of defective pixels up to which draws are exact
KNOTS = 1024  # bins of scores otherwise
ROWS = 1 << 21  # weighted counts that are held at once
MOST_KEPT = 1 << 22  # weighted counts of a curve that is kept for the next figure
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
        if not by_map or not pairs.has_map(pair):
            return [b""] * len(regions), [pairs.own_score(pair) for _ in images]
        picture = pairs.picture(pair)
        own = pairs.own_score(pair)
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
    sets = [_native.pack_scores(scores, np.ascontiguousarray(skip))]
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
    return len(text).to_bytes(4, "little") + text + b"".join(sets)


class Entries(Frozen):
    """Counted scores of regions, or of defective pixels: one row for each distinct score of each set."""

    unit: Array
    region: Array
    score: Floats
    count: Array
    overlap: Floats  # what the score adds to the overlap of its region
    saturated: Floats  # the same, saturated


class Pixels:
    """The images of a block, ready to be counted: arrays by unit in the block's order."""

    def __init__(self, block: RowsBlock) -> None:
        tables = block.tables
        data = tables[0].columns["data"] if len(tables) == 1 else np.concatenate([t.columns["data"] for t in tables])
        starts = np.cumsum([0] + [len(table.columns["data"]) for table in tables])
        first = np.concatenate([table.begin[:-1] + s for table, s in zip(tables, starts, strict=False)])[block.index]
        last = np.concatenate([table.begin[1:] + s for table, s in zip(tables, starts, strict=False)])[block.index]
        self.data, units = data, len(block.index)
        self._cache: dict[Any, Any] = {}
        self.objects: list[str] = [""] * units
        self.groups: list[str] = [""] * units
        self.there = last > first
        self.good = np.zeros(units, dtype=bool)
        self.normal: Floats = np.zeros(units)
        self.places = np.zeros((units, 2), dtype=np.int64)
        regions: list[tuple[int, int, int, int]] = []
        unions: list[tuple[int, int, int]] = []
        self.has_union = np.zeros(units, dtype=bool)
        for unit in np.flatnonzero(self.there).tolist():
            try:
                header, at = _header(data, int(first[unit]), int(last[unit]))
                self.objects[unit], self.groups[unit] = str(header["object"]), str(header["group"])
                self.good[unit], self.normal[unit] = bool(header["good"]), int(header["normal"])
                ends = at + np.cumsum([0, *map(int, header["sets"])])
                if ends[-1] != last[unit] or (np.diff(ends) <= 0).any():
                    raise ValueError
                self.places[unit] = ends[:2]
                for place, saturation in enumerate(header["saturation"]):
                    regions.append((unit, int(ends[place + 1]), int(ends[place + 2]), int(saturation)))
                if header["union"]:
                    self.has_union[unit] = True
                    unions.append((unit, int(ends[-2]), int(ends[-1])))
            except (ValueError, KeyError, TypeError, IndexError, OverflowError):
                raise _damaged() from None
        self.entries = self._entries(regions)
        self.region_unit = np.array([unit for unit, _, _, _ in regions], dtype=np.int64)
        self.union = self._union(unions)

    def _entries(self, regions: Sequence[tuple[int, int, int, int]]) -> Entries:
        columns: list[list[Array]] = [[] for _ in range(6)]
        for number, (unit, first, last, saturation) in enumerate(regions):
            score, count = unpack_set(self.data[first:last])
            size = int(count.sum())
            pixels_at = np.cumsum(count[::-1])[::-1]  # pixels at or above each score
            reached = np.minimum(pixels_at / max(1, saturation), 1.0)
            rise = reached - np.append(reached[1:], 0.0)
            width = len(score)
            values = (np.full(width, unit), np.full(width, number), score, count, count / size, rise)
            for column, value in zip(columns, values, strict=True):
                column.append(value)
        kinds = (np.int64, np.int64, np.float64, np.int64, np.float64, np.float64)
        return Entries(*(np.concatenate(c) if c else np.zeros(0, k) for c, k in zip(columns, kinds, strict=True)))

    def _union(self, unions: Sequence[tuple[int, int, int]]) -> tuple[Array, Floats, Array]:
        """Unit, score and count of defective pixels, each pixel once."""
        alone = ~self.has_union[self.entries.unit]
        units, scores, counts = [self.entries.unit[alone]], [self.entries.score[alone]], [self.entries.count[alone]]
        for unit, first, last in unions:
            score, count = unpack_set(self.data[first:last])
            units.append(np.full(len(score), unit))
            scores.append(score)
            counts.append(count)
        return np.concatenate(units), np.concatenate(scores), np.concatenate(counts)

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """What several figures read, made once."""
        if key not in self._cache:
            self._cache[key] = make()
        value: T = self._cache[key]
        return value

    def members(self, by_group: bool = False) -> dict[tuple[str, str], Array]:
        """The units of each object, or of each group of defects of an object with all its good images."""
        members: dict[tuple[str, str], Array] = {}
        objects, groups = np.array(self.objects, dtype=str), np.array(self.groups, dtype=str)
        for name in sorted({name for name, there in zip(self.objects, self.there, strict=True) if there}):
            mine = self.there & (objects == name)
            kinds = sorted(set(groups[mine & ~self.good].tolist())) if by_group else []
            if len(kinds) < 2:
                members[name, ""] = np.flatnonzero(mine)
            else:
                members |= {(name, kind): np.flatnonzero(mine & (self.good | (groups == kind))) for kind in kinds}
        return members


def pixels_of(block: RowsBlock) -> Pixels:
    """The images of a block, read once."""
    cache: dict[str, Any] = block.__dict__
    if "_pixels" not in cache:
        cache["_pixels"] = Pixels(block)
    pixels: Pixels = cache["_pixels"]
    return pixels


def _header(data: Array, first: int, last: int) -> tuple[dict[str, Any], int]:
    length = int.from_bytes(data[first : first + 4].tobytes(), "little")
    at = first + 4 + length
    if at > last:
        raise ValueError
    header = json.loads(data[first + 4 : at].tobytes())
    if len(header["sets"]) != 1 + len(header["saturation"]) + bool(header["union"]):
        raise ValueError
    return header, at


def unpack_set(packed: Array) -> tuple[Floats, Array]:
    """The distinct scores of a packed set, rising, and how often each occurs."""
    try:
        return _native.unpack_scores(np.ascontiguousarray(packed))
    except ValueError:
        raise _damaged() from None


def _damaged() -> InvalidResult:
    return InvalidResult("the packed scores of a state are damaged", remedy="Make the state again.")


def count_sets(data: Array, places: Array, thresholds: Floats, weights: Floats | None) -> Floats:
    """Scores at or above, and above, rising thresholds: (sets, 2, thresholds), or (2, thresholds) under weights."""
    each = weights is None
    ones = np.ones(len(places)) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    places, thresholds = np.ascontiguousarray(places, dtype=np.int64), np.ascontiguousarray(thresholds)
    try:
        counts: Floats = _native.count_scores(np.asarray(data), places, thresholds, ones, each)
    except ValueError:
        raise _damaged() from None
    return counts if each else counts[0]


class Grid(Frozen):
    """Counts of the units of an object at scores, from the highest to the lowest: arrays (units, scores)."""

    units: Array
    score: Floats
    overlap: Floats
    positive: Floats
    tie: Floats
    above: Floats
    normal: Floats
    regions: Floats

    def curve(self, rows: Floats, normal_rows: Floats) -> Curve:
        """The curve under rows of weights of its units, those of normal pixels by themselves."""
        return Curve(
            self.score,
            rows @ self.overlap,
            rows @ self.positive,
            normal_rows @ self.tie,
            normal_rows @ self.above,
            normal_rows @ self.normal,
            rows @ self.regions,
        )


def _distinct(pixels: Pixels, units: Array) -> Floats:
    """The distinct scores of defective pixels of some units, rising."""

    def make() -> Floats:
        wanted = np.zeros(len(pixels.there), dtype=bool)
        wanted[units] = True
        return np.unique(pixels.union[1][wanted[pixels.union[0]]])

    return pixels.once(("distinct", units.tobytes()), make)


def _by_score(pixels: Pixels, units: Array, places: Floats, saturated: bool) -> tuple[tuple[Array, ...], ...]:
    """For overlap and for defective pixels: the place of each entry's unit and of its score, and what it adds.

    `places` are rising scores; an entry belongs to the highest that is not above it.
    """
    unit_place = np.full(len(pixels.there), -1, dtype=np.int64)
    unit_place[units] = np.arange(len(units))
    columns = []
    entries = pixels.entries
    overlap = entries.saturated if saturated else entries.overlap
    for unit, score, value in ((entries.unit, entries.score, overlap), pixels.union):
        mine = np.flatnonzero(unit_place[unit] >= 0)
        column = np.searchsorted(places, score[mine], side="right") - 1
        columns.append((unit_place[unit[mine]], np.maximum(column, 0), np.asarray(value[mine], dtype=np.float64)))
    return tuple(columns)


def whole_curve(pixels: Pixels, units: Array, weights: Floats, normal_weights: Floats, saturated: bool) -> Curve:
    """The curve at every distinct score of defective pixels, under one row of weights of the units."""
    if len(units) == 1:  # one image alone is looked at once
        return _whole_curve(pixels, units, weights, normal_weights, saturated)
    key = ("curve", units.tobytes(), weights.tobytes(), normal_weights.tobytes(), saturated)
    return pixels.once(key, lambda: _whole_curve(pixels, units, weights, normal_weights, saturated))


def _whole_curve(pixels: Pixels, units: Array, weights: Floats, normal_weights: Floats, saturated: bool) -> Curve:
    score = _distinct(pixels, units)
    counts = count_sets(pixels.data, pixels.places[units], score, normal_weights)
    overlap, positive = (
        np.bincount(column, weights=value * weights[unit], minlength=len(score))
        for unit, column, value in _by_score(pixels, units, score, saturated)
    )
    regions = np.bincount(pixels.region_unit, minlength=len(pixels.there))[units]

    def row(values: Any) -> Floats:
        return np.atleast_2d(np.asarray(values, dtype=np.float64)[::-1])

    return Curve(
        score[::-1],
        row(overlap),
        row(positive),
        row(counts[0] - counts[1]),
        row(counts[1]),
        np.array([normal_weights @ pixels.normal[units]]),
        np.array([weights @ regions]),
    )


def grid_of(pixels: Pixels, units: Array, saturated: bool) -> Grid:
    """Counts of each unit at every score of defective pixels, or where those are many, in bins of scores."""
    return pixels.once(("grid", units.tobytes(), saturated), lambda: _make_grid(pixels, units, saturated))


def _bin_scores(pixels: Pixels, units: Array, saturated: bool) -> Array:
    """Places in the falling distinct scores of defective pixels at which bins end."""

    def make() -> Array:
        ones = np.ones(len(units))
        return curves.bin_edges(whole_curve(pixels, units, ones, ones, saturated), KNOTS)

    return pixels.once(("edges", units.tobytes(), saturated), make)


def _make_grid(pixels: Pixels, units: Array, saturated: bool) -> Grid:
    score = _distinct(pixels, units)
    bins = len(score) > EXACT
    if bins:
        score = score[::-1][_bin_scores(pixels, units, saturated)][::-1]
    counts = count_sets(pixels.data, pixels.places[units], score, None)
    at, above = counts[:, 0, ::-1], counts[:, 1, ::-1]
    if bins:
        above = np.concatenate([np.zeros((len(units), 1)), at[:, :-1]], axis=1)
    overlap, positive = (
        np.bincount(unit * len(score) + column, weights=value, minlength=len(units) * len(score)).astype(np.float64)
        for unit, column, value in _by_score(pixels, units, score, saturated)
    )

    def falling(flat: Floats) -> Floats:
        return np.ascontiguousarray(flat.reshape(len(units), len(score))[:, ::-1])

    regions = np.bincount(pixels.region_unit, minlength=len(pixels.there))[units].astype(np.float64)
    return Grid(
        units,
        score[::-1],
        falling(overlap),
        falling(positive),
        at - above,
        np.ascontiguousarray(above),
        pixels.normal[units],
        regions,
    )


class PixelFigure(RankingReader):
    """A figure of the pixels of each object, or of each group of defects of it: (rows, objects); nan where undefined.

    `figure` is one of auroc, ap, f1, f1_threshold, aupro, aupimo, pro, seg_f1, seg_iou, bound. `limit` is the highest
    false positive rate, `low` the lowest of aupimo; `threshold` is that of pro, seg_f1 and seg_iou.
    """

    ranking: Regions
    figure: str
    limit: float = 1.0
    low: float = 0.0
    normal: str = "all"
    rule: str = "step"
    saturated: bool = False
    like: str = ""
    thresholds: int = 0
    threshold: float = 0.0

    def read(self, block: RowsBlock, weights: Weights, metadata: Metadata) -> Floats:
        pixels = pixels_of(block)
        members = list(pixels.members(self.saturated).values())
        values = np.full((weights.rows, max(1, len(members))), np.nan)
        if weights.role is Role.UNITS:
            start, stop = getattr(weights, "start", 0), getattr(weights, "stop", weights.units)
            for unit in range(start, stop):
                if pixels.there[unit]:
                    values[unit - start, 0] = self._point(pixels, np.array([unit]), np.ones(1))
            return values
        if weights.role in (Role.POINT, Role.COUNT):
            row = next(iter(weights.blocks()))[0]
            for place, units in enumerate(members):
                values[0, place] = self._point(pixels, units, row[units])
            return values
        for place, units in enumerate(members):
            values[:, place] = self._rows(pixels, units, weights)
        return values

    def _rows(self, pixels: Pixels, units: Array, weights: Weights) -> Floats:
        """The figure of many rows of weights. In bins, and where a tool is copied, moved by what the bins change."""
        if self.figure in ("pro", "seg_f1", "seg_iou"):
            table = self.counts_at(pixels, units)
            rows = np.concatenate([block[:, units] @ table for block in weights.blocks()])
            return self._of_counts(rows)
        grid = grid_of(pixels, units, self.saturated)
        key = ("curve", self.ranking, units.tobytes(), self.normal, self.saturated, self.figure == "aupimo")
        curve = _last_curve(pixels, weights, key)
        if curve is not None:
            return self._evaluate(curve) + self._shift(pixels, units, grid)
        if weights.rows * len(grid.score) <= MOST_KEPT:  # one product for all figures
            rows = np.concatenate([block[:, units] for block in weights.blocks()])
            curve = self._curve(pixels, grid, rows)
            _keep_curve(pixels, weights, key, curve)
            return self._evaluate(curve) + self._shift(pixels, units, grid)
        step = max(1, ROWS // max(1, len(grid.score)))
        values = [
            self._evaluate(self._curve(pixels, grid, np.ascontiguousarray(block[start : start + step][:, units])))
            for block in weights.blocks()
            for start in range(0, len(block), step)
        ]
        return np.concatenate(values) + self._shift(pixels, units, grid)

    def _curve(self, pixels: Pixels, grid: Grid, rows: Floats) -> Curve:
        if self.figure != "aupimo":
            return grid.curve(rows, rows * self._normal_factor(pixels, grid.units))
        good, masked = self._recall_weights(pixels, grid.units)
        curve = grid.curve(rows * masked, rows * good)
        images = rows @ (masked > 0)
        enough = (rows > 0) @ np.where(good > 0, grid.normal, 0.0) * self.low >= 1 - 1e-9
        return Curve(
            grid.score, curve.overlap, curve.positive, curve.tie, curve.above, rows @ (good > 0) * enough, images
        )

    def _normal_factor(self, pixels: Pixels, units: Array) -> Floats:
        return np.where(pixels.good[units], 0.0, 1.0) if self.normal == "defective" else np.ones(len(units))

    @staticmethod
    def _recall_weights(pixels: Pixels, units: Array) -> tuple[Floats, Floats]:
        """For recall by image: what a normal pixel of a good image and a defective one of another image count."""
        size = np.bincount(pixels.union[0], weights=pixels.union[2], minlength=len(pixels.there))[units]
        normal = pixels.normal[units]
        good = np.where(pixels.good[units] & (normal > 0), 1 / np.maximum(normal, 1.0), 0.0)
        return good, np.where(size > 0, 1 / np.maximum(size, 1.0), 0.0)

    def _point(self, pixels: Pixels, units: Array, row: Floats) -> float:
        """The figure under one row of weights, at every score."""
        if self.figure in ("pro", "seg_f1", "seg_iou"):
            return float(self._of_counts((row @ self.counts_at(pixels, units))[np.newaxis])[0])
        if self.figure == "bound":
            return self._bound(pixels, units)
        if self.like == "mvtec3d":
            return self._fixed_thresholds(pixels, units, row)
        weights, normal = row, row * self._normal_factor(pixels, units)
        if self.figure == "aupimo":
            good, masked = self._recall_weights(pixels, units)
            weights, normal = row * masked, row * good
        curve = whole_curve(pixels, units, weights, normal, self.saturated)
        if self.figure == "aupimo":
            enough = (row > 0) @ np.where(good > 0, pixels.normal[units], 0.0) * self.low >= 1 - 1e-9
            curve = Curve(
                curve.score,
                curve.overlap,
                curve.positive,
                curve.tie,
                curve.above,
                np.array([row @ (good > 0) * enough]),
                np.array([row @ (masked > 0)]),
            )
        return float(self._evaluate(curve, self._bounds(pixels, units, row))[0])

    def _evaluate(self, curve: Curve, bounds: tuple[float, float] | None = None) -> Floats:
        if self.figure == "auroc":
            return curves.roc_area(curve)
        if self.figure == "ap":
            return curves.average_precision(curve, self.rule)
        if self.figure == "f1":
            return curves.best_f1(curve)[0]
        if self.figure == "f1_threshold":
            return curves.best_f1(curve)[1]
        if self.figure == "aupimo":
            low, high = bounds or (self.low, self.limit)
            with np.errstate(divide="ignore", invalid="ignore"):
                above = curve.above / curve.normal[:, None]
                at = (curve.above + curve.tie) / curve.normal[:, None]
                gain = curves.log_gain(at, above, low, high) / np.log(self.limit / self.low)
                mean = np.asarray((curve.positive * gain).sum(axis=1) / curve.regions)
            return np.where((curve.normal > 0) & (curve.regions > 0), mean, np.nan)
        value = curves.region_area(curve, self.limit)
        if self.like == "anomalib2.3":  # where every region was lost, it gives 0
            value = np.where((curve.regions == 0) & (curve.normal > 0), 0.0, value)
        return value

    def _shift(self, pixels: Pixels, units: Array, grid: Grid) -> float:
        """What the bins, or a copied tool's own rule, change under weights of 1."""
        moved = self.like == "mvtec3d" or (self.like == "anomalib" and self.figure == "aupimo")
        if not moved and len(_distinct(pixels, units)) <= EXACT:
            return 0.0

        def make() -> float:
            ones = np.ones((1, len(units)))
            value = self._point(pixels, units, ones[0]) - float(self._evaluate(self._curve(pixels, grid, ones))[0])
            return 0.0 if np.isnan(value) else value

        return pixels.once(("shift", self, units.tobytes()), make)

    def _bound(self, pixels: Pixels, units: Array) -> float:
        """By how much a draw in bins can be off; nan where draws are exact."""
        if len(_distinct(pixels, units)) <= EXACT:
            return float("nan")
        ones = np.ones(len(units))
        curve = whole_curve(pixels, units, ones, ones * self._normal_factor(pixels, units), self.saturated)
        curve = curves.in_bins(curve, _bin_scores(pixels, units, self.saturated))
        high, low = (curves.region_area(curve, self.limit, place)[0] for place in (0.0, 1.0))
        return float(high - low)

    def _bounds(self, pixels: Pixels, units: Array, row: Floats) -> tuple[float, float] | None:
        """The bounds of aupimo moved to the nearest rates of the curve, as anomalib moves them."""
        if self.figure != "aupimo" or self.like != "anomalib":
            return None
        good = units[pixels.good[units] & (row > 0) & (pixels.normal[units] > 0)]
        if not len(good):
            return None
        sets = [unpack_set(pixels.data[a:b]) for a, b in pixels.places[good].tolist()]
        score = np.concatenate([s for s, _ in sets])
        share = np.concatenate([count / count.sum() / len(good) for _, count in sets])
        distinct, place = np.unique(score, return_inverse=True)
        rate = np.cumsum(np.bincount(place.reshape(-1), weights=share, minlength=len(distinct))[::-1])
        low, high = (float(rate[np.abs(rate - end).argmin()]) for end in (self.low, self.limit))
        return low, high

    def _fixed_thresholds(self, pixels: Pixels, units: Array, row: Floats) -> float:
        """The area from so many thresholds at equal steps of the sorted normal scores, rates by their place."""
        used = units[(row > 0) & (self._normal_factor(pixels, units) > 0)]
        entries, inside = pixels.entries, np.isin(pixels.entries.unit, units[row > 0])
        regions = len(np.unique(entries.region[inside]))
        sets = [unpack_set(pixels.data[a:b]) for a, b in pixels.places[used].tolist()]
        if not sets or not regions:
            return float("nan")
        score, count = (np.concatenate([one[i] for one in sets]) for i in range(2))
        order = np.argsort(score, kind="stable")
        score, count = score[order], np.cumsum(count[order])
        normal = int(count[-1]) if len(count) else 0
        if not normal:
            return float("nan")
        place = np.linspace(0, normal - 1, num=self.thresholds, dtype=int)
        cut = score[np.searchsorted(count, place, side="right")]
        rising = np.argsort(entries.score[inside], kind="stable")
        overlap = entries.saturated if self.saturated else entries.overlap
        total = np.cumsum(overlap[inside][rising][::-1])[::-1]
        above = np.append(total, 0.0)[np.searchsorted(entries.score[inside][rising], cut, side="right")] / regions
        x = np.append(1.0, 1.0 - (place + 1) / normal)[::-1]
        return curves.fixed_threshold_area((x, np.append(1.0, above)[::-1]), self.limit)

    def counts_at(self, pixels: Pixels, units: Array) -> Floats:
        """Of each unit at one threshold: hits, false alarms, defective pixels, summed overlap, regions."""
        entries, many = pixels.entries, len(pixels.there)
        false = count_sets(pixels.data, pixels.places[units], np.array([self.threshold]), None)[:, 0, 0]
        over = pixels.union[1] >= self.threshold
        hit = np.bincount(pixels.union[0], weights=pixels.union[2] * over, minlength=many)[units]
        size = np.bincount(pixels.union[0], weights=pixels.union[2], minlength=many)[units]
        hits = entries.overlap * (entries.score >= self.threshold)
        overlap = np.bincount(entries.unit, weights=hits, minlength=many)[units]
        regions = np.bincount(pixels.region_unit, minlength=many)[units]
        return np.stack([hit, false, size, overlap, regions], axis=1).astype(np.float64)

    def _of_counts(self, counts: Floats) -> Floats:
        hit, false, size, overlap, regions = counts.T
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.figure == "pro":
                return np.where(regions > 0, overlap / regions, np.nan)
            if self.figure == "seg_iou":
                return np.where(size > 0, hit / (size + false), np.nan)
            return np.where(size > 0, 2 * hit / (size + hit + false), np.nan)


def _last_curve(pixels: Pixels, weights: Weights, key: Any) -> Curve | None:
    """The curve of the last rows of weights that were read."""
    last = pixels.__dict__.get("_last")
    return last[1].get(key) if last is not None and last[0] is weights else None


def _keep_curve(pixels: Pixels, weights: Weights, key: Any, curve: Curve) -> None:
    last = pixels.__dict__.get("_last")
    if last is None or last[0] is not weights:
        pixels.__dict__["_last"] = (weights, {})
    pixels.__dict__["_last"][1][key] = curve


class ImageFigure(RankingReader):
    """A figure of the images of each object by their scores: (rows, objects); nan where undefined."""

    ranking: ImageScores
    figure: str

    def read(self, block: RowsBlock, weights: Weights, metadata: Metadata) -> Floats:
        unit, objects, score, defective = image_rows(block)
        names = sorted(set(objects.tolist()))
        values = np.full((weights.rows, max(1, len(names))), np.nan)
        if weights.role is Role.UNITS:  # one image alone is good or defective, never both
            return values
        for place, name in enumerate(names):
            mine = np.flatnonzero(objects == name)
            order = mine[np.argsort(-score[mine], kind="stable")]
            begin = np.flatnonzero(np.append(True, np.diff(score[order]) != 0)) if len(order) else np.zeros(0, int)
            step, at = max(1, ROWS // max(1, len(order))), 0
            for rows in weights.blocks():
                for start in range(0, len(rows), step):
                    part = np.ascontiguousarray(rows[start : start + step][:, unit[order]])
                    values[at : at + len(part), place] = self._figure(part, defective[order], begin, score[order])
                    at += len(part)
        return values

    def _figure(self, rows: Floats, defective: Array, begin: Array, score: Floats) -> Floats:
        positive = np.add.reduceat(rows * defective, begin, axis=1)
        tie = np.add.reduceat(rows * ~defective, begin, axis=1)
        above = np.cumsum(tie, axis=1) - tie
        normal, total = tie.sum(axis=1), positive.sum(axis=1)
        curve = Curve(score[begin], positive, positive, tie, above, normal, total)
        if self.figure == "auroc":
            return curves.roc_area(curve)
        if self.figure == "ap":
            return curves.average_precision(curve)
        value, threshold = curves.best_f1(curve)
        return threshold if self.figure == "f1_threshold" else value


def image_rows(block: RowsBlock) -> tuple[Array, Array, Floats, Array]:
    """Unit, object, score and whether it is defective, of each image."""
    units, objects, scores, defective = [], [], [], []
    start = 0
    for table in block.tables:
        place = np.flatnonzero((block.index >= start) & (block.index < start + len(table.ids)))
        row = table.begin[block.index[place] - start]
        there = table.begin[block.index[place] - start + 1] > row
        units.append(place[there])
        objects.append(table.columns["object"][row[there]])
        scores.append(table.columns["score"][row[there]])
        defective.append(table.columns["defective"][row[there]] > 0)
        start += len(table.ids)
    order = np.argsort(np.concatenate(units), kind="stable")
    return (
        np.concatenate(units)[order],
        np.concatenate(objects)[order].astype(str),
        np.concatenate(scores)[order].astype(np.float64),
        np.concatenate(defective)[order],
    )
