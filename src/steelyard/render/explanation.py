"""Why another tool says another number: a table of one setting at a time, for text, Markdown and pages."""

from __future__ import annotations

import math
import re

from steelyard.core.explanation import Explanation
from steelyard.core.figure import Figure

LEAST = 5e-7  # smaller differences are not worth a line


def heading_of(explanation: Explanation) -> str:
    """What the table says."""
    return f"What {explanation.tool} {explanation.version} prints for these data, and why"


def table_of(explanation: Explanation) -> tuple[list[str], list[list[str]]]:
    """Header and rows: our numbers, what each setting alone adds, theirs."""
    names = list(explanation.ours)
    rows = [["Steelyard", *(value_shown(explanation.ours[n]) for n in names)]]
    for step in explanation.steps:
        rows.append([step.setting, *(difference_shown(step.values[n], explanation.ours[n]) for n in names)])
    if len(explanation.steps) > 1:
        together = [difference_shown(explanation.theirs[n], explanation.ours[n]) for n in names]
        rows.append(["all of them together", *together])
    rows.append([f"{explanation.tool} {explanation.version}", *(value_shown(explanation.theirs[n]) for n in names)])
    return ["", *(name.removeprefix("map_") for name in names)], rows


def waterfall_of(explanation: Explanation) -> Figure | None:
    """From the tool's number to ours in the first metric that differs, a bar per setting; None where none differs.

    A bar is what its setting does alone; what is left of the whole difference is what settings do together.
    """
    for name, ours in explanation.ours.items():
        theirs = explanation.theirs[name]
        if math.isfinite(ours) and math.isfinite(theirs) and _moves(theirs, ours):
            break
    else:
        return None
    changes = [
        (step.setting, ours - step.values[name]) for step in explanation.steps if math.isfinite(step.values[name])
    ]
    changes = [(setting, change) for setting, change in changes if abs(change) > LEAST]
    left = ours - theirs - sum(change for _, change in changes)
    if abs(left) > LEAST:
        changes.append(("settings together", left))
    tool = f"{explanation.tool} {explanation.version}"
    names, start, end = [tool], [theirs], [theirs]
    texts = [value_shown(theirs)]
    for setting, change in changes:
        names.append(setting)
        start.append(end[-1])
        end.append(end[-1] + change)
        texts.append(difference_shown(change, 0.0))
    columns = {"name": [*names, "Steelyard"], "start": [*start, ours], "end": [*end, ours]}
    return Figure(
        f"explain_{re.sub(r'[^a-z0-9]+', '_', explanation.tool.lower())}",
        "waterfall",
        f"{name}: from {explanation.tool} to Steelyard",
        {**columns, "text": [*texts, value_shown(ours)]},
        {"x": name},
        f"Each bar is what one setting of {explanation.tool} does to {name} alone, taken back."
        + (" The last bar is what settings do together." if abs(left) > LEAST else ""),
    )


def remarks_on(explanation: Explanation) -> list[str]:
    """What each setting is and why it differs; only those that move a number, unless none does."""
    moving = [
        step
        for step in explanation.steps
        if any(_moves(step.values[name], explanation.ours[name]) for name in explanation.ours)
    ]
    lines = [f"{step.setting}: {step.theirs}, here {step.ours}. {step.reason}" for step in moving]
    idle = [f"{step.setting} ({step.theirs})" for step in explanation.steps if step not in moving]
    if idle:
        lines.append(f"No effect on these data: {', '.join(idle)}.")
    return [*lines, *explanation.remarks]


def value_shown(value: float) -> str:
    """A number with five digits, enough to see what a grid in single precision moves."""
    return "undefined" if math.isnan(value) else f"{value:.5f}"


def difference_shown(value: float, base: float) -> str:
    """What was added; `=` for nothing at all."""
    if math.isnan(value) and math.isnan(base):
        return "="
    if math.isnan(value) or math.isnan(base):
        return value_shown(value)
    if not _moves(value, base):
        return "="
    text = f"{value - base:+.5f}".replace("-", "−")
    return text if text.strip("+−0.") else f"{value - base:+.0e}".replace("-", "−", 1)


def _moves(value: float, base: float) -> bool:
    if math.isnan(value) or math.isnan(base):
        return math.isnan(value) != math.isnan(base)
    return abs(value - base) > LEAST
