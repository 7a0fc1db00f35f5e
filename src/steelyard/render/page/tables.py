"""Tables of a page: cells that know what they are sorted by, heads that sort, and a caption for who cannot see."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from html import escape

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.figure import Array, Listing, Texts
from steelyard.core.frozen import Frozen
from steelyard.core.table import Table
from steelyard.results.details_json import pack

MOST_CELLS = 1_500_000  # of a listing of units: about 5 MB of a page
MOST_ROWS = 60  # of a table that is written out; more are packed


class Cell(Frozen):
    """A cell: HTML that is safe already, and the number it is sorted by where it is one."""

    html: str
    sort: float | None = None
    head: bool = False


def text_cell(text: str) -> Cell:
    """A cell of text from data."""
    return Cell(escape(text))


def head_cell(text: str) -> Cell:
    """A cell that names its row."""
    return Cell(escape(text), head=True)


def number_cell(value: float, text: str) -> Cell:
    """A cell of a number."""
    return Cell(escape(text), value)


def table(
    caption: str,
    header: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    *,
    kind: str = "",
    sort: bool = True,
    foot: Sequence[Sequence[Cell]] = (),
) -> str:
    """A table in a region that can be scrolled by keyboard; `sort` lets its heads sort it, but not the rows `foot`."""
    numeric = [all(row[i].sort is not None for row in rows) and bool(rows) for i in range(len(header))]
    heads = "".join(_head(name, number) for name, number in zip(header, numeric, strict=True))
    body, below = (
        "".join(f"<tr>{''.join(_cell(c, n) for c, n in zip(row, numeric, strict=True))}</tr>\n" for row in part)
        for part in (rows, foot)
    )
    classes = " ".join(filter(None, [kind, "sortable" if sort and len(rows) > 1 else ""]))
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption)}">'
        f'<table class="{classes}"><caption>{escape(caption)}</caption><thead><tr>{heads}</tr></thead>\n'
        f"<tbody>{body}</tbody>{f'<tfoot>{below}</tfoot>' if below else ''}</table></div>"
    )


def _head(name: str, number: bool) -> str:
    broken = re.sub(r"\S{24}(?=\S)", lambda match: f"{match[0]}\0", name)  # a long word may be broken there
    shown = escape(broken).replace("\0", "<wbr>") if name else '<span class="unseen">picture</span>'
    return f'<th scope="col"{" class=n" if number else ""}>{shown}</th>'


def _cell(cell: Cell, number: bool) -> str:
    if cell.head:
        return f'<th scope="row">{cell.html}</th>'
    if cell.sort is None:
        return f"<td{' class=n' if number else ''}>{cell.html}</td>"
    value = "" if math.isnan(cell.sort) else f"{cell.sort:.9g}"
    return f'<td{" class=n" if number else ""} data-v="{value}">{cell.html}</td>'


def data_table(data: Table, place: str = "") -> str:
    """A task's table, such as a row for each class; one of many rows is packed, to be searched and sorted.

    `place` tells two packed tables of one name apart.
    """
    if len(data.rows) > MOST_ROWS:
        columns: dict[str, Array | Texts] = {data.corner or "what": Texts(np.arange(len(data.rows)), data.rows)}
        columns |= {name or "value": data.values[:, i] for i, name in enumerate(data.columns)}
        return explorer(Listing(f"{place}{data.name}", data.title, columns, x=data.columns[0] if data.columns else ""))
    rows = [
        [head_cell(name), *(number_cell(v, t) for v, t in zip(values, texts[1:], strict=True))]
        for name, values, texts in zip(data.rows, data.values.tolist(), data.cells(), strict=True)
    ]
    return table(data.title, [data.corner or "what", *data.columns], rows)


def explorer(listing: Listing) -> str:
    """Rows to be searched, sorted and filtered: compressed, and filled in by the page's script."""
    return (
        f'<div class="explorer" data-listing="data-{escape(listing.name)}">'
        f"<h3>{escape(listing.title)}</h3><p class=legend>{count_text(len(listing), 'row')}; the page's script "
        "shows them.</p>"
        "</div>"
        f'<script type="application/octet-stream" id="data-{escape(listing.name)}">{pack(listing)}</script>'
    )
