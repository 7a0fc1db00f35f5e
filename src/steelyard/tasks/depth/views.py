"""What is shown beside the scores of depth: pictures of images, figures, the list of images, and other tools' rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from steelyard.core.block import SumBlock
from steelyard.core.figure import Figure, Listing, Texts
from steelyard.core.metric import Metric
from steelyard.core.pairs import Array
from steelyard.core.plan import POINT, UNITS, WeightPlan
from steelyard.core.scene import Scene
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache, Sum
from steelyard.core.table import Table
from steelyard.core.weights import Role, ratio
from steelyard.maps.each import for_each
from steelyard.maps.raster import indexed_png, thin_grid
from steelyard.tasks.depth.data import DepthPairs
from steelyard.tasks.depth.explain import explain
from steelyard.tasks.depth.pixels import ABS_REL, N
from steelyard.tasks.depth.sums import FIGURES, HIGH, LOW, PIXELS, DepthSums, by_unit
from steelyard.tasks.fields.pictures import (
    DRAWS,
    MOST_SIDE,
    NONE,
    SMALL_SIDE,
    band_columns,
    raster_shapes,
    scale_picture,
    worst_images,
)

__all__ = ["explain", "figures", "listing", "scene", "tables"]

# Of an error as a share of the true depth: up to 1 %, 2 %, 5 %, 10 %, 25 %, 50 %, and more.
STEPS = (0.01, 0.02, 0.05, 0.10, 0.25, 0.50)
STEP_COLOURS = ("1a4f8a", "3f86c4", "8fc1e3", "f2e6c2", "f5b36b", "e0653a", "a3161f")
BANDS = 12


def depth_picture(depth: Array, ends: tuple[float, float]) -> str:
    """A map of depth in colours, by its logarithm between two ends; grey where there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        place = (np.log(depth) - math.log(ends[0])) / max(math.log(ends[1]) - math.log(ends[0]), 1e-9)
        usable = np.isfinite(depth) & (depth > 0)
    return scale_picture(place, usable)


def error_picture(truth: Array, predicted: Array, valid: Array) -> str:
    """Errors as shares of the true depth, in steps; grey where no pixel counts."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.abs(predicted - truth) / truth
    level = np.where(valid & np.isfinite(share), np.searchsorted(STEPS, share, side="left"), len(STEPS) + 1)
    return indexed_png(level.astype(np.int64), [*STEP_COLOURS, NONE])


def legend() -> list[list[str]]:
    """The steps of an error and their colours."""
    names = [
        "up to 1 %",
        *(f"{100 * a:g} to {100 * b:g} %" for a, b in pairwise(STEPS)),
        "above 50 %",
    ]
    return [[name, colour] for name, colour in zip([*names, "not counted"], [*STEP_COLOURS, NONE], strict=True)]


def panels(pairs: DepthPairs, pair: int, most: int) -> tuple[tuple[str, str, str], tuple[int, int]]:
    """Truth, prediction and error of an image as pictures, and its height and width."""
    _, pixels, (truth, prediction, mask) = pairs.measure(pair, np.zeros(0), sums=False)
    predicted = pixels.of_map.apply(prediction)
    valid = pairs.rules.valid(truth, mask, pairs.place(pair, 0))
    some = truth[valid] if valid.any() else np.ones(1)
    ends = (float(some.min()), max(float(some.max()), float(some.min()) * 1.01))
    small = [thin_grid(grid, most) for grid in (truth.astype(np.float64), predicted, valid)]
    pictures = depth_picture(small[0], ends), depth_picture(small[1], ends), error_picture(*small)
    return pictures, (truth.shape[0], truth.shape[1])


def scene(pairs: DepthPairs, unit: int, metric: Metric) -> Scene:
    """The image at place `unit`: truth, prediction and error."""
    pair = pairs.pair_of(unit)
    row, _, _ = pairs.measure(pair, np.zeros(0))
    pictures, (height, width) = panels(pairs, pair, MOST_SIDE)
    n = row.sums[N]
    share = f"{row.sums[ABS_REL] / n:.4f}" if n else "undefined"
    scale = "" if math.isnan(row.scale) else f", scale {row.scale:.4g}, shift {row.shift:.4g}"
    return Scene(
        title=f"Image {pairs.units[unit]}: AbsRel {share}",
        summary=f"{int(n):,} of {int(row.pixels):,} pixels count{scale}",
        shapes=(),
        bounds=(0.0, 0.0, float(width), float(height)),
        rasters=raster_shapes(pictures, height, width),
        legend=tuple((name, colour) for name, colour in legend()),
    )


def figures(pairs: DepthPairs, state: State, metrics: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    """The figures, each made when it is asked for."""
    if not len(state) or DepthSums() not in state.blocks or pairs.measured is not None:
        return {}
    makers = {"depth_maps": lambda: worst_maps(pairs, state), "distance": lambda: over_distance(pairs)}
    if pairs.rules.align != "none" and pairs.rules.align_per == "image":
        makers["scales"] = lambda: scales(pairs)
    return makers


def unit_errors(state: State) -> Array:
    """AbsRel of each unit, over its pixels."""
    sums = state.totals(UNITS)[DepthSums()]
    return np.asarray(ratio(sums[:, ABS_REL], sums[:, N]))


def worst_maps(pairs: DepthPairs, state: State) -> Figure:
    """Truth, prediction and error of the images with the largest AbsRel."""
    return worst_images(
        "depth_maps",
        "AbsRel",
        pairs.units,
        unit_errors(state),
        lambda unit: panels(pairs, pairs.pair_of(unit), SMALL_SIDE)[0],
        legend(),
        "Truth and prediction in one scale, bright is near; errors as shares of the true depth, grey does not count.",
    )


class DistanceSums(Sum):
    """Pixels and their relative errors in bands of true depth, for the figure of errors over distance."""

    edges: tuple[float, ...] = ()

    name: ClassVar[str] = "fields.distance"

    def measure(self, pairs: DepthPairs, cache: SharedCache) -> SumBlock:
        inner = np.array(self.edges[1:-1])

        def of_image(pair: int) -> Array:
            _, pixels, _ = pairs.measure(pair, np.zeros(0), sums=False)
            band = np.searchsorted(inner, pixels.g, side="right")
            errors = np.abs(pixels.depth - pixels.g) / pixels.g
            size = len(inner) + 1
            return np.concatenate(
                [np.bincount(band, minlength=size), np.bincount(band, weights=errors, minlength=size)]
            )

        return SumBlock(by_unit(pairs, np.array(for_each(len(pairs.owner), of_image), dtype=np.float64)))


def distance_edges(pairs: DepthPairs) -> tuple[float, ...]:
    """Ends of bands of true depth, evenly by its logarithm, over the pixels that count."""
    low, high = math.inf, 0.0
    for pair in range(min(len(pairs.owner), 50)):
        _, pixels, _ = pairs.measure(pair, np.zeros(0), sums=False)
        if len(pixels.g):
            low, high = min(low, float(pixels.g.min())), max(high, float(pixels.g.max()))
    high = max(high, low * 1.01)
    return tuple(np.geomspace(low, high, BANDS + 1).tolist())


def over_distance(pairs: DepthPairs) -> Figure:
    """AbsRel over the true depth, with a band of 95 % from resampled images."""
    edges = distance_edges(pairs)
    statistic = DistanceSums(edges)
    state = State.of(pairs, [statistic])
    point = state.totals(POINT)[statistic][0]
    draws = state.totals(WeightPlan(Role.DRAWS, 0, 0, DRAWS))[statistic]
    errors, drawn = ratio(point[BANDS:], point[:BANDS]), ratio(draws[:, BANDS:], draws[:, :BANDS])
    shown = [k for k in range(BANDS) if point[k] > 0]
    middle = np.sqrt(np.array(edges[:-1]) * np.array(edges[1:]))[shown]
    columns = band_columns(middle, errors[shown], drawn[:, shown])
    table = Table(
        "distance",
        "AbsRel over distance",
        "depth",
        tuple(f"{edges[k]:.3g} to {edges[k + 1]:.3g}" for k in shown),
        ("pixels", "AbsRel"),
        np.stack([point[:BANDS][shown], errors[shown]], axis=1),
    )
    text = "All pixels of a band together. The band is the 95 % range over resampled images."
    return Figure(
        "distance", "curves", "AbsRel over distance", columns, {"x": "true depth", "y": "AbsRel"}, text, table
    )


def scales(pairs: DepthPairs) -> Figure:
    """The scale of the alignment, image by image in the order of their names."""
    values = [
        row.scale for row, _, _ in for_each(len(pairs.owner), lambda pair: pairs.measure(pair, np.zeros(0), sums=False))
    ]
    rows = [k for k, scale in enumerate(values) if math.isfinite(scale)]
    columns = {"x": np.array(rows, dtype=np.float64), "y": np.array([values[k] for k in rows])}
    text = "A model of metric depth has one scale for all images; a drift shows as a trend."
    return Figure("scales", "curves", "Scale of the alignment", columns, {"x": "image", "y": "scale"}, text)


def listing(pairs: DepthPairs, state: State) -> Listing:
    """Every unit with its own figures."""
    sums = state.totals(UNITS)[DepthSums()]
    columns: dict[str, Array | Texts] = {
        "image": Texts.of([str(unit) for unit in state.units.ids.tolist()]),
        "pixels": sums[:, N],
        "density of truth": ratio(sums[:, N], sums[:, PIXELS]),
        "clamped": ratio(sums[:, LOW] + sums[:, HIGH], sums[:, N]),
        "AbsRel": FIGURES["abs_rel"](sums),
        "RMSE": FIGURES["rmse"](sums),
    }
    return Listing("images", "Images", columns, x="AbsRel")


def tables(pairs: Any, state: State) -> Mapping[str, Callable[[], Table]]:
    """Both averages of the figures that sums give."""
    return {"averages": lambda: averages(state)} if DepthSums() in state.blocks and len(state) else {}


def averages(state: State) -> Table:
    """Figures as the mean over units, and over all pixels."""
    each, point = state.totals(UNITS)[DepthSums()], state.totals(POINT)[DepthSums()]
    names = ("abs_rel", "sq_rel", "rmse", "mae", "rmse_log", "log10")
    weights = np.asarray(state.units.plain, dtype=np.float64)
    rows = []
    for name in names:
        values = FIGURES[name](each)
        good = np.isfinite(values)
        mean = float((values[good] * weights[good]).sum() / weights[good].sum()) if good.any() else math.nan
        rows.append([mean, float(FIGURES[name](point)[0])])
    return Table("averages", "By image and by pixel", "metric", names, ("by image", "by pixel"), np.array(rows))
