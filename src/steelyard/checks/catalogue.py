"""Every check of every task, by an explicit list, and the table of them that the documentation shows."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from steelyard.checks.check import Check

# One line a task: the module that holds its CHECKS. A module is imported when its task is checked.
MODULES = {
    "weights": "steelyard.checks.weights",
    "sequences": "steelyard.checks.sequences",
    "boxes": "steelyard.checks.catalogue_boxes",
    "masks": "steelyard.checks.masks",
    "keypoints": "steelyard.checks.keypoints",
    "losses": "steelyard.checks.losses",
    "ellipses": "steelyard.checks.ellipses",
    "labels": "steelyard.checks.labels",
    "rankings": "steelyard.checks.rankings",
    "captions": "steelyard.checks.captions",
}
ALL = (
    Check("unreadable", "error", "either", "evaluation refuses the data"),
    Check("refused", "error", "either", "both sides can be read, and evaluation refuses them together"),
    Check("missing", "warning", "predictions", "truth without a prediction: refused, or counted as the policy says"),
    Check("extra", "warning", "predictions", "predictions without truth: refused, or left out"),
    Check("no-predictions", "error", "predictions", "there is nothing to score"),
)


def checks_of(task: str) -> Sequence[Check]:
    """The checks of a task."""
    found: Sequence[Check] = import_module(MODULES[task]).CHECKS
    return found


def tables() -> str:
    """Markdown: what is looked for, task by task."""
    parts = ["### Every task", _table(ALL)]
    for task in MODULES:
        title = f"### {task}"
        if task in ("masks", "keypoints"):
            title += "\n\nWhat is looked for in boxes (all but other readings of the coordinates), and:"
        parts += [title, _table(checks_of(task))]
    return "\n\n".join(parts) + "\n"


def _table(checks: Sequence[Check]) -> str:
    rows = ["| finding | severity | in | what it does to a number | `evaluate` |", "|---|---|---|---|---|"]
    rows += [f"| `{c.name}` | {c.severity} | {c.side} | {c.effect} | {'notes it' if c.quick else ''} |" for c in checks]
    return "\n".join(rows)
