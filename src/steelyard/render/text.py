"""Reports as tables for a terminal: eighty columns, plain characters, the same when piped."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from steelyard.core.counts import count_text, counted
from steelyard.core.pairs import Coverage
from steelyard.core.slice import Slice, slice_heading, slice_text
from steelyard.render.gaps import gap_cells, gap_legend, gaps_by
from steelyard.render.numbers import (
    heads_of,
    in_unit,
    interval_text,
    names_of,
    p_text,
    percent_text,
    signed_text,
    value_text,
)
from steelyard.render.remarks import merge_remarks, rests_on
from steelyard.render.runs import WORDS as RUN_WORDS
from steelyard.render.runs import comparison_remarks, comparison_runs, report_remarks, report_runs
from steelyard.render.summaries import comparison_verdict, gap_sentences, report_headline
from steelyard.render.verdicts import flipped_text, paired_word, verdict_remarks
from steelyard.results.score import Difference, Score

if TYPE_CHECKING:
    from steelyard.core.explanation import Explanation
    from steelyard.results.comparison import Comparison
    from steelyard.results.report import Report

MOST_GAPS = 3  # metrics whose gaps a terminal shows
ARROWS = {"lower": "↓", "higher": "↑", "zero": "→0", "one": "→1", "none": " "}

_SETTING = re.compile(r"(?<=[(,\s])\w+=")  # the name of a setting in a spec


def report_text(report: Report, width: int = 80) -> str:
    """The whole report: heading, scores, slices, remarks."""
    parts = [report_heading(report)]
    parts.append(_score_table(list(report.scores.values()), report.request.confidence, width))
    if (runs := report_runs(report)) is not None:
        parts.append(fitting(*runs, width))
    for by, values in report.slices.items():
        parts.append(_slice_table(slice_heading(by), values, report.unit, width))
        parts += _gaps(report, by, width)
    remarks = remarks_of(report)
    if remarks:
        parts.append("\n".join(bullet(remark, width) for remark in remarks))
    parts += [_explanation(explanation, width) for explanation in report.explanations]
    if report.gaps:
        parts.append(paragraph(" ".join([report_headline(report), *gap_sentences(report)]), width))
    return "\n\n".join(parts)


def _gaps(report: Report, by: Slice, width: int) -> list[str]:
    """How far the groups of a slicing lie apart: the first metrics."""
    gaps = gaps_by(report, by)
    if not gaps:
        return []
    header, rows = gap_cells(gaps[:MOST_GAPS])
    table = grid(header, rows, "lrlrllr" if len(header) == 7 else "lrllr", width, shrink=0)
    hidden = len(gaps) - MOST_GAPS
    more = [f"{count_text(hidden, 'more metric')}: see the JSON."] if hidden > 0 else []
    reading = paragraph(gap_legend(gaps[:MOST_GAPS]), width)
    return ["\n".join([f"Gaps between groups of {slice_heading(by)}", table, *more, reading])]


def _explanation(explanation: Explanation, width: int) -> str:
    from steelyard.render.explanation import heading_of, remarks_on, table_of

    header, rows = table_of(explanation)
    table = grid(header, rows, "l" + "r" * (len(header) - 1), width, shrink=0)
    lines = table.split("\n")
    lines.insert(len(lines) - 1, lines[1])
    remarks = "\n".join(bullet(remark, width) for remark in remarks_on(explanation))
    return f"{heading_of(explanation)}\n\n" + "\n".join(lines) + (f"\n\n{remarks}" if remarks else "")


def comparison_text(comparison: Comparison, width: int = 80) -> str:
    """The whole comparison: who the two models are, the differences, what they mean."""
    first, name = heads_of(comparison)
    units = next((d.units for d in comparison.differences.values()), 0)
    top = f"{comparison.task}: {count_text(units, comparison.unit)}, {paired_word([comparison])}"
    top += f"\n{_who(comparison, first, name)}"
    confidence = comparison.a.request.level
    rows = [
        [
            ARROWS[d.better],
            d.spec,
            *(value_text(s.value, digits_of(d) and s.interval, 2) for s in (d.a, d.b)),
            signed_text(d.difference, digits_of(d), 2),
            interval_text(d.difference, d.interval, 2),
            p_text(d.p_adjusted),
            _short(d.verdict),
        ]
        for d in comparison.differences.values()
    ]
    level = f"{percent_text(confidence)} interval"
    header = ["", "metric", first, name, f"{name} − {first}", level, "p", f"{name} is"]
    table = grid(header, rows, "llrrrlrl", width, shrink=1)
    remarks = [
        f"p: {flipped_text(comparison)}",
        *comparison_remarks(comparison),
        *verdict_remarks(comparison.differences.values(), comparison.unit, name, first),
        *comparison.notes,
        *undefined_remarks(comparison.differences.values()),
    ]
    sliced = [_compared_slices(slice_heading(by), parts, width, first, name) for by, parts in comparison.slices.items()]
    runs = comparison_runs(comparison, (first, name))
    each = [] if runs is None else [fitting(*runs, width)]
    bullets = "\n".join(bullet(remark, width) for remark in remarks)
    return "\n\n".join([top, table, *each, *sliced, bullets, *_verdict(comparison, width)])


def _verdict(comparison: Comparison, width: int) -> list[str]:
    sentence = comparison_verdict(comparison)
    return [paragraph(sentence, width)] if sentence else []


def digits_of(d: Difference) -> tuple[float, float] | None:
    """What the digits of a difference follow: its interval, or two standard errors where it has none."""
    if d.interval is not None or not d.se > 0:
        return d.interval
    return d.difference - 2 * d.se, d.difference + 2 * d.se


def _short(verdict: str) -> str:
    return verdict.replace("difference", "diff.").replace("cannot be shown", "too few units")


def _who(comparison: Comparison, first: str, name: str) -> str:
    """The two models, a line each: what they are called below, and where their predictions came from."""
    wide = max(len(first), len(name))
    full = names_of([comparison])
    lines = []
    for short, whole, model in zip((first, name), full, (comparison.a, comparison.b), strict=True):
        source = model.sources.predictions.source
        description = source if short == whole or source == whole else f"{whole}: {source}"
        lines.append(f"  {short.ljust(wide)}  {description}")
    return "\n".join(lines)


def _compared_slices(
    by: str, parts: Mapping[Slice, Mapping[str, Difference]], width: int, first: str, name: str
) -> str:
    """The first metric's difference in each slice, and how many metrics were won and lost there."""
    spec = next(iter(next(iter(parts.values()), {})), "")
    rows = []
    for value, differences in parts.items():
        d = differences[spec]
        won, lost = (sum(o.verdict == verdict for o in differences.values()) for verdict in ("better", "worse"))
        shown = [signed_text(d.difference, digits_of(d), 2), interval_text(d.difference, d.interval, 2)]
        verdict = _short(d.verdict)
        rows.append([slice_text(value), str(d.units), *shown, p_text(d.p_adjusted), verdict, str(won), str(lost)])
    header = [by, "units", f"{spec}: {name} − {first}", "", "p", f"{name} is", "won", "lost"]
    return grid(header, rows, "lrrlrlrr", width, shrink=0)


def legend(directions: Iterable[str] = ()) -> str:
    """What the arrows mean; the rarest one only where it is shown."""
    if "one" in set(directions):
        return "↓ lower is better, ↑ higher is better, →0 →1 nearer to zero, to one is better"
    return "↓ lower is better, ↑ higher is better, →0 nearer to zero is better"


def report_heading(report: Report) -> str:
    """One line: what was scored, on how much, and in how many runs."""
    line = heading(report.task, report.unit, report.item, report.scores, report.coverage)
    design = report.request.runs
    return line if design is None else f"{line}, {count_text(len(report.sources.runs), RUN_WORDS[design.factor])}"


def heading(task: str, unit: str, item: str, scores: Mapping[str, Score], coverage: Coverage) -> str:
    """One line: what was scored, on how much, and what is missing."""
    units = max((score.units for score in scores.values()), default=0)
    parts = [count_text(units, unit)]
    if coverage.truth != units and item == unit:  # of clips or scenes, or with images left out
        parts = [f"{count_text(units, 'unit')} of {count_text(coverage.truth, item)}"]
    elif coverage.truth != units:
        parts.append(count_text(coverage.truth, item))
    if coverage.missing:
        did = {"skip": "left out", "common": "left out", "worst": "counted as the worst"}.get(
            coverage.policy, coverage.policy
        )
        parts.append(f"{coverage.missing:,} without a prediction ({did})")
    if coverage.extra:
        parts.append(count_text(coverage.extra, "prediction") + " without truth left out")
    return f"{task}: {', '.join(parts)}"


def grid(
    header: Sequence[str], rows: Sequence[Sequence[str]], align: str, width: int, *, shrink: int | None = None
) -> str:
    """Columns side by side; the column `shrink` gives way where the table is too wide."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    excess = sum(widths) + 2 * (len(widths) - 1) - width
    if shrink is not None and excess > 0:
        widths[shrink] = max(12, widths[shrink] - excess)
        short = _shortened([row[shrink] for row in rows], widths[shrink])
        rows = [[*row[:shrink], text, *row[shrink + 1 :]] for row, text in zip(rows, short, strict=True)]
    lines = []
    for row in [header, *rows]:
        cells = []
        for text, w, side in zip(row, widths, align, strict=True):
            cells.append(text.rjust(w) if side == "r" else text.ljust(w))
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "─" * min(width, max(len(line) for line in lines)))
    return "\n".join(lines)


def _shortened(texts: Sequence[str], width: int) -> list[str]:
    """Texts that fit: specs without the names of their settings, as much as fits, and both ends where that is equal."""
    values_only = [text if len(text) <= width else _SETTING.sub("…", text) for text in texts]
    cut = [text if len(text) <= width else text[: width - 1] + "…" for text in values_only]
    full: dict[str, set[str]] = {}
    for text, short in zip(texts, cut, strict=True):
        full.setdefault(short, set()).add(text)
    tail = (width - 1) // 2
    return [
        short if len(full[short]) == 1 or len(text) <= width else f"{text[: width - 1 - tail]}…{text[-tail:]}"
        for text, short in zip(values_only, cut, strict=True)
    ]


def fitting(header: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> str:
    """A table of metrics side by side: as many as fit, and how many do not."""
    used = max(len(row[0]) for row in (header, *rows))
    shown = 1
    while shown < len(header):
        used += 2 + max(len(row[shown]) for row in (header, *rows))
        if shown > 1 and used > width:
            break
        shown += 1
    table = grid(header[:shown], [row[:shown] for row in rows], "l" + "r" * (shown - 1), width, shrink=0)
    hidden = len(header) - shown
    return table if not hidden else f"{table}\n{count_text(hidden, 'more metric')}: choose with -m, or see the JSON."


def _score_table(scores: Sequence[Score], confidence: float | None, width: int) -> str:
    rows = []
    for score in scores:
        shown = in_unit(value_text(score.value, score.interval), score.measured_in)
        interval = interval_text(score.value, score.interval) if score.defined else "undefined"
        rows.append([ARROWS[score.better], score.spec, score.label, shown, interval])
    last = f"{percent_text(confidence)} interval" if confidence is not None else ""
    table = grid(["", "metric", "", "score", last], rows, "lllrl", width, shrink=2)
    return f"{table}\n{legend(score.better for score in scores)}"


def _slice_table(by: str, parts: Mapping[Slice, Mapping[str, Score]], unit: str, width: int) -> str:
    values = {slice_text(value): scores for value, scores in parts.items()}
    specs = list(next(iter(values.values()), {}))
    cells = {
        spec: [
            f"{value_text(s.value, s.interval)} {interval_text(s.value, s.interval)}".strip()
            for s in (scores[spec] for scores in values.values())
        ]
        for spec in specs
    }
    counts = [str(max(s.units for s in scores.values())) for scores in values.values()]
    used = max([len(by), *map(len, values)]) + 2 + max(len("units"), *map(len, counts))
    shown: list[str] = []
    for spec in specs:
        statistic = 2 + max(len(spec), *map(len, cells[spec]))
        if shown and used + statistic > width:
            break
        shown.append(spec)
        used += statistic
    rows = [
        [value, count, *(cells[spec][i] for spec in shown)]
        for i, (value, count) in enumerate(zip(values, counts, strict=True))
    ]
    table = grid([by, "units", *shown], rows, "lr" + "l" * len(shown), width, shrink=0)
    hidden = len(specs) - len(shown)
    if hidden:
        table += f"\n{count_text(hidden, 'more metric')} by {by}: choose with -m, or see the JSON."
    return table


def remarks_of(report: Report) -> list[str]:
    """What a reader must know beside the numbers, each said once."""
    remarks = [*report_remarks(report), *report.notes]
    for score in report.scores.values():
        if not score.defined:
            remarks.append(f"{score.spec} is undefined: {score.undefined_reason}.")
        elif score.n_excluded and not _absent_ones(score):
            remarks.append(f"{score.spec} leaves out {counted(score.n_excluded, score.excluded)}.")
        remarks.extend(score.notes)
    return [*merge_remarks(remarks, report.scores), *rests_on(report.scores.values(), report.unit)]


def _absent_ones(score: Score) -> bool:
    """Whether what a mean leaves out are the classes without truth, which its notes name."""
    of_them = any(f"{score.spec} is of " in note and " of them " in note for note in score.notes)
    return score.n_excluded == len(score.classes_absent) and not of_them


def undefined_remarks(differences: Iterable[Difference]) -> list[str]:
    """Why differences are undefined, or have no verdict, for those that are."""
    return [
        f"{d.spec} {'has no verdict' if d.a.defined and d.b.defined else 'is undefined'}: {d.undefined_reason}."
        for d in differences
        if d.verdict == "undefined" and d.undefined_reason
    ]


def paragraph(text: str, width: int) -> str:
    """Sentences, folded to the width."""
    return textwrap.fill(text, width, break_on_hyphens=False)


def bullet(text: str, width: int) -> str:
    """A remark, folded to the width."""
    return textwrap.fill(text, width, initial_indent="• ", subsequent_indent="  ", break_on_hyphens=False)
