"""The list of runs: one form without any script, whose fields and buttons are the address of what it shows.

A metric over time or over runs: points with their intervals, a colour per group, each a link to its run.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl

from steelyard.core.counts import count_text
from steelyard.core.frozen import Frozen
from steelyard.render.numbers import in_unit, interval_text, value_text
from steelyard.render.text import ARROWS
from steelyard.view.board import board, change_sentences, flagged
from steelyard.view.entry import Entry, Shown, moment
from steelyard.view.frame import Scale, Site, Watch, document, shared_scale, strip, wrapped
from steelyard.view.query import A_PAGE, GROUPS, SORTS, Query, common, fits, group_of, matching, natural
from steelyard.view.runs import state_of
from steelyard.view.trend import series_of

COLOURS = 8  # groups with a colour of their own; the others share one
SIZES = (("wide", 1080, 320), ("middling", 720, 300), ("narrow", 360, 260))  # one of them is in sight
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 12, 30
MOST_JOINED = 60  # points of a group that a line joins
_DAY = 86400.0
_STEPS = (60.0, 300.0, 900.0, 3600.0, 3 * 3600.0, 6 * 3600.0, 12 * 3600.0,
          *(days * _DAY for days in (1, 2, 3, 4, 7, 14, 28)))  # fmt: skip


class Point(Frozen):
    """A run in the chart: where it stands, its score, its group and its address; `flagged` where a change begins."""

    x: float
    score: Shown
    group: str
    address: str
    name: str
    flagged: bool = False


def chart(
    entries: Sequence[Entry], metric: str, over: str, group: str, address: Callable[[Entry], str],
    flags: Collection[str] = (),
) -> str:  # fmt: skip
    """The chart with its legend; nothing where fewer than two runs have the metric. `flags` are ids of runs."""
    shown = [entry for entry in entries if metric in entry.scores and math.isfinite(entry.scores[metric].value)]
    shown.sort(key=lambda entry: (entry.date, entry.name))
    points = [
        Point(
            entry.date if over == "time" else float(i), entry.scores[metric], group_of(entry, group) if group else "",
            address(entry), entry.name, entry.id in flags,
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
    marks = "; a dashed line is a flagged change" if any(point.flagged for point in points) else ""
    return (
        f'<figure class="chart"><figcaption>{escape(title)} <small>{escape(score.label)}{escape(unit)}; bars are '
        f"intervals{marks}</small></figcaption>{drawn}{legend}</figure>"
    )


def _legend(colours: dict[str, int]) -> str:
    named = sorted((colour, name or "none") for name, colour in colours.items() if colour < COLOURS)
    left = len(colours) - len(named)
    items = [*named, *([(COLOURS, count_text(left, "other"))] if left else [])]
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
    free = -math.inf  # labels from here on do not touch the one before
    for place, text in _x_ticks(low, high_x, over, wide // 120):
        half = 3.8 * len(text)
        anchor = "start" if x(place) - half < LEFT else "end" if x(place) + half > wide else "middle"
        start = x(place) - {"start": 0.0, "middle": half, "end": 2 * half}[anchor]
        if start < free:
            continue
        free = start + 2 * half + 6
        parts.append(f'<text class="tick {anchor}" x="{x(place):.1f}" y="{high - 8}">{escape(text)}</text>')
    for group, colour in colours.items():
        own = [point for point in points if point.group == group]
        if 1 < len(own) <= MOST_JOINED and colour < COLOURS:
            line = " ".join(f"{x(point.x):.1f},{y(point.score.value):.1f}" for point in own)
            parts.append(f'<polyline class="c{colour}" points="{line}"/>')
    radius = 5 if len(points) <= 60 else 3
    parts += [
        f'<line class="flag c{colours.get(point.group, 0)}" x1="{x(point.x):.1f}" x2="{x(point.x):.1f}" y1="{TOP}" '
        f'y2="{high - BOTTOM}"/>'
        for point in points
        if point.flagged
    ]
    parts += [_mark(point, x(point.x), y, colours.get(point.group, 0), radius) for point in points]
    return (
        f'<svg class="plot {name}" viewBox="0 0 {wide} {high}" role="img" '
        f'aria-label="{count_text(len(points), "run")}">'
        f"{''.join(parts)}</svg>"
    )


def _mark(point: Point, x: float, y: Callable[[float], float], colour: int, radius: int) -> str:
    score, bar = point.score, ""
    if score.interval is not None and not any(math.isnan(end) for end in score.interval):
        bar = f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y(score.interval[0]):.1f}" y2="{y(score.interval[1]):.1f}"/>'
    words = f"{point.name}: {value_text(score.value, score.interval)} {interval_text(score.value, score.interval)}"
    words += "; a change begins here" if point.flagged else ""
    ring = f'<circle class="ring" cx="{x:.1f}" cy="{y(score.value):.1f}" r="{radius + 4}"/>' if point.flagged else ""
    return (
        f'<a href="{escape(point.address)}" tabindex="-1" class="c{colour}"><title>{escape(words.strip())}</title>{bar}'
        f'<circle cx="{x:.1f}" cy="{y(score.value):.1f}" r="{radius}"/>{ring}</a>'
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


_ELSEWHERE = ("model", "data", "date")  # tags that a row shows as what they are
SHOWN_SCORES, SHOWN_FOREIGN, MOST_COMPARED = 3, 200, 8
EXPORTS = ("csv", "json", "html")


def list_page(site: Site, entries: Sequence[Entry], folder: str, query: Query) -> str:
    """Every run that the view asks for, a chart where it names a metric, and what else lies in the folder."""
    runs = [entry for entry in entries if not entry.foreign]
    watch = Watch(f"{site.base}/state", *state_of(entries))
    foreign = _foreign([entry for entry in entries if entry.foreign])
    if not runs:
        body = (
            '<p class="note">There are no results here yet. Write one with <code>steelyard evaluate TASK TRUTH '
            f"PREDICTIONS -o {escape(folder)}/result.json</code>; it appears here by itself.</p>"
        )
        return document("No runs", folder, body + foreign, watch=watch)
    shown = matching(runs, query)
    start = min(query.at, max(0, len(shown) - 1) // A_PAGE) * A_PAGE
    page = shown[start : start + A_PAGE]
    picked = [entry for entry in runs if entry.id in query.runs]
    total = count_text(len(runs), "run")
    title = total if not query.narrowed else f"{len(shown):,} of {total}"
    body = (
        f'<form class="list" action="{escape(site.base)}/" method="get">{_controls(site, runs, query)}'
        f'<div id="top">{_top(site, shown, query, start)}</div>'
        f'<section id="list" aria-labelledby="runs">{_picked_fields(picked, page)}'
        f'<h2 id="runs">{"Runs" if query.narrowed else "All runs"}</h2>{_exports(site, query)}'
        f"{_table(site, shown, page, query, picked)}{_turning(query, start, len(shown))}</section>"
        f"{_bar(site, runs)}</form>{foreign}"
    )
    return document(title, folder, body, watch=watch)


def _top(site: Site, shown: Sequence[Entry], query: Query, start: int) -> str:
    """The board of the first page, or the chart of a metric with its changes."""
    series = series_of(shown)
    if not query.metric:
        return "" if start else board(site, series, query)
    changes = flagged(site, series, query.metric)
    flags = {run.id for pairs in changes.values() for run, _ in pairs}
    group = query.group or ("model" if 1 < len({one.model for one in series}) <= COLOURS else "")
    drawn = chart(shown, query.metric, query.over, group, site.entry, flags)
    if not drawn:
        return '<p class="note">Fewer than two of these runs have this metric: there is nothing to draw.</p>'
    return drawn + change_sentences(site, series, query.metric, changes)


# --- fields


def _controls(site: Site, runs: Sequence[Entry], query: Query) -> str:
    metrics = common((spec for run in runs if not query.task or run.task == query.task for spec in run.scores), 400)
    tags = common(f"{name}={value}" for run in runs for name, value in run.tags.items())
    names = common(name for run in runs for name in run.tags)
    groups = {**GROUPS, **{f"tag:{name}": f"tag {name}" for name in names}}
    sorts = {**SORTS, **({"metric": query.metric} if query.metric else {})}
    sorts |= {f"tag:{name}": f"tag {name}" for name in names}
    orders = {
        f"{sign}{key}": f"{name} {arrow}" for key, name in sorts.items() for sign, arrow in (("-", "↓"), ("", "↑"))
    }
    first = (
        _field("Search", f'<input type="search" name="q" value="{escape(query.q)}" accesskey="s">', "search")
        + _choice("Task", "task", dict.fromkeys(common(run.task for run in runs)), query.task, "all")
        + _choice("Draw a metric", "metric", dict.fromkeys(metrics), query.metric, "none")
        + _choice("Group by", "group", groups, query.group, "nothing")
    )
    more = (
        _choice("Sort by", "sort", orders, query.sort)
        + _choice("Kind", "kind", dict.fromkeys(common(run.kind for run in runs)), query.kind, "all")
        + _input_with_values("Model", "model", common(model for run in runs for model in run.models), query.model)
        + _input_with_values("Data set", "data", common(run.data for run in runs), query.data)
        + (_input_with_values("Tag", "tag", tags, "") if tags else "")
        + _field("Since", f'<input type="date" name="since" value="{escape(query.since)}">')
        + _field("Until", f'<input type="date" name="until" value="{escape(query.until)}">')
        + _choice("Draw over", "over", {"time": "time", "runs": "runs"}, query.over)
    )
    ticked = "".join(
        f'<label class="chip"><input type="checkbox" name="tag" value="{escape(tag)}" checked> {escape(tag)}</label>'
        for tag in query.tags
    )
    used = any((query.kind, query.model, query.data, query.since, query.until)) or query.sort != "-date"
    folded = f"<details{' open' if used else ''}><summary>More</summary><div class='fields'>{more}</div></details>"
    reset = f'<a href="{escape(site.base)}/">Show all</a>' if query.text(at=0, runs=()) else ""
    return (
        f'<div class="fields">{first}<div class="go"><button type="submit">Show</button>{reset}</div></div>'
        f"{f'<p class=chips>{ticked}</p>' if ticked else ''}{folded}"
    )


def _field(name: str, inside: str, kind: str = "") -> str:
    return f'<label class="field {kind}"><span>{escape(name)}</span>{inside}</label>'


def _choice(title: str, name: str, choices: Mapping[str, str | None], chosen: str, nothing: str = "") -> str:
    """A field to choose in; `nothing` is what stands for no choice."""
    none = {"": nothing} if nothing else {}
    other = {chosen: chosen} if chosen and chosen not in choices else {}
    shown: dict[str, str | None] = {**none, **choices, **other}
    options = "".join(
        f'<option value="{escape(value)}"{" selected" if value == chosen else ""}>{escape(text or value)}</option>'
        for value, text in shown.items()
    )
    return _field(title, f'<select name="{name}">{options}</select>')


def _input_with_values(title: str, name: str, values: Iterable[str], chosen: str) -> str:
    options = "".join(f'<option value="{escape(value)}"></option>' for value in values)
    listed = f'<datalist id="{name}-values">{options}</datalist>'
    return _field(title, f'<input name="{name}" value="{escape(chosen)}" list="{name}-values">{listed}')


def _picked_fields(picked: Sequence[Entry], page: Sequence[Entry]) -> str:
    """Runs that are picked and not in sight stay picked."""
    away = [run for run in picked if run not in page]
    hidden_fields = "".join(f'<input type="hidden" name="run" value="{run.id}">' for run in away)
    if not picked:
        return ""
    names = ", ".join(escape(run.title) for run in picked[:MOST_COMPARED])
    return f'{hidden_fields}<p class="note">Picked: {names}. Only runs of the same task and truth are offered.</p>'


def _exports(site: Site, query: Query) -> str:
    """Links to files of all that the list shows, not only of this page."""
    text = query.text(at=0, runs=())
    links = ", ".join(
        f'<a href="{escape(site.base)}/export/{form}{f"?{escape(text)}" if text else ""}">{form.upper()}</a>'
        for form in EXPORTS
    )
    return f'<p class="legend">Export this list: {links}</p>'


# --- the table


def _table(
    site: Site, shown: Sequence[Entry], page: Sequence[Entry], query: Query, picked: Sequence[Entry]
) -> str:  # fmt: skip
    if not page:
        return '<p class="note">No run is like that.</p>'
    metric = query.metric
    scale = shared_scale(run.scores[metric] for run in shown if metric in run.scores) if metric else None
    heads = '<th scope="col" class="pick"><span class="unseen">compare</span></th>'
    heads += _head("run", "name", query) + _head("task", "task", query) + _head("units", "units", query, "number")
    heads += _head(metric, "metric", query) if metric else '<th scope="col">scores</th>'
    heads += _head("date", "date", query)
    rows, before = [], None
    for run in page:
        group = group_of(run, query.group) if query.group else None
        if group is not None and group != before:
            rows.append(_group_row(group, [one for one in shown if group_of(one, query.group) == group], query))
            before = group
        rows.append(_row(site, run, query, scale, picked))
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="Runs"><table class="runs"><caption>Runs</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _head(text: str, key: str, query: Query, kind: str = "") -> str:
    """A column's name, which is a button that sorts by it: pressed again, the other way round."""
    now = query.sort.removeprefix("-") == key
    down = query.sort.startswith("-")
    other = key if now and down else f"-{key}" if now or key in ("date", "units") else key
    order = f' aria-sort="{"descending" if down else "ascending"}"' if now else ""
    arrow = (" ↓" if down else " ↑") if now else ""
    return (
        f'<th scope="col" class="{kind}"{order}><button class="sort" name="sort" value="{escape(other)}">'
        f"{escape(text)}{arrow}</button></th>"
    )


def _group_row(group: str, members: Sequence[Entry], query: Query) -> str:
    """The name of a group, how many runs it has, and the range of the metric in it."""
    scores = [run.scores[query.metric] for run in members if query.metric in run.scores]
    values = sorted(score.value for score in scores if score.value == score.value)
    ends = dict.fromkeys(value_text(value) for value in (values[0], values[-1])) if values else {}
    between = f"; {query.metric} {' to '.join(ends)}" if ends else ""
    words = f"{count_text(len(members), 'run')}{between}"
    return (
        f'<tr class="group"><th scope="rowgroup" colspan="6">{escape(group or "none")} <small>{escape(words)}</small>'
        "</th></tr>"
    )


def _row(
    site: Site, run: Entry, query: Query, scale: Scale | None, picked: Sequence[Entry], picking: bool = True
) -> str:
    name, identity = wrapped(run.title), f' data-run="{run.id}" data-name="{escape(run.title)}"'
    when = f'<td class="when"><small>{escape(moment(run.date).removesuffix(" 00:00 UTC"))}</small></td>'
    if run.problem:
        return (
            f'<tr class="broken"{identity}><td class="pick"></td><td class="run"><span class="name">{name}</span></td>'
            f'<td colspan="3" class="problem">{escape(run.problem)}</td>{when}</tr>'
        )
    box = ""
    if picking and fits(run, picked):
        ticked = " checked" if run.id in query.runs else ""
        label = escape(run.title if run.title == run.name else f"{run.title}, {run.name}")
        box = f'<input type="checkbox" name="run" value="{run.id}" aria-label="compare {label}"{ticked}>'
    tag = "button" if picking else "span"
    tags = "".join(
        f'<{tag} class="tag" name="tag" value="{escape(f"{key}={value}")}">{escape(key)}={escape(value)}</{tag}>'
        for key, value in run.tags.items()
        if key not in _ELSEWHERE
    )
    about = f"{run.name if run.title != run.name else run.model} on {run.data}" if run.kind == "report" else run.about
    if query.metric and query.metric in run.scores:
        scores = strip(run.scores[query.metric], scale) + _short("", run.scores[query.metric])
    elif query.metric:
        scores = "–"
    else:
        scores = "".join(_short(spec, score) for spec, score in list(run.scores.items())[:SHOWN_SCORES])
        more = len(run.scores) - SHOWN_SCORES
        scores += f"<small>and {more} more</small>" if more > 0 else ""
    return (
        f'<tr{identity}><td class="pick">{box}</td>'
        f'<td class="run"><a class="name" href="{escape(site.entry(run))}">{name}</a>'
        f' <small class="about">{wrapped(about)}</small> {tags}</td><td class="task">{escape(run.task)}</td>'
        f'<td class="number units">{run.units:,}</td><td class="scores">{scores}</td>{when}</tr>'
    )


def _short(spec: str, score: Shown) -> str:
    value = "undefined" if score.value != score.value else value_text(score.value, score.interval)
    named = f"<small>{ARROWS[score.better]} {escape(spec)}</small> " if spec else ""
    return (
        f'<span class="score">{named}<strong>{escape(in_unit(value, score.measured_in))}</strong> '
        f"<small>{escape(interval_text(score.value, score.interval))}</small></span>"
    )


def _turning(query: Query, start: int, total: int) -> str:
    if total <= A_PAGE:
        return ""
    here, last = start // A_PAGE, (total - 1) // A_PAGE
    ways = ((0, "⇤ first"), (here - 1, "← before"), (here + 1, "next →"), (last, "last ⇥"))
    parts = [
        f'<button class="plain" name="at" value="{to}">{text}</button>'
        for to, text in ways
        if 0 <= to <= last and to != here
    ]
    between = f"{start + 1:,} to {min(start + A_PAGE, total):,} of {total:,}"
    return f'<p class="turn"><span class="legend">{between}</span>{"".join(parts)}</p>'


def _bar(site: Site, runs: Sequence[Entry]) -> str:
    if sum(run.kind == "report" for run in runs) < 2:
        return ""
    return (
        f'<div class="bar" id="bar"><button type="submit" formaction="{escape(site.base)}/compare">Compare selected'
        "</button>"
        f'<span class="legend">2 to {MOST_COMPARED} runs of one task on the same truth; the oldest is the baseline.'
        "</span></div>"
    )


def _foreign(files: Sequence[Entry]) -> str:
    """JSON files that are not results: collapsed, since other tools often keep data beside them."""
    if not files:
        return ""
    rows = "".join(
        f"<li><code>{escape(file.name)}</code> <small>{escape(file.problem)}</small></li>"
        for file in files[:SHOWN_FOREIGN]
    )
    left = len(files) - SHOWN_FOREIGN
    rows += f"<li><small>and {left:,} more</small></li>" if left > 0 else ""
    head = count_text(len(files), "other JSON file")
    return f'<details class="foreign" id="foreign"><summary>{head}</summary><ul>{rows}</ul></details>'


# --- files of the list

_DRAWING = re.compile(r"<svg.*?</svg>", re.DOTALL)
_LINK = re.compile(r"<(/?)a\b(?:[^>]*?( class=\"[^\"]*\"))?[^>]*>")


def _without_links(html: str) -> str:
    """HTML whose links are plain texts and marks, with the same look."""
    drawn = _DRAWING.sub(lambda svg: _LINK.sub(r"<\1g\2>", svg[0]), html)
    return _LINK.sub(r"<\1span\2>", drawn)


def export_rows(shown: Sequence[Entry]) -> list[dict[str, Any]]:
    """What a file of the list holds: a row per run, every score with the ends of its interval."""
    rows = []
    for run in shown:
        row: dict[str, Any] = {
            "model": run.model,
            "file": run.name,
            "kind": run.kind,
            "task": run.task,
            "data": run.data,
            "units": run.units,
            "date": moment(run.date, "%Y-%m-%dT%H:%M:%SZ"),
            "problem": run.problem,
            "tags": dict(run.tags),
        }
        row["scores"] = {
            spec: {"value": _plain(score.value), "low": _plain(ends[0]), "high": _plain(ends[1])}
            for spec, score in run.scores.items()
            for ends in [score.interval or (math.nan, math.nan)]
        }
        rows.append(row)
    return rows


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None


def export_csv(shown: Sequence[Entry]) -> str:
    """The list as CSV: a column per tag and three per metric. A text that a spreadsheet would run begins with '."""
    rows = export_rows(shown)
    tags = list(dict.fromkeys(name for row in rows for name in row["tags"]))
    specs = list(dict.fromkeys(spec for row in rows for spec in row["scores"]))
    texts = [name for name in (rows[0] if rows else ()) if name not in ("tags", "scores")]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    heads = [*texts, *(f"tag {name}" for name in tags)]
    heads += [f"{spec}{end}" for spec in specs for end in ("", " low", " high")]
    writer.writerow(map(_cell, heads))
    for row in rows:
        cells = [row[name] for name in texts] + [row["tags"].get(name, "") for name in tags]
        scores = [row["scores"].get(spec, {}).get(end) for spec in specs for end in ("value", "low", "high")]
        writer.writerow(map(_cell, [*cells, *scores]))
    return out.getvalue()


def _cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def export_page(site: Site, shown: Sequence[Entry], folder: str, query: Query) -> str:
    """The list as one page that needs no server: the board or the chart, and all runs."""
    scale = shared_scale(run.scores[query.metric] for run in shown if query.metric in run.scores)
    rows = "".join(_row(site, run, replace(query, runs=()), scale, (), picking=False) for run in shown)
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("", "run", "task", "units", "scores", "date"))
    table = (
        f'<h2>{count_text(len(shown), "run")}</h2><div class="wide" tabindex="0" role="region" aria-label="Runs">'
        f'<table class="runs"><caption>Runs</caption><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
    )
    words = ", ".join(f"{name} {value}" for name, value in parse_qsl(query.text(at=0, runs=())))
    body = _without_links(_top(site, shown, query, 0) + table)
    return document(count_text(len(shown), "run"), words or folder, body)
