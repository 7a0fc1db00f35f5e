"""Scene: what a picture of one unit shows, before anybody decides how it looks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from steelyard.core.frozen import Frozen

Role = Literal["truth", "prediction", "pair"]


class EllipseShape(Frozen):
    """An ellipse in pixels: centre, degrees from the x axis towards the y axis, half axes; y goes down."""

    role: Role
    x: float
    y: float
    degrees: float
    a: float
    b: float
    label: str = ""
    matched: bool = True


class BoxShape(Frozen):
    """A box in pixels: its left upper corner and its size; y goes down."""

    role: Role
    x: float
    y: float
    w: float
    h: float
    label: str = ""
    matched: bool = True


class PolygonShape(Frozen):
    """An outline in pixels: corners x1 y1 x2 y2 ... in order around; the first edge is marked. y goes down."""

    role: Role
    points: tuple[float, ...]
    label: str = ""
    matched: bool = True
    facts: str = ""


class LineShape(Frozen):
    """A line between two points: a pair."""

    role: Role
    x1: float
    y1: float
    x2: float
    y2: float
    label: str = ""


class RasterShape(Frozen):
    """A picture of pixels: a PNG as base64 text that covers an area from the left upper corner, under a title."""

    title: str
    png: str
    w: float
    h: float


class Scene(Frozen):
    """The shapes of one unit and a line of text that says what they add up to.

    `bounds` (left, top, right, bottom) is what the picture shows; without it, all shapes. `images` are names that the
    image below may have, without an ending. `rasters` are shown side by side, `legend` says what their colours
    (rrggbb) mean.
    """

    title: str
    summary: str
    shapes: tuple[EllipseShape | BoxShape | PolygonShape | LineShape, ...]
    bounds: tuple[float, float, float, float] | None = None
    images: tuple[str, ...] = ()
    rasters: tuple[RasterShape, ...] = ()
    legend: tuple[tuple[str, str], ...] = ()


class Steps(Frozen):
    """The pictures of a unit that has many, such as the frames of a sequence, in order.

    `numbers` are what they are called by; `counts` what can be seen in each, such as mistakes; `start` is the number
    of the one to look at first.
    """

    name: str
    numbers: tuple[int, ...]
    counts: Mapping[str, tuple[int, ...]]
    start: int
