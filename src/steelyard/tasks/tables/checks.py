"""Checks of `tables`: replies without tables, cut off, in Markdown or LaTeX, repeated, or of other tables."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from steelyard.checks.check import FEW, CheckData, Checks, Problem, some_rows
from steelyard.checks.ids import with_ids
from steelyard.core.counts import share_text
from steelyard.tasks.tables.trees import note_words, scan, tree_scores

CHECKS = with_ids(Checks(), repeats=False)
BETTER = 0.2  # by how much the reply of a neighbour must be better
MOST = 2000  # tables that are tried
SHARE = 0.02
_LATEX = re.compile(r"\\begin\{(?:tabular|array|table)")
_PIPES = re.compile(r"^\s*\|?.*\|.*\n\s*\|?\s*:?-{2,}", re.MULTILINE)


def _replies(data: CheckData) -> list[str]:
    return [str(text or "") for text in data.pairs.prediction["html"].tolist()]


def _problem(data: CheckData, rows: list[int], words: str, verb: str) -> Problem | None:
    every = len(data.pairs.prediction)
    if len(rows) < max(1, SHARE * every):
        return None
    return Problem(
        f"{share_text(len(rows), every, 'reply', verb)} {words}.",
        len(rows),
        every,
        some_rows(data.pairs.prediction, np.array(rows), "html"),
    )


@CHECKS.add(
    "other-markup",
    "error",
    "replies are tables in Markdown or LaTeX, which are not read",
    "Turn them into HTML, or ask the model for HTML.",
)
def other_markup(data: CheckData) -> Problem | None:
    """Replies without a table in HTML that hold one in another markup."""
    if data.pairs is None:
        return None
    texts = _replies(data)
    bare = np.flatnonzero(data.pairs.scanned[:, 0] == 0).tolist()
    rows = [row for row in bare if _LATEX.search(texts[row]) or _PIPES.search(texts[row])]
    return _problem(data, rows, "a table in Markdown or LaTeX, not in HTML", "are")


@CHECKS.add(
    "cut-off",
    "warning",
    "replies end before their table does",
    "Raise the limit of tokens of the model.",
)
def cut_off(data: CheckData) -> Problem | None:
    """Replies whose table has no end."""
    if data.pairs is None:
        return None
    rows = np.flatnonzero(data.pairs.scanned[:, 4] & 1).tolist()
    return _problem(data, rows, "no </table>: were they cut at the token limit?", "have")


@CHECKS.add(
    "same-reply",
    "warning",
    "one reply is given for many tables",
    "Were the pictures looked at?",
)
def same_reply(data: CheckData) -> Problem | None:
    """The same table for half of the pictures or more, where the true ones differ."""
    if data.pairs is None or len(data.pairs.prediction) < FEW:
        return None
    texts = _replies(data)
    (text, count), *_ = Counter(texts).most_common(1)
    own = Counter(data.pairs.truth["html"].tolist()).most_common(1)[0][1]
    if count < max(3, 0.5 * len(texts)) or own >= 0.5 * len(data.pairs.truth) or not text:
        return None
    return _problem(data, [row for row, other in enumerate(texts) if other == text], "the same", "are")


@CHECKS.add(
    "odd-spans",
    "warning",
    "tables of the truth have spans that cross or cannot be read",
    "Repair them: tools disagree on what they mean.",
)
def odd_spans(data: CheckData) -> Problem | None:
    """Spans of the truth that are not numbers, cross, or run out of the table."""
    if data.pairs is None:
        return None
    notes = scan([str(text) for text in data.pairs.truth["html"].tolist()])[:, 4]
    rows = np.flatnonzero(notes & (2 | 4 | 8 | 64))
    if len(rows) < max(1, SHARE * len(notes)):
        return None
    words = ", ".join(note_words(int(notes[rows[0]]) & (2 | 4 | 8 | 64)))
    return Problem(
        f"{share_text(len(rows), len(notes), 'true table', 'have')} odd spans; the first: {words}.",
        len(rows),
        len(notes),
        some_rows(data.pairs.truth, rows, "html"),
    )


@CHECKS.add(
    "replies-shifted",
    "error",
    "replies fit the table before or behind theirs better than their own",
    "Compare the names of tables with the order of the files.",
    quick=False,
)
def replies_shifted(data: CheckData) -> Problem | None:
    """Replies that are one table further on, in the order of the truth."""
    if data.pairs is None or len(data.pairs.owner) < FEW:
        return None
    truths, replies = (texts[:MOST] for texts in data.pairs.texts())
    own = float(tree_scores(truths, replies)[0].mean())
    for step, where in ((1, "before"), (-1, "behind")):
        other = float(tree_scores(truths, replies[step:] + replies[:step])[0].mean())
        if other > own + BETTER:
            return Problem(
                f"TEDS is {own:.2f}, and {other:.2f} with the replies of the table {where}.", len(truths), len(truths)
            )
    return None
