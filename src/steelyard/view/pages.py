"""The pages of units: a run's units, one unit, two models' units side by side.

The way through the pictures of a unit that has many: neighbours, what to look at, and a strip of all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.scene import Steps
from steelyard.render.numbers import signed_text, value_text
from steelyard.render.svg import Backdrop, scene_svg
from steelyard.render.text import ARROWS
from steelyard.view.frame import Site, document
from steelyard.view.runs import RereadRun, StoredRun
from steelyard.view.units import UnitRows, unit_rows, unit_scene, unit_steps

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
    return f'<a href="{escape(address)}?at={steps.numbers[to]}"{rel}>{escape(text)}</a>'


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
            f'<a href="{escape(address)}?at={steps.numbers[best]}" tabindex="-1"><title>{escape(words)}</title>'
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


def unit_page(site: Site, run: StoredRun, data: RereadRun, unit: int, step: int | None = None) -> str:
    """One unit: its picture (or the one of a step), its rows, its scores, and the way to its neighbours."""
    kind, name = data.report.unit, str(data.units[unit])
    order = order_of(data, data.specs[0])
    place = order.index(unit)
    turn = ""
    if place > 0:
        turn += f'<a href="{escape(site.run(run, "unit", order[place - 1]))}" rel="prev">← worse</a>'
    if place + 1 < len(order):
        turn += f'<a href="{escape(site.run(run, "unit", order[place + 1]))}" rel="next">better →</a>'
    body = f'<p class="turn"><span class="legend">{place + 1:,} of {len(order):,} from the worst</span>{turn}</p>'
    body += _unit_picture(site, run, data, unit, step, site.run(run, "unit", unit)) + _unit_scores(data, unit)
    links = [site.top(), (site.run(run), run.title), (site.run(run, "units"), f"All {count_text(2, kind)[2:]}")]
    return document(f"{kind.capitalize()} {name}", run.title, body, links)


def _unit_picture(site: Site, run: StoredRun, data: RereadRun, unit: int, step: int | None, here: str) -> str:
    """The picture of a unit, or its image and rows. `here` is the address of the page, to which steps lead."""
    steps = unit_steps(data, unit)
    at = None if steps is None else step if step in steps.numbers else steps.start
    scene = unit_scene(data, unit, at)
    image = site.images.of_unit(run, data, unit, scene)
    address = site.run(run, "image", unit) + (f"?at={at}" if at is not None else "")
    if scene is not None:
        way = "" if steps is None or at is None else steps_bar(steps, at, here)
        backdrop = None if image is None else Backdrop(address, image.kind.width, image.kind.height)
        lacking = "" if image is not None else '<p class="legend">Its image does not lie in the folder.</p>'
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
        shown = "undefined" if math.isnan(value) else f"{value_text(value)} {score.measured_in}".strip()
        whole = value_text(score.value, score.interval)
        rows += (
            f"<tr><td>{ARROWS[score.better]} <code>{escape(spec)}</code></td><td>{escape(score.label)}</td>"
            f'<td class="number">{escape(shown)}</td><td class="number"><small>{escape(whole)}</small></td></tr>'
        )
    head = (
        '<th scope="col">metric</th><th scope="col"></th><th scope="col" class="number">alone</th>'
        '<th scope="col" class="number">all</th>'
    )
    return f"<h2>Scores</h2>{_table('Scores', head, rows)}"


def changes(a: RereadRun, b: RereadRun) -> tuple[str, list[tuple[int, float]]]:
    """The units by how much they changed in the first score that both have, the largest change first."""
    same = len(a.units) == len(b.units) and bool((a.units == b.units).all())
    shared = [spec for spec in a.specs if spec in b.specs] if same else []
    for spec in shared:
        moved = b.values(spec) - a.values(spec)
        finite = np.flatnonzero(np.isfinite(moved))
        if len(finite):
            order = finite[np.argsort(-np.abs(moved[finite]), kind="stable")]
            return spec, [(int(i), float(moved[i])) for i in order]
    return "", []


def both_page(site: Site, a: StoredRun, b: StoredRun, data: tuple[RereadRun, RereadRun], start: int) -> str:
    """The units that changed most between two runs."""
    spec, moved = changes(*data)
    better = data[1].report.scores[spec].better if spec else "none"
    cards = ""
    for unit, change in moved[start : start + A_PAGE]:
        good = {"higher": change > 0, "lower": change < 0}.get(better)
        kind = "" if good is None or change == 0 else ' class="good"' if good else ' class="bad"'
        picture = ""
        if unit_image(site, b, data[1], unit):
            picture = f'<img class="pic" src="{escape(site.run(b, "image", unit))}" alt="" loading="lazy">'
        cards += (
            f'<li class="card"><a href="{escape(site.both(a, b, "unit", unit))}">{picture}<span class="what"><strong>'
            f"{escape(str(data[1].units[unit]))}</strong>"
            f"<small{kind}>{escape(spec)} {escape(signed_text(change))}</small></span></a></li>"
        )
    body = f'<ul class="cards">{cards}</ul>' + _turning(site.both(a, b), 0, start, len(moved))
    links = [site.top(), (f"{site.base}/compare?a={a.id}&b={b.id}", "The comparison")]
    return document("What changed most", f"{b.name} against {a.name}, by {spec}", body, links)


def both_unit_page(
    site: Site, a: StoredRun, b: StoredRun, data: tuple[RereadRun, RereadRun], unit: int, step: int | None = None
) -> str:
    """One unit under two models, side by side; both show one step."""
    here = site.both(a, b, "unit", unit)
    parts = ""
    for letter, run, run_data in (("A", a, data[0]), ("B", b, data[1])):
        parts += (
            f'<section><h2>{letter}: <a href="{escape(site.run(run, "unit", unit))}">{escape(run.name)}</a></h2>'
            f"{_unit_picture(site, run, run_data, unit, step, here)}{_unit_scores(run_data, unit)}</section>"
        )
    order = [i for i, _ in changes(*data)[1]]
    turn = ""
    if unit in order:
        place = order.index(unit)
        if place > 0:
            turn += f'<a href="{escape(site.both(a, b, "unit", order[place - 1]))}" rel="prev">← changed more</a>'
        if place + 1 < len(order):
            turn += f'<a href="{escape(site.both(a, b, "unit", order[place + 1]))}" rel="next">changed less →</a>'
    links = [
        site.top(),
        (f"{site.base}/compare?a={a.id}&b={b.id}", "The comparison"),
        (site.both(a, b), "What changed most"),
    ]
    name = str(data[1].units[unit])
    body = f'<p class="turn">{turn}</p><div class="pair">{parts}</div>'
    return document(f"{data[1].report.unit.capitalize()} {name}", f"{b.name} against {a.name}", body, links)


def problem_page(base: str, title: str, what: str) -> str:
    """A page that says what is wrong."""
    return document(title, "", f'<p class="note">{escape(what)}</p>', [(f"{base}/", "All runs")])
