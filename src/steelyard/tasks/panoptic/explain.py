"""Why other tools say another panoptic quality of the same segments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from steelyard.core.explanation import Explanation, Step
from steelyard.core.plan import POINT
from steelyard.core.state import State
from steelyard.tasks.panoptic.data import PanopticPairs
from steelyard.tasks.panoptic.quality import PanopticQuality, Quality, RecognitionQuality, SegmentationQuality
from steelyard.tasks.shared.tools import find_tools

TOOLS = {"panopticapi": "7bb46555", "hotcoco": "1.3.0"}
_QUALITIES: tuple[type[Quality], ...] = (PanopticQuality, SegmentationQuality, RecognitionQuality)
_KINDS = ("all", "things", "stuff")


def explain(pairs: PanopticPairs, names: Any) -> tuple[Explanation, ...]:
    """What each tool prints for these data, and which rule moves it."""
    return tuple(_explained(pairs, name) for name in find_tools(names, TOOLS))


def _explained(pairs: PanopticPairs, name: str) -> Explanation:
    plain, last = _numbers(pairs), replace(pairs, crowds="last")
    last.__dict__["shared"] = pairs.shared  # what was counted, so that no map is read again
    theirs = _numbers(last)
    step = Step(
        "crowds", pairs.crowds, "last", "Of several crowds of a class in an image, it keeps the last alone.", theirs
    )
    remarks = (
        "The areas of true segments are those of the JSON there, even where the map has others; here that is an error.",
        "A prediction of an image that the truth does not have is left out there without a word.",
        "Where no class is a thing, or none is stuff, panopticapi ends with ZeroDivisionError, and hotcoco says −1.",
    )
    return Explanation(name, TOOLS[name], plain, (step,) if pairs.crowds == "all" else (), theirs, remarks)


def _numbers(pairs: PanopticPairs) -> Mapping[str, float]:
    """The three qualities of all classes, of things and of stuff."""
    metrics = [quality(of=kind) for kind in _KINDS for quality in _QUALITIES]
    needs: dict[Any, None] = {statistic: None for metric in metrics for statistic in metric.needs()}
    totals = State.of(pairs, needs).totals(POINT)
    return {str(metric): float(totals.of(metric)[0]) for metric in metrics}
