"""Task `intervals`: events in time, recording by recording.

The unit is the recording. A row is an event: `recording`, `start` and `end` in seconds. A row with nothing but its
recording says that nothing happens there.
"""

from __future__ import annotations

from steelyard.extend import Policy, Task
from steelyard_intervals.data import SIDE, join
from steelyard_intervals.metrics import METRICS

TASK = Task(
    name="intervals",
    title="Events in time, recording by recording",
    unit="recording",
    item="event",
    truth=SIDE,
    prediction=SIDE,
    join=join,
    metrics=METRICS,
    defaults=("time_iou", "precision@0.5", "recall@0.5", "onset_error@0.5"),
    policy=Policy(missing="worst", extra="error"),
    views="steelyard_intervals.views",
    checks="steelyard_intervals.checks",
)
