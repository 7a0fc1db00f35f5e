"""Drawn data of tables: HTML with spans, and replies with lost rows, other texts and other spans, or none."""

from __future__ import annotations

import json

import numpy as np

from steelyard.testing import Drawn
from support.drawn_common import Data, hash_of, same_columns

WORDS = ("total", "net", "2024", "growth", "kg", "12.5", "0.3", "n/a", "", "Δx")
Rows = list[list[tuple[str, int, int]]]  # text, rowspan, colspan


def draw_rows(rng: np.random.Generator, rows: int, columns: int) -> Rows:
    """A table that fills its grid."""
    taken: set[tuple[int, int]] = set()
    drawn: Rows = []
    for r in range(rows):
        row: list[tuple[str, int, int]] = []
        for c in range(columns):
            if (r, c) in taken:
                continue
            high, wide = (1 + int(r + 1 < rows), 1) if rng.random() < 0.1 else (1, 1 + int(c + 1 < columns))
            if rng.random() < 0.8 or any((r + i, c + j) in taken for i in range(high) for j in range(wide)):
                high, wide = 1, 1
            taken |= {(r + i, c + j) for i in range(high) for j in range(wide)}
            row.append((str(rng.choice(WORDS)), high, wide))
        drawn.append(row)
    return drawn


def changed_rows(rng: np.random.Generator, rows: Rows) -> Rows:
    """The table with up to three edits."""
    rows = [list(row) for row in rows]
    for _ in range(int(rng.integers(0, 4))):
        kind, r = int(rng.integers(0, 4)), int(rng.integers(0, len(rows)))
        if kind == 0 and len(rows) > 1:
            del rows[r]
        elif kind == 1 and len(rows[r]) > 1:
            del rows[r][-1]
        elif kind == 2:
            rows.insert(r, [("new", 1, 1)])
        elif rows[r]:
            rows[r][0] = (rows[r][0][0] + "x", 1, 1)
    return rows


def html(rows: Rows) -> str:
    """A table as HTML."""

    def cell(text: str, high: int, wide: int) -> str:
        spans = (f' rowspan="{high}"' if high > 1 else "") + (f' colspan="{wide}"' if wide > 1 else "")
        return f"<td{spans}>{text}</td>"

    inside = "".join(f"<tr>{''.join(cell(*part) for part in row)}</tr>" for row in rows)
    return f"<html><body><table>{inside}</table></body></html>"


def boxes(rng: np.random.Generator, rows: Rows) -> str:
    """A box for each cell, as JSON."""
    corners = [(10 * c, 10 * r) for r, row in enumerate(rows) for c in range(len(row))]
    return json.dumps([[x, y, x + 8 + int(rng.integers(0, 3)), y + 8] for x, y in corners])


def draw_tables(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """Tables of up to four rows and columns; one reply in ten holds no table."""
    truth: Data = {name: [] for name in ("table", "html", "boxes", "kind", "sample_weight")}
    predicted: Data = {"table": [], "html": [], "boxes": []}
    for unit in range(units):
        name = f"t{unit}"
        rows = draw_rows(rng, int(rng.integers(1, 5)), int(rng.integers(1, 5)))
        values = (name, html(rows), boxes(rng, rows), "abc"[unit % 3], 1 + hash_of(name) % 3)
        for key, value in zip(truth, values, strict=True):
            truth[key].append(value)
        reply = changed_rows(rng, rows)
        bare = rng.random() < 0.1
        predicted["table"].append(name)
        predicted["html"].append("a list" if bare else html(reply))
        predicted["boxes"].append("[]" if bare else boxes(rng, reply))
    return truth, predicted


DRAWN = {"tables": Drawn(draw_tables, same_columns("table", "html", "boxes"), unit="table", weight="sample_weight")}
