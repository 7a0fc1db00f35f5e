"""Why other tables of KITTI say other numbers: recalls, overlap and view, one at a time, on these data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from steelyard.core.explanation import Explanation, Step
from steelyard.core.plan import POINT
from steelyard.core.state import State
from steelyard.tasks.boxes3d.kitti import KittiAp
from steelyard.tasks.boxes3d.pairs import SolidPairs
from steelyard.tasks.shared.tools import find_tools

TOOLS = {"kitti-2017": "2017", "openpcdet": "0.6"}


def explain(pairs: SolidPairs, names: Any) -> tuple[Explanation, ...]:
    """What each table says for these data, and which rule moves it."""
    return tuple(_explained(pairs, name) for name in find_tools(names, TOOLS))


def _values(pairs: SolidPairs, metric: KittiAp) -> Mapping[str, float]:
    """One number by class, in space and at the level moderate where the metric does not say otherwise."""
    totals = State.of(pairs, [metric.events]).totals(POINT)
    labels = pairs.facts.axes["class"].shown
    return {label: float(totals.of(replace(metric, only=label))[0]) for label in labels}


def _explained(pairs: SolidPairs, tool: str) -> Explanation:
    view = "3d" if "place" in pairs.facts.holds else "bbox"
    level = "moderate" if "levels" in pairs.facts.holds else "all"
    plain = _values(pairs, KittiAp(view=view, level=level))
    eleven = _values(pairs, KittiAp(view=view, level=level, positions=11))
    steps = [
        Step(
            "recalls", "40, without recall 0 (R40)", "11, with recall 0 (R11)",
            "One match of high score is enough for the place at recall 0, a whole 9.09 points.", eleven,
        ),
    ]  # fmt: skip
    if tool == "openpcdet" and view == "3d":
        steps.append(
            Step(
                "overlap", "Car 0.7, others 0.5", "Car 0.5, others 0.25 in its second block",
                "The block headed 0.70, 0.50, 0.50 asks 0.7 in the image alone.",
                _values(pairs, KittiAp(view=view, level=level, overlap="loose")),
            )
        )  # fmt: skip
    if view == "3d":
        steps.append(
            Step(
                "view: ground", "space (3d)", "the ground (bev)", "Heights do not matter there.",
                _values(pairs, KittiAp(view="bev", level=level)),
            )
        )  # fmt: skip
        if "image" in pairs.facts.holds:
            steps.append(
                Step(
                    "view: image", "space (3d)", "the image (2D, bbox)", "A place in space is not asked for.",
                    _values(pairs, KittiAp(view="bbox", level=level)),
                )
            )  # fmt: skip
    remarks = {
        "kitti-2017": "KITTI's own table took 11 recalls until October 2019, and 40 since.",
        "openpcdet": "It prints R11 first (headed AP), then R40 (headed AP_R40), each for two sets of overlaps.",
    }
    return Explanation(
        tool, TOOLS[tool], plain, tuple(steps), eleven,
        (remarks[tool], f"Values are of level {level}, in percent, by class; each step changes one rule alone."),
    )  # fmt: skip
