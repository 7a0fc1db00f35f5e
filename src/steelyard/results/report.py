"""Report: the scores of one model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar

from steelyard.core.counts import count_text
from steelyard.core.errors import nearest
from steelyard.core.explanation import Explanation
from steelyard.core.figure import Figure, Listing
from steelyard.core.frozen import Frozen
from steelyard.core.pairs import Coverage
from steelyard.core.request import Request
from steelyard.core.slice import Slice, slice_text
from steelyard.core.table import Table
from steelyard.results.details import LACKING, NONE, Details, UnitTable, check_name
from steelyard.results.influences import Influences
from steelyard.results.origin import Sources, TaskFacts
from steelyard.results.result import Path, TaskResult
from steelyard.results.same import equal, result_repr
from steelyard.results.score import BySpec, Gap, Score, Scores, ScoresBySlice, by_slice, misnamed_key


class Report(Frozen, TaskResult):
    """Scores of one model: `report["mae"]`, and by slice: `report.slices["food"]["rice"]["mae"]`.

    Slices by several columns crossed have tuples for keys: `report.slices["food", "cut"]["rice", "diced"]["mae"]`.
    `request` is all that was asked for, as it was applied: metrics by their full specs, the policy that held.
    `gaps` say how far the groups of each slicing lie apart: `report.gap("food", "mae")`.
    `influences` and `slice_influences` are what units contribute to the scores, where `save_influences` asked for them.
    """

    kind: ClassVar[str] = "report"
    request: Request
    task_facts: TaskFacts
    scores: Scores
    slices: ScoresBySlice
    coverage: Coverage
    sources: Sources
    notes: tuple[str, ...] = ()
    explanations: tuple[Explanation, ...] = ()
    gaps: tuple[Gap, ...] = ()
    influences: Influences | None = None
    slice_influences: Mapping[Slice, Mapping[Slice, Influences]] | None = None
    details: Details = field(default=NONE, repr=False, compare=False)

    __eq__ = equal
    __repr__ = result_repr

    def __post_init__(self) -> None:
        object.__setattr__(self, "scores", BySpec(self.scores, self.task))
        object.__setattr__(self, "slices", by_slice(self.slices, self.task))

    def __getitem__(self, spec: str) -> Score:
        return self.scores[spec]

    @property
    def task(self) -> str:
        """The task's name."""
        return self.request.task

    @property
    def item(self) -> str:
        """What is counted."""
        return self.task_facts.item

    def gap(self, by: Slice, spec: str | None = None) -> Gap:
        """How far the groups of a slicing lie apart in a metric, or in the first one that has such a gap."""
        gaps = {gap.spec: gap for gap in self.gaps if gap.by == slice_text(by)}
        if not gaps:
            raise KeyError(
                f"there is no gap by '{slice_text(by)}'. {nearest(slice_text(by), {g.by for g in self.gaps})}"
            )
        return BySpec(gaps, self.task)[next(iter(gaps)) if spec is None else spec]  # type: ignore[no-any-return]

    def units(self) -> UnitTable:
        """Every metric for each unit alone."""
        table = self.details.units()
        if table is None:
            raise ValueError(LACKING.format("no units"))
        return table

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of what the task shows beside scores: `report.table("confusion")`."""
        return self.details.tables

    def table(self, name: str) -> Table:
        """One of `tables`: a confusion matrix, a curve, a row for each class."""
        return self.details.table(check_name(name, (*self.tables, *self.long_tables), "table"))

    @property
    def long_tables(self) -> tuple[str, ...]:
        """Names of tables with a row for each object or point: `report.table("matches")`."""
        return self.details.long_tables

    def write_tables(self, folder: Path) -> tuple[str, ...]:
        """Write every table, also the long ones, as a CSV file into a folder; gives the paths."""
        from steelyard.io.write import sheet_text, write_text

        paths = []
        for name in (*self.tables, *self.long_tables):
            table = self.table(name)
            rows = ([row, *values] for row, values in zip(table.rows, table.values.tolist(), strict=True))
            paths.append(os.path.join(folder, f"{name}.csv"))
            write_text(paths[-1], sheet_text([table.corner, *table.columns], rows))
        return tuple(paths)

    @property
    def figures(self) -> tuple[str, ...]:
        """Names of the pictures that the page shows: `report.figure("agreement")`."""
        return self.details.figures

    def figure(self, name: str) -> Figure:
        """The data of one of `figures`."""
        return self.details.figure(check_name(name, self.figures, "figure"))

    def listing(self) -> Listing | None:
        """The rows that a reader of the page may look through, where the task has them."""
        return self.details.listing()

    def faults(self) -> dict[str, str]:
        """What no run can have given, by field."""
        wrong = {}
        every = {"scores": self.scores} | {
            f"slices, {slice_text(by)} = {slice_text(value)}": scores
            for by, parts in self.slices.items()
            for value, scores in parts.items()
        }
        for place, scores in every.items():
            if misnamed_key(scores):
                wrong[place] = f"holds another score under '{misnamed_key(scores)}'"
            for spec, score in scores.items():
                if score.draws is not None and len(score.draws) != self.request.draws:
                    count = (
                        f"holds {count_text(len(score.draws), 'value')} where request.draws says {self.request.draws}"
                    )
                    wrong[f"{place}.{spec}.draws"] = count
        return wrong
