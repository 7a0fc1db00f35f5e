"""Task `volumes`: masks of structures, in two or three dimensions, case by case.

Conventions
    The unit is the case. Labels are whole numbers, 0 is background; a structure is a label, or a region (a union of
    labels). Distances are in mm, by the spacing of the file. A structure that neither side has is left out and counted;
    one that a side lacks scores 0, and its distances are the diagonal of the volume: finding nothing looks no better.

Metrics
    `dice` and its family; `hd@95`, `asd`, `assd`, `masd` and `nsd` by either definition of a surface; volumes; lesions.
"""

from __future__ import annotations

from steelyard.core.task import Task
from steelyard.tasks.volumes.data import OPTIONS, PREDICTION, TRUTH, join
from steelyard.tasks.volumes.metrics import LESION_METRICS, OVERLAP_METRICS
from steelyard.tasks.volumes.surfaces import SURFACE_METRICS

TASK = Task(
    name="volumes",
    title="Segmentation of volumes",
    unit="case",
    item="volume",
    truth=TRUTH,
    prediction=PREDICTION,
    join=join,
    metrics=(*OVERLAP_METRICS, *SURFACE_METRICS, *LESION_METRICS),
    defaults=("dice", "iou", "hd@95", "assd", "nsd", "volume_error"),
    options=OPTIONS,
    reader="volumes",
    views="steelyard.tasks.volumes.views",
    checks="steelyard.tasks.volumes.checks",
)
