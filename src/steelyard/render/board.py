"""The leaderboard of several models: each one's values, with the ranks that it may have beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from steelyard.core.counts import count_text
from steelyard.core.frozen import frozen
from steelyard.render.numbers import interval_text, percent_text, value_text
from steelyard.render.text import bullet, comparison_text, grid

if TYPE_CHECKING:
    from steelyard.results.comparison import Comparison, Lineup, Standing
    from steelyard.results.score import Score

LETTERS = "BCDEFGHIJKLMNOPQRSTUVWXYZ"
ARROWS = {"lower": " ↓", "higher": " ↑", "zero": " →0", "one": " →1", "none": ""}
MARK = "*"  # of what is not shown to be worse than the best
MOST_NAMED = 12
GAP = 2


@frozen
class Row:
    """One model: its letter, where its predictions came from, and its scores by spec."""

    letter: str
    source: str
    scores: Mapping[str, Score]


def letters_of(comparisons: Sequence[Comparison]) -> list[str]:
    """What each model but the first is called."""
    return [LETTERS[i] if i < len(LETTERS) else f"model {i + 2}" for i in range(len(comparisons))]


def rows_of(comparisons: Sequence[Comparison]) -> list[Row]:
    """The models, the first one first."""
    first = comparisons[0]
    rows = [Row("A", first.a.sources.predictions.source, {s: d.a for s, d in first.differences.items()})]
    for letter, one in zip(letters_of(comparisons), comparisons, strict=True):
        rows.append(Row(letter, one.b.sources.predictions.source, {s: d.b for s, d in one.differences.items()}))
    return rows


def cell_of(row: Row, place: int, spec: str, standing: Standing | None) -> tuple[str, str]:
    """A model's value, marked where it may be the best one, and its rank."""
    score = row.scores[spec]
    value = value_text(score.value, score.interval)
    if standing is None:
        return value, ""
    return value + (MARK if place in standing.best else ""), standing.text(place)


def lineup_text(lineup: Lineup, width: int = 80) -> str:
    """The board of all models, then every comparison, one after the other."""
    named = zip(letters_of(lineup.comparisons), lineup.comparisons, strict=True)
    each = [comparison_text(comparison, width, letter) for letter, comparison in named]
    if len(each) < 2:
        return each[0]
    remarks = [bullet(remark, width) for remark in rank_remarks(lineup)]
    return "\n\n".join(["\n".join([board_text(lineup, width), *remarks]), *each])


def board_text(lineup: Lineup, width: int) -> str:
    """The board for a terminal: a row per model; metrics that do not fit are counted below."""
    rows, first = rows_of(lineup.comparisons), lineup.comparisons[0]
    columns = {
        spec: [cell_of(row, i, spec, lineup.standings.get(spec)) for i, row in enumerate(rows)]
        for spec in first.differences
    }
    heads = {spec: f"{spec}{ARROWS[d.better]}" for spec, d in first.differences.items()}
    used = max(len(row.letter) for row in rows) + GAP + min(30, max(len(row.source) for row in rows))
    shown: list[str] = []
    for spec, cells in columns.items():
        need = 2 * GAP + max(len(heads[spec]), *(len(v) for v, _ in cells)) + max(4, *(len(r) for _, r in cells))
        if shown and used + need > width:
            break
        shown.append(spec)
        used += need
    table = grid(
        ["", "model", *(text for spec in shown for text in (heads[spec], "rank"))],
        [[row.letter, row.source, *(t for s in shown for t in columns[s][i])] for i, row in enumerate(rows)],
        "ll" + "rl" * len(shown), width, shrink=1,
    )  # fmt: skip
    hidden = len(columns) - len(shown)
    more = f"\n{count_text(hidden, 'more metric')}: choose with -m, or see the JSON." if hidden else ""
    units = next((d.units for d in first.differences.values()), 0)
    top = f"{first.task}: {count_text(units, first.unit)}, {count_text(len(rows), 'model')}"
    return f"{top}\n\n{table}{more}"


def rank_remarks(lineup: Lineup) -> list[str]:
    """How ranks are to be read, and which models may be the best."""
    if not lineup.standings:
        return []
    rows = rows_of(lineup.comparisons)
    level = percent_text(next(iter(lineup.standings.values())).confidence)
    said = [f"{spec}: {', '.join(rows[i].letter for i in one.best)}" for spec, one in lineup.standings.items()]
    more = f"; and {count_text(len(said) - MOST_NAMED, 'more metric')}" if len(said) > MOST_NAMED else ""
    return [
        f"Rank 1-3: any of these. With {level} confidence all ranks of a metric lie in their sets, by all pairs of "
        "models together (max-T over paired draws).",
        f"{MARK} not shown to be worse than the best. {'; '.join(said[:MOST_NAMED])}{more}.",
    ]


def board_cells(lineup: Lineup) -> tuple[list[str], list[list[str]]]:
    """The board as a header and rows of plain texts, a row per model: for Markdown."""
    rows, first = rows_of(lineup.comparisons), lineup.comparisons[0]
    header = ["", "model"]
    for spec, d in first.differences.items():
        header += [f"`{spec}`{ARROWS[d.better]}", "rank"]
    cells = []
    for i, row in enumerate(rows):
        line = [row.letter, row.source]
        for spec in first.differences:
            value, rank = cell_of(row, i, spec, lineup.standings.get(spec))
            score = row.scores[spec]
            line += [f"{value} {interval_text(score.value, score.interval)}".strip(), rank]
        cells.append(line)
    return header, cells
