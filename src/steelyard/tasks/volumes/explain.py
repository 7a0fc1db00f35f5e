"""Why other tools say another Dice, HD95, NSD or ASSD: one rule at a time, on these data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import partial
from typing import Any

import numpy as np

from steelyard.core.explanation import Explanation
from steelyard.core.frozen import frozen
from steelyard.core.metric import Metric
from steelyard.core.plan import POINT
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache
from steelyard.tasks.shared.tools import Tool, explained, find_tools
from steelyard.tasks.volumes.cases import case_voxels
from steelyard.tasks.volumes.data import VolumePairs
from steelyard.tasks.volumes.surfaces import Hausdorff, SurfaceDice, SymmetricSurfaceDistance

NAMES = ("dice", "hd@95", "assd", "nsd")


@frozen
class VolumeConventions:
    """What is a surface, how a percentile is read, and what a structure counts as that a side lacks."""

    surface: str = field(default="elements", metadata={"title": "surface"})
    rule: str = field(default="area", metadata={"title": "rule"})
    missed: str = field(default="diagonal", metadata={"title": "missed"})
    bare: str = field(default="0", metadata={"title": "dice of an empty truth"})
    average: str = field(default="structure", metadata={"title": "average"})


WHY = {
    "surface": "Outermost voxels weigh 1 each; elements their length or area.",
    "rule": "By area, between ordered distances, or of both directions together.",
    "missed": "What a structure counts as that one side lacks.",
    "bare": "Without it, what is made up costs nothing in Dice.",
    "average": "First over the structures of a case, then over cases.",
}
TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            "surface-distance", "0.1", VolumeConventions(missed="inf"), WHY, NAMES,
            ("HD of a structure that a side lacks is infinite there.",),
        ),
        Tool(
            "monai", "1.6.1", VolumeConventions("voxels", "linear", "skip", bare="skip", average="case"), WHY, NAMES,
            (
                "HD95 of a structure that a side lacks is nan there and leaves the mean (MONAI#9095). Its numbers are "
                "of single precision.",
            ),
        ),
        Tool(
            "medpy", "0.5.2", VolumeConventions("voxels", "pooled", "skip"), WHY, NAMES,
            ("It raises an error where a side lacks a structure.",),
        ),
    )
}  # fmt: skip


def explain(pairs: VolumePairs, names: Any) -> tuple[Explanation, ...]:
    """What each tool prints for these data, and which rule moves it."""
    return tuple(explained(tool, partial(_numbers, pairs)) for tool in find_tools(names, TOOLS).values())


def _numbers(pairs: VolumePairs, conventions: VolumeConventions) -> Mapping[str, float]:
    surface, missed, average = conventions.surface, conventions.missed, conventions.average
    asked: dict[str, Metric] = {
        "hd@95": Hausdorff(percentile=95, surface=surface, rule=conventions.rule, missed=missed, average=average),
        "assd": SymmetricSurfaceDistance(surface=surface, missed=missed, average=average),
        "nsd": SurfaceDice(surface=surface, average=average),
    }
    needs: dict[Any, None] = {statistic: None for metric in asked.values() for statistic in metric.needs()}
    totals = State.of(pairs, needs).totals(POINT)
    scores = {name: float(totals.of(metric)[0]) for name, metric in asked.items()}
    return {"dice": _dice(pairs, average, conventions.bare), **scores}


def _dice(pairs: VolumePairs, average: str, bare: str) -> float:
    """The mean over cases and structures that either side has, or that the truth has where `bare` is skip."""
    true, predicted, shared = np.moveaxis(case_voxels(pairs, SharedCache()), 2, 0)
    kept = true > 0 if bare == "skip" else true + predicted > 0
    values = np.where(kept, 2 * shared / np.maximum(true + predicted, 1), 0.0)
    axis = 1 if average == "case" else 0
    count = kept.sum(axis=axis)
    means = values.sum(axis=axis)[count > 0] / count[count > 0]
    return float(means.mean()) if len(means) else float("nan")
