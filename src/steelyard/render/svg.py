"""A scene as a picture: SVG that stands alone, readable without colour."""

from __future__ import annotations

import math
from html import escape

from steelyard.core.scene import BoxShape, EllipseShape, LineShape, PolygonShape, Scene
from steelyard.render.charts.layout import text_width
from steelyard.render.svg_parts import INK, PAPER, SIDE, Backdrop
from steelyard.render.svg_parts import number as _n
from steelyard.render.svg_parts import text as _text
from steelyard.render.svg_rasters import rasters_svg

# Truth is drawn solid, predictions dashed, so that colour is not needed to tell them apart.
TRUTH, PREDICTION, PAIR = "#00695c", "#c43e00", "#5b5b66"


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
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(wide)}" height="{_n(total)}" '
            f'viewBox="0 0 {_n(wide)} {_n(total)}" role="img" font-family="sans-serif">',
            f"<title>{escape(scene.title)}</title>",
            f"<desc>{escape(scene.summary)}</desc>",
            f'<rect width="{_n(wide)}" height="{_n(total)}" fill="{PAPER}"/>',
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
        f'<image href="{escape(backdrop.href)}" x="{_n(x)}" y="{_n(y)}" width="{_n(backdrop.width * scale)}" '
        f'height="{_n(backdrop.height * scale)}" preserveAspectRatio="none"/>'
    )


def _box(shape: BoxShape, x: float, y: float, scale: float) -> str:
    colour = TRUTH if shape.role == "truth" else PREDICTION
    dash = "" if shape.role == "truth" else ' stroke-dasharray="7 4"'
    fill = "none" if shape.matched else colour
    return (
        f'<rect class="{shape.role}" x="{_n(x)}" y="{_n(y)}" width="{_n(shape.w * scale)}" '
        f'height="{_n(shape.h * scale)}" fill="{fill}" fill-opacity="0.14" stroke="{colour}" '
        f'stroke-width="2"{dash}/>'
    )


def _name(shape: BoxShape, x: float, y: float, scale: float, wide: float) -> str:
    """A name at the box: a truth's above its upper edge, a detection's above its lower one."""
    truth = shape.role == "truth"
    at = max(y - 4, 13.0) if truth else y + shape.h * scale - 5
    return _text(_fitting(x + 3, shape.label, wide), at, shape.label, TRUTH if truth else PREDICTION)


def _fitting(x: float, label: str, wide: float) -> float:
    """Where a label begins so that it ends inside the picture: a letter is about 8 wide."""
    return max(min(x, wide - 8.0 * len(label)), 3.0)


def _corners(shape: PolygonShape) -> list[tuple[float, float]]:
    return list(zip(shape.points[::2], shape.points[1::2], strict=True))


def _outline(shape: PolygonShape, points: list[tuple[float, float]]) -> str:
    """An outline with a tick outwards from the middle of its first edge, so that its direction can be seen."""
    colour = TRUTH if shape.role == "truth" else PREDICTION
    dash = "" if shape.role == "truth" else ' stroke-dasharray="7 4"'
    fill = "none" if shape.matched else colour
    listed = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
    (x1, y1), (x2, y2) = points[0], points[1]
    x, y = (x1 + x2) / 2, (y1 + y2) / 2
    cx, cy = (sum(v) / len(points) for v in zip(*points, strict=True))
    far = math.hypot(x - cx, y - cy) or 1.0
    said = f"<title>{escape(shape.facts)}</title>" if shape.facts else ""
    return (
        f'<polygon class="{shape.role}" points="{listed}" fill="{fill}" fill-opacity="0.14" stroke="{colour}" '
        f'stroke-width="2"{dash} pointer-events="all">{said}</polygon>'
        f'<line x1="{_n(x)}" y1="{_n(y)}" x2="{_n(x + 7 * (x - cx) / far)}" y2="{_n(y + 7 * (y - cy) / far)}" '
        f'stroke="{colour}" stroke-width="2"/>'
    )


def _outline_name(shape: PolygonShape, points: list[tuple[float, float]], wide: float) -> str:
    """A name at the highest corner of a truth, at the lowest of a detection."""
    truth = shape.role == "truth"
    x, y = (min if truth else max)(points, key=lambda p: p[1])
    at = max(y - 4, 13.0) if truth else y - 5
    return _text(_fitting(x + 3, shape.label, wide), at, shape.label, TRUTH if truth else PREDICTION)


def _ellipse(shape: EllipseShape, x: float, y: float, scale: float) -> str:
    colour = TRUTH if shape.role == "truth" else PREDICTION
    dash = "" if shape.role == "truth" else ' stroke-dasharray="7 4"'
    fill = "none" if shape.matched else colour
    turn = f' transform="rotate({_n(shape.degrees)} {_n(x)} {_n(y)})"'
    return (
        f'<ellipse class="{shape.role}" cx="{_n(x)}" cy="{_n(y)}" rx="{_n(shape.a * scale)}" ry="{_n(shape.b * scale)}"'
        f'{turn} fill="{fill}" fill-opacity="0.12" stroke="{colour}" stroke-width="2"{dash}/>'
    )


def _line(line: LineShape, x1: float, y1: float, x2: float, y2: float) -> str:
    text = ""
    if line.label:
        text = _text((x1 + x2) / 2 + 5, (y1 + y2) / 2 - 5, line.label, PAIR)
    return (
        f'<line class="pair" x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}" '
        f'stroke="{PAIR}" stroke-width="1.5"/>'
        f'<circle cx="{_n(x1)}" cy="{_n(y1)}" r="3" fill="{TRUTH}"/>'
        f'<circle cx="{_n(x2)}" cy="{_n(y2)}" r="3" fill="{PREDICTION}"/>{text}'
    )


def _label(shape: EllipseShape, x: float, y: float, scale: float) -> str:
    """A name beside the centre: truths above it, predictions below."""
    above = shape.role == "truth"
    offset = -0.5 * shape.b * scale if above else 0.5 * shape.b * scale + 10
    return _text(x, y + offset, shape.label, TRUTH if above else PREDICTION, anchor="middle")


def _legend(scene: Scene, top: float) -> list[str]:
    y = top + 22
    items = [("truth", TRUTH, ""), ("detected", PREDICTION, ' stroke-dasharray="7 4"')]
    if not any(isinstance(shape, BoxShape | PolygonShape) for shape in scene.shapes):
        items.append(("pair, distance", PAIR, ""))
    drawn, x = [], 12.0
    for name, colour, dash in items:
        drawn.append(
            f'<line x1="{_n(x)}" y1="{_n(y - 4)}" x2="{_n(x + 26)}" y2="{_n(y - 4)}" stroke="{colour}" '
            f'stroke-width="2"{dash}/>' + _text(x + 32, y, name, INK)
        )
        x += 32 + text_width(name, 13) + 14
    drawn.append(_text(x, y, "filled: no partner", INK))
    drawn.append(_text(12, y + 24, scene.title, INK, size=15))
    drawn.append(_text(12, y + 45, scene.summary, INK))
    return drawn
