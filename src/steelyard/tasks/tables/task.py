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
OF_PRESET = {
    "pubtabnet": ("teds(rules=pubtabnet)", "teds_struct(rules=pubtabnet)"),
    "omnidocbench": ("teds(rules=omnidocbench)", "teds_struct(rules=omnidocbench)"),
    "microsoft": ("grits_top(rules=microsoft)", "grits_con(rules=microsoft, text=difflib)"),
}


def defaults_for(metadata: Metadata) -> tuple[str, ...]:
    """What a report shows: the metrics of the preset, and boxes where both sides have them."""
    preset, boxes = str(metadata.flags.get("preset", "none")), "boxes" in metadata.holds
    if preset in OF_PRESET:
        return (*OF_PRESET[preset], "grits_loc") if boxes and preset == "microsoft" else OF_PRESET[preset]
    return (*DEFAULTS[:4], "grits_loc", "shape") if boxes else DEFAULTS


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
