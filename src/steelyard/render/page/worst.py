"""The worst units of a page: how a person knows them, what went wrong, and their scores with equal digits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from html import escape

import numpy as np

from steelyard.core.figure import Array, Listing, Texts
from steelyard.render.numbers import number
from steelyard.render.page.tables import head_cell, number_cell, table, text_cell
from steelyard.results.report import Report
from steelyard.results.unit_table import UnitTable

WORST = 12
MOST_SPECS = 6  # columns of scores
MOST_FIELDS, LONGEST = 3, 60


def worst_table(report: Report, units: UnitTable, listing: Listing | None) -> str:
    """The units with the worst first score: their ids, what is known of them, what is wrong, their scores."""
    specs = list(units.values)[:MOST_SPECS]
    first = next((spec for spec in specs if np.isfinite(units.values[spec]).any()), None)
    if first is None or len(units.units) < 2:
        return ""
    values = np.asarray(units.values[first], dtype=float)
    better = report.scores[first].better if first in report.scores else "higher"
    badness = {"higher": -values, "zero": np.abs(values), "one": np.abs(values - 1)}.get(better, values)
    order = np.argsort(np.where(np.isfinite(badness), -badness, np.inf), kind="stable")[:WORST]
    places = [i for i in order.tolist() if np.isfinite(badness[i])]
    names = [str(units.units[i]) for i in places]
    fields = {} if listing is None else fields_of(listing, names)
    columns = {spec: even([float(units.values[spec][i]) for i in places]) for spec in specs}
    rows = []
    for row, i in enumerate(places):
        cells = [head_cell(names[row]), *(text_cell(texts[row]) for texts in fields.values())]
        cells += [number_cell(float(units.values[spec][i]), columns[spec][row]) for spec in specs]
        rows.append(cells)
    label = report.scores[first].label if first in report.scores else first
    return (
        f"<h3>The worst by {escape(label)}</h3>"
        + table(f"The worst {units.unit}s by {label}", [units.unit, *fields, *specs], rows)
        + f'<p class="legend">Each {escape(units.unit)} scored alone: {len(rows)} of {len(units.units):,}. '
        "All of them are below, to be sorted and filtered.</p>"
    )


def even(values: Sequence[float]) -> list[str]:
    """Numbers of one column with equal digits behind the point."""
    known = [value for value in values if math.isfinite(value)]
    if all(value == round(value) for value in known):
        decimals = 0
    else:
        decimals = max(0, min(6, 3 - math.floor(math.log10(max(map(abs, known))))))
    return [number(value, decimals) for value in values]


def fields_of(listing: Listing, names: Sequence[str]) -> dict[str, list[str]]:
    """What the rows of a listing say of units: texts that are the same in all rows of one, and what is wrong."""
    key = next((name for name, column in listing.columns.items() if _names_all(column, names)), None)
    if key is None:
        return {}
    ids = listing.columns[key]
    assert isinstance(ids, Texts)
    place = {name: code for code, name in enumerate(ids.names)}
    rows = {name: np.flatnonzero(ids.codes == place[name]) for name in names}
    fields: dict[str, list[str]] = {}
    for name, column in listing.columns.items():
        if name == key or not isinstance(column, Texts) or len(fields) == MOST_FIELDS:
            continue
        codes = [np.unique(column.codes[rows[unit]]) for unit in names]
        if all(len(code) == 1 for code in codes):
            fields[name] = [_short(str(column.names[int(code[0])])) for code in codes]
    wrong = [_wrong(listing, key, rows[unit]) for unit in names]
    return {**fields, "what is in it": wrong} if any(wrong) else fields


def _names_all(column: Array | Texts, names: Sequence[str]) -> bool:
    return isinstance(column, Texts) and set(names) <= set(column.names)


def _wrong(listing: Listing, key: str, rows: Array) -> str:
    """Of several rows, how many there are of each outcome, or the one with the largest number."""
    if len(rows) < 2:
        return ""
    colour = listing.columns.get(listing.colour)
    if isinstance(colour, Texts):
        counts = Counter(str(colour.names[code]) for code in colour.codes[rows].tolist())
        return _short(", ".join(f"{count} {name}" for name, count in counts.most_common()))
    sizes = listing.columns.get(listing.x)
    if sizes is None or isinstance(sizes, Texts) or not np.isfinite(sizes[rows]).any():
        return ""
    worst = rows[int(np.nanargmax(np.abs(sizes[rows])))]
    words = [
        _cell(name, column, int(worst)) for name, column in listing.columns.items() if name not in (key, listing.x)
    ]
    return _short(f"{listing.x}: {number(float(sizes[worst]), 1)} ({', '.join(words[:MOST_FIELDS])})")


def _cell(name: str, column: Array | Texts, row: int) -> str:
    if isinstance(column, Texts):
        return str(column.names[int(column.codes[row])])
    return f"{name} {float(column[row]):g}"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
