"""Tables of HTML as trees and grids, and how alike two of them are: TEDS and GriTS.

`parse_tables` finds the tables of a text; `teds`, `teds_struct`, `grits_top` and `grits_con` compare two of them, and
`tree_scores` and `grid_scores` many pairs at once. `rules` says how HTML is read: `clean` by the HTML standard, without
differences that nobody sees; `pubtabnet`, `omnidocbench` and `microsoft` as the tools of these names do.
"""

from __future__ import annotations

import html as entities
import re
from collections.abc import Sequence
from typing import Literal

import numpy as np

from steelyard import _native
from steelyard.core.frozen import Frozen
from steelyard.core.records import Array
from steelyard.tasks.tables.omnidocbench import normalised_table

Rules = Literal["clean", "pubtabnet", "omnidocbench", "microsoft"]
Inline = Literal["drop", "tokens"]
Overlap = Literal["hull", "union"]
Text = Literal["lcs", "difflib"]
Kind = Literal["top", "con", "loc"]
KINDS = ("top", "con", "loc")
STATUS = ("scored", "no table", "too large", "unreadable span")  # of a pair
# Limits, which native/kernels/tables/tables.hpp has: larger tables are not compared.
MOST_NODES, MOST_PLACES, MOST_LETTERS, MOST_COMPARED = 4000, 20_000, 1 << 18, 4096
NOTES = {
    1: "cut off",
    2: "spans that cannot be read",
    4: "colspan above 1000",
    8: "rowspan behind the last row",
    16: "tags inside cells",
    32: "rows of unequal length",
    64: "spans that cross",
    128: "too large",
}
OVERSIZE = 128
# Everything that may be a character reference; which of these are, and what they mean, the standard library knows.
# A sign before it is taken along: what it stands for must not begin a tag.
_REFERENCE = re.compile(r"(?:</?)?&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[^\t\n\f <&#;]{1,32};?)")
Block = tuple[bytes, Array]


class Cell(Frozen):
    """A cell: the row and column of its first place, its spans, its text, and whether it is a header."""

    row: int
    column: int
    rowspan: int
    colspan: int
    text: str
    header: bool


class Table(Frozen):
    """A table as it is compared by default: its source, its cells, how many rows and columns it has, and notes."""

    html: str
    cells: tuple[Cell, ...]
    rows: int
    columns: int
    notes: tuple[str, ...]


class Grits(Frozen):
    """GriTS of two tables: F, precision, recall and the upper bound of F."""

    f: float
    precision: float
    recall: float
    bound: float


def _resolve(match: re.Match[str]) -> str:
    resolved = entities.unescape(match[0])
    return resolved.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def encode(text: str) -> bytes:
    """A text for the native core, with character references resolved, except those of the signs that make tags."""
    if "&" in text:
        text = _REFERENCE.sub(_resolve, text)
    return text.encode("utf-8", "surrogatepass")


def block_of(texts: Sequence[str], normalise: bool = False) -> Block:
    """Texts as one block of bytes and the end of each; rewritten as OmniDocBench does where that is asked for."""
    parts = [encode(normalised_table(text) if normalise else text) for text in texts]
    return b"".join(parts), np.cumsum([len(part) for part in parts], dtype=np.int64)


def scan(texts: Sequence[str]) -> Array:
    """Of each text: tables, and of the first one rows, columns, cells and notes (bits, see `NOTES`)."""
    scanned: Array = _native.table_scan(*block_of(texts))
    return scanned


def note_words(bits: int) -> tuple[str, ...]:
    """The words of notes."""
    return tuple(words for bit, words in NOTES.items() if bits & bit)


def parse_tables(text: str) -> list[Table]:
    """Tables of a text, each with its cells; tables inside cells are parts of these."""
    data = encode(text)
    tables, cells, letters = _native.table_cells(data)
    parsed: list[Table] = []
    row, start = 0, 0
    values = cells.tolist()
    for begin, end, rows, columns, notes, count in tables.tolist():
        own = []
        for r, c, high, wide, header, stop in values[row : row + count]:
            own.append(Cell(r, c, high, wide, letters[start:stop].decode("utf-8", "surrogatepass"), bool(header)))
            start = stop
        row += count
        source = data[begin:end].decode("utf-8", "surrogatepass")
        parsed.append(Table(source, tuple(own), rows, columns, note_words(notes)))
    return parsed


def tree_scores(
    truths: Sequence[str],
    replies: Sequence[str],
    *,
    rules: Rules = "clean",
    structure: bool = False,
    header: bool = False,
    inline: Inline = "drop",
    ignore: str = "",
) -> tuple[Array, Array]:
    """TEDS of each pair of texts, 0 where it cannot be compared, and why not (places in `STATUS`)."""
    normalise = rules == "omnidocbench"
    result = _native.table_distances(
        *block_of(truths, normalise),
        *block_of(replies, normalise),
        int(rules != "clean"),
        structure,
        header,
        inline == "tokens",
        ignore.encode(),
    )
    distance, size, status = result.T
    # Two tables without rows are alike; the published code divides by 0 there, which scores 0.
    comparable = (status == 0) & ((size > 0) | (rules == "clean"))
    scores = np.where(comparable, 1 - distance / np.maximum(size, 1), 0.0)
    return scores, status.astype(np.int64)


def teds(
    truth: str,
    reply: str,
    *,
    rules: Rules = "clean",
    structure: bool = False,
    header: bool = False,
    inline: Inline = "drop",
    ignore: Sequence[str] = (),
) -> float:
    """TEDS of the first table of both texts: 1 less the edit distance of the trees by the nodes of the larger.

    `structure` leaves out texts. Under the rules `clean`, `header` charges `th` for `td` and a lost `thead`, and
    `inline=tokens` compares tags inside cells. Under `pubtabnet`, `ignore` names tags that are taken out.
    """
    scores, _ = tree_scores(
        [truth],
        [reply],
        rules=rules,
        structure=structure,
        header=header,
        inline=inline,
        ignore="/".join(ignore),
    )
    return float(scores[0])


def teds_struct(truth: str, reply: str, *, rules: Rules = "clean", header: bool = False) -> float:
    """TEDS without the texts of cells."""
    return teds(truth, reply, rules=rules, structure=True, header=header)


NO_BOXES = (np.zeros((0, 4)), np.zeros(0, np.int64))


def grid_scores(
    truths: Sequence[str],
    replies: Sequence[str],
    kind: Kind,
    *,
    rules: Rules = "clean",
    overlap: Overlap = "hull",
    text: Text = "lcs",
    truth_boxes: tuple[Array, Array] = NO_BOXES,
    reply_boxes: tuple[Array, Array] = NO_BOXES,
) -> tuple[Array, Array]:
    """GriTS of each pair of texts (F, precision, recall, upper bound), and why it cannot be compared.

    Boxes are those of all cells, and the end of those of each text.
    """
    normalise = rules == "omnidocbench"
    result = _native.table_grids(
        *block_of(truths, normalise),
        *block_of(replies, normalise),
        KINDS.index(kind),
        2 if rules == "microsoft" else 0,
        int(overlap == "union"),
        int(text == "difflib"),
        *truth_boxes,
        *reply_boxes,
    )
    score, bound, truth, reply, status = result.T
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = np.where(reply > 0, score / reply, 1.0)
        recall = np.where(truth > 0, score / truth, 1.0)
        f, best = (_f_score(value, truth, reply) for value in (score, bound))
    values = np.stack([f, precision, recall, best], axis=1)
    values[status > 1] = 0.0
    return values, status.astype(np.int64)


def _f_score(score: Array, truth: Array, reply: Array) -> Array:
    precision, recall = np.where(reply > 0, score / reply, 1.0), np.where(truth > 0, score / truth, 1.0)
    both = precision + recall
    return np.where(both > 0, 2 * precision * recall / both, 0.0)


def grits_top(truth: str, reply: str, *, rules: Rules = "clean", overlap: Overlap = "hull") -> Grits:
    """GriTS of topology: places by the spans of their cells."""
    return Grits(*grid_scores([truth], [reply], "top", rules=rules, overlap=overlap)[0][0].tolist())


def grits_con(truth: str, reply: str, *, rules: Rules = "clean", text: Text = "lcs") -> Grits:
    """GriTS of content: places by the texts of their cells."""
    return Grits(*grid_scores([truth], [reply], "con", rules=rules, text=text)[0][0].tolist())


def shared_cells(truths: Sequence[str], replies: Sequence[str]) -> Array:
    """Of each pair: cells that both have, cells of the truth and of the reply, and whether the shapes are the same."""
    counts: Array = _native.table_shared_cells(*block_of(truths), *block_of(replies))
    return counts
