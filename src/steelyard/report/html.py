"""Reports as one self-contained page: no script, no network, light and dark, readable on a phone and on paper.

Each score is drawn as a point on its interval, on an axis that shows zero, so that its length says how sure the number
is; the table beside it says the same in numbers, so nothing depends on seeing the picture.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from steelyard.core.score import Score
from steelyard.report.explanation import heading_of, remarks_on, table_of
from steelyard.report.numbers import count_text, interval_text, p_text, percent_text, signed, value_text
from steelyard.report.text import ARROWS, heading, legend, remarks_of
from steelyard.version import __version__

if TYPE_CHECKING:
    from steelyard.report.model import Comparison, Provenance, Report

MOST_SHOWN = 30  # rows or columns of a table beside the scores


def report_html(report: Report) -> str:
    """The page of one model."""
    title = heading(report.task, report.unit, report.item, report.scores, report.coverage)
    confidence = report.provenance.confidence
    last = f"{percent_text(confidence)} interval" if confidence is not None else "interval"
    rows = [_score_row(score) for score in report.scores.values()]
    body = [
        _table("Scores", ["", "metric", "score", last, ""], rows),
        f'<p class="legend">{escape(legend(s.better for s in report.scores.values()))}. '
        "The dashed line in the picture is zero.</p>",
    ]
    for by, values in report.slices.items():
        body.append(f"<h2>By {escape(by)}</h2>")
        body.append(_slices(by, values))
    body += _tables(report)
    remarks = remarks_of(report)
    if remarks:
        body.append("<h2>Remarks</h2>" + _list(remarks))
    for found in report.explanations:
        header, cells = table_of(found)
        shown = [[escape(cell) for cell in row] for row in cells]
        body.append(f"<h2>{escape(heading_of(found))}</h2>" + _table(heading_of(found), header, shown))
        body.append(_list(remarks_on(found)))
    body.append(_provenance([("", report.provenance)]))
    return _page(f"Steelyard: {report.task}", title, body)


def comparison_html(comparison: Comparison) -> str:
    """The page of two models."""
    units = next((d.units for d in comparison.differences.values()), 0)
    title = f"{comparison.task}: {count_text(units, comparison.unit)}, paired"
    a, b = comparison.provenance_a, comparison.provenance_b
    rows = []
    for d in comparison.differences.values():
        verdict = f'<span class="{d.verdict.split()[0]}">{escape(d.verdict)}</span>'
        cells = [
            ARROWS[d.better],
            f"<code>{escape(d.spec)}</code>",
            value_text(d.a.value, d.a.interval),
            value_text(d.b.value, d.b.interval),
            signed(d.difference, d.interval),
            escape(interval_text(d.difference, d.interval)),
            _whisker(d.difference, d.interval),
            escape(p_text(d.p_holm)),
            verdict,
        ]
        rows.append(cells)
    body = [
        f"<p>A: <code>{escape(a.predictions.source)}</code><br>B: <code>{escape(b.predictions.source)}</code></p>",
        _table("Differences", ["", "metric", "A", "B", "B − A", "interval", "", "p (Holm)", "B is"], rows),
        f'<p class="legend">{escape(legend(d.better for d in comparison.differences.values()))}. '
        "The dashed line in the picture is no difference.</p>",
        _list(comparison.notes) if comparison.notes else "",
        _provenance([("A: ", a), ("B: ", b)]),
    ]
    return _page(f"Steelyard: {comparison.task}", title, body)


def _score_row(score: Score) -> list[str]:
    shown = f"{value_text(score.value, score.interval)} {score.measure}".strip()
    interval = interval_text(score.value, score.interval) if score.defined else f"undefined: {score.why}"
    return [
        ARROWS[score.better],
        f"<code>{escape(score.spec)}</code><br><small>{escape(score.label)}</small>",
        f"<strong>{escape(shown)}</strong>",
        escape(interval),
        _whisker(score.value, score.interval),
    ]


def _slices(by: str, values: Mapping[str, Mapping[str, Score]]) -> str:
    specs = list(next(iter(values.values()), {}))
    rows = []
    for value, scores in values.items():
        cells = [escape(value), str(max(s.units for s in scores.values()))]
        for s in scores.values():
            interval = escape(interval_text(s.value, s.interval))
            shown = f"<strong>{escape(value_text(s.value, s.interval))}</strong>"
            cells.append(f'<span title="{escape(s.why)}">{shown}</span><br><small>{interval}</small>')
        rows.append(cells)
    return _table(f"By {by}", [by, "units", *specs], rows)


def _tables(report: Report) -> list[str]:
    """What the task has beside scores, folded away; a table too large to look at is left to the CSV."""
    found = []
    for table in map(report.table, report.tables):
        if len(table.rows) <= MOST_SHOWN and len(table.columns) <= MOST_SHOWN:
            rows = [[escape(cell) for cell in row] for row in table.cells()]
            shown = _table(table.title, [table.corner, *table.columns], rows)
            found.append(f"<details><summary>{escape(table.title)}</summary>{shown}</details>")
    return ["<h2>Tables</h2>", *found] if found else []


def _whisker(value: float, interval: tuple[float, float] | None) -> str:
    if interval is None or value != value:
        return ""
    low, high = min(interval[0], value, 0.0), max(interval[1], value, 0.0)
    margin = (high - low) * 0.08 or 1.0
    left, right = low - margin, high + margin

    def x(v: float) -> str:
        return f"{140 * (v - left) / (right - left):.1f}"

    return (
        '<svg class="whisker" viewBox="0 0 140 16" width="140" height="16" aria-hidden="true">'
        f'<line class="zero" x1="{x(0)}" x2="{x(0)}" y1="1" y2="15"/>'
        f'<line x1="{x(interval[0])}" x2="{x(interval[1])}" y1="8" y2="8"/>'
        f'<line x1="{x(interval[0])}" x2="{x(interval[0])}" y1="4" y2="12"/>'
        f'<line x1="{x(interval[1])}" x2="{x(interval[1])}" y1="4" y2="12"/>'
        f'<circle cx="{x(value)}" cy="8" r="3.5"/></svg>'
    )


def _table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>\n" for row in rows)
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption)}">'
        f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>"
    )


def _list(items: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>"


def _provenance(sides: Sequence[tuple[str, Provenance]]) -> str:
    first = sides[0][1]
    facts = [
        ("Steelyard", __version__),
        ("truth", _source(first.truth.source, first.truth.rows, first.truth.digest)),
    ]
    for prefix, p in sides:
        shown = _source(p.predictions.source, p.predictions.rows, p.predictions.digest)
        facts.append((f"{prefix}predictions", shown))
    if first.confidence is not None:
        facts.append(
            (
                "intervals",
                f"{percent_text(first.confidence)}, {first.draws:,} draws of units, seed {first.seed}",
            )
        )
    facts.append(("missing predictions", first.missing))
    facts.append(("predictions without truth", first.extra))
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts)
    return f"<h2>Where the numbers come from</h2><dl>{rows}</dl>"


def _source(name: str, rows: int, digest: str) -> str:
    return f"{name}, {rows:,} rows, {digest[:23]}…"


def _page(title: str, heading_text: str, body: Iterable[str]) -> str:
    style = files("steelyard.report").joinpath("page.css").read_text(encoding="utf-8")
    content = "\n".join(part for part in body if part)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{escape(title)}</title>
<style>
{style}</style>
</head>
<body>
<main>
<h1>{escape(heading_text)}</h1>
{content}
</main>
</body>
</html>
"""
