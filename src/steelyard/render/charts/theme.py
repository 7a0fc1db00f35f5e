"""The colours of every chart.

They are those of Okabe and Ito, which nearly everybody can distinguish. A chart names a colour by a class, so that the
style sheet of a page can give the light or the dark one; elsewhere `with_colours` puts them in. Shades are made by
opacity alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

# A colour's name in the style sheet (--ink, --c1), and its light value.
PALETTE = {
    "ink": "#1b2330", "soft": "#566171", "line": "#dfe3e9", "paper": "#ffffff",
    "c1": "#0b6bb0", "c2": "#c9500a", "c3": "#00876a", "c4": "#b85a92",
    "c5": "#3f9fd8", "c6": "#b8860b", "c7": "#8a5a3c", "c8": "#7a8594",
}  # fmt: skip
# Colours on a background that is not known: texts and lines have that of the text around them, or a shade of it.
ADAPTING = {**PALETTE, **dict.fromkeys(("ink", "soft", "line"), "currentColor")}


def with_colours(svg: str, colours: Mapping[str, str] = PALETTE) -> str:
    """The drawing with colours in place of classes, for where there is no style sheet."""
    return re.sub(r' class="([^"]*)"', lambda match: _attributes(match[1], colours), svg)


def _attributes(classes: str, colours: Mapping[str, str]) -> str:
    shown: dict[str, str] = {}
    for name in classes.split():
        prefix, _, colour = name.partition("-")
        if prefix in ("f", "s") and colour in colours:
            shown["fill" if prefix == "f" else "stroke"] = colours[colour]
            if colours[colour] == "currentColor" and colour in ("soft", "line"):
                shown["opacity"] = "0.7" if colour == "soft" else "0.25"
        elif name == "faint":
            shown["fill-opacity"] = "0.15"
    if "stroke" in shown:
        shown.setdefault("fill", "none")
    return "".join(f' {name}="{value}"' for name, value in shown.items())
