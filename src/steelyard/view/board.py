"""The board on top of the list: the latest run per model, task and data set, and what changed since the run before.

Below a chart: since when each series is better or worse, in a sentence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from itertools import groupby

from steelyard.core.counts import count_text
from steelyard.render.numbers import interval_text, signed_text, value_text
from steelyard.render.text import ARROWS
from steelyard.render.verdicts import verdict_text
from steelyard.results.score import Difference
from steelyard.view.entry import Entry, Shown, moment
from steelyard.view.frame import Site, shared_scale, wrapped
from steelyard.view.query import Query
from steelyard.view.trend import Change, Series

ROWS, MOST_DRAWN, MOST_TOLD = 12, 20, 8  # models of the board, runs of a sparkline, series below a chart
WIDE, HIGH = 120, 30
_KINDS = {"better": "good", "worse": "bad"}


def board(site: Site, series: Sequence[Series], query: Query) -> str:
    """The board; nothing where there is no run to show."""
    shown = [(one, spec) for one in series if (spec := _spec(one.latest))][:ROWS]
    if not shown:
        return ""

    def group_key(pair: tuple[Series, str]) -> tuple[str, str, str]:
        return pair[0].task, pair[0].data, pair[1]

    order = {key: place for place, key in reversed(list(enumerate(map(group_key, shown))))}
    shown.sort(key=lambda pair: (order[group_key(pair)], _badness(pair[0].latest.scores[pair[1]])))
    rows = ""
    for (task, data, spec), members in groupby(shown, group_key):
        pairs = list(members)
        score = pairs[0][0].latest.scores[spec]
        unit = f", {score.measured_in}" if score.measured_in else ""
        rows += (
            f'<tr class="group"><th scope="rowgroup" colspan="6">{escape(task)} on {wrapped(data)} '
            f"<small>{ARROWS[score.better]} {escape(spec)}: {escape(score.label)}{escape(unit)}</small></th></tr>"
        )
        rows += "".join(_row(site, one, spec, query) for one, _ in pairs)
    heads = "".join(
        f'<th scope="col"{kind}>{name}</th>'
        for name, kind in (
            ("model", ""),
            ("latest", ' class="number"'),
            ("interval", ""),
            ("runs", ""),
            ("change", ""),
            ("date", ""),
        )
    )
    left = len(series) - len(shown)
    more = f" {count_text(left, 'more model')} can be found by task, model or search." if left > 0 else ""
    return (
        '<section aria-labelledby="board"><h2 id="board">Latest run per model</h2>'
        '<div class="wide" tabindex="0" role="region" aria-label="Latest run per model"><table class="latest">'
        f"<caption>Latest run per model</caption><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
        '<p class="legend">Change: against the run before, each judged on its own (not corrected for the number of '
        f"models).{more}</p></section>"
    )


def _spec(run: Entry) -> str:
    """The first metric of a run."""
    return next(iter(run.scores), "")


def _badness(score: Shown) -> float:
    if not math.isfinite(score.value):
        return math.inf
    return {"higher": -score.value, "zero": abs(score.value), "one": abs(score.value - 1)}.get(
        score.better, score.value
    )


def _row(site: Site, series: Series, spec: str, query: Query) -> str:
    run, before = series.latest, series.before
    score = run.scores[spec]
    value = value_text(score.value, score.interval) if score.value == score.value else "undefined"
    difference = None if before is None else site.images.runs.change(before, run, spec)
    trend = Query(task=run.task, model=run.model, data=run.data, metric=spec, runs=query.runs).text()
    moved = "<small>first run</small>" if before is None else _moved(difference)
    return (
        f'<tr><th scope="row" class="run"><a href="{escape(site.entry(run))}">{wrapped(run.title)}</a></th>'
        f'<td class="number">{escape(value)}</td>'
        f'<td class="between"><small>{escape(interval_text(score.value, score.interval))}</small></td>'
        f'<td class="spark"><a href="{escape(site.base)}/?{escape(trend)}">{sparkline(series.runs, spec)}'
        f'<span>{count_text(len(series.runs), "run")}<span class="unseen">: trend of {escape(run.title)}</span></span>'
        f'</a></td><td class="moved">{moved}</td>'
        f'<td class="when"><small>{escape(moment(run.date, "%Y-%m-%d"))}</small></td></tr>'
    )


def _moved(difference: Difference | None) -> str:
    """A change with its interval and verdict."""
    if difference is None or math.isnan(difference.difference):
        return "<small>cannot be compared</small>"
    between = interval_text(difference.difference, difference.interval)
    signed = signed_text(difference.difference, difference.interval)
    kind = _KINDS.get(difference.verdict, "plain")
    return (
        f'{escape(signed)} <small>{escape(between)}</small> <span class="verdict {kind}">'
        f"{escape(verdict_text(difference.verdict))}</span>"
    )


def sparkline(runs: Sequence[Entry], spec: str) -> str:
    """The newest values as a line over their intervals; nothing where fewer than two are finite."""
    scores = [run.scores[spec] for run in runs[-MOST_DRAWN:] if spec in run.scores]
    scores = [score for score in scores if math.isfinite(score.value)]
    scale = shared_scale(scores)
    if scale is None or len(scores) < 2:
        return ""
    step = (WIDE - 8) / (len(scores) - 1)

    def y(value: float) -> str:
        return f"{HIGH - min(max(scale.x(value, HIGH), 0.0), float(HIGH)):.1f}"

    xs = [f"{4 + step * place:.1f}" for place in range(len(scores))]
    points = [f"{x},{y(score.value)}" for x, score in zip(xs, scores, strict=True)]
    ends = [score.interval for score in scores]
    band = ""
    if all(end is not None and not any(map(math.isnan, end)) for end in ends):
        low = [f"{x},{y(end[0])}" for x, end in zip(xs, ends, strict=True) if end is not None]
        high = [f"{x},{y(end[1])}" for x, end in zip(xs, ends, strict=True) if end is not None]
        band = f'<polygon points="{" ".join([*low, *reversed(high)])}"/>'
    return (
        f'<svg class="sparkline" viewBox="0 0 {WIDE} {HIGH}" width="{WIDE}" height="{HIGH}" aria-hidden="true">{band}'
        f'<polyline points="{" ".join(points)}"/><circle cx="{xs[-1]}" cy="{y(scores[-1].value)}" r="3.5"/></svg>'
    )


def flagged(site: Site, series: Sequence[Series], spec: str) -> dict[str, list[tuple[Entry, Change]]]:
    """The flagged changes of the first series that have at least two runs with the metric, by the newest run's id."""
    judged = [one for one in series if sum(spec in run.scores for run in one.judged) > 1][:MOST_TOLD]
    return {one.latest.id: site.images.runs.changes(one, spec) for one in judged}


def change_sentences(
    site: Site, series: Sequence[Series], spec: str, changes: dict[str, list[tuple[Entry, Change]]]
) -> str:
    """Since when each series is better or worse."""
    items = "".join(
        f"<li>{_sentence(site, one, spec, changes[one.latest.id])}</li>" for one in series if one.latest.id in changes
    )
    if not items:
        return ""
    left = sum(sum(spec in run.scores for run in one.judged) > 1 for one in series) - len(changes)
    more = f"<li>{count_text(left, 'more model')}: choose one of them to see its changes.</li>" if left > 0 else ""
    return (
        '<section aria-labelledby="changes"><h2 id="changes">Since when?</h2>'
        f'<ul class="changes">{items}{more}</ul></section>'
    )


def _sentence(site: Site, series: Series, spec: str, changes: Sequence[tuple[Entry, Change]]) -> str:
    named = f"<strong>{escape(series.latest.title)}</strong>"
    runs = [run for run in series.judged if spec in run.scores]
    if not changes:
        since = escape(moment(runs[0].date, "%Y-%m-%d"))
        return f"{named}: no change shown in {escape(spec)} over {count_text(len(runs), 'run')} since {since}."
    return " ".join(
        [
            f"{named}: {_since(site, spec, *changes[-1])}",
            *(f"Before that, {_since(site, spec, *change, verb='was')}" for change in reversed(changes[:-1])),
        ]
    )


def _since(site: Site, spec: str, run: Entry, change: Change, verb: str = "is") -> str:
    score = run.scores[spec]
    rises = change.difference > 0
    word = {"none": "higher" if rises else "lower", "higher": "better" if rises else "worse"}.get(
        score.better, "worse" if rises else "better"
    )
    between = interval_text(change.difference, change.interval)
    unit = f" {score.measured_in}" if score.measured_in else ""
    mean = "this run" if change.after == 1 else f"the mean of {change.after} runs"
    method = "paired" if change.paired else "from their intervals"
    return (
        f'{escape(spec)} {verb} <span class="{_KINDS.get(word, "plain")}">{word}</span> since '
        f'<a href="{escape(site.entry(run))}">{wrapped(run.name)}</a> ({escape(moment(run.date, "%Y-%m-%d"))}): '
        f"{escape(signed_text(change.difference, change.interval))}{escape(unit)} {escape(between)}, {mean} against "
        f"the {'run' if change.before == 1 else count_text(change.before, 'run')} before, {method}."
    )
