"""Blocks of the truth matched with the pieces of replies.

`match=runs`: a candidate is a block with a run of neighbouring pieces, or a run of blocks with one piece. Its gain is
the mean length of both sides less the edits between them. Candidates are taken by falling gain, each if nothing of it
is taken yet. The reading order is not used, so that it can be measured; see native/kernels/documents/runs.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard import _native
from steelyard.core.errors import TooLarge
from steelyard.core.frozen import Frozen
from steelyard.core.pairs import Array
from steelyard.language import edits
from steelyard.tasks.documents.texts import Norm, glue, normalise, normalise_formula
from steelyard.tasks.tables.omnidocbench import normalised_table

TEXT, TITLE, FORMULA, TABLE, LEFT_OUT = range(5)
SKIPPED = -1  # kinds that have no text to compare: figures, masks, blank pages
KINDS = ("text", "title", "formula", "table", "left_out")
STRETCH, SLACK, SHARE = 1.35, 40.0, 0.7
MOST_PAIRS = 1 << 22  # blocks times pieces of a page
MOST_LETTERS = 1 << 19  # of a page
MOST_TABLE_PAIRS = 1 << 14  # of true tables and tables of the reply of a page
MOST_MARKUP = 1 << 18  # characters of a table that decide what it is matched with


class Blocks(Frozen):
    """The blocks of one side, by page and reading order: those of page p are `begin[p]:begin[p + 1]`."""

    begin: Array
    kind: Array
    text: Array
    row: Array
    place: Array  # where a piece of a page begins on it; of blocks their rank

    __eq__, __hash__ = object.__eq__, object.__hash__

    @property
    def page(self) -> Array:
        """The page of each block."""
        return np.repeat(np.arange(len(self.begin) - 1), np.diff(self.begin))


class Groups(Frozen):
    """Groups of places, none empty: those of group i are `place[end[i - 1]:end[i]]`."""

    place: Array
    end: Array

    __eq__, __hash__ = object.__eq__, object.__hash__

    @classmethod
    def of_runs(cls, runs: Array) -> Groups:
        """Groups of neighbours; a row is the first place and the last."""
        count = runs[:, 1] - runs[:, 0] + 1
        end = np.cumsum(count)
        return cls(np.repeat(runs[:, 0] - (end - count), count) + np.arange(int(count.sum())), end)

    @classmethod
    def of_lists(cls, groups: Sequence[Sequence[int]]) -> Groups:
        """Groups as they are."""
        flat = [place for group in groups for place in group]
        return cls(np.array(flat, dtype=np.int64), np.cumsum([len(group) for group in groups], dtype=np.int64))

    def lists(self) -> list[list[int]]:
        """The places of each group."""
        ends, places = self.end.tolist(), self.place.tolist()
        return [places[begin:end] for begin, end in zip([0, *ends[:-1]], ends, strict=True)] if ends else []

    @property
    def first(self) -> Array:
        """The first place of each group."""
        return self.place[np.append(0, self.end[:-1])] if len(self.end) else self.place

    def first_where(self, mask: Array) -> Array:
        """The first place of each group where a mask of all places is true; -1 for none."""
        if not len(self.end):
            return self.place
        none = len(mask)
        at = np.where(mask[self.place], self.place, none)
        first: Array = np.minimum.reduceat(at, np.append(0, self.end[:-1]))
        return np.where(first == none, -1, first)


class Matches(Frozen):
    """Pairs of blocks and pieces: their places, edits and the longer length; what is left over.

    All are places in the blocks of both sides. `length` and `size` are the lengths of normalised blocks and pieces: 0
    where nothing is left of them, -1 where they are not texts. `position` is where a match stands on the page.
    """

    block: Groups
    piece: Groups
    position: Array
    edits: Array
    longer: Array
    missing: Array
    surplus: Array
    repeated: Array  # of each surplus piece: whether the page has it among its matches
    length: Array
    size: Array

    __eq__, __hash__ = object.__eq__, object.__hash__


def normalised(blocks: Blocks, norm: Norm) -> list[str]:
    """The texts and formulas of a side as they are compared; tables are empty."""
    return [
        "" if kind in (TABLE, SKIPPED) else normalise_formula(text, norm) if kind == FORMULA else normalise(text, norm)
        for kind, text in zip(blocks.kind.tolist(), blocks.text.tolist(), strict=True)
    ]


def match_runs(true: Blocks, reply: Blocks, norm: Norm, names: Array) -> Matches:
    """Match all pages. `names` are those of the pages, for messages."""
    left, right = normalised(true, norm), normalised(reply, norm)
    sides = [_listed(blocks, texts, norm) for blocks, texts in ((true, left), (reply, right))]
    (blocks, block_pages, first), (pieces, piece_pages, second) = sides
    _check_size(block_pages, piece_pages, second[1], names)
    runs = _native.match_runs(*first, block_pages, *second, piece_pages, STRETCH, SLACK, SHARE)
    block, piece = blocks[runs[:, :2]].reshape(-1, 2), pieces[runs[:, 2:4]].reshape(-1, 2)
    missing, surplus = _rest(blocks, runs[:, :2]), _rest(pieces, runs[:, 2:4])
    return Matches(
        Groups.of_runs(block),
        Groups.of_runs(piece),
        reply.place[piece[:, 0]],
        runs[:, 4],
        runs[:, 5],
        missing,
        surplus,
        _repeated(true, reply, left, right, block, piece, surplus),
        _lengths(true, left),
        _lengths(reply, right),
    )


class TableMatches(Frozen):
    """Pairs of a true table and one of the reply; true tables that are lost, and tables of the reply left over."""

    true: Array
    reply: Array
    lost: Array
    surplus: Array

    __eq__, __hash__ = object.__eq__, object.__hash__


def match_tables(true: Blocks, reply: Blocks, names: Array) -> TableMatches:
    """Tables of each page one to one, by the least edits of their normalised HTML as a share of the longer one.

    `names` are those of the pages, for messages.
    """
    sides = (true, reply)
    counts = [np.bincount(side.page[side.kind == TABLE], minlength=len(names)) for side in sides]
    for page in np.flatnonzero(counts[0] * counts[1] > MOST_TABLE_PAIRS).tolist():
        raise TooLarge(
            f"page '{names[page]}': the reply has {counts[1][page]:,} tables, and the truth {counts[0][page]:,}",
            remedy=f"A page may have {MOST_TABLE_PAIRS:,} pairs of them.",
        )
    texts = [
        {i: normalised_table(side.text[i])[:MOST_MARKUP] for i in np.flatnonzero(side.kind == TABLE).tolist()}
        for side in sides
    ]
    columns: list[list[int]] = [[], [], [], []]
    for page in range(len(true.begin) - 1):
        left, right = (
            [i for i in range(int(side.begin[page]), int(side.begin[page + 1])) if side.kind[i] == TABLE]
            for side in sides
        )
        if not left or not right:
            columns[2] += left
            columns[3] += right
            continue
        cells = [(texts[0][i], texts[1][j]) for i in left for j in right]
        distance = edits.text_distances(*zip(*cells, strict=True))
        longer = np.array([max(len(a), len(b), 1) for a, b in cells])
        column = _native.assign_scipy((distance / longer).reshape(len(left), len(right)))
        columns[0] += [i for i, j in zip(left, column.tolist(), strict=True) if j >= 0]
        columns[1] += [right[j] for j in column.tolist() if j >= 0]
        columns[2] += [i for i, j in zip(left, column.tolist(), strict=True) if j < 0]
        columns[3] += [right[j] for j in range(len(right)) if j not in column.tolist()]
    return TableMatches(*(np.array(column, dtype=np.int64) for column in columns))


def _lengths(blocks: Blocks, texts: list[str]) -> Array:
    return np.where(
        (blocks.kind == TABLE) | (blocks.kind == SKIPPED), -1, np.fromiter(map(len, texts), np.int64, len(texts))
    )


def _listed(blocks: Blocks, texts: list[str], norm: Norm) -> tuple[Array, Array, tuple[Array, Array, Array]]:
    """Places of the texts that are compared, where those of each page end, and their symbols, ends and glue."""
    filled = np.array([bool(text) for text in texts], dtype=bool)
    places = np.flatnonzero(filled)
    steps = np.append(0, np.cumsum(filled))
    chosen = [texts[i] for i in places.tolist()]
    marks = np.array(glue(chosen, norm), dtype=np.uint32)
    return places, steps[blocks.begin[1:]].astype(np.int64), (*edits.characters(chosen), marks)


def _check_size(block_pages: Array, piece_pages: Array, ends: Array, names: Array) -> None:
    """Refuse pages that would take hours: a reply that never ends."""
    counts = [np.diff(pages, prepend=0) for pages in (block_pages, piece_pages)]
    letters = np.diff(np.append(0, ends)[piece_pages], prepend=0)
    odd = np.flatnonzero((counts[0] * counts[1] > MOST_PAIRS) | (letters > MOST_LETTERS))
    if len(odd):
        page = int(odd[0])
        raise TooLarge(
            f"page '{names[page]}': the reply has {int(counts[1][page]):,} lines and {int(letters[page]):,} characters,"
            f" and the truth {int(counts[0][page]):,} blocks",
            remedy=f"A page may have {MOST_LETTERS:,} characters, and {MOST_PAIRS:,} pairs of a block and a line.",
        )


def _rest(places: Array, taken: Array) -> Array:
    """Places that no run covers."""
    steps = np.zeros(len(places) + 1, dtype=np.int64)
    np.add.at(steps, taken[:, 0], 1)
    np.add.at(steps, taken[:, 1] + 1, -1)
    rest: Array = places[np.cumsum(steps[:-1]) == 0]
    return rest


def _repeated(
    true: Blocks, reply: Blocks, left: list[str], right: list[str], block: Array, piece: Array, surplus: Array
) -> Array:
    """Whether each surplus piece says again what a matched block or piece of its page says."""
    said: set[tuple[int, str]] = set()
    for blocks, texts, runs in ((true, left, block), (reply, right, piece)):
        pages = blocks.page
        for first, last in runs.tolist():
            said.update((int(pages[i]), texts[i]) for i in range(first, last + 1) if texts[i])
    pages = reply.page
    return np.array([(int(pages[i]), right[i]) in said for i in surplus.tolist()], dtype=bool)
