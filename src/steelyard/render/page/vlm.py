"""The score of a run as a page: prompts against each other, can it be trusted, and what was said about some frames."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from html import escape
from os import PathLike
from typing import Any

from steelyard.core.counts import count_text
from steelyard.core.figure import Figure
from steelyard.render.numbers import interval_text, money_text, p_text, percent_text, signed_text, value_text
from steelyard.render.page.figures import figure_blocks, interval_figure
from steelyard.render.page.frame import Section, bullets, definitions_of, document, facts
from steelyard.render.page.scores import definitions, term
from steelyard.render.page.tables import Cell, head_cell, number_cell, table
from steelyard.render.text import ARROWS, legend
from steelyard.render.verdicts import verdict_text
from steelyard.render.vlm import (
    CONTROLS,
    effort_rows,
    groups,
    headline,
    own_question,
    remarks,
    repeat_rows,
    slice_tables,
    tokens_text,
)
from steelyard.results.details import Example
from steelyard.results.details_json import rounded_figure
from steelyard.results.score import Difference
from steelyard.results.vlm import PromptScore, VlmScore

_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")


def score_page(score: VlmScore, images: str | PathLike[str] | None = None) -> str:
    """The page; `images` is the folder of the frames, for small pictures of some."""
    scored = [row for row in score.rows if row.report is not None]
    firsts = [alike[0].report for alike in groups(scored)]
    about: dict[str, Any] = {}
    for report in firsts:
        about |= definitions_of(report, report.task, report.scores) if report else {}
    first = list({s.spec: s for report in firsts if report for s in report.scores.values()}.values())
    examples = _examples(score, images)
    sections = [
        Section("prompts", "Prompts against each other", _every_prompt(score, scored, about), "Prompts"),
        Section("slices", "By slice", _slices(score, scored), "Slices"),
        Section("pairs", "What helps", _pairs(score)),
        Section("trust", "Does it look at the image?", _controls(score), "Controls"),
        Section("pictures", "Predicted against true", figure_blocks(_agreement(scored)), "Pictures"),
        Section("frames", "What was said", examples, "Frames"),
        Section("remarks", "Remarks", bullets(remarks(score))),
        Section("definitions", "What the metrics mean", definitions(first, about), "Definitions"),
        Section("source", "Where the numbers come from", _source(score), "Source"),
    ]
    models = list(dict.fromkeys(row.model for row in score.rows))
    prompts = list(dict.fromkeys(row.prompt for row in score.rows if not row.made_of))
    line = (
        f"{count_text(len(models), 'model')}, {count_text(len(prompts), 'prompt')}, {count_text(score.frames, 'frame')}"
    )
    named = "".join(f"<li><code>{escape(model)}</code></li>" for model in models)
    top = (
        '<p class="kicker">Steelyard</p><h1>Vision-language models as scales</h1>'
        f'<p class="line">{escape(line)}</p><ul class="sources">{named}</ul>'
    )
    return document("Steelyard: vlm", top, sections, pictures="<img " in examples, verdict=score.verdict)


def _every_prompt(score: VlmScore, scored: Sequence[PromptScore], about: Any) -> str:
    if not scored:
        return "<p>No reading gave a number.</p>"
    return "".join(_prompts(score, alike, about, f"prompt-{i}") for i, alike in enumerate(groups(scored)))


def _prompts(score: VlmScore, scored: Sequence[PromptScore], about: Any, mark: str) -> str:
    """The first score of each prompt as a picture, then all scores, prompts across; `mark` begins the ids."""
    specs = list(scored[0].report.scores) if scored[0].report else []
    figures = []
    for spec in specs[:2]:
        scores = [(score.name(row), row.report.scores[spec]) for row in scored if row.report]
        defined = [(name, s) for name, s in scores if s.defined]
        if defined:
            figures.append(interval_figure(f"{mark}_{spec}", defined[0][1].label, defined, None))
    rows = []
    for i, spec in enumerate(specs):
        reports = [row.report for row in scored if row.report]
        head = reports[0].scores[spec]
        cells = [
            Cell(
                f"{term(spec, spec, about, f'{mark}-{i}', code=True)}<br><small>{escape(head.label)}</small>", head=True
            )
        ]
        for report in reports:
            s = report.scores[spec]
            shown = escape(f"{value_text(s.value, s.interval)} {s.measured_in}".strip())
            interval = escape(interval_text(s.value, s.interval))
            cells.append(Cell(f"{ARROWS[s.better]} <strong>{shown}</strong><br><small>{interval}</small>", s.value))
        rows.append(cells)
    words = "answered" if own_question(scored[0]) else "answered with a number"
    answered = [Cell(words, head=True)]
    followed = [Cell("asked a second time", head=True)]
    for row in scored:
        for cells, count in ((answered, row.parsed), (followed, row.followed_up)):
            share = count / row.readings if row.readings else math.nan
            cells.append(number_cell(share, f"{percent_text(share)} ({count:,})"))
    rows += [answered, followed]
    rows += [
        [Cell(name, head=True), *(Cell(escape(cell)) for cell in cells)]
        for name, cells in (*repeat_rows(scored), *effort_rows(scored))
    ]
    meaning = legend(s.better for s in (scored[0].report.scores.values() if scored[0].report else ()))
    heads = ["metric", *(score.name(row) for row in scored)]
    return (
        figure_blocks(figures) + table("Scores by prompt", heads, rows) + (f'<p class="legend">{escape(meaning)}.</p>')
    )


def _difference_rows(d: Difference) -> list[Cell]:
    verdict = f'<span class="verdict {escape(d.verdict.split()[0])}">{escape(verdict_text(d.verdict))}</span>'
    return [
        number_cell(d.a.value, value_text(d.a.value, d.a.interval)),
        number_cell(d.b.value, value_text(d.b.value, d.b.interval)),
        number_cell(d.difference, signed_text(d.difference, d.interval)),
        Cell(escape(interval_text(d.difference, d.interval))),
        number_cell(d.p_adjusted, p_text(d.p_adjusted)),
        Cell(verdict),
    ]


def _slices(score: VlmScore, scored: Sequence[PromptScore]) -> str:
    return "".join(
        table(title, heads, [[head_cell(first), *(Cell(escape(cell)) for cell in cells)] for first, *cells in rows])
        for alike in groups(scored)
        for title, heads, rows in slice_tables(score, alike)
    )


def _pairs(score: VlmScore) -> str:
    if not score.pairs:
        return ""
    drawn: dict[str, dict[str, list[Any]]] = {}  # by what differs: an axis has one quantity
    rows = []
    several = len({headline(pair.comparison)[0] for pair in score.pairs}) > 1
    for pair in score.pairs:
        _, d = headline(pair.comparison)
        quantity = f"{d.label}{', ' + d.measured_in if d.measured_in else ''}"
        columns = drawn.setdefault(quantity, {"name": [], "value": [], "low": [], "high": [], "series": []})
        name = f"{pair.a} → {pair.b}"
        if d.interval is not None and d.difference == d.difference:
            verdict = d.verdict if d.verdict in ("better", "worse") else "no difference shown"
            for column, value in zip(columns, (name, d.difference, *d.interval, verdict), strict=True):
                columns[column].append(value)
        rows.append(
            [
                head_cell(f"{pair.question} ({quantity})" if several else pair.question),
                Cell(escape(name)),
                number_cell(pair.frames, f"{pair.frames:,}"),
                *_difference_rows(d),
            ]
        )
    figures = [
        Figure(
            f"pairs_{i}" if i else "pairs", "intervals", "What changes from one prompt to the other", columns,
            {"x": f"difference of {quantity}", "at": 0.0}, "Paired over the frames that both have.",
        )
        for i, (quantity, columns) in enumerate(drawn.items())
    ]  # fmt: skip
    heads = ["question", "from → to", "frames", "before", "after", "difference", "interval", "p, corrected", "it is"]
    return figure_blocks(figures) + table("Prompts against each other", heads, rows)


def _controls(score: VlmScore) -> str:
    rows = []
    for row in score.rows:
        against = {f"the constant guess {row.guess:.4g} g": row.constant} if row.constant and not row.made_of else {}
        against |= {CONTROLS.get(name, name): comparison for name, comparison in row.controls.items()}
        for name, comparison in against.items():
            d = next(iter(comparison.differences.values()))
            rows.append([head_cell(score.name(row)), Cell(escape(name)), *_difference_rows(d)])
    if not rows:
        return ""
    heads = ["prompt", "against", "there", "with the image", "difference", "interval", "p, corrected", "it is"]
    return (
        "<p>An instrument that reads the image must beat a constant guess, a grey image and a wrong image.</p>"
        + table("Controls", heads, rows)
    )


def _agreement(scored: Sequence[PromptScore]) -> list[Figure]:
    """Predicted against true for each prompt."""
    figures = []
    for i, row in enumerate(scored):
        if row.report and "agreement" in row.report.figures:
            f = rounded_figure(row.report.figure("agreement"))
            figures.append(Figure(f"agreement_{i + 1}", f.chart, row.prompt, f.columns, f.facts, f.caption, f.table))
    return figures


def _examples(score: VlmScore, images: str | PathLike[str] | None) -> str:
    """Frames with the largest errors, and some without a number, each with the whole conversation."""
    examples = score.details.examples(images)
    remark = "The frames with the largest errors, and some that gave no number."
    if examples and not any(example.picture for example in examples):
        remark += " Give the folder of the frames to see thumbnails."
    return f'<p class="legend">{remark}</p>{"".join(map(_frame, examples))}' if examples else ""


def _frame(example: Example) -> str:
    parts = []
    for heard in example.heard:
        turns = "".join(
            f"<dt>asked</dt><dd>{escape(turn.ask)}</dd><dt>replied</dt><dd>{escape(turn.reply or turn.error)}</dd>"
            for turn in heard.turns
        )
        whole = f"<dl class=talk>{turns}</dl>" if turns else f"<p>{escape(heard.problem)}</p>"
        parts.append(
            f"<details><summary>{escape(heard.model)}, {escape(heard.prompt)}: "
            f"<strong>{escape(heard.answer)}</strong>{escape(heard.off)}</summary>{whole}</details>"
        )
    return (
        f'<div class="frame">{_picture(example)}<div><h3>{escape(example.title)}</h3>'
        f"<p>True weight: {escape(example.truth)}</p>{''.join(parts)}</div></div>"
    )


def _picture(example: Example) -> str:
    """A small picture inside the page; nothing but base64 of a JPEG is taken."""
    if not example.picture or not _BASE64.fullmatch(example.picture):
        return ""
    size = f'width="{example.width}" height="{example.height}"'
    return f'<img src="data:image/jpeg;base64,{example.picture}" {size} alt="the frame as it was shown">'


def _source(score: VlmScore) -> str:
    rows = []
    for run in score.runs:
        rows += [("model", model) for model in run.models]
        rows += [(f"prompt {name}", text) for name, text in run.prompts.items()]
        rows.append(("run", run.folder))
        e = run.effort
        if e.replies > e.uncounted:
            spent = "" if e.cost is None else f", {money_text(e.cost, e.currency)}"
            took = f"{count_text(e.replies, 'reply')}, {tokens_text(e.input)} tokens in, {tokens_text(e.output)} out"
            rows.append(("all that the journal holds", f"{took}{spent}"))
    if score.confidence is not None:
        rows.append(("intervals", f"{percent_text(score.confidence)}, bootstrap over sequences"))
    return facts(dict.fromkeys(rows))
