"""What is shown beside the scores of boxes, each from its own file."""

from __future__ import annotations

from steelyard.tasks.boxes.figures import class_metrics, figures, listing
from steelyard.tasks.boxes.others import explain_tools as explain
from steelyard.tasks.boxes.picture import scene
from steelyard.tasks.boxes.tables import long_tables, tables

__all__ = ["class_metrics", "explain", "figures", "listing", "long_tables", "pictured", "scene", "tables"]

pictured = "f1"
