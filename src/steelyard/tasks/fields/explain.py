"""Why other tools print other numbers for the same fields: averages, the rule of outliers, and missing estimates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from functools import partial
from typing import Any

from steelyard.core.explanation import Explanation
from steelyard.core.frozen import Frozen
from steelyard.core.plan import POINT
from steelyard.core.state import State
from steelyard.tasks.fields.errors import DENOMINATOR, EMPTY, Average, ErrorPairs, FieldSum, Rule
from steelyard.tasks.fields.metrics import D1, Bad, EndPointError, FieldMetric, Fl, Wauc
from steelyard.tasks.shared.tools import Tool, explain_tool, find_tools

OURS = "as the options and the preset say"
BY_IMAGE, ALL_BY_IMAGE = "epe by image, outliers by pixel", "by image"
DIVIDED, ABOVE_3 = "E / m in single precision", "above 3 px alone"
FILLED, NAN = "filled from their rows", "nan in epe, right among outliers"
NAN_IMAGE, ZERO_IMAGE = "nan", "a value of 0"


class FieldConventions(Frozen):
    """How errors are averaged and which pixels count. The defaults are ours."""

    average: str = field(default=OURS, metadata={"title": "average"})
    outlier: str = field(default=OURS, metadata={"title": "outliers"})
    holes: str = field(default=OURS, metadata={"title": "pixels without an estimate"})
    empty: str = field(default="left out", metadata={"title": "images without a valid pixel"})


_KITTI = FieldConventions(average="by pixel", outlier=DIVIDED, holes=FILLED)
_KITTI_REASONS = {
    "average": "The pixels of all images together.",
    "outlier": "An error of exactly 5 % of the truth is an outlier there.",
    "holes": "A gap takes the smaller of its two ends.",
}
_RAFT_REASONS = {
    "average": "The end-point error is a mean over images, and outliers are counted over all pixels.",
    "holes": "A comparison with nan is false, so that the pixel is not an outlier.",
    "empty": "The mean of no pixels is nan, and so is the mean over images.",
}
FLOW_TOOLS = {
    tool.name: tool
    for tool in (
        Tool("kitti", "devkit_scene_flow, fbde50fb", _KITTI, _KITTI_REASONS, ("fl",)),
        Tool(
            "raft",
            "2888e15a, validate_kitti",
            FieldConventions(average=BY_IMAGE, holes=NAN, empty=NAN_IMAGE),
            _RAFT_REASONS,
            ("epe", "fl"),
            ("It prints Fl in percent, as kitti-f1.",),
        ),
        Tool(
            "ptlflow",
            "e9cf9bce",
            FieldConventions(average=ALL_BY_IMAGE, empty=ZERO_IMAGE),
            {
                "average": "All of its numbers are means over images.",
                "empty": "They lower the end-point error.",
            },
            ("epe", "fl", "px1", "px3", "px5", "wauc"),
            ("px1, px3 and px5 are shares of inliers: 1 - bad. It prints Fl and WAUC in percent.",),
        ),
    )
}
DISPARITY_TOOLS = {
    tool.name: tool
    for tool in (
        Tool("kitti", "devkit_scene_flow, fbde50fb", _KITTI, _KITTI_REASONS, ("d1",)),
        Tool(
            "raft",
            "RAFT-Stereo 6068c1a2, validate_kitti",
            FieldConventions(average=BY_IMAGE, outlier=ABOVE_3, holes=NAN, empty=NAN_IMAGE),
            {**_RAFT_REASONS, "outlier": "What it prints as D1 lacks the 5 %, so that it is larger."},
            ("epe", "d1"),
            ("It prints D1 in percent.",),
        ),
    )
}


def explain(pairs: ErrorPairs, tools: Iterable[str]) -> tuple[Explanation, ...]:
    """The numbers of other tools on these fields, and what each of their settings does."""
    named = find_tools(tools, FLOW_TOOLS if pairs.channels == 2 else DISPARITY_TOOLS)
    return tuple(explain_tool(tool, partial(values, pairs)) for tool in named.values())


def values(pairs: ErrorPairs, way: FieldConventions) -> dict[str, float]:
    """What a tool prints, under the names of our metrics."""
    holes = {FILLED: "fill", NAN: "good"}.get(way.holes, pairs.holes)
    averages: dict[str, tuple[Average, Average]] = {
        "by pixel": ("pixel", "pixel"),
        BY_IMAGE: ("image", "pixel"),
        ALL_BY_IMAGE: ("image", "image"),
    }
    first, other = averages.get(way.average, ("", ""))
    rule: Rule = "kitti" if way.outlier == DIVIDED else ""
    outliers: FieldMetric = Fl(average=other, rule=rule) if pairs.channels == 2 else D1(average=other, rule=rule)
    if way.outlier == ABOVE_3:
        outliers = Bad(threshold=3.0, average=other)
    metrics: dict[str, FieldMetric] = {"epe": EndPointError(average=first), "wauc": Wauc(average=other)}
    metrics["fl" if pairs.channels == 2 else "d1"] = outliers
    metrics |= {f"px{limit}": Bad(threshold=float(limit), average=other) for limit in (1, 3, 5)}
    return _reduce(replace(pairs, holes=holes), metrics, way)


def _reduce(pairs: ErrorPairs, metrics: Mapping[str, FieldMetric], way: FieldConventions) -> dict[str, float]:
    """The values of metrics, with the tool's own rules of missing estimates and empty images."""
    density = FieldSum("density", average="pixel")
    needs: dict[Any, None] = {statistic: None for metric in metrics.values() for statistic in metric.requirements()}
    totals = State.of(pairs, needs).totals(POINT)
    estimated, valid = totals[density][0, :2].tolist()
    printed = {}
    for name, metric in metrics.items():
        sums = totals[metric.statistic()][0]
        value = float(totals.of(metric)[0])
        value = 1 - value if name.startswith("px") else value
        by_image = metric.is_by_image(totals.metadata)
        if way.empty == ZERO_IMAGE and by_image and sums[DENOMINATOR]:
            value *= float(sums[DENOMINATOR] / (sums[DENOMINATOR] + sums[EMPTY]))
        if name == "epe" and (
            (way.holes == NAN and estimated < valid) or (way.empty == NAN_IMAGE and by_image and sums[EMPTY])
        ):
            value = math.nan
        printed[name] = value
    return printed
