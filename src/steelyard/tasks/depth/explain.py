"""Why other tools print other numbers for the same maps: alignment, pixels that count, clamping, and definitions."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from steelyard.core.block import SumBlock
from steelyard.core.explanation import Explanation
from steelyard.core.frozen import Frozen
from steelyard.core.metric import Metric
from steelyard.core.plan import POINT
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache, Sum
from steelyard.core.weights import ratio
from steelyard.maps.each import for_each
from steelyard.tasks.depth.data import DecodedMaps, DepthPairs
from steelyard.tasks.depth.metrics import (
    AbsRel,
    Delta,
    InverseMae,
    InverseRmse,
    Log10,
    Mae,
    Rmse,
    RmseLog,
    SiLog,
    SqRel,
)
from steelyard.tasks.depth.sums import by_unit
from steelyard.tasks.shared.tools import Tool, explain_tool, find_tools

OURS = "as the options and the preset say"
AFFINE, MEDIAN = "scale and shift of each image", "ratio of the medians of each image"
OPEN, CLOSED, EVERY = "open", "closed", "all true depths above 0"
RIGHT = "right in delta"
HALF, FACTOR_1 = "weight 0.5, factor 1", "weight 1, factor 1"
SQUARED, PER_METRE = "divided by squared depth", "1/m"


class DepthConventions(Frozen):
    """Which pixels count, what happens to predictions, and definitions. The defaults are ours."""

    align: str = field(default=OURS, metadata={"title": "alignment"})
    pixels: str = field(default=OURS, metadata={"title": "min and max"})
    few: str = field(default=OURS, metadata={"title": "images with few pixels"})
    holes: str = field(default=OURS, metadata={"title": "holes"})
    clamp: str = field(default=OURS, metadata={"title": "clamping"})
    negative: str = field(default="wrong", metadata={"title": "negative depths"})
    silog: str = field(default="weight 1, factor 100", metadata={"title": "silog"})
    sq_rel: str = field(default="divided by depth", metadata={"title": "sq_rel"})
    irmse: str = field(default="1/km", metadata={"title": "irmse"})


_RATIOS = ("delta@1", "delta@2", "delta@3")
_PRINTED = ("abs_rel", "sq_rel", "rmse", "rmse_log", "log10", "silog", *_RATIOS)
_CLAMPED = {"clamp": "Predictions are clamped to min and max.", "pixels": "Depths of exactly min and max do not count."}
TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            "zoedepth",
            "d87f17b2",
            DepthConventions(pixels=OPEN, holes="worst", clamp="yes"),
            {**_CLAMPED, "holes": "Infinite becomes max, and nan min."},
            _PRINTED,
            (
                "Without a crop its script fails, so that users switch one on.",
                "Its SILog is nan where rounding makes the variance of the logarithms negative.",
            ),
        ),
        Tool(
            "dav2",
            "a561b849",
            DepthConventions(
                pixels=CLOSED,
                few="below 10 left out",
                holes="worst",
                clamp="no",
                negative=RIGHT,
                silog=HALF,
            ),
            {
                "pixels": "Depths of exactly min and max count.",
                "few": "They say little.",
                "holes": "There one nan makes the mean nan, which is not shown here.",
                "clamp": "Predictions are compared as they are.",
                "negative": "The larger of two negative ratios is below every threshold.",
                "silog": "Half of the common factor counts.",
            },
            _PRINTED,
        ),
        Tool(
            "marigold",
            "b1dffaaa",
            DepthConventions(align=AFFINE, pixels=OPEN, clamp="yes", irmse=PER_METRE),
            {**_CLAMPED, "align": "By least squares.", "irmse": "Inverse depths are in 1/m."},
            ("abs_rel", "sq_rel", "rmse", "rmse_log", "log10", *_RATIOS, "irmse", "silog"),
        ),
        Tool(
            "monodepth2",
            "evaluate_depth.py",
            DepthConventions(align=MEDIAN, pixels=OPEN, clamp="yes"),
            {**_CLAMPED, "align": "Its models are trained without a scale."},
            ("abs_rel", "sq_rel", "rmse", "rmse_log", *_RATIOS),
            ("It takes pixels from 0.001 to 80 m inside the crop garg: the preset kitti_eigen.",),
        ),
        Tool(
            "kitti",
            "devkit_depth",
            DepthConventions(pixels=EVERY, holes="fill", clamp="no", silog=FACTOR_1, sq_rel=SQUARED),
            {
                "pixels": "No cap and no crop.",
                "holes": "A gap of a row takes the smaller of its ends, which is the foreground.",
                "clamp": "Predictions are compared as they are.",
                "silog": "Its site prints 100 times that.",
                "sq_rel": "A share of the depth, squared.",
            },
            ("silog", "abs_rel", "sq_rel", "mae", "rmse", "rmse_log", "imae", "irmse"),
        ),
    )
}
_METRICS: dict[str, Metric] = {
    "abs_rel": AbsRel(),
    "sq_rel": SqRel(),
    "rmse": Rmse(),
    "mae": Mae(),
    "rmse_log": RmseLog(),
    "log10": Log10(),
    "imae": InverseMae(),
    "irmse": InverseRmse(),
    "silog": SiLog(),
    **{f"delta@{power}": Delta(power=power) for power in (1, 2, 3)},
}
_SILOG = {HALF: SiLog(weight=0.5, factor=1.0), FACTOR_1: SiLog(factor=1.0)}


def explain(pairs: DepthPairs, names: Iterable[str]) -> tuple[Explanation, ...]:
    """What each tool prints for these maps, and which rule moves it. Files are decoded once where memory allows."""
    pairs = replace(pairs, decoded=DecodedMaps())
    return tuple(explain_tool(tool, partial(values, pairs, {})) for tool in find_tools(names, TOOLS).values())


def values(pairs: DepthPairs, measured: dict[str, State], way: DepthConventions) -> dict[str, float]:
    """What a tool prints, under the names of our metrics; `measured` are states by the rules that they have."""
    metrics = dict(_METRICS)
    metrics["silog"] = _SILOG.get(way.silog, metrics["silog"])
    if way.sq_rel == SQUARED:
        metrics["sq_rel"] = SqRel(by="squared")
    changes = changed_rules(pairs, way)
    key = str(sorted(changes.items()))
    if key not in measured:
        every = [*_METRICS.values(), *_SILOG.values(), SqRel(by="squared")]
        needs: dict[Any, None] = {statistic: None for metric in every for statistic in metric.requirements()}
        measured[key] = State.of(pairs.with_rules(**changes), [*needs, NegativeShare()])
    totals = measured[key].totals(POINT)
    printed = {name: float(totals.of(metric)[0]) for name, metric in metrics.items()}
    if way.irmse == PER_METRE:
        printed["irmse"] /= 1000
    if way.negative == RIGHT:
        sums = totals[NegativeShare()]
        negative = float(ratio(sums[:, 0], sums[:, 1])[0])
        printed |= {name: printed[name] + negative for name in _RATIOS}
    return printed


def changed_rules(pairs: DepthPairs, way: DepthConventions) -> dict[str, Any]:
    """Our rules that differ from the options."""
    rules: dict[str, Any] = {}
    if way.align != OURS:
        rules |= {"align": "median" if way.align == MEDIAN else "affine", "align_per": "image", "scale_by": 1.0}
    if way.pixels == EVERY:
        rules |= {"low": 0.0, "high": math.inf, "crop": (), "closed": False}
    elif way.pixels != OURS:
        rules["closed"] = way.pixels == CLOSED
    if way.few != OURS:
        rules["least"] = max(10, pairs.rules.least)
    if way.holes != OURS:
        rules["holes"] = way.holes
    if way.clamp != OURS:
        rules["clamp"] = way.clamp == "yes"
    return {name: value for name, value in rules.items() if value != getattr(pairs.rules, name)}


class NegativeShare(Sum):
    """The share of negative predictions among the valid pixels of each image, and whether it has valid pixels."""

    name: ClassVar[str] = "fields.negative"

    def measure(self, pairs: DepthPairs, cache: SharedCache) -> SumBlock:
        def of_image(pair: int) -> tuple[float, bool]:
            _, pixels, _ = pairs.measure(pair, np.zeros(0), sums=False)
            return (float((pixels.depth < 0).mean()), True) if len(pixels.g) else (0.0, False)

        rows = for_each(len(pairs.owner), of_image)
        return SumBlock(by_unit(pairs, np.array(rows, dtype=np.float64).reshape(-1, 2)))
