"""What a picture of one image shows: the segments of both sides, and what became of them."""

from __future__ import annotations

import numpy as np

from steelyard.core.metric import Metric
from steelyard.core.pairs import Array
from steelyard.core.scene import RasterShape, Scene
from steelyard.maps.raster import colour, coloured, indexed_png, thinned
from steelyard.tasks.panoptic.data import PanopticPairs
from steelyard.tasks.panoptic.segments import Segments

MOST_SIDE = 1024  # pixels of a picture's longer side
VOID_CODE, EDGE_CODE = 1 << 20, 1 << 21  # codes that no class has
PAIRED, MISSED, FALSE, IGNORED, OTHER = range(5)
MEANINGS = (
    ("paired", "cfe8cf"), ("missed", "2f6fb2"), ("false", "d7263d"), ("ignored", "c9c9c9"),
    ("outline differs", "f2c14e"),
)  # fmt: skip
Pictures = tuple[str, str, str]


def pictures(pairs: PanopticPairs, pair: int, most: int) -> tuple[Pictures, list[int], tuple[int, int]]:
    """Truth, prediction and what became of segments; the classes that are shown, and the size of the maps."""
    truth, prediction = (side.map() for side in pairs.opened(pair))
    sides = [
        _places(listed, pair, thinned(grid, most))
        for listed, grid in zip(pairs.segments, (truth, prediction), strict=True)
    ]
    axis = np.array(pairs.facts.axes["class"].ids, dtype=np.int64)
    codes = [_codes(listed, places, axis) for listed, places in zip(pairs.segments, sides, strict=True)]
    seen = sorted({int(c) for code in codes for c in np.unique(code, return_counts=True)[0].tolist() if c < VOID_CODE})
    state = indexed_png(_state(pairs, *sides), [shade for _, shade in MEANINGS])
    height, width = truth.shape
    return (coloured(codes[0], _shade), coloured(codes[1], _shade), state), seen, (height, width)


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
    (first, second, state), seen, (height, width) = pictures(pairs, pair, MOST_SIDE)
    names, fits = pairs.facts.axes["class"].shown, pairs.fits
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
