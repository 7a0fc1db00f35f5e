"""Precision, recall, density and coverage: balls around vectors, with the distance to a k-th neighbour as radius.

Distances are made in blocks of single precision; a pair that lies so near to a radius that rounding could decide is
computed again in double precision, so the counts are those of exact arithmetic. The nearest of each row are kept, and
halves of both sets need no new distances within a set.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.frozen import Frozen
from steelyard.core.weights import Floats

Array = NDArray[Any]
BLOCK = 512
SPLITS = 15
FEW = 1024  # rows from which the few nearest are found by a bound
EDGES = ("closed", "open")
PAIRS = 1 << 20  # that are computed again at a time
ERROR = 4e-6  # of the squared lengths: what a squared distance in single precision may be off


class Nearest(Frozen):
    """The nearest rows of a set for each of its rows: places and squared distances, by distance."""

    place: Array
    square: Array

    __eq__, __hash__ = object.__eq__, object.__hash__


class Counts(Frozen):
    """For each edge: balls of real rows around each generated row, and whether each real row has a generated one in its
    ball (`covered`) and lies in a ball of a generated one (`recalled`). `halves` are the four numbers of split halves,
    (splits, 2, edges, 4)."""

    balls: Array
    covered: Array
    recalled: Array
    halves: Floats | None = None

    __eq__, __hash__ = object.__eq__, object.__hash__


class Centred:
    """Rows about a common centre in single precision, their squared lengths, and the rows as they came."""

    def __init__(self, rows: Array, centre: Floats) -> None:
        self.rows = rows
        self.single = (rows - centre.astype(rows.dtype)).astype(np.float32)
        self.square = np.einsum("ij,ij->i", self.single, self.single)
        self.largest = float(self.square.max(initial=0.0))

    def __len__(self) -> int:
        return len(self.rows)

    def distances(self, start: int, stop: int, other: Centred, first: int = 0) -> Array:
        """Squared distances of some rows to those of another set, from its row `first` on, in single precision."""
        block: Array = (np.float32(-2.0) * self.single[start:stop]) @ other.single[first:].T
        block += self.square[start:stop, np.newaxis]
        block += other.square[first:]
        return block


def exact_squares(a: Array, b: Array, i: Array, j: Array) -> Floats:
    """Squared distances of pairs of rows in double precision."""
    out = np.empty(len(i))
    step = max(1, PAIRS // max(1, a.shape[1]))
    for start in range(0, len(i), step):
        one = a[i[start : start + step]].astype(np.float64)
        one -= b[j[start : start + step]]
        out[start : start + step] = np.einsum("ij,ij->i", one, one)
    return out


def nearest_of(rows: Centred, most: int) -> Nearest:
    """The `most` nearest other rows of each row, by single precision."""
    n = len(rows)
    most = min(most, n - 1)
    place = np.zeros((n, most), dtype=np.int32)
    square = np.zeros((n, most), dtype=np.float32)
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        block = rows.distances(start, stop, rows)
        block[np.arange(stop - start), np.arange(start, stop)] = np.inf
        near = (
            np.argpartition(block, most - 1, axis=1)[:, :most] if most < n else np.tile(np.arange(n), (stop - start, 1))
        )
        squares = np.take_along_axis(block, near, axis=1)
        order = np.argsort(squares, axis=1, kind="stable")
        place[start:stop] = np.take_along_axis(near, order, axis=1)
        square[start:stop] = np.maximum(np.take_along_axis(squares, order, axis=1), 0.0)
    return Nearest(place, square)


def few_nearest_of(rows: Centred, most: int) -> Nearest:
    """The same as `nearest_of` for few neighbours, with each distance computed once.

    An eighth of the rows bounds how far the nearest of each row can be; only what is within that is sorted.
    """
    n = len(rows)
    if n < FEW or most > FEW // 32:
        return nearest_of(rows, most)
    sample = Centred.__new__(Centred)
    sample.single, sample.square = rows.single[::8], rows.square[::8]
    bound = np.empty(n, dtype=np.float32)
    for start in range(0, n, BLOCK):
        block = rows.distances(start, min(start + BLOCK, n), sample)
        bound[start : start + BLOCK] = np.partition(block, most, axis=1)[:, most]
    bound += np.float32(2 * ERROR) * (rows.square + np.float32(rows.largest))
    owners, places, squares = [], [], []
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        block = rows.distances(start, stop, rows, start)
        block[np.arange(stop - start), np.arange(stop - start)] = np.inf
        width = block.shape[1]
        for within, turned in (
            (block <= bound[start:stop, np.newaxis], False),
            (block[:, stop - start :] <= bound[stop:], True),
        ):
            i, j = np.divmod(np.flatnonzero(within), max(within.shape[1], 1))
            column = j + (stop - start if turned else 0)
            squares.append(block.reshape(-1)[i * width + column])
            owners.append(column + start if turned else i + start)
            places.append(i + start if turned else column + start)
    owner, place, square = (np.concatenate(parts) for parts in (owners, places, squares))
    order = np.lexsort((square, owner))
    owner, place, square = owner[order], place[order], square[order]
    begin = np.searchsorted(owner, np.arange(n + 1))
    at = begin[:-1, np.newaxis] + np.arange(most)
    inside = at < begin[1:, np.newaxis]
    at = np.minimum(at, len(owner) - 1)
    return Nearest(
        np.where(inside, place[at], 0).astype(np.int32),
        np.where(inside, np.maximum(square[at], 0.0), np.inf).astype(np.float32),
    )


def exact_radii(rows: Centred, nearest: Nearest, k: int) -> Floats:
    """The squared distance to the k-th neighbour in double precision.

    A row whose list could lack a neighbour that rounding moved is looked at among all rows.
    """
    n, most = nearest.place.shape
    margin = 2 * ERROR * (rows.square + rows.largest)
    bound = nearest.square[:, k - 1] + margin
    columns = int((nearest.square <= bound[:, np.newaxis]).sum(axis=1).max(initial=k))
    columns = min(max(columns, k), most)
    i = np.repeat(np.arange(n), columns)
    squares = exact_squares(rows.rows, rows.rows, i, nearest.place[:, :columns].ravel()).reshape(n, columns)
    squares[np.isinf(nearest.square[:, :columns])] = np.inf
    radii = np.partition(squares, k - 1, axis=1)[:, k - 1]
    full = np.flatnonzero((nearest.square[:, -1] <= bound) & (most < n - 1))
    for row in full.tolist():
        own = exact_squares(rows.rows, rows.rows, np.full(n, row), np.arange(n))
        own[row] = np.inf
        radii[row] = np.partition(own, k - 1)[k - 1]
    return np.asarray(radii)


def half_sides(keys: Array, splits: int = SPLITS) -> Array:
    """Random halves of equal size for each split, by hashes of ids: (splits, rows) of 0 and 1."""
    sides = np.zeros((splits, len(keys)), dtype=np.int8)
    for split in range(splits):
        mixed = keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(
            0xD1B54A32D192ED03 * (split + 1) % 2**64
        )
        mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(29)
        order = np.argsort(mixed, kind="stable")
        sides[split, order[: len(order) // 2]] = 1
    return sides


def half_radii(nearest: Nearest, sides: Array, k: int) -> Floats:
    """The squared distance to the k-th neighbour inside the own half, for each split; single precision."""
    radii = np.empty(sides.shape)
    rows = np.arange(len(nearest.place))
    for split, side in enumerate(sides):
        same = side[nearest.place] == side[:, np.newaxis]
        rank = np.cumsum(same, axis=1, dtype=np.int32)
        at = np.argmax(rank >= k, axis=1)
        at = np.where(rank[:, -1] >= k, at, nearest.place.shape[1] - 1)
        radii[split] = nearest.square[rows, at]
    return radii


def count_balls(
    x: Array,
    y: Array,
    k: int,
    nearest: tuple[Nearest, Nearest],
    sets: tuple[Centred, Centred],
    keys: tuple[Array, Array] | None = None,
) -> Counts:
    """Counts of balls of both sets; with `keys`, also the four numbers of halves."""
    real, made = sets
    radius = [exact_radii(rows, near, k) for rows, near in zip(sets, nearest, strict=True)]
    margin = ERROR * (real.square[:, np.newaxis].max(initial=0.0) + made.largest)
    balls = np.zeros((2, len(y)), dtype=np.int64)
    covered, recalled = np.zeros((2, len(x)), dtype=bool), np.zeros((2, len(x)), dtype=bool)
    halves = None if keys is None else _Halves(k, nearest, keys)
    for start in range(0, len(x), BLOCK):
        stop = min(start + BLOCK, len(x))
        square = real.distances(start, stop, made)
        if halves is not None:
            halves.add(square, start)
        for limit, by_row in ((radius[0][start:stop, np.newaxis], True), (radius[1][np.newaxis], False)):
            edge = limit.astype(np.float32)
            sure = square < edge - margin
            near = square <= edge + margin
            near ^= sure
            i, j = np.divmod(np.flatnonzero(near), near.shape[1])
            exact = exact_squares(x, y, i + start, j)
            of_pair = limit[i, 0] if by_row else limit[0, j]
            surely = sure.any(axis=1)
            if by_row:
                balls += np.count_nonzero(sure, axis=0)
            for code, extra in enumerate((exact <= of_pair, exact < of_pair)):
                reached = covered if by_row else recalled
                reached[code, start:stop] |= surely
                reached[code, start + i[extra]] = True
                if by_row:
                    balls[code] += np.bincount(j[extra], minlength=balls.shape[1])
    return Counts(balls, covered, recalled, None if halves is None else halves.numbers())


class _Halves:
    """The four numbers of halves of both sets, gathered block by block from pairs that lie within reach."""

    def __init__(self, k: int, nearest: tuple[Nearest, Nearest], keys: tuple[Array, Array]) -> None:
        self.k = k
        self.sides = [half_sides(key) for key in keys]
        self.radii = [half_radii(near, side, k) for near, side in zip(nearest, self.sides, strict=True)]
        self.reach = [radii.max(axis=0) for radii in self.radii]
        n, m = (side.shape[1] for side in self.sides)
        self.balls = np.zeros((SPLITS, 2, m), dtype=np.int64)
        self.covered = np.zeros((SPLITS, 2, n), dtype=bool)
        self.recalled = np.zeros((SPLITS, 2, n), dtype=bool)

    def add(self, square: Array, start: int) -> None:
        """Count the pairs of a block of real rows."""
        stop = start + len(square)
        within = square <= self.reach[0][start:stop, np.newaxis]
        within |= square <= self.reach[1]
        i, j = np.nonzero(within)
        within_reach = square[i, j]
        for split in range(SPLITS):
            same = self.sides[0][split, start + i] == self.sides[1][split, j]
            a, b, value = start + i[same], j[same], within_reach[same]
            for code, compare in enumerate((np.less_equal, np.less)):
                inside = compare(value, self.radii[0][split, a])
                self.balls[split, code] += np.bincount(b[inside], minlength=self.balls.shape[2])
                self.covered[split, code, a[inside]] = True
                self.recalled[split, code, a[compare(value, self.radii[1][split, b])]] = True

    def numbers(self) -> Floats:
        """Precision, recall, density and coverage: (splits, 2 halves, edges, 4)."""
        out = np.zeros((SPLITS, 2, 2, 4))
        for split in range(SPLITS):
            for half in (0, 1):
                x, y = (side[split] == half for side in self.sides)
                for code in (0, 1):
                    balls = self.balls[split, code, y]
                    out[split, half, code] = (
                        (balls > 0).mean(),
                        self.recalled[split, code, x].mean(),
                        balls.mean() / self.k,
                        self.covered[split, code, x].mean(),
                    )
        return out
