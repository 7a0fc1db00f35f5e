"""Results in a notebook: one table in the colours of its theme, with the interval of each score as a strip."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from steelyard.core.counts import count_text
from steelyard.render.board import rank_remarks, rows_of
from steelyard.render.numbers import interval_text, names_of, p_text, percent_text, signed, value_text
from steelyard.render.strips import group_of, score_scales
from steelyard.render.text import ARROWS, heading, remarks_of
from steelyard.render.verdicts import paired_word, verdict_text

if TYPE_CHECKING:
    from steelyard.results.comparison import Comparison, Lineup
    from steelyard.results.report import Report
    from steelyard.results.score import Interval

WIDE, HIGH = 120, 14
MOST_REMARKS = 5
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
    return _block(title, heads, "llrll", rows, remarks_of(report))


def comparison_notebook(comparison: Comparison) -> str:
    """The differences, with their verdicts."""
    first, name = names_of([comparison])
    rows = []
    for d in comparison.differences.values():
        values = [value_text(s.value, s.interval) for s in (d.a, d.b)]
        shown = [f"{ARROWS[d.better]} {d.spec}", *values, signed(d.difference, d.interval)]
        shown += [interval_text(d.difference, d.interval), p_text(d.p_adjusted), verdict_text(d.verdict)]
        rows.append(list(map(escape, shown)))
    units = max((d.units for d in comparison.differences.values()), default=0)
    heads = ["metric", first, name, f"{name} − {first}", "interval", "p, corrected", f"{name} is"]
    title = f"{comparison.task}: {count_text(units, comparison.unit)}, {paired_word([comparison])}"
    return _block(title, heads, "lrrrlrl", rows, comparison.notes)


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
    return _block(title, heads, "l" + "r" * len(first.differences), rows, rank_remarks(lineup))


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


def _block(title: str, heads: Sequence[str], align: str, rows: Sequence[Sequence[str]], remarks: Sequence[str]) -> str:
    """A table that scrolls where it is too wide. Cells are HTML already; heads and remarks are text."""
    sides = ["right" if side == "r" else "left" for side in align]
    head = "".join(f"<th {_CELL.format(s)}>{escape(h)}</th>" for h, s in zip(heads, sides, strict=True))
    body = "".join(
        f"<tr>{''.join(f'<td {_CELL.format(s)}>{c}</td>' for c, s in zip(row, sides, strict=True))}</tr>"
        for row in rows
    )
    said = "".join(f"<li>{escape(remark)}</li>" for remark in remarks[:MOST_REMARKS])
    more = len(remarks) - MOST_REMARKS
    said += f"<li>{count_text(more, 'more remark')}: print the result.</li>" if more > 0 else ""
    return (
        f'<div class="steelyard"><p><b>{escape(title)}</b></p><div style="overflow-x:auto"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{f'<ul>{said}</ul>' if said else ''}</div>"
    )
