"""Up to eight runs in one table: metric by metric each run's value on a shared scale, and its difference from one."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from urllib.parse import urlencode

from steelyard.core.counts import count_text
from steelyard.render.numbers import interval_text, signed, value_text
from steelyard.render.text import ARROWS
from steelyard.render.verdicts import verdict_text
from steelyard.results.comparison import Lineup
from steelyard.results.score import Difference, Score
from steelyard.view.entry import Shown
from steelyard.view.frame import Site, document
from steelyard.view.runs import StoredRun
from steelyard.view.strips import shared_scale, strip


def board_page(site: Site, runs: Sequence[StoredRun], lineup: Lineup) -> str:
    """The page. The first run is the one that the others are held against."""
    first = lineup.comparisons[0]
    specs = dict.fromkeys(spec for one in lineup.comparisons for spec in one.differences)
    blocks = "".join(_block(runs, lineup, spec) for spec in specs)
    notes = "".join(
        f"<li>{escape(note)}</li>" for note in dict.fromkeys(n for c in lineup.comparisons for n in c.notes)
    )
    family = max((d.family for one in lineup.comparisons for d in one.differences.values()), default=0)
    said = (
        f"<li>An interval is that of its own difference. Verdicts hold for all {family:,} differences together (Holm), "
        "so that one may be called not shown whose own interval lies on one side of zero.</li>"
    )
    pairs = "".join(
        f'<li><a href="{escape(site.base)}/compare?a={runs[0].id}&amp;b={run.id}">{escape(run.name)} against '
        f"{escape(runs[0].name)}</a></li>"
        for run in runs[1:]
    )
    body = (
        f"{_base(site, runs)}{blocks}<h2>How these were computed</h2><ul>{notes}{said}</ul>"
        f"<h2>Two by two</h2><ul>{pairs}</ul>"
    )
    truth = first.a.sources.truth.source
    back = f"{site.base}/?{urlencode([('run', run.id) for run in runs])}"
    return document(
        f"{count_text(len(runs), 'run')} compared",
        f"{first.task} on {truth}",
        body,
        [site.top(), (back, "Pick others")],
    )


def _base(site: Site, runs: Sequence[StoredRun]) -> str:
    """The field that selects the baseline run."""
    hidden = "".join(f'<input type="hidden" name="run" value="{run.id}">' for run in runs)
    options = "".join(f'<option value="{run.id}">{escape(run.name)}</option>' for run in runs)
    return (
        f'<form class="base" action="{escape(site.base)}/compare" method="get">{hidden}<label class="field">'
        f'<span>Baseline</span><select name="base">{options}</select></label>'
        '<button type="submit">Show</button></form>'
    )


def _shown(score: Score) -> Shown:
    return Shown(score.value, score.interval, score.better, score.measured_in, score.label)


def _block(runs: Sequence[StoredRun], lineup: Lineup, spec: str) -> str:
    """One metric: a row per run that has it."""
    rows: list[tuple[StoredRun, Score, Difference | None]] = []
    for run, one in zip(runs[1:], lineup.comparisons, strict=True):
        if spec in one.differences:
            rows.append((run, one.differences[spec].b, one.differences[spec]))
    score = next(one.differences[spec].a for one in lineup.comparisons if spec in one.differences)
    rows.insert(0, (runs[0], score, None))
    scale = shared_scale(_shown(one) for _, one, _ in rows)
    lines = "".join(_line(run, one, difference, strip(_shown(one), scale)) for run, one, difference in rows)
    unit = f", {score.measured_in}" if score.measured_in else ""
    head = "".join(
        f'<th scope="col"{kind}>{name}</th>'
        for name, kind in (
            ("run", ""), ("value", ' class="number"'), ("interval", ' class="between"'), ("", ' class="strips"'),
            ("difference", ' class="moved"'), ("verdict", ""),
        )
    )  # fmt: skip
    label = escape(f"{score.label}{unit}")
    return (
        f"<h2>{ARROWS[score.better]} <code>{escape(spec)}</code> <small>{label}</small></h2>"
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(spec)}"><table class="board"><caption>'
        f"{escape(spec)}</caption><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def _line(run: StoredRun, score: Score, difference: Difference | None, drawn: str) -> str:
    value = value_text(score.value, score.interval) if score.defined else "undefined"
    moved, word = "<small>baseline</small>", ""
    if difference is not None:
        between = interval_text(difference.difference, difference.interval)
        moved = f"{escape(signed(difference.difference, difference.interval))} <small>{escape(between)}</small>"
        kind = {"better": "good", "worse": "bad"}.get(difference.verdict, "plain")
        word = f'<span class="{kind}">{escape(verdict_text(difference.verdict))}</span>'
    name = escape(run.name).replace("/", "/<wbr>").replace("_", "_<wbr>")
    return (
        f'<tr><th scope="row" class="run">{name}</th><td class="number">{escape(value)}</td><td class="between"><small>'
        f'{escape(interval_text(score.value, score.interval))}</small></td><td class="strips">{drawn}</td>'
        f'<td class="moved">{moved}</td><td class="verdict">{word}</td></tr>'
    )
