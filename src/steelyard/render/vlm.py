"""The score of VLM runs as text and Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from steelyard.core.counts import count_text
from steelyard.render.numbers import interval_text, p_text, percent_text, signed, value_text
from steelyard.render.text import ARROWS, grid, legend
from steelyard.results.report import Report
from steelyard.results.score import Difference
from steelyard.results.vlm import PromptScore, VlmScore

CONTROLS = {"blank": "grey image", "swapped": "wrong image"}


def score_text(score: VlmScore, width: int = 80) -> str:
    """A table per model, the differences, the controls, remarks."""
    parts = []
    for model in dict.fromkeys(row.model for row in score.rows):
        rows = [row for row in score.rows if row.model == model]
        for across in range(min(4, len(rows)), 0, -1):  # as many prompts side by side as there is room for
            tables = [_model(score, rows[i : i + across], width) for i in range(0, len(rows), across)]
            if across == 1 or max(len(line) for table in tables for line in table.splitlines()) <= width:
                break
        parts.append("\n\n".join([f"{model}: {_heading(score, rows)}", *tables]))
    shown = {d.better for d in _first_report(score)} if score.rows else set()
    parts[-1:] = [f"{parts[-1]}\n{legend(shown)}"]
    parts += [_table_text(*table, width) for table in _tables(score)]
    parts.append("\n".join(_bullet(remark, width) for remark in remarks(score)))
    return "\n\n".join(parts)


def _first_report(score: VlmScore) -> list[Any]:
    return [s for row in score.rows if row.report for s in row.report.scores.values()]


def _heading(score: VlmScore, rows: Sequence[PromptScore]) -> str:
    reports = [row.report for row in rows if row.report]
    units = max((max(s.units for s in report.scores.values()) for report in reports), default=0)
    unit = reports[0].unit if reports else "sequence"
    return f"{count_text(units, unit)}, {count_text(max(row.readings for row in rows), 'frame')}, one question each"


def _model(score: VlmScore, rows: Sequence[PromptScore], width: int) -> str:
    """Metrics down, prompts across; an interval stands below its number."""
    lines: list[list[str]] = []
    reports: list[Report | None] = [row.report for row in rows]
    first = next((report for report in reports if report), None)
    for spec, about in first.scores.items() if first else ():
        values, intervals = [], []
        for report in reports:
            one = report.scores.get(spec) if report else None
            values.append(f"{value_text(one.value, one.interval, 2)} {one.measured_in}".strip() if one else "–")
            intervals.append(interval_text(one.value, one.interval, 2) if one else "")
        lines.append([ARROWS[about.better], spec, *values])
        if any(intervals):
            lines.append(["", "", *intervals])
    lines += [["", name, *cells] for name, cells in _counts(rows)]
    header = ["", percent_text(score.confidence) if score.confidence else "", *(row.prompt for row in rows)]
    return grid(header, lines, "ll" + "l" * len(rows), width)


def _counts(rows: Sequence[PromptScore]) -> list[tuple[str, list[str]]]:
    def share(part: int, whole: int) -> str:
        return f"{part}/{whole}"

    constant = [next(iter(row.constant.differences.values())) if row.constant else None for row in rows]
    return [
        ("coverage", [share(row.parsed, row.readings) for row in rows]),
        ("parsed", [percent_text(row.parsed / row.readings) if row.readings else "–" for row in rows]),
        ("followed up", [percent_text(row.followed_up / row.readings) if row.readings else "–" for row in rows]),
        ("constant guess", [f"{value_text(d.a.value, d.a.interval)} {d.measured_in}" if d else "–" for d in constant]),
    ]


def _tables(score: VlmScore) -> Iterable[tuple[str, list[str], str, list[list[str]]]]:
    """Title, header, alignment and rows: differences between prompts, the constant guess, the controls."""
    spec = headline(score)
    header = ["A", "B", "A", "B", "B − A", "interval", "p", "B is"]
    by_question: dict[str, list[list[str]]] = {}
    for pair in score.pairs:
        by_question.setdefault(pair.question, []).append([pair.a, pair.b, *_cells(pair.comparison[spec])])
    for question, rows in by_question.items():
        yield f"{question[0].upper()}{question[1:]} ({spec}, on the frames that both have)", header, "llrrrlrl", rows
    checks = []
    for row in score.rows:
        name = row.prompt if len({r.model for r in score.rows}) == 1 else f"{row.model}: {row.prompt}"
        if row.constant:
            checks.append(["constant", name, *_cells(row.constant[spec])])
        checks += [[CONTROLS[v], name, *_cells(c[spec])] for v, c in row.controls.items()]
    if checks:
        yield f"Is the image looked at? ({spec})", header, "llrrrlrl", checks


def headline(score: VlmScore) -> str:
    """The metric that every comparison has."""
    every = [*(pair.comparison for pair in score.pairs), *(row.constant for row in score.rows if row.constant)]
    every += [comparison for row in score.rows for comparison in row.controls.values()]
    return next((spec for comparison in every for spec in comparison.differences), "")


def _cells(d: Difference) -> list[str]:
    return [
        *(value_text(s.value, d.interval and s.interval, 2) for s in (d.a, d.b)),
        signed(d.difference, d.interval, 2),
        interval_text(d.difference, d.interval, 2),
        p_text(d.p_adjusted),
        d.verdict.replace("no difference shown", "no diff."),
    ]


def _table_text(title: str, header: list[str], align: str, rows: list[list[str]], width: int) -> str:
    return f"{title}\n{grid(header, rows, align, width, shrink=0)}"


def remarks(score: VlmScore) -> list[str]:
    """What went wrong and how often, and how to read the constant guess."""
    lines = []
    for row in score.rows:
        lost = {outcome: count for outcome, count in row.outcomes.items() if outcome != "ok"}
        if lost:
            counted = ", ".join(
                f"{count} {outcome} ({row.lost.get(outcome, '')})" for outcome, count in sorted(lost.items())
            )
            lines.append(
                f"{row.model}, {row.prompt}: no number from {count_text(sum(lost.values()), 'reading')}: {counted}."
            )
        lines += [f"{row.model}, {row.prompt}: {count} failed: {why}" for why, count in list(row.problems.items())[:3]]
        if row.report:
            lines += [f"{s.spec} is undefined: {s.why}." for s in row.report.scores.values() if not s.defined]
            lines += row.report.notes
    lines.append(
        "The constant guess is the median of the true weights, chosen with the truth in hand: a model that does not "
        "beat it reads nothing off the image."
    )
    lines.append("p: paired randomisation over units, corrected for the metrics of a pair.")
    return list(dict.fromkeys(lines))


def _bullet(text: str, width: int) -> str:
    return textwrap.fill(text, width, initial_indent="• ", subsequent_indent="  ", break_on_hyphens=False)


def score_markdown(score: VlmScore) -> str:
    """The same tables in Markdown."""
    parts = []
    for model in dict.fromkeys(row.model for row in score.rows):
        rows = [row for row in score.rows if row.model == model]
        first = next((row.report for row in rows if row.report), None)
        lines = []
        for spec in first.scores if first else ():
            cells = []
            for row in rows:
                s = row.report.scores[spec] if row.report else None
                cells.append(
                    f"{value_text(s.value, s.interval)} {s.measured_in} {interval_text(s.value, s.interval)}".strip()
                    if s
                    else "–"
                )
            lines.append([f"`{spec}`", *cells])
        lines += [[name, *cells] for name, cells in _counts(rows)]
        parts.append(
            f"### {model}: {_heading(score, rows)}\n\n" + _markdown(["", *(row.prompt for row in rows)], lines)
        )
    parts += [f"#### {title}\n\n{_markdown(header, rows)}" for title, header, _, rows in _tables(score)]
    parts.append("\n".join(f"- {remark}" for remark in remarks(score)))
    return "\n\n".join(parts) + "\n"


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"

    return "\n".join([line(header), line(["---"] * len(header)), *(line(row) for row in rows)])
