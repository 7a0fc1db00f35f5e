"""`torchmetrics.detection`: its metrics, without torchvision and pycocotools."""

from pathlib import Path

import torchmetrics

from steelyard.compat.torchmetrics.detection.ciou import CompleteIntersectionOverUnion
from steelyard.compat.torchmetrics.detection.diou import DistanceIntersectionOverUnion
from steelyard.compat.torchmetrics.detection.giou import GeneralizedIntersectionOverUnion
from steelyard.compat.torchmetrics.detection.iou import IntersectionOverUnion
from steelyard.compat.torchmetrics.detection.mean_ap import MeanAveragePrecision
from steelyard.compat.torchmetrics.detection.panoptic_qualities import ModifiedPanopticQuality, PanopticQuality

# Modules that have no drop-in, such as `helpers`, are found beside those that have one: torchmetrics itself needs them.
__path__.append(str(Path(torchmetrics.__file__).parent / "detection"))

__all__ = [
    "CompleteIntersectionOverUnion",
    "DistanceIntersectionOverUnion",
    "GeneralizedIntersectionOverUnion",
    "IntersectionOverUnion",
    "MeanAveragePrecision",
    "ModifiedPanopticQuality",
    "PanopticQuality",
]
