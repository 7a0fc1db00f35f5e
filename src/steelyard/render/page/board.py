"""All models of a page in one table: values with intervals, the ranks that each may have, and what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from steelyard.core.metric import Description
from steelyard.render.board import rank_remarks, rows_of
from steelyard.render.names import names_of
from steelyard.render.numbers import interval_text, value_text
from steelyard.render.page.frame import bullets
from steelyard.render.page.scores import term, whisker
from steelyard.render.page.tables import Cell, table
from steelyard.render.strips import group_of, scales_text, score_scales
from steelyard.render.text import ARROWS

if TYPE_CHECKING:
    from steelyard.results.comparison import Lineup, Standing
    from steelyard.results.score import Interval, Score

SURE = ("better", "worse", "differs")


def board(lineup: Lineup, about: Mapping[str, Description]) -> str:
    """A row per metric, a column per model."""
    first = lineup.comparisons[0]
    rows, models = [], rows_of(lineup.comparisons)
    scales = score_scales([score for model in models for score in model.scores.values()])
    for i, (spec, d) in enumerate(first.differences.items()):
        standing = lineup.standings.get(spec)
        cells = [Cell(f"{ARROWS[d.better]} {term(spec, spec, about, f'board-{i}', code=True)}", head=True)]
        scale = scales.get(group_of(d.a))
        cells.append(_cell(d.a, 0, standing, scale))
        for place, comparison in enumerate(lineup.comparisons, start=1):
            other = comparison.differences[spec]
            cells.append(_cell(other.b, place, standing, scale, other.verdict if other.verdict in SURE else ""))
        rows.append(cells)
    names = names_of(lineup.comparisons)
    heads: Sequence[str] = ["metric", *names]
    legend = escape(f"Better and worse say that a model surely differs from {names[0]}. {scales_text(scales)}")
    said = bullets(rank_remarks(lineup)) if lineup.standings else ""
    return f'{table("All models", heads, rows, kind="board")}<p class="legend">{legend}</p>{said}'


def _cell(score: Score, place: int, standing: Standing | None, scale: Interval | None, verdict: str = "") -> Cell:
    value = escape(value_text(score.value, score.interval))
    if standing is not None and place in standing.best:
        value = f"<b>{value}*</b>"
    mark = f' <small><span class="verdict {verdict}">{verdict}</span></small>' if verdict else ""
    rank = ""
    if standing is not None:
        group = f", group {standing.group(place)}" if standing.group(place) else ""
        rank = f'<br><small class="nowrap">rank {standing.text(place)}{escape(group)}</small>'
    interval = interval_text(score.value, score.interval)
    between = f'<br><small class="nowrap">{escape(interval)}</small>' if interval else ""
    return Cell(f"{value}{mark}{between}{rank}{whisker(score.value, score.interval, scale)}", score.value)
