"""Task `panoptic`: every pixel belongs to a segment, of a thing or of stuff.

Conventions
    The unit is the image. Truth and predictions are in COCO's panoptic format: a JSON file of segments and PNG files
    whose colours are their ids; 0 is void, and nothing. Areas are counted from pixels. Crowds are never missed.

Metrics
    `pq` and its factors `sq` and `rq`, of all classes, of things and of stuff.
"""

from __future__ import annotations

from steelyard.core.task import Task
from steelyard.tasks.panoptic.data import OPTIONS, PREDICTION, TRUTH, join
from steelyard.tasks.panoptic.quality import METRICS

TASK = Task(
    name="panoptic",
    title="Panoptic segmentation",
    unit="image",
    item="image",
    truth=TRUTH,
    prediction=PREDICTION,
    join=join,
    metrics=METRICS,
    defaults=("pq", "sq", "rq", "pq(of=things)", "pq(of=stuff)"),
    options=OPTIONS,
    reader="panoptic",
    views="steelyard.tasks.panoptic.views",
    checks="steelyard.tasks.panoptic.checks",
)
