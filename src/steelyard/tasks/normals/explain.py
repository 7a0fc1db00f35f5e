"""Why other tools print other numbers for the same normals: averages over pixels or images."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from functools import partial
from typing import Any, Literal

from steelyard.core.explanation import Explanation
from steelyard.core.frozen import Frozen
from steelyard.core.plan import POINT
from steelyard.core.state import State
from steelyard.tasks.normals.data import NormalPairs
from steelyard.tasks.normals.metrics import AngleRmse, MeanAngle, MedianAngle, NormalMetric, WithinAngle
from steelyard.tasks.shared.tools import Tool, explain_tool, find_tools

BY_PIXEL, BY_IMAGE = "over all pixels", "mean of images"


class NormalConventions(Frozen):
    """How angles are averaged. The default is ours."""

    average: str = field(default="as the preset says", metadata={"title": "average"})


LIMITS = (5.0, 7.5, 11.25, 22.5, 30.0)
PRINTED = ("angle", "angle_median", "angle_rmse", *(f"within@{limit:g}" for limit in LIMITS))
_SINGLE = "Its angles are an arc cosine in single precision: equal normals get up to 0.02°, and 0.01° becomes 0."
TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            "dsine",
            "test.py",
            NormalConventions(BY_PIXEL),
            {"average": "The pixels of all images together."},
            PRINTED,
            (_SINGLE, "It prints shares in percent."),
        ),
        Tool(
            "marigold",
            "b1dffaaa",
            NormalConventions(BY_IMAGE),
            {"average": "The figure of each image, rounded to four places, then the mean."},
            PRINTED,
            (_SINGLE, "It prints shares in percent."),
        ),
    )
}


def explain(pairs: NormalPairs, names: Iterable[str]) -> tuple[Explanation, ...]:
    """What each tool prints for these maps."""
    return tuple(explain_tool(tool, partial(values, pairs)) for tool in find_tools(names, TOOLS).values())


def values(pairs: NormalPairs, way: NormalConventions) -> dict[str, float]:
    """What a tool prints, under the names of our metrics."""
    chosen: dict[str, Literal["pixel", "image"]] = {BY_PIXEL: "pixel", BY_IMAGE: "image"}
    average = chosen.get(way.average, "image" if pairs.average == "image" else "pixel")
    figures = (MeanAngle, MedianAngle, AngleRmse)
    metrics: list[NormalMetric] = [figure(average=average) for figure in figures]
    metrics += [WithinAngle(limit=limit, average=average) for limit in LIMITS]
    needs: dict[Any, None] = {statistic: None for metric in metrics for statistic in metric.requirements()}
    totals = State.of(pairs, needs).totals(POINT)
    return {name: float(totals.of(metric)[0]) for name, metric in zip(PRINTED, metrics, strict=True)}
