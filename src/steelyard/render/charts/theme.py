"""What every chart looks like: sizes, letters and colours.

Colours are those of Okabe and Ito, which nearly everybody can distinguish. A chart is drawn in the light colours; in a
page each of them becomes a class, so that the style sheet can give the dark ones. A colour that is not in PALETTE is
therefore a mistake, and shades are made by opacity alone.
"""

from __future__ import annotations

from typing import Any

INK, SOFT, LINE, PAPER = "#1b2330", "#566171", "#dfe3e9", "#ffffff"
BLUE, ORANGE, GREEN, PINK, SKY, YELLOW, BROWN, GREY = (
    "#0b6bb0", "#c9500a", "#00876a", "#b85a92", "#3f9fd8", "#b8860b", "#8a5a3c", "#7a8594",
)  # fmt: skip
SERIES = (BLUE, ORANGE, GREEN, PINK, SKY, YELLOW, BROWN, GREY)

# A colour's name in the style sheet: --ink, --c1 ...
PALETTE = {
    INK: "ink", SOFT: "soft", LINE: "line", PAPER: "paper",
    **{colour: f"c{i + 1}" for i, colour in enumerate(SERIES)},
}  # fmt: skip

# Lines and points differ without colours too.
DASHES = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (4, 4), (1, 3), (10, 4), (5, 2, 1, 2, 1, 2))
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-left", "triangle-right")

HEIGHT = 270.0
FONT = "system-ui, -apple-system, Segoe UI, Roboto, Helvetica Neue, Arial, sans-serif"


def config(font: str = FONT) -> dict[str, Any]:
    """Vega-Lite's settings for all charts."""
    return {
        "background": None,
        "font": font,
        "view": {"stroke": None},
        "axis": {
            "labelColor": SOFT, "titleColor": INK, "gridColor": LINE, "domainColor": GREY, "tickColor": GREY,
            "labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": 500, "tickSize": 4, "titlePadding": 8,
            "labelLimit": 150, "domain": False, "ticks": False, "labelPadding": 6,
        },
        "axisQuantitative": {"labelOverlap": True, "labelSeparation": 12, "labelFlush": False, "labelBound": False},
        "header": {"labelColor": INK, "labelFontSize": 12, "labelFontWeight": 500, "title": None},
        "legend": {
            "labelColor": INK, "titleColor": SOFT, "labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": 500,
            "orient": "top", "title": None, "symbolSize": 70, "labelLimit": 180, "offset": 6, "columnPadding": 26,
        },
        "range": {"category": list(SERIES)},
        "text": {"color": INK, "fontSize": 11},
    }  # fmt: skip
