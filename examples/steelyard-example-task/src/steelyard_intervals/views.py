"""What a report of `intervals` shows beside its scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from steelyard.extend import POINT, Figure, Floats, Listing, Metric, SetPairs, State, Table, Texts
from steelyard_intervals.data import events, matched
from steelyard_intervals.metrics import Matched


def tables(pairs: SetPairs, state: State) -> Mapping[str, Callable[[], Table]]:
    """Events at each overlap that was asked for."""
    needs = sorted((need for need in state.blocks if isinstance(need, Matched)), key=lambda need: need.iou)
    if not needs:
        return {}

    def make() -> Table:
        totals = state.totals(POINT)
        values = np.array([totals[need][0, :3] for need in needs])
        return Table(
            "events", "Events at each overlap", "overlap",
            tuple(f"{need.iou:g}" for need in needs), ("matched", "true", "predicted"), values,
        )  # fmt: skip

    return {"events": make}


def figures(pairs: SetPairs, state: State, metrics: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    """How long events are."""

    def make() -> Figure:
        sides = [np.concatenate(side) for side in zip(*events(pairs), strict=True)]
        lengths = [rows[:, 1] - rows[:, 0] for rows in sides]
        longest = max((float(values.max()) for values in lengths if len(values)), default=1.0)
        columns: dict[str, list[object]] = {"low": [], "high": [], "count": [], "series": []}
        for name, values in zip(("true", "predicted"), lengths, strict=True):
            counts, edges = np.histogram(values, bins=20, range=(0.0, longest))
            columns["low"] += edges[:-1].tolist()
            columns["high"] += edges[1:].tolist()
            columns["count"] += counts.tolist()
            columns["series"] += [name] * len(counts)
        return Figure("lengths", "histogram", "Lengths of events", columns, {"x": "seconds", "y": "events"})

    return {"lengths": make}


def listing(pairs: SetPairs, state: State) -> Listing:
    """Every event of both sides, and whether it has a partner."""
    rows: list[tuple[str, str, str, float, float]] = []
    for unit, (truth, predicted) in zip(pairs.units.tolist(), events(pairs), strict=True):
        both = matched(truth, predicted, 0.5)
        for side, one, partners in (
            ("true", truth, {i for i, _ in both}),
            ("predicted", predicted, {j for _, j in both}),
        ):
            for place, (start, end) in enumerate(one.tolist()):
                rows.append((str(unit), side, "has one" if place in partners else "has none", start, end))
    columns: dict[str, Floats | Texts] = {
        "recording": Texts.of([row[0] for row in rows]),
        "side": Texts.of([row[1] for row in rows]),
        "partner": Texts.of([row[2] for row in rows]),
        "start, s": np.array([row[3] for row in rows], dtype=np.float64),
        "end, s": np.array([row[4] for row in rows], dtype=np.float64),
    }
    return Listing("events", "Events", columns, colour="partner", x="start, s")
