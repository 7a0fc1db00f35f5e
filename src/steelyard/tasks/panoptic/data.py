"""Task `panoptic`: from records to segments that fit, one pair of maps in memory at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.align.join import join_rows
from steelyard.core.counts import count_text
from steelyard.core.errors import MissingKey, ShapeMismatch, UnknownName
from steelyard.core.metadata import Axis, Metadata
from steelyard.core.options import Option, Options
from steelyard.core.pairs import Array, Pairs
from steelyard.core.records import Column, Records, Schema, weight_column
from steelyard.core.task import Policy
from steelyard.maps.each import for_each
from steelyard.maps.load import Held, Opened, count_pairs, open_row
from steelyard.tasks.panoptic.segments import (
    INSIDE,
    UNSAID,
    VOID,
    Fits,
    Segments,
    Shared,
    fit_segments,
    joined_kind,
    read_segments,
    row_segments,
    two_kinds,
)
from steelyard.tasks.segmentation.data import kept_units

Cells = tuple[Array, Array, Array]
_COLUMNS = (
    Column("image", "id", aliases=("image_id",), meaning="the image, which is the unit"),
    Column("map", "map", meaning="the segment of each pixel, 0 for none: a PNG whose colours are ids, or an array"),
    Column("segments", "text", meaning="a list of segments: id, category_id, iscrowd, area, name, isthing"),
)
TRUTH = Schema(
    key=("image",),
    columns=(
        *_COLUMNS,
        weight_column("image", meaning="the weight of the image"),
    ),
)
PREDICTION = Schema(key=("image",), columns=_COLUMNS)
OPTIONS = (
    Option("areas", "choice", "Areas of true segments: counted from pixels, or taken from the JSON.",
           default="pixels", choices=("pixels", "json"), sides=False, reads=True),
    Option("categories", "path", "JSON file with categories (id, name, isthing) to use instead of those in the data.",
           sides=False, reads=True, metavar="FILE"),
    Option("folder", "path", "Directory of the PNG files, if it is not named like the JSON file.",
           reads=True, metavar="DIR"),
    Option("crowds", "choice", "Crowd regions of a class that excuse predictions: all, or the last, as in panopticapi.",
           default="all", choices=("all", "last"), sides=False),
)  # fmt: skip


class PanopticPairs(Pairs):
    """Images with both maps and their segments."""

    areas: str = "pixels"
    crowds: str = "all"

    @cached_property
    def segments(self) -> tuple[Segments, Segments]:
        """The segments of both sides."""
        return read_segments(self.truth, self.truth_row), read_segments(self.prediction, self.prediction_row)

    @cached_property
    def classes(self) -> Mapping[int, tuple[str, bool]]:
        """The name of each category, and whether it is a thing. Predictions that do not say it are as the truth."""
        first, second = (side.kinds for side in self.segments)
        kinds: dict[int, tuple[str, bool]] = {}
        for category in sorted({**first, **second}):
            mine, other = first.get(category, UNSAID), second.get(category, UNSAID)
            kind = joined_kind(mine, other)
            if kind is None:
                raise two_kinds(category, other, mine, self.prediction.source)
            name, thing = kind
            if thing is None:
                raise MissingKey(
                    f"the segments of category {category} have no 'isthing'",
                    where=(self.truth if category in first else self.prediction).source,
                    remedy='Give them "isthing": 1 for a thing, or 0 for stuff.',
                )
            kinds[category] = (str(category) if name is None else name, thing)
        return kinds

    @cached_property
    def metadata(self) -> Metadata:
        ids = tuple(sorted(self.classes))
        return Metadata({"class": Axis(ids, tuple(self.classes[i][0] for i in ids))})

    @property
    def things(self) -> frozenset[int]:
        """Classes that are things."""
        return frozenset(category for category, (_, thing) in self.classes.items() if thing)

    @cached_property
    def shared_pixels(self) -> Shared:
        """How many pixels segments share; maps and segments that do not fit each other are refused."""
        cells = self._join_cells(for_each(len(self.owner), lambda pair: count_pairs(*self.open_pair(pair))))
        shared = Shared.of(*cells, *self.segments)
        self._check(*cells[:3], shared)
        return shared

    @cached_property
    def fits(self) -> Fits:
        """By the overlap of masks."""
        return self.overlap_fits(0.0)

    def overlap_fits(self, width: float) -> Fits:
        """By the lesser overlap of masks and of bands of `width` (of the diagonal) along edges; 0: masks alone."""
        true, predicted = self.segments
        bands = None
        if width > 0:
            banded = for_each(len(self.owner), lambda pair: self._band_cells(pair, width))
            bands = Shared.of(*self._join_cells(banded), true, predicted)
        areas = true.area if self.areas == "json" else self.shared_pixels.true
        classes = self.metadata.axes["class"].ids
        return fit_segments(true, predicted, self.shared_pixels, bands, areas, self.owner, classes, self.crowds)

    def _join_cells(self, parts: list[Cells]) -> tuple[Array, Array, Array, Array]:
        """Cells of all images one after the other: pair, both ids, pixels."""
        pair = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
        if not parts:
            return pair, pair, pair, pair
        a, b, count = (np.concatenate([part[i] for part in parts]).astype(np.int64) for i in range(3))
        return pair, a, b, count

    def open_pair(self, pair: int) -> tuple[Opened, Opened]:
        """Both maps of a pair, of one size; a missing prediction is void everywhere."""
        row, other = int(self.truth_row[pair]), int(self.prediction_row[pair])
        truth = _open_map(self.truth, row)
        if other < 0:
            return truth, Held(np.zeros(truth.shape, dtype=np.uint8))
        prediction = _open_map(self.prediction, other)
        if truth.shape != prediction.shape:
            raise ShapeMismatch(
                f"{_size(truth.shape)} pixels, and the prediction has {_size(prediction.shape)}",
                where=self.truth["map"][row] if isinstance(self.truth["map"][row], str) else self.truth.place(row),
                remedy="Resize the predictions.",
            )
        return truth, prediction

    def _band_cells(self, pair: int, width: float) -> Cells:
        sides = [np.ascontiguousarray(side.map(), dtype=np.uint32) for side in self.open_pair(pair)]
        distance = max(1, round(width * math.hypot(*sides[0].shape)))
        first, second = (_native.map_bands(side, distance, INSIDE, VOID) for side in sides)
        return _native.map_cells(first, second)

    def _check(self, pair: Array, a: Array, b: Array, shared: Shared) -> None:
        """Refuse ids without a segment, segments without a pixel, and areas that are not those of the map."""
        sides = ((a, shared.g, shared.true), (b, shared.p, shared.predicted))
        wrong: list[tuple[int, int]] = []  # pair, side
        for side, ((ids, place, pixels), listed) in enumerate(zip(sides, self.segments, strict=True)):
            bad = [pair[(ids != VOID) & (place < 0)], listed.pair[pixels == 0]]
            if side == 0 and self.areas == "pixels":
                bad.append(listed.pair[(listed.area >= 0) & (listed.area != pixels)])
            wrong += [(int(column.min()), side) for column in bad if len(column)]
        if not wrong:
            return
        at, side = min(wrong)
        records, row = ((self.truth, self.truth_row), (self.prediction, self.prediction_row))[side]
        mine = pair == at
        areas: dict[int, int] = {}
        for number, many in zip((a, b)[side][mine].tolist(), shared.count[mine].tolist(), strict=True):
            areas[number] = areas.get(number, 0) + many
        _refuse(records, int(row[at]), areas, side == 0 and self.areas == "pixels")


def _open_map(records: Records, row: int) -> Opened:
    grid = open_row(records, row)
    if len(grid.shape) != 2:
        raise ShapeMismatch(
            f"has {count_text(len(grid.shape), 'axis')}", where=records.place(row), remedy="A map is height × width."
        )
    return grid


def _refuse(records: Records, row: int, pixels: Mapping[int, int], sizes: bool) -> None:
    """Say what of an image's map and segments does not fit; `sizes`: areas of the JSON, too."""
    where, segments = records.place(row), row_segments(records, row)
    for number, many in pixels.items():
        if number != VOID and number not in segments:
            raise UnknownName(
                f"id {number} in the map ({count_text(many, 'pixel')}) is not in segments_info",
                where=where,
                remedy="Give every id of the map a segment.",
            )
    for number, segment in segments.items():
        if number not in pixels:
            raise UnknownName(
                f"segment {number} ({segment.name}) has no pixel in the map",
                where=where,
                remedy="Leave it out of segments_info.",
            )
        if sizes and segment.area >= 0 and segment.area != pixels[number]:
            raise ShapeMismatch(
                f"segment {number} has an area of {segment.area:,} in the JSON and "
                f"{count_text(pixels[number], 'pixel')} "
                "in the map",
                where=where,
                remedy="Make it again; the option `areas=json` takes the JSON's, as panopticapi does.",
            )


def _size(shape: tuple[int, ...]) -> str:
    return f"{shape[1]}×{shape[0]}"


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> PanopticPairs:
    """Join the maps by image."""
    pairs: dict[str, Any] = kept_units(join_rows(truth, prediction, ("image",), policy, "sample_weight"))
    return PanopticPairs(**pairs, areas=options.of("areas"), crowds=options.of("crowds"))
