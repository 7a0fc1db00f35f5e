"""The score of VLM runs as text and Markdown."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from steelyard.core.counts import count_text
from steelyard.core.slice import slice_heading, slice_text
from steelyard.render.markdown import plain
from steelyard.render.numbers import interval_text, money_text, p_text, percent_text, signed_text, value_text
from steelyard.render.text import ARROWS, grid, legend, paragraph, remarks_of
from steelyard.render.verdicts import verdict_text
from steelyard.results.comparison import Comparison
from steelyard.results.report import Report
from steelyard.results.score import Difference
from steelyard.results.vlm import Effort, PromptScore, VlmScore

NONE = "–"


def tokens_text(count: int) -> str:
    """Tokens, in thousands or millions from 10,000 up."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if count >= 10 * size:
            return f"{count / size:.3g} {letter}"
    return f"{count:,}"


def seconds_text(seconds: float) -> str:
    """Seconds with two digits."""
    return NONE if math.isnan(seconds) else f"{seconds:.2g} s" if seconds < 10 else f"{seconds:,.0f} s"


def effort_rows(rows: Sequence[PromptScore]) -> list[tuple[str, list[str]]]:
    """What prompts took: a name, and a cell for each prompt. What no prompt has is left out."""
    efforts = [row.effort for row in rows]
    lines = []
    if any(e.replies > e.uncounted for e in efforts):
        lines += [("tokens in", [_tokens(e, e.input, e.cached, "cached") for e in efforts])]
        lines += [("tokens out", [_tokens(e, e.output, e.thought, "thought") for e in efforts])]
    if any(e.cost is not None for e in efforts):
        lines += [("cost", [_money(e, e.cost) for e in efforts])]
        each = [e.cost / e.questions if e.cost is not None and e.questions else None for e in efforts]
        lines += [("cost per question", [_money(e, one) for e, one in zip(efforts, each, strict=True)])]
    if any(e.median > 0 for e in efforts):
        lines += [("time, median", [seconds_text(e.median) for e in efforts])]
        lines += [("time, 95 %", [seconds_text(e.slow) for e in efforts])]
    return lines


def repeat_rows(rows: Sequence[PromptScore]) -> list[tuple[str, list[str]]]:
    """What repeated questions say of the instrument: a name, and a cell for each prompt. Empty without repeats."""
    if all(row.repeats == 1 for row in rows):
        return []
    first = [next(iter(row.report.scores.values())) if row.report and row.repeats > 1 else None for row in rows]
    measures = [one.measured_in if one else "" for one in first]
    spreads = [
        NONE if math.isnan(row.spread) else f"{row.spread:.3g} {measure}".strip()
        for row, measure in zip(rows, measures, strict=True)
    ]
    shares = [one.runs.share_runs if one and one.runs else math.nan for one in first]
    return [
        ("repeats", [str(row.repeats) if row.repeats > 1 else NONE for row in rows]),
        ("spread of repeats", spreads),
        ("variance from repeats", [NONE if math.isnan(share) else percent_text(round(share, 2)) for share in shares]),
    ]


def _tokens(effort: Effort, count: int, part: int, word: str) -> str:
    if effort.replies == effort.uncounted:
        return NONE
    share = f" ({percent_text(round(part / count, 2))} {word})" if part and count else ""
    return f"{tokens_text(count)}{share}"


def _money(effort: Effort, amount: float | None) -> str:
    return NONE if amount is None or effort.replies == effort.uncounted else money_text(amount, effort.currency)


def effort_remarks(score: VlmScore) -> list[str]:
    """What a reader of tokens and cost must know: replies without counts, and what all of a run took."""
    lines = []
    for row in score.rows:
        if 0 < row.effort.uncounted < row.effort.replies or (row.effort.uncounted and row.effort.cost is not None):
            replies = count_text(row.effort.uncounted, "reply")
            lines.append(f"{row.model}, {row.prompt}: {replies} without counts of tokens, whose cost is unknown.")
    for run in score.runs:
        e = run.effort
        if e.replies > e.uncounted and e.cost is not None:
            lines.append(
                f"All that {run.folder} holds, with controls and what was asked again: {tokens_text(e.input)} tokens "
                f"in, {tokens_text(e.output)} out, {money_text(e.cost, e.currency)}."
            )
    return lines


def slice_tables(score: VlmScore, rows: Sequence[PromptScore]) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """For prompts with the same metrics: a title, a header and a row per slice, in the first metric."""
    reports = [row.report for row in rows if row.report]
    if not reports:
        return
    spec = next(iter(reports[0].scores))
    for name in reports[0].slices:
        values = list(dict.fromkeys(value for report in reports for value in report.slices.get(name, {})))
        lines = []
        for value in values:
            cells = []
            for row in rows:
                part = row.report.slices.get(name, {}).get(value) if row.report else None
                one = part.get(spec) if part else None
                text = f"{value_text(one.value, one.interval, 2)} {one.measured_in}".strip() if one else NONE
                cells.append(f"{text} {interval_text(one.value, one.interval, 2)}".strip() if one else text)
            lines.append([slice_text(value), *cells])
        yield f"By {slice_heading(name)} ({spec})", [slice_heading(name), *(score.name(row) for row in rows)], lines


CONTROLS = {"blank": "grey image", "swapped": "wrong image"}


def score_text(score: VlmScore, width: int = 80) -> str:
    """A table per model, the differences, the controls, remarks."""
    parts = []
    for model in dict.fromkeys(row.model for row in score.rows):
        rows = [row for row in score.rows if row.model == model]
        tables = [table for alike in groups(rows) for table in _side_by_side(score, alike, width)]
        parts.append("\n\n".join([f"{model}: {_heading(score, rows)}", *tables]))
    shown = {d.better for d in _first_report(score)} if score.rows else set()
    parts[-1:] = [f"{parts[-1]}\n{legend(shown)}"]
    for alike in groups(score.rows):
        parts += [
            _table_text(title, head, "l" * len(head), rows, width) for title, head, rows in slice_tables(score, alike)
        ]
    parts += [_table_text(*table, width) for table in _tables(score)]
    parts.append("\n".join(_bullet(remark, width) for remark in remarks(score)))
    parts.append(paragraph(score.verdict, width))
    return "\n\n".join(parts)


def groups(rows: Sequence[PromptScore]) -> list[list[PromptScore]]:
    """Prompts with the same metrics together; one without a score stands with the first."""
    first = next((tuple(row.report.scores) for row in rows if row.report), ())
    by_metrics: dict[tuple[str, ...], list[PromptScore]] = {}
    for row in rows:
        by_metrics.setdefault(tuple(row.report.scores) if row.report else first, []).append(row)
    return list(by_metrics.values())


def _side_by_side(score: VlmScore, rows: Sequence[PromptScore], width: int) -> list[str]:
    """As many prompts side by side as there is room for."""
    across = min(4, len(rows))
    while True:
        tables = [_model(score, rows[i : i + across], width) for i in range(0, len(rows), across)]
        if across == 1 or max(len(line) for table in tables for line in table.splitlines()) <= width:
            return tables
        across -= 1


def _first_report(score: VlmScore) -> list[Any]:
    return [s for row in score.rows if row.report for s in row.report.scores.values()]


def _heading(score: VlmScore, rows: Sequence[PromptScore]) -> str:
    reports = [row.report for row in rows if row.report]
    units = max((max(s.units for s in report.scores.values()) for report in reports), default=0)
    unit = reports[0].unit if reports else "sequence"
    repeats = max(row.repeats for row in rows)
    frames = count_text(max(row.readings // row.repeats for row in rows if row.repeats == repeats), "frame")
    times = f", {repeats} times" if repeats > 1 else ""
    return f"{count_text(units, unit)}, {frames}, one question each{times}"


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
    counted = [
        ("coverage", [share(row.parsed, row.readings) for row in rows]),
        ("parsed", [percent_text(row.parsed / row.readings) if row.readings else "–" for row in rows]),
        ("followed up", [percent_text(row.followed_up / row.readings) if row.readings else "–" for row in rows]),
    ]
    if not all(map(own_question, rows)):
        guessed = [f"{value_text(d.a.value, d.a.interval)} {d.measured_in}" if d else "–" for d in constant]
        counted.append(("constant guess", guessed))
    return [*counted, *repeat_rows(rows), *effort_rows(rows)]


def own_question(row: PromptScore) -> bool:
    """Whether a prompt is a question of the user's own: a weight is held against a constant guess."""
    return row.report is not None and row.constant is None


def _tables(score: VlmScore) -> Iterable[tuple[str, list[str], str, list[list[str]]]]:
    """Title, header, alignment and rows: differences between prompts, the constant guess, the controls."""
    header = ["A", "B", "A", "B", "B − A", "interval", "p", "B is"]
    by_question: dict[tuple[str, str], list[list[str]]] = {}
    for pair in score.pairs:
        spec, first = headline(pair.comparison)
        by_question.setdefault((pair.question, spec), []).append([pair.a, pair.b, *_cells(first)])
    for (question, spec), rows in by_question.items():
        yield f"{question[0].upper()}{question[1:]} ({spec}, on the frames that both have)", header, "llrrrlrl", rows
    checks: dict[str, list[list[str]]] = {}
    for row in score.rows:
        name = score.name(row)
        against = {"constant": row.constant} if row.constant and not row.made_of else {}
        against |= {CONTROLS[variant]: comparison for variant, comparison in row.controls.items()}
        for other, comparison in against.items():
            spec, first = headline(comparison)
            checks.setdefault(spec, []).append([other, name, *_cells(first)])
    for spec, rows in checks.items():
        yield f"Is the image looked at? ({spec})", header, "llrrrlrl", rows


def headline(comparison: Comparison) -> tuple[str, Difference]:
    """The metric that a comparison begins with."""
    return next(iter(comparison.differences.items()))


def _cells(d: Difference) -> list[str]:
    return [
        *(value_text(s.value, d.interval and s.interval, 2) for s in (d.a, d.b)),
        signed_text(d.difference, d.interval, 2),
        interval_text(d.difference, d.interval, 2),
        p_text(d.p_adjusted),
        verdict_text(d.verdict).replace("no difference shown", "no diff."),
    ]


def _table_text(title: str, header: list[str], align: str, rows: list[list[str]], width: int) -> str:
    return f"{title}\n{grid(header, rows, align, width, shrink=0)}"


def remarks(score: VlmScore) -> list[str]:
    """What went wrong and how often, and how to read the constant guess."""
    lines = [*score.notes]
    for row in score.rows:
        lost = {outcome: count for outcome, count in row.outcomes.items() if outcome != "ok"}
        if lost:
            counted = ", ".join(
                f"{count} {outcome} ({row.lost.get(outcome, '')})" for outcome, count in sorted(lost.items())
            )
            lines.append(
                f"{row.model}, {row.prompt}: no {'answer' if own_question(row) else 'number'} from "
                f"{count_text(sum(lost.values()), 'reading')}: {counted}."
            )
        lines += [f"{row.model}, {row.prompt}: {count} failed: {why}" for why, count in list(row.problems.items())[:3]]
    lines += _report_remarks(score)
    lines += effort_remarks(score)
    if not score.rows or not all(map(own_question, score.rows)):
        lines.append(
            "The constant guess is the median of the true weights, chosen with the truth in hand: a model that does "
            "not beat it reads nothing off the image."
        )
    if score.pairs or not all(own_question(row) and not row.controls for row in score.rows):
        lines.append("p: paired sign flips over units, corrected for the metrics of a pair.")
    return list(dict.fromkeys(lines))


def _report_remarks(score: VlmScore) -> list[str]:
    """The remarks of every prompt's scores and comparisons, each once, with the prompts that it is about."""
    every: dict[str, list[str]] = {}
    names = [score.name(row) for row in score.rows if row.report]
    for row in score.rows:
        for remark in remarks_of(row.report) if row.report else ():
            every.setdefault(remark, []).append(score.name(row))
    lines = [remark if len(about) == len(names) else f"{', '.join(about)}: {remark}" for remark, about in every.items()]
    for pair in score.pairs:
        notes = [*pair.comparison.notes, *(note for d in pair.comparison.differences.values() for note in d.notes)]
        lines += [f"{pair.a} → {pair.b}: {note}" for note in notes if note not in every]
    return lines


def _bullet(text: str, width: int) -> str:
    return textwrap.fill(text, width, initial_indent="• ", subsequent_indent="  ", break_on_hyphens=False)


def score_markdown(score: VlmScore) -> str:
    """The tables in Markdown."""
    parts = [plain(score.verdict)]
    for model in dict.fromkeys(row.model for row in score.rows):
        rows = [row for row in score.rows if row.model == model]
        tables = [_model_markdown(alike) for alike in groups(rows)]
        parts.append("\n\n".join([f"### {model}: {_heading(score, rows)}", *tables]))
    for alike in groups(score.rows):
        parts += [f"#### {title}\n\n{_markdown(head, rows)}" for title, head, rows in slice_tables(score, alike)]
    parts += [f"#### {title}\n\n{_markdown(header, rows)}" for title, header, _, rows in _tables(score)]
    parts.append("\n".join(f"- {remark}" for remark in remarks(score)))
    return "\n\n".join(parts) + "\n"


def _model_markdown(rows: Sequence[PromptScore]) -> str:
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
    return _markdown(["", *(row.prompt for row in rows)], lines)


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"

    return "\n".join([line(header), line(["---"] * len(header)), *(line(row) for row in rows)])
