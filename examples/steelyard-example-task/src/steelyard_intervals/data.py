"""The columns of both sides, how they are joined, and the events of each recording."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.extend import Column, InputError, Options, Policy, Records, Schema, SetPairs, join_sets

Array = np.ndarray[Any, Any]

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


def events(pairs: SetPairs) -> list[tuple[Array, Array]]:
    """Start and end of the events of each recording, true and predicted, in the order of time."""
    sides = []
    for records, row, owner in (
        (pairs.truth, pairs.truth_row, pairs.truth_owner),
        (pairs.prediction, pairs.prediction_row, pairs.prediction_owner),
    ):
        rows = np.column_stack([records["start"][row], records["end"][row]])
        there = ~np.isnan(rows[:, 0])
        rows, unit = rows[there], owner[there]
        order = np.lexsort((rows[:, 1], rows[:, 0], unit))
        cuts = np.searchsorted(unit[order], np.arange(1, len(pairs.units)))
        sides.append(np.split(rows[order], cuts))
    return list(zip(*sides, strict=True))


def covered(rows: Array) -> float:
    """Seconds that events cover, those that overlap once."""
    reached, total = -np.inf, 0.0
    for start, end in rows.tolist():
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def matched(truth: Array, predicted: Array, iou: float) -> list[tuple[int, int]]:
    """Pairs of events, the best overlap first; each event is in one pair at most."""
    both = np.minimum(truth[:, None, 1], predicted[None, :, 1]) - np.maximum(truth[:, None, 0], predicted[None, :, 0])
    either = (truth[:, 1] - truth[:, 0])[:, None] + (predicted[:, 1] - predicted[:, 0])[None, :] - both
    overlap = np.maximum(both, 0) / either
    pairs: list[tuple[int, int]] = []
    while overlap.size and overlap.max() >= iou:
        i, j = divmod(int(overlap.argmax()), overlap.shape[1])
        pairs.append((i, j))
        overlap[i, :], overlap[:, j] = -1.0, -1.0
    return pairs
