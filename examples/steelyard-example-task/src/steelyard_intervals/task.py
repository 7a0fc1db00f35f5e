"""Task `intervals`: events in time, recording by recording.

The unit is the recording. A row is an event: `recording`, `start` and `end` in seconds. A row with nothing but its
recording says that nothing happens there.
"""

from __future__ import annotations

import numpy as np

from steelyard.extend import Column, InputError, Options, Policy, Records, Schema, SetPairs, Task, join_sets
from steelyard_intervals.metrics import METRICS

SIDE = Schema(
    key=("recording",),
    columns=(
        Column("recording", "id", meaning="the recording that the event is in"),
        Column("start", "number", empty=True, meaning="seconds; empty where nothing happens"),
        Column("end", "number", empty=True, meaning="seconds"),
    ),
)


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> SetPairs:
    """Join by recording; an event must end after it starts."""
    for records in (truth, prediction):
        start, end = records["start"], records["end"]
        wrong = np.flatnonzero((np.isnan(start) != np.isnan(end)) | (end <= start))
        if len(wrong):
            row = int(wrong[0])
            raise InputError(
                f"an event from {start[row]:g} to {end[row]:g} s",
                where=records.where(row, "end"),
                remedy="It must end after it starts.",
            )
    return join_sets(truth, prediction, "recording", "start", policy)


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
)
