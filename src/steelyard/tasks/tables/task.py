"""Task `tables`: tables as HTML, compared as trees (TEDS) and as grids (GriTS).

Metrics
    `teds`, `teds_struct`, `grits_top`, `grits_con`, `grits_loc`, `cell_f1`, `shape`.
"""

from __future__ import annotations

from steelyard.core.metadata import Metadata
from steelyard.core.task import Policy, Task
from steelyard.tasks.tables.data import OPTIONS, PREDICTION, TRUTH, join
from steelyard.tasks.tables.metrics import METRICS

DEFAULTS = ("teds", "teds_struct", "grits_top", "grits_con", "shape")


def defaults_for(metadata: Metadata) -> tuple[str, ...]:
    """What a report shows: boxes are compared where both sides have them."""
    return (*DEFAULTS[:4], "grits_loc", "shape") if "boxes" in metadata.holds else DEFAULTS


TASK = Task(
    name="tables",
    title="Table recognition",
    unit="table",
    item="table",
    truth=TRUTH,
    prediction=PREDICTION,
    join=join,
    metrics=METRICS,
    defaults=DEFAULTS,
    defaults_for=defaults_for,
    options=OPTIONS,
    reader="tables",
    views="steelyard.tasks.tables.views",
    checks="steelyard.tasks.tables.checks",
    policy=Policy(missing="worst"),
)
