"""Task `anomalies`: industrial anomaly detection and localisation, by scores of images and of pixels.

Metrics
    Images: `image_auroc`, `image_ap`, `image_f1_max`. Pixels: `pixel_auroc`, `pixel_ap`, `pixel_f1_max`. Regions of the
    masks: `aupro@0.3`; defects with saturation: `auspro@0.05`; images over good ones: `aupimo`. At a threshold: `pro`,
    `seg_f1`, `seg_iou`.
"""

from __future__ import annotations

from steelyard.core.metadata import Metadata
from steelyard.core.task import Task
from steelyard.tasks.anomalies.data import OPTIONS, PREDICTION, TRUTH, join
from steelyard.tasks.anomalies.metrics import METRICS

IMAGES = ("image_auroc", "image_ap", "image_f1_max")
PIXELS = ("pixel_auroc", "pixel_ap", "pixel_f1_max", "aupro@0.3", "aupro@0.05")


def defaults_for(metadata: Metadata) -> tuple[str, ...]:
    """What a report shows, by what the predictions hold."""
    if "maps" not in metadata.holds or "masks" not in metadata.holds:
        return IMAGES
    return (*IMAGES, *PIXELS, "auspro@0.05") if "loco" in metadata.holds else (*IMAGES, *PIXELS)


TASK = Task(
    name="anomalies",
    title="Anomaly detection",
    unit="image",
    item="image",
    truth=TRUTH,
    prediction=PREDICTION,
    join=join,
    metrics=METRICS,
    defaults=(*IMAGES, *PIXELS),
    defaults_for=defaults_for,
    reader="anomalies",
    options=OPTIONS,
    views="steelyard.tasks.anomalies.views",
    checks="steelyard.tasks.anomalies.checks",
    worst=False,
)
