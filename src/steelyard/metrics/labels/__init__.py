"""Task `labels`: which class each row has; one label per row, or several."""

from steelyard.metrics.labels.task import TASK

__all__ = ["TASK"]
