"""The picture of docs/growth.md: a panel for each task, CPU seconds by the number of units, both axes logarithmic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

ACROSS = 4
WIDE, HIGH, LEFT, TOP, RIGHT, BOTTOM = 236, 170, 44, 30, 14, 34  # of a panel, and its margins
HEAD = 44
INK, PALE, CPU, TWO = "#1b1b1f", "#c8c8d0", "#00695c", "#c43e00"


def chart(tasks: Mapping[str, Sequence[Mapping[str, float]]]) -> str:
    """SVG that stands alone."""
    down = math.ceil(len(tasks) / ACROSS)
    wide, high = ACROSS * WIDE, HEAD + down * HIGH
    seconds = [row[key] for rows in tasks.values() for row in rows for key in ("cpu_1", "cpu_2")]
    floor, ceiling = math.floor(math.log10(min(seconds))), math.ceil(math.log10(max(seconds)))
    title = "CPU seconds of every task for 1, 10 and 100 times the data"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" role="img"'
        ' font-family="sans-serif" font-size="11">',
        f"<title>{title}</title>",
        f'<rect width="{wide}" height="{high}" fill="#ffffff"/>',
        *_legend(),
    ]
    for place, (name, rows) in enumerate(tasks.items()):
        x, y = place % ACROSS * WIDE, HEAD + place // ACROSS * HIGH
        parts += [f'<g transform="translate({x} {y})">', *_panel(name, rows, floor, ceiling), "</g>"]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _legend() -> list[str]:
    made, x = [], LEFT
    for color, dash, text in (
        (CPU, "", "CPU s, one thread"),
        (TWO, "5 3", "CPU s, two threads"),
        (PALE, "", "in proportion to the data"),
    ):
        made.append(_line([(x, 22), (x + 28, 22)], color, dash))
        made.append(_text(x + 34, 26, text, "start"))
        x += 200
    return made


def _panel(name: str, rows: Sequence[Mapping[str, float]], floor: int, ceiling: int) -> list[str]:
    wide, high = WIDE - LEFT - RIGHT, HIGH - TOP - BOTTOM
    first, last = math.log10(rows[0]["units"]), math.log10(rows[-1]["units"])

    def place(units: float, seconds: float) -> tuple[float, float]:
        along = (math.log10(units) - first) / (last - first)
        up = (math.log10(seconds) - floor) / (ceiling - floor)
        return LEFT + wide * along, TOP + high * (1 - up)

    made = [_text(LEFT, TOP - 10, name, "start", "bold")]
    for power in range(floor, ceiling + 1):
        _, y = place(rows[0]["units"], 10.0**power)
        made += [_line([(LEFT, y), (WIDE - RIGHT, y)], "#ececf0"), _text(LEFT - 6, y + 4, f"{10.0**power:g}", "end")]
    for row, anchor in zip(rows, ("start", "middle", "end"), strict=True):
        made.append(_text(place(row["units"], 1)[0], HIGH - BOTTOM + 16, f"{row['units']:,.0f}", anchor))
    end = rows[-1]
    from_units = max(rows[0]["units"], end["units"] * 10.0**floor / end["cpu_1"])
    from_point = place(from_units, end["cpu_1"] * from_units / end["units"])
    made.append(_line([from_point, place(end["units"], end["cpu_1"])], PALE))
    made.append(_line([place(row["units"], row["cpu_2"]) for row in rows], TWO, "5 3"))
    made.append(_line([place(row["units"], row["cpu_1"]) for row in rows], CPU))
    dots = (place(row["units"], row["cpu_1"]) for row in rows)
    return made + [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{CPU}"/>' for x, y in dots]


def _line(points: Sequence[tuple[float, float]], color: str, dash: str = "") -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1.6"{dashed}/>'


def _text(x: float, y: float, text: str, anchor: str, weight: str = "normal") -> str:
    style = f'fill="{INK}" text-anchor="{anchor}" font-weight="{weight}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(text)}</text>'
