"""Task `tracking`: objects followed through videos. Data: `data`, `pairs`; sums: `statistics`.

Metrics
    `hota` and its parts (`deta`, `assa`, `detre`, `detpr`, `assre`, `asspr`, `loca`), what association loses
    (`assa_loss`); `mota`, `motp`, `smota` and the counts of CLEAR; `idf1`, `idp`, `idr`.
"""

from __future__ import annotations

from steelyard.core.task import Task
from steelyard.tasks.tracking.clear import CLEAR_METRICS, COUNT_METRICS
from steelyard.tasks.tracking.data import OPTIONS, PREDICTION, TRUTH
from steelyard.tasks.tracking.hota import HOTA_METRICS
from steelyard.tasks.tracking.pairs import join

TASK = Task(
    name="tracking",
    title="Objects followed through videos",
    unit="sequence",
    item="box",
    truth=TRUTH,
    prediction=PREDICTION,
    join=join,
    metrics=(*HOTA_METRICS, *CLEAR_METRICS, *COUNT_METRICS),
    defaults=(
        "hota", "deta", "assa", "detre", "detpr", "assre", "asspr", "loca",
        "mota", "motp", "smota", "idf1", "idp", "idr",
        "idsw", "fragments", "fp", "fn", "mt", "pt", "ml",
        "hota_sequence",
    ),
    options=OPTIONS,
    reader="tracking",
    views="steelyard.tasks.tracking.views",
    checks="steelyard.tasks.tracking.checks",
)  # fmt: skip
