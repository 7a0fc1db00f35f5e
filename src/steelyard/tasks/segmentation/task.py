"""Task `segmentation`: a class for each pixel.

Conventions
    The unit is the image. A record is an image and its map: a folder's file, or an array. Pixels that the truth ignores
    count nowhere. A predicted value that no class has is an error, or wrong (`unknown=wrong`); it is never left out.
    Counts are of whole pixels. Pixels are not independent, so intervals resample images.

Metrics
    `miou` and its family, by data set or by image; `mbiou` and `boundary_f1` for outlines.
"""

from __future__ import annotations

from steelyard.core.task import Task
from steelyard.tasks.segmentation.data import PREDICTION, TRUTH, join
from steelyard.tasks.segmentation.labelling import OPTIONS, score_rules
from steelyard.tasks.segmentation.scores import BOUNDARY_METRICS, OVERLAP_METRICS

TASK = Task(
    name="segmentation",
    title="Semantic segmentation",
    unit="image",
    item="map",
    truth=TRUTH,
    prediction=PREDICTION,
    join=join,
    metrics=(*OVERLAP_METRICS, *BOUNDARY_METRICS),
    defaults=("miou", "mdice", "macc", "accuracy", "fwiou", "mbiou"),
    options=OPTIONS,
    reader="maps",
    views="steelyard.tasks.segmentation.views",
    checks="steelyard.tasks.segmentation.checks",
    device="steelyard.tasks.segmentation.device",
    score_rules=score_rules,
)
