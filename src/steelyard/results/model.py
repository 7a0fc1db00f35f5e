"""Report, Comparison and Lineup: scores with where they come from."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import NDArray

from steelyard.core.errors import nearest
from steelyard.core.frozen import frozen
from steelyard.core.pairs import Coverage
from steelyard.core.slice import Slice
from steelyard.results.result import Path, Result
from steelyard.results.score import Difference, Score
from steelyard.version import __version__

if TYPE_CHECKING:
    from steelyard.core.explanation import Explanation
    from steelyard.core.figure import Figure, Listing
    from steelyard.core.metric import Description
    from steelyard.core.table import Table


@frozen
class Side:
    """What was read for one side."""

    source: str
    rows: int
    digest: str


@frozen
class Provenance:
    """Everything that the numbers depend on."""

    truth: Side
    predictions: Side
    metrics: tuple[str, ...]
    by: tuple[tuple[str, ...], ...]
    confidence: float | None
    draws: int
    seed: int
    missing: str
    extra: str
    columns: Mapping[str, str]
    options: Mapping[str, str] = field(default_factory=dict)
    version: str = __version__  # of Steelyard, that made the numbers


@frozen
class UnitTable:
    """Every metric for each unit alone; nan where a unit has none."""

    unit: str
    units: NDArray[Any]
    values: Mapping[str, NDArray[Any]]

    def to_csv(self, path: Path) -> None:
        """Write it, one row a unit."""
        from steelyard.io.write import csv_text, write_text  # most programs write nothing

        rows = zip(self.units.tolist(), *(column.tolist() for column in self.values.values()), strict=True)
        write_text(path, csv_text([self.unit, *self.values], rows))


class _Scores(dict[str, Any]):
    """Scores by spec; asking for one that is not there names the nearest."""

    def __missing__(self, spec: str) -> Any:
        raise KeyError(f"'{spec}' is not in this report. {nearest(spec, self)}")


@frozen
class Report(Result):
    """Scores of one model: `report["mae"]`, and by slice: `report.slices["food"]["rice"]["mae"]`.

    Slices by several columns crossed have tuples for keys: `report.slices["food", "cut"]["rice", "diced"]["mae"]`.
    """

    kind: ClassVar[str] = "report"
    task: str
    unit: str
    item: str
    scores: Mapping[str, Score]
    slices: Mapping[Slice, Mapping[Slice, Mapping[str, Score]]]
    coverage: Coverage
    provenance: Provenance
    notes: tuple[str, ...] = ()
    title: str = ""
    about: Callable[[], Mapping[str, Description]] = field(default=dict, repr=False, compare=False)
    unit_table: Callable[[], UnitTable] | None = field(default=None, repr=False, compare=False)
    table_makers: Mapping[str, Callable[[], Table]] = field(default_factory=dict, repr=False, compare=False)
    explanations: tuple[Explanation, ...] = ()
    figure_makers: Callable[[], Mapping[str, Callable[[], Figure]]] = field(default=dict, repr=False, compare=False)
    listing_maker: Callable[[], Listing | None] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scores", _Scores(self.scores))
        wrapped = {by: {value: _Scores(s) for value, s in parts.items()} for by, parts in self.slices.items()}
        object.__setattr__(self, "slices", wrapped)

    def __getitem__(self, spec: str) -> Score:
        return self.scores[spec]

    def units(self) -> UnitTable:
        """Every metric for each unit alone."""
        if self.unit_table is None:
            raise ValueError("this report was read from a file, which does not hold the units")
        return self.unit_table()

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of what the task shows beside scores: `report.table("confusion")`."""
        return tuple(self.table_makers)

    def table(self, name: str) -> Table:
        """One of `tables`: a confusion matrix, a curve, a row for each class."""
        if name not in self.table_makers:
            known = nearest(name, self.table_makers) or "This task has none."
            raise KeyError(f"'{name}' is not a table of this report. {known}")
        return self.table_makers[name]()

    def write_tables(self, folder: Path) -> tuple[str, ...]:
        """Write every table as a CSV file into a folder; gives the paths."""
        from steelyard.io.write import csv_text, write_text

        paths = []
        for name in self.tables:
            table = self.table(name)
            rows = ([row, *values] for row, values in zip(table.rows, table.values.tolist(), strict=True))
            paths.append(os.path.join(folder, f"{name}.csv"))
            write_text(paths[-1], csv_text([table.corner, *table.columns], rows))
        return tuple(paths)

    @property
    def figures(self) -> tuple[str, ...]:
        """Names of the pictures that the page shows: `report.figure("agreement")`."""
        return tuple(self.figure_makers())

    def figure(self, name: str) -> Figure:
        """The data of one of `figures`."""
        makers = self.figure_makers()
        if name not in makers:
            known = nearest(name, makers) or "This report has none."
            raise KeyError(f"'{name}' is not a figure of this report. {known}")
        return makers[name]()

    def listing(self) -> Listing | None:
        """The rows that a reader of the page may look through, where the task has them."""
        return None if self.listing_maker is None else self.listing_maker()

    def to_dict(self, *, details: bool = False) -> dict[str, Any]:
        """The report as plain values, as the JSON schema describes it; with `details`, all that the page shows."""
        from steelyard.results.json import report_dict

        return report_dict(self, details=details)

    def to_json(self, path: Path | None = None, *, details: bool = False) -> str:
        """The report as JSON text, written to `path` where one is given; with `details`, all that the page shows."""
        from steelyard.io.json import json_text

        return _written(json_text(self.to_dict(details=details)), path)


@frozen
class Comparison(Result):
    """Model B against model A: `comparison["mae"].difference`, `.interval`, `.p`, `.verdict`."""

    kind: ClassVar[str] = "comparison"
    task: str
    unit: str
    differences: Mapping[str, Difference]
    coverage_a: Coverage
    coverage_b: Coverage
    provenance_a: Provenance
    provenance_b: Provenance
    notes: tuple[str, ...] = ()
    slices: Mapping[Slice, Mapping[Slice, Mapping[str, Difference]]] = field(default_factory=dict)
    title: str = ""
    about: Callable[[], Mapping[str, Description]] = field(default=dict, repr=False, compare=False)
    unit_tables: Callable[[], tuple[UnitTable, UnitTable]] | None = field(default=None, repr=False, compare=False)
    class_differences: Callable[[], Mapping[str, Difference]] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "differences", _Scores(self.differences))
        wrapped = {by: {value: _Scores(d) for value, d in parts.items()} for by, parts in self.slices.items()}
        object.__setattr__(self, "slices", wrapped)

    def __getitem__(self, spec: str) -> Difference:
        return self.differences[spec]

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain values, as the JSON schema describes it."""
        from steelyard.results.json import comparison_dict

        return comparison_dict(self)

    def to_json(self, path: Path | None = None) -> str:
        """The comparison as JSON text, written to `path` where one is given."""
        from steelyard.io.json import json_text

        return _written(json_text(self.to_dict()), path)


@frozen
class Lineup(Result):
    """Two models or more: `comparisons` holds each against the first, in the order in which they were given."""

    kind: ClassVar[str] = "lineup"
    comparisons: tuple[Comparison, ...]

    def __len__(self) -> int:
        return len(self.comparisons)

    def __getitem__(self, place: int) -> Comparison:
        return self.comparisons[place]

    def to_dict(self) -> dict[str, Any]:
        """The comparisons as plain values."""
        from steelyard.results.json import lineup_dict

        return lineup_dict(self)

    def to_json(self, path: Path | None = None) -> str:
        """The comparisons as JSON text, written to `path` where one is given."""
        from steelyard.io.json import json_text

        return _written(json_text(self.to_dict()), path)


def _written(text: str, path: Path | None) -> str:
    if path is not None:
        from steelyard.io.write import write_text

        write_text(path, text)
    return text
