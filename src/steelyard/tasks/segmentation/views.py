"""What is shown beside the scores of label maps: tables, pictures of images, figures and the list of images.

Why other tools say another mean IoU, Dice or F1 of the same maps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.explanation import Explanation, Step
from steelyard.core.figure import Figure, Listing, Texts, worst_and_best
from steelyard.core.metric import Metric
from steelyard.core.numerals import as_spec
from steelyard.core.pairs import Array
from steelyard.core.plan import POINT, UNITS
from steelyard.core.scene import RasterShape, Scene
from steelyard.core.state import State
from steelyard.core.table import Table
from steelyard.core.weights import ratio
from steelyard.maps.raster import colour, colour_codes, indexed_png, thin_grid
from steelyard.tasks.segmentation.counts import (
    HIT,
    IMAGES,
    PREDICTED,
    TRUE,
    UNCLASSED,
    ClassPixels,
    ClassTable,
    Confusion,
    coders,
)
from steelyard.tasks.segmentation.data import MapPairs
from steelyard.tasks.segmentation.overlap import figure_of
from steelyard.tasks.segmentation.scores import F1, Iou, MeanAccuracy, MeanDice, MeanIou, PixelAccuracy
from steelyard.tasks.shared.tools import find_tools

TOOLS = {"mmseg": "1.2.2", "torchmetrics": "1.9.0"}


def explain(pairs: MapPairs, names: Any) -> tuple[Explanation, ...]:
    """What each tool prints for these data, and which rule moves it."""
    return tuple(_mmseg(pairs) if name == "mmseg" else _torchmetrics(pairs) for name in find_tools(names, TOOLS))


def _mmseg(pairs: MapPairs) -> Explanation:
    plain = _numbers(pairs, F1())
    theirs = _numbers(pairs, F1(mmseg=True))
    step = Step(
        "f1", "0 for a class without a right pixel", "no number for it",
        "mFscore then is the mean over better classes.", theirs,
    )  # fmt: skip
    remarks = (
        "It adds pixels in single precision: beyond 16 million pixels of a class, sums are rounded.",
        "Predicted values without a class are dropped there, and wrong here.",
    )
    return Explanation("mmseg", TOOLS["mmseg"], plain, (step,), theirs, remarks)


def _torchmetrics(pairs: MapPairs) -> Explanation:
    plain = _numbers(pairs, F1())
    by_image = {**plain, "mdice": _numbers(pairs, F1(), level="image")["mdice"]}
    by_class = {**plain, "miou": _mean_of_all(pairs)}
    steps = (
        Step(
            "Dice", "dataset", "image",
            "DiceScore takes the mean over the classes of each image, then over images; with "
            "aggregation_level='global' it does as we do.", by_image,
        ),
        Step(
            "IoU", "dataset", "class of an image",
            "MeanIoU takes the mean over all classes of all images at once, so that an image with more classes counts "
            "more; JaccardIndex does as we do.", by_class,
        ),
    )  # fmt: skip
    theirs = {**by_image, "miou": by_class["miou"]}
    remarks = ("MeanIoU takes no value to ignore, and gives −1 for an absent class by class.",)
    return Explanation("torchmetrics", TOOLS["torchmetrics"], plain, steps, theirs, remarks)


def _mean_of_all(pairs: MapPairs) -> float:
    """The mean IoU over every class of every image that has it on a side."""
    hit, true, predicted = ClassTable.of(pairs.pixels, pairs.metadata.size("class")).pixels.T
    return float((hit / (true + predicted - hit)).mean()) if len(hit) else float("nan")


def _numbers(pairs: MapPairs, f1: Metric, level: str = "dataset") -> Mapping[str, float]:
    asked: dict[str, Metric] = {
        "miou": MeanIou(level=level), "mdice": MeanDice(level=level), "macc": MeanAccuracy(),
        "accuracy": PixelAccuracy(), "f1": f1,
    }  # fmt: skip
    needs: dict[Any, None] = {statistic: None for metric in asked.values() for statistic in metric.requirements()}
    totals = State.of(pairs, needs).totals(POINT)
    return {name: float(totals.of(metric)[0]) for name, metric in asked.items()}


__all__ = ["class_metrics", "explain", "figures", "listing", "scene", "tables"]


_TITLES = {
    "confusion": "Confusion matrix: pixels of truth by prediction",
    "confusion_true": "Confusion matrix, as shares of the pixels of each true class",
    "confusion_predicted": "Confusion matrix, as shares of the pixels of each predicted class",
}


def tables(pairs: Any, state: State) -> Mapping[str, Callable[[], Table]]:
    """The tables that the state can give, by name."""
    makers: dict[str, Callable[[], Table]] = {}
    if ClassPixels() in state.blocks:
        makers["classes"] = lambda: class_table(state)
    if Confusion() in state.blocks:
        makers |= {name: _maker(state, name) for name in _TITLES}
    return makers


def _maker(state: State, name: str) -> Callable[[], Table]:
    return lambda: confusion(state, name)


def class_table(state: State) -> Table:
    """Pixels and figures of every class."""
    cells = state.totals(POINT)[ClassPixels()]
    columns = {
        "images": cells[0, :, IMAGES],
        "pixels": cells[0, :, TRUE],
        "predicted": cells[0, :, PREDICTED],
        **{title: figure_of(kind, cells)[0] for title, kind in FIGURES.items()},
    }
    names = state.metadata.axes["class"].display_names
    return Table("classes", "Classes", "class", names, tuple(columns), np.stack(list(columns.values()), axis=1))


FIGURES = {"IoU": "iou", "Dice": "dice", "accuracy": "recall", "precision": "precision"}


def confusion(state: State, name: str = "confusion") -> Table:
    """The confusion matrix, as pixels or as shares. What is predicted as no class is in none."""
    values = state.totals(POINT)[Confusion()][0]
    if name == "confusion_true":
        values = ratio(values, values.sum(axis=1, keepdims=True))
    elif name == "confusion_predicted":
        values = ratio(values, values.sum(axis=0, keepdims=True))
    names = state.metadata.axes["class"].display_names
    return Table(name, _TITLES[name], "truth", names, names, values)


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
    pair, coder, names = pairs.pair_of(unit), coders(pairs), pairs.metadata.axes["class"].display_names
    truth, prediction = pairs.maps(pair)
    height, width = truth.shape
    first = thin_grid(coder[0](truth), MOST_SIDE)
    second = np.full_like(first, UNCLASSED) if prediction is None else thin_grid(coder[1](prediction), MOST_SIDE)
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
        summary=f"{count_text(counted, 'pixel', 'count')}, {counted - right:,} are wrong, "
        f"{int(pixels.ignored[unit]):,} are ignored",
        shapes=(),
        bounds=(0.0, 0.0, float(width), float(height)),
        rasters=(
            RasterShape("Truth", colour_codes(first, class_colour), width, height),
            RasterShape("Prediction", colour_codes(second, class_colour), width, height),
            RasterShape("Difference", error_picture(first, second), width, height),
        ),
        legend=(*classes, *MEANINGS),
    )


SHOWN = 6
MOST_CLASSES = 30
MOST_PAIRS = 20


def figures(pairs: MapPairs, state: State, metrics: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    """The figures, each made when it is asked for."""
    if not len(state) or ClassPixels() not in state.blocks:
        return {}
    return {
        "maps": lambda: maps(pairs, state),
        "iou_class": lambda: iou_by_class(state),
        "confusion": lambda: confusion_figure(state),
    }


def costs(state: State) -> Array:
    """What each image takes from mean IoU: its wrong pixels of each class, as a share of the class's union."""
    cells = state.totals(UNITS)[ClassPixels()]
    wrong = cells[:, :, TRUE] + cells[:, :, PREDICTED] - 2 * cells[:, :, HIT]
    union = (cells[:, :, TRUE] + cells[:, :, PREDICTED] - cells[:, :, HIT]).sum(axis=0)
    share = np.where(union > 0, wrong / np.maximum(union, 1), 0.0)
    return np.asarray(share.sum(axis=1) / max(1, int((union > 0).sum())))


def maps(pairs: MapPairs, state: State) -> Figure:
    """Truth, prediction and errors of the images that cost most."""
    cost = costs(state)
    order = np.argsort(-cost, kind="stable")[:SHOWN]
    names, coder = state.metadata.axes["class"].display_names, coders(pairs)
    columns: dict[str, list[Any]] = {"image": [], "cost": [], "truth": [], "prediction": [], "errors": []}
    seen: set[int] = set()
    for unit in order.tolist():
        truth, prediction = pairs.maps(pairs.pair_of(unit))
        first = thin_grid(coder[0](truth))
        second = np.full_like(first, UNCLASSED) if prediction is None else thin_grid(coder[1](prediction))
        seen |= set(np.unique(np.concatenate([first.ravel(), second.ravel()])).tolist())
        columns["image"].append(str(pairs.units[unit]))
        columns["cost"].append(float(cost[unit]))
        columns["truth"].append(colour_codes(first, class_colour))
        columns["prediction"].append(colour_codes(second, class_colour))
        columns["errors"].append(error_picture(first, second))
    legend = [[names[code], colour(code)] for code in sorted(seen) if code < len(names)][:MOST_CLASSES]
    if any(code > UNCLASSED for code in seen):
        legend.append(["ignored", IGNORED_COLOUR])
    rows = np.array(columns["cost"])[:, np.newaxis]
    table = Table("maps", "Images that cost most", "image", tuple(columns["image"]), ("cost of mean IoU",), rows)
    return Figure(
        "maps",
        "rasters",
        "Images that cost most",
        columns,
        {"panels": ["truth", "prediction", "errors"], "legend": legend},
        "Truth, prediction, and in red what is wrong; grey is ignored. The cost is what the image's wrong pixels take "
        "from mean IoU.",
        table,
    )


def iou_by_class(state: State) -> Figure:
    """IoU of each class, the worst first."""
    table = class_table(state)
    iou = table.values[:, table.columns.index("IoU")]
    order = [int(k) for k in np.argsort(np.where(np.isnan(iou), np.inf, iou), kind="stable") if not np.isnan(iou[k])]
    places, more = worst_and_best(order)
    return Figure(
        "iou_class",
        "bars",
        "IoU by class",
        {"name": [table.rows[k] for k in places], "value": iou[places]},
        {"x": "IoU"},
        f"The worst first.{more}",
        table,
    )


def confusion_figure(state: State) -> Figure:
    """Which classes are taken for which: the matrix, or of many classes the pairs that are confused most."""
    table = confusion(state)
    counts, names = table.values, table.rows
    share = np.nan_to_num(ratio(counts, counts.sum(axis=1, keepdims=True)))
    if len(names) > MOST_CLASSES:
        off = counts - np.diag(np.diag(counts))
        top = np.argsort(-off.ravel(), kind="stable")[:MOST_PAIRS]
        top = top[off.ravel()[top] > 0]
        i, j = np.divmod(top, len(names))
        texts = [f"{names[a]} → {names[b]}" for a, b in zip(i.tolist(), j.tolist(), strict=True)]
        return Figure(
            "confusion",
            "bars",
            "Classes that are taken for another most",
            {"name": texts, "value": share[i, j], "pixels": counts[i, j]},
            {"x": "share of the true class"},
            "True class → predicted class, by pixels.",
        )
    i, j = (place.ravel() for place in np.indices(counts.shape))
    return Figure(
        "confusion",
        "matrix",
        "Confusion",
        {
            "row": [names[k] for k in i],
            "column": [names[k] for k in j],
            "count": counts[i, j],
            "share": share[i, j],
            "text": [f"{100 * v:.0f}" if v >= 0.005 else "" for v in share[i, j]],
        },
        {"x": "predicted", "y": "true"},
        "Rows are true classes, columns what was predicted; numbers are percent of the row's pixels.",
        table,
    )


def class_metrics(state: State) -> Mapping[str, Metric]:
    """IoU of each class; of many, those with the most true pixels."""
    names = state.metadata.axes["class"].display_names
    true = state.totals(POINT)[ClassPixels()][0, :, TRUE]
    largest = [k for k in np.argsort(-true, kind="stable")[:MOST_CLASSES].tolist() if true[k]]
    return {names[k]: Iou(only=as_spec(names[k])) for k in sorted(largest)}


def listing(pairs: MapPairs, state: State) -> Listing:
    """Every image with its own figures and what it costs."""
    cells = state.totals(UNITS)[ClassPixels()]
    iou = figure_of("iou", cells)
    right, true = cells[:, :, HIT].sum(axis=1), cells[:, :, TRUE].sum(axis=1)
    columns: dict[str, Array | Texts] = {
        "image": Texts.of([str(unit) for unit in state.units.ids.tolist()]),
        "classes": cells[:, :, IMAGES].sum(axis=1),
        "pixels": true,
        "mean IoU of its classes": ratio(np.nansum(iou, axis=1), (~np.isnan(iou)).sum(axis=1)),
        "pixel accuracy": ratio(right, true),
        "cost of mean IoU": costs(state),
    }
    return Listing("images", "Images", columns, x="mean IoU of its classes")
