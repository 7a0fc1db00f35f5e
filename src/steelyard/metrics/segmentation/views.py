"""What is shown beside the scores of label maps, each from its own file."""

from __future__ import annotations

from steelyard.metrics.segmentation.explain import explain
from steelyard.metrics.segmentation.figures import class_metrics, figures, listing
from steelyard.metrics.segmentation.picture import scene
from steelyard.metrics.segmentation.tables import tables

__all__ = ["class_metrics", "explain", "figures", "listing", "scene", "tables"]
