"""The leaderboard of several models: each one's values, with the ranks that it may have beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from steelyard.core.counts import count_text
from steelyard.core.frozen import Frozen
from steelyard.render.numbers import interval_text, names_of, percent_text, value_text
from steelyard.render.summaries import lineup_verdict
from steelyard.render.text import bullet, comparison_text, grid, paragraph
from steelyard.render.verdicts import paired_word, superiority_text

if TYPE_CHECKING:
    from steelyard.results.comparison import Comparison, Lineup, Standing
    from steelyard.results.score import Score

ARROWS = {"lower": " ↓", "higher": " ↑", "zero": " →0", "one": " →1", "none": ""}
MARK = "*"  # of what is not shown to be worse than the best
MOST_NAMED = 12
LETTERS = "Models that share a letter are not shown to differ, by the same test of all pairs."
GAP = 2


class Row(Frozen):
    """One model: its name, where its predictions came from, and its scores by spec."""

    name: str
    source: str
    scores: Mapping[str, Score]


def rows_of(comparisons: Sequence[Comparison]) -> list[Row]:
    """The models, the first one first."""
    first = comparisons[0]
    sides = [(first.a, {spec: d.a for spec, d in first.differences.items()})]
    sides += [(one.b, {spec: d.b for spec, d in one.differences.items()}) for one in comparisons]
    named = zip(names_of(comparisons), sides, strict=True)
    return [Row(name, model.sources.predictions.source, scores) for name, (model, scores) in named]


def cell_of(row: Row, place: int, spec: str, standing: Standing | None) -> tuple[str, str]:
    """A model's value, marked where it may be the best one, and its rank with its letters."""
    score = row.scores[spec]
    value = value_text(score.value, score.interval)
    if standing is None:
        return value, ""
    rank = f"{standing.text(place)} {standing.group(place)}".strip()
    return value + (MARK if place in standing.best else ""), rank


def lineup_text(lineup: Lineup, width: int = 80, pairs: bool = False) -> str:
    """The board of all models; with `pairs` every comparison too, one after the other."""
    if len(lineup) < 2:
        return comparison_text(with_notes(lineup), width)
    remarks = rank_remarks(lineup)
    if not pairs:
        first, *names = names_of(lineup.comparisons)
        remarks += [
            superiority_text(d.spec, d.superiority, one.unit, name, first)
            for name, one in zip(names, lineup.comparisons, strict=True)
            for d in one.differences.values()
            if d.superiority
        ]
        remarks.append(
            "The JSON, and this table with pairs, show each model against the first: differences, p and verdicts."
        )
    remark_lines = "\n".join(bullet(remark, width) for remark in remarks)
    sentence = paragraph(lineup_verdict(lineup), width)
    every = [comparison_text(one, width) for one in lineup.comparisons if pairs]
    return "\n\n".join([board_text(lineup, width), remark_lines, *every, sentence])


def with_notes(lineup: Lineup) -> Comparison:
    """The comparison of a lineup of two models, with the notes of both."""
    return replace(lineup[0], notes=(*lineup.notes, *lineup[0].notes))


def board_text(lineup: Lineup, width: int) -> str:
    """The board for a terminal: a row per model; metrics that do not fit are counted below."""
    rows, first = rows_of(lineup.comparisons), lineup.comparisons[0]
    columns = {
        spec: [_value_and_rank(row, i, spec, lineup.standings.get(spec)) for i, row in enumerate(rows)]
        for spec in first.differences
    }
    heads = {spec: f"{spec}{ARROWS[d.better]}" for spec, d in first.differences.items()}
    used = max(len("model"), *(len(row.name) for row in rows))
    shown: list[str] = []
    for spec, cells in columns.items():
        statistic = GAP + max(len(heads[spec]), *(len(v) for v, _ in cells))
        statistic += GAP + max(4, *(len(r) for _, r in cells)) if lineup.standings else 0
        if shown and used + statistic > width:
            break
        shown.append(spec)
        used += statistic
    columns_per_metric = 2 if lineup.standings else 1  # without ranks there is no column of them
    table = grid(
        ["model", *(text for spec in shown for text in (heads[spec], "rank")[:columns_per_metric])],
        [[row.name, *(t for s in shown for t in columns[s][i][:columns_per_metric])] for i, row in enumerate(rows)],
        "l" + "rl"[:columns_per_metric] * len(shown), width,
    )  # fmt: skip
    hidden = len(columns) - len(shown)
    more = f"\n{count_text(hidden, 'more metric')}: choose with -m, or see the JSON." if hidden else ""
    units = next((d.units for d in first.differences.values()), 0)
    word = paired_word(lineup.comparisons)
    top = f"{first.task}: {count_text(units, first.unit)}, {count_text(len(rows), 'model')}, {word}"
    return f"{top}\n\n{table}{more}"


def _value_and_rank(row: Row, place: int, spec: str, standing: Standing | None) -> tuple[str, str]:
    """A model's value with its interval, and its rank."""
    value, rank = cell_of(row, place, spec, standing)
    score = row.scores[spec]
    return f"{value} {interval_text(score.value, score.interval)}".strip(), rank


def rank_remarks(lineup: Lineup) -> list[str]:
    """How ranks are to be read, and which models may be the best."""
    if not lineup.standings:
        return list(lineup.notes)
    rows = rows_of(lineup.comparisons)
    level = percent_text(next(iter(lineup.standings.values())).confidence)
    best_models = [f"{spec}: {', '.join(rows[i].name for i in one.best)}" for spec, one in lineup.standings.items()]
    more = f"; and {count_text(len(best_models) - MOST_NAMED, 'more metric')}" if len(best_models) > MOST_NAMED else ""
    lettered = any(one.letters for one in lineup.standings.values())
    return [
        *lineup.notes,
        f"Rank 1-3: any of these. With {level} confidence all ranks of a metric lie in their sets, by all pairs of "
        "models together (max-T over paired draws).",
        f"{MARK} not shown to be worse than the best. {'; '.join(best_models[:MOST_NAMED])}{more}.",
        *([LETTERS] if lettered else []),
    ]


def board_cells(lineup: Lineup) -> tuple[list[str], list[list[str]]]:
    """The board as a header and rows of plain texts, a row per model: for Markdown."""
    rows, first = rows_of(lineup.comparisons), lineup.comparisons[0]
    header = ["model"]
    for spec, d in first.differences.items():
        header += [f"`{spec}`{ARROWS[d.better]}", "rank"]
    cells = []
    for i, row in enumerate(rows):
        line = [row.name]
        for spec in first.differences:
            line += _value_and_rank(row, i, spec, lineup.standings.get(spec))
        cells.append(line)
    return header, cells
