"""Reports as Markdown, for pull requests and notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from steelyard.core.counts import count_text
from steelyard.core.slice import Slice, slice_heading, slice_text
from steelyard.render.board import board_cells, rank_remarks, with_notes
from steelyard.render.explanation import heading_of, remarks_on, table_of
from steelyard.render.gaps import gap_cells, gap_legend, gaps_by
from steelyard.render.numbers import interval_text, names_of, p_text, percent_text, signed_text, value_text
from steelyard.render.runs import comparison_remarks, comparison_runs, report_runs
from steelyard.render.summaries import comparison_verdict, gap_sentences, lineup_verdict, report_headline
from steelyard.render.text import ARROWS, remarks_of, report_heading, undefined_remarks
from steelyard.render.verdicts import flipped_text, paired_word, verdict_remarks, verdict_text
from steelyard.results.score import Difference, Score

if TYPE_CHECKING:
    from steelyard.results.comparison import Comparison, Lineup
    from steelyard.results.report import Report


def report_markdown(report: Report) -> str:
    """Heading, a table of scores, a table for each slicing, remarks."""
    confidence = report.request.confidence
    last = f"{percent_text(confidence)} interval" if confidence is not None else "interval"
    parts = [f"### {plain(report_heading(report))}"]
    parts.append(plain(" ".join([report_headline(report), *gap_sentences(report)])))
    parts.append(_table(["", "metric", "", "score", last], "llllr", [_row(s) for s in report.scores.values()]))
    parts += _runs(report_runs(report))
    for by, values in report.slices.items():
        shown = slice_heading(by)
        parts.append(f"#### by {plain(shown)}\n\n{_slices(shown, values)}")
        if gaps := gaps_by(report, by):
            header, rows = gap_cells(gaps)
            cells = [[f"`{row[0]}`", *map(plain, row[1:])] for row in rows]
            parts.append(f"{_table(header, 'lrlrllr' if len(header) == 7 else 'lrllr', cells)}\n\n{gap_legend(gaps)}")
    remarks = remarks_of(report)
    if remarks:
        parts.append("\n".join(f"- {plain(remark)}" for remark in remarks))
    for explanation in report.explanations:
        header, rows = table_of(explanation)
        table = _table(header, "l" + "r" * (len(header) - 1), [[plain(cell) for cell in row] for row in rows])
        lines = "\n".join(f"- {plain(remark)}" for remark in remarks_on(explanation))
        parts.append(f"#### {plain(heading_of(explanation))}\n\n{table}\n\n{lines}")
    return "\n\n".join(parts) + "\n"


def comparison_markdown(comparison: Comparison) -> str:
    """Who the two models are, a table of the differences, and one for each slicing."""
    names = names_of([comparison])
    first, name = map(plain, names)
    sides = zip((first, name), (comparison.a, comparison.b), strict=True)
    who = ", ".join(f"{said}: `{code(model.sources.predictions.source)}`" for said, model in sides)
    units = next((d.units for d in comparison.differences.values()), 0)
    top = f"### {comparison.task}: {count_text(units, comparison.unit)}, {paired_word([comparison])}\n\n{who}"
    rows = [
        [
            ARROWS[d.better],
            f"`{d.spec}`",
            value_text(d.a.value, d.a.interval),
            value_text(d.b.value, d.b.interval),
            signed_text(d.difference, d.interval),
            interval_text(d.difference, d.interval),
            p_text(d.p_adjusted),
            verdict_text(d.verdict),
        ]
        for d in comparison.differences.values()
    ]
    header = ["", "metric", first, name, f"{name} − {first}", "interval", "p, corrected", f"{name} is"]
    remarks = (
        f"p: {flipped_text(comparison)}",
        *comparison_remarks(comparison),
        *verdict_remarks(comparison.differences.values(), comparison.unit, names[1], names[0]),
        *comparison.notes,
        *undefined_remarks(comparison.differences.values()),
    )
    notes = "\n".join(f"- {plain(note)}" for note in remarks)
    runs = _runs(comparison_runs(comparison, names))
    sliced = [
        _slice_differences(slice_heading(by), parts, f"{name} − {first}") for by, parts in comparison.slices.items()
    ]
    verdict = plain(comparison_verdict(comparison))
    parts = (top, verdict, _table(header, "llrrrlrl", rows), *runs, *sliced, notes)
    return "\n\n".join(part for part in parts if part) + "\n"


def _runs(runs: tuple[list[str], list[list[str]]] | None) -> list[str]:
    """A row per run, where there are several."""
    if runs is None:
        return []
    header, rows = runs
    cells = [[plain(row[0]), *row[1:]] for row in rows]
    return [_table([header[0], *(f"`{spec}`" for spec in header[1:])], "l" + "r" * (len(header) - 1), cells)]


def _slice_differences(by: str, parts: Mapping[Slice, Mapping[str, Difference]], difference: str) -> str:
    """A row per slice: units, and each difference with its interval and what it shows."""
    specs = list(next(iter(parts.values()), {}))
    rows = []
    for value, differences in parts.items():
        cells = [
            f"{signed_text(d.difference, d.interval)} {interval_text(d.difference, d.interval)} "
            f"{verdict_text(d.verdict)}".strip()
            for d in differences.values()
        ]
        rows.append([plain(slice_text(value)), str(max(d.units for d in differences.values())), *cells])
    table = _table([plain(by), "units", *(f"`{spec}`" for spec in specs)], "lr" + "l" * len(specs), rows)
    return f"#### by {plain(by)}: {difference}\n\n{table}"


def lineup_markdown(lineup: Lineup) -> str:
    """The board of all models, then every comparison, one after the other."""
    if len(lineup) < 2:
        return comparison_markdown(with_notes(lineup))
    each = [comparison_markdown(comparison) for comparison in lineup.comparisons]
    header, rows = board_cells(lineup)
    board = _table(header, "l" + "rl" * ((len(header) - 1) // 2), [[plain(name), *cells] for name, *cells in rows])
    notes = "\n".join(f"- {plain(remark)}" for remark in rank_remarks(lineup))
    top = f"### {lineup.comparisons[0].task}: {count_text(len(rows), 'model')}"
    return "\n".join(
        ["\n\n".join(part for part in (top, plain(lineup_verdict(lineup)), board, notes) if part) + "\n", *each]
    )


def _row(score: Score) -> list[str]:
    shown = f"{value_text(score.value, score.interval)} {score.measured_in}".strip()
    interval = interval_text(score.value, score.interval) if score.defined else "undefined"
    return [ARROWS[score.better], f"`{score.spec}`", score.label, shown, interval]


def _slices(by: str, values: Mapping[Slice, Mapping[str, Score]]) -> str:
    specs = list(next(iter(values.values()), {}))
    rows = [
        [
            plain(slice_text(value)),
            str(max(s.units for s in scores.values())),
            *(f"{value_text(s.value, s.interval)} {interval_text(s.value, s.interval)}" for s in scores.values()),
        ]
        for value, scores in values.items()
    ]
    return _table([plain(by), "units", *(f"`{spec}`" for spec in specs)], "lr" + "r" * len(specs), rows)


def _table(header: Sequence[str], align: str, rows: Sequence[Sequence[str]]) -> str:
    marks = ["---:" if side == "r" else "---" for side in align]
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, marks, *rows])


def plain(text: str) -> str:
    """Text from data, with nothing in it that Markdown or HTML would read."""
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for mark in "\\`*_[]|":
        text = text.replace(mark, f"\\{mark}")
    return text


def code(text: str) -> str:
    """Text inside backticks in a cell of a table."""
    return " ".join(text.split()).replace("`", "'").replace("|", "\\|")
