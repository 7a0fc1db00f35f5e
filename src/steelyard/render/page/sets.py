"""The pages of pooled sets and of drift: the tables of the text, and the remarks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from steelyard.render.page.frame import Section, bullets, document
from steelyard.render.page.tables import Cell, head_cell, number_cell, table
from steelyard.render.sets import (
    Table,
    drift_line,
    drift_remarks,
    drift_tables,
    pool_line,
    pool_remarks,
    pool_tables,
)
from steelyard.results.sets import Drift, Pool


def pool_page(pool: Pool) -> str:
    """The page of pooled sets."""
    titles = ["Differences" if pool.differences else "Scores", "Sets"]
    return _page("Pooled sets", pool_line(pool), pool.verdict, titles, pool_tables(pool), pool_remarks(pool))


def drift_page(drift: Drift) -> str:
    """The page of a drift."""
    return _page(
        "Drift",
        drift_line(drift),
        drift.verdict,
        ["Changes", "Groups"],
        drift_tables(drift),
        drift_remarks(drift),
    )


def _page(
    title: str, line: str, verdict: str, titles: Sequence[str], tables: Sequence[Table], remarks: Sequence[str]
) -> str:
    sections = [
        Section(name.lower(), name, _table(name, *one)) for name, one in zip(titles, tables, strict=False)
    ] + [Section("remarks", "Remarks", bullets(remarks))]  # fmt: skip
    top = f'<p class="kicker">Steelyard</p><h1>{escape(title)}</h1><p class="line">{escape(line)}</p>'
    return document(f"Steelyard: {title.lower()}", top, sections, verdict=verdict)


def _table(name: str, header: Sequence[str], rows: Sequence[Sequence[str]], align: str) -> str:
    named = 1 if header[0] == "" else 0
    cells = [
        [
            head_cell(text) if i == named else number_cell(_leading(text), text) if side == "r" else Cell(escape(text))
            for i, (text, side) in enumerate(zip(row, align, strict=True))
        ]
        for row in rows
    ]
    return table(name, list(header), cells)


def _leading(text: str) -> float:
    """The number that a cell begins with."""
    try:
        return float(text.partition(" ")[0].replace("−", "-").replace(",", ""))
    except ValueError:  # "left out", "<0.001"
        return math.nan
