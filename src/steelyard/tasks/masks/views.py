"""What is shown beside the scores of masks: what boxes show, and masks as objects with boxes."""

from __future__ import annotations

from steelyard.tasks.boxes.gallery import shots, shown_units, sweep
from steelyard.tasks.boxes.views import class_metrics, explain, figures, listing, long_tables, scene, tables
from steelyard.tasks.masks.task import prepare as prepared

__all__ = [
    "class_metrics",
    "explain",
    "figures",
    "listing",
    "long_tables",
    "prepared",
    "scene",
    "shots",
    "shown_units",
    "sweep",
    "tables",
]
