"""Results, figures and tables in a notebook, in the colours of its theme."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING, Any

from steelyard.core.counts import count_text
from steelyard.core.errors import OutOfRange, Unsupported
from steelyard.core.figure import Figure
from steelyard.core.frozen import Frozen
from steelyard.core.slice import Slice, slice_heading, slice_text
from steelyard.core.table import Table
from steelyard.io.write import write_text
from steelyard.render.board import rank_remarks, rows_of
from steelyard.render.charts.draw import CHARTS, chart_svg
from steelyard.render.charts.overlays import markup_of
from steelyard.render.charts.theme import ADAPTING, PALETTE, with_colours
from steelyard.render.explanation import waterfall_of
from steelyard.render.numbers import heads_of, interval_text, names_of, p_text, percent_text, signed_text, value_text
from steelyard.render.page.figures import figure_table
from steelyard.render.page.gallery import gallery_shots
from steelyard.render.strips import group_of, score_scales
from steelyard.render.summaries import comparison_verdict, gap_sentences, lineup_verdict, report_headline
from steelyard.render.text import ARROWS, heading, remarks_of
from steelyard.render.verdicts import paired_word, verdict_text
from steelyard.results.details import check_name
from steelyard.results.registry import renderer
from steelyard.results.report import Report
from steelyard.results.score import Difference, Score

if TYPE_CHECKING:
    from os import PathLike

    from steelyard.results.comparison import Comparison, Lineup
    from steelyard.results.details import UnitTable
    from steelyard.results.result import Result
    from steelyard.results.score import Interval

SVG = "http://www.w3.org/2000/svg"
WIDE, HIGH = 120, 14
NARROWEST, WIDEST = 150, 5000  # pixels of a figure
MOST_REMARKS, MOST_ROWS = 5, 60
MOST_UNITS = 100  # of a gallery that can be asked for
_CELL = 'style="text-align:{};padding:2px 10px;white-space:nowrap"'


def report_notebook(report: Report) -> str:
    """The scores, each with its strip; strips of one unit of measure share a scale."""
    scores = list(report.scores.values())
    rows, scales = [], score_scales(scores)
    for score in scores:
        value = f"{value_text(score.value, score.interval)} {score.measured_in}".strip()
        shown = [f"{ARROWS[score.better]} {score.spec}", score.label, value, interval_text(score.value, score.interval)]
        rows.append([*map(escape, shown), _strip(score.value, score.interval, scales.get(group_of(score)))])
    level = report.request.confidence
    heads = ["metric", "", "score", f"{percent_text(level)} interval" if level is not None else "", ""]
    title = heading(report.task, report.unit, report.item, report.scores, report.coverage)
    says = " ".join([report_headline(report), *gap_sentences(report)])
    drawn = [figure for figure in map(waterfall_of, report.explanations) if figure is not None]
    more = _slices(report.slices) + "".join(map(figure_html, drawn))
    return _block(title, heads, "llrll", rows, remarks_of(report), more, says)


def comparison_notebook(comparison: Comparison) -> str:
    """The differences, with their verdicts."""
    first, name = names_of([comparison])
    rows = []
    for d in comparison.differences.values():
        values = [value_text(s.value, s.interval) for s in (d.a, d.b)]
        shown = [f"{ARROWS[d.better]} {d.spec}", *values, signed_text(d.difference, d.interval)]
        shown += [interval_text(d.difference, d.interval), p_text(d.p_adjusted), verdict_text(d.verdict)]
        rows.append(list(map(escape, shown)))
    units = max((d.units for d in comparison.differences.values()), default=0)
    heads = ["metric", first, name, f"{name} − {first}", "interval", "p, corrected", f"{name} is"]
    title = f"{comparison.task}: {count_text(units, comparison.unit)}, {paired_word([comparison])}"
    says = comparison_verdict(comparison)
    return _block(title, heads, "lrrrlrl", rows, comparison.notes, _slices(comparison.slices), says)


def lineup_notebook(lineup: Lineup) -> str:
    """The board of all models."""
    first = lineup.comparisons[0]
    rows = []
    for i, row in enumerate(rows_of(lineup.comparisons)):
        cells = [escape(row.name)]
        for spec in first.differences:
            score, standing = row.scores[spec], lineup.standings.get(spec)
            best = standing is not None and i in standing.best
            value = escape(value_text(score.value, score.interval))
            rank = f" <small>rank {escape(standing.text(i))}</small>" if standing is not None else ""
            interval = f" <small>{escape(interval_text(score.value, score.interval))}</small>"
            cells.append(f"{f'<b>{value}*</b>' if best else value}{interval}{rank}")
        rows.append(cells)
    heads = ["model", *(f"{spec} {ARROWS[d.better]}" for spec, d in first.differences.items())]
    title = f"{first.task}: {count_text(len(rows), 'model')}, {paired_word(lineup.comparisons)}"
    align = "l" + "r" * len(first.differences)
    return _block(title, heads, align, rows, rank_remarks(lineup), says=lineup_verdict(lineup))


def _slices(slices: Mapping[Slice, Mapping[Slice, Mapping[str, Any]]]) -> str:
    """A table for each way of slicing, to be opened: a row per slice, a column per metric."""
    parts = []
    for by, values in slices.items():
        specs = list(next(iter(values.values()), {}))
        rows = []
        for value, scores in values.items():
            units = max((score.units for score in scores.values()), default=0)
            rows.append([escape(slice_text(value)), f"{units:,}", *(_slice_cell(scores[spec]) for spec in specs)])
        shown = slice_heading(by)
        inside = _table([shown, "units", *specs], "l" + "r" * (1 + len(specs)), rows[:MOST_ROWS])
        more = f"<p>{count_text(len(rows) - MOST_ROWS, 'more slice')}</p>" if len(rows) > MOST_ROWS else ""
        parts.append(f"<details><summary>By {escape(shown)}</summary>{inside}{more}</details>")
    return "".join(parts)


def _slice_cell(score: Score | Difference) -> str:
    if isinstance(score, Difference):
        value, verdict = signed_text(score.difference, score.interval), f" {verdict_text(score.verdict)}"
        interval = interval_text(score.difference, score.interval)
    else:
        value, verdict = value_text(score.value, score.interval), ""
        interval = interval_text(score.value, score.interval)
    return f"{escape(value)} <small>{escape(interval)}</small>{escape(verdict)}"


class Drawing(Frozen):
    """A figure or a gallery drawn as HTML: notebooks display it, `str` is its text, and `save` writes it to a file."""

    html: str
    title: str = ""

    def save(self, path: str | PathLike[str]) -> None:
        """Write it: as SVG where the name ends so and it is one chart, else as a page."""
        head = f'<meta charset="utf-8"><title>{escape(self.title)}</title>'
        text = f'<!doctype html><html lang="en"><head>{head}</head><body>{self.html}</body></html>\n'
        if str(path).lower().endswith(".svg"):
            svg = self._repr_svg_()
            if svg is None:
                raise Unsupported("it is not one chart", where=str(path), remedy="Give a name that ends in .html.")
            text = svg
        write_text(path, text)

    def _repr_html_(self) -> str:
        return self.html

    def _repr_svg_(self) -> str | None:
        """The chart alone, in light colours; nothing where there are several or none."""
        if self.html.count("<svg ") != 1:
            return None
        svg = f"<svg {self.html.partition('<svg ')[2].partition('</svg>')[0]}</svg>"
        coloured = svg.replace("currentColor", PALETTE["ink"])
        return coloured if "xmlns=" in coloured else coloured.replace("<svg ", f'<svg xmlns="{SVG}" ', 1)

    def __str__(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return f"Drawing({self.title})"


def plot(result: Result, name: str, width: float) -> Drawing:
    """One figure of a result."""
    if not NARROWEST <= width <= WIDEST:
        raise OutOfRange(f"a figure of {width:g} pixels is too narrow or too wide", remedy="Choose from 150 to 5000.")
    if isinstance(result, Report) and name in result.figures:
        figure = result.figure(name)
    else:
        figures = {each.name: each for each in renderer(result.kind, "figures")(result)}
        figure = figures[check_name(name, tuple(figures), "figure")]
    return Drawing(figure_html(figure, width), figure.title)


def gallery(result: Report | Comparison, count: int, images: str | PathLike[str] | None) -> Drawing:
    """The first units of the gallery of a result, with a style sheet that holds for them alone."""
    if not 1 <= count <= MOST_UNITS:
        raise OutOfRange(f"{count} units cannot be shown", remedy=f"Choose from 1 to {MOST_UNITS}.")
    shown = result.details.gallery()
    if shown is None:
        drawn = {name: result.figure(name) for name in result.figures} if isinstance(result, Report) else {}
        pictures = [name for name, figure in drawn.items() if figure.chart not in CHARTS]
        remedy = f"Plot {', '.join(pictures)}." if pictures else "Its `units()` have the numbers of each."
        raise Unsupported(f"this result of task '{result.task}' has no marks to draw over images", remedy=remedy)
    names = None if isinstance(result, Report) else heads_of(result)
    colours = "".join(f"--{name}:{value};" for name, value in {**PALETTE, "shade": "#f5f7f9"}.items())
    sheet = files("steelyard.render.page").joinpath("gallery.css").read_text(encoding="utf-8")
    style = f".steelyard-gallery {{ {colours}\n{sheet}}}"
    inside = gallery_shots(shown, images, count, names)
    html = f'<div class="steelyard steelyard-gallery"><style>{style}</style>{inside}</div>'
    return Drawing(html, f"Gallery: {result.task}")


def figure_html(figure: Figure, width: float = 540) -> str:
    """A figure as HTML that needs no style sheet: colours stand at each shape, and text has that of the notebook."""
    drawn = (chart_svg(figure, width) if figure.chart in CHARTS else markup_of(figure)) if len(figure) else ""
    drawn = with_colours(drawn, ADAPTING) or figure_table(figure)
    caption = f"<p><small>{escape(figure.caption)}</small></p>" if figure.caption else ""
    return f'<div class="steelyard"><p><b>{escape(figure.title)}</b></p>{drawn}{caption}</div>'


def table_html(table: Table) -> str:
    """A table of a report as HTML; of a long one the first rows."""
    rows = [list(map(escape, cells)) for cells in table.cells()[:MOST_ROWS]]
    more = len(table.rows) - MOST_ROWS
    below = f"<p>{count_text(more, 'more row')}</p>" if more > 0 else ""
    inside = _table([table.corner, *table.columns], "l" + "r" * len(table.columns), rows)
    return f'<div class="steelyard"><p><b>{escape(table.title)}</b></p>{inside}{below}</div>'


def units_html(units: UnitTable) -> str:
    """The first units with their values."""
    specs = list(units.values)
    columns = [units.units.tolist(), *(column.tolist() for column in units.values.values())]
    rows = [
        [escape(str(name)), *(escape(value_text(value)) for value in values)]
        for name, *values in islice(zip(*columns, strict=True), MOST_ROWS)
    ]
    more = len(units.units) - MOST_ROWS
    below = f"<p>{count_text(more, f'more {units.unit}')}</p>" if more > 0 else ""
    inside = _table([units.unit, *specs], "l" + "r" * len(specs), rows)
    return f'<div class="steelyard"><p><b>{count_text(len(units.units), units.unit)}</b></p>{inside}{below}</div>'


def slices_html(slices: Mapping[Slice, Mapping[Slice, Mapping[str, Any]]]) -> str:
    """A table for each way of slicing."""
    return f'<div class="steelyard">{_slices(slices).replace("<details>", "<details open>")}</div>'


def _strip(value: float, interval: Interval | None, scale: Interval | None) -> str:
    if interval is None or scale is None or not all(map(math.isfinite, (value, *interval))):
        return ""
    low, at, high = (
        4 + (WIDE - 8) * min(1.0, max(0.0, (x - scale[0]) / (scale[1] - scale[0])))
        for x in (interval[0], value, interval[1])
    )
    return (
        f'<svg width="{WIDE}" height="{HIGH}" role="img" aria-label="interval">'
        f'<line x1="4" x2="{WIDE - 4}" y1="7" y2="7" stroke="currentColor" stroke-opacity="0.2"/>'
        f'<line x1="{low:.1f}" x2="{high:.1f}" y1="7" y2="7" stroke="currentColor" stroke-width="2"/>'
        f'<circle cx="{at:.1f}" cy="7" r="3.5" fill="currentColor"/></svg>'
    )


def _table(heads: Sequence[str], align: str, rows: Sequence[Sequence[str]]) -> str:
    """A table that scrolls where it is too wide. Cells are HTML already; heads are text."""
    sides = ["right" if side == "r" else "left" for side in align]
    head = "".join(f"<th {_CELL.format(s)}>{escape(h)}</th>" for h, s in zip(heads, sides, strict=True))
    body = "".join(
        f"<tr>{''.join(f'<td {_CELL.format(s)}>{c}</td>' for c, s in zip(row, sides, strict=True))}</tr>"
        for row in rows
    )
    return f'<div style="overflow-x:auto"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _block(
    title: str,
    heads: Sequence[str],
    align: str,
    rows: Sequence[Sequence[str]],
    remarks: Sequence[str],
    more: str = "",
    says: str = "",
) -> str:
    """A title, what the result comes to, a table, what follows it, and remarks, which are text."""
    items = "".join(f"<li>{escape(remark)}</li>" for remark in remarks[:MOST_REMARKS])
    left = len(remarks) - MOST_REMARKS
    items += f"<li>{count_text(left, 'more remark')}: print the result.</li>" if left > 0 else ""
    listed = f"<ul>{items}</ul>" if items else ""
    top = f"<p><b>{escape(title)}</b></p>{f'<p>{escape(says)}</p>' if says else ''}"
    return f'<div class="steelyard">{top}{_table(heads, align, rows)}{more}{listed}</div>'
