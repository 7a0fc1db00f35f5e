"""What is shown beside the scores of anomalies: objects, kinds of defects, curves, regions by size, and images.

And why other tools print another number for the same maps.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.errors import InputError
from steelyard.core.explanation import Explanation, Step
from steelyard.core.figure import Figure, Listing, Texts, points_or_cells
from steelyard.core.frozen import Frozen
from steelyard.core.metric import Metric
from steelyard.core.opening import read_regular
from steelyard.core.pairs import Array
from steelyard.core.plan import POINT, WeightPlan
from steelyard.core.rows import RowsBlock
from steelyard.core.scene import RasterShape, Scene
from steelyard.core.state import State
from steelyard.core.statistic import RankingReader
from steelyard.core.table import Table
from steelyard.core.weights import Floats, Role
from steelyard.maps.png import png_file
from steelyard.maps.raster import indexed_png, thin_grid
from steelyard.tasks.anomalies import curves
from steelyard.tasks.anomalies.data import AnomalyPairs, Picture
from steelyard.tasks.anomalies.metrics import Aupro, ImageAuroc, PixelAp, PixelAuroc, PixelF1Max
from steelyard.tasks.anomalies.pixels import Pixels, count_sets, grid_of, pixels_of, unpack_set, whole_curve
from steelyard.tasks.anomalies.readers import PixelFigure, image_rows
from steelyard.tasks.anomalies.statistics import ImageScores, Regions
from steelyard.tasks.shared.tools import find_tools

TOOLS = {"mvtec": "2022", "mvtec3d": "2022", "anomalib": "2.7.0", "torchmetrics": "1.9.0"}
SHOWN = 6  # images on a page
MOST_OBJECTS = 8  # curves side by side
POINTS = 240  # of a curve
DRAWS = 200  # of the band around a curve
BINS = 60
WORKING = 0.05  # the false positive rate at which regions are called found
OUTLINE, MISSED = "00c2a8", "d7263d"
MOST_SIDE = 1024

__all__ = ["compared_figures", "explain", "figures", "listing", "scene", "tables"]


def _heat() -> list[str]:
    """Colours from dark blue over violet and orange to light yellow, which grow lighter evenly."""
    stops = np.array([[8, 10, 45], [95, 20, 110], [200, 60, 75], [248, 150, 40], [252, 245, 170]], dtype=float)
    at = np.linspace(0, len(stops) - 1, 253)
    low = np.minimum(at.astype(int), len(stops) - 2)
    mixed = stops[low] + (stops[low + 1] - stops[low]) * (at - low)[:, None]
    return [f"{int(r):02x}{int(g):02x}{int(b):02x}" for r, g, b in mixed.round()]


HEAT = [*_heat(), OUTLINE, MISSED, "ffffff"]
LEGEND = (
    ("low score", HEAT[30]),
    ("high score", HEAT[240]),
    ("defect", OUTLINE),
    ("missed", MISSED),
    ("false alarm", "f89628"),
)


def _pixels(state: State) -> Pixels | None:
    block = state.blocks.get(Regions())
    return pixels_of(block) if isinstance(block, RowsBlock) else None


def working_thresholds(pixels: Pixels, rate: float) -> dict[str, float]:
    """For each object: the lowest score of a defective pixel at which the false positive rate is at most `rate`."""
    thresholds = {}
    for (name, _), units in pixels.members().items():
        ones = np.ones(len(units))
        curve = whole_curve(pixels, units, ones, ones, False)
        if curve.normal[0] and len(curve.score):
            at = np.flatnonzero((curve.above[0] + curve.tie[0]) / curve.normal[0] <= rate)
            thresholds[name] = float(curve.score[at[-1]]) if len(at) else float(np.nextafter(curve.score[0], np.inf))
    return thresholds


class ByImage(Frozen):
    """Figures of each unit at the working threshold of its object, and its own AUPIMO; nan where it has none."""

    overlap: Floats
    false: Floats
    recall: Floats


def by_image(pixels: Pixels) -> ByImage:
    """Mean overlap of the regions, share of normal pixels that are flagged, and AUPIMO of each image."""
    many = len(pixels.there)
    overlap, false = (np.full(many, np.nan) for _ in range(2))
    thresholds = working_thresholds(pixels, WORKING)
    for (name, _), units in pixels.members().items():
        if name not in thresholds:
            continue
        table = PixelFigure(Regions(), "pro", threshold=thresholds[name]).counts_at(pixels, units)
        with np.errstate(divide="ignore", invalid="ignore"):
            overlap[units] = np.where(table[:, 4] > 0, table[:, 3] / table[:, 4], np.nan)
            false[units] = np.where(pixels.normal[units] > 0, table[:, 1] / pixels.normal[units], np.nan)
    return ByImage(overlap, false, PixelFigure(Regions(), "aupimo", 1e-4, 1e-5).image_recalls(pixels))


# Tables


def tables(pairs: AnomalyPairs, state: State) -> Mapping[str, Callable[[], Table]]:
    """Objects with their own values, and kinds of defects."""
    if not {"maps", "masks"} <= pairs.metadata.holds:
        return {}
    makers: dict[str, Callable[[], Table]] = {"objects": lambda: object_table(_measured(pairs, state))}
    if "defect" in pairs.truth or "loco" in pairs.metadata.holds:
        makers["defects"] = lambda: defect_table(pairs, pixels_in(_measured(pairs, state)))
    return makers


def _measured(pairs: AnomalyPairs, state: State) -> State:
    """The state, or where only images were asked for, one of their pixels too."""
    return state if Regions() in state.blocks else State.of(pairs, (*state.blocks, Regions()))


def pixels_in(state: State) -> Pixels:
    """The pixels that a state keeps."""
    block = state.blocks[Regions()]
    assert isinstance(block, RowsBlock)
    return pixels_of(block)


def object_table(state: State) -> Table:
    """Images, regions and the figures of each object."""
    pixels = pixels_in(state)
    members = pixels.members()
    asked = {
        "AUROC of pixels": PixelAuroc(),
        "AP of pixels": PixelAp(),
        "AUPRO 0.3": Aupro(),
        "AUPRO 0.05": Aupro(0.05),
    }
    columns: dict[str, list[float]] = {
        "images": [len(units) for units in members.values()],
        "defective": [int((~pixels.good[units]).sum()) for units in members.values()],
        "regions": [int(np.isin(pixels.region_unit, units).sum()) for units in members.values()],
    }
    block = state.blocks[Regions()]
    weights = state.totals(POINT).weights
    for title, metric in asked.items():
        columns[title] = block.read(metric.reading, weights, state.metadata)[0].tolist()
    names = tuple(name or "all" for name, _ in members)
    if ImageScores() in state.blocks:
        values = state.blocks[ImageScores()].read(ImageAuroc().reading, weights, state.metadata)[0]
        if len(values) == len(names):
            columns["AUROC of images"] = values.tolist()
    return Table("objects", "Objects", "object", names, tuple(columns), np.array(list(columns.values()), dtype=float).T)


def defect_table(pairs: AnomalyPairs, pixels: Pixels) -> Table:
    """Of each kind of defect: images, regions, and how much of them is found at a false positive rate of 0.05."""
    thresholds, image = working_thresholds(pixels, WORKING), by_image(pixels)
    rows: dict[str, list[int]] = {}
    for pair in np.flatnonzero(pairs.defective).tolist():
        for name in pairs.defect_names(pair):
            rows.setdefault(name, []).append(int(pairs.owner[pair]))
    values = []
    for units in rows.values():
        own = np.isin(pixels.region_unit, units)
        overlap, sizes = region_overlaps(pixels, thresholds)
        values.append(
            [
                len(units),
                int(own.sum()),
                float(np.median(sizes[own])) if own.any() else np.nan,
                float(overlap[own].mean()) if own.any() else np.nan,
                float((overlap[own] < 0.1).mean()) if own.any() else np.nan,
                float(np.nanmean(image.recall[units])) if not np.isnan(image.recall[units]).all() else np.nan,
            ]
        )
    order = np.argsort([row[3] for row in values], kind="stable")
    names = list(rows)
    columns = ("images", "regions", "median area", f"overlap at FPR {WORKING:g}", "share missed", "AUPIMO")
    return Table(
        "defects",
        "Kinds of defects, the worst first",
        "defect",
        tuple(names[k] for k in order),
        columns,
        np.array([values[k] for k in order], dtype=float).reshape(len(names), len(columns)),
    )


def region_overlaps(pixels: Pixels, thresholds: Mapping[str, float]) -> tuple[Floats, Floats]:
    """The share of each region that scores at least the threshold of its object, and its area."""
    entries, many = pixels.entries, len(pixels.region_unit)
    cut = np.array([thresholds.get(name, np.inf) for name in pixels.objects])
    hits = pixels.overlap * (entries.score >= cut[entries.unit])
    overlap = np.bincount(entries.region, weights=hits, minlength=many)
    return np.asarray(overlap, dtype=np.float64), np.asarray(pixels.region_size, dtype=np.float64)


# Figures


def figures(pairs: AnomalyPairs, state: State, metrics: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    """The figures, each made when it is asked for."""
    pixels = _pixels(state)
    if pixels is None or not _measured_objects(pixels):
        return {}
    return {
        "worst_images": lambda: worst_images(pairs, pixels),
        "pro_curve": lambda: pro_curve(pixels, logarithmic=False),
        "pro_curve_log": lambda: pro_curve(pixels, logarithmic=True),
        "score_counts": lambda: score_counts(pixels),
        "region_sizes": lambda: region_sizes(pixels),
    }


def _measured_objects(pixels: Pixels) -> list[tuple[str, Array]]:
    """The objects that have regions and normal pixels, and their units."""
    members = [(name, units) for (name, _), units in pixels.members().items()]
    return [(n, u) for n, u in members if pixels.normal[u].any() and np.isin(pixels.region_unit, u).any()]


def _curve_points(pixels: Pixels, units: Array) -> tuple[Floats, Floats]:
    """False positive rates and mean overlap after each distinct score, from (0, 0) on."""
    ones = np.ones(len(units))
    curve = whole_curve(pixels, units, ones, ones, False)
    rate = (curve.above[0] + curve.tie[0]) / curve.normal[0]
    return np.append(0.0, rate), np.append(0.0, np.cumsum(curve.overlap[0]) / curve.regions[0])


def pro_curve(pixels: Pixels, logarithmic: bool) -> Figure:
    """Mean overlap of the regions against the false positive rate, a line per object."""
    names, xs, ys = [], [], []
    for name, units in _measured_objects(pixels)[:MOST_OBJECTS]:
        x, y = _curve_points(pixels, units)
        at = np.geomspace(1e-5, 1.0, POINTS) if logarithmic else np.linspace(0.0, 1.0, POINTS)
        place = np.searchsorted(x, at, side="right") - 1
        xs.append(np.log10(at) if logarithmic else at)
        ys.append(y[place])
        names += [name or "all"] * len(at)
    title = "Region overlap at low false positive rates" if logarithmic else "Region overlap by false positive rate"
    return Figure(
        "pro_curve_log" if logarithmic else "pro_curve",
        "curves",
        title,
        {"x": np.concatenate(xs), "y": np.concatenate(ys), "series": names},
        {
            "x": "false positive rate, power of ten" if logarithmic else "false positive rate",
            "y": "mean region overlap",
        },
        "Each region counts the same, whatever its area. AUPRO is the area up to its limit, divided by the limit."
        + (" Where nothing is seen below a rate, the line stays at its first value." if logarithmic else ""),
    )


def compared_figures(
    pairs: AnomalyPairs, state: State, metrics: Sequence[Metric]
) -> Mapping[str, Callable[[], Figure]]:
    """The curves that a comparison shows of both models, with bands."""
    pixels = _pixels(state)
    if pixels is None or not _measured_objects(pixels):
        return {}
    return {
        "pro_curve": lambda: mean_curve(state, pixels, logarithmic=False),
        "pro_curve_log": lambda: mean_curve(state, pixels, logarithmic=True),
    }


def mean_curve(state: State, pixels: Pixels, logarithmic: bool) -> Figure:
    """Mean overlap of the regions against the false positive rate, the mean over objects, with a band of draws."""
    at = np.geomspace(1e-5, 1.0, POINTS) if logarithmic else np.linspace(0.0, 1.0, POINTS)
    rows = np.concatenate([*state.totals(WeightPlan(Role.DRAWS, 0, 0, DRAWS)).weights.blocks()])
    points, draws = [], []
    for _, units in _measured_objects(pixels):
        x, y = _curve_points(pixels, units)
        points.append(y[np.searchsorted(x, at, side="right") - 1])
        grid, ones = grid_of(pixels, units, False), np.ones((1, len(units)))
        own = np.vstack([ones, rows[:, units]])
        drawn = np.array([_at_rates(grid.curve(row, row), at) for row in own[:, None]])
        draws.append(drawn[1:] + (points[-1] - drawn[0]))  # moved by what bins change
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # draws without a region
        band = np.nanquantile(np.nanmean(draws, axis=0), [0.025, 0.975], axis=0)
    low, high = np.clip(band, 0.0, 1.0)
    objects = " It is the mean over objects." if len(points) > 1 else ""
    drawn_as = "clusters" if state.units.cluster is not None else "images"
    plain = pro_curve(pixels, logarithmic)
    columns = {"x": np.log10(at) if logarithmic else at, "y": np.mean(points, axis=0), "low": low, "high": high}
    caption = f"{plain.caption}{objects} The band holds 95 % of the values of resampled {drawn_as}."
    return Figure(plain.name, "curves", plain.title, columns, plain.facts, caption)


def _at_rates(curve: curves.Curve, rates: Floats) -> Floats:
    """Mean overlap at false positive rates, of a curve of one row; nan without regions or normal pixels."""
    if not curve.normal[0] or not curve.regions[0]:
        return np.full(len(rates), np.nan)
    x = (curve.above[0] + curve.tie[0]) / curve.normal[0]
    y = np.cumsum(curve.overlap[0]) / curve.regions[0]
    return np.asarray(np.interp(rates, np.append(0.0, x), np.append(0.0, y)))


def score_counts(pixels: Pixels) -> Figure:
    """How many normal and defective pixels have each score, on a logarithmic scale, for the first object with both."""
    name, units = _measured_objects(pixels)[0]
    ones = np.ones(len(units))
    curve = whole_curve(pixels, units, ones, ones, False)
    mine = np.isin(pixels.union.unit, units)
    score, count = pixels.union.score[mine], pixels.union.count[mine]
    sets = pixels.places[units]
    low, high = float(score.min()), float(score.max())
    low, high = low - 0.25 * (high - low or 1.0), high + 0.05 * (high - low or 1.0)
    if (score == np.round(score)).all():  # bytes: bins of equally many whole numbers
        step = np.ceil((high - low) / BINS)
        edges = np.floor(low) - 0.5 + step * np.arange(BINS + 1)
    else:
        edges = np.linspace(low, high, BINS + 1)
    above = count_sets(pixels.data, sets, edges, ones)[0]
    normal = above[:-1] - above[1:]
    normal[0] += float(ones @ pixels.normal[units]) - above[0]
    normal[-1] += above[-1]
    defective = np.histogram(score, bins=edges, weights=count)[0]
    middle = (edges[1:] + edges[:-1]) / 2
    marks = [f"best F1 {curves.best_f1(curve)[1][0]:.4g}"]
    marks += [f"FPR {rate:g} {working_thresholds(pixels, rate)[name]:.4g}" for rate in (0.3, 0.05, 0.01)]
    return Figure(
        "score_counts",
        "curves",
        "Scores of normal and defective pixels",
        {
            "x": np.concatenate([middle, middle]),
            "y": np.log10(np.concatenate([normal, defective]) + 1),
            "series": ["normal"] * BINS + ["defective"] * BINS,
        },
        {"x": "score", "y": "pixels + 1, power of ten"},
        f"{f'Object {name}. ' if name else ''}Normal pixels below the lowest score shown are in the first bin. "
        f"Thresholds: {'; '.join(marks)}.",
    )


def region_sizes(pixels: Pixels) -> Figure:
    """How much of each region is found, by its area."""
    overlap, sizes = region_overlaps(pixels, working_thresholds(pixels, WORKING))
    edges = np.quantile(sizes, [0, 1 / 3, 2 / 3, 1])
    groups = np.clip(np.searchsorted(edges[1:-1], sizes, side="left"), 0, 2)
    rows = [
        [int((groups == k).sum()), float(overlap[groups == k].mean()) if (groups == k).any() else np.nan]
        for k in range(3)
    ]
    names = [f"area up to {edges[1]:g}", f"up to {edges[2]:g}", f"up to {edges[3]:g}"]
    return Figure(
        "region_sizes",
        "points",
        "Overlap of each region by its area",
        points_or_cells(np.log10(sizes), overlap),
        {"x": "area in pixels, power of ten", "y": f"share found at FPR {WORKING:g}", "item": "region"},
        "A region at 0 is missed at this false positive rate.",
        Table("region_sizes", "Regions by area", "area", tuple(names), ("regions", "mean overlap"), np.array(rows)),
    )


def worst_images(pairs: AnomalyPairs, pixels: Pixels) -> Figure:
    """The images whose defects are found least, and those with the most false alarms."""
    image = by_image(pixels)
    defective = np.flatnonzero(~np.isnan(image.overlap))
    cost = np.where(np.isnan(image.overlap), np.nan_to_num(image.false), 1 - image.overlap + np.nan_to_num(image.false))
    order = np.argsort(-cost, kind="stable")[:SHOWN]
    place = {int(unit): pair for pair, unit in enumerate(pairs.owner.tolist())}
    ends, thresholds = score_ends(pixels), working_thresholds(pixels, WORKING)
    columns: dict[str, list[Any]] = {"image": [], "cost": [], "scores": [], "regions": []}
    rows = []
    for unit in order.tolist():
        if unit not in place or not pixels.there[unit]:
            continue
        picture = pairs.picture(place[unit])
        name = pixels.objects[unit]
        columns["image"].append(str(pairs.units[unit]))
        columns["cost"].append(float(cost[unit]))
        columns["scores"].append(heat_picture(picture, ends.get(name, (0.0, 1.0)), 480))
        columns["regions"].append(found_picture(picture, thresholds.get(name, np.inf), 480))
        rows.append([image.overlap[unit], image.false[unit]])
    table = Table(
        "worst_images",
        "Images to look at",
        "image",
        tuple(columns["image"]),
        (f"overlap at FPR {WORKING:g}", "share of normal pixels flagged"),
        np.array(rows).reshape(-1, 2),
    )
    return Figure(
        "worst_images",
        "rasters",
        "Images to look at",
        columns,
        {"panels": ["scores", "regions"], "legend": [list(entry) for entry in LEGEND]},
        f"{count_text(len(defective), 'image', 'have')} regions. Scores share one colour scale per object; outlines "
        f"are the defects. The second picture shows what is flagged at a false positive rate of {WORKING:g}: found "
        "regions in green, missed ones in red, false alarms in orange. The number is the share of the regions that is "
        "missed, plus the share of normal pixels that is flagged.",
        table,
    )


def score_ends(pixels: Pixels) -> dict[str, tuple[float, float]]:
    """One colour scale for each object: from low normal scores to high defective ones."""
    ends = {}
    for (name, _), units in pixels.members().items():
        score = pixels.union.score[np.isin(pixels.union.unit, units)]
        if len(score):
            low, high = float(np.quantile(score, 0.02)), float(score.max())
            ends[name] = (low - 0.5 * (high - low), high) if high > low else (low - 0.5, high + 0.5)
    return ends


def _outline(mask: Array) -> Array:
    """The pixels of a mask that touch its outside."""
    inside = np.zeros((mask.shape[0] + 2, mask.shape[1] + 2), dtype=bool)
    inside[1:-1, 1:-1] = mask > 0
    whole = inside[:-2, 1:-1] & inside[2:, 1:-1] & inside[1:-1, :-2] & inside[1:-1, 2:]
    return (mask > 0) & ~whole


def heat_picture(picture: Picture, ends: tuple[float, float], most: int) -> str:
    """The scores as colours, with the outline of the mask."""
    scores = thin_grid(picture.scores, most).astype(np.float64)
    codes = np.clip((scores - ends[0]) / (ends[1] - ends[0]), 0, 1) * (len(HEAT) - 4)
    codes = codes.astype(np.uint8)
    if picture.mask is not None:
        codes[_outline(thin_grid(picture.mask, most))] = HEAT.index(OUTLINE)
    return indexed_png(codes, HEAT)


def found_picture(picture: Picture, threshold: float, most: int) -> str:
    """Found and missed pixels of defects, and false alarms."""
    flagged = thin_grid(picture.scores, most).astype(np.float64) >= threshold
    mask = np.zeros_like(flagged) if picture.mask is None else thin_grid(picture.mask, most) > 0
    codes = np.select([mask & flagged, mask, flagged], [1, 2, 3], 0)
    return indexed_png(codes, ["f3f3f0", OUTLINE, MISSED, "f89628"])


def listing(pairs: AnomalyPairs, state: State) -> Listing | None:
    """Every image with its kind, its score, and what is found of it."""
    pixels = _pixels(state)
    place = {int(unit): pair for pair, unit in enumerate(pairs.owner.tolist())}
    order = [place[unit] for unit in range(len(pairs.units)) if unit in place]
    columns: dict[str, Array | Texts] = {
        "image": Texts.of([str(pairs.truth["image"][pairs.truth_row[pair]]) for pair in order]),
        "kind": Texts.of(["defective" if pairs.defective[pair] else "good" for pair in order]),
    }
    if "defect" in pairs.truth:
        columns["defect"] = Texts.of([str(pairs.defects[pair]) for pair in order])
    if len(set(map(str, pairs.objects.tolist()))) > 1:
        columns["object"] = Texts.of([str(pairs.objects[pair]) for pair in order])
    units = pairs.owner[order]
    block = state.blocks.get(ImageScores())
    if isinstance(block, RowsBlock):
        scores = np.full(len(pairs.units), np.nan)
        unit, _, score, _ = image_rows(block)
        scores[unit] = score
        columns["score"] = scores[units]
    if pixels is not None:
        image = by_image(pixels)
        columns[f"overlap at FPR {WORKING:g}"] = image.overlap[units]
        columns["false area"] = image.false[units]
        if not np.isnan(image.recall).all():
            columns["AUPIMO"] = image.recall[units]
    x = next((name for name in ("score", "false area") if name in columns), "")
    return Listing("images", "Images", columns, "kind", x) if x else None


def scene(pairs: AnomalyPairs, unit: int, metric: Metric) -> Scene:
    """The image, its scores with the outline of the mask, and what is found at a false positive rate of 0.05."""
    pair = int(np.flatnonzero(pairs.owner == unit)[0])
    picture = pairs.picture(pair)
    height, width = picture.scores.shape
    low, high = float(picture.scores.min()), float(picture.scores.max())
    ends, threshold = _shared_scale(pairs, pair)
    rasters = [
        RasterShape("Scores", heat_picture(picture, ends, MOST_SIDE), width, height),
        RasterShape("Found, missed, false", found_picture(picture, threshold, MOST_SIDE), width, height),
    ]
    image = _image_raster(pairs, pair, width, height)
    if image is not None:
        rasters.insert(0, image)
    count = len(picture.regions("8"))
    kind = f"{pairs.defects[pair] or 'defective'}, {count_text(count, 'region')}" if count else "good"
    return Scene(
        title=f"Image {pairs.units[unit]}: {kind}",
        summary=f"Scores from {low:.4g} to {high:.4g}; flagged from {threshold:.4g} up, the threshold of a false "
        f"positive rate of {WORKING:g}",
        shapes=(),
        bounds=(0.0, 0.0, float(width), float(height)),
        rasters=tuple(rasters),
        legend=(*LEGEND[:2], ("found", OUTLINE), ("missed", MISSED), ("false alarm", "f89628")),
    )


def _shared_scale(pairs: AnomalyPairs, pair: int) -> tuple[tuple[float, float], float]:
    """The colour scale and the threshold of the pair's object, measured once."""
    if "scales" not in pairs.memory:
        state = State.of(pairs, (Regions(),))
        pixels = _pixels(state)
        assert pixels is not None
        pairs.memory["scales"] = score_ends(pixels), working_thresholds(pixels, WORKING)
    ends, thresholds = pairs.memory["scales"]
    name = str(pairs.objects[pair])
    return ends.get(name, (0.0, 1.0)), thresholds.get(name, float("inf"))


def _image_raster(pairs: AnomalyPairs, pair: int, width: int, height: int) -> RasterShape | None:
    """The photograph in grey, where it is a PNG beside the masks."""
    files = pairs.truth.other.get("file")
    path = str(files[int(pairs.truth_row[pair])]) if files is not None else ""
    if not path.lower().endswith(".png"):
        return None
    try:
        grid = png_file(read_regular(path), path).map()
    except InputError:
        return None
    if grid.dtype == np.uint32:  # red + 256 green + 65536 blue
        grid = ((grid & 255) * 299 + (grid >> 8 & 255) * 587 + (grid >> 16) * 114) // 1000
    grey = thin_grid(grid, MOST_SIDE).astype(np.float64)
    codes = (grey / max(1.0, 65535.0 if grid.dtype == np.uint16 else 255.0) * 255).astype(np.uint8)
    return RasterShape("Image", indexed_png(codes, [f"{v:02x}" * 3 for v in range(256)]), width, height)


# Other tools


def explain(pairs: AnomalyPairs, names: Iterable[str]) -> tuple[Explanation, ...]:
    """What each tool prints for these maps, and which rule moves it."""
    makers = {"mvtec": _mvtec, "mvtec3d": _mvtec3d, "anomalib": _anomalib, "torchmetrics": _torchmetrics}
    return tuple(makers[name](pairs) for name in find_tools(names, TOOLS))


def _values(pairs: AnomalyPairs, asked: Mapping[str, Metric]) -> dict[str, float]:
    needs = dict.fromkeys(
        need.ranking if isinstance(need, RankingReader) else need
        for metric in asked.values()
        for need in metric.requirements()
    )
    totals = State.of(pairs, needs).totals(POINT)
    return {name: float(totals.of(metric)[0]) for name, metric in asked.items()}


LIMITS = {"au_pro@0.3": 0.3, "au_pro@0.05": 0.05}


def _mvtec(pairs: AnomalyPairs) -> Explanation:
    plain = _values(pairs, {name: Aupro(limit) for name, limit in LIMITS.items()})
    remarks = (
        "The script of 2022 does as we do; it holds rates in single precision, which moves the ninth digit.",
        "It takes a score that is not a number for the highest; here that is an error.",
        "An image is defective there if its mask has a pixel; an empty mask of a defective image is an error here.",
    )
    return Explanation("mvtec", TOOLS["mvtec"], plain, (), plain, remarks)


def _mvtec3d(pairs: AnomalyPairs) -> Explanation:
    plain = _values(pairs, {name: Aupro(limit) for name, limit in LIMITS.items()})
    theirs = _values(pairs, {name: Aupro(limit, like="mvtec3d", thresholds=100) for name, limit in LIMITS.items()})
    step = Step(
        "thresholds",
        "every score",
        "100 at equal steps of the normal scores",
        "Scores above each threshold count, and rates are taken from the place of the threshold, so that equal scores "
        "are counted wrong.",
        theirs,
    )
    return Explanation("mvtec3d", TOOLS["mvtec3d"], plain, (step,), theirs)


def _anomalib(pairs: AnomalyPairs) -> Explanation:
    asked: dict[str, Metric] = {"AUPRO": Aupro(), "AUROC": PixelAuroc(), "AUPR": PixelAp(), "F1Max": PixelF1Max()}
    plain = _values(pairs, asked)
    full = {**plain, "AUPRO": _values(pairs, {"AUPRO": Aupro(like="anomalib2.3")})["AUPRO"]}
    lines = {**plain, "AUPR": _values(pairs, {"AUPR": PixelAp("trapezoid")})["AUPR"]}
    pressed = squashed_values(pairs)
    equal = {**plain, "AUROC": pressed["AUROC"], "AUPR": pressed["AP"]}
    steps = (
        Step(
            "masks that cover an image",
            "a region",
            "background",
            "AUPRO takes the only label of such a mask for background and loses the region.",
            full,
        ),
        Step(
            "precision between points",
            "steps",
            "straight lines (up to 2.6)",
            "AUPR draws straight lines up to version 2.6; 2.7 takes steps as we do.",
            lines,
        ),
        Step(
            "scores outside 0 to 1",
            "as they are",
            "through a sigmoid",
            "AUROC and AUPR are built on torchmetrics, which applies a sigmoid in single precision as soon as one "
            "score lies outside 0 to 1. Its pipeline scales scores first, the metric classes do not.",
            equal,
        ),
    )
    theirs = {**plain, "AUPRO": full["AUPRO"], "AUROC": equal["AUROC"], "AUPR": equal["AUPR"]}
    remarks = (
        "AUPRO of versions 1.0 to 2.2 averages a resampled ROC curve per region and divides by the last averaged rate "
        "instead of the limit: its values may exceed 1 or be nan, and are not reproduced.",
    )
    return Explanation("anomalib", TOOLS["anomalib"], plain, steps, theirs, remarks)


def _torchmetrics(pairs: AnomalyPairs) -> Explanation:
    plain = _values(pairs, {"AUROC": PixelAuroc(), "AP": PixelAp()})
    theirs = squashed_values(pairs)
    step = Step(
        "scores outside 0 to 1",
        "as they are",
        "through a sigmoid",
        "As soon as one score lies outside 0 to 1 a sigmoid is applied to all, in single precision: from about 17 on "
        "it is 1, and all such scores are equal.",
        theirs,
    )
    return Explanation("torchmetrics", TOOLS["torchmetrics"], plain, (step,), theirs)


def squashed_values(pairs: AnomalyPairs) -> dict[str, float]:
    """AUROC and AP of pixels after a sigmoid in single precision, where a score lies outside 0 to 1."""
    state = State.of(pairs, (Regions(),))
    pixels = _pixels(state)
    assert pixels is not None
    areas, precisions = [], []
    for units in pixels.members().values():
        mine = np.isin(pixels.union.unit, units)
        score, count = pixels.union.score[mine], pixels.union.count[mine]
        ones = np.ones(len(units))
        curve = whole_curve(pixels, units, ones, ones, False)
        low, high = _ends(pixels, units)
        if len(score) and (min(low, score.min()) < 0 or max(high, score.max()) > 1):
            curve = _squashed(pixels, units, score, count)
        areas.append(float(curves.roc_area(curve)[0]))
        precisions.append(float(curves.average_precision(curve)[0]))
    held = np.array([areas, precisions])[:, ~np.isnan(areas)]
    area, precision = held.mean(axis=1).tolist() if held.size else (math.nan, math.nan)
    return {"AUROC": area, "AP": precision}


def _ends(pixels: Pixels, units: Array) -> tuple[float, float]:
    """Whether a normal score lies below 0 or above 1: any score that does."""
    counts = count_sets(pixels.data, pixels.places[units], np.array([0.0, 1.0]), np.ones(len(units)))
    below = float(pixels.normal[units].sum()) - counts[0, 0]
    return (-1.0 if below else 0.0), (2.0 if counts[1, 1] else 1.0)


def _squashed(pixels: Pixels, units: Array, score: Floats, count: Array) -> curves.Curve:
    """The curve of the scores after a sigmoid: every normal score is looked at."""

    def press(values: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return (1 / (1 + np.exp(-values.astype(np.float32)))).astype(np.float64)

    sets = [unpack_set(pixels.data[a:b]) for a, b in pixels.places[units].tolist()]
    normal, many = (np.concatenate([one[i] for one in sets]) for i in range(2))
    distinct, place = np.unique(press(score), return_inverse=True)
    positive = np.bincount(place.reshape(-1), weights=count, minlength=len(distinct))
    order = np.argsort(press(normal), kind="stable")
    sums = np.append(0.0, np.cumsum(many[order]))
    at = sums[-1] - sums[np.searchsorted(press(normal)[order], distinct, "left")]
    above = sums[-1] - sums[np.searchsorted(press(normal)[order], distinct, "right")]
    hits, tie, over = (values[::-1][np.newaxis].astype(np.float64) for values in (positive, at - above, above))
    return curves.Curve(distinct[::-1], hits, hits, tie, over, np.array([sums[-1]]), np.array([positive.sum()]))
