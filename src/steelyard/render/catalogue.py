"""The catalogue of metrics as text, Markdown and plain values. All of it comes from the classes."""

from __future__ import annotations

import dataclasses
import math
import textwrap
from collections.abc import Sequence
from typing import Any

from steelyard.core.metric import Metric, describe, spec_name
from steelyard.core.spec import render_value
from steelyard.core.task import Task
from steelyard.render.formula import plain_formula
from steelyard.render.text import ARROWS, grid, legend

_BETTER = {
    "lower": "lower is better",
    "higher": "higher is better",
    "zero": "nearer to zero is better",
    "none": "has no direction",
    "one": "nearer to one is better",
}


def list_text(tasks: Sequence[tuple[Task, Sequence[Metric]]], width: int) -> str:
    """Every metric in a line."""
    parts = []
    for task, members in tasks:
        rows = [[ARROWS[m.better], str(m), m.measured_in, _short(describe(type(m)).summary)] for m in members]
        parts.append(
            f"{task.name}: {task.title} (unit: {task.unit})\n"
            + grid(["", "metric", "in", "what it says"], rows, "llll", width, shrink=3)
        )
    directions = {metric.better for _, members in tasks for metric in members}
    return "\n\n".join(parts) + f"\n{legend(directions)}\n\nsteelyard metrics SPEC explains one."


def task_text(task: Task, default: Sequence[Metric], others: Sequence[Metric], width: int) -> str:
    """The metrics of one task: those that a report shows by default, and what else can be asked for."""
    rows = [[ARROWS[m.better], str(m), m.label, m.measured_in] for m in (*default, *others)]
    lines = grid(["", "metric", "name", "in"], rows, "llll", width, shrink=2).split("\n")
    shown, more = lines[: 2 + len(default)], lines[2 + len(default) :]
    parts = [f"{task.name}: {task.title} (unit: {task.unit})", *shown]
    if more:
        parts += ["", "Not in a report unless named by -m:", *more]
    parts += [legend({metric.better for metric in (*default, *others)}), ""]
    return "\n".join([*parts, f"'steelyard metrics {task.name} NAME' explains one, with formula and settings."])


def metric_text(metric: Metric, tasks: Sequence[str], width: int) -> str:
    """One metric: formula, meaning, range, direction, when it is undefined, what it is good and bad at."""
    about = describe(type(metric))
    lines = [f"{metric}  —  {metric.label}", "", *_wrap(about.summary, width), ""]
    lines += [f"    {plain_formula(part)}" for part in about.formula.split("\n") if part] + [""]
    for paragraph in filter(None, about.meaning.split("\n\n")):
        lines += [*_wrap(paragraph, width), ""]
    facts = [
        ("task", ", ".join(tasks)),
        ("range", range_text(metric)),
        ("direction", _BETTER[metric.better]),
        ("in", metric.measured_in or "a plain number"),
        ("undefined", about.undefined),
        ("settings", settings_text(metric)),
        ("checked with", metric.reference or "hand-calculated values"),
    ]
    for name, value in facts:
        lines += textwrap.wrap(
            value,
            width,
            initial_indent=f"{name + ':':<14}",
            subsequent_indent=" " * 14,
            break_on_hyphens=False,
        )
    for name, items in (("good for", about.pros), ("beware", about.cons)):
        if items:
            lines += ["", f"{name}:"]
            for item in items:
                lines += textwrap.wrap(item, width, initial_indent="• ", subsequent_indent="  ")
    return "\n".join(lines)


def metric_dict(metric: Metric, task: str) -> dict[str, Any]:
    """One metric as plain values."""
    about = describe(type(metric))
    low, high = metric.range
    return {
        "metric": str(metric),
        "task": task,
        "label": metric.label,
        "summary": about.summary,
        "formula": about.formula,
        "meaning": about.meaning,
        "range": [low if math.isfinite(low) else None, high if math.isfinite(high) else None],
        "better": metric.better,
        "measured_in": metric.measured_in or None,
        "undefined": about.undefined,
        "settings": {spec_name(f): render_value(getattr(metric, f.name)) for f in dataclasses.fields(metric)},
        "reference": metric.reference or None,
        "pros": list(about.pros),
        "cons": list(about.cons),
    }


def range_text(metric: Metric) -> str:
    """From where to where the value can be."""
    low, high = (("−∞" if v < 0 else "∞") if math.isinf(v) else f"{v:g}".replace("-", "−") for v in metric.range)
    return f"{low} to {high}"


def settings_text(metric: Metric) -> str:
    """The settings with their values here."""
    parts = []
    for field in dataclasses.fields(metric):
        behind = "behind @, " if field.name == metric.at else ""
        parts.append(f"{spec_name(field)} ({behind}here {render_value(getattr(metric, field.name))})")
    return ", ".join(parts) or "none"


def _short(summary: str) -> str:
    """A summary without the name that it begins with: the list shows the name beside it."""
    _, colon, rest = summary.partition(": ")
    return (rest if colon else summary).rstrip(".")


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False)
