"""Task `panoptic`: from records to pairs of segments that fit, one pair of maps in memory at a time."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from steelyard import _native
from steelyard.align.join import join_rows
from steelyard.core.errors import InputError
from steelyard.core.facts import Axis, Facts
from steelyard.core.frozen import frozen
from steelyard.core.options import Option, Options
from steelyard.core.pairs import Array, Pairs
from steelyard.core.records import Column, Records, Schema
from steelyard.core.task import Policy
from steelyard.maps.each import for_each
from steelyard.maps.load import Held, Opened, count_pairs, open_map
from steelyard.metrics.segmentation.data import kept_units

VOID = 0
_INSIDE = 0xFFFFFFFF  # an id that no segment has: below 2^24 in a PNG
_COLUMNS = (
    Column("image", "id", aliases=("image_id",), meaning="the image, which is the unit"),
    Column("map", "map", meaning="the segment of each pixel, 0 for none: a PNG whose colours are ids, or an array"),
    Column("segments", "text", meaning="a list of segments: id, category_id, iscrowd, area, name, isthing"),
)
TRUTH = Schema(
    key=("image",),
    columns=(
        *_COLUMNS,
        Column("sample_weight", "number", required=False, flags=True, minimum=0, meaning="the weight of the image"),
    ),
)
PREDICTION = Schema(key=("image",), columns=_COLUMNS)
OPTIONS = (
    Option("areas", "choice", "how large true segments are: as pixels are counted, or as the JSON says",
           default="pixels", choices=("pixels", "json"), sides=False, reads=True),
    Option("crowds", "choice", "which crowds of a class excuse predictions: all, or the last, as panopticapi has it",
           default="all", choices=("all", "last"), sides=False),
)  # fmt: skip


class Segment(NamedTuple):
    """One segment: its class, and whether it is a crowd and a thing."""

    category: int
    name: str
    crowd: bool
    thing: bool
    area: int


@frozen
class Fits:
    """What an image's segments come to: pairs that overlap by more than half, and what has no pair.

    A pair has a class, its overlap, and whether its prediction would be left out if it had no partner. `lone` has a row
    for each class: predictions that count as wrong, and true segments that are missed.
    """

    owner: Array
    category: Array
    overlap: Array
    excused: Array
    lone_owner: Array
    lone_category: Array
    lone: Array


@frozen
class PanopticPairs(Pairs):
    """Images with both maps and their segments."""

    areas: str = "pixels"
    crowds: str = "all"

    @cached_property
    def segments(self) -> tuple[Mapping[int, Mapping[int, Segment]], Mapping[int, Mapping[int, Segment]]]:
        """The segments of both sides, by row and id."""
        sides = ((self.truth, self.truth_row), (self.prediction, self.prediction_row))
        first, second = ({row: _segments(records, row) for row in rows[rows >= 0].tolist()} for records, rows in sides)
        return first, second

    @cached_property
    def classes(self) -> Mapping[int, Segment]:
        """A segment of each class of the images."""
        found: dict[int, Segment] = {}
        for records, listed in zip((self.truth, self.prediction), self.segments, strict=True):
            for row, segments in listed.items():
                for segment in segments.values():
                    known = found.setdefault(segment.category, segment)
                    if (known.name, known.thing) != (segment.name, segment.thing):
                        raise InputError(
                            f"category {segment.category} is '{segment.name}' and '{known.name}', or a thing and stuff",
                            where=records.place(row),
                            remedy="Name each category alike on both sides.",
                        )
        return found

    @cached_property
    def facts(self) -> Facts:
        """The classes of all segments."""
        ids = tuple(sorted(self.classes))
        return Facts({"class": Axis(ids, tuple(self.classes[i].name for i in ids))})

    @property
    def things(self) -> frozenset[int]:
        """Classes that are things."""
        return frozenset(category for category, segment in self.classes.items() if segment.thing)

    @cached_property
    def fits(self) -> Fits:
        """By the overlap of masks."""
        return self.fitted(0.0)

    def fitted(self, width: float) -> Fits:
        """By the lesser overlap of masks and of bands of `width` (of the diagonal) along edges; 0: masks alone."""
        found = for_each(len(self.owner), lambda pair: self._image(pair, width))
        place = {category: k for k, category in enumerate(self.facts.axes["class"].ids)}
        pairs = [(self.owner[i], place[c], o, e) for i, (fits, _) in enumerate(found) for c, o, e in fits]
        lone = [(self.owner[i], place[c], *n) for i, (_, alone) in enumerate(found) for c, n in alone.items()]
        table, rest = np.array(pairs, dtype=np.float64).reshape(-1, 4), np.array(lone, dtype=np.float64).reshape(-1, 4)
        owner, category, alone, kind = (column.astype(np.int64) for part in (table, rest) for column in part.T[:2])
        return Fits(owner, category, table[:, 2], table[:, 3] > 0, alone, kind, rest[:, 2:])

    def _image(self, pair: int, width: float) -> tuple[list[tuple[int, float, bool]], dict[int, list[int]]]:
        row, other = int(self.truth_row[pair]), int(self.prediction_row[pair])
        true, truth = self.segments[0][row], _opened(self.truth, row)
        if other < 0:
            predicted: Mapping[int, Segment] = {}
            prediction: Opened = Held(np.zeros(truth.shape, dtype=np.uint8))
        else:
            predicted, prediction = self.segments[1][other], _opened(self.prediction, other)
            if truth.shape != prediction.shape:
                raise InputError(
                    f"{_size(truth.shape)} pixels, and the prediction has {_size(prediction.shape)}",
                    where=self.truth["map"][row] if isinstance(self.truth["map"][row], str) else self.truth.place(row),
                    remedy="Resize the predictions.",
                )
        whole = _Overlaps(*count_pairs(truth, prediction))
        _check(self.truth, row, true, whole.true, self.areas == "pixels")
        if other >= 0:
            _check(self.prediction, other, predicted, whole.predicted, False)
        bands = None
        if width > 0:
            distance = max(1, round(width * math.hypot(*truth.shape)))
            sides = [np.ascontiguousarray(side.map(), dtype=np.uint32) for side in (truth, prediction)]
            banded = [_native.map_bands(grid, distance, _INSIDE, VOID) for grid in sides]
            bands = _Overlaps(*_native.map_cells(banded[0], banded[1]))
        sizes = {i: s.area for i, s in true.items()} if self.areas == "json" else whole.true
        return fit(true, predicted, whole, sizes, bands, self.crowds)


class _Overlaps:
    """How many pixels segments of both sides share, and how many they have."""

    def __init__(self, a: Array, b: Array, count: Array) -> None:
        self.shared = dict(zip(zip(a.tolist(), b.tolist(), strict=True), count.tolist(), strict=True))
        self.true: dict[int, int] = {}
        self.predicted: dict[int, int] = {}
        for (g, p), n in self.shared.items():
            self.true[g] = self.true.get(g, 0) + n
            self.predicted[p] = self.predicted.get(p, 0) + n

    def iou(self, g: int, p: int, area: int) -> float:
        """The overlap of two segments, without what of the prediction lies on void."""
        both = self.shared.get((g, p), 0)
        union = area + self.predicted.get(p, 0) - both - self.shared.get((VOID, p), 0)
        return both / union if union > 0 else 0.0


def fit(
    true: Mapping[int, Segment],
    predicted: Mapping[int, Segment],
    whole: _Overlaps,
    sizes: Mapping[int, int],
    bands: _Overlaps | None,
    crowds: str,
) -> tuple[list[tuple[int, float, bool]], dict[int, list[int]]]:
    """The pairs of an image: class, overlap, whether the prediction is excused; and what has no pair, by class.

    An overlap of more than half makes pairs unique. A prediction more than half of which lies on void, or on a crowd of
    its class, is excused: it counts neither way.
    """
    excused = {p: _excused(p, segment, true, whole, crowds) for p, segment in predicted.items()}
    pairs: list[tuple[int, float, bool]] = []
    taken: set[tuple[str, int]] = set()
    for (g, p), _ in whole.shared.items():
        if g not in true or p not in predicted or true[g].crowd or true[g].category != predicted[p].category:
            continue
        overlap = whole.iou(g, p, sizes[g])
        if bands is not None:
            overlap = min(overlap, bands.iou(g, p, bands.true.get(g, 0)))
        if overlap > 0.5:
            pairs.append((true[g].category, overlap, excused[p]))
            taken |= {("true", g), ("predicted", p)}
    alone: dict[int, list[int]] = {}
    for p, segment in predicted.items():
        if ("predicted", p) not in taken and not excused[p]:
            alone.setdefault(segment.category, [0, 0])[0] += 1
    for g, segment in true.items():
        if ("true", g) not in taken and not segment.crowd:
            alone.setdefault(segment.category, [0, 0])[1] += 1
    return pairs, alone


def _excused(p: int, segment: Segment, true: Mapping[int, Segment], whole: _Overlaps, crowds: str) -> bool:
    mine = [g for g, other in true.items() if other.crowd and other.category == segment.category]
    on = sum(whole.shared.get((g, p), 0) for g in (mine[-1:] if crowds == "last" else mine))
    return bool((whole.shared.get((VOID, p), 0) + on) / whole.predicted[p] > 0.5)


def _segments(records: Records, row: int) -> dict[int, Segment]:
    """The segments of an image by id."""
    where = records.place(row)
    found: dict[int, Segment] = {}
    try:
        listed = json.loads(records["segments"][row] or "[]")
        for one in listed:
            number, category = int(one["id"]), int(one["category_id"])
            if number in found or not 0 < number < 1 << 24:
                what = "stands twice" if number in found else "is no id: 1 to 2²⁴ - 1"
                raise InputError(f"segment {number} {what}", where=where, remedy="Each id stands for one segment.")
            name, thing = str(one.get("name", category)), bool(one.get("isthing", 1))
            found[number] = Segment(category, name, bool(one.get("iscrowd", 0)), thing, int(one.get("area", -1)))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"no list of segments: {type(error).__name__} {error}",
            where=where,
            remedy='Give [{"id": 7, "category_id": 1}].',
        ) from None
    return found


def _opened(records: Records, row: int) -> Opened:
    found = open_map(records["map"][row])
    if len(found.shape) != 2:
        raise InputError(f"has {len(found.shape)} axes", where=records.place(row), remedy="A map is height × width.")
    return found


def _check(records: Records, row: int, segments: Mapping[int, Segment], areas: Mapping[int, int], sizes: bool) -> None:
    where = records.place(row)
    for number, pixels in areas.items():
        if number != VOID and number not in segments:
            raise InputError(
                f"id {number} in the map ({pixels:,} pixels) is not in segments_info",
                where=where,
                remedy="Give every id of the map a segment.",
            )
    for number, segment in segments.items():
        if number not in areas:
            raise InputError(
                f"segment {number} ({segment.name}) has no pixel in the map",
                where=where,
                remedy="Leave it out of segments_info.",
            )
        if sizes and segment.area >= 0 and segment.area != areas[number]:
            raise InputError(
                f"segment {number} has an area of {segment.area:,} in the JSON and {areas[number]:,} pixels in the map",
                where=where,
                remedy="Make it again; --areas json takes the JSON's, as panopticapi does.",
            )


def _size(shape: tuple[int, ...]) -> str:
    return f"{shape[1]}×{shape[0]}"


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> PanopticPairs:
    """Join the maps by image."""
    pairs: dict[str, Any] = kept_units(join_rows(truth, prediction, ("image",), policy, "sample_weight"))
    return PanopticPairs(**pairs, areas=options.of("areas"), crowds=options.of("crowds"))
