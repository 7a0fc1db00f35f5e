"""Figures written as HTML: ellipses of an image, marked sentences, and label maps, in the page's colours."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from steelyard.core.figure import Figure
from steelyard.render.numbers import value_text

SIDE = 330.0


def overlays(figure: Figure) -> str:
    """One drawing an image."""
    c = {name: np.asarray(values, dtype=object) for name, values in figure.columns.items()}
    parts = []
    for place, (title, summary) in enumerate(zip(figure.facts["titles"], figure.facts["summaries"], strict=True)):
        rows = np.flatnonzero(c["image"] == place)
        shapes = [{name: values[row] for name, values in c.items()} for row in rows.tolist()]
        parts.append(
            f'<div class="overlay"><p>{escape(str(title))}</p>{_drawing(shapes, str(title))}'
            f'<p class="legend">{escape(str(summary))}</p></div>'
        )
    return f'<div class="overlays">{"".join(parts)}</div>'


def _drawing(shapes: list[dict[str, object]], title: str) -> str:
    ellipses = [s for s in shapes if s["role"] != "pair"]
    if not ellipses:
        return ""
    boxes = []
    for s in ellipses:
        x, y, a, b, t = (float(str(s[n])) for n in ("x", "y", "a", "b", "degrees"))
        t = math.radians(t)
        w, h = math.hypot(a * math.cos(t), b * math.sin(t)), math.hypot(a * math.sin(t), b * math.cos(t))
        boxes.append((x - w, y - h, x + w, y + h))
    left, top = min(b[0] for b in boxes), min(b[1] for b in boxes)
    right, bottom = max(b[2] for b in boxes), max(b[3] for b in boxes)
    margin = 0.08 * max(right - left, bottom - top) or 1.0
    left, top = left - margin, top - margin
    width, height = right - left + margin, bottom - top + margin
    scale = SIDE / max(width, height)
    body = []
    for s in shapes:
        x, y = (float(str(s["x"])) - left) * scale, (float(str(s["y"])) - top) * scale
        if s["role"] == "pair":
            x2, y2 = (float(str(s["x2"])) - left) * scale, (float(str(s["y2"])) - top) * scale
            body.append(f'<line class="s-soft" x1="{x:.1f}" y1="{y:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')
            body.append(
                f'<text class="f-soft halo" x="{(x + x2) / 2 + 4:.1f}" y="{(y + y2) / 2 - 4:.1f}">'
                f"{escape(str(s['label']))}</text>"
            )
            continue
        truth = s["role"] == "truth"
        colour = "c3" if truth else "c2"
        fill = "none" if int(str(s["matched"])) else f"f-{colour} faint"
        dash = "" if truth else ' stroke-dasharray="6 4"'
        body.append(
            f'<ellipse class="s-{colour} {fill}" cx="{x:.1f}" cy="{y:.1f}" rx="{float(str(s["a"])) * scale:.1f}" '
            f'ry="{float(str(s["b"])) * scale:.1f}" transform="rotate({float(str(s["degrees"])):.1f} {x:.1f} {y:.1f})"'
            f' stroke-width="2"{dash}/>'
        )
    return (
        f'<svg class="chart" viewBox="0 0 {width * scale:.0f} {height * scale:.0f}" width="{width * scale:.0f}" '
        f'height="{height * scale:.0f}" role="img" aria-label="{escape(title)}">{"".join(body)}</svg>'
    )


def sentences(figure: Figure) -> str:
    """One block per caption."""
    blocks = []
    for image, spice, said in zip(
        figure.columns["image"], figure.columns["spice"], figure.facts["sentences"], strict=True
    ):
        blocks.append(
            f'<div class="sentence"><h4>{escape(str(image))} <small>SPICE {value_text(float(spice))}</small></h4>'
            f"<p class=said>{_mark_words(said['words']) or '(empty)'}</p>{_tuples(said)}"
            f"<details><summary>References</summary><ul>"
            f"{''.join(f'<li>{escape(str(text))}</li>' for text in said['references'])}</ul></details></div>"
        )
    return "".join(blocks)


def _mark_words(words: Sequence[Sequence[str]]) -> str:
    tags = {"hit": ("<ins>", "</ins>"), "miss": ("<del>", "</del>")}
    shown = []
    for word, state in words:
        before, after = tags.get(state, ("", ""))
        shown.append(f"{before}{escape(str(word))}{after}")
    return " ".join(shown)


def _tuples(said: Mapping[str, Any]) -> str:
    rows = (("matched", "hit", said["matched"]), ("not in the references", "miss", said["wrong"]),
            ("missed", "lost", said["missed"]))  # fmt: skip
    parts = []
    for name, kind, tuples in rows:
        inside = "".join(f'<li class="{kind}">{escape(str(text))}</li>' for text in tuples) or "<li>none</li>"
        parts.append(f'<div><dt>{name}</dt><dd><ul class="tuples">{inside}</ul></dd></div>')
    return f"<dl>{''.join(parts)}</dl>"


_BASE64 = re.compile(r"[A-Za-z0-9+/=]*")
_COLOUR = re.compile(r"[0-9a-f]{6}")


def rasters(figure: Figure) -> str:
    """A row of panels for each image."""
    parts = []
    panels = [str(name) for name in figure.facts["panels"]]
    for row, (image, cost) in enumerate(zip(figure.columns["image"], figure.columns["cost"], strict=True)):
        shown = "".join(_panel(str(figure.columns[name][row]), name, str(image)) for name in panels)
        value = f"{value_text(float(cost))} {figure.facts.get('measured_in', '')}".rstrip()
        title = f"{escape(str(image))} <small>{escape(value)}</small>"
        parts.append(f'<div class="raster"><p>{title}</p><div class="panels">{shown}</div></div>')
    legend = "".join(_entry(str(name), str(code)) for name, code in figure.facts["legend"])
    return f'<div class="rasters">{"".join(parts)}</div><p class="legend">{legend}</p>'


def _panel(data: str, name: str, image: str) -> str:
    if not _BASE64.fullmatch(data):
        return ""
    alt = escape(f"{name} of {image}")
    return (
        f'<span class="panel"><img src="data:image/png;base64,{data}" alt="{alt}"><small>{escape(name)}</small></span>'
    )


def _entry(name: str, code: str) -> str:
    if not _COLOUR.fullmatch(code):
        return ""
    return (
        '<span class="nowrap"><svg class="swatch" width="12" height="12" aria-hidden="true">'
        f'<rect width="12" height="12" fill="#{code}"/></svg> {escape(name)}</span> '
    )


MARKUP = {"overlays": overlays, "sentences": sentences, "rasters": rasters}


def markup_of(figure: Figure) -> str:
    """The figure as HTML; nothing where its kind is not known here."""
    return MARKUP[figure.chart](figure) if figure.chart in MARKUP else ""
