"""What is shown beside the scores of keypoints: what boxes show, and keypoints as objects with boxes."""

from __future__ import annotations

from steelyard.metrics.boxes.views import class_metrics, explain, figures, listing, scene, tables
from steelyard.metrics.keypoints import prepare as prepared

__all__ = ["class_metrics", "explain", "figures", "listing", "prepared", "scene", "tables"]
