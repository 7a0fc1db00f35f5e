"""Parts of a score of VLM runs that text, Markdown and page share: what it took, and scores by slice."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from steelyard.core.counts import count_text
from steelyard.core.slice import slice_heading, slice_text
from steelyard.render.numbers import interval_text, money_text, percent_text, value_text
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
