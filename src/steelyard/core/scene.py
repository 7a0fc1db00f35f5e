"""Scene: what a picture of one unit shows, before anybody decides how it looks."""

from __future__ import annotations

from typing import Literal

from steelyard.core.frozen import frozen

Role = Literal["truth", "prediction", "pair"]


@frozen
class EllipseShape:
    """An ellipse in pixels: centre, degrees from the x axis towards the y axis, half axes; y goes down."""

    role: Role
    x: float
    y: float
    degrees: float
    a: float
    b: float
    label: str = ""
    matched: bool = True


@frozen
class BoxShape:
    """A box in pixels: its left upper corner and its size; y goes down."""

    role: Role
    x: float
    y: float
    w: float
    h: float
    label: str = ""
    matched: bool = True


@frozen
class LineShape:
    """A line between two points: a pair."""

    role: Role
    x1: float
    y1: float
    x2: float
    y2: float
    label: str = ""


@frozen
class Scene:
    """The shapes of one unit and a line of text that says what they add up to."""

    title: str
    summary: str
    shapes: tuple[EllipseShape | BoxShape | LineShape, ...]
