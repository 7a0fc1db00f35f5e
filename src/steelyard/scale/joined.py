"""One report from those of the parts of the metrics: sums, rankings by class, and what was gathered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from steelyard.accumulator import Accumulator
from steelyard.core.legacy import state_of
from steelyard.core.metric import Metric, describe
from steelyard.core.table import Table
from steelyard.engine.measure import listed, measured, unit_values
from steelyard.results.model import Report, UnitTable
from steelyard.scale import jobs

GATHERED_ROWS = 2_000_000  # above, what needs all rows in one place is left out unless it is asked for by name


def one_report(reports: Sequence[Report], chosen: Sequence[Metric], notes: Sequence[str]) -> Report:
    """One report from those of the parts of the metrics."""
    first = reports[-1]  # the one that holds all rows has tables too
    specs = [str(metric) for metric in chosen]

    def in_order(scores: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        every = {spec: score for part in scores for spec, score in part.items()}
        return {spec: every[spec] for spec in specs}

    slices = {
        by: {value: in_order([report.slices[by][value] for report in reports]) for value in values}
        for by, values in first.slices.items()
    }
    return replace(
        first,
        scores=in_order([report.scores for report in reports]),
        slices=slices,
        provenance=replace(first.provenance, metrics=tuple(specs)),
        notes=(*first.notes, *notes),
        about=lambda: {str(metric): describe(type(metric)) for metric in chosen},
    )


def gathered(states: Sequence[jobs.State]) -> Accumulator:
    """All rows of the states in one place."""
    data = states[0].how.data
    request = data.request
    whole = Accumulator(
        data.task, by=request.by, missing=request.missing, extra=request.extra, columns=request.columns,
        options=request.options, confidence=request.confidence, draws=request.draws, seed=request.seed,
        save_draws=request.save_draws,
    )  # fmt: skip
    for state in states:
        found = jobs.load_shard(data, state.name, state.drop)
        whole.batches.append((found.truth, found.prediction))
    return whole


def with_evidence(
    report: Report, states: Sequence[jobs.State], chosen: Sequence[Metric], in_one_place: Sequence[Metric] = ()
) -> Report:
    """The report with its units, and with tables and figures where all rows fit in one place.

    They are made when they are asked for, from the states in the work folder. The report of a task that declares its
    needs has its units from the merged state; of another task, the metrics `in_one_place` have them from the report.
    """
    kind = states[0].how.data.kind
    units = report
    if kind.measure is not None:
        units = replace(report, unit_table=lambda: _unit_table(report, states, chosen, in_one_place))
    rows = sum((report.provenance.truth.rows, report.provenance.predictions.rows))
    if rows > GATHERED_ROWS:
        note = f"{rows:,} rows are too many for tables and figures in one place: they are left out."
        return replace(units, notes=(*units.notes, note))

    @cache
    def whole() -> Report:
        return gathered(states).report(list(chosen), confidence=None, save_draws=False)

    names: tuple[str, ...] = ()
    if kind.tables is not None:
        first: Any = measured(kind, jobs.joined(states[0])[0], chosen)
        names = tuple(kind.tables(jobs.measured(states[0])[0] if kind.measure is not None else first))
    return replace(
        units,
        table_makers={name: partial(_table, whole, name) for name in names},
        figure_makers=lambda: whole().figure_makers(),
        listing_maker=lambda: whole().listing(),
    )


def _table(whole: Callable[[], Report], name: str) -> Table:
    return whole().table(name)


def _unit_table(
    report: Report, states: Sequence[jobs.State], chosen: Sequence[Metric], in_one_place: Sequence[Metric]
) -> UnitTable:
    """Every metric for each unit alone, shard by shard: no unit needs another, unless all rows had to be together."""
    alone = [metric for metric in chosen if metric not in in_one_place]
    parts = []
    for state in states:
        part = listed(state_of(jobs.measured(state)[0]))
        parts.append((part.units.ids, unit_values(part, alone)))
    ids = np.concatenate([part[0] for part in parts])
    order = np.argsort(ids, kind="stable")
    values = {spec: np.concatenate([part[1][spec] for part in parts])[order] for spec in map(str, alone)}
    if in_one_place:
        values |= report.units().values
    return UnitTable(report.unit, ids[order], {str(metric): values[str(metric)] for metric in chosen})
