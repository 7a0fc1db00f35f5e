"""Why other tools say another Dice, HD95, NSD or ASSD: one rule at a time, on these data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from steelyard.core.errors import InputError, nearest
from steelyard.core.explanation import Explanation, Step
from steelyard.core.frozen import frozen
from steelyard.core.metric import Metric
from steelyard.core.need import Work
from steelyard.core.plan import POINT
from steelyard.core.state import State
from steelyard.metrics.volumes.cases import case_voxels
from steelyard.metrics.volumes.data import VolumePairs
from steelyard.metrics.volumes.surfaces import Hausdorff, SurfaceDice, SymmetricSurfaceDistance


@frozen
class _Tool:
    """What a tool takes a surface for, how it reads a percentile, and what a missed structure counts as."""

    version: str
    surface: str
    rule: str
    missed: str
    remark: str
    average: str = "structure"
    bare: str = "0"  # Dice of a structure that the truth lacks


TOOLS = {
    "surface-distance": _Tool("0.1", "elements", "area", "inf",
                              "HD of a structure that a side lacks is infinite there."),
    "monai": _Tool("1.6.1", "voxels", "linear", "skip", "HD95 of a structure that a side lacks is nan there and leaves "
                   "the mean (MONAI#9095). Its numbers are of single precision.", "case", "skip"),
    "medpy": _Tool("0.5.2", "voxels", "pooled", "skip", "It raises an error where a side lacks a structure."),
}  # fmt: skip


def explain(pairs: VolumePairs, names: Any) -> tuple[Explanation, ...]:
    """What each tool prints for these data, and which rule moves it."""
    for name in names:
        if name not in TOOLS:
            raise InputError(f"'{name}' cannot be explained", remedy=nearest(name, TOOLS))
    return tuple(_explained(pairs, name, TOOLS[name]) for name in names)


def _explained(pairs: VolumePairs, name: str, tool: _Tool) -> Explanation:
    plain = _numbers(pairs)
    steps = [
        Step(
            "surface", "elements", tool.surface, "Outermost voxels weigh 1 each; elements their length or area.",
            _numbers(pairs, surface=tool.surface),
        ),
        Step(
            "rule", "area", tool.rule, "By area, between ordered distances, or of both directions together.",
            _numbers(pairs, rule=tool.rule),
        ),
        Step(
            "missed", "diagonal", tool.missed, "What a structure counts as that one side lacks.",
            _numbers(pairs, missed=tool.missed),
        ),
        Step(
            "dice of an empty truth", "0", tool.bare, "Without it, what is made up costs nothing in Dice.",
            _numbers(pairs, bare=tool.bare),
        ),
        Step(
            "average", "structure", tool.average, "First over the structures of a case, then over cases.",
            _numbers(pairs, average=tool.average),
        ),
    ]  # fmt: skip
    theirs = _numbers(pairs, tool.surface, tool.rule, tool.missed, tool.average, tool.bare)
    moved = tuple(step for step in steps if step.ours != step.theirs)
    return Explanation(name, tool.version, plain, moved, theirs, (tool.remark,))


def _numbers(
    pairs: VolumePairs,
    surface: str = "elements",
    rule: str = "area",
    missed: str = "diagonal",
    average: str = "structure",
    bare: str = "0",
) -> Mapping[str, float]:
    asked: dict[str, Metric] = {
        "hd@95": Hausdorff(percentile=95, surface=surface, rule=rule, missed=missed, average=average),
        "assd": SymmetricSurfaceDistance(surface=surface, missed=missed, average=average),
        "nsd": SurfaceDice(surface=surface, average=average),
    }
    needs: dict[Any, None] = {need: None for metric in asked.values() for need in metric.needs()}
    totals = State.of(pairs, needs).totals(POINT)
    scores = {name: float(totals.of(metric)[0]) for name, metric in asked.items()}
    return {"dice": _dice(pairs, average, bare), **scores}


def _dice(pairs: VolumePairs, average: str, bare: str) -> float:
    """The mean over cases and structures that either side has, or that the truth has where `bare` is skip."""
    true, predicted, shared = np.moveaxis(case_voxels(pairs, Work()), 2, 0)
    kept = true > 0 if bare == "skip" else true + predicted > 0
    values = np.where(kept, 2 * shared / np.maximum(true + predicted, 1), 0.0)
    axis = 1 if average == "case" else 0
    count = kept.sum(axis=axis)
    means = values.sum(axis=axis)[count > 0] / count[count > 0]
    return float(means.mean()) if len(means) else float("nan")
