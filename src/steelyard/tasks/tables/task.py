"""Task `tables`: tables as HTML, compared as trees (TEDS) and as grids (GriTS).

Metrics
    `teds`, `teds_struct`, `grits_top`, `grits_con`, `grits_loc`, `cell_f1`, `shape`.
"""

from __future__ import annotations

from steelyard.core.task import Policy, Task
from steelyard.tasks.tables.data import OPTIONS, PREDICTION, TRUTH, join
from steelyard.tasks.tables.metrics import METRICS

TASK = Task(
    name="tables",
    title="Tables as HTML",
    unit="table",
    item="table",
    truth=TRUTH,
    prediction=PREDICTION,
    join=join,
    metrics=METRICS,
    defaults=("teds", "teds_struct", "grits_top", "grits_con", "shape"),
    options=OPTIONS,
    policy=Policy(missing="worst"),
)
