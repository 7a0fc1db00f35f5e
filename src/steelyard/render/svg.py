"""A scene as a picture: SVG that stands alone, readable without colour."""

from __future__ import annotations

import math
import re
from html import escape

from steelyard.core.frozen import Frozen
from steelyard.core.scene import BoxShape, EllipseShape, LineShape, PolygonShape, Scene
from steelyard.render.charts.layout import fit_names, text_width

INK, PAPER = "#1d1d22", "#ffffff"
SIDE = 720.0  # the longer side of the picture, in its own units


class Backdrop(Frozen):
    """The image itself, to lie under the shapes: where it is found, and its size in pixels."""

    href: str
    width: float
    height: float


def text(x: float, y: float, words: str, colour: str, *, anchor: str = "start", size: int = 13) -> str:
    """Text with a halo of the paper's colour, so that it can be read on top of lines."""
    return (
        f'<text x="{number(x)}" y="{number(y)}" fill="{colour}" font-size="{size}" text-anchor="{anchor}" '
        f'stroke="{PAPER}" stroke-width="3" paint-order="stroke">{escape(words)}</text>'
    )


def number(value: float) -> str:
    """A number with two decimals at most."""
    return f"{value:.2f}".rstrip("0").rstrip(".") or "0"


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
    legend, rows = _swatches(scene, y)
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


def _swatches(scene: Scene, top: float) -> tuple[list[str], int]:
    """Swatches with their names, as many in a row as there is room for."""
    shown = [entry for entry in scene.legend if _COLOUR.fullmatch(entry[1])]
    names = fit_names([name for name, _ in shown], _NAME, _LETTERS)
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


PAIR = "#5b5b66"


class Look(Frozen):
    """The line of a kind of object: line styles differ too, so that colour is not needed to tell them apart."""

    name: str
    colour: str
    width: float = 2.0
    dash: str = ""
    filled: bool = False

    def line(self, opacity: str = "0.13") -> str:
        """The attributes of a shape."""
        fill = f'fill="{self.colour}" fill-opacity="{opacity}"' if self.filled else 'fill="none"'
        dash = f' stroke-dasharray="{self.dash}"' if self.dash else ""
        return f'{fill} stroke="{self.colour}" stroke-width="{number(self.width)}"{dash}'


# The colours of the marks of a report's page.
TRUE_POSITIVE = Look("true positive", "#00876a")
FALSE_POSITIVE = Look("false positive", "#c9500a", dash="7 4", filled=True)
MISSED = Look("missed", "#0b6bb0", 2.5, "1.5 3", filled=True)
FOUND = Look("truth", "#00876a", 1.0)


def _look(shape: BoxShape | EllipseShape | PolygonShape) -> Look:
    if shape.role == "truth":
        return FOUND if shape.matched else MISSED
    return TRUE_POSITIVE if shape.matched else FALSE_POSITIVE


def scene_svg(scene: Scene, backdrop: Backdrop | None = None) -> str:
    """The picture: shapes to scale, over the image where it is given, a legend below."""
    if scene.rasters:
        return rasters_svg(scene, backdrop)
    left, top, right, bottom = (
        (scene.bounds or _bounds(scene)) if backdrop is None else (0.0, 0.0, backdrop.width, backdrop.height)
    )
    width, height = right - left, bottom - top
    scale = SIDE / max(width, height)
    wide, high = max(width * scale, 480.0), height * scale
    shift = (wide - width * scale) / 2

    def place(x: float, y: float) -> tuple[float, float]:
        return (x - left) * scale + shift, (y - top) * scale

    lines = [s for s in scene.shapes if isinstance(s, LineShape)]
    ellipses = [s for s in scene.shapes if isinstance(s, EllipseShape)]
    boxes = [s for s in scene.shapes if isinstance(s, BoxShape)]
    body = [] if backdrop is None else [_backdrop(backdrop, *place(0.0, 0.0), scale)]
    body += [_box(shape, *place(shape.x, shape.y), scale) for shape in boxes]
    outlines = [(s, [place(*p) for p in _corners(s)]) for s in scene.shapes if isinstance(s, PolygonShape)]
    body += [_outline(shape, points) for shape, points in outlines]
    body += [_ellipse(shape, *place(shape.x, shape.y), scale) for shape in ellipses]
    body += [_line(line, *place(line.x1, line.y1), *place(line.x2, line.y2)) for line in lines]
    body += [_label(shape, *place(shape.x, shape.y), scale) for shape in ellipses if shape.label]
    body += [_name(shape, *place(shape.x, shape.y), scale, wide) for shape in boxes if shape.label]
    body += [_outline_name(shape, points, wide) for shape, points in outlines if shape.label]
    total = high + 84
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{number(wide)}" height="{number(total)}" '
            f'viewBox="0 0 {number(wide)} {number(total)}" role="img" font-family="sans-serif">',
            f"<title>{escape(scene.title)}</title>",
            f"<desc>{escape(scene.summary)}</desc>",
            f'<rect width="{number(wide)}" height="{number(total)}" fill="{PAPER}"/>',
            *body,
            *_legend(scene, high),
            "</svg>\n",
        ]
    )


def _bounds(scene: Scene) -> tuple[float, float, float, float]:
    """A box around all shapes, with room for labels."""
    boxes = []
    for shape in scene.shapes:
        if isinstance(shape, EllipseShape):
            t = math.radians(shape.degrees)
            w = math.hypot(shape.a * math.cos(t), shape.b * math.sin(t))
            h = math.hypot(shape.a * math.sin(t), shape.b * math.cos(t))
            boxes.append((shape.x - w, shape.y - h, shape.x + w, shape.y + h))
        elif isinstance(shape, BoxShape):
            boxes.append((shape.x, shape.y, shape.x + shape.w, shape.y + shape.h))
        elif isinstance(shape, PolygonShape):
            xs, ys = shape.points[::2], shape.points[1::2]
            boxes.append((min(xs), min(ys), max(xs), max(ys)))
    if not boxes:
        return 0.0, 0.0, 100.0, 40.0
    left, top = min(b[0] for b in boxes), min(b[1] for b in boxes)
    right, bottom = max(b[2] for b in boxes), max(b[3] for b in boxes)
    margin = 0.06 * max(right - left, bottom - top) or 1.0
    return left - margin, top - margin, right + margin, bottom + margin


def _backdrop(backdrop: Backdrop, x: float, y: float, scale: float) -> str:
    return (
        f'<image href="{escape(backdrop.href)}" x="{number(x)}" y="{number(y)}" '
        f'width="{number(backdrop.width * scale)}" height="{number(backdrop.height * scale)}" '
        f'preserveAspectRatio="none"/>'
    )


def _box(shape: BoxShape, x: float, y: float, scale: float) -> str:
    return (
        f'<rect class="{shape.role}" x="{number(x)}" y="{number(y)}" width="{number(shape.w * scale)}" '
        f'height="{number(shape.h * scale)}" {_look(shape).line()}/>'
    )


def _name(shape: BoxShape, x: float, y: float, scale: float, wide: float) -> str:
    """A name at the box: a truth's above its upper edge, a detection's above its lower one."""
    truth = shape.role == "truth"
    at = max(y - 4, 13.0) if truth else y + shape.h * scale - 5
    return text(_fitting(x + 3, shape.label, wide), at, shape.label, _look(shape).colour)


def _fitting(x: float, label: str, wide: float) -> float:
    """Where a label begins so that it ends inside the picture: a letter is about 8 wide."""
    return max(min(x, wide - 8.0 * len(label)), 3.0)


def _corners(shape: PolygonShape) -> list[tuple[float, float]]:
    return list(zip(shape.points[::2], shape.points[1::2], strict=True))


def _outline(shape: PolygonShape, points: list[tuple[float, float]]) -> str:
    """An outline with a tick outwards from the middle of its first edge, so that its direction can be seen."""
    look = _look(shape)
    listed = " ".join(f"{number(x)},{number(y)}" for x, y in points)
    (x1, y1), (x2, y2) = points[0], points[1]
    x, y = (x1 + x2) / 2, (y1 + y2) / 2
    cx, cy = (sum(v) / len(points) for v in zip(*points, strict=True))
    far = math.hypot(x - cx, y - cy) or 1.0
    tooltip = f"<title>{escape(shape.facts)}</title>" if shape.facts else ""
    return (
        f'<polygon class="{shape.role}" points="{listed}" {look.line()} pointer-events="all">{tooltip}</polygon>'
        f'<line x1="{number(x)}" y1="{number(y)}" '
        f'x2="{number(x + 7 * (x - cx) / far)}" y2="{number(y + 7 * (y - cy) / far)}" '
        f'stroke="{look.colour}" stroke-width="2"/>'
    )


def _outline_name(shape: PolygonShape, points: list[tuple[float, float]], wide: float) -> str:
    """A name at the highest corner of a truth, at the lowest of a detection."""
    truth = shape.role == "truth"
    x, y = (min if truth else max)(points, key=lambda p: p[1])
    at = max(y - 4, 13.0) if truth else y - 5
    return text(_fitting(x + 3, shape.label, wide), at, shape.label, _look(shape).colour)


def _ellipse(shape: EllipseShape, x: float, y: float, scale: float) -> str:
    turn = f' transform="rotate({number(shape.degrees)} {number(x)} {number(y)})"'
    return (
        f'<ellipse class="{shape.role}" cx="{number(x)}" cy="{number(y)}" rx="{number(shape.a * scale)}" '
        f'ry="{number(shape.b * scale)}"'
        f"{turn} {_look(shape).line()}/>"
    )


def _line(line: LineShape, x1: float, y1: float, x2: float, y2: float) -> str:
    label = ""
    if line.label:
        label = text((x1 + x2) / 2 + 5, (y1 + y2) / 2 - 5, line.label, PAIR)
    return (
        f'<line class="pair" x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}" '
        f'stroke="{PAIR}" stroke-width="1.5"/>'
        f'<circle cx="{number(x1)}" cy="{number(y1)}" r="3" fill="{FOUND.colour}"/>'
        f'<circle cx="{number(x2)}" cy="{number(y2)}" r="3" fill="{PAIR}"/>{label}'
    )


def _label(shape: EllipseShape, x: float, y: float, scale: float) -> str:
    """A name beside the centre: truths above it, predictions below."""
    above = shape.role == "truth"
    offset = -0.5 * shape.b * scale if above else 0.5 * shape.b * scale + 10
    return text(x, y + offset, shape.label, _look(shape).colour, anchor="middle")


def _legend(scene: Scene, top: float) -> list[str]:
    y = top + 22
    outlined = any(isinstance(shape, BoxShape | PolygonShape) for shape in scene.shapes)
    drawn, x = [], 12.0
    for look in (TRUE_POSITIVE, FALSE_POSITIVE, MISSED, FOUND if outlined else Look("distance", PAIR, 1.5)):
        drawn.append(
            f'<line x1="{number(x)}" y1="{number(y - 4)}" x2="{number(x + 24)}" y2="{number(y - 4)}" {look.line()}/>'
            + text(x + 29, y, look.name, INK)
        )
        x += 29 + text_width(look.name, 13) + 10
    drawn.append(text(12, y + 24, scene.title, INK, size=15))
    drawn.append(text(12, y + 45, scene.summary, INK))
    return drawn
