"""What the page of images shows: pictures with their difference and SSIM map, and the numbers of other tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from steelyard.core.errors import InputError, OutOfRange
from steelyard.core.figure import Figure, Listing, Texts, points_or_cells
from steelyard.core.metric import Metric
from steelyard.core.pairs import Array
from steelyard.core.plan import UNITS
from steelyard.core.scene import RasterShape, Scene, Steps
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache
from steelyard.core.table import Table
from steelyard.maps.raster import MOST_SIDE, colour_png, thin_grid
from steelyard.tasks.images.data import ImagePairs, Sight
from steelyard.tasks.images.measures import WANG, decibels, ssim_map
from steelyard.tasks.images.metrics import Psnr, Ssim
from steelyard.tasks.images.sums import PsnrSum, SsimSum, column_values, mean_square
from steelyard.tasks.images.tools import explain

__all__ = ["explain", "figures", "listing", "scene", "steps"]

FEWEST = 3  # points that are drawn
EACH = 2  # pictures of the worst, the median and the best units
PANELS = ("truth", "prediction", "difference", "SSIM")


def _thin(pixels: Array, most: int) -> Array:
    return thin_grid(pixels[:, :, :3] if pixels.shape[2] >= 3 else pixels[:, :, 0], most)


def _panels(sight: Sight, most: int = MOST_SIDE) -> dict[str, str]:
    """Truth, prediction, the difference times 4, and the SSIM map from 0 (black) to 1 (white)."""
    x, y, peak = sight.common
    first, second = (np.clip(np.rint(_thin(side, most).astype(np.float64) * (255 / peak)), 0, 255) for side in (x, y))
    if first.ndim != second.ndim:
        first, second = (side if side.ndim == 2 else side.mean(axis=2) for side in (first, second))
    panels = {
        "truth": colour_png(first.astype(np.uint8)),
        "prediction": colour_png(second.astype(np.uint8)),
        "difference": colour_png(np.minimum(4 * np.abs(first - second), 255).astype(np.uint8)),
    }
    if min(x.shape[:2]) > 5 and x.shape == y.shape:
        places = ssim_map(x, y, peak, replace(WANG, edges="mirror"))[1]
        panels["SSIM"] = colour_png(np.rint(np.clip(thin_grid(places, most), 0, 1) * 255).astype(np.uint8))
    return panels


def _of_images(pairs: ImagePairs, statistic: PsnrSum | SsimSum) -> Array:
    """The number of each image."""
    return np.asarray(statistic.values(pairs, SharedCache((statistic,)))[:, 0])


def _chosen(values: Array) -> tuple[list[int], list[str]]:
    """The worst, the median and the best, and what each is; all where there are few."""
    order: list[int] = np.argsort(values, kind="stable")[: np.count_nonzero(~np.isnan(values))].tolist()
    if len(order) <= 3 * EACH:
        return order, [""] * len(order)
    middle = len(order) // 2 - EACH // 2
    rows = [*order[:EACH], *order[middle : middle + EACH], *order[-EACH:]]
    return rows, [name for name in ("worst: ", "median: ", "best: ") for _ in range(EACH)]


def figures(pairs: ImagePairs, state: State, metrics: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    """The figures, each made when it is asked for."""
    if not len(pairs.owner):
        return {}
    makers = {"pictures": lambda: pictures(pairs)}
    chosen = {
        metric.name: metric
        for metric in reversed(metrics)
        if isinstance(metric, Psnr | Ssim) and metric.level == "unit"
    }
    if len(chosen) == 2:
        axes = chosen["psnr"], chosen["ssim"]
        x, y = (state.totals(UNITS).of(metric) for metric in axes)
        finite = np.isfinite(x) & np.isfinite(y)
        if np.count_nonzero(finite) >= FEWEST:
            names = axes[0].label, axes[1].label
            makers["psnr_ssim"] = lambda: scatter(x[finite], y[finite], names, pairs.unit_name)
    if "bytes" in pairs.prediction and "psnr" in chosen:
        rates = column_values(pairs, "bytes")
        if np.count_nonzero(rates > 0) >= FEWEST:
            makers["rate"] = lambda: rate_distortion(pairs, rates)
    return makers


def rate_distortion(pairs: ImagePairs, rates: Array) -> Figure:
    """PSNR against the bits that a pixel of the compressed image takes, a point for each image."""
    pixels = [height * width for height, width in pairs.sizes]
    x, y = 8 * rates / np.array(pixels), _of_images(pairs, PsnrSum())
    finite = np.isfinite(x) & np.isfinite(y) & (x > 0)
    x, y = x[finite], y[finite]
    names = "bits per pixel", "PSNR"
    return Figure(
        "rate",
        "points",
        "PSNR against bits per pixel",
        points_or_cells(x, y),
        {"x": names[0], "y": "PSNR, dB", "item": "image"},
        "Each point is one image with the size that the column bytes gives. Images that are identical or have no size "
        "are left out.",
        Table(
            "rate",
            "PSNR against bits per pixel",
            "value",
            names,
            ("median", "middle half, from", "to"),
            np.array([np.quantile(values, [0.5, 0.25, 0.75]) if len(values) else [np.nan] * 3 for values in (x, y)]),
        ),
    )


def scatter(x: Array, y: Array, names: tuple[str, str], item: str) -> Figure:
    """PSNR against SSIM, a point for each unit."""
    return Figure(
        "psnr_ssim",
        "points",
        f"{names[0]} against {names[1]}",
        points_or_cells(x, y),
        {"x": f"{names[0]}, dB", "y": names[1], "item": item},
        "A point far below the others has lost structure (blur, blocks) that its PSNR does not show; far above, a "
        "change of brightness or contrast that SSIM hardly counts. Identical images are left out.",
        Table(
            "psnr_ssim",
            f"{names[0]} against {names[1]}",
            "metric",
            names,
            ("median", "middle half, from", "to"),
            np.array([np.quantile(side, [0.5, 0.25, 0.75]) for side in (x, y)]),
        ),
    )


def pictures(pairs: ImagePairs) -> Figure:
    """The worst, median and best images by PSNR."""
    psnr = _of_images(pairs, PsnrSum())
    rows, places = _chosen(psnr)
    panels = [_panels(pairs.sight(pair)) for pair in rows]
    shown = [name for name in PANELS if all(name in panel for panel in panels)]
    names = [str(pairs.truth["image"][pairs.truth_row[pair]]) for pair in rows]
    columns: dict[str, list[object]] = {
        "image": [place + name for place, name in zip(places, names, strict=True)],
        "cost": [float(psnr[pair]) for pair in rows],
    }
    for name in shown:
        columns[name] = [panel[name] for panel in panels]
    table = Table("pictures", "Images by PSNR", "image", tuple(names), ("psnr",), psnr[rows][:, np.newaxis])
    return Figure(
        "pictures",
        "rasters",
        "The worst, median and best images by PSNR",
        columns,
        {"panels": shown, "legend": [], "measured_in": "dB"},
        "Truth, prediction, the absolute difference times 4, and SSIM at each place: black is 0, white is 1.",
        table,
    )


def listing(pairs: ImagePairs, state: State) -> Listing | None:
    """Every frame or view with its numbers, where clips or scenes are the units; else the units are listed anyway."""
    if pairs.unit_name == "image":
        return None
    names = [str(name) for name in pairs.truth["image"][pairs.truth_row].tolist()]
    columns: dict[str, Array | Texts] = {
        pairs.unit_name: Texts.of([str(unit) for unit in pairs.units[pairs.owner].tolist()]),
        "image": Texts.of(names),
        "PSNR": _of_images(pairs, PsnrSum()),
    }
    try:
        columns["SSIM"] = _of_images(pairs, SsimSum())
    except InputError:  # images that are smaller than a window
        pass
    return Listing("images", "Images", columns, x="PSNR")


def steps(pairs: ImagePairs, unit: int) -> Steps | None:
    """The frames of a clip or the views of a scene, by place; the one with the lowest PSNR is the first to see."""
    if pairs.unit_name == "image":
        return None
    places = np.flatnonzero(pairs.owner == unit)
    psnr = np.array([decibels(mean_square(pairs.sight(int(pair)), "", "")) for pair in places])
    finite = psnr[np.isfinite(psnr)]
    worse = np.where(np.isfinite(psnr), finite.max(initial=-np.inf) - psnr, 0.0)
    name = {"clip": "frame", "scene": "view"}.get(pairs.unit_name, "image")
    counts = {"dB below the best": tuple(np.rint(worse).astype(int).tolist())}
    return Steps(name, tuple(range(len(places))), counts, int(np.argmin(psnr)))


def scene(pairs: ImagePairs, unit: int, metric: Metric, step: int | None = None) -> Scene:
    """An image of a unit, the first unless a step says which: truth, prediction, difference and SSIM map."""
    places = np.flatnonzero(pairs.owner == unit)
    if step is not None and not 0 <= step < len(places):
        raise OutOfRange(f"there is no image {step}", remedy=f"The {pairs.unit_name} has {len(places)}, from 0 on.")
    pair = int(places[step or 0])
    sight = pairs.sight(pair)
    height, width = sight.common[0].shape[:2]
    panels = _panels(sight, 1024)
    value = decibels(mean_square(sight, "", ""))
    return Scene(
        title=f"Image {pairs.truth['image'][pairs.truth_row[pair]]}: PSNR {value:.2f} dB",
        summary=f"{width}×{height} pixels; the difference is times 4, SSIM goes from 0 (black) to 1 (white)",
        shapes=(),
        bounds=(0.0, 0.0, float(width), float(height)),
        rasters=tuple(
            RasterShape(name[0].upper() + name[1:], panels[name], width, height) for name in PANELS if name in panels
        ),
    )
