"""`torchmetrics.detection.diou`: the mean distance IoU of predicted and true boxes."""

from steelyard.compat.torchmetrics.detection.iou import IntersectionOverUnion


class DistanceIntersectionOverUnion(IntersectionOverUnion):
    """The mean distance IoU of all pairs of predicted and true boxes, or of those with the same label."""

    _iou_type = "diou"
    _invalid_val = -1.0
