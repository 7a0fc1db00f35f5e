"""Losses that detectors are trained with, on NumPy, PyTorch, JAX and other arrays of the array API standard.

Conventions
    The order is that of the training libraries: prediction first, target second (metrics have the truth first).
    Class targets are either dense, of the shape of the logits with values 0..1, or integers of the shape without the
    last axis: the class of an anchor from 0 up, -1 for background, -2 for an anchor that does not count.
    Half precision is computed, and the loss given, in float32; gradients come in the precision of the input.

Functions
    `focal_loss`, `smooth_l1_loss`, `huber_loss` and their weighted sum `detection_loss`; `effdet` is that sum with the
    settings that EfficientDet is trained with.
"""

from steelyard.losses.boxes import huber_loss, smooth_l1_loss
from steelyard.losses.detection import DetectionLoss, DetectionLosses, detection_loss, effdet
from steelyard.losses.focal import focal_loss

__all__ = [
    "DetectionLoss",
    "DetectionLosses",
    "detection_loss",
    "effdet",
    "focal_loss",
    "huber_loss",
    "smooth_l1_loss",
]
