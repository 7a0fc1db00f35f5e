"""Every check of every task, and the table of them that the documentation shows.

`Task.checks` names a module with the task's `CHECKS`. It may have three functions, too: `run(task, truth, predictions,
columns, options)` makes the whole report of a check, for data that are looked at before they can be read; `look(task,
truth, prediction, options)` gives more findings, in place of those about coverage; `quick(task, pairs)` gives what
evaluation is to say of its own accord, beside the quick ones of `CHECKS`. A module of those is imported when its task
is checked. A task without one has its ids looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType

from steelyard.checks import plain
from steelyard.checks.check import Check
from steelyard.core.task import Task

ALL = (
    Check("unreadable", "error", "either", "evaluation refuses the data"),
    Check("refused", "error", "either", "both sides can be read, and evaluation refuses them together"),
    Check("missing", "warning", "predictions", "truth without a prediction: refused, or counted as the policy says"),
    Check("extra", "warning", "predictions", "predictions without truth: refused, or left out"),
    Check("no-predictions", "error", "predictions", "there is nothing to score"),
)


def module_of(task: Task) -> ModuleType:
    """The module of a task's checks."""
    return import_module(task.checks) if task.checks else plain


def checks_of(task: Task) -> Sequence[Check]:
    """The checks of a task."""
    checks: Sequence[Check] = module_of(task).CHECKS
    return checks


def tables(tasks: Mapping[str, Task]) -> str:
    """Markdown: what is looked for, task by task."""
    parts = ["### Every task", _table(ALL)]
    for name, task in tasks.items():
        also = getattr(module_of(task), "ALSO", "")
        parts += [f"### {name}" + (f"\n\n{also}" if also else ""), _table(checks_of(task))]
    return "\n\n".join(parts) + "\n"


def _table(checks: Sequence[Check]) -> str:
    rows = ["| finding | severity | in | what it does to a number | `evaluate` |", "|---|---|---|---|---|"]
    rows += [f"| `{c.name}` | {c.severity} | {c.side} | {c.effect} | {'notes it' if c.quick else ''} |" for c in checks]
    return "\n".join(rows)
