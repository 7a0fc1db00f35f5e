"""Exact ranks from embeddings: those of a plain search through all scores, ties and near-ties included."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

from steelyard import _native
from steelyard.match import ranks
from steelyard.match.ranks import RankQueries, Ranks, exact_ranks, tree_sum

CASES = ["drawn", "whole", "twice", "near", "alike"]


def vectors(case: str, queries: int, gallery: int, width: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(CASES.index(case))
    a, b = rng.normal(size=(queries, width)), rng.normal(size=(gallery, width))
    if case == "whole":  # many scores are equal
        a, b = np.round(a), np.round(b)
        a[:, 0], b[:, 0] = 1, 1
    if case == "twice":
        b = b[rng.integers(0, gallery // 3 + 1, gallery)]
    if case == "near":  # apart by less than single precision
        b = b[rng.integers(0, 9, gallery)] * (1 + 10.0 ** -rng.integers(3, 15, (gallery, width)))
    if case == "alike":
        b[:] = b[0]
    return a, b


def chosen(queries: int, gallery: int, most: int, depth: int, seed: int = 9) -> RankQueries:
    rng = np.random.default_rng(seed)
    exclude = np.where(rng.random(queries) < 0.5, -1, rng.integers(0, gallery, queries))
    rows = [np.sort(rng.permutation(gallery)[: rng.integers(0, most + 1)]) for _ in range(queries)]
    rows = [row[row != exclude[i]] for i, row in enumerate(rows)]
    starts = np.append(0, np.cumsum([len(row) for row in rows])).astype(np.int64)
    return RankQueries(starts, np.concatenate(rows).astype(np.int64), exclude, rng.permutation(gallery), depth)


def plain(query: Any, gallery: Any, wanted: RankQueries, distance: str) -> Ranks:
    """Every score of every query, sorted."""
    if distance == "cosine":
        query, gallery = (side / np.sqrt(tree_sum(side**2))[:, None] for side in (query.copy(), gallery.copy()))
    each: list[tuple[int, int]] = []
    tied = []
    for i, vector in enumerate(query):
        if distance == "cosine":
            score = tree_sum(vector * gallery)
        else:
            score = -np.sqrt(tree_sum((vector - gallery) ** 2))
        places = np.flatnonzero(np.arange(len(gallery)) != wanted.exclude[i])
        orders = [places[np.lexsort((-wanted.tie[places], -s[places]))] for s in (score, score.astype(np.float32))]
        listed = orders[0][: wanted.depth]
        mine = [row for row in wanted.row[wanted.starts[i] : wanted.starts[i + 1]] if row in listed]
        for row in wanted.row[wanted.starts[i] : wanted.starts[i + 1]]:
            rank, single = (int(np.flatnonzero(order == row)[0]) + 1 for order in orders)
            each.append((rank, min(single, wanted.depth)) if rank <= wanted.depth else (0, 0))
        tied.append(any((score[listed] == score[row]).sum() > 1 for row in mine))
    both = np.array(each, dtype=np.int64).reshape(-1, 2)
    return Ranks(both[:, 0], both[:, 1], np.array(tied))


@pytest.mark.parametrize("distance", ["cosine", "l2"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("most", "depth"), [(1, 1000), (3, 7), (30, 100)])
def test_ranks_are_those_of_a_plain_search(case: str, distance: str, most: int, depth: int) -> None:
    for width, gallery in ((24, 200), (1, 70)):
        a, b = vectors(case, 25, gallery, width)
        wanted = chosen(25, gallery, most, depth)
        given, expected = exact_ranks(a, b, wanted, distance, ""), plain(a, b, wanted, distance)
        for name in ("rank", "single", "tied"):
            np.testing.assert_array_equal(getattr(given, name), getattr(expected, name), err_msg=name)


@pytest.mark.parametrize("distance", ["cosine", "l2"])
def test_size_does_not_matter(distance: str) -> None:
    """Squares of these are beyond single precision, and some beyond what a double can hold as one."""
    a, b = vectors("drawn", 30, 200, 16)
    wanted = chosen(30, 200, 3, 1000)
    expected = exact_ranks(a, b, wanted, distance, "").rank
    for factor in (2.0**300, 2.0**-300):
        np.testing.assert_array_equal(exact_ranks(a * factor, b * factor, wanted, distance, "").rank, expected)


@pytest.mark.parametrize("distance", ["cosine", "l2"])
def test_blocks_do_not_matter(distance: str, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = vectors("near", 40, 230, 10)
    wanted = chosen(40, 230, 4, 50)
    expected = exact_ranks(a, b, wanted, distance, "")
    monkeypatch.setattr(ranks, "QUERIES", 7)
    monkeypatch.setattr(ranks, "GALLERY", 16)
    monkeypatch.setattr(ranks, "QUERY_BYTES", 8 * 10 * 13)
    monkeypatch.setattr(ranks.pieces, "__defaults__", (8 * 10 * 3,))
    given = exact_ranks(a, b, wanted, distance, "")
    np.testing.assert_array_equal(given.rank, expected.rank)
    np.testing.assert_array_equal(given.single, expected.single)


@pytest.mark.parametrize("width", [1, 2, 3, 5, 8, 768])
def test_a_sum_by_halves(width: int) -> None:
    """By hand: with a, b, c, d, e the last joins the first, then halves are added."""
    assert tree_sum(np.ones((2, width))).tolist() == [width, width]
    if width == 5:
        e = 2.0**-53
        assert tree_sum(np.array([[e, 1.0, 0.0, 0.0, e]])).tolist() == [1.0 + 2.0**-52]  # (e + e) + 1
        assert tree_sum(np.array([[1.0, 0.0, e, 0.0, e]])).tolist() == [1.0]  # (1 + e) + e


def test_a_vector_of_zeros_is_named() -> None:
    a = np.ones((3, 2))
    b = a.copy()
    b[1] = 0
    with refuses("E-unsupported", "vectors", "'gallery'", "row 1"):
        exact_ranks(a, b, chosen(3, 3, 1, 5), "cosine", "vectors")


@pytest.mark.parametrize("many", [1, 5, 24, 25, 90])
def test_counting_above_thresholds(many: int) -> None:
    """A threshold of infinity counts nothing; few and many thresholds are counted in two ways."""
    rng = np.random.default_rng(many)
    scores = np.round(rng.normal(size=(4, 333)), 1).astype(np.float32)
    middle = np.round(rng.normal(size=4 * many), 1).astype(np.float32)
    middle[rng.random(len(middle)) < 0.1] = np.inf
    off = np.float32(0.15)
    starts = np.arange(5, dtype=np.int64) * many
    above, which, column = _native.count_above(scores, starts, middle + off, middle - off)
    expected = [
        [int((scores[k // many] > high).sum()), np.flatnonzero((scores[k // many] > low) & (scores[k // many] <= high))]
        for k, (high, low) in enumerate(zip(middle + off, middle - off, strict=True))
    ]
    assert above.tolist() == [count for count, _ in expected]
    near = itertools.chain.from_iterable([(k, int(c)) for c in columns] for k, (_, columns) in enumerate(expected))
    assert list(zip(which.tolist(), column.tolist(), strict=True)) == list(near)
