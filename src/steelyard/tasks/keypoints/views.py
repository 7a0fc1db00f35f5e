"""What is shown beside the scores of keypoints: what boxes show, and keypoints as objects with boxes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from steelyard.core.figure import Figure
from steelyard.core.metric import Metric
from steelyard.core.state import State
from steelyard.core.table import Table
from steelyard.tasks.boxes import views as boxes
from steelyard.tasks.boxes.explain import explain_tools as explain
from steelyard.tasks.boxes.gallery import shots, shown_units, sweep
from steelyard.tasks.boxes.pairs import BoxPairs
from steelyard.tasks.boxes.views import long_tables as long_tables_of_boxes
from steelyard.tasks.boxes.views import scene
from steelyard.tasks.boxes.views import tables as tables_of_boxes
from steelyard.tasks.keypoints.task import MOST_OF_POINTS
from steelyard.tasks.keypoints.task import prepare as prepared

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

listing = boxes.listing


def tables(pairs: BoxPairs, state: State) -> Mapping[str, Callable[[], Table]]:
    """The tables of boxes, with the cap of keypoints."""
    return tables_of_boxes(pairs, state, MOST_OF_POINTS)


def long_tables(pairs: BoxPairs, state: State) -> Mapping[str, Callable[[], Table]]:
    """Detections and points."""
    return long_tables_of_boxes(pairs, state, MOST_OF_POINTS)


def class_metrics(state: State) -> Mapping[str, Metric]:
    """AP of each class."""
    return boxes.class_metrics(state, MOST_OF_POINTS)


def figures(pairs: BoxPairs, state: State, metrics: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    """The figures of boxes, with the cap of keypoints."""
    return boxes.figures(pairs, state, metrics, MOST_OF_POINTS)
