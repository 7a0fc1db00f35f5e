"""Scores of a page: a table of all, each with its interval and what it means."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape

from steelyard.core.metric import Description
from steelyard.render.formula import plain_formula
from steelyard.render.numbers import ends_text, even_decimals, in_unit, number, percent_text, value_text
from steelyard.render.page.tables import Cell, number_cell, table
from steelyard.render.strips import group_of, scales_text, score_scales
from steelyard.render.text import ARROWS, legend
from steelyard.results.score import Interval, Score

BREAK = r"\g<0><wbr>"  # where a long spec may break: behind a bracket, and between words
BETTER = {
    "lower": "lower is better",
    "higher": "higher is better",
    "zero": "nearer to zero is better",
    "one": "nearer to one is better",
    "none": "",
}


def score_table(scores: Sequence[Score], about: Mapping[str, Description], confidence: float | None) -> str:
    """Every score in a row."""
    last = f"{percent_text(confidence)} interval" if confidence is not None else "interval"
    rows, scales = [], score_scales(scores)
    units = {score.measured_in for score in scores}
    decimals = {
        unit: even_decimals((score.value, score.interval) for score in scores if score.measured_in == unit)
        for unit in units
    }
    for i, score in enumerate(scores):
        digits = decimals[score.measured_in] if score.interval is not None else None
        value = value_text(score.value) if digits is None else number(score.value, digits)
        shown = in_unit(value, score.measured_in)
        interval = ends_text(score.interval, digits or 0) if score.defined else f"undefined: {score.undefined_reason}"
        name = term(score.spec, score.spec, about, f"row-{i}", code=True)
        rows.append(
            [
                Cell(name, head=True),
                Cell(escape(score.label)),
                number_cell(score.value, f"{ARROWS[score.better]} {shown}"),
                Cell(escape(interval)),
                Cell(whisker(score.value, score.interval, scales.get(group_of(score)))),
            ]
        )
    meaning = f"{legend(score.better for score in scores)}. {scales_text(scales)}"
    if about:
        meaning += " Point at a metric, or reach it with the Tab key, to read what it means."
    return (
        table("All scores", ["metric", "what it is", "score", last, ""], rows, kind="scores", sort=False)
        + f'<p class="legend">{escape(meaning)}</p>'
    )


def term(shown: str, spec: str, about: Mapping[str, Description], place: str, *, code: bool = False) -> str:
    """A name that tells what it means when it is pointed at or has the focus."""
    name = f"<code>{re.sub('[(_=,]', BREAK, escape(shown))}</code>" if code else escape(shown)
    meaning = about.get(spec)
    if meaning is None:
        return name
    formula = f'<span class="formula">{escape(plain_formula(meaning.formula))}</span>' if meaning.formula else ""
    undefined = f"<span>Undefined {escape(meaning.undefined)}</span>" if meaning.undefined else ""
    return (
        f'<span class="term"><button type="button" aria-describedby="tip-{place}">{name}</button>'
        f'<span role="tooltip" id="tip-{place}"><span>{escape(meaning.summary)}</span>'
        f"{formula}{undefined}</span></span>"
    )


def definitions(scores: Sequence[Score], about: Mapping[str, Description]) -> str:
    """What each metric means, in full: for paper, and for whoever wants to read on."""
    parts = []
    for score in scores:
        meaning = about.get(score.spec)
        if meaning is None:
            continue
        formula = f'<p class="formula">{escape(plain_formula(meaning.formula))}</p>' if meaning.formula else ""
        paragraphs = "".join(f"<p>{escape(p)}</p>" for p in meaning.meaning.split("\n\n") if p)
        undefined = f"<p>Undefined {escape(meaning.undefined)}</p>" if meaning.undefined else ""
        lists = "".join(
            f"<p>{name}</p><ul>{''.join(f'<li>{escape(item)}</li>' for item in items)}</ul>"
            for name, items in (("Good for:", meaning.pros), ("Beware:", meaning.cons))
            if items
        )
        parts.append(
            f"<details><summary><code>{escape(score.spec)}</code> {escape(score.label)}</summary>"
            f"<p>{escape(meaning.summary)}</p>{formula}{paragraphs}{undefined}{lists}</details>"
        )
    return "".join(parts)


def whisker(value: float, interval: Interval | None, scale: Interval | None) -> str:
    """A point on its interval, from one end of the scale to the other; a dashed line where that holds zero."""
    if interval is None or scale is None or value != value or not all(abs(v) < 1e300 for v in (*interval, value)):
        return ""

    def x(v: float) -> str:
        return f"{6 + 148 * min(1.0, max(0.0, (v - scale[0]) / (scale[1] - scale[0]))):.1f}"

    zero = f'<line class="zero" x1="{x(0)}" x2="{x(0)}" y1="1" y2="15"/>' if scale[0] <= 0 <= scale[1] else ""
    return (
        '<svg class="whisker" viewBox="0 0 160 16" width="160" height="16" aria-hidden="true">'
        f'<line class="rail" x1="6" x2="154" y1="8" y2="8"/>{zero}'
        f'<line x1="{x(interval[0])}" x2="{x(interval[1])}" y1="8" y2="8"/>'
        f'<line x1="{x(interval[0])}" x2="{x(interval[0])}" y1="4.5" y2="11.5"/>'
        f'<line x1="{x(interval[1])}" x2="{x(interval[1])}" y1="4.5" y2="11.5"/>'
        f'<circle cx="{x(value)}" cy="8" r="3.6"/></svg>'
    )
