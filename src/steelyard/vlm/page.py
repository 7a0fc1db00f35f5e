"""The score of a run as a page: prompts against each other, can it be trusted, and what was said about some frames."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from steelyard.core.counts import count_text
from steelyard.core.errors import InputError
from steelyard.core.figure import Figure
from steelyard.io.write import write_text
from steelyard.render.numbers import interval_text, p_text, percent_text, signed, value_text
from steelyard.render.page.figures import figure_blocks, interval_figure
from steelyard.render.page.frame import Section, bullets, document, facts
from steelyard.render.page.scores import definitions, term
from steelyard.render.page.tables import Cell, head_cell, number_cell, table
from steelyard.render.text import ARROWS, legend
from steelyard.results.score import Difference
from steelyard.vlm.images import Picture
from steelyard.vlm.plan import REAL
from steelyard.vlm.readings import Run, Taken
from steelyard.vlm.score import PromptScore, RunScore
from steelyard.vlm.table import CONTROLS, remarks

WORST, FAILED = 4, 2
SIDE = 180  # pixels of a small picture


def score_html(score: RunScore, path: str | Path | None, images: str | Path | None = None) -> str:
    """The page, written to `path` where one is given."""
    scored = [row for row in score.rows if row.report is not None]
    about = scored[0].report.about() if scored and scored[0].report else {}
    first = list(scored[0].report.scores.values()) if scored and scored[0].report else []
    examples = _examples(score, images)
    sections = [
        Section("prompts", "Prompts against each other", _prompts(score, scored, about), "Prompts"),
        Section("pairs", "What helps", _pairs(score)),
        Section("trust", "Does it look at the image?", _controls(score), "Controls"),
        Section("pictures", "Predicted against true", figure_blocks(_agreement(scored)), "Pictures"),
        Section("frames", "What was said", examples, "Frames"),
        Section("remarks", "Remarks", bullets(remarks(score))),
        Section("definitions", "What the metrics mean", definitions(first, about), "Definitions"),
        Section("source", "Where the numbers come from", _source(score), "Source"),
    ]
    models = list(dict.fromkeys(row.model for row in score.rows))
    prompts = list(dict.fromkeys(row.prompt for row in score.rows))
    line = (
        f"{count_text(len(models), 'model')}, {count_text(len(prompts), 'prompt')}, {count_text(score.frames, 'frame')}"
    )
    named = "".join(f"<li><code>{escape(model)}</code></li>" for model in models)
    top = (
        '<p class="kicker">Steelyard</p><h1>Vision-language models as scales</h1>'
        f'<p class="line">{escape(line)}</p><ul class="sources">{named}</ul>'
    )
    text = document("Steelyard: vlm", top, sections, pictures="<img " in examples)
    if path is not None:
        write_text(path, text)
    return text


def _name(score: RunScore, row: PromptScore) -> str:
    several = len({r.model for r in score.rows}) > 1
    return f"{row.model}: {row.prompt}" if several else row.prompt


def _prompts(score: RunScore, scored: Sequence[PromptScore], about: Any) -> str:
    """The first score of each prompt as a picture, then all scores, prompts across."""
    if not scored:
        return "<p>No reading gave a number.</p>"
    specs = list(scored[0].report.scores) if scored[0].report else []
    figures = []
    for spec in specs[:2]:
        found = [(_name(score, row), row.report.scores[spec]) for row in scored if row.report]
        defined = [(name, s) for name, s in found if s.defined]
        if defined:
            figures.append(interval_figure(f"prompts_{spec}", defined[0][1].label, defined, None))
    rows = []
    for i, spec in enumerate(specs):
        reports = [row.report for row in scored if row.report]
        head = reports[0].scores[spec]
        cells = [
            Cell(
                f"{term(spec, spec, about, f'prompt-{i}', code=True)}<br><small>{escape(head.label)}</small>", head=True
            )
        ]
        for report in reports:
            s = report.scores[spec]
            shown = escape(f"{value_text(s.value, s.interval)} {s.measure}".strip())
            interval = escape(interval_text(s.value, s.interval))
            cells.append(Cell(f"{ARROWS[s.better]} <strong>{shown}</strong><br><small>{interval}</small>", s.value))
        rows.append(cells)
    answered = [Cell("answered with a number", head=True)]
    followed = [Cell("asked a second time", head=True)]
    for row in scored:
        for cells, count in ((answered, row.parsed), (followed, row.followed_up)):
            share = count / row.readings if row.readings else math.nan
            cells.append(number_cell(share, f"{percent_text(share)} ({count:,})"))
    rows += [answered, followed]
    said = legend(s.better for s in (scored[0].report.scores.values() if scored[0].report else ()))
    heads = ["metric", *(_name(score, row) for row in scored)]
    return figure_blocks(figures) + table("Scores by prompt", heads, rows) + (f'<p class="legend">{escape(said)}.</p>')


def _difference_rows(d: Difference) -> list[Cell]:
    verdict = f'<span class="verdict {escape(d.verdict.split()[0])}">{escape(d.verdict)}</span>'
    return [
        number_cell(d.a.value, value_text(d.a.value, d.a.interval)),
        number_cell(d.b.value, value_text(d.b.value, d.b.interval)),
        number_cell(d.difference, signed(d.difference, d.interval)),
        Cell(escape(interval_text(d.difference, d.interval))),
        number_cell(d.p_holm, p_text(d.p_holm)),
        Cell(verdict),
    ]


def _pairs(score: RunScore) -> str:
    if not score.pairs:
        return ""
    columns: dict[str, list[Any]] = {"name": [], "value": [], "low": [], "high": [], "series": []}
    rows, measure = [], ""
    for pair in score.pairs:
        d = next(iter(pair.comparison.differences.values()))
        measure = f"{d.label}{', ' + d.measure if d.measure else ''}"
        name = f"{pair.a} → {pair.b}"
        if d.interval is not None and d.difference == d.difference:
            said = d.verdict if d.verdict in ("better", "worse") else "no difference shown"
            for column, value in zip(columns, (name, d.difference, *d.interval, said), strict=True):
                columns[column].append(value)
        rows.append(
            [
                head_cell(pair.question),
                Cell(escape(name)),
                number_cell(pair.frames, f"{pair.frames:,}"),
                *_difference_rows(d),
            ]
        )
    figure = Figure(
        "pairs", "intervals", "What changes from one prompt to the other", columns,
        {"x": f"difference of {measure}", "at": 0.0}, "Paired over the frames that both have a number for.",
    )  # fmt: skip
    heads = ["question", "from → to", "frames", "before", "after", "difference", "interval", "p (Holm)", "it is"]
    return figure_blocks([figure]) + table("Prompts against each other", heads, rows)


def _controls(score: RunScore) -> str:
    rows = []
    for row in score.rows:
        against = {f"the constant guess {row.guess:.4g} g": row.constant} if row.constant is not None else {}
        against |= {CONTROLS.get(name, name): comparison for name, comparison in row.controls.items()}
        for name, comparison in against.items():
            d = next(iter(comparison.differences.values()))
            rows.append([head_cell(_name(score, row)), Cell(escape(name)), *_difference_rows(d)])
    if not rows:
        return ""
    heads = ["prompt", "against", "there", "with the image", "difference", "interval", "p (Holm)", "it is"]
    return (
        "<p>An instrument that reads the image must beat a constant guess, a grey image and a wrong image.</p>"
        + table("Controls", heads, rows)
    )


def _agreement(scored: Sequence[PromptScore]) -> list[Figure]:
    """Predicted against true for each prompt."""
    found = []
    for i, row in enumerate(scored):
        makers = row.report.figure_makers() if row.report else {}
        if "agreement" in makers:
            f = makers["agreement"]()
            found.append(Figure(f"agreement_{i + 1}", f.kind, row.prompt, f.columns, f.facts, f.caption, f.table))
    return found


def _examples(score: RunScore, images: str | Path | None) -> str:
    """Frames with the largest errors, and some without a number, each with the whole conversation."""
    blocks = []
    for run in score.runs:
        readings: dict[tuple[str, int], list[Taken]] = {}
        for taken in run.taken:
            if taken.variant == REAL:
                readings.setdefault((taken.frame.sequence, taken.frame.t), []).append(taken)
        for key in _chosen(readings):
            blocks.append(_frame(readings[key], run, images))
    said = "The frames with the largest errors, and some that gave no number."
    if images is None and blocks:
        said += " --thumbnails DIR shows their pictures."
    return f'<p class="legend">{said}</p>{"".join(blocks)}' if blocks else ""


def _chosen(readings: dict[tuple[str, int], list[Taken]]) -> list[tuple[str, int]]:
    errors = {}
    for key, taken in readings.items():
        known = [
            abs(r.answer.grams - r.frame.weight) for r in taken if r.answer.ok and r.frame.weight == r.frame.weight
        ]
        if known:
            errors[key] = max(known)
    worst = sorted(errors, key=lambda key: (-errors[key], key))[:WORST]
    failed = [key for key, taken in readings.items() if any(not r.answer.ok for r in taken)][:FAILED]
    return list(dict.fromkeys([*worst, *failed]))


def _frame(taken: Sequence[Taken], run: Run, images: str | Path | None) -> str:
    frame = taken[0].frame
    known = f"{value_text(frame.weight)} g" if frame.weight == frame.weight else "unknown"
    parts = []
    for reading in taken:
        answer = f"{value_text(reading.answer.grams)} g" if reading.answer.ok else reading.answer.outcome
        off = ""
        if reading.answer.ok and frame.weight == frame.weight:
            off = f" ({signed(reading.answer.grams - frame.weight)} g)"
        turns = "".join(
            f"<dt>asked</dt><dd>{escape(turn.ask)}</dd><dt>replied</dt><dd>{escape(turn.reply or turn.error)}</dd>"
            for turn in reading.conversation
        )
        whole = f"<dl class=talk>{turns}</dl>" if turns else f"<p>{escape(reading.problem)}</p>"
        parts.append(
            f"<details><summary>{escape(reading.model)}, {escape(reading.prompt)}: "
            f"<strong>{escape(answer)}</strong>{escape(off)}</summary>{whole}</details>"
        )
    food = f", {frame.food}" if frame.food else ""
    return (
        f'<div class="frame">{_thumbnail(frame.picture, frame.image, images)}<div>'
        f"<h3>{escape(frame.sequence)}, frame {frame.t}{escape(food)}</h3><p>True weight: {known}</p>"
        f"{''.join(parts)}</div></div>"
    )


def _thumbnail(picture: Picture | None, image: str, images: str | Path | None) -> str:
    """A small picture inside the page, only of the very file that the model was shown."""
    if images is None or picture is None:
        return ""
    try:
        loaded = Picture(picture.digest, picture.width, picture.height, Path(images) / image).load(SIDE)
    except InputError:  # missing, no picture, or another one by now
        return ""
    buffer = io.BytesIO()
    loaded.save(buffer, format="JPEG", quality=80)
    text = base64.b64encode(buffer.getvalue()).decode("ascii")
    width, height = loaded.size
    return (
        f'<img src="data:image/jpeg;base64,{text}" width="{width}" height="{height}" alt="the frame as it was shown">'
    )


def _source(score: RunScore) -> str:
    rows = []
    for run in score.runs:
        for plan in run.plans:
            rows.append(("model", f"{plan.model} ({plan.fingerprint[:16]})"))
            rows += [(f"prompt {name}", text) for name, text in plan.prompts.items()]
        rows.append(("run", str(run.folder)))
    if score.confidence is not None:
        rows.append(("intervals", f"{percent_text(score.confidence)}, bootstrap over sequences"))
    return facts(dict.fromkeys(rows))
