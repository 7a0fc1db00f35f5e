"""The pages of units: a run's units, one unit, two models' units side by side.

The way through the pictures of a unit that has many: neighbours, what to look at, and a strip of all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from urllib.parse import urlencode

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.frozen import Frozen
from steelyard.core.scene import Steps
from steelyard.render.numbers import in_unit, signed_text, value_text
from steelyard.render.svg import Backdrop, scene_svg
from steelyard.render.text import ARROWS
from steelyard.view.frame import Site, document
from steelyard.view.runs import RereadRun, StoredRun, distinct_titles
from steelyard.view.units import UnitRows, has_threshold, unit_rows, unit_scene, unit_steps

COLUMNS = 240  # at most, of a strip; each stands for the step of its stretch in which there is most to see
HIGH = 10


def steps_bar(steps: Steps, at: int, address: str) -> str:
    """Links to the steps before and behind, to those with something to see, and to all of them in strips."""
    place = steps.numbers.index(at)
    last = len(steps.numbers) - 1
    turn = [f'<span class="legend">{place + 1:,} of {count_text(len(steps.numbers), steps.name)}</span>']
    ways = (0, "⇤ first", ""), (place - 1, "← before", "prev"), (place + 1, "next →", "next"), (last, "last ⇥", "")
    turn += [_link(address, steps, to, text, rel) for to, text, rel in ways if 0 <= to <= last and to != place]
    for name, counts in steps.counts.items():
        seen = [i for i, count in enumerate(counts) if count]
        before, behind = [i for i in seen if i < place], [i for i in seen if i > place]
        if before:
            turn.append(_link(address, steps, before[-1], f"← {name}", ""))
        if behind:
            turn.append(_link(address, steps, behind[0], f"{name} →", ""))
    lanes = "".join(_lane(steps, name, counts, place, address) for name, counts in steps.counts.items())
    return f'<p class="turn">{"".join(turn)}</p><div class="lanes">{lanes}</div>'


def _link(address: str, steps: Steps, to: int, text: str, relation: str) -> str:
    rel = f' rel="{relation}"' if relation else ""
    return f'<a href="{escape(_at(address, steps.numbers[to]))}"{rel}>{escape(text)}</a>'


def _at(address: str, step: int) -> str:
    return f"{address}{'&' if '?' in address else '?'}at={step}"


def _lane(steps: Steps, name: str, counts: tuple[int, ...], place: int, address: str) -> str:
    """One strip: a column per step or stretch of steps, as high as its count."""
    total, most = len(counts), max(counts, default=0)
    columns = min(total, COLUMNS)
    drawn = ""
    for column in range(columns):
        first, behind = column * total // columns, (column + 1) * total // columns
        best = max(range(first, behind), key=lambda i: counts[i])
        here = first <= place < behind
        high = HIGH * counts[best] / most if most else 0.0
        words = f"{steps.name} {steps.numbers[best]}: {counts[best]} {name}"
        drawn += (
            f'<a href="{escape(_at(address, steps.numbers[best]))}" tabindex="-1"><title>{escape(words)}</title>'
            f'<rect class="{"here" if here else "step"}" x="{column}" y="0" width="1" height="{HIGH}"/>'
            f'<rect class="count" x="{column}" y="{HIGH - high:.2f}" width="1" height="{high:.2f}"/></a>'
        )
    label = escape(f"{name} by {steps.name}: {sum(counts)} in all")
    return (
        f'<span class="legend">{escape(name)} <small>{sum(counts):,}</small></span>'
        f'<svg class="lane" viewBox="0 0 {max(1, columns)} {HIGH}" preserveAspectRatio="none" role="group" '
        f'aria-label="{label}">{drawn}</svg>'
    )


A_PAGE = 60


def order_of(data: RereadRun, spec: str) -> list[int]:
    """Places of the units, the worst first, those without a value last."""
    values, better = data.values(spec), data.report.scores[spec].better
    badness = {"higher": -values, "zero": np.abs(values), "one": np.abs(values - 1)}.get(better, values)
    return [int(i) for i in np.argsort(np.where(np.isfinite(badness), -badness, np.inf), kind="stable")]


def units_page(site: Site, run: StoredRun, data: RereadRun, by: int, start: int) -> str:
    """A run's units as cards, the worst first."""
    unit, specs = data.report.unit, data.specs
    spec = specs[by]
    order = order_of(data, spec)
    shown = order[start : start + A_PAGE]
    cards = "".join(_card(site, run, data, i, spec) for i in shown)
    total = count_text(len(order), unit)
    links = [site.top(), (site.run(run), run.title)]
    return document(
        f"{unit.capitalize()} by {unit}",
        f"{run.title}: {total}, the worst by {spec} first",
        _sorting(site.run(run, "units"), specs, by)
        + f'<ul class="cards">{cards}</ul>'
        + _turning(site.run(run, "units"), by, start, len(order)),
        links,
    )


def _sorting(address: str, specs: Sequence[str], by: int) -> str:
    if len(specs) < 2:
        return ""
    choices = "".join(
        f'<li><a href="{escape(address)}?by={i}"{current}>{escape(spec)}</a></li>'
        for i, spec in enumerate(specs)
        for current in [' aria-current="true"' if i == by else ""]
    )
    return f'<nav aria-label="Sort by"><ul><li class="legend">worst by</li>{choices}</ul></nav>'


def _turning(address: str, by: int, start: int, total: int) -> str:
    parts = []
    if start > 0:
        parts.append(f'<a href="{escape(address)}?by={by}&amp;from={max(0, start - A_PAGE)}" rel="prev">← worse</a>')
    if start + A_PAGE < total:
        parts.append(f'<a href="{escape(address)}?by={by}&amp;from={start + A_PAGE}" rel="next">better →</a>')
    last = min(start + A_PAGE, total)
    return (
        f'<p class="turn"><span class="legend">{start + 1:,} to {last:,} of {total:,}</span>{"".join(parts)}</p>'
        if total
        else ""
    )


def _card(site: Site, run: StoredRun, data: RereadRun, unit: int, spec: str) -> str:
    name = str(data.units[unit])
    value = value_text(float(data.values(spec)[unit]))
    picture = ""
    if unit_image(site, run, data, unit):
        address = escape(site.run(run, "image", unit))
        picture = f'<img class="pic" src="{address}" alt="" loading="lazy">'
    return (
        f'<li class="card"><a href="{escape(site.run(run, "unit", unit))}">{picture}<span class="what"><strong>'
        f"{escape(name)}</strong><small>{escape(spec)} {escape(value)}</small></span></a></li>"
    )


def unit_image(site: Site, run: StoredRun, data: RereadRun, unit: int) -> bool:
    """Whether a unit has an image, of its own or of its first row."""
    if any(site.images.lies(run, data, name) for name in site.images.names(run, data, unit)):
        return True
    return first_row(site, run, data, unit) is not None


def first_row(site: Site, run: StoredRun, data: RereadRun, unit: int) -> int | None:
    """The row whose image stands for a unit that has none of its own."""
    if data.report.unit == "image":
        return None
    names = next((rows.images for rows in unit_rows(data, unit)), ())
    return next((k for k, name in enumerate(names[:8]) if name and site.images.lies(run, data, name)), None)


def unit_page(
    site: Site, run: StoredRun, data: RereadRun, unit: int, step: int | None = None, threshold: float | None = None
) -> str:
    """One unit: its picture (or the one of a step), its rows, its scores, and the way to its neighbours."""
    kind, name = data.report.unit, str(data.units[unit])
    order = order_of(data, data.specs[0])
    place = order.index(unit)
    turn, state = "", "" if threshold is None else f"?score={threshold:g}"
    if place > 0:
        turn += f'<a href="{escape(site.run(run, "unit", order[place - 1]))}{state}" rel="prev">← worse</a>'
    if place + 1 < len(order):
        turn += f'<a href="{escape(site.run(run, "unit", order[place + 1]))}{state}" rel="next">better →</a>'
    body = f'<p class="turn"><span class="legend">{place + 1:,} of {len(order):,} from the worst</span>{turn}</p>'
    here = site.run(run, "unit", unit)
    body += threshold_form(here, data, threshold)
    body += _unit_picture(site, run, data, unit, step, here + state, threshold) + _unit_scores(data, unit)
    links = [site.top(), (site.run(run), run.title), (site.run(run, "units"), f"All {count_text(2, kind)[2:]}")]
    return document(f"{kind.capitalize()} {name}", run.title, body, links)


def _unit_picture(
    site: Site, run: StoredRun, data: RereadRun, unit: int, step: int | None, here: str, threshold: float | None = None
) -> str:
    """The picture of a unit, or its image and rows. `here` is the address of the page, to which steps lead."""
    steps = unit_steps(data, unit)
    at = None if steps is None else step if step in steps.numbers else steps.start
    scene = unit_scene(data, unit, at, threshold)
    image = site.images.of_unit(run, data, unit, scene)
    address = site.run(run, "image", unit) + (f"?at={at}" if at is not None else "")
    if scene is not None:
        way = "" if steps is None or at is None else steps_bar(steps, at, here)
        backdrop = None if image is None else Backdrop(address, image.kind.width, image.kind.height)
        pictured = image is not None or bool(scene.rasters)
        lacking = "" if pictured else '<p class="legend">Its image does not lie in the folder.</p>'
        return f'{way}<div class="scene">{scene_svg(scene, backdrop)}</div>{lacking}'
    picture = ""
    if image is not None:
        alt = escape(str(data.units[unit]))
        picture = f'<img class="picture" src="{escape(address)}" alt="{alt}">'
    tables = "".join(_rows_table(site, run, data, unit, rows) for rows in unit_rows(data, unit))
    return picture + tables


def _rows_table(site: Site, run: StoredRun, data: RereadRun, unit: int, rows: UnitRows) -> str:
    framed = [bool(name) and site.images.lies(run, data, name) for name in rows.images]
    named = any(rows.images)
    header = [*(["image"] if named else []), *rows.header]
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    body = ""
    for k, cells in enumerate(rows.cells):
        picture = f"<td><small>{escape(rows.images[k])}</small></td>" if named else ""
        if framed[k]:
            address = escape(site.run(run, "image", unit, k))
            picture = f'<td><img class="frame" src="{address}" alt="{escape(rows.images[k])}" loading="lazy"></td>'
        body += f"<tr>{picture}{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
    left = f'<p class="legend">and {rows.left:,} more rows</p>' if rows.left else ""
    return f"<h2>{escape(rows.title)}</h2>{_table(rows.title, head, body)}{left}"


def _table(title: str, head: str, body: str) -> str:
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(title)}"><table><caption>{escape(title)}'
        f"</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _unit_scores(data: RereadRun, unit: int) -> str:
    rows = ""
    for spec, value in data.alone(unit).items():
        score = data.report.scores[spec]
        shown = "undefined" if math.isnan(value) else in_unit(value_text(value), score.measured_in)
        whole = value_text(score.value, score.interval)
        rows += (
            f"<tr><td>{ARROWS[score.better]} <code>{escape(spec)}</code></td>"
            f'<td class="meaning">{escape(score.label)}</td>'
            f'<td class="number">{escape(shown)}</td><td class="number"><small>{escape(whole)}</small></td></tr>'
        )
    head = (
        '<th scope="col">metric</th><th scope="col" class="meaning"></th><th scope="col" class="number">alone</th>'
        '<th scope="col" class="number">all</th>'
    )
    return f"<h2>Scores</h2>{_table('Scores', head, rows)}"


MOST_BESIDE = 4


class Beside(Frozen):
    """Two to four runs whose units are looked at side by side, the baseline first, with what a page shows of them."""

    runs: tuple[StoredRun, ...]
    data: tuple[RereadRun, ...]
    by: str = ""
    threshold: float | None = None

    @property
    def specs(self) -> list[str]:
        """The metrics that all of them have."""
        return [spec for spec in self.data[0].specs if all(spec in one.specs for one in self.data[1:])]

    def order(self) -> tuple[str, list[tuple[int, float]]]:
        """The metric, and the units by how far apart the runs are in it: of two, the change from the first."""
        first = self.data[0]
        if not all(len(one.units) == len(first.units) and bool((one.units == first.units).all()) for one in self.data):
            return "", []
        for spec in [self.by] if self.by in self.specs else self.specs:
            values = np.stack([one.values(spec) for one in self.data])
            moved = values[1] - values[0] if len(values) == 2 else values.max(axis=0) - values.min(axis=0)
            finite = np.flatnonzero(np.isfinite(moved))
            if len(finite):
                order = finite[np.argsort(-np.abs(moved[finite]), kind="stable")]
                return spec, [(int(i), float(moved[i])) for i in order]
        return "", []

    def query(self, **more: object) -> str:
        """The state of the page as the query of an address."""
        pairs: list[tuple[str, object]] = [("run", run.id) for run in self.runs]
        pairs += [("by", self.by)] if self.by else []
        pairs += [("score", f"{self.threshold:g}")] if self.threshold is not None else []
        return urlencode([*pairs, *((name, value) for name, value in more.items() if value is not None)])


def beside_page(site: Site, beside: Beside, start: int) -> str:
    """The units on which the runs differ most."""
    spec, moved = beside.order()
    last, data = beside.runs[-1], beside.data[-1]
    better = data.report.scores[spec].better if spec else "none"
    two = len(beside.runs) == 2
    cards = ""
    for unit, change in moved[start : start + A_PAGE]:
        good = {"higher": change > 0, "lower": change < 0}.get(better) if two else None
        kind = "" if good is None or change == 0 else ' class="good"' if good else ' class="bad"'
        picture = ""
        if unit_image(site, last, data, unit):
            picture = f'<img class="pic" src="{escape(site.run(last, "image", unit))}" alt="" loading="lazy">'
        words = signed_text(change) if two else f"range {value_text(change)}"
        cards += (
            f'<li class="card"><a href="{escape(site.beside(beside.query(), unit))}">{picture}<span class="what">'
            f"<strong>{escape(str(data.units[unit]))}</strong><small{kind}>{escape(spec)} {escape(words)}</small>"
            "</span></a></li>"
        )
    turn = ""
    ways = (max(0, start - A_PAGE), "← more different", "prev"), (start + A_PAGE, "less different →", "next")
    for to, text, rel in ways:
        if to != start and to < len(moved):
            address = site.beside(beside.query(**{"from": to or None}))
            turn += f'<a href="{escape(address)}" rel="{rel}">{text}</a>'
    seen = f"{start + 1:,} to {min(start + A_PAGE, len(moved)):,} of {len(moved):,}"
    body = (
        f'{_beside_metrics(site, beside, spec)}<ul class="cards">{cards}</ul>'
        f'<p class="turn"><span class="legend">{seen}</span>{turn}</p>'
    )
    titles = distinct_titles(beside.runs)
    line = f"{' against '.join(reversed(titles))}, by {spec}" if two else f"{', '.join(titles)}, by {spec}"
    return document("What changed most" if two else "What differs most", line, body, _beside_links(site, beside))


def _beside_metrics(site: Site, beside: Beside, spec: str) -> str:
    if len(beside.specs) < 2:
        return ""
    choices = "".join(
        f'<li><a href="{escape(site.beside(replace(beside, by=name).query()))}"'
        f"{' aria-current=true' if name == spec else ''}>{escape(name)}</a></li>"
        for name in beside.specs
    )
    return f'<nav aria-label="Sort by"><ul><li class="legend">most different by</li>{choices}</ul></nav>'


def _beside_links(site: Site, beside: Beside, *more: tuple[str, str]) -> list[tuple[str, str]]:
    compared = urlencode([("run", run.id) for run in beside.runs])
    return [site.top(), (f"{site.base}/compare?{compared}&base={beside.runs[0].id}", "The comparison"), *more]


def beside_unit_page(site: Site, beside: Beside, unit: int, step: int | None = None) -> str:
    """One unit under two to four models, side by side; all show one step."""
    here, parts = site.beside(beside.query(), unit), ""
    titles = distinct_titles(beside.runs)
    for run, data, title in zip(beside.runs, beside.data, titles, strict=True):
        parts += (
            f'<section><h2><a href="{escape(site.run(run, "unit", unit))}">{escape(title)}</a></h2>'
            f"{_unit_picture(site, run, data, unit, step, here, beside.threshold)}{_unit_scores(data, unit)}</section>"
        )
    spec, moved = beside.order()
    order = [i for i, _ in moved]
    turn = ""
    if unit in order:
        place = order.index(unit)
        turn = f'<span class="legend">{place + 1:,} of {len(order):,} by {escape(spec)}</span>'
        for to, text, rel in ((place - 1, "← more different", "prev"), (place + 1, "less different →", "next")):
            if 0 <= to < len(order):
                turn += f'<a href="{escape(site.beside(beside.query(), order[to]))}" rel="{rel}">{text}</a>'
    links = _beside_links(site, beside, (site.beside(beside.query()), "All units by difference"))
    name, kind = str(beside.data[-1].units[unit]), beside.data[-1].report.unit.capitalize()
    fields = [("run", run.id) for run in beside.runs] + ([("by", beside.by)] if beside.by else [])
    choice = threshold_form(here.partition("?")[0], beside.data[0], beside.threshold, fields)
    many = " many" if len(beside.runs) > 2 else ""
    body = f'<p class="turn">{turn}</p>{choice}<div class="pair{many}">{parts}</div>'
    return document(f"{kind} {name}", ", ".join(titles), body, links)


def threshold_form(
    address: str, data: RereadRun, threshold: float | None, fields: Sequence[tuple[str, object]] = ()
) -> str:
    """The field of the score from which detections are shown; nothing for tasks without one."""
    if not has_threshold(data):
        return ""
    hidden = "".join(f'<input type="hidden" name="{name}" value="{escape(str(value))}">' for name, value in fields)
    value = "" if threshold is None else f"{threshold:g}"
    return (
        f'<form class="base" action="{escape(address)}" method="get">{hidden}<label class="field">'
        f'<span>Detections with a score from</span><input type="number" name="score" min="0" max="1" step="any" '
        f'value="{value}" placeholder="0.5"></label><button type="submit">Show</button></form>'
    )


def problem_page(base: str, title: str, what: str) -> str:
    """A page that says what is wrong."""
    return document(title, "", f'<p class="note">{escape(what)}</p>', [(f"{base}/", "All runs")])
