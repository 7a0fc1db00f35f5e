"""Task `documents`: pages turned into Markdown, HTML or blocks, against a truth of blocks in reading order."""

from __future__ import annotations

from steelyard.core.metadata import Metadata
from steelyard.core.task import Policy, Task
from steelyard.tasks.documents.data import OPTIONS, PREDICTION, TRUTH, join
from steelyard.tasks.documents.metrics import METRICS

DEFAULTS = ("text_edit", "missing", "surplus", "order_edit", "table_teds", "table_teds_struct")


def defaults_for(metadata: Metadata) -> tuple[str, ...]:
    """What a report shows, by what the pages hold."""
    needed = {"order_edit": "order", "table_teds": "tables", "table_teds_struct": "tables"}
    return tuple(name for name in DEFAULTS if needed.get(name, "") in {"", *metadata.holds})


TASK = Task(
    name="documents",
    title="Parsed pages of documents",
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
    policy=Policy(missing="worst"),
)
