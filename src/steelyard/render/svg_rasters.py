"""A scene of label maps as a picture: panels side by side, over the image where it is given, and what colours mean."""

from __future__ import annotations

import re
from html import escape

from steelyard.core.scene import Scene
from steelyard.render.charts.layout import fitting, text_width
from steelyard.render.svg_parts import INK, PAPER, SIDE, Backdrop, number, text

_GAP, _LINE = 12.0, 22.0
_BASE64, _COLOUR = re.compile(r"[A-Za-z0-9+/=]*"), re.compile(r"[0-9a-f]{6}")
_LETTERS, _SWATCH, _BETWEEN = 13, 18.0, 14.0  # of an entry of the legend
_NAME = 150.0  # that a name has at most


def rasters_svg(scene: Scene, backdrop: Backdrop | None = None) -> str:
    """Two panels in a row. Over an image they let it shine through."""
    each = (SIDE - _GAP) / 2
    high = max(raster.h * each / raster.w for raster in scene.rasters)
    body, y = [], 0.0
    for place, raster in enumerate(scene.rasters):
        x = (place % 2) * (each + _GAP)
        y = (place // 2) * (high + _LINE + _GAP)
        body.append(text(x, y + 15, raster.title, INK))
        if backdrop is not None:
            body.append(_image(backdrop.href, x, y + _LINE, each, high, ""))
        if _BASE64.fullmatch(raster.png):
            over = ' opacity="0.62"' if backdrop is not None else ""
            href = f"data:image/png;base64,{raster.png}"
            body.append(_image(href, x, y + _LINE, each, raster.h * each / raster.w, over, escape(raster.title)))
    y += high + _LINE + _GAP
    legend, rows = _legend(scene, y)
    total = y + rows * _LINE + 60
    words = [text(0, total - 36, scene.title, INK, size=15), text(0, total - 14, scene.summary, INK)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{number(SIDE)}" height="{number(total)}" '
            f'viewBox="0 0 {number(SIDE)} {number(total)}" role="img" font-family="sans-serif">',
            f"<title>{escape(scene.title)}</title>",
            f"<desc>{escape(scene.summary)}</desc>",
            f'<rect width="{number(SIDE)}" height="{number(total)}" fill="{PAPER}"/>',
            *body,
            *legend,
            *words,
            "</svg>\n",
        ]
    )


def _image(href: str, x: float, y: float, wide: float, high: float, more: str, name: str = "") -> str:
    """An image; `pixelated` keeps classes apart where it is enlarged."""
    title = f"<title>{name}</title>" if name else ""
    return (
        f'<image href="{escape(href)}" x="{number(x)}" y="{number(y)}" width="{number(wide)}" '
        f'height="{number(high)}" preserveAspectRatio="none" image-rendering="pixelated"{more}>{title}</image>'
    )


def _legend(scene: Scene, top: float) -> tuple[list[str], int]:
    """Swatches with their names, as many in a row as there is room for."""
    shown = [entry for entry in scene.legend if _COLOUR.fullmatch(entry[1])]
    names = fitting([name for name, _ in shown], _NAME, _LETTERS)
    each = _SWATCH + max((text_width(name, _LETTERS) for name in names), default=0.0) + _BETWEEN
    across = int((SIDE + _BETWEEN) // each)
    drawn = []
    for place, (short, (_, colour)) in enumerate(zip(names, shown, strict=True)):
        x, y = (place % across) * each, top + (place // across) * _LINE
        drawn.append(
            f'<rect x="{number(x)}" y="{number(y + 4)}" width="12" height="12" fill="#{colour}" stroke="{INK}" '
            f'stroke-width="0.5"/>' + text(x + _SWATCH, y + 15, short, INK, size=_LETTERS)
        )
    return drawn, -(-len(shown) // across)
