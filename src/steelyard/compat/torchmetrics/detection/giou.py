"""`torchmetrics.detection.giou`: the mean generalized IoU of predicted and true boxes."""

from steelyard.compat.torchmetrics.detection.iou import IntersectionOverUnion


class GeneralizedIntersectionOverUnion(IntersectionOverUnion):
    """The mean generalized IoU of all pairs of predicted and true boxes, or of those with the same label."""

    _iou_type = "giou"
    _invalid_val = -1.0
