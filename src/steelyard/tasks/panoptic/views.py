"""What is shown beside panoptic scores: a row for each class, PQ by class, and pictures of the images.

Also explains why other tools report another panoptic quality for the same segments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.core.explanation import Explanation, Step
from steelyard.core.figure import Array, Figure, Listing, Texts, worst_and_best
from steelyard.core.metric import Metric
from steelyard.core.numerals import as_spec
from steelyard.core.plan import POINT, UNITS
from steelyard.core.scene import RasterShape, Scene
from steelyard.core.state import State
from steelyard.core.table import Table
from steelyard.core.weights import ratio
from steelyard.maps.raster import MOST_SIDE, colour, colour_codes, indexed_png, thin_grid
from steelyard.tasks.panoptic.data import PanopticPairs
from steelyard.tasks.panoptic.quality import (
    FN,
    FP,
    OVERLAP,
    THING,
    TP,
    PanopticQuality,
    Quality,
    RecognitionQuality,
    SegmentationQuality,
    SegmentCounts,
)
from steelyard.tasks.panoptic.segments import Segments
from steelyard.tasks.shared.tools import find_tools

TOOLS = {"panopticapi": "7bb46555", "hotcoco": "1.3.0"}
_QUALITIES: tuple[type[Quality], ...] = (PanopticQuality, SegmentationQuality, RecognitionQuality)
_KINDS = ("all", "things", "stuff")


def explain(pairs: PanopticPairs, names: Any) -> tuple[Explanation, ...]:
    """What each tool prints for these data, and which rule moves it."""
    return tuple(_explain_crowds(pairs, name) for name in find_tools(names, TOOLS))


def _explain_crowds(pairs: PanopticPairs, name: str) -> Explanation:
    plain, last = _numbers(pairs), replace(pairs, crowds="last")
    last.__dict__["shared_pixels"] = pairs.shared_pixels  # what was counted, so that no map is read again
    theirs = _numbers(last)
    step = Step(
        "crowds", pairs.crowds, "last", "Of several crowds of a class in an image, it keeps the last alone.", theirs
    )
    remarks = (
        "The areas of true segments are those of the JSON there, even where the map has others; here that is an error.",
        "A prediction of an image that the truth does not have is left out there without a word.",
        "Where no class is a thing, or none is stuff, panopticapi ends with ZeroDivisionError, and hotcoco says −1.",
    )
    return Explanation(name, TOOLS[name], plain, (step,) if pairs.crowds == "all" else (), theirs, remarks)


def _numbers(pairs: PanopticPairs) -> Mapping[str, float]:
    """The three qualities of all classes, of things and of stuff."""
    metrics = [quality(of=kind) for kind in _KINDS for quality in _QUALITIES]
    needs: dict[Any, None] = {statistic: None for metric in metrics for statistic in metric.requirements()}
    totals = State.of(pairs, needs).totals(POINT)
    return {str(metric): float(totals.of(metric)[0]) for metric in metrics}


PICTURE_SIDE = 1024  # pixels of a picture's longer side
VOID_CODE, EDGE_CODE = 1 << 20, 1 << 21  # codes that no class has
PAIRED, MISSED, FALSE, IGNORED, OTHER = range(5)
MEANINGS = (
    ("paired", "cfe8cf"), ("missed", "2f6fb2"), ("false", "d7263d"), ("ignored", "c9c9c9"),
    ("outline differs", "f2c14e"),
)  # fmt: skip
Pictures = tuple[str, str, str]


def pictures(pairs: PanopticPairs, pair: int, most: int) -> tuple[Pictures, list[int], tuple[int, int]]:
    """Truth, prediction and what became of segments; the classes that are shown, and the size of the maps."""
    truth, prediction = (side.map() for side in pairs.open_pair(pair))
    sides = [
        _places(listed, pair, thin_grid(grid, most))
        for listed, grid in zip(pairs.segments, (truth, prediction), strict=True)
    ]
    axis = np.array(pairs.metadata.axes["class"].ids, dtype=np.int64)
    codes = [_codes(listed, places, axis) for listed, places in zip(pairs.segments, sides, strict=True)]
    seen = sorted({int(c) for code in codes for c in np.unique(code, return_counts=True)[0].tolist() if c < VOID_CODE})
    state = indexed_png(_state(pairs, *sides), [shade for _, shade in MEANINGS])
    height, width = truth.shape
    return (colour_codes(codes[0], _shade), colour_codes(codes[1], _shade), state), seen, (height, width)


def _places(listed: Segments, pair: int, grid: Array) -> Array:
    """The place of each pixel's segment on the list, or -1."""
    values, inverse = np.unique(grid, return_inverse=True)
    values = values.astype(np.int64)
    return np.asarray(listed.find(np.full(len(values), pair), values)[inverse.reshape(grid.shape)])


def _codes(listed: Segments, places: Array, axis: Array) -> Array:
    """The class of each pixel; edges between segments and void have codes of their own."""
    category = np.append(np.searchsorted(axis, listed.category), VOID_CODE)
    codes = np.asarray(category[places])
    edge = np.zeros(places.shape, dtype=bool)
    edge[:, 1:] |= places[:, 1:] != places[:, :-1]
    edge[1:] |= places[1:] != places[:-1]
    return np.where(edge, EDGE_CODE, codes)


def _shade(code: int) -> str:
    return colour(code) if code < VOID_CODE else "ffffff" if code == EDGE_CODE else "c9c9c9"


def _state(pairs: PanopticPairs, true: Array, predicted: Array) -> Array:
    """What became of the segments of each pixel: false ones lie over missed ones, both over the rest."""
    fits, (listed, _) = pairs.fits, pairs.segments
    partner, crowd = np.append(fits.partner, -2), np.append(listed.crowd, True)
    wrong = np.append(~fits.taken & ~fits.excused, False)
    state = np.where(partner[true] == predicted, PAIRED, OTHER)
    state = np.where(crowd[true] | (true < 0), IGNORED, state)
    state = np.where((true >= 0) & ~crowd[true] & (partner[true] < 0), MISSED, state)
    return np.where(wrong[predicted], FALSE, state)


def scene(pairs: PanopticPairs, unit: int, metric: Metric) -> Scene:
    """The image at place `unit`: segments of the truth and of the prediction, and what became of them."""
    pair = int(np.flatnonzero(pairs.owner == unit)[0])
    (first, second, state), seen, (height, width) = pictures(pairs, pair, PICTURE_SIDE)
    names, fits = pairs.metadata.axes["class"].display_names, pairs.fits
    mine, theirs = (listed.pair == pair for listed in pairs.segments)
    paired = int((fits.partner[mine] >= 0).sum())
    false = int((~fits.taken & ~fits.excused)[theirs].sum())
    missed = int(((fits.partner < 0) & ~pairs.segments[0].crowd)[mine].sum())
    return Scene(
        title=f"Image {pairs.units[unit]}: {paired} segments paired, {missed} missed, {false} false",
        summary=f"{int(mine.sum())} true and {int(theirs.sum())} predicted segments; a pair overlaps by more than half",
        shapes=(),
        bounds=(0.0, 0.0, float(width), float(height)),
        rasters=(
            RasterShape("Truth", first, width, height),
            RasterShape("Prediction", second, width, height),
            RasterShape("Difference", state, width, height),
        ),
        legend=(*((names[code], colour(code)) for code in seen), *MEANINGS),
    )


MOST_CLASSES = 40
SHOWN = 6


def tables(pairs: PanopticPairs, state: State) -> Mapping[str, Callable[[], Table]]:
    """A row for each class."""
    return {"classes": lambda: class_table(state)} if SegmentCounts() in state.blocks else {}


def class_table(state: State) -> Table:
    """Segments and the three qualities of every class."""
    cells = state.totals(POINT)[SegmentCounts()][0]
    half = cells[:, TP] + 0.5 * (cells[:, FP] + cells[:, FN])
    columns = {
        "PQ": ratio(cells[:, OVERLAP], half),
        "SQ": ratio(cells[:, OVERLAP], cells[:, TP]),
        "RQ": ratio(cells[:, TP], half),
        "TP": cells[:, TP],
        "FP": cells[:, FP],
        "FN": cells[:, FN],
        "thing": (cells[:, THING] > 0).astype(float),
    }
    names = state.metadata.axes["class"].display_names
    return Table("classes", "Classes", "class", names, tuple(columns), np.stack(list(columns.values()), axis=1))


def figures(pairs: PanopticPairs, state: State, metrics: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    """The images with the most wrong segments, and PQ by class."""
    if SegmentCounts() not in state.blocks or not len(state):
        return {}
    return {"maps": lambda: maps(pairs, state), "pq_class": lambda: pq_by_class(state)}


def maps(pairs: PanopticPairs, state: State) -> Figure:
    """Truth, prediction and what became of segments, of the images with the most that are missed or false."""
    cells = state.totals(UNITS)[SegmentCounts()].sum(axis=1)
    wrong = cells[:, FP] + cells[:, FN]
    columns: dict[str, list[Any]] = {"image": [], "cost": [], "truth": [], "prediction": [], "segments": []}
    seen: set[int] = set()
    for unit in np.argsort(-wrong, kind="stable")[:SHOWN].tolist():
        images, classes, _ = pictures(pairs, int(np.flatnonzero(pairs.owner == unit)[0]), MOST_SIDE)
        seen |= set(classes)
        columns["image"].append(str(pairs.units[unit]))
        columns["cost"].append(float(wrong[unit]))
        for name, png in zip(("truth", "prediction", "segments"), images, strict=True):
            columns[name].append(png)
    names = state.metadata.axes["class"].display_names
    legend = [[names[code], colour(code)] for code in sorted(seen)][:MOST_CLASSES]
    rows = np.array(columns["cost"])[:, np.newaxis]
    table = Table("maps", "Images", "image", tuple(columns["image"]), ("missed and false segments",), rows)
    return Figure(
        "maps",
        "rasters",
        "Images with the most missed and false segments",
        columns,
        {"panels": ["truth", "prediction", "segments"], "legend": [*legend, *map(list, MEANINGS)]},
        "Segments of the truth, of the prediction, and what became of them. The number is of missed and false ones.",
        table,
    )


def pq_by_class(state: State) -> Figure:
    """PQ of each class, the worst first."""
    table = class_table(state)
    pq = table.values[:, 0]
    order = [int(k) for k in np.argsort(np.where(np.isnan(pq), np.inf, pq), kind="stable") if not np.isnan(pq[k])]
    places, more = worst_and_best(order)
    columns: dict[str, Any] = {"name": [table.rows[k] for k in places], "value": pq[places]}
    columns |= {"SQ": table.values[places, 1], "RQ": table.values[places, 2]}
    caption = f"The worst first. PQ is SQ times RQ.{more}"
    return Figure("pq_class", "bars", "PQ by class", columns, {"x": "PQ"}, caption, table)


def class_metrics(state: State) -> Mapping[str, Metric]:
    """PQ of each class."""
    names = state.metadata.axes["class"].display_names
    return {name: PanopticQuality(only=as_spec(name)) for name in names[:MOST_CLASSES]}


def listing(pairs: PanopticPairs, state: State) -> Listing | None:
    """Every image with its own counts."""
    if SegmentCounts() not in state.blocks:
        return None
    cells = state.totals(UNITS)[SegmentCounts()].sum(axis=1)
    columns: dict[str, Array | Texts] = {
        "image": Texts.of([str(unit) for unit in state.units.ids.tolist()]),
        "pairs": cells[:, TP],
        "false": cells[:, FP],
        "missed": cells[:, FN],
        "mean IoU of pairs": ratio(cells[:, OVERLAP], cells[:, TP]),
        "PQ of all its segments": ratio(cells[:, OVERLAP], cells[:, TP] + 0.5 * (cells[:, FP] + cells[:, FN])),
    }
    return Listing("images", "Images", columns, x="PQ of all its segments")


__all__ = ["class_metrics", "explain", "figures", "listing", "scene", "tables"]
