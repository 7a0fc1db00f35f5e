"""What a picture of one image shows: the classes of both maps, and where they differ."""

from __future__ import annotations

import numpy as np

from steelyard.core.metric import Metric
from steelyard.core.pairs import Array
from steelyard.core.scene import RasterShape, Scene
from steelyard.maps.raster import colour, coloured, indexed_png, thinned
from steelyard.tasks.segmentation.counts import UNCLASSED, coders
from steelyard.tasks.segmentation.data import MapPairs

MOST_SIDE = 1024  # pixels of a picture's longer side
IGNORED_COLOUR, WRONG_COLOUR, RIGHT_COLOUR, NONE_COLOUR = "c9c9c9", "d7263d", "eef2ee", "101010"
MEANINGS = (("right", RIGHT_COLOUR), ("wrong", WRONG_COLOUR), ("ignored", IGNORED_COLOUR))


def class_colour(code: int) -> str:
    """The colour of a place on the axis of classes, of what has no class, and of what is ignored."""
    if code < UNCLASSED:
        return colour(code)
    return NONE_COLOUR if code == UNCLASSED else IGNORED_COLOUR


def error_picture(truth: Array, prediction: Array) -> str:
    """Where two maps of places differ; what the truth ignores is grey."""
    errors = np.where(truth >= UNCLASSED, 0, np.where(truth == prediction, 1, 2))
    return indexed_png(errors, [IGNORED_COLOUR, RIGHT_COLOUR, WRONG_COLOUR])


def scene(pairs: MapPairs, unit: int, metric: Metric) -> Scene:
    """The image at place `unit`: truth, prediction and difference."""
    pair, coder, names = pairs.pair_of(unit), coders(pairs), pairs.facts.axes["class"].shown
    truth, prediction = pairs.maps(pair)
    height, width = truth.shape
    first = thinned(coder[0](truth), MOST_SIDE)
    second = np.full_like(first, UNCLASSED) if prediction is None else thinned(coder[1](prediction), MOST_SIDE)
    pixels = pairs.pixels
    mine = pixels.owner == unit
    counted = int(pixels.count[mine].sum())
    right = int(pixels.count[mine & (pixels.truth == pixels.predicted)].sum())
    seen = sorted(
        {*np.unique(first, return_counts=True)[0].tolist(), *np.unique(second, return_counts=True)[0].tolist()}
    )
    classes = [(names[code], colour(code)) for code in seen if code < len(names)]
    share = f"{right / counted:.4f}" if counted else "undefined"
    title = str(pairs.units[unit])
    return Scene(
        title=f"Image {title}: pixel accuracy {share}",
        summary=f"{counted:,} pixels count, {counted - right:,} are wrong, {int(pixels.ignored[unit]):,} are ignored",
        shapes=(),
        bounds=(0.0, 0.0, float(width), float(height)),
        rasters=(
            RasterShape("Truth", coloured(first, class_colour), width, height),
            RasterShape("Prediction", coloured(second, class_colour), width, height),
            RasterShape("Difference", error_picture(first, second), width, height),
        ),
        legend=(*classes, *MEANINGS),
    )
