"""What is shown beside the scores of labels, each from its own file."""

from __future__ import annotations

from steelyard.tasks.labels.figures import class_metrics, figures, listing
from steelyard.tasks.labels.tables import tables

__all__ = ["class_metrics", "figures", "listing", "tables"]
