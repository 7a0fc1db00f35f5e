"""Pictures of label maps: panels side by side, each an indexed PNG, and what its colours mean."""

from __future__ import annotations

import re
from html import escape

from steelyard.core.figure import Figure
from steelyard.render.numbers import value_text

_BASE64 = re.compile(r"[A-Za-z0-9+/=]*")
_COLOUR = re.compile(r"[0-9a-f]{6}")


def rasters(figure: Figure) -> str:
    """A row of panels for each image."""
    parts = []
    panels = [str(name) for name in figure.facts["panels"]]
    for row, (image, cost) in enumerate(zip(figure.columns["image"], figure.columns["cost"], strict=True)):
        shown = "".join(_panel(str(figure.columns[name][row]), name, str(image)) for name in panels)
        title = f"{escape(str(image))} <small>{value_text(float(cost))}</small>"
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
        f'<svg class="swatch" width="12" height="12" aria-hidden="true"><rect width="12" height="12" fill="#{code}"/>'
        f"</svg> {escape(name)} "
    )
