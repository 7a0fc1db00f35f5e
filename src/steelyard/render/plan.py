"""A plan as a table for a terminal: a row per metric, a column per size of test set."""

from __future__ import annotations

from typing import Any

from steelyard.core.counts import count_text
from steelyard.render.text import grid
from steelyard.render.verdicts import size_text


def plan_text(plan: Any) -> str:
    """The smallest difference that each size shows, then the units that each target needs."""
    sizes = [n for n, _, _ in plan.metrics[0].curve]
    header = ["metric", *(f"{n:,}" for n in sizes)]
    rows = [
        [f"{one.spec} {one.measured_in}".strip(), *(size_text(shown) for _, shown, _ in one.curve)]
        for one in plan.metrics
    ]
    top = (
        f"From a pilot of {count_text(plan.units, plan.unit)}: the smallest difference shown with "
        f"{100 * plan.power:g} % power,\nby number of units, one test at a time"
    )
    lines = [top, "", grid(header, rows, "l" + "r" * len(sizes), 80)]
    for one in plan.metrics:
        if one.needed is not None:
            lines.append(
                f"{one.spec} of {one.target:g}: about {one.needed.units:,} units; plan for {one.needed.cautious:,}."
            )
    return "\n".join(lines)
