"""Exact ranks of chosen vectors among all: scores above theirs are counted in blocks of a product, which are not kept.

A score is a sum over the elements in double precision, halved again and again (`tree_sum`), so that it has the same
bits wherever it is computed. A block holds the same in single precision, with a bound of how far it may be off: what
lies further from a threshold than the bound is counted, and what lies nearer is scored again. See `ranks_gpu` for the
same on a GPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard import _native
from steelyard.core.errors import Unsupported
from steelyard.core.frozen import Frozen

Array = NDArray[Any]
QUERY_BYTES, PAIR_BYTES = 256 << 20, 32 << 20
ROW_BYTES = 1 << 20  # of rows that are converted at a time: they stay in the cache of a core
QUERIES, GALLERY = 512, 8192  # of one block


class RankQueries(Frozen):
    """The vectors whose ranks are wanted: those of query i are `row[starts[i]:starts[i + 1]]`, places in the gallery.

    `exclude` is a place that a query does not find (itself), or -1. Where scores are equal, the larger `tie` goes
    first. Ranks beyond `depth` are not distinguished. The arrays may be tensors.
    """

    starts: Any
    row: Any
    exclude: Any
    tie: Any
    depth: int


class Ranks(Frozen):
    """Ranks from 1, and 0 beyond the depth: by score, and by score in single precision; queries with a tied vector."""

    rank: Array
    single: Array
    tied: Array


def tree_sum(values: Any) -> Any:
    """The sum of each row, the second half added to the first until one number is left. The values are lost."""
    width = values.shape[1]
    while width > 1:
        half = 1 << (width - 1).bit_length() - 1
        values[:, : width - half] += values[:, half:width]
        width = half
    return values[:, 0]


class Space(Frozen):
    """How vectors are compared: by the cosine, or by minus the distance; and what a row is divided by for it.

    Distances are of rows divided by one power of two, so that no square is too large.
    """

    distance: str
    query: Any
    gallery: Any
    query_length: Any
    gallery_length: Any
    factor: float

    def rows(self, side: int, index: Any) -> Any:
        """Some vectors in double precision, as they are compared."""
        matrix, length = ((self.query, self.query_length), (self.gallery, self.gallery_length))[side]
        part = as_double(matrix[index])
        if self.distance == "cosine":
            part /= length[index][:, None]
        else:
            part *= self.factor
        return part

    def scores(self, query: Any, gallery: Any) -> Any:
        """The exact scores of pairs of rows."""
        if self.distance == "cosine":
            return tree_sum(query * gallery)
        return -(tree_sum((query - gallery) ** 2) ** 0.5)


def as_double(values: Any) -> Any:
    """An array or a tensor in double precision; always a new one."""
    return values.astype(np.float64) if isinstance(values, np.ndarray) else values.double().clone()


def pieces(count: int, width: int, room: int = PAIR_BYTES) -> list[slice]:
    """Slices of rows of so many doubles that fit into the room."""
    step = max(1, room // (8 * max(1, width)))
    return [slice(start, min(count, start + step)) for start in range(0, count, step)]


def space_of(query: Array, gallery: Array, distance: str, source: str) -> Space:
    """The space of two matrices. A vector without a direction is an error where the cosine is asked for."""
    lengths = []
    for name, matrix in (("query", query), ("gallery", gallery)):
        if distance != "cosine":
            lengths.append(np.zeros(0))
            continue
        parts = pieces(len(matrix), matrix.shape[1], ROW_BYTES)
        length = np.concatenate([np.zeros(0)] + [tree_sum(_squares(matrix[part])) for part in parts])
        refuse_zeros(np.flatnonzero(length == 0), name, source)
        lengths.append(np.sqrt(length))
    sides = (query, gallery) if distance != "cosine" else ()
    largest = max((max(float(matrix.max()), -float(matrix.min())) for matrix in sides if matrix.size), default=0.0)
    return Space(distance, query, gallery, lengths[0], lengths[1], power_below(largest))


def _squares(rows: Array) -> Array:
    exact: Array = as_double(rows)
    exact *= exact
    return exact


def power_below(largest: float) -> float:
    """The power of two that makes the largest number one of at most 1."""
    return float(2.0 ** -np.frexp(largest)[1]) if largest > 0 else 1.0


def refuse_zeros(rows: Any, name: str, source: str) -> None:
    """Raise where a vector is of zeros."""
    if len(rows):
        raise Unsupported(
            "a vector of zeros has no direction",
            where=f"{source}, array '{name}', row {int(rows[0])}",
            remedy="Remove it, or set the option `distance=l2`.",
        )


def bound(cosine: bool, width: int, unit: float, query: tuple[Any, Any], gallery: tuple[Any, Any], score: Any) -> Any:
    """How far a block's value may be from the exact one, and a score's single precision from another.

    A value is the product of two rows, for distances less half the square of the gallery's. `unit` is the rounding of
    one addition. `query` are the lengths of rounded rows and of what rounding took from them, by query; `gallery` the
    largest of both. `score` is the exact one.
    """
    (length, lost), (most, most_lost) = query, gallery
    product = length * most
    rounding = lost * most + (length + lost) * most_lost + width * unit * product
    if cosine:
        return (rounding + 2.0**-22) * 1.001
    half = most * most / 2
    return (rounding + 4 * unit * (product + half) + score * score * 2.0**-22 + 1e-12 * (length + most) ** 2) * 1.001


def exact_ranks(query: Array, gallery: Array, requirement: RankQueries, distance: str, source: str) -> Ranks:
    """The ranks of the wanted vectors."""
    counts = Counts(space_of(query, gallery, distance, source), requirement)
    for part in _query_pieces(requirement.starts, query.shape[1]):
        _count_part(counts, part)
    return counts.ranks()


class Counts:
    """How many vectors stand above each wanted one; those that are equal stand apart."""

    def __init__(self, space: Space, requirement: RankQueries) -> None:
        self.space, self.wanted = space, requirement
        many = len(requirement.row)
        self.owner = np.repeat(np.arange(len(requirement.starts) - 1), np.diff(requirement.starts))
        self.score = self._scores(self.owner, requirement.row)
        self.above = np.zeros(many, dtype=np.int64)
        self.single = np.zeros(many, dtype=np.int64)
        self.equal = np.zeros((2, many), dtype=np.int64)  # before it, and in all

    def _scores(self, query: Array, gallery: Array) -> Array:
        space = self.space
        scores = [np.zeros(0)]
        for part in pieces(len(query), space.query.shape[1]):
            scores.append(space.scores(space.rows(0, query[part]), space.rows(1, gallery[part])))
        return np.concatenate(scores)

    def decide(self, which: Array, place: Array) -> None:
        """Count vectors of the gallery that are too near to a wanted one's score to say without the score itself."""
        scores = self._scores(self.owner[which], place)
        own, row = self.score[which], self.wanted.row[which]
        before = self.wanted.tie[place] > self.wanted.tie[row]
        equal = scores == own
        rounded, own_rounded = (s.astype(np.float32) for s in (scores, own))
        np.add.at(self.above, which, (scores > own) | (equal & before))
        np.add.at(self.single, which, (rounded > own_rounded) | ((rounded == own_rounded) & before))
        equal &= (place != row) & (place != self.wanted.exclude[self.owner[which]])
        np.add.at(self.equal[0], which, equal & before)
        np.add.at(self.equal[1], which, equal)

    def ranks(self) -> Ranks:
        """Ranks, once the whole gallery is counted."""
        wanted = self.wanted
        excluded = wanted.exclude[self.owner]
        which = np.flatnonzero(excluded >= 0)
        counted = [values.copy() for values in (self.above, self.single, self.equal)]
        self.above[:], self.single[:] = 0, 0
        self.decide(which, excluded[which])
        return ranks_of(wanted, self.owner, counted[0] - self.above, counted[1] - self.single, counted[2])


def ranks_of(requirement: RankQueries, owner: Array, above: Array, single: Array, equal: Array) -> Ranks:
    """Ranks from counts of what stands above, without what is excluded."""
    rank = np.where(above < requirement.depth, above + 1, 0)
    rounded = np.where(rank > 0, np.minimum(single + 1, requirement.depth), 0)
    tied = (rank > 0) & np.where(rank < requirement.depth, equal[1] > 0, equal[0] > 0)
    queries = np.zeros(len(requirement.starts) - 1, dtype=bool)
    queries[owner[tied]] = True
    return Ranks(rank.astype(np.int64), rounded.astype(np.int64), queries)


def _query_pieces(starts: Array, width: int) -> list[slice]:
    return [part for part in pieces(len(starts) - 1, width, QUERY_BYTES) if starts[part.stop] > starts[part.start]]


def _rounded_rows(space: Space, side: int, part: slice) -> tuple[Array, Array, Array]:
    """Rows in single precision, their lengths, and the lengths of what rounding took from them; or more than those."""
    width = space.query.shape[1]
    rows = np.empty((part.stop - part.start, width), dtype=np.float32)
    length, lost = np.empty(len(rows)), np.empty(len(rows))
    if (
        space.distance == "cosine"
    ):  # a row has the length 1; rounding takes half a unit of each element, or of the least
        lost[:] = 2.0**-23.9 + width * 2.0**-149
        length[:] = 1 + lost
    for piece in pieces(len(rows), width, ROW_BYTES):
        exact = space.rows(side, slice(part.start + piece.start, part.start + piece.stop))
        rows[piece] = exact
        if space.distance == "cosine":
            continue
        length[piece] = np.sqrt(np.einsum("ij,ij->i", rows[piece], rows[piece], dtype=np.float64))
        exact -= rows[piece]
        lost[piece] = np.sqrt(np.einsum("ij,ij->i", exact, exact))
    return rows, length, lost


def _count_part(counts: Counts, part: slice) -> None:
    """Count the gallery above the wanted vectors of some queries."""
    space, wanted = counts.space, counts.wanted
    cosine, width = space.distance == "cosine", space.query.shape[1]
    rows, length, lost = _rounded_rows(space, 0, part)
    first, last = (int(wanted.starts[i]) for i in (part.start, part.stop))
    starts = wanted.starts[part.start : part.stop + 1] - first
    mine = slice(first, last)
    owner, score = counts.owner[mine] - part.start, counts.score[mine]
    middle = score
    if not cosine:
        parts = pieces(len(rows), width, ROW_BYTES)
        squares = np.concatenate([tree_sum(_squares(space.rows(0, _shift_slice(p, part.start)))) for p in parts])
        middle = (squares[owner] - score**2) / 2
    block = np.empty((min(QUERIES, len(rows)), min(GALLERY, len(space.gallery))), dtype=np.float32)
    for begin in range(0, len(space.gallery), GALLERY):
        end = min(len(space.gallery), begin + GALLERY)
        gallery, most, most_lost = _rounded_rows(space, 1, slice(begin, end))
        off = bound(cosine, width, 2.0**-23, (length[owner], lost[owner]), (most.max(), most_lost.max()), score)
        # What stands behind the depth is not looked at any more; the query itself may be among what was counted.
        high, low = ends(middle, off, counts.above[mine] > wanted.depth)
        half = None if cosine else (most**2 / 2).astype(np.float32)
        for start in range(0, len(rows), QUERIES):
            stop = min(len(rows), start + QUERIES)
            a, b = int(starts[start]), int(starts[stop])
            if np.isinf(low[a:b]).all():
                continue
            values = block[: stop - start].ravel()[: (stop - start) * (end - begin)].reshape(stop - start, end - begin)
            np.matmul(rows[start:stop], gallery.T, out=values)
            if half is not None:
                values -= half
            above, which, column = _native.count_above(values, starts[start : stop + 1] - a, high[a:b], low[a:b])
            counts.above[first + a : first + b] += above
            counts.single[first + a : first + b] += above
            if len(which):
                counts.decide(which + (first + a), column + begin)


def _shift_slice(part: slice, by: int) -> slice:
    return slice(part.start + by, part.stop + by)


def ends(middle: Array, off: Array, done: Array) -> tuple[Array, Array]:
    """The ends of what is too near to a threshold, in single precision and rounded outward."""
    high = np.nextafter((middle + off).astype(np.float32), np.float32(np.inf))
    low = np.nextafter((middle - off).astype(np.float32), np.float32(-np.inf))
    return np.where(done, np.float32(np.inf), high), np.where(done, np.float32(np.inf), low)
