"""A scene graph as text, JSON and a drawing. Takes tuples as they are; where they come from is not its business."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from html import escape

Tuples = Sequence[Sequence[str]]


def as_text(tuples: Tuples) -> str:
    """Objects with their attributes, then relations, one per line."""
    objects, attributes, relations = _sorted(tuples)
    lines = [f"{name} ({', '.join(attributes[name])})" if attributes[name] else name for name in objects]
    lines += [f"{a} -- {relation} -> {b}" for a, relation, b in relations]
    return "\n".join(lines)


def as_json(caption: str, tuples: Tuples, tree: Sequence[Sequence[str | int]] | None = None) -> str:
    """Caption, tuples as SPICE counts them, the same by kind, and the tree where it is given; in one line."""
    objects, attributes, relations = _sorted(tuples)
    return json.dumps(
        {
            "caption": caption,
            "tuples": [list(entry) for entry in dict.fromkeys(map(tuple, tuples))],
            "objects": objects,
            "attributes": [[name, value] for name in objects for value in attributes[name]],
            "relations": [list(relation) for relation in relations],
            **({} if tree is None else {"tree": tree}),
        },
        ensure_ascii=False,
    )


def _sorted(tuples: Tuples) -> tuple[list[str], dict[str, list[str]], list[tuple[str, str, str]]]:
    """Objects in the order in which they are named, attributes by object, relations; nothing twice."""
    objects: dict[str, None] = {}
    attributes: dict[str, dict[str, None]] = {}
    relations: dict[tuple[str, str, str], None] = {}
    for entry in tuples:
        objects.setdefault(entry[0])
        if len(entry) == 2:
            attributes.setdefault(entry[0], {}).setdefault(entry[1])
        elif len(entry) == 3:
            objects.setdefault(entry[2])
            relations.setdefault((entry[0], entry[1], entry[2]))
    return list(objects), {name: list(attributes.get(name, ())) for name in objects}, list(relations)


_HEIGHT, _GAP, _LETTER = 30, 26, 7.6
_STYLE = """
text { font: 14px system-ui, sans-serif; text-anchor: middle; dominant-baseline: middle; fill: #1a1a1a }
.object { fill: #dbe9f6; stroke: #3b6ea5 } .attribute { fill: #e4f0dc; stroke: #5b8a3c }
.edge { fill: none; stroke: #777 } .label { fill: #444; font-style: italic; font-size: 13px }
.halo { fill: none; stroke: #fff; stroke-width: 4 }
@media (prefers-color-scheme: dark) { svg { background: #fff } }
"""


def as_svg(caption: str, tuples: Tuples) -> str:
    """A drawing: objects in a row, attributes above them, relations as arcs below."""
    objects, attributes, relations = _sorted(tuples)
    widths = {name: max([len(name), *(len(value) for value in attributes[name])]) * _LETTER + 26 for name in objects}
    x: dict[str, float] = {}
    at = 20.0
    for name in objects:
        x[name] = at + widths[name] / 2
        at += widths[name] + _GAP + 34
    width = max(at, len(caption) * _LETTER + 40, 240)
    tall = max((len(values) for values in attributes.values()), default=0)
    row = 60 + tall * (_HEIGHT + 8) + 14
    parts: list[str] = []
    lowest = row + _HEIGHT
    for place, (a, relation, b) in enumerate(relations):
        middle, reach = (x[a] + x[b]) / 2, abs(x[a] - x[b])
        depth = row + _HEIGHT + 44 + 26 * (place % 4) + min(90.0, reach / 7)
        start, end = (x[a] - 9, x[a] + 9) if a == b else (x[a], x[b])
        label = row + _HEIGHT + (depth - row - _HEIGHT) * 0.75
        parts.append(
            f'<path class="edge" marker-end="url(#tip)" d="M{start:.1f},{row + _HEIGHT} '
            f'C{start:.1f},{depth:.1f} {end:.1f},{depth:.1f} {end:.1f},{row + _HEIGHT + 2}"/>'
        )
        parts += [
            f'<text class="{kind}" x="{middle:.1f}" y="{label:.1f}">{escape(relation)}</text>'
            for kind in ("halo", "label")
        ]
        lowest = max(lowest, math.ceil(depth))
    for name in objects:
        for i, value in enumerate(attributes[name]):
            parts += _box("attribute", value, x[name], row - (i + 1) * (_HEIGHT + 8), widths[name] - 10)
        if attributes[name]:
            parts.append(f'<path class="edge" d="M{x[name]:.1f},{row} v-8"/>')
        parts += _box("object", name, x[name], row, widths[name])
    height = lowest + 24
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img"><title>{escape(caption)}</title><style>{_STYLE}</style>'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#777"/></marker></defs>'
        f'<text x="{width / 2:.1f}" y="26">{escape(caption)}</text>{"".join(parts)}</svg>\n'
    )


def _box(kind: str, text: str, middle: float, top: float, width: float) -> list[str]:
    return [
        f'<rect class="{kind}" x="{middle - width / 2:.1f}" y="{top:.1f}" width="{width:.1f}" '
        f'height="{_HEIGHT}" rx="7"/>',
        f'<text x="{middle:.1f}" y="{top + _HEIGHT / 2 + 1:.1f}">{escape(text)}</text>',
    ]
