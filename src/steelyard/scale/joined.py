"""One report from those of the parts of the metrics: sums, rankings by class, and what was gathered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from steelyard.core.figure import Figure, Listing
from steelyard.core.frozen import Frozen
from steelyard.core.metric import Description, Metric
from steelyard.core.pairs import Countable
from steelyard.core.state import State
from steelyard.core.table import Table
from steelyard.core.task import Task
from steelyard.core.units import Units
from steelyard.engine.details import LazyDetails, definitions_of, tables_of
from steelyard.engine.measure import measure_state, unit_values
from steelyard.partial.accumulator import Accumulator
from steelyard.results.details import Details, UnitTable
from steelyard.results.report import Report
from steelyard.scale import jobs, reading

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
        request=replace(first.request, metrics=tuple(specs)),
        notes=(*first.notes, *notes),
    )


def gather_shards(shards: Sequence[jobs.Shard]) -> Accumulator:
    """All rows of the shards in one place."""
    data = shards[0].measuring.data
    whole = Accumulator.for_request(data.request)
    for shard in shards:
        rows = reading.load_shard(data, shard.name, shard.drop)
        whole.batches.append((rows.truth, rows.prediction))
    return whole


def with_evidence(report: Report, shards: Sequence[jobs.Shard], chosen: Sequence[Metric], *, by_shard: bool) -> Report:
    """The report with its units, and with tables and figures where all rows fit in one place.

    They are made when they are asked for, from the states in the work folder. A report has its units from the merged
    state, or `by_shard` where workers read its rankings.
    """
    rows = report.sources.truth.rows + report.sources.predictions.rows
    fits = rows <= GATHERED_ROWS
    evidence = ShardDetails(report, tuple(shards), tuple(chosen), fits, by_shard)
    note = f"{rows:,} rows are too many for tables and figures in one place: they are left out."
    return replace(report, details=evidence, notes=report.notes if fits else (*report.notes, note))


class ShardDetails(Frozen, Details):
    """The details of a run over shards: units shard by shard, the rest from all rows in one place where they fit."""

    lazy: ClassVar[bool] = True
    report: Report
    shards: tuple[jobs.Shard, ...]
    chosen: tuple[Metric, ...]
    fits: bool
    by_shard: bool

    @property
    def task(self) -> Task:
        """The task."""
        return self.shards[0].measuring.data.definition

    @cached_property
    def whole(self) -> Report:
        """The report of all rows in one place, for its details; only what is looked at has its intervals made."""
        plain = gather_shards(self.shards).report(
            list(self.chosen), confidence=None, save_draws=False, save_influences=False
        )
        if not isinstance(plain.details, LazyDetails):
            return plain
        return replace(plain, details=replace(plain.details, request=self.report.request))

    @property
    def tables(self) -> tuple[str, ...]:
        definition = self.task
        if definition.tables is None or not self.fits:
            return ()
        pairs = jobs.join_shard(self.shards[0])[0]
        return tuple(tables_of(definition, pairs, measure_state(pairs, self.chosen[:1])))

    @property
    def long_tables(self) -> tuple[str, ...]:
        return self.whole.long_tables if self.fits else ()

    def table(self, name: str) -> Table:
        return self.whole.table(name)

    @property
    def figures(self) -> tuple[str, ...]:
        return self.whole.figures if self.fits else ()

    def figure(self, name: str) -> Figure:
        return self.whole.figure(name)

    def listing(self) -> Listing | None:
        return self.whole.listing() if self.fits else None

    def units(self) -> UnitTable:
        pairs = jobs.join_shard(self.shards[0])[0]
        by_kind = isinstance(pairs, Countable) and pairs.distinct_units is not None
        if not by_kind and not self.by_shard:
            return self.report.units()
        parts = []
        for shard in self.shards:  # no unit needs another
            pairs = jobs.join_shard(shard)[0]
            state = measure_state(pairs.per_unit() if by_kind else pairs, self.chosen)
            parts.append(state if by_kind else jobs.under_whole(state, shard.measuring))
        return _side_by_side(self.report.unit, parts, self.chosen)

    def definitions(self) -> dict[str, Description]:
        return definitions_of(self.chosen)


def _side_by_side(unit: str, parts: Sequence[State], metrics: Sequence[Metric]) -> UnitTable:
    """The units of all parts, in the order of their ids."""
    ids = Units.stack([part.units for part in parts]).ids
    order = np.argsort(ids, kind="stable")
    by_part = [unit_values(part, metrics) for part in parts]
    values = {spec: np.concatenate([part[spec] for part in by_part])[order] for spec in map(str, metrics)}
    return UnitTable(unit, ids[order], values)
