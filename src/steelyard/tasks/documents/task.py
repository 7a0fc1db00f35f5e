"""Task `documents`: pages turned into Markdown, HTML or blocks, against a truth of blocks in reading order."""

from __future__ import annotations

from steelyard.core.metadata import Metadata
from steelyard.core.task import Policy, Task
from steelyard.tasks.documents.data import OPTIONS, PREDICTION, TRUTH, join
from steelyard.tasks.documents.metrics import METRICS

DEFAULTS = ("text_edit", "missing", "surplus", "order_edit", "table_teds", "table_teds_struct")


OMNIDOCBENCH = {  # its figures of 1.6.0, with what the pages must hold for each
    "text_edit(norm=omnidocbench, surplus=free)": "",
    "text_edit(norm=omnidocbench, average=whole, surplus=free)": "",
    "text_edit(norm=omnidocbench, average=block, surplus=free)": "",
    "order_edit(norm=omnidocbench, order=first_table_lost)": "order",
    "table_teds(surplus=free, rules=omnidocbench)": "tables",
    "table_teds(surplus=free, average=table, rules=omnidocbench)": "tables",
    "table_teds_struct(surplus=free, rules=omnidocbench)": "tables",
    "formula_edit(norm=omnidocbench, surplus=free)": "formulas",
    "overall": "cdm",
}


def defaults_for(metadata: Metadata) -> tuple[str, ...]:
    """What a report shows, by what the pages hold and the preset."""
    needed = {"order_edit": "order", "table_teds": "tables", "table_teds_struct": "tables"}
    chosen = {name: needed.get(name, "") for name in (*DEFAULTS, "overall" if "cdm" in metadata.holds else "")}
    if "omnidocbench" in metadata.holds:
        chosen = OMNIDOCBENCH
    return tuple(name for name, need in chosen.items() if name and need in {"", *metadata.holds})


TASK = Task(
    name="documents",
    title="Document parsing",
    unit="page",
    item="block",
    truth=TRUTH,
    prediction=PREDICTION,
    join=join,
    metrics=METRICS,
    defaults=DEFAULTS,
    defaults_for=defaults_for,
    options=OPTIONS,
    reader="documents",
    views="steelyard.tasks.documents.views",
    checks="steelyard.tasks.documents.checks",
    policy=Policy(missing="worst"),
)
