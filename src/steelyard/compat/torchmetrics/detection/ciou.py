"""`torchmetrics.detection.ciou`: the mean complete IoU of predicted and true boxes."""

from steelyard.compat.torchmetrics.detection.iou import IntersectionOverUnion


class CompleteIntersectionOverUnion(IntersectionOverUnion):
    """The mean complete IoU of all pairs of predicted and true boxes, or of those with the same label."""

    _iou_type = "ciou"
    _invalid_val = -2.0  # complete IoU is never below -1.5
