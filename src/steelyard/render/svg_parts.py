"""What drawings of scenes share: the image below, text that can be read on lines, and numbers."""

from __future__ import annotations

from html import escape

from steelyard.core.frozen import frozen

INK, PAPER = "#1d1d22", "#ffffff"
SIDE = 720.0  # the longer side of the picture, in its own units


@frozen
class Backdrop:
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
