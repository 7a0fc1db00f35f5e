"""Results as rows of a table: for data frames, CSV files and workbooks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from steelyard.core.slice import Slice, slice_text
from steelyard.io.excel import Sheet, write_workbook
from steelyard.io.parquet import COUNT, NUMBER, TEXT, Frame
from steelyard.io.write import sheet_text
from steelyard.render.numbers import names_of
from steelyard.results.comparison import Comparison, Lineup
from steelyard.results.report import Report
from steelyard.results.score import Difference

if TYPE_CHECKING:
    from steelyard.core.table import Table
    from steelyard.results.details import UnitTable
    from steelyard.results.score import Score

SCORE = {
    "slice": TEXT, "metric": TEXT, "value": NUMBER, "low": NUMBER, "high": NUMBER, "units": COUNT, "undefined": COUNT,
    "reason": TEXT,
}  # fmt: skip
DIFFERENCE = {
    "model": TEXT, "against": TEXT, "slice": TEXT, "metric": TEXT, "value": NUMBER, "value_against": NUMBER,
    "difference": NUMBER, "low": NUMBER, "high": NUMBER, "p": NUMBER, "p_adjusted": NUMBER, "verdict": TEXT,
    "units": COUNT,
}  # fmt: skip
MODEL = {
    "model": TEXT, "metric": TEXT, "value": NUMBER, "low": NUMBER, "high": NUMBER, "rank_first": COUNT,
    "rank_last": COUNT, "units": COUNT, "undefined": COUNT, "reason": TEXT,
}  # fmt: skip


def report_frame(report: Report) -> Frame:
    """A row per metric, and per metric and slice: `slice` is empty for all units, else "food=rice"."""
    rows = [_score(None, score) for score in report.scores.values()]
    for by, parts in report.slices.items():
        rows += [_score(_slice(by, value), score) for value, scores in parts.items() for score in scores.values()]
    return _frame(SCORE, rows)


def comparison_frame(comparison: Comparison) -> Frame:
    """A row per difference, over all units and in slices."""
    return _frame(DIFFERENCE, _differences([comparison]))


def lineup_frame(lineup: Lineup) -> Frame:
    """A row per model and metric, with its ranks."""
    first = lineup.comparisons[0]
    names = names_of(lineup.comparisons)
    rows = []
    for place, name in enumerate(names):
        for spec, d in first.differences.items():
            score = d.a if place == 0 else lineup.comparisons[place - 1].differences[spec].b
            standing = lineup.standings.get(spec)
            ranks = standing.ranks[place] if standing is not None and standing.ranks[place][0] else (None, None)
            _, metric, value, low, high, units, undefined, reason = _score(None, score)
            rows.append((name, metric, value, low, high, *ranks, units, undefined, reason))
    return _frame(MODEL, rows)


def slices_frame(slices: Mapping[Slice, Mapping[Slice, Mapping[str, Any]]]) -> Frame:
    """A row per slice and metric: of scores, or of differences."""
    every = [
        (slice_text(by), slice_text(value), one)
        for by, parts in slices.items()
        for value, scores in parts.items()
        for one in scores.values()
    ]
    if any(isinstance(one, Difference) for *_, one in every):
        kinds = {"by": TEXT, **{name: kind for name, kind in DIFFERENCE.items() if name not in ("model", "against")}}
        return _frame(kinds, [(by, *_difference(value, one)) for by, value, one in every])
    return _frame({"by": TEXT, **SCORE}, [(by, *_score(value, one)) for by, value, one in every])


def table_frame(table: Table) -> Frame:
    """A column of the rows' names, and the columns of the table; one of texts is of texts."""
    columns: dict[str, tuple[str, list[Any]]] = {table.corner or "row": (TEXT, list(table.rows))}
    for place, name in enumerate(table.columns):
        cells = [row[place] for row in table.values.tolist()]
        text = any(isinstance(cell, str) for cell in cells)
        own = name if name not in columns else f"{name} ({place + 1})"
        columns[own] = (TEXT, list(map(str, cells))) if text else (NUMBER, list(map(_number, cells)))
    return Frame(columns)


def units_frame(table: UnitTable) -> Frame:
    """A column of the units' names, and one per metric."""
    names = [str(unit) for unit in table.units.tolist()]
    values = {spec: (NUMBER, list(map(_number, column.tolist()))) for spec, column in table.values.items()}
    return Frame({table.unit: (TEXT, names), **values})


def frame_csv(result: Any) -> str:
    """The rows as a CSV file; a cell that is not there is empty."""
    frame = result.to_frame()
    return sheet_text(list(frame), ([("" if cell is None else cell) for cell in row] for row in frame.rows()))


def report_sheets(report: Report) -> dict[str, Sheet]:
    """The scores, then the units and tables where the report has them."""
    sheets: dict[str, Sheet] = {"scores": _sheet(report.to_frame())}
    units = report.details.units()
    if units is not None:
        columns = [units.units.tolist(), *(values.tolist() for values in units.values.values())]
        sheets["units"] = [units.unit, *units.values], zip(*columns, strict=True)
    for name in report.tables:
        table = report.table(name)
        rows = ([row, *values] for row, values in zip(table.rows, table.values.tolist(), strict=True))
        sheets[name] = [table.corner, *table.columns], rows
    return sheets


def comparison_sheets(comparison: Comparison) -> dict[str, Sheet]:
    """The differences."""
    return {"differences": _sheet(comparison.to_frame())}


def lineup_sheets(lineup: Lineup) -> dict[str, Sheet]:
    """The models, and their differences from the first."""
    differences = _frame(DIFFERENCE, _differences(lineup.comparisons))
    return {"models": _sheet(lineup.to_frame()), "differences": _sheet(differences)}


def write_sheets(sheets: Mapping[str, Sheet], path: str | PathLike[str]) -> None:
    """Write a workbook."""
    write_workbook(path, sheets)


def _sheet(frame: Frame) -> Sheet:
    return list(frame), frame.rows()


def _frame(kinds: Mapping[str, str], rows: Iterable[tuple[Any, ...]]) -> Frame:
    columns = list(zip(*rows, strict=True)) or [()] * len(kinds)
    return Frame({name: (kind, list(column)) for (name, kind), column in zip(kinds.items(), columns, strict=True)})


def _differences(comparisons: Iterable[Comparison]) -> list[tuple[Any, ...]]:
    listed = list(comparisons)
    first, *names = names_of(listed)
    rows = []
    for name, comparison in zip(names, listed, strict=True):
        rows += [(name, first, *_difference(None, d)) for d in comparison.differences.values()]
        for by, parts in comparison.slices.items():
            for value, differences in parts.items():
                rows += [(name, first, *_difference(_slice(by, value), d)) for d in differences.values()]
    return rows


def _slice(by: Slice, value: Slice) -> str:
    return f"{slice_text(by)}={slice_text(value)}"


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _score(part: str | None, score: Score) -> tuple[Any, ...]:
    low, high = score.interval or (None, None)
    return (
        part,
        score.spec,
        _number(score.value),
        low,
        high,
        score.units,
        score.n_excluded,
        score.undefined_reason or None,
    )


def _difference(part: str | None, d: Difference) -> tuple[Any, ...]:
    low, high = d.interval or (None, None)
    return (
        part, d.spec, _number(d.b.value), _number(d.a.value), _number(d.difference), low, high, _number(d.p),
        _number(d.p_adjusted), d.verdict, d.units,
    )  # fmt: skip
