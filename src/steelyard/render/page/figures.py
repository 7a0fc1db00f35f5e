"""Figures of a page: the chart, how to read it, and the table that says the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.core.counts import plural
from steelyard.core.errors import MissingData
from steelyard.core.figure import Figure, are_near
from steelyard.core.slice import Slice, slice_heading, slice_text
from steelyard.render.charts.draw import BROAD, CHARTS, page_charts
from steelyard.render.charts.overlays import markup_of
from steelyard.render.explanation import waterfall_of
from steelyard.render.numbers import value_text
from steelyard.render.page.tables import Cell, data_table, head_cell, number_cell, table, text_cell
from steelyard.results.score import Score

if TYPE_CHECKING:
    from steelyard.results.details import UnitTable
    from steelyard.results.report import Report


BINS = 24
MOST_ROWS = 400  # of a figure's own table


def figures_of(report: Report) -> list[Figure]:
    """Every figure of a report: the task's own, then slices and the distribution over units."""
    figures = [report.figure(name) for name in report.figures]
    figures += slice_figures(report).values()
    figures += [figure for figure in map(waterfall_of, report.explanations) if figure is not None]
    units = report.details.units()
    if units is not None:
        figures += unit_histograms(units, report.scores)
    return [figure for figure in figures if len(figure)]


def unique_name(name: str, taken: list[str]) -> str:
    """The name of a figure, with a number where another has it: two files may have a column of one name."""
    return name if name not in taken else f"{name}_{1 + sum(one.startswith(name) for one in taken)}"


def slice_figures(report: Report) -> dict[Slice, Figure]:
    """For each way of slicing, the first score by slice with its interval, beside that of all."""
    figures: dict[Slice, Figure] = {}
    for by, parts in report.slices.items():
        spec, whole = next(iter(report.scores.items()))
        scores = [
            (slice_text(value), part[spec]) for value, part in parts.items() if spec in part and part[spec].defined
        ]
        if len(scores) < 2:
            continue
        scores.sort(key=lambda pair: pair[1].value)
        figures[by] = interval_figure(
            unique_name(f"by_{slice_heading(by, '_')}", [figure.name for figure in figures.values()]),
            f"{whole.label} by {slice_heading(by)}",
            scores,
            whole.value if whole.defined else None,
        )
    return figures


def interval_figure(name: str, title: str, scores: list[tuple[str, Score]], at: float | None) -> Figure:
    """Scores side by side with their intervals."""
    first = scores[0][1]
    ends = [s.interval or (s.value, s.value) for _, s in scores]
    return Figure(
        name,
        "intervals",
        title,
        {
            "name": [value for value, _ in scores],
            "value": [s.value for _, s in scores],
            "low": [low for low, _ in ends],
            "high": [high for _, high in ends],
        },
        {"x": f"{first.label}{', ' + first.measured_in if first.measured_in else ''}", "at": at},
        "The line through each point is its interval."
        + ("" if at is None else " The dashed line is the score of all."),
    )


def unit_histograms(units: UnitTable, scores: Mapping[str, Score], most: int = 1) -> list[Figure]:
    """How the first scores are spread over the units."""
    figures: list[Figure] = []
    for spec, score in list(scores.items()):
        values = np.asarray(units.values.get(spec, ()), dtype=float)
        values = values[np.isfinite(values)]
        if len(values) < 5 or are_near(values):
            continue
        counts, edges = np.histogram(values, bins=min(BINS, max(5, round(len(values) ** 0.5 * 2))))
        in_unit = f", {score.measured_in}" if score.measured_in else ""
        figures.append(
            Figure(
                f"units_{len(figures) + 1}",
                "histogram",
                f"{score.label} over all {plural(units.unit)}",
                {"low": edges[:-1], "high": edges[1:], "count": counts},
                {"x": f"{score.label}{in_unit}", "y": f"number of {plural(units.unit)}"},
                f"How many {plural(units.unit)} have a score in each range.",
            )
        )
        if len(figures) == most:
            break
    return figures


def figure_blocks(figures: Iterable[Figure], *, broad: bool = False, titled: bool = True) -> str:
    """Figures in a grid that folds to one column; broad ones take the width of the page.

    Titles are for screen readers alone where a heading above says the same (`titled`).
    """
    blocks = [figure_block(figure, broad, titled) for figure in figures if len(figure)]
    return f'<div class="figures">{"".join(blocks)}</div>' if blocks else ""


def figure_block(figure: Figure, broad: bool = False, titled: bool = True) -> str:
    """One figure with its caption and its table."""
    drawn = _draw_figure(figure, broad)
    wide = " broad" if broad or figure.chart in BROAD or figure.chart not in CHARTS else ""
    says = (
        ""
        if figure.chart in OWN_TEXT
        else (f"<details><summary>Table: {escape(figure.title)}</summary>{figure_table(figure)}</details>")
    )
    caption = f'<p class="legend">{escape(figure.caption)}</p>' if figure.caption else ""
    title = f"<figcaption{'' if titled else ' class=unseen'}>{escape(figure.title)}</figcaption>"
    return f'<figure class="picture{wide}" id="figure-{escape(figure.name)}">{title}{drawn}{caption}{says}</figure>'


OWN_TEXT = {"sentences", "conversation"}  # kinds that are text themselves


def _draw_figure(figure: Figure, broad: bool) -> str:
    if figure.chart not in CHARTS:
        return markup_of(figure)
    try:
        return page_charts(figure, broad)
    except Exception as error:  # a result that was changed by hand: its figures may hold anything
        raise MissingData(
            f"figure '{figure.name}' cannot be drawn: {str(error).splitlines()[0] if str(error) else error!r}",
            remedy="Score the data again, and write the result with `details=True`.",
        ) from error


def figure_table(figure: Figure) -> str:
    """What the figure shows, in numbers."""
    if figure.table is not None:
        return data_table(figure.table, f"figure-{figure.name}-")
    columns = {name: np.asarray(values).tolist() for name, values in figure.columns.items()}
    rows = [
        [_cell(value, i == 0) for i, value in enumerate(row)]
        for row in list(zip(*columns.values(), strict=True))[:MOST_ROWS]
    ]
    more = ""
    if len(figure) > MOST_ROWS:
        more = f'<p class="legend">The first {MOST_ROWS} of {len(figure):,} rows.</p>'
    return table(figure.title, list(columns), rows) + more


def _cell(value: Any, first: bool) -> Cell:
    if isinstance(value, str):
        return head_cell(value) if first else text_cell(value)
    number = float(value) if value is not None else float("nan")
    return number_cell(number, value_text(number))
