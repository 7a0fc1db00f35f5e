"""Pictures that the tasks of dense fields share: values in colours, the worst images, and a curve over bins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from steelyard.core.figure import Figure
from steelyard.core.pairs import Array
from steelyard.core.scene import RasterShape
from steelyard.core.table import Table
from steelyard.maps.raster import indexed_png

SHOWN = 6
SMALL_SIDE, MOST_SIDE = 480, 1024
LEVELS = 64
NONE = "d0d0d0"
PANELS = ("truth", "prediction", "error")
DRAWS = 200


def scale_colours() -> list[str]:
    """From near, bright, to far, dark."""
    stops = np.array([[252, 253, 191], [251, 135, 97], [182, 54, 121], [80, 18, 123], [10, 6, 30]], dtype=np.float64)
    place = np.linspace(0, len(stops) - 1, LEVELS)
    rows = [np.interp(place, np.arange(len(stops)), stops[:, channel]) for channel in range(3)]
    return ["".join(f"{round(v):02x}" for v in colour) for colour in zip(*rows, strict=True)]


def scale_picture(place: Array, usable: Array) -> str:
    """Places from 0, bright, to 1, dark, in colours; grey where none is usable."""
    with np.errstate(invalid="ignore"):
        level = np.where(usable, np.clip(np.nan_to_num(place), 0, 1) * (LEVELS - 1), LEVELS)
    return indexed_png(level.astype(np.int64), [*scale_colours(), NONE])


def raster_shapes(pictures: Sequence[str], height: int, width: int) -> tuple[RasterShape, ...]:
    """Truth, prediction and error, side by side."""
    return tuple(
        RasterShape(name.title(), picture, width, height) for name, picture in zip(PANELS, pictures, strict=True)
    )


def worst_images(
    name: str,
    label: str,
    units: Sequence[Any] | Array,
    errors: Array,
    pictures_of: Callable[[int], Sequence[str]],
    legend: list[list[str]],
    caption: str,
) -> Figure:
    """Truth, prediction and error of the units with the largest errors; those of nan are not shown."""
    order = np.argsort(-np.nan_to_num(errors, nan=-1.0), kind="stable")
    shown = [unit for unit in order[:SHOWN].tolist() if not np.isnan(errors[unit])]
    names, costs = [str(units[unit]) for unit in shown], [float(errors[unit]) for unit in shown]
    pictures = [pictures_of(unit) for unit in shown]
    columns: dict[str, list[Any]] = {"image": names, "cost": costs}
    columns |= {panel: [picture[k] for picture in pictures] for k, panel in enumerate(PANELS)}
    title = f"Images with the largest {label}"
    table = Table(name, title, "image", tuple(names), (label,), np.array(costs)[:, np.newaxis])
    return Figure(name, "rasters", title, columns, {"panels": list(PANELS), "legend": legend}, caption, table)


def band_columns(x: Array, y: Array, draws: Array) -> dict[str, Array]:
    """A curve with the range that 95 % of the draws lie in; `draws` is (draws, points)."""
    low, high = (np.array([np.nanpercentile(column, q) for column in draws.T]) for q in (2.5, 97.5))
    return {"x": x, "y": y, "low": low, "high": high}
