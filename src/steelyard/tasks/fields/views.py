"""What is shown beside the scores of disparity and flow: pictures, curves over thresholds and lengths, and tables."""

from __future__ import annotations

import colorsys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise

import numpy as np

from steelyard.core.figure import Figure, Listing, Texts
from steelyard.core.metric import Metric
from steelyard.core.pairs import Array
from steelyard.core.plan import POINT, UNITS, WeightPlan
from steelyard.core.scene import Scene
from steelyard.core.state import State
from steelyard.core.table import Table
from steelyard.core.weights import Role, ratio
from steelyard.maps.raster import indexed_png, thin_grid
from steelyard.tasks.fields.errors import (
    DENOMINATOR,
    ERROR,
    ESTIMATED,
    NUMERATOR,
    VALID,
    ErrorPairs,
    ErrorRequest,
    FieldSum,
    LoadedPair,
    What,
    measure_image,
    true_lengths,
)
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

# KITTI's colours of errors: the smaller of E / 3 px and E / 5 % of the true length, in powers of two.
STEPS = (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
COOL, WARM = ("313695", "4575b4", "74add1", "abd9e9", "e0f3f8"), ("fee090", "fdae61", "f46d43", "d73027", "a50026")
STEP_COLOURS = COOL + WARM
MISSING = "404040"
HUES, RINGS = 24, 10
THRESHOLDS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.5, 10.0, 15.0, 20.0)
ENDS = (0, 1, 2, 5, 10, 20, 40, 80, 160, 320)
BINS = ("s0-10", "s10-40", "s40+")
LENGTHS = tuple(f"s{low}-{high}" for low, high in pairwise(ENDS))
MIDDLES = np.array([(low + high) / 2 for low, high in pairwise(ENDS)])
CURVE = tuple(FieldSum("bad", "all", threshold, "pixel") for threshold in THRESHOLDS)
LENGTH_SUMS = tuple(FieldSum("error", of, average="pixel") for of in LENGTHS)
ERRORS = FieldSum("error", average="pixel")
_BY_LENGTH: tuple[tuple[What, float], ...] = (("density", 0.0), ("error", 0.0), ("outlier", 0.0), ("bad", 1.0))
_COLUMNS = {"error": "EPE", "outlier": "outliers", "wauc": "WAUC", "angle": "angular error"}


def length_name(pairs: ErrorPairs) -> str:
    """What the length of the truth is."""
    return "speed" if pairs.channels == 2 else "disparity"


def is_readable(pairs: ErrorPairs | None) -> bool:
    """Whether there are fields that can be read again."""
    return pairs is not None and bool(len(pairs.units)) and pairs.measured is None


def wheel_colours() -> list[str]:
    """Directions by hue, from right by down, left and up; from white, at rest, to the full colour."""
    colours = []
    for ring in range(1, RINGS + 1):
        for hue in range(HUES):
            rgb = colorsys.hsv_to_rgb(hue / HUES, ring / RINGS, 1.0)
            colours.append("".join(f"{round(255 * channel):02x}" for channel in rgb))
    return ["ffffff", *colours]


def flow_picture(flow: Array, longest: float) -> str:
    """Motion in the colours of the wheel; grey where there is none."""
    wide = flow.astype(np.float64)
    usable = np.isfinite(wide).all(axis=2)
    u, v = (np.where(usable, wide[:, :, k], 0.0) for k in range(2))
    hue = np.rint(np.arctan2(v, u) / (2 * np.pi) * HUES).astype(np.int64) % HUES
    ring = np.rint(np.clip(np.hypot(u, v) / longest, 0, 1) * RINGS).astype(np.int64)
    place = np.where(ring == 0, 0, 1 + (ring - 1) * HUES + hue)
    return indexed_png(np.where(usable, place, 1 + RINGS * HUES), [*wheel_colours(), NONE])


def disparity_picture(disparity: Array, longest: float) -> str:
    """Disparities from the largest, bright, to 0, dark; grey where there is none."""
    return scale_picture(1 - disparity.astype(np.float64) / longest, np.isfinite(disparity))


def error_level(loaded: LoadedPair, channels: int) -> Array:
    """The step of the error of each pixel; one more where nothing is estimated, two where there is no truth."""
    truth = loaded.truth.reshape(*loaded.shape, -1, channels).astype(np.float64)
    predicted = loaded.filled.reshape(*loaded.shape, 1, channels).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        error = np.sqrt(((predicted - truth) ** 2).sum(axis=-1)).min(axis=-1)
        length = np.sqrt((truth**2).sum(axis=-1)).max(axis=-1)
        level = np.searchsorted(STEPS, np.fmin(error / 3, error / length / 0.05), side="right")
    valid = np.isfinite(truth).all(axis=(2, 3)) & (np.abs(truth) <= 1e9).all(axis=(2, 3))
    estimated = np.isfinite(predicted).all(axis=(2, 3))
    return np.where(valid, np.where(estimated, level, len(STEPS) + 1), len(STEPS) + 2)


def legend() -> list[list[str]]:
    """The steps of an error and their colours."""
    names = [
        f"below {3 * STEPS[0]:g} px or {5 * STEPS[0]:g} %",
        *(f"from {3 * step:g} px and {5 * step:g} %" for step in STEPS),
        "no estimate",
        "not counted",
    ]
    return [[name, colour] for name, colour in zip(names, [*STEP_COLOURS, MISSING, NONE], strict=True)]


def panels(pairs: ErrorPairs, pair: int, most: int) -> tuple[tuple[str, str, str], Array]:
    """Truth, prediction and error of an image as pictures, and the levels of its errors."""
    loaded = pairs.load(pair)
    level = error_level(loaded, pairs.channels)
    counted = level < len(STEPS) + 2
    length = true_lengths(loaded.truth, pairs.channels)[counted]
    longest = max(float(length.max()), 1e-9) if length.size else 1.0
    truth = loaded.truth[:, :, 0] if pairs.several else loaded.truth
    picture = flow_picture if pairs.channels == 2 else disparity_picture
    shown = np.where(counted[:, :, np.newaxis], truth.reshape(*level.shape, -1), np.nan)
    fields = []
    for field in (shown, loaded.filled.reshape(*level.shape, -1)):
        small = thin_grid(field, most)
        fields.append(picture(small if pairs.channels == 2 else small[:, :, 0], longest))
    colours = [*STEP_COLOURS, MISSING, NONE]
    return (fields[0], fields[1], indexed_png(thin_grid(level, most), colours)), level


def scene(pairs: ErrorPairs, unit: int, metric: Metric) -> Scene:
    """The image at place `unit`: truth, prediction and error."""
    pair = pairs.pair_of(unit)
    pictures, level = panels(pairs, pair, MOST_SIDE)
    height, width = level.shape
    sums = measure_image(pairs, pair, ErrorRequest.for_statistics((ERRORS,), "exact")).sums[0]
    error = f"{sums[ERROR] / sums[ESTIMATED]:.3f} px" if sums[ESTIMATED] else "undefined"
    return Scene(
        title=f"Image {pairs.units[unit]}: end-point error {error}",
        summary=f"{int(sums[VALID]):,} of {level.size:,} pixels are valid, {int(sums[-1]):,} of them have an estimate",
        shapes=(),
        bounds=(0.0, 0.0, float(width), float(height)),
        rasters=raster_shapes(pictures, height, width),
        legend=tuple((name, colour) for name, colour in legend()),
    )


def figures(pairs: ErrorPairs, state: State, metrics: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    """The figures, each made when it is asked for; one pass over the files serves all."""
    if not len(state) or not is_readable(pairs):
        return {}

    @cache
    def measured() -> State:
        return State.of(pairs, [ERRORS, *CURVE, *LENGTH_SUMS])

    return {
        "error_maps": lambda: worst_maps(pairs, measured()),
        "thresholds": lambda: over_thresholds(measured()),
        "lengths": lambda: over_lengths(pairs, measured()),
    }


def worst_maps(pairs: ErrorPairs, state: State) -> Figure:
    """Truth, prediction and error of the images with the largest end-point error."""
    sums = state.totals(UNITS)[ERRORS]
    reading = (
        "Hue is the direction of motion, and its strength the length."
        if pairs.channels == 2
        else "Bright is near: a large disparity."
    )
    return worst_images(
        "error_maps",
        "end-point error",
        pairs.units,
        np.asarray(ratio(sums[:, NUMERATOR], sums[:, DENOMINATOR])),
        lambda unit: panels(pairs, pairs.pair_of(unit), SMALL_SIDE)[0],
        legend(),
        f"{reading} Errors in KITTI's colours: blue is below 3 px or 5 %, red above both; light grey does not count.",
    )


def shares(state: State, statistics: Sequence[FieldSum]) -> tuple[Array, Array, Array]:
    """Of each statistic the number of pixels, the value, and the values of draws, (draws, statistics)."""
    point, draws = state.totals(POINT), state.totals(WeightPlan(Role.DRAWS, 0, 0, DRAWS))
    pixels = np.array([point[statistic][0, DENOMINATOR] for statistic in statistics])
    values, drawn = (
        np.stack([ratio(totals[s][:, NUMERATOR], totals[s][:, DENOMINATOR]) for s in statistics], axis=1)
        for totals in (point, draws)
    )
    return pixels, values[0], drawn


def over_thresholds(state: State) -> Figure:
    """The share of pixels whose error is above a threshold, over thresholds."""
    pixels, values, drawn = shares(state, CURVE)
    shown = np.flatnonzero(pixels > 0)
    x = np.array(THRESHOLDS)[shown]
    title = "Share of pixels over a threshold"
    rows = tuple(f"{threshold:g} px" for threshold in x)
    table = Table("thresholds", title, "threshold", rows, ("share above",), values[shown][:, np.newaxis])
    text = "All pixels together. The band is the 95 % range over resampled images."
    columns = band_columns(x, values[shown], drawn[:, shown])
    return Figure("thresholds", "curves", title, columns, {"x": "threshold in px", "y": "share above"}, text, table)


def over_lengths(pairs: ErrorPairs, state: State) -> Figure:
    """The end-point error over the true length, in bins."""
    pixels, values, drawn = shares(state, LENGTH_SUMS)
    shown = np.flatnonzero(pixels > 0)
    name = length_name(pairs)
    title = f"End-point error over {name}"
    rows = tuple(f"{ENDS[k]} to {ENDS[k + 1]} px" for k in shown)
    cells = np.stack([pixels[shown], values[shown]], axis=1)
    table = Table("lengths", title, f"true {name}", rows, ("pixels", "end-point error"), cells)
    text = f"Estimated pixels of a bin together, at its middle; the last bin ends at {ENDS[-1]} px."
    text += " The band is the 95 % range over resampled images."
    columns = band_columns(MIDDLES[shown], values[shown], drawn[:, shown])
    facts = {"x": f"true {name} in px", "y": "end-point error in px"}
    return Figure("lengths", "curves", title, columns, facts, text, table)


def tables(pairs: ErrorPairs | None, state: State) -> Mapping[str, Callable[[], Table]]:
    """Figures by ranges of the true length."""
    if pairs is None or not is_readable(pairs):
        return {}
    fields: ErrorPairs = pairs
    return {"lengths": lambda: by_length(fields)}


def by_length(pairs: ErrorPairs) -> Table:
    """Valid pixels, end-point error, outliers and bad pixels by ranges of the true length."""
    wanted = [[FieldSum(what, of, at, "pixel") for what, at in _BY_LENGTH] for of in BINS]
    totals = State.of(pairs, [statistic for row in wanted for statistic in row]).totals(POINT)
    rows = []
    for density, *others in wanted:
        values = [float(ratio(totals[s][:, NUMERATOR], totals[s][:, DENOMINATOR])[0]) for s in others]
        rows.append([float(totals[density][0, DENOMINATOR]), *values])
    name = length_name(pairs)
    outliers = "Fl" if pairs.channels == 2 else "D1"
    columns = ("pixels", "end-point error", outliers, "bad pixels > 1 px")
    names = ("0 to 10 px", "10 to 40 px", "40 px and more")
    return Table("lengths", f"By {name}", f"true {name}", names, columns, np.array(rows))


def listing(pairs: ErrorPairs, state: State) -> Listing:
    """Every image with its own figures, as far as the metrics that were asked for have them."""
    columns: dict[str, Array | Texts] = {"image": Texts.of([str(unit) for unit in state.units.ids.tolist()])}
    totals = state.totals(UNITS)
    own = [s for s in state.blocks if isinstance(s, FieldSum) and s.of == "all"]
    for statistic in own:
        sums = totals[statistic]
        values = ratio(sums[:, NUMERATOR], sums[:, DENOMINATOR])
        if statistic.what == "density" and statistic.average == "pixel":
            columns |= {"valid pixels": sums[:, DENOMINATOR], "density": values}
        elif statistic.what == "bad":
            columns.setdefault(f"bad > {statistic.at:g} px", values)
        elif statistic.what in _COLUMNS:
            factor = 180 / np.pi if statistic.what == "angle" else 1.0
            columns.setdefault(_COLUMNS[statistic.what], values * factor)
    return Listing("images", "Images", columns, x="EPE" if "EPE" in columns else "")
