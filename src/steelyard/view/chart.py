"""A metric over time or over runs: points with their intervals, a colour per group, each a link to its run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from html import escape
from itertools import pairwise

from steelyard.core.frozen import frozen
from steelyard.render.numbers import interval_text, value_text
from steelyard.view.entry import Entry, Shown
from steelyard.view.query import group_of, natural
from steelyard.view.strips import Scale, shared_scale

COLOURS = 8  # groups with a colour of their own; the others share one
SIZES = (("wide", 1080, 320), ("middling", 720, 300), ("narrow", 360, 260))  # one of them is in sight
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 12, 30
MOST_JOINED = 60  # points of a group that a line joins
_DAY = 86400.0
_STEPS = (60.0, 300.0, 900.0, 3600.0, 3 * 3600.0, 6 * 3600.0, 12 * 3600.0,
          *(days * _DAY for days in (1, 2, 3, 4, 7, 14, 28)))  # fmt: skip


@frozen
class Point:
    """A run in the chart: where it stands, its score, its group and its address."""

    x: float
    score: Shown
    group: str
    address: str
    name: str


def chart(
    entries: Sequence[Entry], metric: str, over: str, group: str, address: Callable[[Entry], str]
) -> str:  # fmt: skip
    """The chart with its legend; nothing where fewer than two runs have the metric."""
    shown = [entry for entry in entries if metric in entry.scores and math.isfinite(entry.scores[metric].value)]
    shown.sort(key=lambda entry: (entry.date, entry.name))
    points = [
        Point(
            entry.date if over == "time" else float(i), entry.scores[metric], group_of(entry, group) if group else "",
            address(entry), entry.name,
        )
        for i, entry in enumerate(shown)
    ]  # fmt: skip
    if len(points) < 2:
        return ""
    counted = Counter(point.group for point in points)
    first = sorted((name for name, _ in counted.most_common(COLOURS)), key=natural)
    colours = {name: first.index(name) if name in first else COLOURS for name in counted}
    score = points[0].score
    title = f"{metric} over {'time' if over == 'time' else 'runs, the oldest first'}"
    drawn = "".join(_drawing(points, colours, over, *size) for size in SIZES)
    unit = f", {score.measured_in}" if score.measured_in else ""
    legend = _legend(colours) if group else ""
    return (
        f'<figure class="chart"><figcaption>{escape(title)} <small>{escape(score.label)}{escape(unit)}; bars are '
        f"intervals</small></figcaption>{drawn}{legend}</figure>"
    )


def _legend(colours: dict[str, int]) -> str:
    named = sorted((colour, name or "none") for name, colour in colours.items() if colour < COLOURS)
    left = len(colours) - len(named)
    items = [*named, *([(COLOURS, f"{left:,} others")] if left else [])]
    marks = "".join(
        f'<li><svg width="12" height="12" aria-hidden="true"><circle class="c{colour}" cx="6" cy="6" r="5"/></svg>'
        f" {escape(name)}</li>"
        for colour, name in items
    )
    return f'<ul class="legend series">{marks}</ul>'


def _drawing(points: Sequence[Point], colours: dict[str, int], over: str, name: str, wide: int, high: int) -> str:
    values = shared_scale(point.score for point in points) or Scale(0.0, 1.0)
    low, high_x = min(point.x for point in points), max(point.x for point in points)
    room = (high_x - low) * 0.03 or 1.0
    times = Scale(low - room, high_x + room)

    def x(at: float) -> float:
        return LEFT + times.x(at, wide - LEFT - RIGHT)

    def y(value: float) -> float:
        inside = high - TOP - BOTTOM
        return TOP + inside - min(max(values.x(value, inside), 0.0), inside)

    parts = []
    ticks = nice_ticks(values.low, values.high)
    for tick, text in zip(ticks, tick_texts(ticks), strict=True):
        at = f"{y(tick):.1f}"
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{wide - RIGHT}" y1="{at}" y2="{at}"/>')
        parts.append(f'<text class="tick end" x="{LEFT - 8}" y="{y(tick) + 4:.1f}">{escape(text)}</text>')
    for place, text in _x_ticks(low, high_x, over, wide // 120):
        half = 3.8 * len(text)
        anchor = "start" if x(place) - half < LEFT else "end" if x(place) + half > wide else "middle"
        parts.append(f'<text class="tick {anchor}" x="{x(place):.1f}" y="{high - 8}">{escape(text)}</text>')
    for group, colour in colours.items():
        own = [point for point in points if point.group == group]
        if 1 < len(own) <= MOST_JOINED and colour < COLOURS:
            line = " ".join(f"{x(point.x):.1f},{y(point.score.value):.1f}" for point in own)
            parts.append(f'<polyline class="c{colour}" points="{line}"/>')
    radius = 5 if len(points) <= 60 else 3
    parts += [_mark(point, x(point.x), y, colours.get(point.group, 0), radius) for point in points]
    return (
        f'<svg class="plot {name}" viewBox="0 0 {wide} {high}" role="img" aria-label="{len(points):,} runs">'
        f"{''.join(parts)}</svg>"
    )


def _mark(point: Point, x: float, y: Callable[[float], float], colour: int, radius: int) -> str:
    score, bar = point.score, ""
    if score.interval is not None and not any(math.isnan(end) for end in score.interval):
        bar = f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y(score.interval[0]):.1f}" y2="{y(score.interval[1]):.1f}"/>'
    words = f"{point.name}: {value_text(score.value, score.interval)} {interval_text(score.value, score.interval)}"
    return (
        f'<a href="{escape(point.address)}" tabindex="-1" class="c{colour}"><title>{escape(words.strip())}</title>{bar}'
        f'<circle cx="{x:.1f}" cy="{y(score.value):.1f}" r="{radius}"/></a>'
    )


def nice_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round values between two ends, `most` at most."""
    if not high > low:
        return [low]
    size = 10 ** math.floor(math.log10((high - low) / most))
    step = next((m * size for m in (1, 2, 5, 10) if (high - low) / (m * size) <= most), 10 * size)
    first = math.ceil(low / step)
    return [k * step for k in range(first, first + most + 1) if k * step <= high]


def tick_texts(ticks: Sequence[float]) -> list[str]:
    """The ticks with as many digits as tell them apart."""
    step = min((abs(b - a) for a, b in pairwise(ticks)), default=abs(ticks[0]) or 1.0)
    if not 1e-7 < step < 1e9:
        return [f"{tick:.3g}".replace("-", "−") for tick in ticks]
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return [f"{tick:,.{digits}f}".replace("-", "−") for tick in ticks]


def _x_ticks(low: float, high: float, over: str, most: int) -> list[tuple[float, str]]:
    if over != "time":
        return [(low, "oldest"), (high, "newest")]
    return time_ticks(low, high, most)


def time_ticks(low: float, high: float, most: int) -> list[tuple[float, str]]:
    """Whole days, hours or minutes between two times, `most` at most; the first time where there is none."""
    least = _DAY if high - low >= 2 * _DAY else 0.0
    step = next((step for step in _STEPS if step >= least and (high - low) / step < most), _STEPS[-1])
    while (high - low) / step >= most:
        step *= 2
    places = [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)] if abs(high) < 1e13 else []
    if not places:
        return [(low, moment(low, "%Y-%m-%d %H:%M" if high - low < _DAY else "%Y-%m-%d"))]
    if step >= _DAY:
        return [(place, moment(place, "%Y-%m-%d")) for place in places]
    days = [moment(place, "%m-%d") for place in places]
    return [
        (place, moment(place, "%H:%M" if i and days[i] == days[i - 1] else "%m-%d %H:%M"))
        for i, place in enumerate(places)
    ]


def moment(seconds: float, form: str = "%Y-%m-%d %H:%M UTC") -> str:
    """A time as a text; a file system may hold one that no calendar has."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime(form)
    except (OverflowError, OSError, ValueError):
        return "at an unknown time"
