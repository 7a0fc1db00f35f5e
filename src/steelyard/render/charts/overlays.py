"""Pictures of ellipses: truths, detections and pairs of an image, in the page's colours."""

from __future__ import annotations

import math
from html import escape

import numpy as np

from steelyard.core.figure import Figure

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
