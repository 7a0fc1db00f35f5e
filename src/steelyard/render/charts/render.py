"""From a chart to SVG for a page: shapes and classes only, nothing that could act or that names a colour."""

from __future__ import annotations

import re
from html import escape
from typing import Any
from xml.etree import ElementTree

from steelyard.core.figure import Figure
from steelyard.render.charts.library import vl_convert
from steelyard.render.charts.registry import chart_of, widths_of
from steelyard.render.charts.theme import PALETTE, config

_SVG = "{http://www.w3.org/2000/svg}"
_SHAPES = {"g", "path", "line", "rect", "circle", "text", "tspan"}
_KEPT = {
    "transform", "d", "x", "y", "x1", "x2", "y1", "y2", "dx", "dy", "cx", "cy", "r", "width", "height", "opacity",
    "fill-opacity", "stroke-opacity", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin",
    "text-anchor", "font-size", "font-weight", "font-style", "dominant-baseline",
}  # fmt: skip
_UNSEEN = {"opacity": "1", "font-weight": "normal", "stroke-linecap": "butt", "text-anchor": "start"}


def spec_of(figure: Figure, width: float, **look: Any) -> dict[str, Any]:
    """The figure as Vega-Lite, in the look of all charts, so wide with axes and legends."""
    spec: dict[str, Any] = chart_of(figure, width).to_dict(validate=False)
    spec["config"] = config(**look)
    if "facet" not in spec and "width" not in spec:
        spec["width"] = width
        spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return spec


def svg_text(spec: dict[str, Any]) -> str:
    """The chart as an SVG file."""
    return str(vl_convert().vegalite_to_svg(spec))


def inline_charts(figure: Figure) -> str:
    """The figure in several widths, of which a page shows the one that fits."""
    drawn = [inline_svg(spec_of(figure, width), figure.title) for width in widths_of(figure)]
    parts = (f'<div class="drawn w{width:g}">{svg}</div>' for width, svg in zip(widths_of(figure), drawn, strict=True))
    return "".join(parts)


def inline_svg(spec: dict[str, Any], title: str) -> str:
    """The chart as SVG inside a page: colours are classes, so that it follows light and dark."""
    root = ElementTree.fromstring(svg_text(spec))
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    body = "".join(_element(child) for child in root if child.get("fill") != "white")
    kind = "chart" if "autosize" in spec or "facet" in spec else "chart own"  # the last keeps its size
    return (
        f'<svg class="{kind}" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img" '
        f'aria-label="{escape(title)}">{body}</svg>'
    )


def _element(element: ElementTree.Element) -> str:
    tag = element.tag.removeprefix(_SVG)
    if tag not in _SHAPES or element.get("display") == "none":
        return ""
    classes = " ".join(
        f"{prefix}-{PALETTE[colour]}"
        for name, prefix in (("fill", "f"), ("stroke", "s"))
        if (colour := element.get(name, "").lower()) in PALETTE
    )
    attributes = [f' class="{classes}"'] if classes else []
    for name, value in element.attrib.items():
        if name in _KEPT and _UNSEEN.get(name) != value:
            attributes.append(f' {name}="{escape(_shorter(value))}"')
    inside = "".join(_element(child) for child in element)
    text = escape(element.text) if element.text and tag in ("text", "tspan") else ""
    if not inside and not text:
        if tag in ("g", "text") or (tag == "path" and not classes):
            return ""
        return f"<{tag}{''.join(attributes)}/>"
    if tag == "g" and not attributes:
        return inside
    return f"<{tag}{''.join(attributes)}>{text}{inside}</{tag}>"


def _shorter(value: str) -> str:
    """Numbers with two decimals at most."""
    return re.sub(r"-?\d+\.\d{3,}(?:e-?\d+)?", lambda m: f"{float(m[0]):.2f}".rstrip("0").rstrip("."), value)
