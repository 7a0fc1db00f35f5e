"""Edit distance of texts, by character or by word, and how many are kept, substituted, deleted and inserted.

Of the alignments with the least edits one is counted, always the same: native/kernels/language/edit_distance.hpp says
which. It is that of rapidfuzz, and so that of jiwer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from steelyard import _native

EncodedTexts = tuple[NDArray[np.uint32], NDArray[np.int64]]
Counts = NDArray[np.int64]
KEPT, SUBSTITUTED, DELETED, INSERTED = range(4)
AT_ONCE = 2048  # texts whose code points are in memory together


def characters(texts: Sequence[str]) -> EncodedTexts:
    """Texts as rows of code points."""
    points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(
        np.uint32, copy=False
    )
    return points, np.cumsum(np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)))


def words(*sides: Sequence[Sequence[str]]) -> tuple[EncodedTexts, ...]:
    """Lists of words as rows of numbers: equal words have the same number on all sides."""
    number = _Numbers()
    rows = []
    for texts in sides:
        ends = np.cumsum(np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)))
        numbers = map(number.__getitem__, chain.from_iterable(texts))
        rows.append((np.fromiter(numbers, dtype=np.uint32, count=ends[-1] if len(ends) else 0), ends))
    return tuple(rows)


class _Numbers(dict[str, int]):
    """Words by number: a new word has the next one."""

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number


def distances(reference: EncodedTexts, hypothesis: EncodedTexts) -> Counts:
    """The least number of edits of each pair."""
    return _native.edit_distances(*reference, *hypothesis)


def edit_counts(reference: EncodedTexts, hypothesis: EncodedTexts) -> Counts:
    """Symbols kept, substituted, deleted and inserted, a row for each pair."""
    return _native.edit_counts(*reference, *hypothesis)


def text_distances(reference: Sequence[str], hypothesis: Sequence[str]) -> Counts:
    """The least number of edits of each pair of texts, by character."""
    return _in_parts(distances, reference, hypothesis)


def text_counts(reference: Sequence[str], hypothesis: Sequence[str]) -> Counts:
    """Characters kept, substituted, deleted and inserted, a row for each pair of texts."""
    return _in_parts(edit_counts, reference, hypothesis)


def _in_parts(
    count: Callable[[EncodedTexts, EncodedTexts], Counts], reference: Sequence[str], hypothesis: Sequence[str]
) -> Counts:
    parts = [
        count(characters(reference[i : i + AT_ONCE]), characters(hypothesis[i : i + AT_ONCE]))
        for i in range(0, max(1, len(reference)), AT_ONCE)
    ]
    return np.concatenate(parts)


def edit_steps(reference: EncodedTexts, hypothesis: EncodedTexts) -> Counts:
    """The edits of all pairs, a row each: the pair, which edit, and its places on both sides, or -1."""
    return _native.edit_steps(*reference, *hypothesis).reshape(-1, 4)
