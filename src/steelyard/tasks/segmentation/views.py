"""What is shown beside the scores of label maps, each from its own file."""

from __future__ import annotations

from steelyard.tasks.segmentation.explain import explain
from steelyard.tasks.segmentation.figures import class_metrics, figures, listing
from steelyard.tasks.segmentation.picture import scene
from steelyard.tasks.segmentation.tables import tables

__all__ = ["class_metrics", "explain", "figures", "listing", "scene", "tables"]
