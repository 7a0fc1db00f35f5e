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

if TYPE_CHECKING:
    from steelyard.results.score import Difference, Score

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
