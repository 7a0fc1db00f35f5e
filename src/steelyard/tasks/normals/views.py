"""What is shown beside the scores of normals: pictures of images, a histogram of angles, and the list of images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from steelyard.core.figure import Figure, Listing, Texts
from steelyard.core.metric import Metric
from steelyard.core.pairs import Array
from steelyard.core.plan import POINT, UNITS
from steelyard.core.scene import RasterShape, Scene
from steelyard.core.state import State
from steelyard.core.weights import ratio
from steelyard.maps.raster import indexed_png, thin_grid
from steelyard.tasks.fields.pictures import SMALL_SIDE, worst_images
from steelyard.tasks.normals.data import EDGES, NormalPairs
from steelyard.tasks.normals.explain import explain
from steelyard.tasks.normals.sums import ANGLE, COUNT, SQUARE, AngleBins, AngleSums

__all__ = ["explain", "figures", "listing", "scene"]

MOST_SIDE = 1024
NONE = "d0d0d0"
LIMITS = (5.0, 11.25, 22.5, 30.0, 60.0, 90.0)
COLOURS = ("1a4f8a", "3f86c4", "8fc1e3", "f2e6c2", "f5b36b", "e0653a", "a3161f")
WIDE = 2.5  # degrees of a bar
LAST = 90.0


def legend() -> list[list[str]]:
    """The steps of an angle and their colours."""
    names = ["below 5°", *(f"{a:g} to {b:g}°" for a, b in pairwise(LIMITS)), "90° and more", "not counted"]
    return [[name, colour] for name, colour in zip(names, [*COLOURS, NONE], strict=True)]


def normal_picture(normals: Array) -> str:
    """Directions in colours, six levels for each component; grey where there is none."""
    with np.errstate(invalid="ignore", divide="ignore"):
        unit = normals / np.linalg.norm(normals, axis=2, keepdims=True)
    usable = np.isfinite(unit).all(axis=2)
    level = np.clip(np.rint((np.nan_to_num(unit) + 1) / 2 * 5), 0, 5).astype(np.int64)
    code = np.where(usable, level[:, :, 0] * 36 + level[:, :, 1] * 6 + level[:, :, 2], 216)
    colours = [f"{51 * (k // 36):02x}{51 * (k // 6 % 6):02x}{51 * (k % 6):02x}" for k in range(216)]
    return indexed_png(code, [*colours, NONE])


def angle_map(pairs: NormalPairs, pair: int) -> tuple[Array, Array, Array]:
    """Truth, prediction and the angle of each pixel; nan where none counts."""
    truth, prediction, mask = pairs.maps(pair)
    a, b = truth.astype(np.float64), prediction.astype(np.float64)
    angle = np.degrees(np.arctan2(np.linalg.norm(np.cross(a, b), axis=2), (a * b).sum(axis=2)))
    angle = np.where((b == 0).all(axis=2), 90.0, angle)
    counts = np.isfinite(a).all(axis=2) & (a != 0).any(axis=2)
    return a, b, np.where(counts if mask is None else counts & (mask != 0), angle, np.nan)


def panels(sides: tuple[Array, Array, Array], most: int) -> tuple[str, str, str]:
    """Truth, prediction and angle of an image as pictures."""
    truth, prediction, angle = (thin_grid(side, most) for side in sides)
    level = np.searchsorted(LIMITS, np.nan_to_num(angle), side="right")
    level = np.where(np.isfinite(angle), level, len(LIMITS) + 1)
    return normal_picture(truth), normal_picture(prediction), indexed_png(level, [*COLOURS, NONE])


def scene(pairs: NormalPairs, unit: int, metric: Metric) -> Scene:
    """The image at place `unit`: truth, prediction and angle."""
    sides = angle_map(pairs, pairs.pair_of(unit))
    angle = sides[2]
    height, width = angle.shape
    counted = np.isfinite(angle)
    pictures = panels(sides, MOST_SIDE)
    mean = f"{float(angle[counted].mean()):.2f}°" if counted.any() else "undefined"
    return Scene(
        title=f"Image {pairs.units[unit]}: mean angle {mean}",
        summary=f"{int(counted.sum()):,} of {angle.size:,} pixels count",
        shapes=(),
        bounds=(0.0, 0.0, float(width), float(height)),
        rasters=tuple(
            RasterShape(name, picture, width, height)
            for name, picture in zip(("Truth", "Prediction", "Angle"), pictures, strict=True)
        ),
        legend=tuple((name, colour) for name, colour in legend()),
    )


def figures(pairs: NormalPairs, state: State, metrics: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    """The figures, each made when it is asked for."""
    if not len(state):
        return {}
    makers: dict[str, Callable[[], Figure]] = {}
    if AngleSums() in state.blocks and pairs.measured is None:
        makers["normal_maps"] = lambda: worst_maps(pairs, state)
    if AngleBins() in state.blocks:
        makers["angles"] = lambda: histogram(state)
    return makers


def worst_maps(pairs: NormalPairs, state: State) -> Figure:
    """Truth, prediction and angle of the images with the largest mean angle."""
    sums = state.totals(UNITS)[AngleSums()]
    return worst_images(
        "normal_maps",
        "mean angle",
        pairs.units,
        np.asarray(ratio(sums[:, ANGLE], sums[:, COUNT])),
        lambda unit: panels(angle_map(pairs, pairs.pair_of(unit)), SMALL_SIDE),
        legend(),
        "Red, green and blue are x, y and z; angles in steps, grey does not count.",
    )


def histogram(state: State) -> Figure:
    """Pixels by angle."""
    bins = state.totals(POINT)[AngleBins()][0]
    low = np.append(np.arange(0, LAST, WIDE), LAST)
    high = np.append(low[1:], 180.0)
    place = np.searchsorted(low, EDGES[:-1], side="right") - 1
    count = np.bincount(place, weights=bins, minlength=len(low))
    last = int(np.flatnonzero(count).max()) + 1 if count.any() else 1
    columns = {"low": low[:last], "high": high[:last], "count": count[:last]}
    facts = {"x": "angle in degrees", "y": "pixels"}
    return Figure("angles", "histogram", "Angles", columns, facts, "All pixels of all images; beyond 90° in one bar.")


def listing(pairs: NormalPairs, state: State) -> Listing:
    """Every image with its own figures."""
    sums = state.totals(UNITS)[AngleSums()]
    columns: dict[str, Array | Texts] = {
        "image": Texts.of([str(unit) for unit in state.units.ids.tolist()]),
        "pixels": sums[:, COUNT],
        "mean angle": ratio(sums[:, ANGLE], sums[:, COUNT]),
        "RMSE of angles": np.sqrt(ratio(sums[:, SQUARE], sums[:, COUNT])),
    }
    return Listing("images", "Images", columns, x="mean angle")
